//! Homa: a message sends a first window unasked, at a priority that its size sets; the receiver
//! grants the rest to the messages with the least left, at priorities of its choice
//! (`specs/homa.md`).

use crate::classes::ClassSet;
use crate::ids::FlowSlot;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{
    Acted, Around, Declared, Frames, Needs, Slots, Transport, Turns, acknowledge, count_sent,
    data_packet, packets_of, timeout, window, window_packets,
};
use crate::alarms::{Alarms, Timed};
use crate::flow::{FlowStart, Unfinished};
use crate::mixed::MixedMap;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::param::{self, Conflict, Param, Value, Values};
use crate::reliability::arrivals::Arrivals;
use crate::replies::Replies;
use crate::sink::Sink;
use crate::switch::{CONTROL_CLASS, DATA_CLASS};
use crate::units::{Rate, Time};
use crate::wait::Wait;

/// Most priority levels of Homa.
pub const MAX_LEVELS: usize = 32;

/// Homa (`specs/homa.md`). Level 0 is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaConfig {
    /// Priority levels in all, 2 to [`MAX_LEVELS`].
    pub levels: u8,
    /// The first of them, which are for unscheduled packets; the others for scheduled ones.
    pub unscheduled: u8,
    /// Largest message, in bytes, of each unscheduled level; the last one takes all others.
    pub cutoffs: [u32; MAX_LEVELS],
    /// Messages that a receiver grants at a time.
    pub overcommitment: u8,
    /// Payload bytes that a message sends unasked, and that are granted ahead; `None`: one BDP.
    pub window: Option<u64>,
    /// After this silence a receiver requests what is missing, and a sender news, ps.
    pub timeout_ps: Time,
}

impl HomaConfig {
    /// Level of the unscheduled packets of a message.
    // HOM-04
    #[must_use]
    pub fn level_of(&self, message_bytes: u64) -> u16 {
        let last = usize::from(self.unscheduled.max(1)) - 1;
        let above = |&&cut: &&u32| u64::from(cut) < message_bytes;
        self.cutoffs[..last].iter().take_while(above).count() as u16
    }
}

/// What every step may reach.
type Context<'a, S> = super::Context<'a, S, HomaConfig>;

/// Gaps of a message that a receiver requests at a time.
const GAPS: usize = 16;

/// A message at its sender.
#[derive(Debug)]
struct Outgoing {
    start: FlowStart,
    packets: u32,
    /// Packets that may be sent unasked.
    window: u32,
    next: u32,
    /// Packets that may be sent.
    granted: u32,
    /// Packets that the receiver requested again.
    lost: VecDeque<u32>,
    /// Level of its unscheduled packets.
    first_level: u16,
    /// Level that the receiver set last.
    level: u16,
    /// It stands in its queue of messages.
    waits: bool,
    retransmitted: u32,
    heard_ps: Time,
}

impl Outgoing {
    fn has_something(&self) -> bool {
        !self.lost.is_empty() || self.next < self.granted
    }

    /// Payload bytes that it has not sent yet.
    fn remaining(&self, mtu: u16) -> u64 {
        self.start.bytes - self.start.bytes_below(self.next, mtu)
    }
}

/// A message with something to send, by what it has left; of equals that which started first.
// HOM-02
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    remaining: u64,
    flow: u32,
    slot: FlowSlot,
}

/// A message at its receiver.
#[derive(Debug)]
struct Incoming {
    port: u16,
    peer: u32,
    own: u32,
    peer_slot: FlowSlot,
    hash: u32,
    packets: u32,
    /// Packets that are let go beyond those that have arrived.
    window: u32,
    expected: u32,
    /// Packets that have arrived.
    received: u32,
    /// Payload bytes that have not.
    remaining: u64,
    /// Packets that may be sent.
    granted: u32,
    level: u16,
    heard_ps: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Time,
    flow: u32,
    /// Of a message that arrives here; else of one that is sent.
    incoming: bool,
    slot: FlowSlot,
}

impl Timed for Alarm {
    fn at(&self) -> Time {
        self.at
    }
}

/// Homa at one NIC.
#[derive(Debug)]
pub struct Homa {
    outgoing: Slots<Outgoing>,
    /// Per (port, class): messages with something to send.
    ready: Turns<BinaryHeap<Reverse<Next>>>,
    incoming: Slots<Incoming>,
    known: MixedMap<u32, FlowSlot>,
    /// NIC-32: messages that are complete, and since when.
    complete: MixedMap<u32, Time>,
    arrivals: Arrivals,
    /// Per port: incoming messages that are not granted to their end, the one with the least left
    /// first.
    // HOM-06
    ungranted: Vec<Vec<Next>>,
    alarms: Alarms<Alarm>,
    replies: Replies,
}

impl Homa {
    fn alarm<S: Sink>(&mut self, cx: &mut Context<'_, S>, alarm: Alarm) {
        self.alarms.set(alarm, cx.sink);
    }

    /// Puts a message that has something to send among those that do.
    fn revive<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        if flow.waits || !flow.has_something() {
            return;
        }
        flow.waits = true;
        cx.sink.flow_waits(&flow.start, Wait::Turn);
        let class = cx.frames.data_class + flow.start.class;
        let port = flow.start.port;
        let next = Next {
            remaining: flow.remaining(cx.frames.mtu),
            flow: number,
            slot,
        };
        self.ready.of(port, class).push(Reverse(next));
        cx.sink.kick(port);
    }

    /// A grant, or a request for packets from `psn` on.
    // HOM-05, HOM-10
    fn asked<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, cold: &Cold) {
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            return;
        };
        flow.heard_ps = cx.now;
        flow.level = cold.level;
        let end = match packet.kind() {
            Kind::Grant => packet.psn,
            _ => {
                let end = packet.psn.saturating_add(cold.credit).min(flow.packets);
                for psn in packet.psn..end.min(flow.next) {
                    if !flow.lost.contains(&psn) {
                        flow.lost.push_back(psn);
                    }
                }
                end
            }
        };
        flow.granted = flow.granted.max(end.min(flow.packets));
        self.revive(cx, cold.slot, packet.flow);
    }

    fn finished<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, cold: &Cold) {
        if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
            let end = flow
                .start
                .end(cold.stamp.completion_ps(), cx.now, flow.retransmitted);
            cx.sink.finished(end);
        }
    }

    /// A data packet came.
    // HOM-05, HOM-08
    fn data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        cx.counters.received += 1;
        if let Some(&done_ps) = self.complete.get(&packet.flow) {
            cx.counters.discarded += 1;
            return acknowledge(cx, &mut self.replies, (port, id), done_ps, arena);
        }
        let (slot, fresh_message) = self.incoming_slot(cx, port, &packet, &cold);
        let Some(flow) = self.incoming.get_mut(slot, packet.flow) else {
            return arena.free(id);
        };
        let before = flow.remaining;
        let (fresh, expected) = self.arrivals.take(packet.flow, packet.psn, flow.expected);
        flow.expected = expected;
        if fresh {
            // A repetition is no news: what is missing is still missing.
            flow.heard_ps = cx.now;
            flow.received += 1;
            debug_assert!(
                flow.remaining >= u64::from(cold.payload),
                "more bytes than the message has"
            );
            flow.remaining -= u64::from(cold.payload);
            cx.counters.delivered_bytes += u64::from(cold.payload);
        } else {
            cx.counters.discarded += 1;
        }
        let (remaining, granted, packets) = (flow.remaining, flow.granted, flow.packets);
        let mut changed = fresh_message && granted < packets;
        if expected == packets {
            self.incoming.remove(slot, packet.flow);
            self.known.remove(&packet.flow);
            self.complete.insert(packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            acknowledge(cx, &mut self.replies, (port, id), cx.now, arena);
        } else {
            arena.free(id);
        }
        let mut moved = None;
        if granted < packets && !fresh_message {
            let key = |remaining| Next {
                remaining,
                flow: packet.flow,
                slot,
            };
            let list = &mut self.ungranted[port as usize];
            if let Ok(at) = list.binary_search(&key(before)) {
                list.remove(at);
                let to = list.binary_search(&key(remaining)).unwrap_or_else(|to| to);
                list.insert(to, key(remaining));
                moved = Some(to);
            }
        } else if changed {
            let next = Next {
                remaining,
                flow: packet.flow,
                slot,
            };
            let list = &mut self.ungranted[port as usize];
            let to = list.binary_search(&next).unwrap_or_else(|to| to);
            list.insert(to, next);
            changed = to < usize::from(cx.config.overcommitment);
        }
        if changed {
            self.grant_all(cx, port, arena);
        } else if let Some(at) = moved
            && at < usize::from(cx.config.overcommitment)
            && self.grant(cx, port, at, arena)
        {
            self.grant_all(cx, port, arena);
        }
    }

    fn incoming_slot<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        packet: &Packet,
        cold: &Cold,
    ) -> (FlowSlot, bool) {
        if let Some(&slot) = self.known.get(&packet.flow) {
            return (slot, false);
        }
        let mtu = cx.frames.mtu;
        let packets = packet.psn + packets_of(cold.remaining, mtu);
        let flow = Incoming {
            port,
            peer: cold.src,
            own: packet.dst,
            peer_slot: cold.slot,
            hash: packet.hash,
            packets,
            window: cold.credit,
            expected: 0,
            received: 0,
            remaining: u64::from(packet.psn) * u64::from(mtu) + cold.remaining,
            granted: cold.credit.min(packets),
            level: 0,
            heard_ps: cx.now,
        };
        let slot = self.incoming.insert(packet.flow, flow);
        self.known.insert(packet.flow, slot);
        let alarm = Alarm {
            at: cx.now + cx.config.timeout_ps,
            flow: packet.flow,
            incoming: true,
            slot,
        };
        self.alarm(cx, alarm);
        (slot, true)
    }

    /// Grants whatever may be granted to the first messages of a port.
    // HOM-06
    fn grant_all<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16, arena: &mut Arena) {
        let most = usize::from(cx.config.overcommitment);
        let mut at = 0;
        while at < most.min(self.ungranted[port as usize].len()) {
            if !self.grant(cx, port, at, arena) {
                at += 1;
            }
        }
    }

    /// Grants the message at this place of the list as much as it may have now. True: it is granted
    /// to its end and has left the list.
    // HOM-05, HOM-07
    fn grant<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        at: usize,
        arena: &mut Arena,
    ) -> bool {
        let settings = cx.config;
        let list = &mut self.ungranted[port as usize];
        let next = list[at];
        let active = list.len().min(usize::from(settings.overcommitment));
        let Some(flow) = self.incoming.get_mut(next.slot, next.flow) else {
            list.remove(at);
            return true;
        };
        let to = flow.packets.min(flow.received + flow.window);
        if to > flow.granted {
            flow.granted = to;
            flow.level = (usize::from(settings.levels) - active + at) as u16;
            let (hot, cold) = control(cx.now, cx.frames, Kind::Grant, next.flow, flow, to);
            cx.counters.driven.grants += 1;
            let id = arena.alloc(hot, cold);
            self.replies.send(port, id, arena, cx.sink);
        }
        let whole = flow.granted == flow.packets;
        if whole {
            list.remove(at);
        }
        whole
    }

    /// A receiver that waits in vain requests what is missing.
    // HOM-10
    fn miss<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        slot: FlowSlot,
        number: u32,
        arena: &mut Arena,
    ) {
        let Some(flow) = self.incoming.get_mut(slot, number) else {
            return;
        };
        let port = flow.port;
        let mut from = flow.expected;
        for _ in 0..GAPS {
            if from >= flow.granted {
                break;
            }
            let present = self.arrivals.first_present(number, from);
            let end = present.map_or(flow.granted, |psn| psn.min(flow.granted));
            let (hot, mut cold) = control(cx.now, cx.frames, Kind::Request, number, flow, from);
            cold.credit = end - from;
            cx.counters.driven.requests += 1;
            let id = arena.alloc(hot, cold);
            self.replies.push(port, id, arena);
            from = self.arrivals.first_absent(number, end);
        }
        cx.sink.kick(port);
    }

    /// A sender that hears nothing sends its first packet again: the receiver may not know of the
    /// message, or its acknowledgement may be lost.
    // HOM-11
    fn probe<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        if let Some(flow) = self.outgoing.get_mut(slot, number)
            && !flow.has_something()
        {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.start, Wait::TimedOut);
            flow.lost.push_back(0);
        }
        self.revive(cx, slot, number);
    }
}

/// A frame of the receiver of a message.
fn control(
    now: Time,
    frames: &Frames,
    kind: Kind,
    number: u32,
    flow: &Incoming,
    psn: u32,
) -> (Packet, Cold) {
    let hot = Packet {
        flow: number,
        psn,
        hash: flow.hash,
        dst: flow.peer,
        ..Packet::new(kind, CONTROL_CLASS, frames.ack)
    };
    let cold = Cold {
        sent_ps: now,
        stamp: Stamp::INCOMPLETE,
        src: flow.own,
        slot: flow.peer_slot,
        level: flow.level,
        ..Cold::default()
    };
    (hot, cold)
}

const LEVELS: u64 = MAX_LEVELS as u64;

impl Declared for Homa {
    type Config = HomaConfig;

    const NAME: &'static str = "homa";
    const TITLE: &'static str = "Homa";
    const ABOUT: &'static str = "Receivers grant packets to the messages with the least left, at priorities of their choice.";
    const PARAMS: &'static [Param] = &[
        Param::count("levels", 2, LEVELS)
            .default("32", "PRE-150", "priority levels (BFC paper A.2)")
            .about("Priority levels in all."),
        Param::count("unscheduled", 1, LEVELS - 1)
            .or(&["auto"])
            .default(
                "\"auto\"",
                "PRE-150",
                "by the share of unscheduled bytes (BFC paper A.2, Homa paper 3.4)",
            )
            .about("Levels of unscheduled packets; `\"auto\"`: from the sizes of the traffic."),
        Param::list(
            "cutoffs",
            &param::Kind::Size {
                min: 1,
                max: u32::MAX as u64,
            },
        )
        .or(&["auto"])
        .default(
            "\"auto\"",
            "PRE-150",
            "equally many unscheduled bytes in each level (Homa paper 3.4)",
        )
        .about("The largest message of each unscheduled level but the last."),
        Param::count("overcommitment", 1, LEVELS)
            .or(&["auto"])
            .default(
                "\"auto\"",
                "PRE-150",
                "as many messages as scheduled levels (BFC paper A.2)",
            )
            .about("Messages that a receiver grants at a time; `\"auto\"`: as many as scheduled levels."),
        window("PRE-150", "unasked, and granted ahead (Homa paper 3.2)"),
        timeout(
            "\"10ms\"",
            "PRE-151",
            "of silence before a packet is requested again, our choice",
        ),
    ];
    const NEEDS: Needs = Needs {
        levels: true,
        flow_sizes: true,
        grants: true,
        ..Needs::NOTHING
    };

    /// 0 stands for what the traffic decides ([`Homa::complete`]).
    fn configure(values: &Values) -> Result<HomaConfig, Conflict> {
        let levels = values.count("levels");
        let mut unscheduled = values.some_count("unscheduled").unwrap_or(0);
        if unscheduled >= levels {
            return Err(Conflict::new(
                &["unscheduled", "levels"],
                format!("{unscheduled} of {levels} levels are for unscheduled packets"),
                format!(
                    "leave a level for scheduled packets: at most {}",
                    levels - 1
                ),
            ));
        }
        let mut cutoffs = [0; MAX_LEVELS];
        if let Some(sizes) = values.some_list("cutoffs") {
            let sizes: Vec<u32> = sizes.iter().map(size_bytes).collect();
            if !sizes.is_sorted_by(|a, b| a < b) {
                return Err(Conflict::new(
                    &["cutoffs"],
                    "the sizes must grow",
                    "each is the largest message of its level",
                ));
            }
            let needed = sizes.len() as u64 + 1;
            if unscheduled != 0 && unscheduled != needed || needed > levels - 1 {
                return Err(Conflict::new(
                    &["cutoffs", "unscheduled"],
                    format!(
                        "{} sizes part messages into {needed} unscheduled levels",
                        sizes.len()
                    ),
                    "give one size less than there are unscheduled levels, and leave a level for scheduled packets",
                ));
            }
            unscheduled = needed;
            cutoffs = [u32::MAX; MAX_LEVELS];
            cutoffs[..sizes.len()].copy_from_slice(&sizes);
        }
        let granted = values.some_count("overcommitment").unwrap_or(0);
        if granted > levels - unscheduled.max(1) {
            return Err(Conflict::new(
                &["overcommitment", "levels"],
                format!(
                    "overcommitment {granted} is more than there are levels for scheduled packets"
                ),
                "each message that is granted has a level of its own; raise levels, or take \"auto\"",
            ));
        }
        Ok(HomaConfig {
            levels: levels as u8,
            unscheduled: unscheduled as u8,
            cutoffs,
            overcommitment: granted as u8,
            window: values.some_size("window"),
            timeout_ps: values.time("timeout"),
        })
    }

    /// Fills in what of the levels was left to the traffic.
    // HOM-04, HOM-06
    fn complete(mut config: HomaConfig, around: &Around) -> HomaConfig {
        let window_bytes = match config.window {
            Some(bytes) => bytes as f64,
            None => around.bdp_bytes,
        };
        let unscheduled = |bytes: f64| bytes.min(window_bytes);
        let sizes = &around.flow_sizes;
        if config.unscheduled == 0 {
            let all: f64 = sizes.iter().map(|&(size, n)| size * n).sum();
            let first: f64 = sizes.iter().map(|&(size, n)| unscheduled(size) * n).sum();
            let share = if all > 0.0 { first / all } else { 0.5 };
            let levels = (f64::from(config.levels) * share + 0.5) as u8;
            config.unscheduled = levels.clamp(1, config.levels - 1);
        }
        if config.cutoffs[0] == 0 {
            config.cutoffs = cutoffs(sizes, unscheduled, config.unscheduled);
        }
        if config.overcommitment == 0 {
            config.overcommitment = config.levels - config.unscheduled;
        }
        config
    }

    fn levels(config: &HomaConfig) -> u16 {
        config.levels.into()
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        (acted.nics.grants == 0).then_some("Homa granted nothing")
    }
}

fn size_bytes(value: &Value) -> u32 {
    match value {
        Value::Size(bytes) => *bytes as u32,
        other => unreachable!("{other:?} in a list of sizes"),
    }
}

/// Sizes that part messages so that each level has equally many unscheduled bytes.
// HOM-04
fn cutoffs(
    sizes: &[(f64, f64)],
    unscheduled: impl Fn(f64) -> f64,
    levels: u8,
) -> [u32; MAX_LEVELS] {
    let mut cutoffs = [u32::MAX; MAX_LEVELS];
    let all: f64 = sizes.iter().map(|&(size, n)| unscheduled(size) * n).sum();
    let (mut level, mut below) = (1u8, 0.0);
    for &(size, n) in sizes {
        below += unscheduled(size) * n;
        while level < levels && below >= all * f64::from(level) / f64::from(levels) {
            cutoffs[usize::from(level) - 1] = size.min(f64::from(u32::MAX)) as u32;
            level += 1;
        }
    }
    cutoffs
}

impl Transport for Homa {
    fn new(_config: &HomaConfig, _frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        Self {
            outgoing: Slots::new(),
            ready: Turns::new(ports.len(), classes),
            incoming: Slots::new(),
            known: MixedMap::default(),
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
            ungranted: vec![Vec::new(); ports.len()],
            alarms: Alarms::new(),
            replies: Replies::new(ports.len(), classes),
        }
    }

    // HOM-01, HOM-04
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let settings = cx.config;
        let packets = packets_of(start.bytes, cx.frames.mtu);
        let window = window_packets(settings.window, &start.path, cx.frames);
        let slot = self.outgoing.insert(
            start.flow,
            Outgoing {
                start: *start,
                packets,
                window,
                next: 0,
                granted: window.min(packets),
                lost: VecDeque::new(),
                first_level: settings.level_of(start.bytes),
                level: settings.levels.into(),
                waits: false,
                retransmitted: 0,
                heard_ps: cx.now,
            },
        );
        self.revive(cx, slot, start.flow);
        let alarm = Alarm {
            at: cx.now + settings.timeout_ps,
            flow: start.flow,
            incoming: false,
            slot,
        };
        self.alarm(cx, alarm);
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        match packet.kind() {
            Kind::Data => return self.data(cx, port, id, arena),
            Kind::Grant | Kind::Request => self.asked(cx, &packet, &cold),
            Kind::Ack => self.finished(cx, &packet, &cold),
            _ => {}
        }
        arena.free(id);
    }

    fn ready(&self, frames: &Frames, _: Time, port: u16) -> ClassSet {
        self.replies.ready(port) | self.ready.filled(frames, port, BinaryHeap::is_empty)
    }

    // HOM-02, HOM-03, HOM-04
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
        if class < DATA_CLASS {
            return None;
        }
        let levels = u16::from(cx.config.levels);
        while let Some(Reverse(next)) = self.ready.of(port, class).pop() {
            let Some(flow) = self.outgoing.get_mut(next.slot, next.flow) else {
                continue;
            };
            flow.waits = false;
            cx.sink.flow_waits(&flow.start, Wait::Receiver);
            let again = flow.lost.pop_front();
            let psn = match again {
                Some(psn) => psn,
                None if flow.next < flow.granted => {
                    flow.next += 1;
                    flow.next - 1
                }
                None => continue,
            };
            let (mut hot, mut cold) = data_packet(cx.now, cx.frames, &flow.start, next.slot, psn);
            let unscheduled = psn < flow.window && (again.is_none() || flow.level >= levels);
            let level = if unscheduled {
                flow.first_level
            } else {
                flow.level.min(levels - 1)
            };
            hot.upstream_queue =
                u16::from(DATA_CLASS) + u16::from(class - DATA_CLASS) * levels + level;
            cold.credit = flow.window;
            flow.retransmitted += u32::from(again.is_some());
            count_sent(cx.counters, &mut hot, cold.payload, again.is_some());
            self.revive(cx, next.slot, next.flow);
            return Some(arena.alloc(hot, cold));
        }
        None
    }

    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, arena: &mut Arena) {
        let timeout_ps = cx.config.timeout_ps;
        while let Some(alarm) = self.alarms.due(cx.now, cx.sink) {
            let heard_ps = if alarm.incoming {
                let flow = self.incoming.get_mut(alarm.slot, alarm.flow);
                flow.map(|flow| &mut flow.heard_ps)
            } else {
                let flow = self.outgoing.get_mut(alarm.slot, alarm.flow);
                flow.map(|flow| &mut flow.heard_ps)
            };
            let Some(heard_ps) = heard_ps else { continue };
            let silent = cx.now >= *heard_ps + timeout_ps;
            if silent {
                *heard_ps = cx.now;
            }
            let at = *heard_ps + timeout_ps;
            match (silent, alarm.incoming) {
                (true, true) => self.miss(cx, alarm.slot, alarm.flow, arena),
                (true, false) => self.probe(cx, alarm.slot, alarm.flow),
                _ => {}
            }
            self.alarm(cx, Alarm { at, ..alarm });
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
            let sent = flow.start.bytes_below(flow.next, frames.mtu);
            let why = if flow.waits {
                "ready to send"
            } else if flow.next < flow.packets {
                "waits for grants"
            } else {
                "waits for its acknowledgement"
            };
            let unfinished = flow.start.unfinished(sent, flow.retransmitted, why);
            visit(&flow.start, unfinished);
        }
    }
}
