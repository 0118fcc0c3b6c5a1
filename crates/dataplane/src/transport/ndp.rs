//! NDP: a flow sends a first window unasked; from then on every packet that arrives, whole or as a
//! header, makes the receiver pull one more, at the pace of its link (`specs/ndp.md`).

use crate::classes::ClassSet;
use crate::ids::FlowSlot;
use std::collections::VecDeque;

use super::{
    Acted, Around, Declared, Frames, Needs, Slots, Transport, Turns, count_sent, data_packet,
    packets_of, timeout, turn, window, window_packets,
};
use crate::alarms::{Alarms, Timed};
use crate::flow::{FlowStart, Unfinished};
use crate::mixed::MixedMap;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::param::{Conflict, MAX_SIZE_BYTES, Param, Values};
use crate::paths::permutation::Permutation;
use crate::reliability::arrivals::Arrivals;
use crate::replies::Replies;
use crate::requirements::{SwitchRequirements, TrimConfig};
use crate::sink::Sink;
use crate::switch::CONTROL_CLASS;
use crate::units::{NEVER, Rate, Time};
use crate::wait::Wait;

/// NDP's ends (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpConfig {
    /// Payload bytes that a flow sends unasked; `None`: one BDP.
    pub window: Option<u64>,
    /// A packet of which nothing is heard for this long is sent again, ps.
    pub timeout_ps: Time,
    /// What its switches do.
    pub trim: TrimConfig,
}

/// What every step may reach.
type Context<'a, S> = super::Context<'a, S, NdpConfig>;

/// A flow at its sender.
#[derive(Debug)]
struct Outgoing {
    start: FlowStart,
    packets: u32,
    next: u32,
    /// Everything below has arrived.
    acked: u32,
    /// Packets to be sent again.
    lost: VecDeque<u32>,
    /// Packets of which nothing has been heard, and when they were sent; oldest first.
    flight: VecDeque<(u32, Time)>,
    /// Packets that it may send.
    allowance: u32,
    /// ACKs and NACKs that have come: the receiver makes a pull for each.
    answered: u32,
    /// Pulls that have come, by the number on the last one.
    pulled: u32,
    /// It stands in its ring.
    waits: bool,
    /// Paths of the packets, if the sender chooses them.
    paths: Option<Permutation>,
    retransmitted: u32,
    /// When anything was last heard of it, or sent again for want of that.
    news_ps: Time,
}

impl Outgoing {
    fn has_something(&self) -> bool {
        !self.lost.is_empty() || self.next < self.packets
    }

    /// A packet was heard of. False: it was given up before.
    fn landed(&mut self, psn: u32) -> bool {
        let at = self.flight.iter().position(|&(number, _)| number == psn);
        at.and_then(|at| self.flight.remove(at)).is_some()
    }

    /// No pull is to be expected: nothing is in flight, and whatever arrived has been pulled for.
    // NDP-14
    fn expects_nothing(&self) -> bool {
        self.flight.is_empty() && self.answered <= self.pulled
    }

    /// When it loses patience.
    fn deadline(&self, timeout_ps: Time) -> Time {
        self.flight.front().map_or(self.news_ps, |&(_, at)| at) + timeout_ps
    }

    /// The label of the path of the next packet, if the sender chooses it; else the hash of the flow.
    // NDP-05
    fn path(&mut self, draw: &mut impl FnMut() -> u64) -> u32 {
        match &mut self.paths {
            Some(paths) => paths.step(draw),
            None => self.start.hash,
        }
    }
}

/// A flow at its receiver.
#[derive(Debug)]
struct Incoming {
    peer: u32,
    own: u32,
    peer_slot: FlowSlot,
    /// Hash of the last packet: pulls go back by its path.
    hash: u32,
    packets: u32,
    expected: u32,
    /// Pulls sent, and pulls to be sent.
    pulls: u32,
    pending: u32,
}

/// The receiver's side of one port.
#[derive(Debug)]
struct Port {
    /// Time of a full frame on the link: the distance of pulls.
    frame_ps: Time,
    /// Flows with pulls to be sent, each once.
    pulls: VecDeque<(FlowSlot, u32)>,
    next_pull_ps: Time,
    armed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Time,
    kind: AlarmKind,
}

impl Timed for Alarm {
    fn at(&self) -> Time {
        self.at
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AlarmKind {
    /// The sender of a flow received nothing for a timeout.
    Timeout { flow: u32, slot: FlowSlot },
    /// A port may send its next pull.
    Pull { port: u16 },
}

/// NDP at one NIC.
#[derive(Debug)]
pub struct Ndp {
    outgoing: Slots<Outgoing>,
    /// Per (port, class): flows that may send, in turn.
    rings: Turns<VecDeque<(FlowSlot, u32)>>,
    incoming: Slots<Incoming>,
    known: MixedMap<u32, FlowSlot>,
    /// NIC-32: flows that are complete, and since when.
    complete: MixedMap<u32, Time>,
    arrivals: Arrivals,
    ports: Vec<Port>,
    alarms: Alarms<Alarm>,
    replies: Replies,
}

impl Ndp {
    fn alarm<S: Sink>(&mut self, cx: &mut Context<'_, S>, at: Time, kind: AlarmKind) {
        let alarm = Alarm { at, kind };
        self.alarms.set(alarm, cx.sink);
    }

    /// A flow may send this many packets more.
    fn allow<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32, more: u32) {
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        flow.allowance += more;
        if flow.allowance == 0 || flow.waits {
            return;
        }
        flow.waits = true;
        cx.sink.flow_waits(&flow.start, Wait::Turn);
        let class = cx.frames.data_class + flow.start.class;
        let port = flow.start.port;
        self.rings.of(port, class).push_back((slot, number));
        cx.sink.kick(port);
    }

    /// An ACK, a NACK, a pull or a header that came back.
    // NDP-12, NDP-13, NDP-14
    fn answered<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, cold: &Cold) {
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            return;
        };
        flow.news_ps = cx.now;
        let mut more = 0;
        match packet.kind() {
            Kind::Ack => {
                flow.answered += 1;
                flow.acked = flow.acked.max(cold.arrived_below);
                if !flow.landed(packet.psn) {
                    flow.lost.retain(|&psn| psn != packet.psn);
                }
                if cold.stamp != Stamp::INCOMPLETE {
                    return self.finish(cx, packet.flow, cold);
                }
            }
            Kind::Nak => {
                flow.answered += 1;
                if flow.landed(packet.psn) {
                    flow.lost.push_back(packet.psn);
                }
            }
            Kind::Returned => {
                cx.counters.driven.returned += 1;
                if flow.landed(packet.psn) {
                    flow.lost.push_back(packet.psn);
                }
                more = u32::from(flow.expects_nothing() && flow.allowance == 0);
            }
            _ => {
                // The number on a pull counts those that were lost, too.
                more = packet.psn.saturating_sub(flow.pulled);
                flow.pulled = flow.pulled.max(packet.psn);
            }
        }
        self.allow(cx, cold.slot, packet.flow, more);
    }

    fn finish<S: Sink>(&mut self, cx: &mut Context<'_, S>, number: u32, cold: &Cold) {
        if let Some(flow) = self.outgoing.remove(cold.slot, number) {
            let end = flow
                .start
                .end(cold.stamp.completion_ps(), cx.now, flow.retransmitted);
            cx.sink.finished(end);
        }
    }

    /// A data packet came, whole or as a header: an answer at once, and a pull in its turn.
    // NDP-10, NDP-11
    fn arrived<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let whole = packet.kind() == Kind::Data;
        if whole {
            cx.counters.received += 1;
        } else {
            cx.counters.driven.headers += 1;
        }
        if let Some(&done_ps) = self.complete.get(&packet.flow) {
            cx.counters.discarded += u64::from(whole);
            return self.answer(cx, port, id, Kind::Ack, u32::MAX, done_ps, arena);
        }
        let slot = self.incoming_slot(&packet, &cold, cx.frames);
        let Some(flow) = self.incoming.get_mut(slot, packet.flow) else {
            return arena.free(id);
        };
        flow.hash = packet.hash;
        if whole {
            let (fresh, expected) = self.arrivals.take(packet.flow, packet.psn, flow.expected);
            flow.expected = expected;
            if fresh {
                cx.counters.delivered_bytes += u64::from(cold.payload);
            } else {
                cx.counters.discarded += 1;
            }
        }
        let (expected, packets) = (flow.expected, flow.packets);
        if expected == packets {
            // NDP-11: pulls that wait go with it.
            self.incoming.remove(slot, packet.flow);
            self.known.remove(&packet.flow);
            self.complete.insert(packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            return self.answer(cx, port, id, Kind::Ack, expected, cx.now, arena);
        }
        if flow.pending == 0 {
            self.ports[port as usize]
                .pulls
                .push_back((slot, packet.flow));
        }
        flow.pending += 1;
        let had = whole || packet.psn < expected;
        let kind = if had { Kind::Ack } else { Kind::Nak };
        self.answer(cx, port, id, kind, expected, NEVER, arena);
        self.await_pull(cx, port);
    }

    fn incoming_slot(&mut self, packet: &Packet, cold: &Cold, frames: &Frames) -> FlowSlot {
        if let Some(&slot) = self.known.get(&packet.flow) {
            return slot;
        }
        let flow = Incoming {
            peer: cold.src,
            own: packet.dst,
            peer_slot: cold.slot,
            hash: packet.hash,
            packets: packet.psn + packets_of(cold.remaining, frames.mtu),
            expected: 0,
            pulls: 0,
            pending: 0,
        };
        let slot = self.incoming.insert(packet.flow, flow);
        self.known.insert(packet.flow, slot);
        slot
    }

    #[allow(clippy::too_many_arguments)]
    fn answer<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        kind: Kind,
        expected: u32,
        done_ps: Time,
        arena: &mut Arena,
    ) {
        if kind == Kind::Ack {
            cx.counters.acks += 1;
        } else {
            cx.counters.naks += 1;
        }
        turn(id, kind, cx.frames.ack_class, cx.frames.ack, arena);
        let cold = arena.cold_mut(id);
        cold.remaining = 0;
        cold.arrived_below = expected;
        cold.stamp = Stamp::completion(done_ps);
        self.replies.send(port, id, arena, cx.sink);
    }

    /// Kicks a port whose next pull is due, or asks to be called when it is.
    fn await_pull<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        let p = &mut self.ports[port as usize];
        if p.pulls.is_empty() {
            return;
        }
        if p.next_pull_ps <= cx.now {
            cx.sink.kick(port);
        } else if !p.armed {
            p.armed = true;
            let at = p.next_pull_ps;
            self.alarm(cx, at, AlarmKind::Pull { port });
        }
    }

    /// The pull that leaves a port now.
    // NDP-11
    fn send_pull<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let p = &mut self.ports[port as usize];
        let mut sent = None;
        while p.next_pull_ps <= cx.now
            && let Some((slot, number)) = p.pulls.pop_front()
        {
            let Some(flow) = self.incoming.get_mut(slot, number) else {
                continue; // It is complete.
            };
            flow.pulls += 1;
            debug_assert!(flow.pending > 0, "no pull is pending");
            flow.pending -= 1;
            if flow.pending > 0 {
                p.pulls.push_back((slot, number));
            }
            let hot = Packet {
                flow: number,
                psn: flow.pulls,
                hash: flow.hash,
                dst: flow.peer,
                ..Packet::new(Kind::Grant, CONTROL_CLASS, cx.frames.ack)
            };
            let cold = Cold {
                sent_ps: cx.now,
                src: flow.own,
                slot: flow.peer_slot,
                ..Cold::default()
            };
            cx.counters.driven.pulls += 1;
            p.next_pull_ps = cx.now + p.frame_ps;
            sent = Some(arena.alloc(hot, cold));
            break;
        }
        self.await_pull(cx, port);
        sent
    }

    /// The next packet of the ring of a port and class.
    fn send_data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let ring = self.rings.of(port, class);
        while let Some((slot, number)) = ring.pop_front() {
            let Some(flow) = self.outgoing.get_mut(slot, number) else {
                continue;
            };
            // NDP-13: what was lost goes first.
            let again = flow.lost.pop_front();
            let psn = match again {
                Some(psn) => psn,
                None if flow.next < flow.packets => {
                    flow.next += 1;
                    flow.next - 1
                }
                None => {
                    flow.allowance = 0;
                    flow.waits = false;
                    cx.sink.flow_waits(&flow.start, Wait::Receiver);
                    continue;
                }
            };
            debug_assert!(flow.allowance > 0, "no packet is allowed");
            flow.allowance -= 1;
            flow.flight.push_back((psn, cx.now));
            flow.waits = flow.allowance > 0 && flow.has_something();
            if flow.waits {
                ring.push_back((slot, number));
            } else {
                flow.allowance = 0;
                cx.sink.flow_waits(&flow.start, Wait::Receiver);
            }
            let (mut hot, cold) = data_packet(cx.now, cx.frames, &flow.start, slot, psn);
            hot.hash = flow.path(&mut || cx.sink.draw());
            flow.retransmitted += u32::from(again.is_some());
            count_sent(cx.counters, &mut hot, cold.payload, again.is_some());
            return Some(arena.alloc(hot, cold));
        }
        None
    }

    /// Packets of which nothing was heard for too long are sent again, unasked.
    // NDP-15
    fn timeout<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        let timeout_ps = cx.config.timeout_ps;
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        let mut more = 0;
        if cx.now >= flow.deadline(timeout_ps) {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.start, Wait::TimedOut);
            flow.news_ps = cx.now;
            while let Some(&(psn, sent_ps)) = flow.flight.front()
                && sent_ps + timeout_ps <= cx.now
            {
                flow.flight.pop_front();
                flow.lost.push_back(psn);
                more += 1;
            }
            if more == 0 && flow.allowance == 0 {
                // Pulls, or the last ACK, were lost.
                more = 1;
                if !flow.has_something() {
                    flow.lost.push_back(flow.acked.min(flow.packets - 1));
                }
            }
        }
        let at = flow.deadline(timeout_ps).max(cx.now + 1);
        self.allow(cx, slot, number, more);
        self.alarm(cx, at, AlarmKind::Timeout { flow: number, slot });
    }
}

impl Declared for Ndp {
    type Config = NdpConfig;

    const NAME: &'static str = "ndp";
    const TITLE: &'static str = "NDP";
    const ABOUT: &'static str = "Switches trim what they cannot hold, and receivers pull packets at the pace of their link.";
    // NDP-01, NDP-02, NDP-03, NDP-12
    const PARAMS: &'static [Param] = &[
        Param::count("queue", 2, 10_000)
            .default(
                "8",
                "PRE-147",
                "data packets that may wait at a port (NDP paper 3.1)",
            )
            .about("Data packets that may wait at a port and class."),
        Param::size("header", 1, 1_000)
            .default("\"64B\"", "PRE-147", "what trimming leaves (NDP paper 3.1)")
            .about("Bytes that trimming leaves of a packet."),
        Param::size("control_queue", 64, MAX_SIZE_BYTES)
            .or(&["data"])
            .default(
                "\"data\"",
                "PRE-148",
                "as many bytes for headers as for data, our choice",
            )
            .about("Bytes of headers and other control that may wait at a port; `\"data\"`: as many as of data."),
        Param::count("weight", 1, 60_000)
            .default(
                "10",
                "PRE-147",
                "headers for each data packet while both wait (NDP paper 3.1)",
            )
            .about("Control packets for each data packet while both wait."),
        Param::flag("trim_either")
            .default(
                "true",
                "PRE-147",
                "the arriving packet or the last one, by chance (NDP paper 3.1)",
            )
            .about("The arriving packet or the last in the queue is trimmed, by chance; else always the arriving one."),
        Param::flag("return_to_sender")
            .default(
                "true",
                "PRE-147",
                "headers that find no room go back (NDP paper 3.2)",
            )
            .about("A header that finds no room goes back to its sender."),
        window("PRE-147", "the first window (NDP paper 3.2)"),
        timeout(
            "\"1ms\"",
            "PRE-148",
            "far beyond any queue of eight packets (NDP paper 3.2)",
        ),
    ];
    const NEEDS: Needs = Needs {
        one_queue: Some("NDP trims what finds the one data queue of its port full"),
        chooses_paths: true,
        trims: true,
        ..Needs::NOTHING
    };

    fn configure(values: &Values) -> Result<NdpConfig, Conflict> {
        Ok(NdpConfig {
            window: values.some_size("window"),
            timeout_ps: values.time("timeout"),
            trim: TrimConfig {
                packets: values.count("queue") as u16,
                header_bytes: values.size("header") as u16,
                control_bytes: values.some_size("control_queue").unwrap_or(0),
                weight: values.count("weight") as u16,
                either: values.flag("trim_either"),
                returns: values.flag("return_to_sender"),
            },
        })
    }

    /// As much memory for headers as for data, where the scenario does not say how much.
    // NDP-03
    fn complete(mut config: NdpConfig, around: &Around) -> NdpConfig {
        if config.trim.control_bytes == 0 {
            config.trim.control_bytes =
                u64::from(config.trim.packets) * u64::from(around.max_frame);
        }
        config
    }

    fn requires(config: &NdpConfig) -> SwitchRequirements {
        SwitchRequirements {
            trim: Some(config.trim),
            ..SwitchRequirements::default()
        }
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        (acted.trims == 0).then_some("NDP trimmed no packet")
    }
}

impl Transport for Ndp {
    fn new(_config: &NdpConfig, frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        let port = |rate: &Rate| Port {
            frame_ps: rate.serialisation_ps(frames.data_bytes(frames.mtu).into()),
            pulls: VecDeque::new(),
            next_pull_ps: 0,
            armed: false,
        };
        Self {
            outgoing: Slots::new(),
            rings: Turns::new(ports.len(), classes),
            incoming: Slots::new(),
            known: MixedMap::default(),
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
            ports: ports.iter().map(port).collect(),
            alarms: Alarms::new(),
            replies: Replies::new(ports.len(), classes),
        }
    }

    // NDP-12
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let slot = self.outgoing.insert(
            start.flow,
            Outgoing {
                start: *start,
                packets: packets_of(start.bytes, cx.frames.mtu),
                next: 0,
                acked: 0,
                lost: VecDeque::new(),
                flight: VecDeque::new(),
                allowance: 0,
                answered: 0,
                pulled: 0,
                waits: false,
                paths: (start.ways > 0).then(|| Permutation::of(start.ways)),
                retransmitted: 0,
                news_ps: cx.now,
            },
        );
        let settings = cx.config;
        let window = window_packets(settings.window, &start.path, cx.frames);
        let at = cx.now + settings.timeout_ps;
        self.allow(cx, slot, start.flow, window);
        let flow = start.flow;
        self.alarm(cx, at, AlarmKind::Timeout { flow, slot });
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        match arena.hot(id).kind() {
            Kind::Data | Kind::Header => self.arrived(cx, port, id, arena),
            Kind::Ack | Kind::Nak | Kind::Returned | Kind::Grant => {
                let (packet, cold) = (*arena.hot(id), *arena.cold(id));
                arena.free(id);
                if packet.kind() == Kind::Returned
                    && self.outgoing.get_mut(cold.slot, packet.flow).is_none()
                {
                    cx.counters.driven.returned += 1;
                }
                self.answered(cx, &packet, &cold);
            }
            _ => arena.free(id),
        }
    }

    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet {
        let p = &self.ports[port as usize];
        let pull = !p.pulls.is_empty() && p.next_pull_ps <= now;
        let rings = self.rings.filled(frames, port, VecDeque::is_empty);
        self.replies.ready(port) | rings | ClassSet::from(pull) << CONTROL_CLASS
    }

    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        if let Some(id) = self.replies.pop(port, class, arena) {
            return Some(id);
        }
        if class == CONTROL_CLASS {
            return self.send_pull(cx, port, arena);
        }
        self.send_data(cx, port, class, arena)
    }

    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, _: &mut Arena) {
        while let Some(alarm) = self.alarms.due(cx.now, cx.sink) {
            match alarm.kind {
                AlarmKind::Timeout { flow, slot } => self.timeout(cx, slot, flow),
                AlarmKind::Pull { port } => {
                    self.ports[port as usize].armed = false;
                    self.await_pull(cx, port);
                }
            }
        }
    }

    // LNK-23
    fn link<S: Sink>(&mut self, _: &mut Context<'_, S>, port: u16, arena: &Arena) -> Vec<PacketId> {
        self.replies.take_all(port, arena)
    }

    fn queued(&self, arena: &Arena) -> u64 {
        self.replies.len(arena)
    }

    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished)) {
        for flow in self.outgoing.iter() {
            let acked = flow.start.bytes_below(flow.acked, frames.mtu);
            let why = if flow.waits {
                "ready to send"
            } else if flow.has_something() {
                "waits to be pulled"
            } else {
                "waits for an acknowledgement"
            };
            let unfinished = flow.start.unfinished(acked, flow.retransmitted, why);
            visit(&flow.start, unfinished);
        }
    }
}
