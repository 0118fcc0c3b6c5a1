//! What of a switch cannot move, and what in it holds its neighbours: for the search for deadlocks.
//! Changes nothing.

use super::Switch;
use crate::classes::ClassSet;
use crate::hop::{HopScheme, dispatch};
use crate::ids::QueueId;
use crate::packet::{Arena, Packet, flag};
use crate::pipeline::queueing::HeldBy;

/// A queue with packets that a pause holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckQueue {
    /// Index among the queues of its switch.
    pub queue: QueueId,
    /// Its class.
    pub class: u8,
    /// Bytes that wait.
    pub bytes: u64,
    /// Its class is paused, or the neighbour has no room for it.
    pub by_class: bool,
    /// What a pause of queues or flows names to hold it: its number, or the flow of its first packet.
    pub by_name: Option<u32>,
}

/// What a packet does to the neighbour that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// It keeps a class of the neighbour's port paused.
    Class(u8),
    /// It keeps a queue or flow of the neighbour's port paused.
    Named(u32),
}

impl Switch {
    /// Returns the port at which an admitted packet waits, and true if it is in a VOQ. A packet may have
    /// passed through a VOQ while it was received.
    #[must_use]
    pub fn waits_at(&self, packet: &Packet) -> (u16, bool) {
        match packet.location.is_in_voq() {
            true => (packet.location.voq_egress(), true),
            false => (self.port_of(packet.location.queue()), false),
        }
    }

    /// The port of a queue.
    #[must_use]
    pub fn port_of(&self, queue: QueueId) -> u16 {
        self.core.queueing.get(queue).port
    }

    /// The class of a queue.
    #[must_use]
    pub fn class_of(&self, queue: QueueId) -> u8 {
        self.core.queueing.get(queue).class
    }

    /// What keeps a queue that holds packets from sending.
    // BLM-22
    #[must_use]
    pub fn held_by(&self, queue: QueueId, arena: &Arena) -> Option<HeldBy> {
        self.core.queueing.held_by(queue, arena)
    }

    /// Classes of a port that may not send, as bits: paused by the neighbour, and without room there.
    #[must_use]
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let gate = &self.core.queueing.gate;
        (gate.paused(port), gate.blocked(port))
    }

    /// Whether the first packet of a queue can hold it, by its flow.
    #[must_use]
    pub fn holds_flows(&self) -> bool {
        self.core.queueing.holds_flows()
    }

    /// Whether something that is paused may wait at a port. Quick; may be wrong with yes.
    #[inline]
    #[must_use]
    pub fn may_be_stuck(&self, port: u16) -> bool {
        self.core.queueing.may_be_stuck(port)
    }

    /// Calls `visit` with every queue of a port that has packets and may not send.
    // LNK-41
    pub fn for_each_stuck(&self, port: u16, arena: &Arena, mut visit: impl FnMut(StuckQueue)) {
        let queueing = &self.core.queueing;
        let paused = queueing.gate.waits_for_neighbour(port);
        queueing.for_each_queue(port, |state| {
            let q = queueing.get(state.queue);
            let by_class = paused >> q.class & 1 != 0;
            if !by_class && !q.paused {
                return;
            }
            let named = queueing.name(state.queue, arena);
            visit(StuckQueue {
                queue: state.queue,
                class: queueing.data_class(state.queue),
                bytes: state.bytes,
                by_class,
                by_name: q.paused.then_some(named),
            });
        });
    }

    /// Which of its packets hold something, as of now.
    // LNK-41
    #[must_use]
    pub fn holding(&self) -> Holding<'_> {
        let mut pausing: Vec<(u16, u8)> = self.core.pfc.pausing().collect();
        pausing.sort_unstable();
        Holding {
            switch: self,
            pausing,
        }
    }

    /// Calls `visit` with (ingress, what it holds of the neighbour there, queue, flow) for every
    /// packet in this switch that holds something.
    // LNK-41
    pub fn for_each_hold(&self, arena: &Arena, mut visit: impl FnMut(u16, Holds, QueueId, u32)) {
        let holding = self.holding();
        for port in 0..self.ports() {
            self.for_each_queued(port, arena, |id| {
                let packet = arena.hot(id);
                for holds in holding.of(packet).into_iter().flatten() {
                    visit(packet.ingress, holds, packet.location.queue(), packet.flow);
                }
            });
        }
    }
}

/// What keeps up the pauses that a switch has sent.
#[derive(Debug)]
pub struct Holding<'a> {
    switch: &'a Switch,
    /// Ingresses and classes that are paused, ascending.
    pausing: Vec<(u16, u8)>,
}

impl Holding<'_> {
    /// What a packet in this switch holds of the neighbour that it came from: a class, and what has a name.
    #[must_use]
    pub fn of(&self, packet: &Packet) -> [Option<Holds>; 2] {
        let hop = &self.switch.hop;
        let links = self.switch.core.links.as_deref();
        let class = packet.class();
        let kept = || {
            let paused = self.pausing.binary_search(&(packet.ingress, class)).is_ok();
            paused || links.is_some_and(|links| links.blocks_class(packet))
        };
        let by_class = packet.has(flag::BUFFERED) && kept();
        let named = dispatch!(hop, scheme => scheme.pauses_by_name(packet), None);
        [
            by_class.then_some(Holds::Class(class)),
            named.map(Holds::Named),
        ]
    }

    /// Calls `visit` with (ingress, what it holds of the neighbour there) of packets of the queues that
    /// `which` takes, until it returns true: it has seen enough.
    pub fn any_in(
        &self,
        arena: &Arena,
        mut which: impl FnMut(QueueId) -> bool,
        mut visit: impl FnMut(u16, Holds) -> bool,
    ) -> bool {
        let mut enough = false;
        for port in 0..self.switch.ports() {
            self.switch.core.queueing.for_each_queue(port, |queue| {
                if enough || !which(queue.queue) {
                    return;
                }
                enough = queue.packets(arena).any(|id| {
                    let packet = arena.hot(id);
                    let mut held = self.of(packet).into_iter().flatten();
                    held.any(|holds| visit(packet.ingress, holds))
                });
            });
        }
        enough
    }
}
