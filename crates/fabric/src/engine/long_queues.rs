//! The flows with packets in long queues, kept from one probe to the next: only packets that joined or left
//! are visited, not the ten thousand that are still there.

use std::collections::VecDeque;

use dataplane::packet::{Arena, Kind, NO_PACKET, PacketId};
use dataplane::switch::{MixedMap, QueueState};

/// From this many bytes on a queue is long.
pub(super) const LONG_BYTES: u64 = 1 << 16;

/// How many queues are read in turn.
const INTERLEAVED: usize = 16;

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
struct QueuedPacket {
    id: PacketId,
    /// Its flow, if it is data.
    flow: Option<u32>,
}

/// The packets of a queue at the last probe, in its order.
#[derive(Debug, Default)]
struct KnownQueue {
    packets: VecDeque<QueuedPacket>,
    /// Data packets of each flow.
    flows: MixedMap<u32, u32>,
    /// What [`QueueState::taken`] said.
    taken: u32,
}

impl KnownQueue {
    fn push(&mut self, packet: QueuedPacket) {
        self.packets.push_back(packet);
        if let Some(flow) = packet.flow {
            *self.flows.entry(flow).or_default() += 1;
        }
    }

    fn pop(&mut self) {
        let first = self.packets.pop_front();
        if let Some(flow) = first.and_then(|packet| packet.flow)
            && let Some(count) = self.flows.get_mut(&flow)
        {
            *count -= 1;
            if *count == 0 {
                self.flows.remove(&flow);
            }
        }
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.flows.clear();
    }

    /// How many packets were taken since the last probe.
    fn gone(&self, queue: &QueueState) -> usize {
        (queue.taken.wrapping_sub(self.taken) % QueueState::TURN) as usize
    }

    /// Removes the packets that have left, and returns the first packet that is new. A queue is first in, first
    /// out: as many packets are gone from its front as were taken.
    fn remove_gone(&mut self, queue: &QueueState, arena: &Arena) -> PacketId {
        match self.gone(queue) {
            gone if gone < self.packets.len() => (0..gone).for_each(|_| self.pop()),
            _ => self.clear(),
        }
        self.taken = queue.taken;
        let first = self.packets.front();
        if first.is_some_and(|first| first.id != queue.head) {
            self.clear(); // one was taken from the end after all
        }
        let last = self.packets.back();
        last.map_or(queue.head, |last| arena.hot(last.id).next)
    }

    /// Bytes of all packets.
    fn bytes(&self, arena: &Arena) -> u64 {
        let sizes = self.packets.iter().map(|packet| arena.hot(packet.id).size);
        sizes.map(u64::from).sum()
    }
}

/// The long queues of all switches, by port and queue.
#[derive(Debug, Default)]
pub(super) struct LongQueues {
    known: MixedMap<(u32, u32), KnownQueue>,
}

impl LongQueues {
    /// Begins to read queues as they are now.
    pub fn read(&mut self) -> Reader<'_> {
        Reader {
            known: &mut self.known,
            open: Vec::with_capacity(INTERLEAVED),
        }
    }

    /// Each flow that had a data packet in this queue when it was last read, in no order.
    pub fn flows(&self, port: u32, queue: u32) -> impl Iterator<Item = u32> {
        let contents = self.known.get(&(port, queue));
        contents
            .into_iter()
            .flat_map(|contents| contents.flows.keys().copied())
    }

    /// A queue is short: forgets it.
    pub fn forget(&mut self, port: u32, queue: u32) {
        if !self.known.is_empty() {
            self.known.remove(&(port, queue));
        }
    }
}

/// A queue whose new packets are read.
#[derive(Debug)]
struct Open<'a> {
    port: u32,
    queue: QueueState,
    arena: &'a Arena,
    contents: KnownQueue,
    next: PacketId,
}

/// Reads long queues. The address of a packet is read from the one before it, so that each
/// packet of a queue waits for memory; several queues are read in turn, so that their waits overlap.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    known: &'a mut MixedMap<(u32, u32), KnownQueue>,
    open: Vec<Open<'a>>,
}

impl<'a> Reader<'a> {
    /// Adds a queue; it is read when enough have been added, or with [`Reader::read`].
    pub fn add(&mut self, port: u32, queue: &QueueState, arena: &'a Arena) {
        let mut contents = self.known.remove(&(port, queue.queue)).unwrap_or_default();
        self.open.push(Open {
            port,
            queue: *queue,
            arena,
            next: contents.remove_gone(queue, arena),
            contents,
        });
        if self.open.len() == INTERLEAVED {
            self.read();
        }
    }

    /// Reads all that is new.
    pub fn read(&mut self) {
        while !self.open.is_empty() {
            self.open.retain_mut(|open| {
                if open.next == NO_PACKET {
                    debug_assert_eq!(open.contents.bytes(open.arena), open.queue.bytes);
                    let contents = std::mem::take(&mut open.contents);
                    self.known.insert((open.port, open.queue.queue), contents);
                    return false;
                }
                let packet = open.arena.hot(open.next);
                let flow = (packet.kind() == Kind::Data).then_some(packet.flow);
                open.contents.push(QueuedPacket {
                    id: open.next,
                    flow,
                });
                open.next = packet.next;
                true
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use dataplane::packet::{Cold, Packet};
    use kernel::random::{Purpose, Stream};

    use super::*;

    /// A queue as a switch has it: a list through the records.
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

        fn flows(&self, arena: &Arena) -> Vec<u32> {
            let mut flows = Vec::new();
            let mut id = self.state.head;
            while id != NO_PACKET {
                let packet = arena.hot(id);
                flows.extend((packet.kind() == Kind::Data).then_some(packet.flow));
                id = packet.next;
            }
            flows.sort_unstable();
            flows.dedup();
            flows
        }
    }

    // ENG-31
    #[test]
    fn flows_are_those_of_all_queued_packets() {
        let mut random = Stream::new(7, 0, Purpose::Test);
        let mut arena = Arena::new();
        let mut long = LongQueues::default();
        let state = QueueState {
            queue: 3,
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
            // NDP takes packets from the end.
            if random.below(20) == 0 && queue.state.head != queue.tail {
                queue.pop_last(&mut arena);
            }
            let mut reader = long.read();
            reader.add(9, &queue.state, &arena);
            reader.read();
            let mut seen: Vec<u32> = long.flows(9, queue.state.queue).collect();
            seen.sort_unstable();
            assert_eq!(seen, queue.flows(&arena), "step {step}");
        }
    }
}
