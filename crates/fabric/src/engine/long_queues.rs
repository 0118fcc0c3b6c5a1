//! Cached contents of long queues. An update visits only packets that joined or left the queue
//! since the last one, because a long queue can contain ten thousand packets.

use std::collections::VecDeque;
use std::hash::Hash;

use dataplane::ids::QueueId;
use dataplane::packet::{Arena, Kind, NO_PACKET, PacketId, flag};
use dataplane::switch::{MixedMap, QueueState};

/// Number of queues that are read alternately, so that their memory accesses overlap.
const INTERLEAVED: usize = 16;

/// A criterion by which packets of a queue are grouped and counted.
pub(super) trait Counted: Copy + Eq + Hash {
    /// Returns the group of a packet, and the amount that it adds to the group; `None`: the packet
    /// is not counted.
    fn of(arena: &Arena, id: PacketId) -> Option<(Self, u64)>;
}

/// Counts data packets by their flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OfFlow(pub u32);

impl Counted for OfFlow {
    fn of(arena: &Arena, id: PacketId) -> Option<(Self, u64)> {
        let packet = arena.hot(id);
        (packet.kind() == Kind::Data).then_some((Self(packet.flow), 1))
    }
}

/// Counts bytes in the shared buffer by the ingress and class of their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FromIngress(pub u16, pub u8);

impl Counted for FromIngress {
    fn of(arena: &Arena, id: PacketId) -> Option<(Self, u64)> {
        let packet = arena.hot(id);
        let counts = packet.has(flag::BUFFERED);
        let from = Self(packet.ingress, packet.class());
        counts.then_some((from, packet.size.into()))
    }
}

/// Counts data packets by their class and by everything that determines their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct OnWay {
    pub flow: u32,
    pub hash: u32,
    pub src: u32,
    pub dst: u32,
    pub class: u8,
}

impl Counted for OnWay {
    fn of(arena: &Arena, id: PacketId) -> Option<(Self, u64)> {
        let packet = arena.hot(id);
        let way = || Self {
            flow: packet.flow,
            hash: packet.hash,
            src: arena.cold(id).src,
            dst: packet.dst,
            class: packet.class(),
        };
        (packet.kind() == Kind::Data).then(|| (way(), 1))
    }
}

/// A packet of a cached queue.
#[derive(Clone, Copy, Debug)]
struct QueuedPacket<K> {
    id: PacketId,
    counts: Option<(K, u64)>,
}

/// The packets of a queue at the last read, in the order of the queue.
#[derive(Debug)]
struct KnownQueue<K> {
    packets: VecDeque<QueuedPacket<K>>,
    /// Sum of the amounts of the packets, per group.
    counts: MixedMap<K, u64>,
    /// Value of [`QueueState::taken`] at the last read.
    taken: u32,
}

impl<K> Default for KnownQueue<K> {
    fn default() -> Self {
        Self {
            packets: VecDeque::new(),
            counts: MixedMap::default(),
            taken: 0,
        }
    }
}

impl<K: Counted> KnownQueue<K> {
    fn push(&mut self, packet: QueuedPacket<K>) {
        self.packets.push_back(packet);
        if let Some((key, count)) = packet.counts {
            *self.counts.entry(key).or_default() += count;
        }
    }

    fn pop(&mut self) {
        let first = self.packets.pop_front();
        if let Some((key, count)) = first.and_then(|packet| packet.counts)
            && let Some(left) = self.counts.get_mut(&key)
        {
            *left -= count;
            if *left == 0 {
                self.counts.remove(&key);
            }
        }
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.counts.clear();
    }

    /// Returns the number of packets that have left the queue since the last read.
    fn gone(&self, queue: &QueueState) -> usize {
        (queue.taken.wrapping_sub(self.taken) % QueueState::TURN) as usize
    }

    /// Removes the packets that have left, and returns the first new packet. Packets leave a queue
    /// at its front, so the number of departures determines the new front.
    fn remove_gone(&mut self, queue: &QueueState, arena: &Arena) -> PacketId {
        match self.gone(queue) {
            gone if gone < self.packets.len() => (0..gone).for_each(|_| self.pop()),
            _ => self.clear(),
        }
        self.taken = queue.taken;
        let first = self.packets.front();
        if first.is_some_and(|first| first.id != queue.head) {
            self.clear(); // a packet has left at the end
        }
        let last = self.packets.back();
        last.map_or(queue.head, |last| arena.hot(last.id).next)
    }

    /// Returns the total bytes of all packets that the cache contains.
    fn bytes(&self, arena: &Arena) -> u64 {
        let sizes = self.packets.iter().map(|packet| arena.hot(packet.id).size);
        sizes.map(u64::from).sum()
    }
}

/// Cached contents of the long queues of all switches, by port and queue.
#[derive(Debug)]
pub(super) struct LongQueues<K> {
    known: MixedMap<(u32, QueueId), KnownQueue<K>>,
    /// Memory of cache entries whose queue is no longer long.
    spare: Vec<KnownQueue<K>>,
}

impl<K> Default for LongQueues<K> {
    fn default() -> Self {
        Self {
            known: MixedMap::default(),
            spare: Vec::new(),
        }
    }
}

impl<K: Counted> LongQueues<K> {
    /// Starts reading the current contents of queues.
    pub fn read(&mut self) -> Reader<'_, K> {
        Reader {
            queues: self,
            open: std::array::from_fn(|_| None),
            count: 0,
        }
    }

    /// Returns the groups of packets in a queue and their counts, as of the last read, in any
    /// order.
    pub fn counts(&self, port: u32, queue: QueueId) -> impl Iterator<Item = (K, u64)> {
        let contents = self.known.get(&(port, queue));
        contents
            .into_iter()
            .flat_map(|contents| contents.counts.iter().map(|(&key, &count)| (key, count)))
    }

    /// Calls `visit` with the counts of a queue, in any order. A group can be visited several
    /// times. A queue with at least `long` bytes is cached until the next read.
    pub fn visit(
        &mut self,
        port: u32,
        queue: &QueueState,
        long: u64,
        arena: &Arena,
        mut visit: impl FnMut(K, u64),
    ) {
        if queue.bytes >= long {
            let mut reader = self.read();
            reader.add(port, queue, arena);
            reader.read();
            let counts = self.counts(port, queue.queue);
            return counts.for_each(|(key, count)| visit(key, count));
        }
        self.forget(port, queue.queue);
        queue.for_each(arena, |id| {
            if let Some((key, count)) = K::of(arena, id) {
                visit(key, count);
            }
        });
    }

    /// Removes the cached contents of a queue that is no longer long. A later long queue reuses the
    /// memory.
    pub fn forget(&mut self, port: u32, queue: QueueId) {
        if !self.known.is_empty()
            && let Some(mut contents) = self.known.remove(&(port, queue))
        {
            contents.clear();
            self.spare.push(contents);
        }
    }

    /// Removes and returns the cached contents of a queue; they are empty if the queue is not
    /// cached.
    fn take(&mut self, port: u32, queue: QueueId) -> KnownQueue<K> {
        let known = self.known.remove(&(port, queue));
        known.or_else(|| self.spare.pop()).unwrap_or_default()
    }
}

/// A queue whose new packets are being read.
#[derive(Debug)]
struct Open<'a, K> {
    port: u32,
    queue: QueueState,
    arena: &'a Arena,
    contents: KnownQueue<K>,
    next: PacketId,
}

/// Reads several long queues alternately. The address of a packet is stored in the packet before it
/// in the queue, so each step waits for memory. Reading in turn makes these waits overlap.
#[derive(Debug)]
pub(super) struct Reader<'a, K> {
    queues: &'a mut LongQueues<K>,
    open: [Option<Open<'a, K>>; INTERLEAVED],
    /// Number of entries of `open` in use.
    count: usize,
}

impl<'a, K: Counted> Reader<'a, K> {
    /// Adds a queue. The queue is read when `INTERLEAVED` queues have been added, or by
    /// [`Reader::read`].
    pub fn add(&mut self, port: u32, queue: &QueueState, arena: &'a Arena) {
        let mut contents = self.queues.take(port, queue.queue);
        self.open[self.count] = Some(Open {
            port,
            queue: *queue,
            arena,
            next: contents.remove_gone(queue, arena),
            contents,
        });
        self.count += 1;
        if self.count == INTERLEAVED {
            self.read();
        }
    }

    /// Reads the new packets of all added queues.
    pub fn read(&mut self) {
        while self.count > 0 {
            for place in &mut self.open {
                let Some(open) = place else {
                    continue;
                };
                let id = open.next;
                if id != NO_PACKET {
                    open.next = open.arena.hot(id).next;
                    open.contents.push(QueuedPacket {
                        id,
                        counts: K::of(open.arena, id),
                    });
                } else if let Some(read) = place.take() {
                    debug_assert_eq!(read.contents.bytes(read.arena), read.queue.bytes);
                    let key = (read.port, read.queue.queue);
                    self.queues.known.insert(key, read.contents);
                    self.count -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dataplane::packet::{Cold, Packet};
    use kernel::random::{Purpose, Stream};

    use super::*;

    /// A queue of a switch: a list that is linked through the packet records.
    struct Queue {
        state: QueueState,
        tail: PacketId,
    }

    impl Queue {
        fn push(&mut self, id: PacketId, arena: &mut Arena) {
            arena.hot_mut(id).next = NO_PACKET;
            self.state.bytes += u64::from(arena.hot(id).size);
            if self.state.head == NO_PACKET {
                self.state.head = id;
            } else {
                arena.hot_mut(self.tail).next = id;
            }
            self.tail = id;
        }

        fn pop(&mut self, arena: &mut Arena) {
            let id = self.state.head;
            self.state.head = arena.hot(id).next;
            self.took(id, arena);
        }

        fn pop_last(&mut self, arena: &mut Arena) {
            let mut before = self.state.head;
            while arena.hot(before).next != self.tail {
                before = arena.hot(before).next;
            }
            arena.hot_mut(before).next = NO_PACKET;
            let last = std::mem::replace(&mut self.tail, before);
            self.took(last, arena);
        }

        fn took(&mut self, id: PacketId, arena: &mut Arena) {
            self.state.bytes -= u64::from(arena.hot(id).size);
            self.state.taken = (self.state.taken + 1) % QueueState::TURN;
            arena.free(id);
        }

        fn packets<'a>(&self, arena: &'a Arena) -> Vec<&'a Packet> {
            let mut packets = Vec::new();
            self.state.for_each(arena, |id| packets.push(arena.hot(id)));
            packets
        }
    }

    // ENG-31, SPFC-41
    #[test]
    fn what_is_known_of_a_queue_is_what_it_holds() {
        let mut random = Stream::new(7, 0, Purpose::Test);
        let mut arena = Arena::new();
        let (mut flows, mut bytes) = (LongQueues::default(), LongQueues::default());
        let state = QueueState {
            queue: QueueId::new(3),
            bytes: 0,
            head: NO_PACKET,
            taken: QueueState::TURN - 1_000,
        };
        let mut queue = Queue {
            state,
            tail: NO_PACKET,
        };
        for step in 0..4_000u64 {
            for _ in 0..random.below(9) {
                let kind = if random.below(4) == 0 {
                    Kind::Ack
                } else {
                    Kind::Data
                };
                let packet = Packet {
                    flow: random.below(30) as u32,
                    ingress: random.below(4) as u16,
                    flags: [0, flag::BUFFERED][random.below(2) as usize],
                    psn: random.below(3) as u32,
                    ..Packet::new(kind, 2, 60 + random.below(3) as u16)
                };
                let id = arena.alloc(packet, Cold::default());
                queue.push(id, &mut arena);
            }
            for _ in 0..random.below(9) {
                if queue.state.head != NO_PACKET {
                    queue.pop(&mut arena);
                }
            }
            if queue.state.head == NO_PACKET || random.below(3) == 0 {
                continue;
            }
            // NDP removes packets from the end of the queue.
            if random.below(20) == 0 && queue.state.head != queue.tail {
                queue.pop_last(&mut arena);
            }
            let mut reader = flows.read();
            reader.add(9, &queue.state, &arena);
            reader.read();
            let mut seen_bytes = [0; 4];
            bytes.visit(9, &queue.state, 300, &arena, |FromIngress(n, _), bytes| {
                seen_bytes[usize::from(n)] += bytes;
            });
            let (at, packets) = (queue.state.queue, queue.packets(&arena));
            let data = packets.iter().filter(|p| p.kind() == Kind::Data);
            let mut expected: Vec<u32> = data.map(|p| p.flow).collect();
            expected.sort_unstable();
            expected.dedup();
            let mut seen: Vec<u32> = flows.counts(9, at).map(|(OfFlow(flow), _)| flow).collect();
            seen.sort_unstable();
            assert_eq!(seen, expected, "step {step}");
            for ingress in 0..4 {
                let from = |p: &&&Packet| p.ingress == ingress && p.has(flag::BUFFERED);
                let sizes = packets.iter().filter(from).map(|p| u64::from(p.size));
                let seen = seen_bytes[usize::from(ingress)];
                assert_eq!(seen, sizes.sum::<u64>(), "step {step}");
            }
        }
    }
}
