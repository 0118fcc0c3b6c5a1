//! Packets. Each packet is one record in an arena, and queues are linked lists of records.
//!
//! A record has hot fields ([`Packet`]), which every hop uses and which fill half a cache line, and
//! cold fields ([`Cold`]), which only the end hosts use. INT stacks are stored separately and exist
//! only if INT is used.

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

/// Value for "no packet". It marks the end of a queue.
pub const NO_PACKET: PacketId = u32::MAX;

/// Kind of a packet. Control frames store their content in the fields of the packet (see each
/// kind).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Payload of a flow; `psn` is its packet number.
    Data = 0,
    /// Acknowledgement of all packets below `psn`.
    Ack = 1,
    /// Negative acknowledgement: the receiver expects `psn` and received a later packet
    /// (go-back-N).
    Nak = 2,
    /// Congestion notification packet of the receiver.
    Cnp = 3,
    /// Control frame of a hop scheme between two neighbours, see [`Frame`].
    Hop = 4,
    /// Congestion notification that a switch sends to the sender of a packet, see [`Notice`].
    Notice = 6,
    /// Header of a data packet whose payload a switch removed (trimming).
    Header = 12,
    /// Trimmed header that returns to its sender.
    Returned = 13,
    /// Permission from the receiver to send: a credit, a grant, or a pull.
    Grant = 14,
    /// Request of a receiver-driven transport: for credits (`psn` = 1), for no more credits (`psn`
    /// = 0), or for a retransmission starting at packet `psn`.
    Request = 15,
    /// Result of decoding an invalid number. No packet has this kind.
    Unknown = 5,
}

impl Kind {
    /// Returns the kind with this number, or [`Kind::Unknown`].
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
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
    /// Congestion experienced (ECN). On an ACK: echo of this bit.
    pub const CE: u8 = 1 << 0;
    /// The packet requests an ACK: its sender sends no further packet before. // NIC-09
    pub const ASKS: u8 = 1 << 1;
    /// A bit for use by the switch's hop scheme.
    pub const HOP_A: u8 = 1 << 2;
    /// The packet is a retransmission.
    pub const RETRANSMITTED: u8 = 1 << 3;
    /// The packet belongs to a flow that the workload labels as incast.
    pub const INCAST: u8 = 1 << 4;
    /// The packet occupies buffer space of the switch.
    pub const BUFFERED: u8 = 1 << 5;
    /// The packet has an INT stack.
    pub const INT: u8 = 1 << 6;
    /// The packet is or was in a VOQ of the switch.
    pub const PARKED: u8 = 1 << 7;
    /// Bits that a switch uses, and clears when the packet leaves the switch.
    pub const OF_SWITCH: u8 = BUFFERED | HOP_A | PARKED;
}

/// Hot fields of a packet: those that every hop reads and writes. The 32 bytes lie within one cache
/// line.
///
/// | field | written by | read by |
/// |---|---|---|
/// | `flow`, `psn`, `dst`, `size`, `tag` | the sending NIC | all |
/// | `hash` | the sending NIC: the flow's hash, its ports ([`crate::route::ports`]), or a path's label | routes, flow tables |
/// | `next` | the current node; on a link: the sequence number of the link scheme | the same node; the next node |
/// | `location` | the current node | the same node; on a link: the next switch's hop scheme |
/// | `ingress` | the current switch | the same switch |
/// | `upstream_queue` | the node that sends it over a link | the switch at the link's end |
/// | `flags` | see [`flag`] | |
///
/// A control frame between neighbours uses the fields as described in [`Frame`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub struct Packet {
    /// ID of its flow, or `u32::MAX` for control frames between neighbours.
    pub flow: u32,
    /// Packet number inside its flow.
    pub psn: u32,
    /// Hash of the flow's identity, the input of ECMP and of flow tables.
    pub hash: u32,
    /// Destination endpoint (a port of a host).
    pub dst: u32,
    /// Next packet in its queue.
    pub next: PacketId,
    /// Queue, VOQ or link that contains the packet.
    pub location: Location,
    /// Size on the wire, in bytes.
    pub size: u16,
    /// Port by which the packet entered the current switch.
    pub ingress: u16,
    /// Number of the queue of the packet at the upstream node. For a control frame between
    /// neighbours: type of the frame (see [`Frame`]).
    pub upstream_queue: u16,
    /// Kind (low four bits) and traffic class (high four bits); see [`Packet::kind`] and
    /// [`Packet::class`].
    pub tag: u8,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// Location of a packet: a queue, a VOQ or a link. The variants share four bytes, because
/// [`Packet`] has no room for a tag. The node that stores the packet knows the variant and uses
/// the accessor for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Location(u32);

impl Location {
    /// Bit that distinguishes a VOQ from the index of a queue.
    const VOQ: u32 = 1 << 31;

    /// Creates the location of a packet in a queue with this index in its switch or NIC.
    #[inline]
    #[must_use]
    pub const fn in_queue(queue: QueueId) -> Self {
        Self(queue.bits())
    }

    /// Creates the location of a packet for this egress port that a hop scheme stores, in a VOQ or
    /// elsewhere.
    #[inline]
    #[must_use]
    pub const fn in_voq(egress: u16) -> Self {
        Self(Self::VOQ | egress as u32)
    }

    /// Creates the location of a packet on a link. `number` is a sequence number that the hop
    /// scheme assigns, or 0.
    #[inline]
    #[must_use]
    pub const fn on_link(number: u32) -> Self {
        Self(number)
    }

    /// Returns the index of the queue of an enqueued packet.
    #[inline]
    #[must_use]
    pub const fn queue(self) -> QueueId {
        QueueId::new(self.0 as usize)
    }

    /// Returns true for a packet in a VOQ. The packet must be in a VOQ or in a queue.
    #[inline]
    #[must_use]
    pub const fn is_in_voq(self) -> bool {
        self.0 & Self::VOQ != 0
    }

    /// Returns the egress port of a packet that a hop scheme stores.
    #[inline]
    #[must_use]
    pub const fn voq_egress(self) -> u16 {
        self.0 as u16
    }

    /// Returns the sequence number of the hop scheme in a packet that arrived over a link.
    #[inline]
    #[must_use]
    pub const fn link_number(self) -> u32 {
        self.0
    }
}

/// A time in the cold fields of a packet. The two variants share eight bytes, because [`Cold`]
/// fills a cache line. The kind of the packet determines which accessor is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stamp(Time);

impl Stamp {
    /// Value on an ACK, NAK or grant of a flow that is not complete.
    pub const INCOMPLETE: Self = Self(NEVER);

    /// Creates the stamp of an ACK or NAK: the arrival time of the flow's last byte, or [`NEVER`]
    /// if the flow is not complete.
    #[inline]
    #[must_use]
    pub const fn completion(at_ps: Time) -> Self {
        Self(at_ps)
    }

    /// Creates the stamp of a data packet: the time at which the receiver sent its credit, or 0
    /// without credits.
    #[inline]
    #[must_use]
    pub const fn credit(sent_ps: Time) -> Self {
        Self(sent_ps)
    }

    /// Returns the arrival time of the flow's last byte, or [`NEVER`] if the flow is not complete.
    #[inline]
    #[must_use]
    pub const fn completion_ps(self) -> Time {
        self.0
    }

    /// Returns the time at which the receiver sent the credit of a data packet, or 0 without
    /// credits.
    #[inline]
    #[must_use]
    pub const fn credit_sent_ps(self) -> Time {
        self.0
    }
}

/// Cold fields of a packet: those that only the end hosts read and write.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Cold {
    /// Time at which the sender's NIC started to transmit the packet. The ACK echoes it.
    pub sent_ps: Time,
    /// Completion time on an ACK or NAK. On data: sending time of its credit.
    pub stamp: Stamp,
    /// On a reply: delay of the answered packet in the receiver's host before it was processed
    /// (NIC-42).
    pub remote_host_ps: Time,
    /// Delay of this packet in the current host before it is processed (NIC-42).
    pub local_host_ps: Time,
    /// Sending endpoint.
    pub src: u32,
    /// Slot (index) of the flow in the sender's NIC. ACK, NAK, CNP and [`Notice`] echo it.
    pub slot: FlowSlot,
    /// Remaining payload bytes of the flow, including this packet (for shortest-remaining-first
    /// scheduling). An ACK or NAK keeps the value of the packet that it answers.
    pub remaining: u64,
    /// On an ACK, NAK or grant of a receiver-driven transport: the receiver has all packets below
    /// this number.
    pub arrived_below: u32,
    /// Number of payload bytes.
    pub payload: u16,
    /// Priority level of a grant.
    pub level: u16,
    /// On data of a receiver-driven transport: sequence number of its credit, or number of packets
    /// of the flow that need no grant. On a pause frame whose cause is recorded: ID of the pause,
    /// at least 1.
    pub credit: u32,
    /// On data at its sender: `cookie` of the flow (opaque value from the caller). Not used on
    /// links.
    pub cookie: u32,
}

impl Cold {
    /// Returns true for a data packet with the last bytes of its flow.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.remaining <= self.payload as u64
    }
}

impl Packet {
    /// Creates a packet with this kind, class and size. All other fields are empty.
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

    /// Returns the kind of the packet.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Kind {
        Kind::from_bits(self.tag & 15)
    }

    /// Returns the traffic class, 0 to 15.
    #[inline]
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.tag >> 4
    }

    /// Changes the kind and the class, for example when a receiver turns data into an ACK.
    #[inline]
    pub const fn become_kind(&mut self, kind: Kind, class: u8) {
        self.tag = kind as u8 | class << 4;
    }

    /// Returns the words of an arriving packet for the digest (checksum) of a run: flags and size,
    /// flow and packet number. The encoding must never change, so that digests of different
    /// versions can be compared.
    #[inline]
    #[must_use]
    pub const fn digest_words(&self) -> (u64, u64) {
        let how = (self.flags as u64) << 56 | (self.size as u64) << 40;
        (how, (self.flow as u64) << 32 | self.psn as u64)
    }

    /// Returns true if a bit of [`flag`] is set.
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
