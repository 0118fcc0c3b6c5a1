//! Tests of the switch against its rules: random operations compared with a naive model, and tests
//! of single rules.

mod floodgate;
mod links;
mod model;
mod notices;
mod paths;
mod quanta;
mod receivers;
mod rules;
mod watchdog;

use std::sync::Arc;

use dataplane::classes::ClassSet;
use dataplane::config::*;
use dataplane::hop::HopConfig;
use dataplane::hop::bfc::{BfcConfig, BitmapConfig, PauseBy, PauseFlow, PauseQueue};
use dataplane::hop::pfc::PauseClasses;
use dataplane::link::LinkConfig;
use dataplane::nic::FlowEnd;
use dataplane::packet::{Arena, Cold, Frame, Kind, Packet, PacketId};
use dataplane::route::{Endpoints, PortSets, Routes};
use dataplane::sink::{DropCause, Sink};
use dataplane::switch::{Switch, SwitchConfig};
use dataplane::units::{Rate, Time, US};

/// Ports of the switch under test. Endpoint n is attached to port n.
const PORTS: u16 = 4;
const LINK: (Rate, Time) = (Rate::from_gbps(100), US);

/// Records the requests of the switch to the simulation engine.
#[derive(Default)]
struct Ears {
    drops: Vec<(u32, DropCause)>,
    kicks: Vec<u16>,
    pauses: Vec<(u16, ClassSet, ClassSet)>,
    wakes: Vec<Time>,
    draw: u64,
    draws: u32,
}

impl Sink for Ears {
    fn kick(&mut self, port: u16) {
        self.kicks.push(port);
    }
    fn wake(&mut self, at: Time) {
        self.wakes.push(at);
    }
    fn call(&mut self, _: Time, _: u32) {
        panic!("a switch has no timers yet");
    }
    fn dropped(&mut self, packet: &Packet, _: Option<u16>, cause: DropCause) {
        self.drops.push((packet.psn, cause));
    }
    fn draw(&mut self) -> u64 {
        self.draws += 1;
        self.draw
    }
    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet) {
        self.pauses.push((port, before, after));
    }
    fn finished(&mut self, _: FlowEnd) {
        panic!("flows end at NICs");
    }
}

/// A switch under test, with its packets and recorded requests.
struct Bench {
    switch: Switch,
    arena: Arena,
    ears: Ears,
    now: Time,
}

/// Returns PFC that pauses an ingress above `threshold` bytes and resumes it at `threshold` bytes.
fn pfc(threshold: u64, headroom: Option<u64>) -> Pfc {
    Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Static(threshold),
        xon_offset: 0,
        frame_bytes: 64,
        headroom,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
        headroom_pool: None,
        headroom_beside: false,
        victims: None,
    }
}

/// Returns routes: endpoints 0 to 3 are attached to this switch, and endpoint 4 is reached through
/// the ports `to_4`.
fn routes(to_4: &[u16]) -> Routes {
    let group = vec![0, 0, 0, 0, 1];
    let port = vec![0, 1, 2, 3, 0];
    let endpoints = Endpoints::new(2, group, port, Vec::new());
    let ways = (vec![0, 1], PortSets::from_iter([&[], to_4]));
    Routes::new(Arc::new(endpoints), 0, ways, (PathChoice::Flow, 1))
}

impl Bench {
    fn new(config: &SwitchConfig) -> Self {
        Self {
            switch: Switch::new(9, config, &[LINK; PORTS as usize], routes(&[])),
            arena: Arena::new(),
            ears: Ears::default(),
            now: 0,
        }
    }

    fn put(&mut self, packet: Packet) -> PacketId {
        let cold = Cold {
            payload: packet.size,
            ..Cold::default()
        };
        self.arena.alloc(packet, cold)
    }

    fn receive(&mut self, port: u16, packet: Packet) {
        let id = self.put(packet);
        self.switch
            .receive(self.now, port, id, &mut self.arena, &mut self.ears);
    }

    /// Returns the packet that a port sends now, if any.
    fn send(&mut self, port: u16) -> Option<Packet> {
        let id = self
            .switch
            .transmit(self.now, port, &mut self.arena, &mut self.ears)?;
        let packet = *self.arena.hot(id);
        self.arena.free(id);
        Some(packet)
    }

    fn all(&mut self, port: u16) -> Vec<Packet> {
        std::iter::from_fn(|| self.send(port)).collect()
    }

    #[track_caller]
    fn sound(&self) {
        assert_eq!(self.switch.audit(&self.arena), Vec::<String>::new());
    }
}

fn data(flow: u32, dst: u32, psn: u32) -> Packet {
    Packet {
        flow,
        dst,
        psn,
        hash: flow.wrapping_mul(0x9e37_79b9),
        ..Packet::new(Kind::Data, 2, 1000)
    }
}

fn pause_classes(on: bool, classes: ClassSet) -> Packet {
    PauseClasses { on, classes }.packet(64)
}

fn pause_queue(on: bool, queue: u16) -> Packet {
    PauseQueue { on, queue }.packet(64)
}

fn pause_flow(on: bool, flow: u32) -> Packet {
    PauseFlow { on, flow, queue: 5 }.packet(64)
}

/// Returns a configuration with four classes: link-local control frames, control packets, and two
/// data classes, of which PFC may pause the first.
fn config() -> SwitchConfig {
    let control = ClassConfig {
        pausable: false,
        buffered: false,
        ecn: false,
        int: false,
    };
    let data = ClassConfig {
        pausable: true,
        buffered: true,
        ecn: true,
        int: true,
    };
    let second = ClassConfig {
        pausable: false,
        ..data
    };
    SwitchConfig {
        classes: vec![control, control, data, second],
        classify: Classify::Fifo,
        assign: AssignConfig::PAPER,
        schedule: Schedule::Fifo,
        mmu: MmuConfig {
            buffer_bytes: 1 << 20,
            reserved_bytes: 0,
            admission: Admission::SharedPool,
        },
        ecn: None,
        int: None,
        hop: HopConfig::None,
        link: LinkConfig::default(),
        path: PathChoice::Flow,
        shaped: None,
        trim: None,
        notifier: None,
        guard: None,
        acks_return: false,
        max_frame: 1500,
    }
}

const BFC: BfcConfig = BfcConfig {
    // The model has no flow table. Another test covers the exemption of first packets.
    first_exempt: false,
    upstream_queues: 32,
    ..BfcConfig::PAPER
};
