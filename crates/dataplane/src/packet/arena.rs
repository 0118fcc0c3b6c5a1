//! Storage of packets and of their optional data: INT stack, list of a control frame, path, marks.

use super::{Cold, Kind, Packet, PacketId, flag};
use crate::int::{IntHop, IntStack, Stacks, Telemetry};
use crate::prefetch::{make_room, prefetch};
use crate::trail::Trail;

/// All packets of a network partition (simulated by one thread). Freed records are reused, last
/// freed first, so the arena is only as large as the maximum number of packets at one time.
#[derive(Debug, Default)]
pub struct Arena {
    hot: Vec<Packet>,
    cold: Vec<Cold>,
    free: Vec<PacketId>,
    /// INT stack of each packet, up to the highest packet index that ever had one.
    stacks: Stacks,
    /// List of each control frame (for example paused queues), up to the highest packet index that
    /// ever had one.
    lists: Vec<Vec<u32>>,
    /// Recorded path of each packet, if ACKs return on the path of their data.
    trails: Vec<Trail>,
    /// Marks of each packet (see [`Arena::marks`]), up to the highest packet index that ever had
    /// marks.
    marks: Vec<u8>,
}

impl Arena {
    /// Creates an empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a packet and returns its index.
    #[inline]
    pub fn alloc(&mut self, packet: Packet, cold: Cold) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.hot[id as usize] = packet;
            self.cold[id as usize] = cold;
            id
        } else {
            self.alloc_new(packet, cold)
        }
    }

    /// Adds a packet when no freed record can be reused.
    #[inline(never)]
    fn alloc_new(&mut self, packet: Packet, cold: Cold) -> PacketId {
        let id = self.hot.len() as PacketId;
        if self.hot.len() == self.hot.capacity() {
            let more = self.hot.len().max(64);
            make_room(&mut self.hot, more);
            make_room(&mut self.cold, more);
        }
        self.hot.push(packet);
        self.cold.push(cold);
        id
    }

    /// Prefetches the record that will be allocated after `later` earlier allocations.
    #[inline]
    pub fn prefetch_free(&self, later: usize) {
        let at = self.free.len().wrapping_sub(later + 1);
        if let Some(&id) = self.free.get(at) {
            self.prefetch(id);
            self.prefetch_cold(id);
            self.prefetch_stack(id);
        }
    }

    /// Frees a packet with its marks and INT stack.
    #[inline]
    pub fn free(&mut self, id: PacketId) {
        if let Some(bits) = self.marks.get_mut(id as usize) {
            *bits = 0;
        }
        self.free.push(id);
    }

    /// Copies a packet with its INT stack, list, path and marks. Returns the index of the copy.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        let copy = self.alloc(*self.hot(id), *self.cold(id));
        if let Some(stack) = self.stack(id) {
            self.stacks.clear(copy, self.hot.len());
            self.stacks.fill(copy, stack.path(), stack.hops());
        }
        if self.hot(id).has_list() {
            let list = self.take_list(id);
            self.set_list(copy, &list);
            self.put_list(id, list);
        }
        if !self.trails.is_empty() {
            *self.trail_mut(copy) = self.trail(id);
        }
        if !self.marks.is_empty() {
            self.set_marks(copy, self.marks(id));
        }
        copy
    }

    /// Attaches an empty INT stack to a packet.
    #[inline]
    pub fn attach_stack(&mut self, id: PacketId) {
        self.stacks.clear(id, self.hot.len());
        self.hot[id as usize].flags |= flag::INT;
    }

    /// Returns the INT stack of a packet, if it has one.
    #[inline]
    #[must_use]
    pub fn stack(&self, id: PacketId) -> Option<IntStack> {
        self.hot(id).has(flag::INT).then(|| self.stacks.get(id))
    }

    /// Returns the content of a packet's INT stack, if it has one. A long stack, which is stored in
    /// two arrays, is copied to `room`.
    #[inline]
    pub(crate) fn telemetry<'a>(
        &'a self,
        id: PacketId,
        room: &'a mut Option<IntStack>,
    ) -> Option<Telemetry<'a>> {
        let has_one = self.hot(id).has(flag::INT);
        has_one.then(|| self.stacks.telemetry(id, room))
    }

    /// Adds a hop to the INT stack of a packet, which must have one; see [`IntStack::push`].
    #[inline(always)]
    pub(crate) fn push_hop(&mut self, id: PacketId, switch: u32, hop: IntHop) -> bool {
        self.stacks.push(id, switch, hop)
    }

    /// Returns the last hop of a packet's INT stack for writing.
    pub fn last_hop_mut(&mut self, id: PacketId) -> Option<&mut IntHop> {
        if !self.hot(id).has(flag::INT) {
            return None;
        }
        self.stacks.last_mut(id)
    }

    /// Attaches an INT stack with this path and these hops to a packet.
    pub fn set_stack(&mut self, id: PacketId, path: u16, hops: &[IntHop]) {
        self.attach_stack(id);
        self.stacks.fill(id, path, hops);
    }

    /// Returns the marks of a packet: eight bits that the congestion control of its sender sets and
    /// switches change. The congestion control defines their meaning (for Bolt see
    /// [`ramp`](super::ramp)).
    #[inline]
    #[must_use]
    pub fn marks(&self, id: PacketId) -> u8 {
        self.marks.get(id as usize).copied().unwrap_or(0)
    }

    /// Sets the marks of a packet. An ACK keeps the marks of the packet that it answers.
    pub fn set_marks(&mut self, id: PacketId, bits: u8) {
        let at = id as usize;
        if at >= self.marks.len() {
            if bits == 0 {
                return;
            }
            self.marks.resize(self.hot.len(), 0);
        }
        self.marks[at] = bits;
    }

    /// Returns the recorded path of a packet for writing.
    pub fn trail_mut(&mut self, id: PacketId) -> &mut Trail {
        let at = id as usize;
        if at >= self.trails.len() {
            self.trails.resize(self.hot.len(), Trail::default());
        }
        &mut self.trails[at]
    }

    /// Returns the recorded path of a packet.
    #[must_use]
    pub fn trail(&self, id: PacketId) -> Trail {
        self.trails.get(id as usize).copied().unwrap_or_default()
    }

    /// Attaches a list of numbers to a control frame between neighbours, see
    /// [`Frame::LISTED`](super::Frame::LISTED).
    pub fn set_list(&mut self, id: PacketId, words: &[u32]) {
        self.new_list(id).extend_from_slice(words);
    }

    /// Attaches an empty list to a control frame between neighbours and returns it for writing.
    pub fn new_list(&mut self, id: PacketId) -> &mut Vec<u32> {
        let at = id as usize;
        if at >= self.lists.len() {
            self.lists.resize_with(self.hot.len(), Vec::new);
        }
        let list = &mut self.lists[at];
        list.clear();
        list
    }

    /// Removes and returns the list of a control frame, so that the arena can be changed while the
    /// list is read. [`Arena::put_list`] puts the list back, so that its memory is reused.
    pub fn take_list(&mut self, id: PacketId) -> Vec<u32> {
        let list = self.lists.get_mut(id as usize);
        list.map(std::mem::take).unwrap_or_default()
    }

    /// Puts a list from [`Arena::take_list`] back to its control frame.
    pub fn put_list(&mut self, id: PacketId, list: Vec<u32>) {
        if let Some(place) = self.lists.get_mut(id as usize) {
            *place = list;
        }
    }

    /// Returns the list that [`Arena::set_list`] attached to a control frame.
    #[must_use]
    pub fn list(&self, id: PacketId) -> &[u32] {
        self.lists.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the hot fields of a packet: those that switches use.
    #[inline]
    #[must_use]
    pub fn hot(&self, id: PacketId) -> &Packet {
        &self.hot[id as usize]
    }

    /// Returns the hot fields of a packet for writing.
    #[inline]
    pub fn hot_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.hot[id as usize]
    }

    /// Prefetches the hot fields of a packet.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.hot, id as usize);
    }

    /// Prefetches the hot fields and the INT stack of a queued packet that a switch sends next.
    #[inline]
    pub fn prefetch_waiting(&self, id: PacketId) {
        self.prefetch(id);
        self.prefetch_stack(id);
    }

    /// Prefetches the cold fields of a packet.
    #[inline]
    pub fn prefetch_cold(&self, id: PacketId) {
        prefetch(&self.cold, id as usize);
    }

    /// Prefetches the cold fields and the INT stack of a packet if `wanted`. Otherwise prefetches
    /// those of packet 0: this avoids a branch, which would often be predicted wrongly.
    #[inline]
    pub fn prefetch_if(&self, wanted: bool, id: PacketId) {
        let id = if wanted { id } else { 0 };
        self.prefetch_cold(id);
        self.prefetch_stack(id);
    }

    /// Prefetches the INT stack of a packet.
    #[inline]
    pub fn prefetch_stack(&self, id: PacketId) {
        self.stacks.prefetch(id);
    }

    /// Prefetches the INT stack of a packet if the packet has this kind, like
    /// [`Arena::prefetch_if`].
    #[inline]
    pub fn prefetch_stack_of(&self, id: PacketId, kind: Kind) {
        if !self.stacks.is_empty() {
            let wanted = self.hot(id).kind() == kind;
            self.stacks.prefetch(if wanted { id } else { 0 });
        }
    }

    /// Returns the cold fields of a packet: those that only hosts use.
    #[inline]
    #[must_use]
    pub fn cold(&self, id: PacketId) -> &Cold {
        &self.cold[id as usize]
    }

    /// Returns the cold fields of a packet for writing.
    #[inline]
    pub fn cold_mut(&mut self, id: PacketId) -> &mut Cold {
        &mut self.cold[id as usize]
    }

    /// Returns the number of packets in the arena.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.hot.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_records_and_stacks_are_used_again() {
        let mut arena = Arena::new();
        let cold = Cold::default();
        let a = arena.alloc(Packet::new(Kind::Data, 1, 1048), cold);
        arena.attach_stack(a);
        assert!(arena.stack(a).is_some());
        arena.free(a);
        assert_eq!(arena.alive(), 0);
        let b = arena.alloc(Packet::new(Kind::Ack, 0, 60), cold);
        assert_eq!(a, b);
        assert!(
            arena.stack(b).is_none(),
            "a new packet has no stack of an old one"
        );
    }
}
