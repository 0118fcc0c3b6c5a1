//! The sending half of a NIC that copies the host of the ns-3 simulator: one port, one queue of
//! replies, a list of queue pairs that is scanned for the next sender, and one pacing timer for the
//! whole port (rules in `specs/ns3.md`).
//!
//! The single timer affects results: a queue pair that is blocked by its window can prevent the
//! timer of a queue pair that only waits for its pacing time.

use super::egress::Egress;
use super::half::{Common, SendingHalf};
use crate::cc::{Ack, ControlConfig};
use crate::config::{NicConfig, Sending};
use crate::counters::NicCounters;
use crate::event::NodeEvent;
use crate::fifo::Fifo;
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::ns3::integer::{Control, Tick};
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp, flag};
use crate::prefetch::prefetch;
use crate::properties::Property;
use crate::sink::Sink;
use crate::units::{Time, cut_serialisation_ps};
use crate::wait::Wait;

/// State of a flow, from its start until it is removed from the list and has no pending timer.
#[derive(Debug)]
struct Pair {
    start: FlowStart,
    control: Control,
    class: u8,
    /// Number of packets of the flow.
    packets: u32,
    /// Number of the next packet to send.
    next: u32,
    /// All packets below this number are acknowledged.
    acked: u32,
    /// All packets below this number have been sent at least once.
    reached: u32,
    retransmitted: u32,
    /// Earliest start of the next packet.
    next_ps: Time,
    /// Size of the last packet sent, in bytes.
    last_bytes: u16,
    /// Number of pending timers of the congestion control.
    clocks: u8,
    /// True if the flow is in the list of queue pairs.
    listed: bool,
}

/// Returns the parameters of the congestion control. Flows use its integer implementation.
fn control(config: &NicConfig) -> &ControlConfig {
    match &config.control {
        Sending::Control(control) => control,
        _ => unreachable!("scenarios refuse others"),
    }
}

impl Pair {
    const fn finished(&self) -> bool {
        self.acked == self.packets
    }

    const fn unsent(&self) -> bool {
        self.next < self.packets
    }

    /// NS3-33: returns true if the payload bytes in flight have reached the window.
    fn held_by_window(&self, config: &NicConfig) -> bool {
        let under_way = self.start.bytes_below(self.next, config.mtu)
            - self.start.bytes_below(self.acked, config.mtu);
        under_way >= self.control.window(control(config), &self.start.path)
    }
}

impl Pair {
    /// Returns the reason why the flow waits, without pauses of classes of its port.
    fn wait(&self, config: &NicConfig, egress: &Egress) -> Wait {
        if !self.unsent() {
            Wait::Answers
        } else if self.held_by_window(config) {
            Wait::Window
        } else if egress.gate.is_destination_paused(0, self.start.dst) {
            Wait::Destination
        } else {
            Wait::Pace(self.next_ps)
        }
    }
}

/// Value of the three highest bits of the argument of [`Scan::called`] for the pacing timer. Higher
/// values mean a timer of a congestion control: [`TICKS`], in this order.
const WAKE: u32 = 1;
const TICKS: [Tick; 3] = [Tick::Alpha, Tick::Decrease, Tick::Increase];
const WHAT_SHIFT: u32 = 29;
const WHICH: u32 = (1 << WHAT_SHIFT) - 1;

/// Sending half of a NIC as in the ns-3 simulator.
#[derive(Debug)]
pub(crate) struct Scan {
    pairs: Vec<Pair>,
    free: Vec<FlowSlot>,
    /// Slots of the queue pairs, in the order in which their flows started.
    list: Vec<FlowSlot>,
    /// Index in `list` of the queue pair that sent last.
    last: usize,
    replies: Fifo,
    /// Class of the queued replies.
    reply_class: u8,
    /// Time at which the pacing timer of the port expires, if it is set.
    wake_ps: Option<Time>,
    /// Number of the last pacing timer that was set. Earlier pacing timers are cancelled.
    wakes: u32,
}

impl Scan {
    pub fn new() -> Self {
        Self {
            pairs: Vec::new(),
            free: Vec::new(),
            list: Vec::new(),
            last: 0,
            replies: Fifo::EMPTY,
            reply_class: 0,
            wake_ps: None,
            wakes: 0,
        }
    }

    /// NS3-24: searches the list once for a queue pair that may send, starting after the last
    /// sender. If the search meets finished pairs, it removes the one with the lowest index and all
    /// finished pairs after it in the list. The removal does not correct the index of the last
    /// sender.
    fn scan(&mut self, now: Time, config: &NicConfig, egress: &Egress) -> Option<usize> {
        let paused = egress.closed_classes(0);
        let count = self.list.len();
        let mut found = None;
        let mut first_finished = count;
        for step in 1..=count {
            let place = (self.last + step) % count;
            let pair = &self.pairs[self.list[place].index()];
            let open = paused >> pair.class & 1 == 0
                && !egress.gate.is_destination_paused(0, pair.start.dst); // FG-42
            if open && pair.unsent() && !pair.held_by_window(config) {
                if pair.next_ps <= now {
                    found = Some(place);
                    break;
                }
            } else if pair.finished() {
                first_finished = first_finished.min(place);
            }
        }
        if first_finished < count {
            found = self.compact(first_finished, found);
        }
        found
    }

    /// Removes all finished pairs with an index of at least `from`. Returns the new index of the
    /// pair that was at index `found`.
    fn compact(&mut self, from: usize, found: Option<usize>) -> Option<usize> {
        let mut kept = from;
        let mut moved = found;
        for place in from..self.list.len() {
            let slot = self.list[place];
            if self.pairs[slot.index()].finished() {
                self.pairs[slot.index()].listed = false;
                self.release(slot);
                continue;
            }
            if found == Some(place) {
                moved = Some(kept);
            }
            self.list[kept] = slot;
            kept += 1;
        }
        self.list.truncate(kept);
        moved
    }

    /// Frees the slot of a finished flow that is not in the list and has no pending timer.
    fn release(&mut self, slot: FlowSlot) {
        let pair = &self.pairs[slot.index()];
        if pair.finished() && !pair.listed && pair.clocks == 0 {
            self.free.push(slot);
        }
    }

    /// NS3-25: sets the pacing timer when no pair may send. The timer expires at the earliest
    /// pacing time of all pairs with unsent packets, even of pairs that wait for another reason. It
    /// is not set if that time has passed.
    fn set_alarm<S: Sink>(&mut self, now: Time, sink: &mut S) {
        if self.wake_ps.is_some() {
            return;
        }
        let pairs = self.list.iter().map(|&slot| &self.pairs[slot.index()]);
        let earliest = pairs.filter(|p| p.unsent()).map(|p| p.next_ps).min();
        if let Some(at) = earliest.filter(|&at| at > now) {
            self.wake_at(at, sink);
        }
    }

    /// Reports why each flow waits, if the simulator records delay breakdowns.
    // BLM-11
    fn note_waits<S: Sink>(&self, nic: &Common, sink: &mut S) {
        if sink.wants(NodeEvent::FLOW_WAITS) {
            for pair in self.list.iter().map(|&slot| &self.pairs[slot.index()]) {
                sink.flow_waits(&pair.start, pair.wait(&nic.config, &nic.egress));
            }
        }
    }

    fn wake_at<S: Sink>(&mut self, at: Time, sink: &mut S) {
        self.wakes = (self.wakes + 1) & WHICH;
        self.wake_ps = Some(at);
        sink.call(at, WAKE << WHAT_SHIFT | self.wakes);
    }

    fn send(
        &mut self,
        now: Time,
        config: &NicConfig,
        slot: FlowSlot,
        arena: &mut Arena,
        counters: &mut NicCounters,
    ) -> PacketId {
        let pair = &mut self.pairs[slot.index()];
        let psn = pair.next;
        let before = pair.start.bytes_below(psn, config.mtu);
        let payload = (pair.start.bytes - before).min(u64::from(config.mtu)) as u16;
        let size = config.data_bytes(payload);
        pair.next += 1;
        let mut flags = if pair.start.incast { flag::INCAST } else { 0 };
        counters.data_packets += 1;
        if psn < pair.reached {
            flags |= flag::RETRANSMITTED;
            pair.retransmitted += 1;
            counters.retransmissions += 1;
        } else {
            pair.reached = pair.next;
            counters.payload_bytes += u64::from(payload);
        }
        // NS3-32: the present rate determines the earliest start of the next packet.
        pair.last_bytes = size;
        pair.next_ps = now + cut_serialisation_ps(u64::from(size), pair.control.rate_bps());
        let hot = Packet {
            flow: pair.start.flow,
            psn,
            hash: pair.start.hash,
            dst: pair.start.dst,
            flags,
            ..Packet::new(Kind::Data, pair.class, size)
        };
        let cold = Cold {
            sent_ps: now,
            stamp: Stamp::default(),
            src: pair.start.src,
            slot,
            cookie: pair.start.cookie,
            remaining: pair.start.bytes - before,
            payload,
            ..Cold::default()
        };
        let id = arena.alloc(hot, cold);
        if config.int > 0 {
            arena.attach_stack(id);
        }
        id
    }

    /// Handles an ACK or NAK.
    fn acknowledged<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        id: PacketId,
        arena: &Arena,
        sink: &mut S,
    ) {
        let (packet, cold) = (arena.hot(id), arena.cold(id));
        let slot = cold.slot;
        let pair = &mut self.pairs[slot.index()];
        if pair.start.flow != packet.flow || pair.finished() {
            return;
        }
        let had = pair.start.bytes_below(pair.acked, config.mtu);
        if packet.psn > pair.acked {
            pair.acked = packet.psn;
            pair.next = pair.next.max(pair.acked);
        }
        if pair.finished() {
            let end = pair
                .start
                .end(cold.stamp.completion_ps(), now, pair.retransmitted);
            sink.finished(end);
        } else if packet.kind() == Kind::Nak && config.recovery.properties().has(Property::Repairs)
        {
            pair.next = pair.acked; // NS3-22: go-back-N
        }
        let marked = packet.has(flag::CE);
        if config.host.cnp_on_ack && marked && !pair.finished() {
            // NS3-23: an ACK with an ECN mark is also a CNP
            let ticks = pair.control.on_cnp(control(config), now);
            Self::schedule(pair, slot, ticks, sink);
        }
        let seq = pair.start.bytes_below(pair.acked, config.mtu);
        let mut room = None;
        let ack = Ack {
            seq,
            newly: seq - had,
            snd_nxt: pair.start.bytes_below(pair.next, config.mtu),
            marked,
            rtt_ps: now - cold.sent_ps,
            remote_host_ps: cold.remote_host_ps,
            local_host_ps: cold.local_host_ps,
            int: arena.telemetry(id, &mut room),
            marks: 0,
        };
        let old_bps = pair.control.rate_bps();
        if pair.control.on_ack(control(config), &pair.start.path, &ack) {
            self.repace(now, slot, old_bps, sink);
        }
        sink.kick(0);
    }

    /// NS3-35: recomputes the start of the next packet after a change of the rate.
    fn repace<S: Sink>(&mut self, now: Time, slot: FlowSlot, old_bps: u64, sink: &mut S) {
        let pair = &mut self.pairs[slot.index()];
        let takes = |bps| cut_serialisation_ps(u64::from(pair.last_bytes), bps);
        pair.next_ps = pair.next_ps + takes(pair.control.rate_bps()) - takes(old_bps);
        let at = pair.next_ps;
        if self.wake_ps.is_some_and(|wake| at < wake) {
            self.wake_at(at.max(now), sink);
        }
    }

    fn schedule<S: Sink>(
        pair: &mut Pair,
        slot: FlowSlot,
        ticks: [Option<(Time, Tick)>; 2],
        sink: &mut S,
    ) {
        for (at, tick) in ticks.into_iter().flatten() {
            let what = TICKS.iter().position(|&t| t == tick).unwrap_or(0) as u32;
            pair.clocks += 1;
            sink.call(at, (WAKE + 1 + what) << WHAT_SHIFT | slot.bits());
        }
    }
}

impl SendingHalf for Scan {
    /// NS3-30: starts a flow immediately, at line rate.
    fn start<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        start: &FlowStart,
        _pair: Option<u32>,
        sink: &mut S,
    ) {
        let config = &*nic.config;
        let pair = Pair {
            start: *start,
            control: Control::new(control(config), &start.path),
            class: config.data_class + start.class,
            packets: start.bytes.div_ceil(u64::from(config.mtu)) as u32,
            next: 0,
            acked: 0,
            reached: 0,
            retransmitted: 0,
            next_ps: now,
            last_bytes: 0,
            clocks: 0,
            listed: true,
        };
        let slot = if let Some(slot) = self.free.pop() {
            self.pairs[slot.index()] = pair;
            slot
        } else {
            self.pairs.push(pair);
            FlowSlot::new(self.pairs.len() - 1)
        };
        self.list.push(slot);
        sink.kick(0);
        self.note_waits(nic, sink);
    }

    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        (_port, id): (u16, PacketId),
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let config = &*nic.config;
        match arena.hot(id).kind() {
            Kind::Ack | Kind::Nak => {
                self.acknowledged(now, config, id, arena, sink);
                self.note_waits(nic, sink);
                arena.free(id);
            }
            // NS3-23: only ACKs carry CNPs here, so other frames are not used.
            _ => arena.free(id),
        }
    }

    /// Adds a reply to the reply queue. All replies share this queue.
    fn reply<S: Sink>(
        &mut self,
        _nic: &mut Common,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.reply_class = arena.hot(id).class();
        self.replies.push(id, arena);
        sink.kick(port);
    }

    /// NS3-20: sends replies first, then a packet of the next queue pair after the last sender that
    /// may send.
    fn transmit<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        _port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        let (config, egress) = (&*nic.config, &nic.egress);
        let paused = egress.closed_classes(0) >> self.reply_class & 1 != 0;
        // NS3-21: ACKs can be exempt from pauses of their class
        if !(config.host.ack_pausable && paused)
            && let Some(id) = self.replies.pop(arena)
        {
            return Some(id);
        }
        if let Some(place) = self.scan(now, config, egress) {
            self.last = place;
            let slot = self.list[place];
            let sent = self.send(now, config, slot, arena, &mut nic.counters);
            self.note_waits(nic, sink);
            return Some(sent);
        }
        self.set_alarm(now, sink);
        self.note_waits(nic, sink);
        None
    }

    /// Does nothing, because all timers of this half expire by calls of `called`.
    fn timer<S: Sink>(&mut self, _: Time, _: &mut Common, _: &mut Arena, _: &mut S) {}

    fn called<S: Sink>(&mut self, now: Time, nic: &mut Common, arg: u32, sink: &mut S) {
        let (what, which) = (arg >> WHAT_SHIFT, arg & WHICH);
        if what == WAKE {
            if which == self.wakes && self.wake_ps == Some(now) {
                self.wake_ps = None;
                sink.kick(0);
            }
            return;
        }
        let slot = FlowSlot::from_bits(which);
        let pair = &mut self.pairs[slot.index()];
        debug_assert!(pair.clocks > 0, "a timer of {slot:?} fires and none is set");
        pair.clocks -= 1;
        if pair.finished() {
            self.release(slot);
            return;
        }
        let tick = TICKS[(what - WAKE - 1) as usize];
        let path = pair.start.path;
        let next = pair.control.tick(control(&nic.config), &path, now, tick);
        Self::schedule(pair, slot, next, sink);
        self.note_waits(nic, sink);
    }

    #[inline]
    fn prefetch(&self, _nic: &Common, slot: FlowSlot) {
        prefetch(&self.pairs, slot.index());
    }

    fn for_each_flow(&self, nic: &Common, visit: &mut dyn FnMut(&Unfinished)) {
        let (config, egress) = (&*nic.config, &nic.egress);
        let paused = egress.closed_classes(0);
        for pair in self.list.iter().map(|&slot| &self.pairs[slot.index()]) {
            let why = if pair.finished() {
                continue;
            } else if !pair.unsent() || pair.held_by_window(config) {
                "waits for an acknowledgement"
            } else if paused >> pair.class & 1 != 0 {
                "is held by PFC"
            } else if egress.gate.is_destination_paused(0, pair.start.dst) {
                "its destination is paused"
            } else {
                "waits for its pace"
            };
            let acked_bytes = pair.start.bytes_below(pair.acked, config.mtu);
            visit(&pair.start.unfinished(acked_bytes, pair.retransmitted, why));
        }
    }

    // SPFC-44
    fn for_each_unsent(
        &self,
        _nic: &Common,
        _port: u16,
        class: u8,
        visit: &mut dyn FnMut(&FlowStart),
    ) {
        for pair in self.list.iter().map(|&slot| &self.pairs[slot.index()]) {
            if pair.unsent() && pair.class == class {
                visit(&pair.start);
            }
        }
    }

    /// Returns true: `transmit` removes finished flows from the list even if no flow may send.
    fn is_polled(&self) -> bool {
        true
    }

    fn queued(&self, arena: &Arena) -> u64 {
        self.replies.len(arena)
    }
}
