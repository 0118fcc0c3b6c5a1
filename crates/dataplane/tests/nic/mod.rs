//! Tests of the NIC against its rules. They deliver frames, and check the frames that the NIC sends
//! and its recorded requests.

mod destinations;
mod host;
mod links;
mod lossy;
mod marks;
mod pairs;
mod receiving;
mod repair;
mod scanning;
mod sending;
use dataplane::cc::PathInfo;
use dataplane::cc::dcqcn::DcqcnConfig;
use dataplane::cc::dctcp::DctcpConfig;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::cc::hpcc::HpccConfig;
use dataplane::cc::line_rate::LineRateConfig;
use dataplane::classes::ClassSet;
use dataplane::config::*;
use dataplane::hop::Scheme;
use dataplane::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use dataplane::hop::floodgate::PauseDestination;
use dataplane::hop::pfc::{PauseClasses, PauseFor};
use dataplane::ids::FlowSlot;
use dataplane::nic::{FlowEnd, FlowStart, Nic};
use dataplane::packet::{Arena, Cold, Frame, Kind, Packet, PacketId, SchemeSet, Stamp, flag};
use dataplane::sink::{DropCause, Sink};
use dataplane::units::{MS, NEVER, Rate, Time, US};
use std::sync::Arc;

/// A full frame: 1048 bytes, 83 840 ps at 100 Gbps.
const FRAME_PS: Time = 83_840;

/// Records the requests of the NIC to the simulation engine.
#[derive(Default)]
struct Ears {
    kicks: Vec<u16>,
    wakes: Vec<Time>,
    calls: Vec<(Time, u32)>,
    pauses: Vec<(u16, ClassSet, ClassSet)>,
    ends: Vec<FlowEnd>,
    drops: Vec<u32>,
}

impl Sink for Ears {
    fn kick(&mut self, port: u16) {
        self.kicks.push(port);
    }
    fn wake(&mut self, at: Time) {
        self.wakes.push(at);
    }
    fn call(&mut self, at: Time, what: u32) {
        self.calls.push((at, what));
    }
    fn dropped(&mut self, packet: &Packet, _: Option<u16>, cause: DropCause) {
        assert_eq!(cause, DropCause::Link, "a NIC drops nothing on its own");
        self.drops.push(packet.psn);
    }
    fn draw(&mut self) -> u64 {
        panic!("a NIC leaves nothing to chance");
    }
    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet) {
        self.pauses.push((port, before, after));
    }
    fn finished(&mut self, end: FlowEnd) {
        self.ends.push(end);
    }
}

struct Bench {
    nic: Nic,
    arena: Arena,
    ears: Ears,
    now: Time,
}

impl Bench {
    fn new(config: &NicConfig) -> Self {
        Self {
            nic: Nic::new(&Arc::new(config.clone()), 4, &[Rate::from_gbps(100); 2]),
            arena: Arena::new(),
            ears: Ears::default(),
            now: 0,
        }
    }

    /// Starts a flow of `bytes` from port 0 of this NIC.
    fn start(&mut self, flow: u32, bytes: u64) {
        self.start_with(start(flow, bytes));
    }

    fn start_with(&mut self, start: FlowStart) {
        self.nic.start(self.now, &start, &mut self.ears);
    }

    fn send_id(&mut self) -> Option<PacketId> {
        self.nic
            .transmit(self.now, 0, &mut self.arena, &mut self.ears)
    }

    /// Returns the packet that port 0 sends now.
    fn send(&mut self) -> Option<Packet> {
        let id = self.send_id()?;
        let packet = *self.arena.hot(id);
        self.arena.free(id);
        Some(packet)
    }

    /// Returns all packets that port 0 sends from now on, at the speed of the link.
    fn send_all(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        while let Some(packet) = self.send() {
            self.now += Rate::from_gbps(100).serialisation_ps(u64::from(packet.size));
            sent.push(packet);
        }
        sent
    }

    fn receive(&mut self, packet: Packet, cold: Cold) {
        let id = self.arena.alloc(packet, cold);
        self.nic
            .receive(self.now, 0, id, &mut self.arena, &mut self.ears);
    }

    /// Delivers an ACK, NAK or CNP for the flow in the sender's slot `slot`.
    fn answer(&mut self, kind: Kind, flow: u32, slot: u32, psn: u32) {
        let packet = Packet {
            flow,
            psn,
            ..Packet::new(kind, 1, 60)
        };
        let cold = Cold {
            slot: FlowSlot::from_bits(slot),
            stamp: Stamp::INCOMPLETE,
            ..Cold::default()
        };
        self.receive(packet, cold);
    }

    fn pause_classes(&mut self, on: bool, classes: ClassSet) {
        let frame = PauseClasses { on, classes };
        self.receive(frame.packet(64), Cold::default());
    }

    fn pause_queue(&mut self, on: bool, queue: u16) {
        let frame = PauseQueue { on, queue };
        self.receive(frame.packet(64), Cold::default());
    }

    fn timer(&mut self) {
        self.nic.timer(self.now, &mut self.arena, &mut self.ears);
    }
}

fn start(flow: u32, bytes: u64) -> FlowStart {
    FlowStart {
        flow,
        cookie: flow + 1000,
        port: 0,
        src: 3,
        dst: 5,
        bytes,
        hash: flow.wrapping_mul(0x9e37_79b9),
        class: 0,
        incast: false,
        path: PathInfo {
            base_rtt_ps: 8 * US,
            line_bps: 1e11,
            bdp_bytes: 1e5,
            mtu: 1000,
            frame_bytes: 1048,
            hops: 1,
            class: 0,
        },
        ways: 0,
    }
}

fn config() -> NicConfig {
    NicConfig {
        mtu: 1000,
        header: 48,
        int: 0,
        ack: 60,
        cnp: 64,
        ack_class: 1,
        cnp_class: 1,
        data_class: 2,
        ack_every: 1,
        cnp_interval_ps: None,
        cnp_classes: ClassSet::MAX,
        control: Sending::Control(ControlConfig::LineRate(LineRateConfig)),
        recovery: Recovery::go_back_n(MS),
        host: HostConfig::default(),
        queues: 4,
        order: FlowOrder::Ring,
        spray: None,
        reorders: false,
        obeys: SchemeSet::ALL,
    }
}

fn window(bytes: u64) -> NicConfig {
    NicConfig {
        control: Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: Some(bytes),
        })),
        ..config()
    }
}

fn numbers(packets: &[Packet]) -> Vec<(u32, u32)> {
    packets.iter().map(|p| (p.flow, p.psn)).collect()
}
