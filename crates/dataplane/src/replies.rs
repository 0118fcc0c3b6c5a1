//! Replies (ACK, NAK, CNP and other frames from receivers) and their queues at the ports of a NIC.

use crate::classes::ClassSet;
use crate::fifo::Fifo;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::prefetch::prefetch;
use crate::sink::Sink;

/// Queued replies per port and class.
#[derive(Debug)]
pub(crate) struct Replies {
    queues: Vec<Fifo>,
    classes: usize,
    /// Classes with queued replies, per port.
    ready: Vec<ClassSet>,
}

impl Replies {
    pub fn new(ports: usize, classes: usize) -> Self {
        Self {
            queues: vec![Fifo::EMPTY; ports * classes],
            classes,
            ready: vec![0; ports],
        }
    }

    /// Returns the classes of a port with queued replies, as a bit set.
    #[inline]
    pub fn ready(&self, port: u16) -> ClassSet {
        self.ready[port as usize]
    }

    /// Appends a reply to the queue of its port and class. Does not request a transmission, because
    /// the caller transmits immediately.
    pub fn push(&mut self, port: u16, id: PacketId, arena: &mut Arena) {
        let class = arena.hot(id).class();
        self.queues[port as usize * self.classes + class as usize].push(id, arena);
        self.ready[port as usize] |= 1 << class;
    }

    /// Enqueues a reply and requests a transmission.
    pub fn send<S: Sink>(&mut self, port: u16, id: PacketId, arena: &mut Arena, sink: &mut S) {
        self.push(port, id, arena);
        sink.kick(port);
    }

    /// Dequeues the first reply of a class.
    #[inline]
    pub fn pop(&mut self, port: u16, class: u8, arena: &Arena) -> Option<PacketId> {
        let queue = &mut self.queues[port as usize * self.classes + class as usize];
        let id = queue.pop(arena)?;
        if queue.is_empty() {
            self.ready[port as usize] &= !(1 << class);
        }
        Some(id)
    }

    /// Dequeues all replies of a port.
    // LNK-23
    pub fn take_all(&mut self, port: u16, arena: &Arena) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for class in 0..self.classes as u8 {
            while let Some(id) = self.pop(port, class, arena) {
                taken.push(id);
            }
        }
        taken
    }

    /// Returns the number of queued replies at all ports.
    pub fn len(&self, arena: &Arena) -> u64 {
        self.queues.iter().map(|queue| queue.len(arena)).sum()
    }

    /// Prefetches the reply queues of a port. Changes no state.
    #[inline]
    pub fn prefetch(&self, port: u16) {
        prefetch(&self.queues, port as usize * self.classes);
    }
}

/// Turns an arrived packet into a reply to its sender. The sending time and INT are unchanged. The
/// hash is also unchanged, so with symmetric routing the reply uses the same path.
#[inline]
pub(crate) fn turn(id: PacketId, kind: Kind, class: u8, size: u16, arena: &mut Arena) {
    let hot = arena.hot_mut(id);
    let receiver = hot.dst;
    hot.become_kind(kind, class);
    hot.size = size;
    hot.flags &= flag::INCAST | flag::INT;
    hot.upstream_queue = 0;
    let sender = std::mem::replace(&mut arena.cold_mut(id).src, receiver);
    arena.hot_mut(id).dst = sender;
}

/// Address of the sender of a flow, for frames that the receiver sends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peer {
    pub flow: u32,
    /// Endpoint of the sender.
    endpoint: u32,
    /// Endpoint of the receiver.
    own: u32,
    /// Slot of the flow at its sender.
    slot: FlowSlot,
    /// Hash that selects the path of frames to the sender.
    pub hash: u32,
}

impl Peer {
    /// Returns the address of the sender of a packet.
    pub const fn of(packet: &Packet, cold: &Cold) -> Self {
        Self {
            flow: packet.flow,
            endpoint: cold.src,
            own: packet.dst,
            slot: cold.slot,
            hash: packet.hash,
        }
    }

    /// Addresses a frame to the sender.
    pub fn address(&self, frame: Packet) -> (Packet, Cold) {
        let hot = Packet {
            flow: self.flow,
            hash: self.hash,
            dst: self.endpoint,
            ..frame
        };
        let cold = Cold {
            src: self.own,
            slot: self.slot,
            ..Cold::default()
        };
        (hot, cold)
    }
}
