//! Which flows stand in a long queue, kept from one look to the next: only what came and what left
//! is looked at, not ten thousand packets that are still there.

use std::collections::VecDeque;

use dataplane::packet::{Arena, Kind, NO_PACKET, PacketId};
use dataplane::switch::{MixedMap, QueueState};
use dataplane::units::Time;

/// From so many bytes on a queue is long.
pub(super) const LONG_BYTES: u64 = 1 << 16;

/// A packet in a queue, told from all others that ever have its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    id: PacketId,
    flow: u32,
    psn: u32,
    size: u16,
    data: bool,
    sent_ps: Time,
}

impl Standing {
    fn of(id: PacketId, arena: &Arena) -> Self {
        let packet = arena.hot(id);
        Self {
            id,
            flow: packet.flow,
            psn: packet.psn,
            size: packet.size,
            data: packet.kind() == Kind::Data,
            sent_ps: arena.cold(id).sent_ps,
        }
    }
}

/// What stood in a queue at the last look, in its order.
#[derive(Debug, Default)]
struct Row {
    packets: VecDeque<Standing>,
    bytes: u64,
    /// Data packets of each flow.
    flows: MixedMap<u32, u32>,
}

impl Row {
    fn push(&mut self, packet: Standing) {
        self.packets.push_back(packet);
        self.bytes += u64::from(packet.size);
        if packet.data {
            *self.flows.entry(packet.flow).or_default() += 1;
        }
    }

    fn pop(&mut self) {
        let Some(packet) = self.packets.pop_front() else {
            return;
        };
        self.bytes -= u64::from(packet.size);
        if packet.data
            && let Some(count) = self.flows.get_mut(&packet.flow)
        {
            *count -= 1;
            if *count == 0 {
                self.flows.remove(&packet.flow);
            }
        }
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
        self.flows.clear();
    }

    /// Leaves out what stands no more, and adds what is new behind. A queue is first in, first out: if
    /// its first packet was there before, so was all that stood behind it.
    fn follow(&mut self, queue: &QueueState, arena: &Arena) {
        let first = Standing::of(queue.head, arena);
        while self.packets.front().is_some_and(|front| *front != first) {
            self.pop();
        }
        let end = self.extend(queue, arena);
        if end != NO_PACKET || self.bytes != queue.bytes {
            // Something was taken out of the middle after all.
            self.clear();
            self.extend(queue, arena);
        }
    }

    /// Adds what stands behind the last known packet; returns what is left to add.
    fn extend(&mut self, queue: &QueueState, arena: &Arena) -> PacketId {
        let mut id = match self.packets.back() {
            Some(last) => arena.hot(last.id).next,
            None => queue.head,
        };
        while id != NO_PACKET && self.bytes < queue.bytes {
            self.push(Standing::of(id, arena));
            id = arena.hot(id).next;
        }
        id
    }
}

/// The long queues of all switches, by port and queue.
#[derive(Debug, Default)]
pub(super) struct LongQueues {
    rows: MixedMap<(u32, u32), Row>,
}

impl LongQueues {
    /// Calls `visit` with each flow that has a data packet in this queue, in no order.
    pub fn flows(&mut self, port: u32, queue: &QueueState, arena: &Arena, visit: impl FnMut(u32)) {
        let row = self.rows.entry((port, queue.queue)).or_default();
        row.follow(queue, arena);
        row.flows.keys().copied().for_each(visit);
    }

    /// A queue is short: forgets it.
    pub fn forget(&mut self, port: u32, queue: u32) {
        if !self.rows.is_empty() {
            self.rows.remove(&(port, queue));
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
            self.state.bytes -= u64::from(arena.hot(id).size);
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
    fn flows_are_those_that_a_walk_through_the_queue_finds() {
        let mut random = Stream::new(7, 0, Purpose::Test);
        let mut arena = Arena::new();
        let mut long = LongQueues::default();
        let state = QueueState {
            queue: 3,
            bytes: 0,
            head: NO_PACKET,
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
                let cold = Cold {
                    sent_ps: step,
                    ..Cold::default()
                };
                let id = arena.alloc(packet, cold);
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
            // Now and then a packet in the middle is lost.
            let second = arena.hot(queue.state.head).next;
            if random.below(20) == 0 && second != NO_PACKET && second != queue.tail {
                queue.state.bytes -= u64::from(arena.hot(second).size);
                arena.hot_mut(queue.state.head).next = arena.hot(second).next;
                arena.free(second);
            }
            let mut seen = Vec::new();
            long.flows(9, &queue.state, &arena, |flow| seen.push(flow));
            seen.sort_unstable();
            assert_eq!(seen, queue.flows(&arena), "step {step}");
        }
    }
}
