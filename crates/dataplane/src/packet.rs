//! One packet is one record in an arena; queues are linked through it.
//!
//! The hot part is what every hop touches and fits half a cache line. The cold part is what only
//! the ends touch. INT stacks lie beside them and exist only where INT is used.

use crate::int::{IntHop, IntStack, Stacks};
use crate::prefetch::{make_room, prefetch};
use crate::trail::Trail;
use crate::units::Time;

/// Index of a packet in its [`Arena`].
pub type PacketId = u32;

/// No packet; ends a queue.
pub const NO_PACKET: PacketId = u32::MAX;

/// What a frame is. Control frames carry their content in the packet's own fields (see each).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a flow; `psn` is its packet number.
    Data = 0,
    /// Acknowledges everything below `psn`.
    Ack = 1,
    /// The receiver expects `psn` and got a later one (go-back-N).
    Nak = 2,
    /// DCQCN congestion notification.
    Cnp = 3,
    /// IEEE 802.1Qbb: `psn` is 1 for XOFF and 0 for XON, `hash` the mask of classes.
    Pfc = 4,
    /// BFC pause (`psn` = 1) or resume (`psn` = 0) of the queue `hash` of the node upstream, or of
    /// the flow `flow` where pauses name flows (`hash` is then the queue that it came from).
    BfcPause = 5,
    /// BFC bitmap: all queues of the node upstream that are to be paused, see [`Arena::named`].
    BfcBitmap = 6,
    /// What is left of a data packet whose payload a switch cut off (NDP).
    Header = 12,
    /// Such a header on its way back to its sender.
    Returned = 13,
    /// The receiver lets the sender send: a credit of ExpressPass, a grant of Homa, a pull of NDP.
    Grant = 14,
    /// ExpressPass: asks for credits (`psn` = 1) or wants no more (`psn` = 0). Homa: asks for the
    /// packet `psn` once more.
    Request = 15,
    /// Floodgate credits: of endpoint `dst`, `hash` units up to number `psn`, where `upstream_queue`
    /// is 1; else of so many endpoints, three words for each, see [`Arena::named`].
    Credit = 7,
    /// Floodgate: endpoint `dst` was sent units up to number `psn`, and no credit came (switchSYN).
    SwitchSyn = 8,
    /// Pause (`psn` = 1) or resume (`psn` = 0) of what goes to endpoint `dst`: dstPause, PFC with tag.
    DstPause = 9,
}

impl Kind {
    /// Kind from its number. Numbers that name none cannot come from a [`Packet`].
    #[inline]
    const fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Data,
            1 => Self::Ack,
            2 => Self::Nak,
            3 => Self::Cnp,
            4 => Self::Pfc,
            5 => Self::BfcPause,
            12 => Self::Header,
            13 => Self::Returned,
            14 => Self::Grant,
            15 => Self::Request,
            6 => Self::BfcBitmap,
            7 => Self::Credit,
            8 => Self::SwitchSyn,
            _ => Self::DstPause,
        }
    }

    /// Whether it is a frame between two neighbours, which no switch forwards.
    #[inline]
    #[must_use]
    pub const fn is_hop_control(self) -> bool {
        let first = Self::Pfc as u8;
        (self as u8).wrapping_sub(first) <= Self::DstPause as u8 - first
    }
}

/// Bits of [`Packet::flags`].
pub mod flag {
    /// Congestion experienced (ECN), or on an ACK the echo of it.
    pub const CE: u8 = 1 << 0;
    /// Its sender waits for the acknowledgement: nothing follows until it comes. // NIC-09
    pub const ASKS: u8 = 1 << 1;
    /// BFC: this packet incremented its pause counter (`counterIncr`).
    pub const OVER: u8 = 1 << 2;
    /// Sent again.
    pub const RETRANSMITTED: u8 = 1 << 3;
    /// Belongs to a flow that the traffic calls incast.
    pub const INCAST: u8 = 1 << 4;
    /// The packet's bytes are held against the switch's buffer.
    pub const BUFFERED: u8 = 1 << 5;
    /// The packet has an INT stack.
    pub const INT: u8 = 1 << 6;
    /// Floodgate: the packet was held in a VOQ of the switch that it is in.
    pub const HELD: u8 = 1 << 7;
}

/// The hot part: what a hop reads and writes. 32 bytes that no cache line's end divides.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Packet {
    /// Flow that it belongs to; `u32::MAX` for frames between neighbours.
    pub flow: u32,
    /// Packet number inside its flow.
    pub psn: u32,
    /// Hash of the flow's identity, the input of ECMP and of flow tables.
    pub hash: u32,
    /// Destination endpoint (a port of a host).
    pub dst: u32,
    /// Next packet of the queue it stands in.
    pub next: PacketId,
    /// Queue it stands in, an index into the switch's queues; of a packet that Floodgate holds, its
    /// egress port; of one on a link, Floodgate's number of it.
    pub queue: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Port by which it entered the switch that it is in.
    pub ingress: u16,
    /// Queue that it left at the node upstream (BFC's `upstreamQ`).
    pub upstream_queue: u16,
    /// What it is (low four bits) and its traffic class (high four bits); see
    /// [`Packet::kind`] and [`Packet::class`].
    pub tag: u8,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// The cold part: what only the ends read and write.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Cold {
    /// When its transmission at the sender's NIC started, echoed by the ACK.
    pub sent_ps: Time,
    /// On the ACK of a whole flow: when its last byte arrived. On data that a credit let go: when
    /// that credit was sent.
    pub done_ps: Time,
    /// Sending endpoint.
    pub src: u32,
    /// Slot of the flow in the sender's NIC, echoed by ACK, NAK and CNP.
    pub slot: u32,
    /// Payload bytes left in the flow, this packet included (shortest remaining first). On an ACK
    /// or grant of a receiver-driven transport: below which packet number all have arrived.
    pub remaining: u64,
    /// Payload bytes.
    pub payload: u16,
    /// Priority level that a grant of Homa sets.
    pub level: u16,
    /// On data of a receiver-driven transport: the number of the credit that let it go
    /// (ExpressPass), or how many packets of the flow need no grant (Homa).
    pub credit: u32,
}

impl Packet {
    /// A packet with nothing in it but its kind, class and size.
    #[must_use]
    pub const fn new(kind: Kind, class: u8, size: u16) -> Self {
        Self {
            flow: u32::MAX,
            psn: 0,
            hash: 0,
            dst: u32::MAX,
            next: NO_PACKET,
            queue: 0,
            size,
            ingress: 0,
            upstream_queue: 0,
            tag: kind as u8 | class << 4,
            flags: 0,
        }
    }

    /// What it is.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Kind {
        Kind::from_bits(self.tag & 15)
    }

    /// Its traffic class, 0 to 15.
    #[inline]
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.tag >> 4
    }

    /// Makes it another kind of packet of another class: a receiver turns data into an ACK.
    #[inline]
    pub const fn become_kind(&mut self, kind: Kind, class: u8) {
        self.tag = kind as u8 | class << 4;
    }

    /// Whether something is written beside it, see [`Arena::named`].
    #[inline]
    #[must_use]
    pub const fn names(&self) -> bool {
        match self.kind() {
            Kind::BfcBitmap => true,
            Kind::Credit => self.upstream_queue != 1,
            _ => false,
        }
    }

    /// Whether a bit of [`flag`] is set.
    #[inline]
    #[must_use]
    pub const fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

/// All packets of a partition. Freed records are used again, last freed first, so the arena stays
/// as small as the largest number of packets that ever were alive at once.
#[derive(Debug, Default)]
pub struct Arena {
    hot: Vec<Packet>,
    cold: Vec<Cold>,
    free: Vec<PacketId>,
    /// Stack of each packet; as long as the highest packet that ever had one.
    stacks: Stacks,
    /// What a bitmap or a frame of credits names; as long as the highest packet that ever was one.
    named: Vec<Vec<u32>>,
    /// Way of each packet, where ACKs go back by it.
    trails: Vec<Trail>,
}

impl Arena {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a packet in and returns its index.
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

    /// Puts a packet into a new record.
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

    /// Asks for the record that the packet after `later` others will get.
    #[inline]
    pub fn prefetch_free(&self, later: usize) {
        let at = self.free.len().wrapping_sub(later + 1);
        if let Some(&id) = self.free.get(at) {
            self.prefetch(id);
            self.prefetch_cold(id);
            self.prefetch_stack(id);
        }
    }

    /// Takes a packet out, and its INT stack with it.
    #[inline]
    pub fn free(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Gives an empty INT stack to a packet.
    #[inline]
    pub fn attach_stack(&mut self, id: PacketId) {
        self.stacks.clear(id, self.hot.len());
        self.hot[id as usize].flags |= flag::INT;
    }

    /// The INT stack of a packet, if it has one.
    #[inline]
    #[must_use]
    pub fn stack(&self, id: PacketId) -> Option<IntStack> {
        self.hot(id).has(flag::INT).then(|| self.stacks.get(id))
    }

    /// Adds to the INT stack of a packet what switch `switch` says, see [`IntStack::push`]. `None`
    /// if the packet has no stack.
    #[inline(always)]
    pub fn push_hop(&mut self, id: PacketId, switch: u32, hop: IntHop) -> Option<bool> {
        if !self.hot(id).has(flag::INT) {
            return None;
        }
        Some(self.stacks.push(id, switch, hop))
    }

    /// The last hop that a packet's INT stack has, to change.
    pub fn last_hop_mut(&mut self, id: PacketId) -> Option<&mut IntHop> {
        if !self.hot(id).has(flag::INT) {
            return None;
        }
        self.stacks.last_mut(id)
    }

    /// Gives a packet an INT stack with this path and these hops.
    pub fn set_stack(&mut self, id: PacketId, path: u16, hops: &[IntHop]) {
        self.attach_stack(id);
        self.stacks.fill(id, path, hops);
    }

    /// Way on which a packet came, to write on.
    pub fn trail_mut(&mut self, id: PacketId) -> &mut Trail {
        let at = id as usize;
        if at >= self.trails.len() {
            self.trails.resize(self.hot.len(), Trail::default());
        }
        &mut self.trails[at]
    }

    /// Writes on a bitmap frame which queues it names, in order, or on a frame of credits its words.
    pub fn name(&mut self, id: PacketId, queues: &[u32]) {
        let at = id as usize;
        if at >= self.named.len() {
            self.named.resize_with(self.hot.len(), Vec::new);
        }
        self.named[at].clear();
        self.named[at].extend_from_slice(queues);
    }

    /// What [`Arena::name`] wrote on a frame.
    #[must_use]
    pub fn named(&self, id: PacketId) -> &[u32] {
        self.named.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// Hot part of a packet.
    #[inline]
    #[must_use]
    pub fn hot(&self, id: PacketId) -> &Packet {
        &self.hot[id as usize]
    }

    /// Hot part of a packet, to change.
    #[inline]
    pub fn hot_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.hot[id as usize]
    }

    /// Asks for a packet that will be touched soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.hot, id as usize);
    }

    /// Asks for what a switch touches of a packet that has waited long and is the next to leave.
    #[inline]
    pub fn prefetch_waiting(&self, id: PacketId) {
        self.prefetch(id);
        self.prefetch_stack(id);
    }

    /// Asks for the cold part of a packet.
    #[inline]
    pub fn prefetch_cold(&self, id: PacketId) {
        prefetch(&self.cold, id as usize);
    }

    /// Asks for what a host touches of a packet that has been under way for long, if one is `wanted`. Whether
    /// it is nothing foretells, so instead of nothing it asks for what is there.
    #[inline]
    pub fn prefetch_if(&self, wanted: bool, id: PacketId) {
        let id = if wanted { id } else { 0 };
        self.prefetch_cold(id);
        self.prefetch_stack(id);
    }

    /// Asks for the INT stack of a packet.
    #[inline]
    pub fn prefetch_stack(&self, id: PacketId) {
        self.stacks.prefetch(id);
    }

    /// Asks for the INT stack of a packet if it is of this kind; see [`Arena::prefetch_if`].
    #[inline]
    pub fn prefetch_stack_of(&self, id: PacketId, kind: Kind) {
        if !self.stacks.is_empty() {
            let wanted = self.hot(id).kind() == kind;
            self.stacks.prefetch(if wanted { id } else { 0 });
        }
    }

    /// Cold part of a packet.
    #[inline]
    #[must_use]
    pub fn cold(&self, id: PacketId) -> &Cold {
        &self.cold[id as usize]
    }

    /// Cold part of a packet, to change.
    #[inline]
    pub fn cold_mut(&mut self, id: PacketId) -> &mut Cold {
        &mut self.cold[id as usize]
    }

    /// Packets alive now.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.hot.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_between_neighbours_are_those_from_pfc_to_dst_pause() {
        for bits in 0..16 {
            let kind = Kind::from_bits(bits);
            let known = kind as u8 == bits;
            assert!(
                !known || kind.is_hop_control() == (4..=9).contains(&bits),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn the_hot_part_is_half_a_cache_line() {
        assert_eq!((size_of::<Packet>(), align_of::<Packet>()), (32, 32));
        assert_eq!(size_of::<Cold>(), 64);
    }

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
