//! State of flows that all receiver-driven transports share, at the sender and the receiver, and
//! the order in which flows send.

use std::collections::VecDeque;

use super::{Context, Frames, data_packet};
use crate::classes::ClassSet;
use crate::counters::NicCounters;
use crate::flow::{FlowStart, Unfinished, packets_of};
use crate::ids::FlowSlot;
use crate::packet::{Cold, Packet, flag};
use crate::reliability::arrivals::Arrivals;
use crate::shaping::Bucket;
use crate::sink::Sink;
use crate::units::Time;

/// Flows by slot index. Slots of removed flows are reused.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    places: Vec<Option<(u32, T)>>,
    free: Vec<FlowSlot>,
}

impl<T> Slots<T> {
    pub const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a flow and returns its slot.
    pub fn insert(&mut self, flow: u32, value: T) -> FlowSlot {
        let place = Some((flow, value));
        match self.free.pop() {
            Some(slot) => {
                self.places[slot.index()] = place;
                slot
            }
            None => {
                self.places.push(place);
                FlowSlot::new(self.places.len() - 1)
            }
        }
    }

    /// Returns the flow in a slot if its ID is `flow`, because the slot may have been reused.
    pub fn get_mut(&mut self, slot: FlowSlot, flow: u32) -> Option<&mut T> {
        match self.places.get_mut(slot.index()) {
            Some(Some((number, value))) if *number == flow => Some(value),
            _ => None,
        }
    }

    pub fn remove(&mut self, slot: FlowSlot, flow: u32) -> Option<T> {
        self.get_mut(slot, flow)?;
        self.free.push(slot);
        self.places[slot.index()].take().map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|(_, value)| value)
    }
}

/// Flows that have packets to send: one list per port and class. Each transport chooses the type of
/// the list.
#[derive(Debug)]
pub(crate) struct Turns<L> {
    lists: Vec<L>,
    classes: usize,
}

impl<L: Clone + Default> Turns<L> {
    pub fn new(ports: usize, classes: usize) -> Self {
        Self {
            lists: vec![L::default(); ports * classes],
            classes,
        }
    }

    pub fn of(&mut self, port: u16, class: u8) -> &mut L {
        &mut self.lists[port as usize * self.classes + class as usize]
    }

    /// Returns the list that contains a flow while it has packets to send.
    pub fn of_flow(&mut self, frames: &Frames, start: &FlowStart) -> &mut L {
        self.of(start.port, frames.data_class + start.class)
    }

    /// Returns the data classes with a nonempty list at a port, as a bit set.
    pub fn filled(&self, frames: &Frames, port: u16, is_empty: impl Fn(&L) -> bool) -> ClassSet {
        let first = port as usize * self.classes;
        (frames.data_class as usize..self.classes)
            .filter(|class| !is_empty(&self.lists[first + class]))
            .fold(0, |bits, class| bits | 1 << class)
    }
}

/// Packets of a flow at its sender. Lost packets are sent first, then new packets in order.
#[derive(Debug)]
pub(crate) struct Packets {
    pub start: FlowStart,
    /// Number of packets in the flow.
    pub total: u32,
    /// Number of the next packet that is sent for the first time.
    pub next: u32,
    /// Numbers of the packets to be sent again.
    pub lost: VecDeque<u32>,
    /// All packets below this number have been sent at least once.
    reached: u32,
    pub retransmitted: u32,
}

impl Packets {
    pub fn new(start: &FlowStart, frames: &Frames) -> Self {
        Self {
            start: *start,
            total: packets_of(start.bytes, frames.mtu),
            next: 0,
            lost: VecDeque::new(),
            reached: 0,
            retransmitted: 0,
        }
    }

    /// Returns true if a lost packet, or a new packet below number `end`, remains to be sent.
    pub fn is_left(&self, end: u32) -> bool {
        !self.lost.is_empty() || self.next < end
    }

    /// Returns the number of the packet that is sent next, and counts this packet as sent. New
    /// packets are sent only below number `end`.
    pub fn take(&mut self, end: u32) -> Option<u32> {
        if let Some(psn) = self.lost.pop_front() {
            return Some(psn);
        }
        if self.next >= end {
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// Adds a packet to the lost packets if it has been sent and is not in the list yet.
    pub fn add_lost(&mut self, psn: u32) {
        if psn < self.next && !self.lost.contains(&psn) {
            self.lost.push_back(psn);
        }
    }

    /// Builds a data packet that is sent now, and counts it in the counters of the NIC.
    pub fn build<S, P>(
        &mut self,
        cx: &mut Context<'_, S, P>,
        slot: FlowSlot,
        psn: u32,
    ) -> (Packet, Cold) {
        let (mut hot, cold) = data_packet(cx.now, cx.frames, &self.start, slot, psn);
        if psn < self.reached {
            hot.flags |= flag::RETRANSMITTED;
            self.retransmitted += 1;
        } else {
            self.reached = psn + 1;
        }
        cx.counters.count_sent(&hot, cold.payload);
        (hot, cold)
    }

    /// Passes the state of the flow to `visit`. `acked`: all packets below this number have
    /// arrived. `why`: the reason why the flow does not send.
    pub fn visit(
        &self,
        frames: &Frames,
        acked: u32,
        why: &'static str,
        visit: &mut dyn FnMut(&FlowStart, Unfinished),
    ) {
        let acked_bytes = self.start.bytes_below(acked, frames.mtu);
        let unfinished = (self.start).unfinished(acked_bytes, self.retransmitted, why);
        visit(&self.start, unfinished);
    }
}

/// Control frames of a receiver (credits or pulls) that are queued at a port and paced by a token
/// bucket. `T` identifies a frame.
#[derive(Debug)]
pub(crate) struct Paced<T> {
    pub waiting: VecDeque<T>,
    pub bucket: Bucket,
    /// True if a timer for the token bucket is set.
    pub has_timer: bool,
}

impl<T> Paced<T> {
    pub const fn new(bucket: Bucket) -> Self {
        Self {
            waiting: VecDeque::new(),
            bucket,
            has_timer: false,
        }
    }

    /// Returns true if a frame is queued and the token bucket permits it now.
    pub fn is_ready(&self, now: Time) -> bool {
        !self.waiting.is_empty() && self.bucket.opens_ps() <= now
    }

    /// Starts the port if a frame may be sent now. Otherwise returns the expiry of the timer that
    /// the caller must set; `None` if no timer is needed.
    pub fn resume<S: Sink>(&mut self, now: Time, port: u16, sink: &mut S) -> Option<Time> {
        if self.is_ready(now) {
            sink.kick(port);
        } else if !self.waiting.is_empty() && !self.has_timer {
            self.has_timer = true;
            return Some(self.bucket.opens_ps());
        }
        None
    }
}

impl Arrivals {
    /// Records a data packet of a flow whose packets below `expected` have all arrived. Updates
    /// `expected`, counts the packet, and returns true if the packet is new.
    pub(super) fn record(
        &mut self,
        counters: &mut NicCounters,
        packet: &Packet,
        cold: &Cold,
        expected: &mut u32,
    ) -> bool {
        let (is_new, next) = self.take(packet.flow, packet.psn, *expected);
        *expected = next;
        if is_new {
            counters.delivered_bytes += u64::from(cold.payload);
        } else {
            counters.discarded += 1;
        }
        is_new
    }
}
