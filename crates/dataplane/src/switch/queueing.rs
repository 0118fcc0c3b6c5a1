//! Egress queues of a switch, and which of them sends next.
//!
//! Every (port, class) keeps a *round*: the queues that hold packets and are not paused, in the
//! order in which they will be served. A pick therefore costs the same for 1 queue or 10 000.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::classes::{CONTROL_CLASS, ClassSet, DATA_CLASS};
use crate::config::{Classify, MAX_CLASSES, Schedule, SwitchConfig};
use crate::declaration::Needs;
use crate::ids::QueueId;
use crate::mixed::MixedMap;
use crate::packet::{Arena, Location, NO_PACKET, Packet, PacketId};
use crate::prefetch::prefetch;

/// In a queue's account: one packet more was taken from it.
const TAKEN: u64 = 1 << 40;

/// A queue belongs to one port and one class.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Queue {
    /// Bytes in it (lower 40 bits), and how many packets were taken from it so far (upper 24).
    account: u64,
    head: PacketId,
    tail: PacketId,
    next_in_round: QueueId,
    deficit: u32,
    pub port: u16,
    /// Its number at the port, which its packets carry one hop further.
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

    /// Bytes in it.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.account & (TAKEN - 1)
    }

    /// A packet of this size was taken from it.
    #[inline]
    const fn note_taken(&mut self, size: u64) {
        self.account = self.account.wrapping_add(TAKEN - size);
    }
}

/// A packet that was taken out of its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub queue: QueueId,
    /// The queue's number at the port.
    pub number: u16,
    pub id: PacketId,
}

/// What keeps a queue from sending that has packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBy {
    /// Its class is paused.
    Class,
    /// Its neighbour has no room for its class.
    Room,
    /// A pause that names it, or the flow of its first packet, by this number.
    Named(u32),
}

/// A queue that holds packets, as others see it.
#[derive(Clone, Copy, Debug)]
pub struct QueueState {
    /// Which one of the switch.
    pub queue: QueueId,
    /// Bytes in it.
    pub bytes: u64,
    /// Its first packet.
    pub head: PacketId,
    /// How many packets were taken from it so far, modulo [`QueueState::TURN`].
    pub taken: u32,
}

impl QueueState {
    /// When the count of packets taken begins anew.
    pub const TURN: u32 = 1 << (u64::BITS - TAKEN.trailing_zeros());

    /// The packets of the queue, in order.
    pub fn packets<'a>(&self, arena: &'a Arena) -> impl Iterator<Item = PacketId> + use<'a> {
        let some = |id: PacketId| (id != NO_PACKET).then_some(id);
        std::iter::successors(some(self.head), move |&id| some(arena.hot(id).next))
    }

    /// Calls `visit` with every packet of the queue, in order.
    pub fn for_each(&self, arena: &Arena, visit: impl FnMut(PacketId)) {
        self.packets(arena).for_each(visit);
    }
}

/// The queues of one (port, class) that may send, in order of service.
#[derive(Clone, Copy, Debug)]
struct Round {
    head: QueueId,
    tail: QueueId,
    /// Queues with packets that are not paused. Paused ones leave the list when they reach its
    /// head, so this, not the list, says whether there is anything to send.
    open: u32,
    /// The queue at the head has its quantum of this round.
    served: bool,
    /// Number of the queue that sent last, where they take turns by number.
    last: u16,
}

/// An open queue by what its first packet's flow has left; of equals the queue made first.
// SW-51
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    remaining: u64,
    queue: QueueId,
    head: PacketId,
}

/// The open queues of one (port, class) by what is left. An entry whose queue has another first
/// packet by now, or is paused, says nothing any more.
type Shortest = BinaryHeap<Reverse<Next>>;

/// The part of a port that signals need.
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
    /// This many bytes are never marked. // SW-30
    pub unmarked_bytes: u32,
}

/// What a port has waiting: all that a frame touches of its port, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct PortQueues {
    /// All queued bytes, control frames included.
    pub bytes: u64,
    pub max_bytes: u64,
    pub telemetry: Telemetry,
    /// Queues that are paused.
    held: u16,
    /// Classes with an open queue.
    ready: ClassSet,
    /// Classes that may not send: paused, behind one that is, or shaped.
    blocked: ClassSet,
    /// Control packets that went since the last data packet, where they take turns.
    run: u16,
}

const _: () = assert!(size_of::<PortQueues>() == 64);

/// Blocked classes of a port, by reason. Sending a frame reads only their union, `PortQueues::blocked`.
#[derive(Clone, Copy, Debug, Default)]
struct Blocked {
    /// Classes that the neighbour has paused.
    paused: ClassSet,
    /// Classes that their shaper delays, or for which the neighbour has no room.
    shaped: ClassSet,
}

impl PortQueues {
    /// Classes that have something and may send.
    #[inline]
    const fn may_send(&self) -> ClassSet {
        self.ready & !self.blocked
    }

    /// The class that sends next where control and data take turns by weight.
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
            // Nobody is kept waiting.
            false => self.run = 0,
        }
        first as u8
    }
}

/// All egress queues of a switch; first what every packet needs.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Queueing {
    pub ports: Box<[PortQueues]>,
    /// Per port.
    blocked: Box<[Blocked]>,
    queues: Vec<Queue>,
    classes: u16,
    /// Queues per port that exist from the start.
    stride: u16,
    /// First queue of each class, counted from the port's first.
    offsets: [u16; MAX_CLASSES + 1],
    /// Classes of queues behind those of data (FG-15): the one of class c is c + this; 0: none.
    behind: u8,
    /// Each class has one queue, first in, first out, that nobody pauses alone: no rounds are kept.
    single: bool,
    rounds: Vec<Round>,
    /// Control packets that go for each data packet while both wait; `None`: control first.
    weight: Option<u16>,
    schedule: Schedule,
    /// (port, flow) pairs that are held, where pauses name flows (BFC-37).
    held_flows: Option<MixedMap<u64, ()>>,
    /// Queues that were made for single flows and are free again.
    spare: Vec<QueueId>,
    /// Per (port, class), where the schedule needs it.
    shortest: Vec<Shortest>,
    /// Per (port, class), where the schedule needs it: open queues, as bits.
    levels: Vec<u32>,
}

/// A flow at a port.
const fn flow_at(port: u16, flow: u32) -> u64 {
    (port as u64) << 32 | flow as u64
}

impl Queueing {
    pub fn new<H>(config: &SwitchConfig<H>, needs: &Needs, ports: usize) -> Self {
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
        let round = Round {
            head: QueueId::NONE,
            tail: QueueId::NONE,
            open: 0,
            served: false,
            last: 0,
        };
        let shortest = if config.schedule == Schedule::ShortestRemaining {
            ports * classes
        } else {
            0
        };
        Self {
            queues,
            rounds: vec![round; ports * classes],
            ports: vec![PortQueues::default(); ports].into(),
            blocked: vec![Blocked::default(); ports].into(),
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
            held_flows: needs.pauses_flows.then(MixedMap::default),
            levels: match config.schedule {
                Schedule::Strict => vec![0; ports * classes],
                _ => Vec::new(),
            },
            weight: config.trim.map(|trim| trim.weight),
        }
    }

    /// How many classes there are.
    pub const fn classes(&self) -> u8 {
        self.classes as u8
    }

    /// The place of a port's class among all: of its round, and where each has one queue of that.
    #[inline]
    const fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes as usize + class as usize
    }

    /// The port and the class of a place.
    #[inline]
    const fn port_and_class(&self, at: usize) -> (u16, u8) {
        let classes = self.classes as usize;
        ((at / classes) as u16, (at % classes) as u8)
    }

    /// The first queue of a port.
    #[inline]
    const fn base(&self, port: u16) -> usize {
        port as usize * self.stride as usize
    }

    /// The queues of a port that exist from the start.
    #[inline]
    const fn own(&self, port: u16) -> Range<usize> {
        self.base(port)..self.base(port) + self.stride as usize
    }

    /// The `nth` queue of a class at a port.
    #[inline]
    pub fn queue_of(&self, port: u16, class: u8, nth: u16) -> QueueId {
        QueueId::new(self.base(port) + usize::from(self.offsets[class as usize] + nth))
    }

    /// Number of the first queue of a class at every port.
    #[inline]
    pub fn first_number(&self, class: u8) -> u16 {
        self.offsets[class as usize]
    }

    /// The queue that has this number at its port, if there is one.
    pub fn by_number(&self, port: u16, number: u16) -> Option<QueueId> {
        (number < self.stride).then(|| QueueId::new(self.base(port) + usize::from(number)))
    }

    /// Queues that exist from the start, of all ports.
    pub fn standing(&self) -> usize {
        self.stride as usize * self.ports.len()
    }

    /// Which of 64 standing queues are empty, as bits.
    pub fn empty_word(&self, word: usize) -> u64 {
        let first = word * 64;
        let all = &self.queues[first..(first + 64).min(self.standing())];
        let bits = all.iter().enumerate();
        bits.fold(0, |bits, (nth, q)| bits | u64::from(q.is_empty()) << nth)
    }

    /// Packets of a class stand in several queues, so that which one they join, and which one is next, is
    /// found by a step more.
    pub const fn has_several(&self) -> bool {
        !self.single
    }

    /// Prefetches the state of a port.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.ports, port as usize);
        if !self.single {
            prefetch(&self.rounds, self.at(port, self.classes as u8 - 1));
        }
    }

    /// Prefetches a queue.
    #[inline]
    pub fn prefetch_queue(&self, queue: QueueId) {
        prefetch(&self.queues, queue.index());
    }

    /// The queue of a port's last class that sends next, or a number that no queue has.
    #[inline]
    fn first_to_send(&self, port: u16) -> QueueId {
        let at = self.at(port, self.classes as u8 - 1);
        match self.single {
            true => QueueId::new(at),
            false => self.rounds[at].head,
        }
    }

    /// Prefetches a port that will send, and its queue if that is known without a read.
    #[inline]
    pub fn prefetch_sending(&self, port: u16) {
        self.prefetch(port);
        if self.single {
            self.prefetch_queue(self.first_to_send(port));
        }
    }

    /// Prefetches the packet of a port's last class that is sent next or, of several, the queue in which it is.
    #[inline]
    pub fn prefetch_first(&self, port: u16, arena: &Arena) {
        if self.single {
            self.prefetch_first_packet(port, arena);
        } else {
            self.prefetch_queue(self.first_to_send(port));
        }
    }

    /// Prefetches the packet of a port's last class that is sent next.
    #[inline]
    pub fn prefetch_first_packet(&self, port: u16, arena: &Arena) {
        if let Some(q) = self.queues.get(self.first_to_send(port).index()) {
            arena.prefetch_waiting(q.head);
        }
    }

    #[inline]
    pub fn get(&self, queue: QueueId) -> &Queue {
        &self.queues[queue.index()]
    }

    /// A queue for a single flow, which [`Queueing::release`] gives back.
    pub fn make(&mut self, port: u16, class: u8) -> QueueId {
        let new = Queue::new(port, u16::MAX, class);
        if let Some(id) = self.spare.pop() {
            let queue = &mut self.queues[id.index()];
            debug_assert!(!queue.in_round, "a spare queue stands in no round");
            // A probe that follows it by the packets taken sees that all it knew of is gone.
            let account = queue.account;
            *queue = Queue { account, ..new };
            id
        } else {
            self.queues.push(new);
            QueueId::new(self.queues.len() - 1)
        }
    }

    /// Gives back an empty queue of a single flow.
    pub fn release(&mut self, queue: QueueId) {
        debug_assert!(self.queues[queue.index()].is_empty());
        self.spare.push(queue);
    }

    /// Queues of this class and port that hold packets and are not paused (`N_active` of BFC-07).
    #[inline]
    pub fn open(&self, port: u16, class: u8) -> u32 {
        self.rounds[self.at(port, class)].open
    }

    /// The queue of a port that packets of a class join which were held elsewhere.
    // FG-15
    pub fn behind(&self, port: u16, class: u8) -> QueueId {
        self.queue_of(port, class + self.behind, 0)
    }

    /// True if the queue is one that [`Queueing::behind`] returns.
    pub fn is_behind(&self, queue: QueueId) -> bool {
        self.behind > 0
            && self
                .queues
                .get(queue.index())
                .is_some_and(|q| u16::from(q.class) >= self.classes - u16::from(self.behind))
    }

    /// Whether the port has something that it may send.
    #[inline]
    pub fn waiting(&self, port: u16) -> bool {
        self.ports[port as usize].may_send() != 0
    }

    /// These classes of a port are paused, and no others. Returns those that were before.
    #[inline]
    pub fn pause_classes(&mut self, port: u16, paused: ClassSet) -> ClassSet {
        let before = std::mem::replace(&mut self.blocked[port as usize].paused, paused);
        self.block(port);
        before
    }

    /// What is paused or shaped at a port has changed; a pause holds the queue behind a class with it.
    #[inline]
    fn block(&mut self, port: u16) {
        let Blocked { paused, shaped } = self.blocked[port as usize];
        self.ports[port as usize].blocked = paused | paused << self.behind | shaped;
    }

    /// A shaper holds a class of a port, or lets it go.
    // XP-02
    #[inline]
    pub fn shape(&mut self, port: u16, class: u8, hold: bool) {
        let shaped = &mut self.blocked[port as usize].shaped;
        *shaped = *shaped & !(1 << class) | ClassSet::from(hold) << class;
        self.block(port);
    }

    /// The neighbour has no room for a class, or has room again. The queue behind the class waits with it.
    // CBFC-36
    pub fn block_class(&mut self, port: u16, class: u8, on: bool) {
        self.shape(port, class, on);
        if self.behind > 0 {
            self.shape(port, class + self.behind, on);
        }
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
            if self.held_flows.is_some() {
                self.look_at_head(queue, arena);
            }
            if !self.queues[queue.index()].paused {
                self.enter_round(queue, arena);
            }
        } else {
            arena.hot_mut(q.tail).next = id;
            q.tail = id;
        }
    }

    /// A queue has packets and is not paused: it takes part from now on, at the end of the round.
    // SW-26
    fn enter_round(&mut self, queue: QueueId, arena: &Arena) {
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

    /// SW-51: a queue is open with a new first packet, or open again.
    fn enter_shortest(&mut self, at: usize, queue: QueueId, arena: &Arena) {
        let head = self.queues[queue.index()].head;
        let remaining = arena.cold(head).remaining;
        self.shortest[at].push(Reverse(Next {
            remaining,
            queue,
            head,
        }));
        // Pausing and resuming leaves entries behind.
        if self.shortest[at].len() > 64 + 4 * self.rounds[at].open as usize {
            let mut all = std::mem::take(&mut self.shortest[at]).into_vec();
            all.retain(|next| self.is_open(at, &next.0, arena));
            all.sort_unstable();
            all.dedup();
            self.shortest[at] = all.into();
        }
    }

    /// Whether an entry of [`Shortest`] still says what is.
    fn is_open(&self, at: usize, next: &Next, arena: &Arena) -> bool {
        let q = &self.queues[next.queue.index()];
        !q.paused
            && q.head == next.head
            && self.at(q.port, q.class) == at
            && arena.cold(next.head).remaining == next.remaining
    }

    /// BFC-37: where pauses name flows, a queue of data waits while its first packet's flow is held.
    /// Frames between neighbours and ACKs name flows too; they go on (BFC-14).
    fn look_at_head(&mut self, queue: QueueId, arena: &Arena) {
        let q = &mut self.queues[queue.index()];
        if q.class < DATA_CLASS {
            return;
        }
        let held = self.held_flows.as_ref().is_some_and(|held| {
            q.head != NO_PACKET && held.contains_key(&flow_at(q.port, arena.hot(q.head).flow))
        });
        if q.paused != held {
            q.paused = held;
            let count = &mut self.ports[q.port as usize].held;
            *count = if held { *count + 1 } else { *count - 1 };
        }
    }

    /// BFC-37: holds a flow at a port, or lets it go. `own` is the flow's queue where it has one
    /// to itself. Returns whether that was news.
    pub fn hold_flow(
        &mut self,
        port: u16,
        flow: u32,
        on: bool,
        own: Option<QueueId>,
        arena: &Arena,
    ) -> bool {
        let Some(held) = &mut self.held_flows else {
            return false;
        };
        let key = flow_at(port, flow);
        let news = if on {
            held.insert(key, ()).is_none()
        } else {
            held.remove(&key).is_some()
        };
        if let Some(queue) = own {
            self.hold_head(queue, flow, on, arena);
        } else {
            for number in self.offsets[DATA_CLASS as usize]..self.stride {
                let queue = QueueId::new(self.base(port) + usize::from(number));
                self.hold_head(queue, flow, on, arena);
            }
        }
        news
    }

    /// Pauses or resumes a queue whose first packet belongs to the flow.
    fn hold_head(&mut self, queue: QueueId, flow: u32, on: bool, arena: &Arena) {
        let head = self.queues[queue.index()].head;
        if head != NO_PACKET && arena.hot(head).flow == flow {
            self.set_paused(queue, on, arena);
        }
    }

    /// BFC-30, BFC-31: `paused` are the numbers, in order, of the queues of a port that are to be paused;
    /// all others are not. Returns whether a queue may send now and could not before.
    pub fn replace_paused(&mut self, port: u16, paused: &[u32], arena: &Arena) -> bool {
        if paused.is_empty() && self.ports[port as usize].held == 0 {
            return false;
        }
        let mut named = paused.iter().copied().peekable();
        let mut freed = false;
        for number in 0..u32::from(self.stride) {
            let on = named.next_if_eq(&number).is_some();
            let queue = QueueId::new(self.base(port) + number as usize);
            freed |= self.set_paused(queue, on, arena);
        }
        freed
    }

    /// A queue got empty or paused.
    fn close(&mut self, queue: QueueId) {
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

    /// Takes the queue at the head out of its round.
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

    /// Moves the queue at the head to the end of its round.
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

    /// Takes the packet that the port sends next out of its queue.
    #[inline(always)]
    pub fn pop(&mut self, port: u16, arena: &Arena) -> Option<Taken> {
        let ready = self.ports[port as usize].may_send();
        if ready == 0 {
            return None;
        }
        let mut class = ready.trailing_zeros() as u8; // SW-22
        if let Some(weight) = self.weight {
            class = self.ports[port as usize].take_turns(ready, weight);
        }
        let at = self.at(port, class);
        if self.single {
            return Some(self.take_single(at, arena));
        }
        let queue = self.pick(at, arena);
        Some(self.take(at, queue, arena))
    }

    /// The queue of this round that sends next. The round has an open queue.
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

    /// SW-27: the open queue whose number comes next after that which sent last.
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

    /// HOM-03: the open queue with the lowest number.
    fn pick_strict(&self, at: usize) -> QueueId {
        let (port, class) = self.port_and_class(at);
        let nth = self.levels[at].trailing_zeros() as u16;
        self.queue_of(port, class, nth)
    }

    /// SW-51, BFC-33: the open queue whose first packet's flow has the least left.
    fn pick_shortest(&mut self, at: usize, arena: &Arena) -> QueueId {
        while let Some(&Reverse(next)) = self.shortest[at].peek() {
            if self.is_open(at, &next, arena) {
                return next.queue;
            }
            self.shortest[at].pop();
        }
        unreachable!("a class that is ready has an open queue")
    }

    /// Takes the first packet of the only queue of a class, which has the number of its round.
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

    /// Takes the first packet of the queue at the head of its round.
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
        if by_number || self.schedule == Schedule::ShortestRemaining || self.held_flows.is_some() {
            self.after_take(at, queue, arena);
            return taken;
        }
        if empty {
            self.close(queue);
            self.leave_round(at);
        } else if self.schedule == Schedule::RoundRobin {
            self.rotate(at); // SW-21
        }
        taken
    }

    /// Takes the last packet out of a queue of several; `None` where there are fewer.
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

    /// What follows on [`Queueing::take`] where the new first packet has to be looked at.
    // BFC-37, SW-51
    fn after_take(&mut self, at: usize, queue: QueueId, arena: &Arena) {
        self.look_at_head(queue, arena);
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
            // Nobody stands in a list.
        } else if empty || paused {
            self.leave_round(at);
        } else if self.schedule == Schedule::RoundRobin {
            self.rotate(at);
        }
    }

    /// Pauses or resumes a queue. Returns whether it may send now and could not before.
    pub fn set_paused(&mut self, queue: QueueId, paused: bool, arena: &Arena) -> bool {
        let q = &mut self.queues[queue.index()];
        if q.paused == paused || self.single {
            return false;
        }
        q.paused = paused;
        let held = &mut self.ports[q.port as usize].held;
        debug_assert!(
            paused || *held > 0,
            "{queue:?} resumes, and its port has no paused queue"
        );
        *held = if paused { *held + 1 } else { *held - 1 };
        if q.head == NO_PACKET {
            return false;
        }
        if paused {
            self.close(queue);
            false
        } else {
            self.enter_round(queue, arena);
            true
        }
    }

    /// Lets every queue and flow go that the neighbour at a port holds.
    // LNK-21
    pub fn let_go(&mut self, port: u16, arena: &Arena) {
        if let Some(held) = &mut self.held_flows {
            held.retain(|&key, ()| (key >> 32) as u16 != port);
        }
        if self.ports[port as usize].held == 0 {
            return;
        }
        let standing = self.standing();
        for queue in self.own(port).chain(standing..self.queues.len()) {
            if self.queues[queue].port == port {
                self.set_paused(QueueId::new(queue), false, arena);
            }
        }
    }

    /// Classes of a port that have packets in a queue that is not paused by itself, as bits.
    pub fn waiting_classes(&self, port: u16) -> ClassSet {
        self.ports[port as usize].ready
    }

    /// Takes a packet of a class out of its queue, even if the class is paused.
    // PFCWD-02
    pub fn pop_class(&mut self, port: u16, class: u8, arena: &Arena) -> Option<Taken> {
        if self.ports[port as usize].ready >> class & 1 == 0 {
            return None;
        }
        let at = self.at(port, class);
        if self.single {
            return Some(self.take_single(at, arena));
        }
        let queue = self.pick(at, arena);
        Some(self.take(at, queue, arena))
    }

    /// Takes a frame for the neighbour at a port out of its queue.
    // LNK-21
    pub fn pop_control(&mut self, port: u16, arena: &Arena) -> Option<PacketId> {
        self.pop_class(port, 0, arena).map(|taken| taken.id)
    }

    /// Takes the first frame for the neighbour at a port out of its queue that is `wanted`, and shows it those before.
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

    /// Whether pauses name flows.
    pub const fn holds_flows(&self) -> bool {
        self.held_flows.is_some()
    }

    /// The number under which a pause of the neighbour names a queue that holds packets: its own, or the flow of
    /// its first packet.
    pub fn name(&self, queue: QueueId, arena: &Arena) -> u32 {
        let q = self.get(queue);
        match self.holds_flows() {
            true => arena.hot(q.head).flow,
            false => q.number.into(),
        }
    }

    /// Classes of a port that the neighbour pauses, and those that it has no room for.
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let Blocked { paused, shaped } = self.blocked[port as usize];
        (paused, shaped)
    }

    /// Returns why a queue cannot send. An empty queue is never reported as paused by a queue or flow.
    pub fn held_by(&self, queue: QueueId, arena: &Arena) -> Option<HeldBy> {
        let q = self.get(queue);
        let (paused, shaped) = self.held_classes(q.port);
        if (paused | paused << self.behind) >> q.class & 1 != 0 {
            Some(HeldBy::Class)
        } else if shaped >> q.class & 1 != 0 {
            Some(HeldBy::Room)
        } else {
            let by_name = q.paused && q.head != NO_PACKET;
            by_name.then(|| HeldBy::Named(self.name(queue, arena)))
        }
    }

    /// Classes of a port that wait for the neighbour: by its pauses, or as it has no room for them.
    pub fn waits_for_neighbour(&self, port: u16) -> ClassSet {
        let (paused, shaped) = self.held_classes(port);
        paused | shaped & !(1 << CONTROL_CLASS)
    }

    /// Whether packets wait at a port, all of them for the neighbour.
    pub fn is_stuck(&self, port: u16) -> bool {
        let p = &self.ports[port as usize];
        let waits = self.waits_for_neighbour(port);
        p.bytes > 0 && p.ready & !(waits | waits << self.behind) == 0
    }

    /// Whether a pause may hold packets at a port: a class that has some, or a queue.
    #[inline]
    pub fn may_be_stuck(&self, port: u16) -> bool {
        let p = &self.ports[port as usize];
        p.bytes > 0 && (p.ready & self.waits_for_neighbour(port) != 0 || p.held > 0)
    }

    /// Calls `visit` with every queue of a port that holds packets.
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

#[cfg(test)]
mod tests;
