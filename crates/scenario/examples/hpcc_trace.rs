//! Writes what senders and switches of HPCC receive and compute, for the circuits in `hardware/hpcc`.
//!
//! `cargo run --release -p backwater-scenario --example hpcc_trace -- SCENARIO SCHEME EVENTS [KEY=VALUE]...`
//!
//! Hosts and switches are the state machines of the simulator; this program only carries packets between
//! them. A copy of each sender's control gets the ACKs that the NIC gets. It stops after EVENTS ACKs. The
//! output has these lines:
//!
//! | line | meaning |
//! |---|---|
//! | `config KEY VALUE...` | the constants of a NIC (`hpcc.arithmetic = "fixed"`) |
//! | `start FLOW` | a flow starts |
//! | `ack TIME FLOW SEQ SND_NXT W R REAL FIELD` | an ACK at TIME ps; W in 1/64 B and R in 2^-20 B/ns after it |
//! | `flow FLOW U W_C` | state at the end, U in 2^-20 and W^c in 1/64 B |
//! | `leave SWITCH PORT TIME SIZE QLEN BEFORE AFTER` | a packet leaves a switch at TIME ns |
//!
//! REAL is the window in bytes that real numbers give on this ACK, from the same state. FIELD is the telemetry to the bit, in
//! hexadecimal digits, as are BEFORE and AFTER; `-` is a packet without. QLEN is what the switch wrote, in
//! bytes. Lines `ack` need `int.format = "wire"`, and lines `leave` need `int.format = "exact"`.
#![allow(clippy::print_stdout)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::error::Error;
use std::path::Path;

use dataplane::cc::hpcc::{Arithmetic, Constants, Division, Hpcc, HpccConfig};
use dataplane::cc::{AckInfo, Control, ControlConfig};
use dataplane::classes::ClassSet;
use dataplane::config::Sending;
use dataplane::int::wire::{RECORD_BYTES, append, header};
use dataplane::int::{IntFormat, IntStack, Layout, MAX_HOPS};
use dataplane::nic::{FlowEnd, FlowStart, Nic};
use dataplane::packet::{Arena, Kind, Packet, PacketId, flag};
use dataplane::sink::{DropCause, Level, Sink};
use dataplane::switch::Switch;
use dataplane::units::{NEVER, Time};
use fabric::engine::{Plan, SingleHost};
use scenario::{Changes, Scenario};
use traffic::Flow;

/// What a state machine requests of this driver during one call.
#[derive(Default)]
struct Requests {
    kicks: Vec<u16>,
    timers: Vec<Time>,
    random: u64,
    dropped: bool,
}

impl Sink for Requests {
    fn kick(&mut self, port: u16) {
        self.kicks.push(port);
    }
    fn wake(&mut self, at: Time) {
        self.timers.push(at);
    }
    fn dropped(&mut self, _: &Packet, _: Option<u16>, _: DropCause) {
        self.dropped = true;
    }
    fn call(&mut self, at: Time, _what: u32) {
        self.timers.push(at);
    }
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
    fn pfc_received(&mut self, _: u16, _: ClassSet, _: ClassSet) {}
    fn pfc_sent(&mut self, _: u16, _: u8, _: PacketId, _: impl FnOnce() -> Level) {}
    fn finished(&mut self, _end: FlowEnd) {}
}

/// Events of one instant, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet has arrived whole at a node.
    Arrival(u32, u16, PacketId),
    Timer(u32),
    Start,
    /// A port may send.
    Egress(u32, u16),
}

/// A flow as this program follows it.
struct Followed {
    start: FlowStart,
    /// A copy of the sender's control.
    control: Hpcc,
    acked: u32,
    next: u32,
}

/// The telemetry of a packet to the bit.
fn field(layout: Layout, stack: &IntStack) -> Vec<u8> {
    let hops = stack.hops();
    let mut field = header(hops.len() as u8, stack.path())
        .to_be_bytes()
        .to_vec();
    for hop in hops {
        field.extend(layout.encode(hop).to_be_bytes());
    }
    field
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The network.
struct Network<'a> {
    now: Time,
    arena: Arena,
    nics: Vec<Nic>,
    switches: Vec<Switch>,
    plan: &'a Plan,
    config: HpccConfig,
    real: HpccConfig,
    mtu: u64,
    /// Next time at which a port is free.
    free: Vec<Time>,
    calendar: BinaryHeap<Reverse<(Time, Event, u64)>>,
    scheduled: u64,
    requests: Requests,
    flows: BTreeMap<u32, Followed>,
    events: u64,
}

impl<'a> Network<'a> {
    fn new(plan: &'a Plan, host: &SingleHost, config: HpccConfig) -> Self {
        let hosts = plan.graph.hosts();
        let switch = |node: u32| {
            let routes = plan.routes[(node - hosts) as usize].clone();
            Switch::new(node, &plan.switch, &plan.graph.links(node), routes)
        };
        Self {
            now: 0,
            arena: Arena::new(),
            nics: (0..hosts).map(|number| host.nic(plan, number)).collect(),
            switches: (hosts..plan.graph.nodes()).map(switch).collect(),
            plan,
            real: HpccConfig {
                arithmetic: Arithmetic::Real,
                division: Division::Exact,
                ..config.clone()
            },
            config,
            mtu: u64::from(plan.nic.mtu),
            free: vec![0; plan.graph.port_count() as usize],
            calendar: BinaryHeap::new(),
            scheduled: 0,
            requests: Requests::default(),
            flows: BTreeMap::new(),
            events: 0,
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.calendar.push(Reverse((at, event, self.scheduled)));
    }

    /// Schedules what the last call of a node requested.
    fn serve(&mut self, node: u32) {
        for at in std::mem::take(&mut self.requests.timers) {
            if at != NEVER {
                self.schedule(at, Event::Timer(node));
            }
        }
        for port in std::mem::take(&mut self.requests.kicks) {
            self.schedule(self.now, Event::Egress(node, port));
        }
    }

    fn bytes_below(&self, flow: &Followed, packets: u32) -> u64 {
        (u64::from(packets) * self.mtu).min(flow.start.bytes)
    }

    /// Passes an ACK to the copies of its sender's control.
    fn acknowledge(&mut self, packet: &Packet, stack: Option<IntStack>) {
        let Some(mut flow) = self.flows.remove(&packet.flow) else {
            return;
        };
        flow.acked = flow.acked.max(packet.psn);
        flow.next = flow.next.max(flow.acked);
        let ack = AckInfo {
            now: self.now,
            seq: self.bytes_below(&flow, flow.acked),
            newly: 0,
            snd_nxt: self.bytes_below(&flow, flow.next),
            marked: false,
            rtt_ps: 0,
            remote_host_ps: 0,
            local_host_ps: 0,
            int: stack.as_ref().map(IntStack::telemetry),
        };
        let path = flow.start.path;
        let mut real = flow.control.clone();
        real.on_ack(&self.real, &path, &ack);
        flow.control.on_ack(&self.config, &path, &ack);
        if let (IntFormat::Wire(layout), Some(stack)) = (self.config.telemetry.format, &stack) {
            let window = (flow.control.window_bytes() * 64.0) as u64;
            let rate = flow.control.rate_bps(&self.config, &path, self.now) / 8e9;
            println!(
                "ack {} {} {} {} {window} {} {} {}",
                self.now,
                packet.flow,
                ack.seq,
                ack.snd_nxt,
                (rate * f64::from(1 << 20)) as u64,
                real.window_bytes(),
                hexadecimal(&field(layout, stack))
            );
        }
        self.events += 1;
        self.flows.insert(packet.flow, flow);
    }

    fn arrive(&mut self, node: u32, port: u16, id: PacketId) {
        let packet = *self.arena.hot(id);
        if (node as usize) < self.nics.len() && packet.kind() == Kind::Ack {
            let stack = self.arena.stack(id);
            self.acknowledge(&packet, stack);
        }
        let (now, arena, requests) = (self.now, &mut self.arena, &mut self.requests);
        match self.nics.get_mut(node as usize) {
            Some(nic) => nic.receive(now, port, id, arena, requests),
            None => {
                let switch = node as usize - self.nics.len();
                self.switches[switch].receive(now, port, id, arena, requests);
            }
        }
        self.serve(node);
    }

    /// Checks that the NIC sends a data packet only while the copy of its control lets it.
    fn sent(&mut self, packet: &Packet) -> Result<(), String> {
        let Some(mut flow) = self.flows.remove(&packet.flow) else {
            return Ok(());
        };
        let in_flight = self.bytes_below(&flow, packet.psn) - self.bytes_below(&flow, flow.acked);
        let window = flow
            .control
            .window(&self.config, &flow.start.path, self.now);
        if in_flight >= window {
            let flow = packet.flow;
            return Err(format!(
                "flow {flow} sends with {in_flight} B in flight, and its window is {window} B"
            ));
        }
        flow.next = flow.next.max(packet.psn + 1);
        self.flows.insert(packet.flow, flow);
        Ok(())
    }

    /// Prints a packet that leaves a switch, with the telemetry before and after.
    fn left(&self, switch: u32, port: u16, packet: &Packet, stack: Option<IntStack>) {
        let layout = Layout::new(1, 16);
        let (now, size) = (self.now / 1_000, packet.size);
        let class = &self.plan.switch.classes[usize::from(packet.class())];
        let written = stack.filter(|_| packet.kind() == Kind::Data && packet.has(flag::INT));
        let Some(stack) = written else {
            if class.int {
                println!("leave {switch} {port} {now} {size} 0 - -");
            }
            return;
        };
        let (own, others) = stack
            .hops()
            .split_last()
            .expect("the switch has added a hop");
        let mut room = [0; 2 + RECORD_BYTES * MAX_HOPS];
        let hosts = self.nics.len() as u32;
        // The switches before this one have the path of a field without this one's identifier.
        let before = stack.path() ^ (hosts + switch) as u16;
        room[..2].copy_from_slice(&header(others.len() as u8, before).to_be_bytes());
        for (hop, slot) in others.iter().zip(room[2..].chunks_mut(RECORD_BYTES)) {
            slot.copy_from_slice(&layout.encode(hop).to_be_bytes());
        }
        let line = hexadecimal(&room[..42]);
        append(layout, &mut room[..42], hosts + switch, own).expect("five switches at most");
        println!(
            "leave {switch} {port} {now} {size} {} {line} {}",
            own.qlen_bytes,
            hexadecimal(&room[..42])
        );
    }

    fn transmit(&mut self, node: u32, port: u16) -> Result<(), String> {
        let index = self.plan.graph.port_index(node, port);
        if self.free[index] > self.now {
            self.schedule(self.free[index], Event::Egress(node, port));
            return Ok(());
        }
        let (now, arena, requests) = (self.now, &mut self.arena, &mut self.requests);
        let hosts = self.nics.len();
        let sent = match self.nics.get_mut(node as usize) {
            Some(nic) => nic.transmit(now, port, arena, requests),
            None => self.switches[node as usize - hosts].transmit(now, port, arena, requests),
        };
        if let Some(id) = sent {
            let packet = *self.arena.hot(id);
            if (node as usize) >= hosts {
                if self.config.telemetry.format == IntFormat::Exact {
                    let switch = node - hosts as u32;
                    self.left(switch, port, &packet, self.arena.stack(id));
                }
            } else if packet.kind() == Kind::Data {
                self.sent(&packet)?;
            }
            let link = self.plan.graph.port(index);
            let free = now + link.rate.serialisation_ps(u64::from(packet.size));
            self.free[index] = free;
            self.schedule(free, Event::Egress(node, port));
            let arrival = Event::Arrival(link.peer, link.peer_port, id);
            self.schedule(free + link.delay_ps, arrival);
        }
        self.serve(node);
        Ok(())
    }

    /// Starts the flows of this instant.
    fn start(&mut self, host: &mut SingleHost, flow: &Flow) -> Result<(), String> {
        let (start, _) = host.flow(flow, self.flows.len() as u32);
        if let IntFormat::Wire(layout) = self.config.telemetry.format {
            let found = Constants::new(&self.config, &start.path, layout);
            match self.flows.values().next() {
                None => print_constants(&found, layout, &self.config),
                Some(other) => {
                    let others = Constants::new(&self.config, &other.start.path, layout);
                    if others != found {
                        return Err("the flows have different T or lines: set base_rtt".to_owned());
                    }
                }
            }
            println!("start {}", start.flow);
        }
        let followed = Followed {
            start,
            control: Hpcc::new(&self.config, &start.path, self.now),
            acked: 0,
            next: 0,
        };
        self.flows.insert(start.flow, followed);
        let nic = &mut self.nics[flow.src as usize];
        nic.start(self.now, &start, &mut self.requests);
        self.serve(flow.src);
        Ok(())
    }

    fn run(
        &mut self,
        host: &mut SingleHost,
        feed: &mut dyn Iterator<Item = Flow>,
        events: u64,
    ) -> Result<(), String> {
        let mut next = feed.next();
        if let Some(flow) = &next {
            self.schedule(flow.start_ps, Event::Start);
        }
        while self.events < events
            && let Some(Reverse((now, event, _))) = self.calendar.pop()
        {
            self.now = now;
            match event {
                Event::Arrival(node, port, id) => self.arrive(node, port, id),
                Event::Egress(node, port) => self.transmit(node, port)?,
                Event::Timer(node) => {
                    let (arena, requests) = (&mut self.arena, &mut self.requests);
                    let hosts = self.nics.len();
                    match self.nics.get_mut(node as usize) {
                        Some(nic) => nic.timer(now, arena, requests),
                        None => self.switches[node as usize - hosts].timer(now, arena, requests),
                    }
                    self.serve(node);
                }
                Event::Start => {
                    while let Some(flow) = next.take_if(|flow| flow.start_ps <= now) {
                        self.start(host, &flow)?;
                        next = feed.next();
                    }
                    if let Some(flow) = &next {
                        self.schedule(flow.start_ps, Event::Start);
                    }
                }
            }
            if self.requests.dropped {
                return Err("a packet was dropped, and this program follows no losses".to_owned());
            }
        }
        Ok(())
    }

    /// Prints the state at the end.
    fn print_state(&self) {
        for (number, flow) in &self.flows {
            let utilisation = (flow.control.utilisation() * f64::from(1 << 20)) as u64;
            let reference = (flow.control.reference_bytes() * 64.0) as u64;
            println!("flow {number} {utilisation} {reference}");
        }
    }
}

/// Prints the constants of a NIC, as its registers hold them.
fn print_constants(constants: &Constants, layout: Layout, config: &HpccConfig) {
    let Division::Table(table) = &config.division else {
        return;
    };
    println!("config epsilon_ppm {}", (table.epsilon() * 1e6).round());
    println!("config entries {}", table.entries());
    println!("config qlen_bits {}", layout.qlen_bits());
    println!("config base_rtt_ns {}", constants.base_rtt_ns);
    println!("config per_base_rtt {}", constants.per_base_rtt);
    println!("config eta {}", constants.eta);
    println!("config per_eta {}", constants.per_eta);
    println!("config max_stage {}", constants.max_stage);
    println!("config wai {}", constants.wai);
    println!("config least {}", constants.least);
    println!("config most {}", constants.most);
    println!("config line {}", constants.line);
    let factors = |factor: &dyn Fn(u32) -> u64| {
        let rates = layout.rates_mbps().iter();
        let all: Vec<String> = rates.map(|&rate| factor(rate).to_string()).collect();
        all.join(" ")
    };
    println!(
        "config queue_factors {}",
        factors(&|rate| constants.queue_factor(rate))
    );
    println!(
        "config sent_factors {}",
        factors(&|rate| constants.sent_factor(rate))
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which scenario?")?;
    let scheme = arguments.next().ok_or("which scheme?")?;
    let events = arguments.next().ok_or("how many events?")?.parse()?;
    let changes = Changes {
        scheme: Some(scheme),
        set: arguments.collect(),
        ..Changes::default()
    };
    let scenario = Scenario::load(Path::new(&path), &changes).map_err(|e| e.to_string())?;
    let mut plan = scenario.build()?.plan;
    let Sending::Control(ControlConfig::Hpcc(config)) = plan.nic.control.clone() else {
        return Err("the scheme needs the control \"hpcc\"".into());
    };
    let mut feed = std::mem::replace(&mut plan.feed, Box::new(std::iter::empty()));
    let mut host = SingleHost::new(&plan);
    let mut network = Network::new(&plan, &host, config);
    network.run(&mut host, &mut feed, events)?;
    network.print_state();
    Ok(())
}
