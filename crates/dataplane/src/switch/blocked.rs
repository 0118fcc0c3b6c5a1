//! Data for the search for deadlocks: packets of a switch that cannot be sent, and packets because
//! of which its neighbours stay paused.

use super::Switch;
use crate::classes::ClassSet;
use crate::hop::{HopScheme, dispatch};
use crate::ids::QueueId;
use crate::packet::{Arena, Packet, flag};
use crate::pipeline::queueing::HeldBy;

/// A queue with packets that may not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckQueue {
    /// Index of the queue in its switch.
    pub queue: QueueId,
    /// Class of the queue.
    pub class: u8,
    /// Bytes in the queue.
    pub bytes: u64,
    /// True if the class is paused or has no credit.
    pub by_class: bool,
    /// If the neighbour has paused the queue or the flow of its first packet: the number of the
    /// queue at its port, or the ID of the flow.
    pub by_name: Option<u32>,
}

/// Pause of the upstream neighbour that lasts because a packet of the neighbour is still here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// This class of the neighbour's port stays paused.
    Class(u8),
    /// The queue with this number, or the flow with this ID, of the neighbour's port stays paused.
    Named(u32),
}

impl Switch {
    /// Returns the egress port at which an admitted packet waits, and true if it is in a VOQ. A
    /// packet can move from a VOQ to a queue as soon as it is received.
    #[must_use]
    pub fn waits_at(&self, packet: &Packet) -> (u16, bool) {
        match packet.location.is_in_voq() {
            true => (packet.location.voq_egress(), true),
            false => (self.port_of(packet.location.queue()), false),
        }
    }

    /// Returns the port of a queue.
    #[must_use]
    pub fn port_of(&self, queue: QueueId) -> u16 {
        self.core.queueing.get(queue).port
    }

    /// Returns the class of a queue.
    #[must_use]
    pub fn class_of(&self, queue: QueueId) -> u8 {
        self.core.queueing.get(queue).class
    }

    /// Returns the reason why a queue with packets may not send.
    // BLM-22
    #[must_use]
    pub fn held_by(&self, queue: QueueId, arena: &Arena) -> Option<HeldBy> {
        self.core.queueing.held_by(queue, arena)
    }

    /// Returns two bit sets of classes of a port that may not send: those that the neighbour
    /// paused, and those without credit.
    #[must_use]
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let gate = &self.core.queueing.gate;
        (gate.paused(port), gate.blocked(port))
    }

    /// Returns true if pause frames identify flows instead of queues, so that a queue cannot send
    /// while the flow of its first packet is paused.
    #[must_use]
    pub fn holds_flows(&self) -> bool {
        self.core.queueing.holds_flows()
    }

    /// Returns false only if no packet at a port is paused. This is a fast check, which can return
    /// true without a paused packet.
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

    /// Returns the pauses that this switch has sent and not ended, with the current state.
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

    /// Calls `visit` for every packet of this switch because of which a pause lasts. The arguments
    /// are the ingress port, the paused class or queue of its neighbour, the queue of the packet,
    /// and the flow.
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

/// The pauses that a switch has sent and not ended, to find the packets that prevent the resume.
#[derive(Debug)]
pub struct Holding<'a> {
    switch: &'a Switch,
    /// Ingress ports and classes that are paused, in ascending order.
    pausing: Vec<(u16, u8)>,
}

impl Holding<'_> {
    /// Returns the pauses of the upstream neighbour that last because of a packet of this switch:
    /// that of its class, and that of its queue or flow.
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

    /// Calls `visit` with (ingress port, paused class or queue of the neighbour at this port) for
    /// packets of the queues for which `which` returns true. Stops when `visit` returns true, and
    /// then returns true.
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
