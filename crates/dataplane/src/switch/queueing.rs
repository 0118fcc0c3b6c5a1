//! Egress queues of a switch, and which of them sends next.
//!
//! Every (port, class) keeps a *round*: the queues that hold packets and are not paused, in the
//! order in which they will be served. A pick therefore costs the same for 1 queue or 10 000.

use crate::config::{Classify, MAX_CLASSES, Schedule, SwitchConfig};
use crate::packet::{Arena, NO_PACKET, PacketId};
use crate::prefetch::prefetch;

/// No queue; ends a round.
pub(crate) const NO_QUEUE: u32 = u32::MAX;

/// A queue belongs to one port and one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub bytes: u64,
    head: PacketId,
    tail: PacketId,
    next_in_round: u32,
    deficit: u32,
    pub port: u16,
    /// Its number at the port: what BFC calls `upstreamQ` one hop further.
    pub number: u16,
    pub class: u8,
    in_round: bool,
    pub paused: bool,
}

impl Queue {
    const fn new(port: u16, number: u16, class: u8) -> Self {
        Self {
            bytes: 0,
            head: NO_PACKET,
            tail: NO_PACKET,
            next_in_round: NO_QUEUE,
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
}

/// The queues of one (port, class) that may send, in order of service.
#[derive(Clone, Copy, Debug)]
struct Round {
    head: u32,
    tail: u32,
    /// Queues with packets that are not paused. Paused ones leave the list when they reach its
    /// head, so this, not the list, says whether there is anything to send.
    open: u32,
    /// The queue at the head has its quantum of this round.
    served: bool,
}

/// What a port has waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortQueues {
    /// Classes with an open queue.
    ready: u8,
    /// Classes that PFC holds.
    pub paused: u8,
    /// All queued bytes, control frames included.
    pub bytes: u64,
    pub max_bytes: u64,
}

/// All egress queues of a switch.
#[derive(Debug)]
pub(crate) struct Queueing {
    queues: Vec<Queue>,
    rounds: Vec<Round>,
    pub ports: Vec<PortQueues>,
    schedule: Schedule,
    classes: usize,
    /// Queues per port that exist from the start.
    stride: usize,
    /// First queue of each class, counted from the port's first.
    offsets: [u16; MAX_CLASSES + 1],
    /// Queues that were made for single flows and are free again.
    spare: Vec<u32>,
}

impl Queueing {
    pub fn new(config: &SwitchConfig, ports: usize) -> Self {
        let classes = config.classes.len();
        let per_class = match config.classify {
            Classify::Fifo => 1,
            Classify::Hash { queues } | Classify::Dynamic { queues, .. } => queues,
            Classify::PerFlow => 0,
        };
        let mut offsets = [0u16; MAX_CLASSES + 1];
        for class in 0..classes {
            let n = if class < DATA_CLASS as usize {
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
        let round = Round {
            head: NO_QUEUE,
            tail: NO_QUEUE,
            open: 0,
            served: false,
        };
        Self {
            queues,
            rounds: vec![round; ports * classes],
            ports: vec![PortQueues::default(); ports],
            schedule: config.schedule,
            classes,
            stride,
            offsets,
            spare: Vec::new(),
        }
    }

    /// The `nth` queue of a class at a port.
    #[inline]
    pub fn queue_of(&self, port: u16, class: u8, nth: u16) -> u32 {
        (port as usize * self.stride + (self.offsets[class as usize] + nth) as usize) as u32
    }

    /// The queue that has this number at its port, if there is one.
    pub fn by_number(&self, port: u16, number: u16) -> Option<u32> {
        ((number as usize) < self.stride)
            .then(|| (port as usize * self.stride) as u32 + u32::from(number))
    }

    /// Asks for the state of a port.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.ports, port as usize);
        prefetch(&self.rounds, port as usize * self.classes);
    }

    #[inline]
    pub fn get(&self, queue: u32) -> &Queue {
        &self.queues[queue as usize]
    }

    /// A queue for a single flow, which [`Queueing::release`] gives back.
    pub fn make(&mut self, port: u16, class: u8) -> u32 {
        let queue = Queue::new(port, u16::MAX, class);
        if let Some(id) = self.spare.pop() {
            let in_round = self.queues[id as usize].in_round;
            debug_assert!(!in_round, "a spare queue stands in no round");
            self.queues[id as usize] = queue;
            id
        } else {
            self.queues.push(queue);
            self.queues.len() as u32 - 1
        }
    }

    /// Gives back an empty queue of a single flow.
    pub fn release(&mut self, queue: u32) {
        debug_assert!(self.queues[queue as usize].is_empty());
        self.spare.push(queue);
    }

    /// Queues of this class and port that hold packets and are not paused (BFC's `N_active`).
    #[inline]
    pub fn open(&self, port: u16, class: u8) -> u32 {
        self.rounds[port as usize * self.classes + class as usize].open
    }

    /// Whether the port has something that it may send.
    #[inline]
    pub fn waiting(&self, port: u16) -> bool {
        let p = &self.ports[port as usize];
        p.ready & !p.paused != 0
    }

    /// Appends a packet to a queue.
    #[inline]
    pub fn push(&mut self, queue: u32, id: PacketId, arena: &mut Arena) {
        let q = &mut self.queues[queue as usize];
        let hot = arena.hot_mut(id);
        hot.next = NO_PACKET;
        hot.queue = queue;
        let size = u64::from(hot.size);
        q.bytes += size;
        let port = &mut self.ports[q.port as usize];
        port.bytes += size;
        port.max_bytes = port.max_bytes.max(port.bytes);
        if q.head == NO_PACKET {
            q.head = id;
            q.tail = id;
            if !q.paused {
                self.enter_round(queue);
            }
        } else {
            arena.hot_mut(q.tail).next = id;
            q.tail = id;
        }
    }

    /// A queue has packets and is not paused: it takes part from now on, at the end of the round.
    // SW-26
    fn enter_round(&mut self, queue: u32) {
        let q = &mut self.queues[queue as usize];
        let round = &mut self.rounds[q.port as usize * self.classes + q.class as usize];
        round.open += 1;
        self.ports[q.port as usize].ready |= 1 << q.class;
        if !q.in_round {
            q.in_round = true;
            q.next_in_round = NO_QUEUE;
            let tail = round.tail;
            round.tail = queue;
            if tail == NO_QUEUE {
                round.head = queue;
            } else {
                self.queues[tail as usize].next_in_round = queue;
            }
        }
    }

    /// A queue got empty or paused.
    fn close(&mut self, queue: u32) {
        let q = &self.queues[queue as usize];
        let round = &mut self.rounds[q.port as usize * self.classes + q.class as usize];
        round.open -= 1;
        if round.open == 0 {
            self.ports[q.port as usize].ready &= !(1 << q.class);
        }
    }

    /// Takes the queue at the head out of its round.
    fn leave_round(&mut self, at: usize) {
        let queue = self.rounds[at].head;
        let q = &mut self.queues[queue as usize];
        q.in_round = false;
        q.deficit = 0;
        let next = q.next_in_round;
        let round = &mut self.rounds[at];
        round.head = next;
        round.served = false;
        if next == NO_QUEUE {
            round.tail = NO_QUEUE;
        }
    }

    /// Moves the queue at the head to the end of its round.
    fn rotate(&mut self, at: usize) {
        let round = &mut self.rounds[at];
        round.served = false;
        if round.head == round.tail {
            return;
        }
        let queue = round.head;
        let tail = round.tail;
        round.head = self.queues[queue as usize].next_in_round;
        round.tail = queue;
        self.queues[tail as usize].next_in_round = queue;
        self.queues[queue as usize].next_in_round = NO_QUEUE;
    }

    /// Takes the packet that the port sends next out of its queue.
    #[inline]
    pub fn pop(&mut self, port: u16, arena: &Arena) -> Option<(u32, PacketId)> {
        let p = &self.ports[port as usize];
        let ready = p.ready & !p.paused;
        if ready == 0 {
            return None;
        }
        let class = ready.trailing_zeros() as usize; // SW-22
        let at = port as usize * self.classes + class;
        let queue = self.pick(at, arena);
        Some((queue, self.take(at, queue, arena)))
    }

    /// The queue of this round that sends next. The round has an open queue.
    // SW-20, SW-23, BFC-12
    #[inline]
    fn pick(&mut self, at: usize, arena: &Arena) -> u32 {
        loop {
            let queue = self.rounds[at].head;
            let q = &mut self.queues[queue as usize];
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

    /// Takes the first packet of the queue at the head of its round.
    #[inline]
    fn take(&mut self, at: usize, queue: u32, arena: &Arena) -> PacketId {
        let q = &mut self.queues[queue as usize];
        let id = q.head;
        let packet = arena.hot(id);
        q.head = packet.next;
        q.bytes -= u64::from(packet.size);
        let port = q.port as usize;
        let empty = q.head == NO_PACKET;
        if empty {
            q.tail = NO_PACKET;
        }
        self.ports[port].bytes -= u64::from(packet.size);
        if empty {
            self.close(queue);
            self.leave_round(at);
        } else if self.schedule == Schedule::RoundRobin {
            self.rotate(at); // SW-21
        }
        id
    }

    /// Pauses or resumes a queue. Returns whether it may send now and could not before.
    pub fn set_paused(&mut self, queue: u32, paused: bool) -> bool {
        let q = &mut self.queues[queue as usize];
        if q.paused == paused {
            return false;
        }
        q.paused = paused;
        if q.head == NO_PACKET {
            return false;
        }
        if paused {
            self.close(queue);
            false
        } else {
            self.enter_round(queue);
            true
        }
    }

    /// Calls `visit` with every packet queued at a port.
    pub fn for_each_packet(&self, port: u16, arena: &Arena, mut visit: impl FnMut(PacketId)) {
        let first = port as usize * self.stride;
        let own = self.queues[first..first + self.stride].iter();
        let made = self.queues[self.ports.len() * self.stride..]
            .iter()
            .filter(|q| q.port == port);
        for q in own.chain(made) {
            let mut id = q.head;
            while id != NO_PACKET {
                visit(id);
                id = arena.hot(id).next;
            }
        }
    }
}

/// First class that carries data; below it, classes have one FIFO queue per port.
// SW-03
pub const DATA_CLASS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Cold, Kind, Packet};
    use crate::switch::tests::config;

    fn packet(arena: &mut Arena, flow: u32, class: u8, size: u16) -> PacketId {
        let p = Packet {
            flow,
            ..Packet::new(Kind::Data, class, size)
        };
        arena.alloc(p, Cold::default())
    }

    fn hashed(schedule: Schedule) -> Queueing {
        let mut c = config();
        c.classify = Classify::Hash { queues: 4 };
        c.schedule = schedule;
        Queueing::new(&c, 2)
    }

    /// Flows in the order in which a port sends them.
    fn drain(queueing: &mut Queueing, port: u16, arena: &Arena) -> Vec<u32> {
        std::iter::from_fn(|| queueing.pop(port, arena).map(|(_, id)| arena.hot(id).flow)).collect()
    }

    // SW-20
    #[test]
    fn drr_shares_bytes_not_packets() {
        let mut arena = Arena::new();
        let mut queueing = hashed(Schedule::Drr { quantum: 1000 });
        let (a, b) = (queueing.queue_of(0, 2, 0), queueing.queue_of(0, 2, 1));
        for _ in 0..3 {
            let id = packet(&mut arena, 1, 2, 1000);
            queueing.push(a, id, &mut arena);
        }
        for _ in 0..9 {
            let id = packet(&mut arena, 2, 2, 250);
            queueing.push(b, id, &mut arena);
        }
        assert_eq!(
            drain(&mut queueing, 0, &arena),
            [1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 1, 2]
        );
    }

    // SW-21
    #[test]
    fn packet_round_robin_takes_one_of_each() {
        let mut arena = Arena::new();
        let mut queueing = hashed(Schedule::RoundRobin);
        for (nth, flow, n) in [(0, 1, 3), (1, 2, 1), (3, 3, 2)] {
            for _ in 0..n {
                let id = packet(&mut arena, flow, 2, 1000);
                let q = queueing.queue_of(0, 2, nth);
                queueing.push(q, id, &mut arena);
            }
        }
        assert_eq!(drain(&mut queueing, 0, &arena), [1, 2, 3, 1, 3, 1]);
    }

    // SW-22
    #[test]
    fn lower_classes_go_strictly_first_and_paused_classes_wait() {
        let mut arena = Arena::new();
        let mut queueing = hashed(Schedule::RoundRobin);
        for class in [2, 1, 0] {
            let id = packet(&mut arena, u32::from(class), class, 64);
            let q = queueing.queue_of(0, class, 0);
            queueing.push(q, id, &mut arena);
        }
        queueing.ports[0].paused = 1 << 2;
        assert_eq!(drain(&mut queueing, 0, &arena), [0, 1]);
        assert!(!queueing.waiting(0));
        queueing.ports[0].paused = 0;
        assert!(queueing.waiting(0));
        assert_eq!(drain(&mut queueing, 0, &arena), [2]);
    }

    // SW-23
    #[test]
    fn a_paused_queue_does_not_send_and_does_not_count_as_active() {
        let mut arena = Arena::new();
        let mut queueing = hashed(Schedule::Drr { quantum: 1000 });
        for nth in 0..3 {
            let q = queueing.queue_of(1, 2, nth);
            for _ in 0..2 {
                let id = packet(&mut arena, u32::from(nth), 2, 500);
                queueing.push(q, id, &mut arena);
            }
        }
        assert_eq!(queueing.open(1, 2), 3);
        let q0 = queueing.queue_of(1, 2, 0);
        assert!(!queueing.set_paused(q0, true));
        assert!(
            !queueing.set_paused(q0, true),
            "a repeated pause changes nothing"
        );
        assert_eq!(queueing.open(1, 2), 2);
        assert_eq!(drain(&mut queueing, 1, &arena), [1, 1, 2, 2]);
        assert!(queueing.set_paused(q0, false));
        assert_eq!(drain(&mut queueing, 1, &arena), [0, 0]);
        assert_eq!(queueing.ports[1].bytes, 0);
        assert_eq!(queueing.ports[1].max_bytes, 3000);
    }
}
