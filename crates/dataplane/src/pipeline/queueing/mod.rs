//! Egress queues of a switch.
//!
//! This file has the queues and their packets. `schedule.rs` chooses the queue that sends next,
//! `pause.rs` pauses and resumes queues, and `views.rs` has functions that read the state of
//! queues for statistics and for the deadlock search. Every queue has a number at its port and a
//! [`QueueId`], its index in the switch.

mod pause;
mod schedule;
mod views;

use std::ops::Range;

use crate::classes::{ClassSet, DATA_CLASS};
use crate::config::{Classify, MAX_CLASSES, Schedule, SwitchConfig};
use crate::declaration::Needs;
use crate::gate::Gate;
use crate::ids::QueueId;
use crate::packet::{Arena, Location, NO_PACKET, Packet, PacketId};
use crate::units::{Rate, Time};
use schedule::{Round, Shortest};
pub use views::{HeldBy, QueueState};

/// One dequeued packet in the packed counter `Queue::account`.
const TAKEN: u64 = 1 << 40;

/// Egress queue of one port and one class.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Queue {
    /// Packed counter: bytes in the queue (lower 40 bits), and number of packets dequeued so far
    /// (upper 24 bits).
    account: u64,
    head: PacketId,
    tail: PacketId,
    next_in_round: QueueId,
    deficit: u32,
    pub port: u16,
    /// Number of the queue at its port. Packets carry this number to the next hop, which can pause
    /// the queue by it.
    pub number: u16,
    pub class: u8,
    in_round: bool,
    pub paused: bool,
}

impl Queue {
    const fn new(port: u16, number: u16, class: u8) -> Self {
        Self {
            account: 0,
            head: NO_PACKET,
            tail: NO_PACKET,
            next_in_round: QueueId::NONE,
            deficit: 0,
            port,
            number,
            class,
            in_round: false,
            paused: false,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    /// Returns the number of bytes in the queue.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.account & (TAKEN - 1)
    }

    /// Counts a dequeued packet of `size` bytes.
    #[inline]
    const fn note_taken(&mut self, size: u64) {
        self.account = self.account.wrapping_add(TAKEN - size);
    }
}

/// A dequeued packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub queue: QueueId,
    /// Number of the queue at its port.
    pub number: u16,
    pub id: PacketId,
}

/// Counters of a port that ECN marking and INT read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Telemetry {
    /// Queued bytes of the classes that ECN counts.
    pub ecn_bytes: u64,
    /// Queued bytes of the classes that INT counts.
    pub int_bytes: u64,
    /// Bytes sent of the classes that INT counts.
    pub int_tx: u64,
    /// Bytes in VOQs for the port, if ECN counts them.
    pub voq_bytes: u64,
    pub rate_mbps: u32,
    /// ECN marks no packet while at most this many bytes are queued. // SW-30
    pub unmarked_bytes: u32,
}

/// State of a port that every frame reads or writes. It fills one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct PortQueues {
    /// All queued bytes, control frames included.
    pub bytes: u64,
    pub max_bytes: u64,
    pub telemetry: Telemetry,
    /// Number of paused queues.
    paused_queues: u16,
    /// Classes with packets in at least one queue that is not paused. The class may be paused.
    pub ready: ClassSet,
    /// Classes that may not send: a copy of [`Gate::closed`].
    pub closed: ClassSet,
    /// Number of control packets sent since the last data packet, for weighted scheduling of
    /// control and data.
    run: u16,
}

const _: () = assert!(size_of::<PortQueues>() == 64);

/// All egress queues of a switch. The fields that every packet needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queueing {
    pub ports: Box<[PortQueues]>,
    queues: Vec<Queue>,
    classes: u16,
    /// Number of queues per port that exist from the start.
    stride: u16,
    /// Number at the port of the first queue of each class.
    offsets: [u16; MAX_CLASSES + 1],
    /// Class c + `behind` is the low-priority class for packets of class c that were parked in a
    /// VOQ (FG-15). 0 if there are no low-priority classes.
    behind: u8,
    /// True if each class has one FIFO queue, which is paused only with its class. `rounds` is
    /// unused then.
    single: bool,
    /// True if pauses apply to flows instead of queues (BFC-37).
    by_flow: bool,
    rounds: Vec<Round>,
    /// Number of control packets sent per data packet while both wait. `None`: control packets have
    /// strict priority.
    weight: Option<u16>,
    schedule: Schedule,
    /// Unused queues of [`Self::make`], each for one flow.
    spare: Vec<QueueId>,
    /// Queues with packets that are not paused, in the order of remaining bytes, per (port, class).
    /// Empty unless the schedule needs this order.
    shortest: Vec<Shortest>,
    /// Queues with packets that are not paused, as a bit set per (port, class). Empty unless the
    /// schedule needs it.
    levels: Vec<u32>,
    /// Classes and flows that may not send, per port: pauses, missing credit, shapers.
    pub gate: Box<Gate>,
}

impl Queueing {
    pub fn new<H>(config: &SwitchConfig<H>, needs: &Needs, links: &[(Rate, Time)]) -> Self {
        let ports = links.len();
        let behind = match needs.queues_behind {
            true => config.classes.len() - DATA_CLASS as usize,
            false => 0,
        };
        let classes = config.classes.len() + behind;
        let per_class = match config.classify {
            Classify::Fifo => 1,
            Classify::Hash { queues } | Classify::Dynamic { queues, .. } => queues,
            Classify::Priority { levels } => levels,
            Classify::PerFlow => 0,
        };
        let mut offsets = [0u16; MAX_CLASSES + 1];
        for class in 0..classes {
            let n = if class < DATA_CLASS as usize || class >= config.classes.len() {
                1
            } else {
                per_class
            };
            offsets[class + 1] = offsets[class] + n;
        }
        let stride = offsets[classes] as usize;
        let mut queues = Vec::with_capacity(stride * ports);
        for port in 0..ports as u16 {
            for class in 0..classes {
                for number in offsets[class]..offsets[class + 1] {
                    queues.push(Queue::new(port, number, class as u8));
                }
            }
        }
        let shortest = if config.schedule == Schedule::ShortestRemaining {
            ports * classes
        } else {
            0
        };
        Self {
            queues,
            rounds: vec![Round::EMPTY; ports * classes],
            ports: vec![PortQueues::default(); ports].into(),
            schedule: config.schedule,
            single: config.classify == Classify::Fifo
                && config.schedule == Schedule::Fifo
                && !needs.pauses_queues,
            classes: classes as u16,
            stride: stride as u16,
            offsets,
            spare: Vec::new(),
            shortest: vec![Shortest::new(); shortest],
            behind: behind as u8,
            by_flow: needs.pauses_flows,
            levels: match config.schedule {
                Schedule::Strict => vec![0; ports * classes],
                _ => Vec::new(),
            },
            weight: config.trim.map(|trim| trim.weight),
            gate: Box::new(
                Gate::new(links.iter().map(|link| link.0)).with_switch(behind as u8, config.guard),
            ),
        }
    }

    /// Returns the number of traffic classes.
    pub const fn classes(&self) -> u8 {
        self.classes as u8
    }

    /// Returns the index in `rounds` of a class at a port. If each class has one queue, it is also
    /// the index of this queue.
    #[inline]
    const fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes as usize + class as usize
    }

    /// Returns the port and class that belong to an index of [`Self::at`].
    #[inline]
    const fn port_and_class(&self, at: usize) -> (u16, u8) {
        let classes = self.classes as usize;
        ((at / classes) as u16, (at % classes) as u8)
    }

    /// Returns the index of the first queue of a port.
    #[inline]
    const fn base(&self, port: u16) -> usize {
        port as usize * self.stride as usize
    }

    /// Returns the indices of the queues of a port that exist from the start.
    #[inline]
    const fn own(&self, port: u16) -> Range<usize> {
        self.base(port)..self.base(port) + self.stride as usize
    }

    /// Returns the `nth` queue of a class at a port.
    #[inline]
    pub fn queue_of(&self, port: u16, class: u8, nth: u16) -> QueueId {
        QueueId::new(self.base(port) + usize::from(self.offsets[class as usize] + nth))
    }

    /// Returns the number of the first queue of a class at every port.
    #[inline]
    pub fn first_number(&self, class: u8) -> u16 {
        self.offsets[class as usize]
    }

    /// Returns the queue with this number at a port, if there is one.
    pub fn by_number(&self, port: u16, number: u16) -> Option<QueueId> {
        (number < self.stride).then(|| QueueId::new(self.base(port) + usize::from(number)))
    }

    /// Returns the number of queues of all ports that exist from the start.
    pub fn standing(&self) -> usize {
        self.stride as usize * self.ports.len()
    }

    /// Returns true if a class can have several queues, so that each packet must be classified.
    pub const fn has_several(&self) -> bool {
        !self.single
    }

    #[inline]
    pub fn get(&self, queue: QueueId) -> &Queue {
        &self.queues[queue.index()]
    }

    /// Creates a queue for one flow. [`Queueing::release`] frees it.
    pub fn make(&mut self, port: u16, class: u8) -> QueueId {
        let new = Queue::new(port, u16::MAX, class);
        if let Some(id) = self.spare.pop() {
            let queue = &mut self.queues[id.index()];
            debug_assert!(!queue.in_round, "a free queue is in a round");
            // Continue the count of dequeued packets, so that statistics detect the reuse.
            let account = queue.account;
            *queue = Queue { account, ..new };
            id
        } else {
            self.queues.push(new);
            QueueId::new(self.queues.len() - 1)
        }
    }

    /// Frees the empty queue of a flow.
    pub fn release(&mut self, queue: QueueId) {
        debug_assert!(self.queues[queue.index()].is_empty());
        self.spare.push(queue);
    }

    /// Returns the low-priority queue of a port for packets of `class` that leave a VOQ.
    // FG-15
    pub fn behind(&self, port: u16, class: u8) -> QueueId {
        self.queue_of(port, class + self.behind, 0)
    }

    /// Returns the data class of the packets in a queue. The low-priority queue for packets from
    /// VOQs (FG-15) has a class of its own, which differs from that of its packets.
    pub fn data_class(&self, queue: QueueId) -> u8 {
        let class = self.get(queue).class;
        match self.is_behind(queue) {
            true => class - self.behind,
            false => class,
        }
    }

    /// Returns true for the low-priority queues that [`Queueing::behind`] returns.
    pub fn is_behind(&self, queue: QueueId) -> bool {
        self.behind > 0
            && self
                .queues
                .get(queue.index())
                .is_some_and(|q| u16::from(q.class) >= self.classes - u16::from(self.behind))
    }

    /// Appends a packet to a queue.
    #[inline(always)]
    pub fn push(&mut self, queue: QueueId, id: PacketId, arena: &mut Arena) {
        let q = &mut self.queues[queue.index()];
        let hot = arena.hot_mut(id);
        hot.next = NO_PACKET;
        hot.location = Location::in_queue(queue);
        let size = u64::from(hot.size);
        q.account += size;
        let port = &mut self.ports[q.port as usize];
        port.bytes += size;
        port.max_bytes = port.max_bytes.max(port.bytes);
        if q.head == NO_PACKET {
            q.head = id;
            q.tail = id;
            if self.single {
                port.ready |= 1 << q.class;
                return;
            }
            if self.by_flow {
                self.check_head(queue, arena);
            }
            if !self.queues[queue.index()].paused {
                self.enter_round(queue, arena);
            }
        } else {
            arena.hot_mut(q.tail).next = id;
            q.tail = id;
        }
    }

    /// Removes the last packet of a queue. Returns `None` if the queue has fewer than two packets.
    // NDP-01
    pub fn take_last(&mut self, queue: QueueId, arena: &mut Arena) -> Option<PacketId> {
        let q = &mut self.queues[queue.index()];
        if q.head == NO_PACKET || q.head == q.tail {
            return None;
        }
        let mut before = q.head;
        while arena.hot(before).next != q.tail {
            before = arena.hot(before).next;
        }
        let last = std::mem::replace(&mut q.tail, before);
        arena.hot_mut(before).next = NO_PACKET;
        let size = u64::from(arena.hot(last).size);
        q.note_taken(size);
        self.ports[q.port as usize].bytes -= size;
        Some(last)
    }

    /// Removes the first queued control frame of a port for which `wanted` returns true. Calls
    /// `wanted` for each frame in order, up to this one.
    // SW-44
    pub fn take_frame(
        &mut self,
        port: u16,
        arena: &mut Arena,
        mut wanted: impl FnMut(&Packet) -> bool,
    ) -> Option<PacketId> {
        let queue = self.queue_of(port, 0, 0).index();
        let (mut before, mut id) = (NO_PACKET, self.queues[queue].head);
        while id != NO_PACKET && !wanted(arena.hot(id)) {
            (before, id) = (id, arena.hot(id).next);
        }
        if id == NO_PACKET {
            return None;
        }
        if before == NO_PACKET {
            return self.pop_control(port, arena);
        }
        let packet = arena.hot(id);
        let (next, size) = (packet.next, u64::from(packet.size));
        arena.hot_mut(before).next = next;
        let q = &mut self.queues[queue];
        if next == NO_PACKET {
            q.tail = before;
        }
        q.note_taken(size);
        self.ports[port as usize].bytes -= size;
        Some(id)
    }
}

#[cfg(test)]
mod tests;
