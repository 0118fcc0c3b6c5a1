//! Flows of receiver-driven transports at both ends, and the order in which they send.

use std::collections::VecDeque;

use super::Frames;
use crate::classes::ClassSet;
use crate::counters::NicCounters;
use crate::ids::FlowSlot;
use crate::mixed::MixedMap;
use crate::packet::{Cold, Packet};
use crate::reliability::arrivals::Arrivals;
use crate::units::Time;

/// Flows by slot number. Slots of removed flows are reused.
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

    /// Returns the flow in a slot if its number is `flow`.
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

/// Flows that have packets to send, in one list per port and class. The transport chooses the type
/// of list.
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

    /// Returns the data classes whose lists at a port are not empty, as a bit set.
    pub fn filled(&self, frames: &Frames, port: u16, is_empty: impl Fn(&L) -> bool) -> ClassSet {
        let first = port as usize * self.classes;
        (frames.data_class as usize..self.classes)
            .filter(|class| !is_empty(&self.lists[first + class]))
            .fold(0, |bits, class| bits | 1 << class)
    }
}

/// The packets that a sender still has to send: lost packets first, then new ones in order.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    /// Number of the next new packet.
    pub next: u32,
    /// Packets to be sent again.
    pub lost: VecDeque<u32>,
}

impl Unsent {
    /// True if there is a lost packet, or a new one below `end`.
    pub fn is_left(&self, end: u32) -> bool {
        !self.lost.is_empty() || self.next < end
    }

    /// Takes the number of the packet that is sent now. Returns true beside it if the packet was lost. New packets
    /// have numbers below `end`.
    pub fn take(&mut self, end: u32) -> Option<(u32, bool)> {
        if let Some(psn) = self.lost.pop_front() {
            return Some((psn, true));
        }
        if self.next >= end {
            return None;
        }
        self.next += 1;
        Some((self.next - 1, false))
    }

    /// Adds a packet that has been sent and that the receiver misses, once.
    pub fn add_lost(&mut self, psn: u32) {
        if psn < self.next && !self.lost.contains(&psn) {
            self.lost.push_back(psn);
        }
    }
}

/// Flows at their receiver.
#[derive(Debug)]
pub(crate) struct Incomings<T> {
    /// Flows that are not complete.
    pub open: Slots<T>,
    /// Slots of open flows by flow number.
    known: MixedMap<u32, FlowSlot>,
    /// Complete flows and the time when each was complete.
    // NIC-32: state that a receiver keeps of a complete flow.
    complete: MixedMap<u32, Time>,
    /// Packets that arrived after a gap.
    pub arrivals: Arrivals,
}

impl<T> Incomings<T> {
    pub fn new() -> Self {
        Self {
            open: Slots::new(),
            known: MixedMap::default(),
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
        }
    }

    /// Returns the time at which a flow was complete, or `None` if it is not.
    pub fn done_ps(&self, flow: u32) -> Option<Time> {
        self.complete.get(&flow).copied()
    }

    /// Returns the slot of an open flow.
    pub fn slot(&self, flow: u32) -> Option<FlowSlot> {
        self.known.get(&flow).copied()
    }

    /// Adds a flow and returns its slot.
    pub fn begin(&mut self, flow: u32, value: T) -> FlowSlot {
        let slot = self.open.insert(flow, value);
        self.known.insert(flow, slot);
        slot
    }

    /// Removes a complete flow.
    pub fn end(&mut self, slot: FlowSlot, flow: u32, done_ps: Time) {
        self.open.remove(slot, flow);
        self.known.remove(&flow);
        self.complete.insert(flow, done_ps);
    }
}

impl Arrivals {
    /// Records a data packet of a flow whose packets below `expected` have all arrived. Raises
    /// `expected`, counts the packet, and returns true if it is new.
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

/// Address of the sender of a flow, for frames from its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peer {
    pub flow: u32,
    /// Endpoint of the sender.
    endpoint: u32,
    /// Endpoint of the receiver.
    own: u32,
    /// Slot of the flow at its sender.
    slot: FlowSlot,
    /// Hash that selects the path of frames to the sender.
    pub hash: u32,
}

impl Peer {
    /// Returns the address of the sender of a packet.
    pub const fn of(packet: &Packet, cold: &Cold) -> Self {
        Self {
            flow: packet.flow,
            endpoint: cold.src,
            own: packet.dst,
            slot: cold.slot,
            hash: packet.hash,
        }
    }

    /// Addresses a frame to the sender.
    pub fn address(&self, frame: Packet) -> (Packet, Cold) {
        let hot = Packet {
            flow: self.flow,
            hash: self.hash,
            dst: self.endpoint,
            ..frame
        };
        let cold = Cold {
            src: self.own,
            slot: self.slot,
            ..Cold::default()
        };
        (hot, cold)
    }
}
