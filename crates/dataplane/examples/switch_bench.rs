//! Measures the cost of a packet in one switch, in ns. Each line of the output adds one function to
//! the switch of the previous line: buffer, queues, schedule, marks, telemetry, backpressure.
//!
//! `cargo run --release -p backwater-dataplane --example switch_bench`
#![allow(clippy::print_stdout)]

use dataplane::hop::HopConfig;
use dataplane::link::LinkConfig;
use std::sync::Arc;
use std::time::Instant;

use dataplane::config::{
    Accounting, Admission, Alpha, AssignConfig, ClassConfig, Classify, EcnConfig, IntConfig,
    MmuConfig, PathChoice, PauseTime, Pfc, PfcThreshold, Red, Schedule, Scope,
};
use dataplane::hash::mix32;
use dataplane::nic::FlowEnd;
use dataplane::packet::{Arena, Cold, Kind, Packet};
use dataplane::route::{Endpoints, PortSets, Routes};
use dataplane::sink::{DropCause, Sink};
use dataplane::switch::{Switch, SwitchConfig};
use dataplane::units::{Rate, Time, US};

const PORTS: u16 = 16;
const PACKETS: u32 = 1 << 20;
const REPEATS: u32 = 5;
const DATA: u8 = 2;
const SIZE: u16 = 1048;

/// A simulation engine that ignores all calls of the switch.
#[derive(Default)]
struct Deaf {
    drawn: u64,
}

impl Sink for Deaf {
    fn kick(&mut self, _port: u16) {}
    fn wake(&mut self, _at: Time) {}
    fn dropped(&mut self, _packet: &Packet, _port: Option<u16>, _cause: DropCause) {}
    fn call(&mut self, _at: Time, _what: u32) {}
    fn draw(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.drawn
    }
    fn pfc_received(&mut self, _port: u16, _before: u16, _after: u16) {}
    fn finished(&mut self, _end: FlowEnd) {}
}

/// Returns a switch configuration with one data class, FIFO queues and an unlimited buffer.
fn plain() -> SwitchConfig {
    let class = |data| ClassConfig {
        pausable: data,
        buffered: data,
        ecn: data,
        int: data,
    };
    SwitchConfig {
        classes: vec![class(false), class(false), class(true)],
        classify: Classify::Fifo,
        assign: AssignConfig::PAPER,
        schedule: Schedule::Fifo,
        mmu: MmuConfig {
            buffer_bytes: 12_000_000,
            reserved_bytes: 4096,
            admission: Admission::Unlimited,
        },
        ecn: None,
        int: None,
        hop: HopConfig::None,
        link: LinkConfig::default(),
        shaped: None,
        trim: None,
        notifier: None,
        guard: None,
        acks_return: false,
        path: PathChoice::Flow,
        max_frame: SIZE,
    }
}

fn pfc() -> Admission {
    Admission::Pfc(Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Dynamic(Alpha::new(0.11)),
        xon_offset: 3072,
        frame_bytes: 64,
        headroom: None,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
        victims: None,
        headroom_pool: None,
        headroom_beside: false,
    })
}

/// Creates a switch with one endpoint at each port.
fn switch(config: &SwitchConfig) -> Switch {
    let here = (0..PORTS).collect();
    let endpoints = Endpoints::new(1, vec![0; PORTS.into()], here, Vec::new());
    let none = PortSets::from_iter([[].as_slice()]);
    let routes = Routes::new(
        Arc::new(endpoints),
        0,
        (vec![0], none),
        (PathChoice::Flow, 1),
    );
    let ports = vec![(Rate::from_gbps(100), US); PORTS.into()];
    Switch::new(1, config, &ports, routes)
}

/// Returns the cost in ns of a packet that enters and leaves a switch. Each port has `waiting`
/// queued packets.
fn nanoseconds(config: &SwitchConfig, waiting: u32) -> f64 {
    let mut switch = switch(config);
    let mut arena = Arena::new();
    let mut sink = Deaf::default();
    let mut now = 0;
    let mut enter = |nth: u32, now: Time, switch: &mut Switch, arena: &mut Arena| {
        let packet = Packet {
            flow: nth % 500,
            hash: mix32(nth % 500),
            dst: nth % u32::from(PORTS),
            ..Packet::new(Kind::Data, DATA, SIZE)
        };
        let id = arena.alloc(packet, Cold::default());
        if config.int.is_some() {
            arena.attach_stack(id);
        }
        let ingress = (nth / u32::from(PORTS) % u32::from(PORTS)) as u16;
        switch.receive(now, ingress, id, arena, &mut sink);
    };
    let filled = waiting * u32::from(PORTS);
    for nth in 0..filled {
        enter(nth, now, &mut switch, &mut arena);
    }
    let mut quiet = Deaf::default();
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let started = Instant::now();
        for nth in filled..filled + PACKETS {
            now += 5_240;
            enter(nth, now, &mut switch, &mut arena);
            let port = (nth % u32::from(PORTS)) as u16;
            if let Some(id) = switch.transmit(now, port, &mut arena, &mut quiet) {
                arena.free(id);
            }
        }
        best = best.min(started.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    best
}

fn row(name: &str, config: &SwitchConfig) {
    let cells = [0, 4, 64].map(|waiting| format!("{:8.1}", nanoseconds(config, waiting)));
    println!("{name:38} {}", cells.join(" "));
}

fn main() {
    println!(
        "{:38} {:>8} {:>8} {:>8}",
        "packets waiting at each port", 0, 4, 64
    );
    row("first in, first out, endless buffer", &plain());
    let mmu = |admission| SwitchConfig {
        mmu: MmuConfig {
            admission,
            ..plain().mmu
        },
        ..plain()
    };
    row("+ shared pool", &mmu(Admission::SharedPool));
    row("+ shared buffer with PFC", &mmu(pfc()));
    let ecn = EcnConfig {
        profiles: vec![(
            Rate::from_gbps(100),
            Red {
                kmin_bytes: 20_000,
                kmax_bytes: 400_000,
                pmax: 0.2,
            },
        )],
        scope: Scope::Queue,
        at_dequeue: true,
        replay: false,
    };
    row(
        "+ PFC + ECN",
        &SwitchConfig {
            ecn: Some(ecn),
            ..mmu(pfc())
        },
    );
    row(
        "+ PFC + INT",
        &SwitchConfig {
            int: Some(IntConfig::default()),
            ..mmu(pfc())
        },
    );
    let queues = |schedule| SwitchConfig {
        classify: Classify::Hash { queues: 31 },
        schedule,
        ..plain()
    };
    row("31 queues by hash, first come", &queues(Schedule::Fifo));
    row(
        "31 queues by hash, round robin",
        &queues(Schedule::RoundRobin),
    );
    let drr = Schedule::Drr {
        quantum: SIZE.into(),
    };
    row("31 queues by hash, DRR", &queues(drr));
    row(
        "31 queues by hash, shortest remaining",
        &queues(Schedule::ShortestRemaining),
    );
    row(
        "a queue for each flow, DRR",
        &SwitchConfig {
            classify: Classify::PerFlow,
            ..queues(drr)
        },
    );
    row(
        "31 queues assigned by BFC, DRR",
        &SwitchConfig {
            classify: Classify::Dynamic {
                queues: 31,
                table: 3200,
                sticky_ps: 4 * US,
            },
            ..queues(drr)
        },
    );
}
