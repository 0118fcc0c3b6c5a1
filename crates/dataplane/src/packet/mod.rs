//! One packet is one record in an arena; queues are linked through it.
//!
//! The hot part is what every hop touches and fits half a cache line. The cold part is what only
//! the ends touch. INT stacks lie beside them and exist only where INT is used.

mod arena;
mod frame;
mod notice;

pub use arena::Arena;
pub use frame::{Frame, SchemeNumber, SchemeSet, Words};
pub use notice::{Notice, ramp};

use crate::ids::FlowSlot;
use crate::ids::QueueId;
use crate::units::{NEVER, Time};

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
    /// A congestion notification of the receiver.
    Cnp = 3,
    /// Between two neighbours: a frame of a hop scheme, see [`Frame`].
    Hop = 4,
    /// A switch informs the sender of a packet, see [`Notice`].
    Notice = 6,
    /// What is left of a data packet whose payload a switch cut off.
    Header = 12,
    /// Such a header on its way back to its sender.
    Returned = 13,
    /// The receiver lets the sender send: a credit, a grant, or a pull.
    Grant = 14,
    /// Asks the other side for something of a receiver-driven transport: credits (`psn` = 1) or no more of
    /// them (`psn` = 0), or the packet `psn` once more.
    Request = 15,
    /// No packet has this kind; numbers that name no kind are read as it.
    Unknown = 5,
}

impl Kind {
    /// Kind from its number.
    #[inline]
    const fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Data,
            1 => Self::Ack,
            2 => Self::Nak,
            3 => Self::Cnp,
            4 => Self::Hop,
            6 => Self::Notice,
            12 => Self::Header,
            13 => Self::Returned,
            14 => Self::Grant,
            15 => Self::Request,
            _ => Self::Unknown,
        }
    }
}

/// Bits of [`Packet::flags`]. The bits of [`OF_SWITCH`](flag::OF_SWITCH) are 0 on a link.
pub mod flag {
    /// Congestion experienced (ECN), or on an ACK the echo of it.
    pub const CE: u8 = 1 << 0;
    /// Its sender waits for the acknowledgement: nothing follows until it comes. // NIC-09
    pub const ASKS: u8 = 1 << 1;
    /// A bit of the switch's hop scheme.
    pub const HOP_A: u8 = 1 << 2;
    /// Sent again.
    pub const RETRANSMITTED: u8 = 1 << 3;
    /// Belongs to a flow that the traffic calls incast.
    pub const INCAST: u8 = 1 << 4;
    /// The packet's bytes are held against the switch's buffer.
    pub const BUFFERED: u8 = 1 << 5;
    /// The packet has an INT stack.
    pub const INT: u8 = 1 << 6;
    /// The packet is or was in a VOQ of the switch.
    pub const PARKED: u8 = 1 << 7;
    /// Bits that a switch sets and clears when the packet leaves.
    pub const OF_SWITCH: u8 = BUFFERED | HOP_A | PARKED;
}

/// The hot part: what a hop reads and writes. 32 bytes that no cache line's end divides.
///
/// | field | written by | read by |
/// |---|---|---|
/// | `flow`, `psn`, `dst`, `size`, `tag` | the sending NIC | all |
/// | `hash` | the sending NIC: the flow's hash, its ports ([`crate::route::ports`]), or a path's label | routes, flow tables |
/// | `next` | the node that holds it; on a link: the number that a link scheme gave it | the same node; the next node |
/// | `location` | the node that holds it | the same node; on a link: the next switch's hop scheme |
/// | `ingress` | the switch that holds it | the same |
/// | `upstream_queue` | the node that sends it on a link | the switch at the link's end |
/// | `flags` | see [`flag`] | |
///
/// A frame between neighbours uses the fields as [`Frame`] says.
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
    /// The queue, VOQ or link with the packet.
    pub location: Location,
    /// Bytes on the wire.
    pub size: u16,
    /// Port by which it entered the switch that it is in.
    pub ingress: u16,
    /// Number of the queue that it left at the node upstream; of a frame between neighbours, which one it
    /// is (see [`Frame`]).
    pub upstream_queue: u16,
    /// What it is (low four bits) and its traffic class (high four bits); see
    /// [`Packet::kind`] and [`Packet::class`].
    pub tag: u8,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// The place of a packet: a queue, a VOQ or a link. The variants share four bytes, because [`Packet`]
/// has no room for a tag. The node that stores the packet uses the accessor of its own variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Location(u32);

impl Location {
    /// Distinguishes a VOQ from a queue, whose index is smaller.
    const VOQ: u32 = 1 << 31;

    /// The packet is in a queue. The index is that of the queue in its switch or NIC.
    #[inline]
    #[must_use]
    pub const fn in_queue(queue: QueueId) -> Self {
        Self(queue.bits())
    }

    /// The packet is in a VOQ, or stored in another way by a hop scheme, and will leave by this port.
    #[inline]
    #[must_use]
    pub const fn in_voq(egress: u16) -> Self {
        Self(Self::VOQ | egress as u32)
    }

    /// The packet is on a link. The number is the sequence number of the hop scheme, 0 without one.
    #[inline]
    #[must_use]
    pub const fn on_link(number: u32) -> Self {
        Self(number)
    }

    /// Index of the queue of an enqueued packet.
    #[inline]
    #[must_use]
    pub const fn queue(self) -> QueueId {
        QueueId::new(self.0 as usize)
    }

    /// True for a packet in a VOQ. The packet must be in a VOQ or in a queue.
    #[inline]
    #[must_use]
    pub const fn is_in_voq(self) -> bool {
        self.0 & Self::VOQ != 0
    }

    /// Egress port of a packet that a hop scheme holds.
    #[inline]
    #[must_use]
    pub const fn voq_egress(self) -> u16 {
        self.0 as u16
    }

    /// Sequence number of a packet that arrived by a link.
    #[inline]
    #[must_use]
    pub const fn link_number(self) -> u32 {
        self.0
    }
}

/// A time in the cold part of a packet. The two variants share eight bytes, because [`Cold`] fills a
/// cache line: the packet's kind determines which accessor is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stamp(Time);

impl Stamp {
    /// On an ACK, NAK or grant of a flow that is not complete.
    pub const INCOMPLETE: Self = Self(NEVER);

    /// On an ACK or NAK: when the last byte of the flow arrived; [`NEVER`] if the flow is not complete.
    #[inline]
    #[must_use]
    pub const fn completion(at_ps: Time) -> Self {
        Self(at_ps)
    }

    /// On data: when the receiver sent the credit that permitted it; 0 without credits.
    #[inline]
    #[must_use]
    pub const fn credit(sent_ps: Time) -> Self {
        Self(sent_ps)
    }

    /// When the last byte of the flow arrived; [`NEVER`] if the flow is not complete.
    #[inline]
    #[must_use]
    pub const fn completion_ps(self) -> Time {
        self.0
    }

    /// When the receiver sent the credit of a data packet; 0 without credits.
    #[inline]
    #[must_use]
    pub const fn credit_sent_ps(self) -> Time {
        self.0
    }
}

/// The cold part: what only the ends read and write.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Cold {
    /// When its transmission at the sender's NIC started, echoed by the ACK.
    pub sent_ps: Time,
    /// Completion time on an ACK or NAK; on data, the time of the credit that permitted it.
    pub stamp: Stamp,
    /// On a reply: how long the receiver's host held the packet that it answers (NIC-42).
    pub remote_host_ps: Time,
    /// How long the host that has it now held it before it looked at it (NIC-42).
    pub local_host_ps: Time,
    /// Sending endpoint.
    pub src: u32,
    /// Slot of the flow in the sender's NIC, echoed by ACK, NAK, CNP and notice.
    pub slot: FlowSlot,
    /// Payload bytes left in the flow, including this packet (shortest remaining first). An ACK or
    /// NAK keeps the value of the packet that it answers.
    pub remaining: u64,
    /// On an ACK, NAK or grant of a receiver-driven transport: the receiver has all packets below
    /// this number.
    pub arrived_below: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Priority level that a grant sets.
    pub level: u16,
    /// On data of a receiver-driven transport: the number of the credit that permitted it, or how
    /// many packets of the flow need no grant. On a pause frame whose cause is recorded: the number
    /// of the pause, at least 1.
    pub credit: u32,
    /// Of data that its sender sends: what `cookie` of the flow says. On a link nobody knows it.
    pub cookie: u32,
}

impl Cold {
    /// Of data: whether it has the last bytes of its flow.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.remaining <= self.payload as u64
    }
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
            location: Location::on_link(0),
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

    /// What the digest of a run takes of a packet that arrives: flags and size, flow and number. Frozen, so that
    /// digests compare between versions: a new layout of the record must give the same numbers.
    #[inline]
    #[must_use]
    pub const fn digest_words(&self) -> (u64, u64) {
        let how = (self.flags as u64) << 56 | (self.size as u64) << 40;
        (how, (self.flow as u64) << 32 | self.psn as u64)
    }

    /// Whether a bit of [`flag`] is set.
    #[inline]
    #[must_use]
    pub const fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_names_no_kind_is_read_as_unknown() {
        let known: Vec<u8> = (0..16)
            .filter(|&bits| Kind::from_bits(bits) as u8 == bits)
            .collect();
        assert_eq!(known, [0, 1, 2, 3, 4, 5, 6, 12, 13, 14, 15]);
        let unknown = (0..16).filter(|&bits| Kind::from_bits(bits) == Kind::Unknown);
        assert_eq!(unknown.count(), 6);
    }

    #[test]
    fn the_hot_part_is_half_a_cache_line() {
        assert_eq!((size_of::<Packet>(), align_of::<Packet>()), (32, 32));
        assert_eq!(size_of::<Cold>(), 64);
    }
}
