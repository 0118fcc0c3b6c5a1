//! A FIFO queue of packets as a linked list.

use crate::packet::{Arena, NO_PACKET, PacketId};

/// First-in-first-out queue. Its packets in the arena are linked by [`Packet::next`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    head: PacketId,
    tail: PacketId,
}

impl Fifo {
    pub const EMPTY: Self = Self {
        head: NO_PACKET,
        tail: NO_PACKET,
    };

    pub fn push(&mut self, id: PacketId, arena: &mut Arena) {
        arena.hot_mut(id).next = NO_PACKET;
        if self.head == NO_PACKET {
            self.head = id;
        } else {
            arena.hot_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    pub fn pop(&mut self, arena: &Arena) -> Option<PacketId> {
        let id = self.head;
        if id == NO_PACKET {
            return None;
        }
        self.head = arena.hot(id).next;
        Some(id)
    }

    pub const fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    pub fn len(&self, arena: &Arena) -> u64 {
        let (mut n, mut id) = (0, self.head);
        while id != NO_PACKET {
            n += 1;
            id = arena.hot(id).next;
        }
        n
    }
}
