//! Prints the inputs and results of HPCC at senders and switches, as test vectors for its circuits.
//!
//! A copy of each sender's congestion control receives the same ACKs as the NIC. The output
//! consists of these lines:
//!
//! | line | meaning |
//! |---|---|
//! | `config KEY VALUE...` | the constants of a NIC (`hpcc.arithmetic = "fixed"`) |
//! | `start FLOW` | a flow starts |
//! | `ack TIME FLOW SEQ SND_NXT W R REAL FIELD` | an ACK at TIME ps; W in 1/64 B and R in 2^-20 B/ns after it |
//! | `flow FLOW U W_C` | state at the end, U in 2^-20 and W^c in 1/64 B |
//! | `leave SWITCH PORT TIME SIZE QLEN BEFORE AFTER` | a packet leaves a switch at TIME ns |
//!
//! REAL is the window in bytes that floating-point arithmetic computes for this ACK from the same
//! state. FIELD is the telemetry of the packet in hexadecimal digits; BEFORE and AFTER are the
//! telemetry before and after the switch. A packet without telemetry has `-`. QLEN is the queue
//! length that the switch wrote, in bytes. Lines `ack` need `int.format = "wire"`, and lines
//! `leave` need `int.format = "exact"`.

use std::collections::BTreeMap;

use dataplane::cc::hpcc::{Arithmetic, Constants, Division, Hpcc, HpccConfig};
use dataplane::cc::{Ack, Control, ControlConfig, Feedback};
use dataplane::config::Sending;
use dataplane::int::wire::{RECORD_BYTES, append, header};
use dataplane::int::{IntFormat, IntStack, Layout, MAX_HOPS};
use dataplane::nic::FlowStart;
use dataplane::packet::{Arena, Kind, Packet, PacketId, flag};
use dataplane::switch::SwitchConfig;
use dataplane::units::Time;
use fabric::engine::Plan;

use crate::network::{Network, Trace, View};

/// A flow whose sender is traced.
struct Followed {
    start: FlowStart,
    /// A copy of the sender's congestion control.
    control: Hpcc,
    acked: u32,
    next: u32,
}

/// Trace of HPCC at all hosts and switches.
pub struct HpccTrace {
    config: HpccConfig,
    real: HpccConfig,
    switch: SwitchConfig,
    hosts: u32,
    mtu: u64,
    flows: BTreeMap<u32, Followed>,
    events: u64,
}

impl HpccTrace {
    /// Creates the trace. The constants are printed when the first flow starts.
    pub fn new(plan: &Plan) -> Result<Self, String> {
        let Sending::Control(ControlConfig::Hpcc(config)) = plan.nic.control.clone() else {
            return Err("the scheme needs the control \"hpcc\"".to_owned());
        };
        Ok(Self {
            real: HpccConfig {
                arithmetic: Arithmetic::Real,
                division: Division::Exact,
                ..config.clone()
            },
            config,
            switch: plan.switch.clone(),
            hosts: plan.graph.hosts(),
            mtu: u64::from(plan.nic.mtu),
            flows: BTreeMap::new(),
            events: 0,
        })
    }

    fn bytes_below(&self, flow: &Followed, packets: u32) -> u64 {
        (u64::from(packets) * self.mtu).min(flow.start.bytes)
    }

    /// Passes an ACK to the copy of its sender's congestion control, and prints the result.
    fn acknowledge(&mut self, now: Time, packet: &Packet, stack: Option<IntStack>) {
        let Some(mut flow) = self.flows.remove(&packet.flow) else {
            return;
        };
        flow.acked = flow.acked.max(packet.psn);
        flow.next = flow.next.max(flow.acked);
        let ack = Ack {
            seq: self.bytes_below(&flow, flow.acked),
            newly: 0,
            snd_nxt: self.bytes_below(&flow, flow.next),
            marked: false,
            rtt_ps: 0,
            remote_host_ps: 0,
            local_host_ps: 0,
            int: stack.as_ref().map(IntStack::telemetry),
            marks: 0,
        };
        let path = flow.start.path;
        let mut real = flow.control.clone();
        let feedback = Feedback::Ack(ack);
        real.on_feedback(&self.real, &path, now, &feedback);
        flow.control
            .on_feedback(&self.config, &path, now, &feedback);
        if let (IntFormat::Wire(layout), Some(stack)) = (self.config.format, &stack) {
            let window = (flow.control.window_bytes() * 64.0) as u64;
            let rate = flow.control.rate_bps(&self.config, &path, now) / 8e9;
            println!(
                "ack {} {} {} {} {window} {} {} {}",
                now,
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
}

impl Trace for HpccTrace {
    fn starts(&mut self, now: Time, start: &FlowStart) -> Result<(), String> {
        if let IntFormat::Wire(layout) = self.config.format {
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
            start: *start,
            control: Hpcc::new(&self.config, &start.path, now),
            acked: 0,
            next: 0,
        };
        self.flows.insert(start.flow, followed);
        Ok(())
    }

    fn host_receives(&mut self, now: Time, _host: u32, id: PacketId, arena: &Arena) {
        let packet = arena.hot(id);
        if packet.kind() == Kind::Ack {
            self.acknowledge(now, packet, arena.stack(id));
        }
    }

    /// Checks that the NIC sends a data packet only if the copy of the congestion control allows
    /// it.
    fn host_sends(&mut self, now: Time, packet: &Packet) -> Result<(), String> {
        if packet.kind() != Kind::Data {
            return Ok(());
        }
        let Some(mut flow) = self.flows.remove(&packet.flow) else {
            return Ok(());
        };
        let in_flight = self.bytes_below(&flow, packet.psn) - self.bytes_below(&flow, flow.acked);
        let window = flow.control.window(&self.config, &flow.start.path, now);
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

    /// Prints a packet that leaves a switch, with its telemetry before and after the switch.
    fn left(&mut self, view: &View<'_>, port: u16, id: PacketId) {
        if self.config.format != IntFormat::Exact {
            return;
        }
        let layout = Layout::new(1, 16);
        let (packet, stack) = (view.arena.hot(id), view.arena.stack(id));
        let (now, size) = (view.now / 1_000, packet.size);
        let switch = view.node - self.hosts;
        let class = &self.switch.classes[usize::from(packet.class())];
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
        // The path ID in the telemetry is the XOR of the switch IDs. Before this switch, its own ID
        // is missing.
        let before = stack.path() ^ view.node as u16;
        room[..2].copy_from_slice(&header(others.len() as u8, before).to_be_bytes());
        for (hop, slot) in others.iter().zip(room[2..].chunks_mut(RECORD_BYTES)) {
            slot.copy_from_slice(&layout.encode(hop).to_be_bytes());
        }
        let line = hexadecimal(&room[..42]);
        append(layout, &mut room[..42], view.node, own).expect("five switches at most");
        println!(
            "leave {switch} {port} {now} {size} {} {line} {}",
            own.qlen_bytes,
            hexadecimal(&room[..42])
        );
    }

    fn dropped(&mut self) -> Result<(), String> {
        Err("a packet was dropped, and a trace of HPCC follows no losses".to_owned())
    }

    fn events(&self) -> u64 {
        self.events
    }

    fn print_state(&self, _network: &Network) -> Result<(), String> {
        for (number, flow) in &self.flows {
            let utilisation = (flow.control.utilisation() * f64::from(1 << 20)) as u64;
            let reference = (flow.control.reference_bytes() * 64.0) as u64;
            println!("flow {number} {utilisation} {reference}");
        }
        Ok(())
    }
}

/// Encodes the telemetry of a packet as on the wire.
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

/// Prints the constants of a NIC as they are stored in registers.
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
