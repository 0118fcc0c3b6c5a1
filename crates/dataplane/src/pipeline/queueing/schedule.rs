//! The schedule: which queue of a port sends next.
//!
//! Every (port, class) has a *round*: a linked list of the *open* queues (they have packets and are
//! not paused) in the order of service. So a choice costs the same for 1 queue and for 10 000.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{PortQueues, Queueing, Taken};
use crate::classes::{CONTROL_CLASS, ClassSet};
use crate::config::Schedule;
use crate::ids::QueueId;
use crate::packet::{Arena, NO_PACKET, PacketId};

/// The queues of one (port, class) that have packets and are not paused, in order of service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub head: QueueId,
    tail: QueueId,
    /// Number of queues that have packets and are not paused. The list can be longer, because a
    /// queue that is paused leaves the list only when it reaches the head.
    pub open: u32,
    /// True if the queue at the head has received its DRR quantum in this round.
    served: bool,
    /// Number of the queue that sent last, for cyclic service in the order of queue numbers.
    last: u16,
}

impl Round {
    pub const EMPTY: Self = Self {
        head: QueueId::NONE,
        tail: QueueId::NONE,
        open: 0,
        served: false,
        last: 0,
    };
}

/// A queue that may send, ordered by the remaining bytes of the flow of its first packet, then by
/// its index.
// SW-51
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Next {
    remaining: u64,
    queue: QueueId,
    head: PacketId,
}

/// The queues of one (port, class) that may send, ordered by remaining bytes. An entry is stale if
/// its queue was paused or has another first packet now.
pub(super) type Shortest = BinaryHeap<Reverse<Next>>;

impl PortQueues {
    /// Returns the classes that have packets and may send.
    #[inline]
    const fn may_send(&self) -> ClassSet {
        self.ready & !self.closed
    }

    /// Returns the class that sends next under weighted scheduling: `weight` control packets per
    /// data packet.
    // NDP-02
    fn take_turns(&mut self, ready: ClassSet, weight: u16) -> u8 {
        let below: ClassSet = 1 << (CONTROL_CLASS + 1);
        let data = ready & !(below - 1);
        let first = ready.trailing_zeros();
        if first == u32::from(CONTROL_CLASS) && data != 0 && self.run >= weight {
            self.run = 0;
            return data.trailing_zeros() as u8;
        }
        match first == u32::from(CONTROL_CLASS) && data != 0 {
            true => self.run += 1,
            false => self.run = 0,
        }
        first as u8
    }
}

impl Queueing {
    /// Returns true if a port has a packet that may be sent now.
    #[inline]
    pub fn waiting(&self, port: u16) -> bool {
        self.ports[port as usize].may_send() != 0
    }

    /// Returns the number of queues of a class and port that have packets and are not paused
    /// (`N_active` of BFC-07).
    #[inline]
    pub fn open(&self, port: u16, class: u8) -> u32 {
        self.rounds[self.at(port, class)].open
    }

    /// Puts a queue that has packets and is not paused at the end of its round.
    // SW-26
    pub(super) fn enter_round(&mut self, queue: QueueId, arena: &Arena) {
        let q = &self.queues[queue.index()];
        let at = self.at(q.port, q.class);
        let q = &mut self.queues[queue.index()];
        let round = &mut self.rounds[at];
        round.open += 1;
        self.ports[q.port as usize].ready |= 1 << q.class;
        match self.schedule {
            Schedule::ShortestRemaining => return self.enter_shortest(at, queue, arena),
            Schedule::Cyclic => return,
            Schedule::Strict => {
                self.levels[at] |= 1 << (q.number - self.offsets[q.class as usize]);
                return;
            }
            _ => {}
        }
        if !q.in_round {
            q.in_round = true;
            q.next_in_round = QueueId::NONE;
            let tail = round.tail;
            round.tail = queue;
            if tail == QueueId::NONE {
                round.head = queue;
            } else {
                self.queues[tail.index()].next_in_round = queue;
            }
        }
    }

    /// SW-51: adds a queue to the heap of remaining bytes, because the queue has a new first packet
    /// or was resumed.
    fn enter_shortest(&mut self, at: usize, queue: QueueId, arena: &Arena) {
        let head = self.queues[queue.index()].head;
        let remaining = arena.cold(head).remaining;
        self.shortest[at].push(Reverse(Next {
            remaining,
            queue,
            head,
        }));
        // Pauses and resumes leave stale entries in the heap. Remove these if they are many.
        if self.shortest[at].len() > 64 + 4 * self.rounds[at].open as usize {
            let mut all = std::mem::take(&mut self.shortest[at]).into_vec();
            all.retain(|next| self.is_open(at, &next.0, arena));
            all.sort_unstable();
            all.dedup();
            self.shortest[at] = all.into();
        }
    }

    /// Returns true if an entry of [`Shortest`] is not stale.
    fn is_open(&self, at: usize, next: &Next, arena: &Arena) -> bool {
        let q = &self.queues[next.queue.index()];
        !q.paused
            && q.head == next.head
            && self.at(q.port, q.class) == at
            && arena.cold(next.head).remaining == next.remaining
    }

    /// Updates the counts of open queues for a queue that became empty or paused.
    #[inline(always)]
    pub(super) fn close(&mut self, queue: QueueId) {
        let q = &self.queues[queue.index()];
        let at = self.at(q.port, q.class);
        if self.schedule == Schedule::Strict {
            self.levels[at] &= !(1 << (q.number - self.offsets[q.class as usize]));
        }
        let round = &mut self.rounds[at];
        debug_assert!(round.open > 0, "{queue:?} is not open");
        round.open -= 1;
        if round.open == 0 {
            self.ports[q.port as usize].ready &= !(1 << q.class);
        }
    }

    /// Removes the queue at the head of a round from this round.
    #[inline(always)]
    fn leave_round(&mut self, at: usize) {
        let queue = self.rounds[at].head;
        let q = &mut self.queues[queue.index()];
        q.in_round = false;
        q.deficit = 0;
        let next = q.next_in_round;
        let round = &mut self.rounds[at];
        round.head = next;
        round.served = false;
        if next == QueueId::NONE {
            round.tail = QueueId::NONE;
        }
    }

    /// Moves the queue at the head of a round to its end.
    fn rotate(&mut self, at: usize) {
        let round = &mut self.rounds[at];
        round.served = false;
        if round.head == round.tail {
            return;
        }
        let queue = round.head;
        let tail = round.tail;
        round.head = self.queues[queue.index()].next_in_round;
        round.tail = queue;
        self.queues[tail.index()].next_in_round = queue;
        self.queues[queue.index()].next_in_round = QueueId::NONE;
    }

    /// Dequeues the packet that a port sends next.
    #[inline(always)]
    pub fn pop(&mut self, port: u16, arena: &Arena) -> Option<Taken> {
        let ready = self.ports[port as usize].may_send();
        if ready == 0 {
            return None;
        }
        let mut class = ready.trailing_zeros() as u8; // SW-22: lowest class first
        if let Some(weight) = self.weight {
            class = self.ports[port as usize].take_turns(ready, weight);
        }
        Some(self.take_of(port, class, arena))
    }

    /// Dequeues the packet that a class of a port sends next. The class must have an open queue.
    #[inline(always)]
    fn take_of(&mut self, port: u16, class: u8, arena: &Arena) -> Taken {
        let at = self.at(port, class);
        if self.single {
            return self.take_single(at, arena);
        }
        let queue = self.pick(at, arena);
        self.take(at, queue, arena)
    }

    /// Dequeues a packet of a class, even if the class is paused.
    // PFCWD-02
    pub fn pop_class(&mut self, port: u16, class: u8, arena: &Arena) -> Option<Taken> {
        if self.ports[port as usize].ready >> class & 1 == 0 {
            return None;
        }
        Some(self.take_of(port, class, arena))
    }

    /// Dequeues a control frame for the neighbour at a port.
    // LNK-21
    pub fn pop_control(&mut self, port: u16, arena: &Arena) -> Option<PacketId> {
        self.pop_class(port, 0, arena).map(|taken| taken.id)
    }

    /// Returns the queue of a round that sends next. The round must have an open queue.
    // SW-20, SW-23, BFC-12
    #[inline(always)]
    fn pick(&mut self, at: usize, arena: &Arena) -> QueueId {
        match self.schedule {
            Schedule::ShortestRemaining => return self.pick_shortest(at, arena),
            Schedule::Cyclic => return self.pick_cyclic(at),
            Schedule::Strict => return self.pick_strict(at),
            _ => {}
        }
        loop {
            let queue = self.rounds[at].head;
            let q = &mut self.queues[queue.index()];
            if q.paused || q.head == NO_PACKET {
                self.leave_round(at);
                continue;
            }
            let Schedule::Drr { quantum } = self.schedule else {
                return queue;
            };
            let round = &mut self.rounds[at];
            if !round.served {
                round.served = true;
                q.deficit += quantum;
            }
            let size = u32::from(arena.hot(q.head).size);
            if q.deficit >= size {
                q.deficit -= size;
                return queue;
            }
            self.rotate(at);
        }
    }

    /// SW-27: returns the open queue with the next higher number after the queue that sent last, or
    /// else with the lowest number.
    fn pick_cyclic(&mut self, at: usize) -> QueueId {
        let (port, class) = self.port_and_class(at);
        let base = self.base(port);
        let (first, end) = (
            self.offsets[class as usize],
            self.offsets[class as usize + 1],
        );
        let last = self.rounds[at].last.clamp(first, end - 1);
        let open = |number: &u16| {
            let q = &self.queues[base + *number as usize];
            !q.paused && !q.is_empty()
        };
        let next = (last + 1..end).chain(first..=last).find(open);
        let number = next.unwrap_or(first); // a class that is ready has an open queue
        self.rounds[at].last = number;
        QueueId::new(base + usize::from(number))
    }

    /// HOM-03: returns the open queue with the lowest number (strict priorities within a class).
    fn pick_strict(&self, at: usize) -> QueueId {
        let (port, class) = self.port_and_class(at);
        let nth = self.levels[at].trailing_zeros() as u16;
        self.queue_of(port, class, nth)
    }

    /// SW-51, BFC-33: returns the open queue whose first packet belongs to the flow with the fewest
    /// remaining bytes.
    fn pick_shortest(&mut self, at: usize, arena: &Arena) -> QueueId {
        while let Some(&Reverse(next)) = self.shortest[at].peek() {
            if self.is_open(at, &next, arena) {
                return next.queue;
            }
            self.shortest[at].pop();
        }
        unreachable!("a class that is ready has an open queue")
    }

    /// Dequeues the first packet of the only queue of a class. `at` is the index of the queue.
    // SW-20
    #[inline(always)]
    fn take_single(&mut self, at: usize, arena: &Arena) -> Taken {
        let q = &mut self.queues[at];
        let id = q.head;
        let packet = arena.hot(id);
        let size = u64::from(packet.size);
        q.head = packet.next;
        q.note_taken(size);
        let port = &mut self.ports[q.port as usize];
        port.bytes -= size;
        if q.head == NO_PACKET {
            port.ready &= !(1 << q.class);
        } else {
            arena.prefetch_waiting(q.head);
        }
        Taken {
            queue: QueueId::new(at),
            number: q.number,
            id,
        }
    }

    /// Dequeues the first packet of a queue.
    #[inline(always)]
    fn take(&mut self, at: usize, queue: QueueId, arena: &Arena) -> Taken {
        let q = &mut self.queues[queue.index()];
        let id = q.head;
        let taken = Taken {
            queue,
            number: q.number,
            id,
        };
        debug_assert_ne!(id, NO_PACKET, "{queue:?} is empty");
        let packet = arena.hot(id);
        q.head = packet.next;
        q.note_taken(u64::from(packet.size));
        let port = q.port as usize;
        let empty = q.head == NO_PACKET;
        if empty {
            q.tail = NO_PACKET;
        } else {
            arena.prefetch_waiting(q.head);
        }
        debug_assert!(
            self.ports[port].bytes >= u64::from(packet.size),
            "bytes of port {port}"
        );
        self.ports[port].bytes -= u64::from(packet.size);
        let by_number = matches!(self.schedule, Schedule::Cyclic | Schedule::Strict);
        if by_number || self.schedule == Schedule::ShortestRemaining || self.by_flow {
            self.after_take(at, queue, arena);
            return taken;
        }
        if empty {
            self.close(queue);
            self.leave_round(at);
        } else if self.schedule == Schedule::RoundRobin {
            self.rotate(at); // SW-21: one packet per queue
        }
        taken
    }

    /// Completes [`Queueing::take`] if pauses or the schedule depend on the new first packet of the
    /// queue.
    // BFC-37, SW-51
    fn after_take(&mut self, at: usize, queue: QueueId, arena: &Arena) {
        self.check_head(queue, arena);
        let q = &self.queues[queue.index()];
        let (empty, paused) = (q.is_empty(), q.paused);
        if empty || paused {
            self.close(queue);
        }
        if self.schedule == Schedule::ShortestRemaining {
            self.shortest[at].pop();
            if !empty && !paused {
                self.enter_shortest(at, queue, arena);
            }
        } else if matches!(self.schedule, Schedule::Cyclic | Schedule::Strict) {
            // These schedules do not use the linked list of queues.
        } else if empty || paused {
            self.leave_round(at);
        } else if self.schedule == Schedule::RoundRobin {
            self.rotate(at);
        }
    }
}
