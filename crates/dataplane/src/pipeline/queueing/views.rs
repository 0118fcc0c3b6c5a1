//! Read-only access to queues for statistics and for the search for deadlocks, and prefetches.

use super::{Queueing, TAKEN};
use crate::ids::QueueId;
use crate::packet::{Arena, NO_PACKET, PacketId};
use crate::prefetch::prefetch;

/// Reason why a queue that has packets does not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// Its class is paused.
    Class,
    /// The neighbour has no room for its class.
    Room,
    /// The queue itself, or the flow of its first packet, is paused. Contains the number of the
    /// queue at its port, or the ID of the flow.
    Named(u32),
}

/// State of a queue that has packets.
#[derive(Clone, Copy, Debug)]
pub struct QueueState {
    /// Index of the queue in its switch.
    pub queue: QueueId,
    /// Number of bytes in the queue.
    pub bytes: u64,
    /// First packet of the queue.
    pub head: PacketId,
    /// Number of packets dequeued so far, modulo [`QueueState::TURN`].
    pub taken: u32,
}

impl QueueState {
    /// Number of packets after which [`QueueState::taken`] wraps to 0.
    pub const TURN: u32 = 1 << (u64::BITS - TAKEN.trailing_zeros());

    /// Returns the packets of the queue, in order.
    pub fn packets<'a>(&self, arena: &'a Arena) -> impl Iterator<Item = PacketId> + use<'a> {
        let some = |id: PacketId| (id != NO_PACKET).then_some(id);
        std::iter::successors(some(self.head), move |&id| some(arena.hot(id).next))
    }

    /// Calls `visit` with every packet of the queue, in order.
    pub fn for_each(&self, arena: &Arena, visit: impl FnMut(PacketId)) {
        self.packets(arena).for_each(visit);
    }
}

impl Queueing {
    /// Returns a bit set of the empty queues among the 64 queues from index `word` · 64 on. Only
    /// queues that exist from the start are included.
    pub fn empty_word(&self, word: usize) -> u64 {
        let first = word * 64;
        let all = &self.queues[first..(first + 64).min(self.standing())];
        let bits = all.iter().enumerate();
        bits.fold(0, |bits, (nth, q)| bits | u64::from(q.is_empty()) << nth)
    }

    /// Prefetches the state of a port.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.ports, port as usize);
        if !self.single {
            prefetch(&self.rounds, self.at(port, self.classes as u8 - 1));
        }
    }

    /// Prefetches the state of a queue.
    #[inline]
    pub fn prefetch_queue(&self, queue: QueueId) {
        prefetch(&self.queues, queue.index());
    }

    /// Returns the queue that the highest class of a port serves next. The index may be invalid if
    /// no queue can send.
    #[inline]
    fn first_to_send(&self, port: u16) -> QueueId {
        let at = self.at(port, self.classes as u8 - 1);
        match self.single {
            true => QueueId::new(at),
            false => self.rounds[at].head,
        }
    }

    /// Prefetches the state of a port that will send, and the queue of its highest class if each
    /// class has one queue.
    #[inline]
    pub fn prefetch_sending(&self, port: u16) {
        self.prefetch(port);
        if self.single {
            self.prefetch_queue(self.first_to_send(port));
        }
    }

    /// Prefetches the next packet of the highest class of a port. If a class can have several
    /// queues, prefetches the next queue instead.
    #[inline]
    pub fn prefetch_first(&self, port: u16, arena: &Arena) {
        if self.single {
            self.prefetch_first_packet(port, arena);
        } else {
            self.prefetch_queue(self.first_to_send(port));
        }
    }

    /// Prefetches the next packet of the highest class of a port.
    #[inline]
    pub fn prefetch_first_packet(&self, port: u16, arena: &Arena) {
        if let Some(q) = self.queues.get(self.first_to_send(port).index()) {
            arena.prefetch_waiting(q.head);
        }
    }

    /// Returns true if pauses apply to flows instead of queues (BFC-37).
    pub const fn holds_flows(&self) -> bool {
        self.by_flow
    }

    /// Returns the number that a pause frame for this queue contains: the number of the queue at
    /// its port, or the ID of the flow of its first packet. The queue must not be empty.
    pub fn name(&self, queue: QueueId, arena: &Arena) -> u32 {
        let q = self.get(queue);
        match self.holds_flows() {
            true => arena.hot(q.head).flow,
            false => q.number.into(),
        }
    }

    /// Returns the reason why a queue cannot send, or `None` if it can. Never returns
    /// [`HeldBy::Named`] for an empty queue.
    pub fn held_by(&self, queue: QueueId, arena: &Arena) -> Option<HeldBy> {
        let q = self.get(queue);
        let (paused, blocked) = (
            self.gate.closed_by_pauses(q.port),
            self.gate.blocked(q.port),
        );
        if paused >> q.class & 1 != 0 {
            Some(HeldBy::Class)
        } else if blocked >> q.class & 1 != 0 {
            Some(HeldBy::Room)
        } else {
            let by_name = q.paused && q.head != NO_PACKET;
            by_name.then(|| HeldBy::Named(self.name(queue, arena)))
        }
    }

    /// Returns true if a port has packets and all of them are paused or lack credit from the
    /// neighbour.
    pub fn is_stuck(&self, port: u16) -> bool {
        let p = &self.ports[port as usize];
        p.bytes > 0 && p.ready & !self.gate.waits_for_neighbour(port) == 0
    }

    /// Returns true if a port has packets and may have paused ones, by class or by queue. A fast
    /// check that can return true without a paused packet.
    #[inline]
    pub fn may_be_stuck(&self, port: u16) -> bool {
        let p = &self.ports[port as usize];
        p.bytes > 0 && (p.ready & self.gate.waits_for_neighbour(port) != 0 || p.paused_queues > 0)
    }

    /// Calls `visit` with every queue of a port that is not empty.
    pub fn for_each_queue(&self, port: u16, mut visit: impl FnMut(&QueueState)) {
        for at in self.own(port).chain(self.standing()..self.queues.len()) {
            let q = &self.queues[at];
            if q.port == port && !q.is_empty() {
                visit(&QueueState {
                    queue: QueueId::new(at),
                    bytes: q.bytes(),
                    head: q.head,
                    taken: (q.account / TAKEN) as u32,
                });
            }
        }
    }

    /// Calls `visit` with every packet queued at a port.
    pub fn for_each_packet(&self, port: u16, arena: &Arena, mut visit: impl FnMut(PacketId)) {
        self.for_each_queue(port, |queue| queue.for_each(arena, &mut visit));
    }
}
