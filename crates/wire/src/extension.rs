//! The extension header of a flow's packet. It carries the fields that RoCEv2 does not have.
//!
//! The header follows the transport headers of RoCEv2, before the payload. Messages of
//! receiver-driven transports consist only of this header. It has fixed fields and optional blocks
//! of fields, in the order of their bits in `blocks`. A packet has the blocks that the nodes of its
//! scheme read (docs/wire.md).

use dataplane::packet::Kind;
use dataplane::trail::{self, Trail};

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Malformed, Unfit};

/// Name of the header in error messages.
pub(crate) const HEADER: &str = "extension header";
/// The first two bytes, "BW" in ASCII.
pub const MAGIC: u16 = 0x4257;
/// Version of this format.
pub const VERSION: u8 = 1;
/// UDP port of messages of receiver-driven transports.
pub const MESSAGE_PORT: u16 = 49_792;
/// Number of bytes of the fixed fields.
pub const FIXED_BYTES: usize = 24;
/// Maximum number of bytes of the header.
pub const MOST_BYTES: usize = FIXED_BYTES + 5 * 4 + 4 * 8 + TRAIL_BYTES;

const TRAIL_BYTES: usize = 2 + 2 * trail::LONGEST;

/// Bits of the header field `flags`.
mod flags {
    pub const RETRANSMITTED: u8 = 1 << 0;
    pub const INCAST: u8 = 1 << 1;
}

/// Bits of the header field `blocks`, one for each optional block of fields.
mod blocks {
    pub const QUEUE: u16 = 1 << 0;
    pub const LINK_NUMBER: u16 = 1 << 1;
    pub const CREDIT: u16 = 1 << 2;
    pub const SENT: u16 = 1 << 3;
    pub const REMAINING: u16 = 1 << 4;
    pub const DONE: u16 = 1 << 5;
    pub const HOST: u16 = 1 << 6;
    pub const TRAIL: u16 = 1 << 7;
    pub const ARRIVED: u16 = 1 << 8;
    pub const MARKS: u16 = 1 << 9;
    pub const ALL: u16 = (1 << 10) - 1;
}

/// The extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Kind of the packet, because the RoCEv2 headers do not distinguish all kinds.
    pub kind: Kind,
    /// True if the packet is a retransmission.
    pub retransmitted: bool,
    /// True if the workload labels the flow as incast.
    pub incast: bool,
    /// ID of the flow.
    pub flow: u32,
    /// Packet number in the flow. In a reply, the packet number that it acknowledges or requests.
    pub number: u32,
    /// Hash of the flow, or label of its path.
    pub hash: u32,
    /// Slot (index) of the flow in the sender's NIC.
    pub slot: u32,
    /// Number of the queue of the packet at the upstream node.
    pub queue: u16,
    /// Priority level that a grant assigns.
    pub level: u16,
    /// Sequence number that the sender of this link assigned.
    pub link_number: Option<u32>,
    /// Sequence number of the credit that the packet uses, or number of packets of the flow that
    /// need no grant.
    pub credit: u32,
    /// Time in ps at which the sender's NIC started to transmit the packet. A reply repeats the
    /// time of the packet that it answers.
    pub sent_ps: u64,
    /// Remaining payload bytes of the flow.
    pub remaining: u64,
    /// Time in ps at which the flow was complete (reply) or the credit was sent (data).
    pub done_ps: Option<u64>,
    /// Processing time in ps of the answered packet in the host that sends this reply.
    pub host_ps: u64,
    /// Ingress ports of the switches on the path so far, so that ACKs can return on the same path.
    pub trail: Option<Trail>,
    /// The receiver has all packets below this number (receiver-driven transports).
    pub arrived_below: u32,
    /// Marks that the sender's congestion control and switches set; see
    /// `dataplane::packet::Arena::marks`.
    pub marks: u8,
}

impl Extension {
    /// Returns the bits of the optional blocks that the header has.
    pub(crate) fn blocks(&self) -> u16 {
        let bit = |present: bool, block: u16| if present { block } else { 0 };
        bit(self.queue != 0 || self.level != 0, blocks::QUEUE)
            | bit(self.link_number.is_some(), blocks::LINK_NUMBER)
            | bit(self.credit != 0, blocks::CREDIT)
            | bit(self.sent_ps != 0, blocks::SENT)
            | bit(self.remaining != 0, blocks::REMAINING)
            | bit(self.done_ps.is_some(), blocks::DONE)
            | bit(self.host_ps != 0, blocks::HOST)
            | bit(self.trail.is_some(), blocks::TRAIL)
            | bit(self.arrived_below != 0, blocks::ARRIVED)
            | bit(self.marks != 0, blocks::MARKS)
    }

    /// Parses the header. Also returns the bytes after it.
    ///
    /// # Errors
    /// Too few bytes, another version, unknown blocks or flags, or a length that contradicts the
    /// blocks.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new(HEADER, bytes);
        let magic = reader.u16()?;
        reader.require(magic == MAGIC, 2, "first bytes", magic, "0x4257")?;
        let first = reader.u8()?;
        reader.require(first >> 4 == VERSION, 1, "version", first >> 4, "1")?;
        let kind = Kind::from_bits(first & 15);
        let is_known = !matches!(kind, Kind::Hop | Kind::Unknown);
        let expected = "0 to 3, 6, or 12 to 15";
        reader.require(is_known, 1, "message", first & 15, expected)?;
        let flags = reader.u8()?;
        reader.require(flags < 4, 1, "flags", flags, "bits 0 and 1")?;
        let blocks = reader.u16()?;
        let known = blocks & !blocks::ALL == 0;
        reader.require(known, 2, "blocks", blocks, "bits 0 to 9")?;
        let words = reader.u8()?;
        let reserved = reader.u8()?;
        reader.require(reserved == 0, 1, "reserved byte", reserved, "0")?;
        let mut header = Self {
            kind,
            retransmitted: flags & flags::RETRANSMITTED != 0,
            incast: flags & flags::INCAST != 0,
            flow: 0,
            number: 0,
            hash: 0,
            slot: 0,
            queue: 0,
            level: 0,
            link_number: None,
            credit: 0,
            sent_ps: 0,
            remaining: 0,
            done_ps: None,
            host_ps: 0,
            trail: None,
            arrived_below: 0,
            marks: 0,
        };
        header.fields(blocks, &mut reader)?;
        if usize::from(words) * 4 != reader.at() {
            let expected = "the length of its blocks";
            return Err(Malformed::value(
                HEADER,
                6,
                "length in words",
                words,
                expected,
            ));
        }
        Ok((header, reader.rest()))
    }

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let start = out.written();
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        out.u16(MAGIC)?;
        out.u8(VERSION << 4 | self.kind as u8)?;
        out.u8(bit(self.retransmitted, flags::RETRANSMITTED) | bit(self.incast, flags::INCAST))?;
        let blocks = self.blocks();
        out.u16(blocks)?;
        out.u16(0)?;
        { *self }.fields(blocks, out)?;
        let words = (out.written() - start) / 4;
        out.since(start)[6] = words as u8;
        Ok(())
    }

    /// Reads or writes all fields after the first eight bytes: fixed fields and optional blocks.
    fn fields<F: Fields>(&mut self, blocks: u16, to: &mut F) -> Result<(), F::Error> {
        for fixed in [
            &mut self.flow,
            &mut self.number,
            &mut self.hash,
            &mut self.slot,
        ] {
            to.field(fixed)?;
        }
        let has = |block: u16| blocks & block != 0;
        if has(blocks::QUEUE) {
            to.field(&mut self.queue)?;
            to.field(&mut self.level)?;
        }
        if has(blocks::LINK_NUMBER) {
            to.field(self.link_number.get_or_insert_default())?;
        }
        if has(blocks::CREDIT) {
            to.field(&mut self.credit)?;
        }
        if has(blocks::SENT) {
            to.field(&mut self.sent_ps)?;
        }
        if has(blocks::REMAINING) {
            to.field(&mut self.remaining)?;
        }
        if has(blocks::DONE) {
            to.field(self.done_ps.get_or_insert_default())?;
        }
        if has(blocks::HOST) {
            to.field(&mut self.host_ps)?;
        }
        if has(blocks::TRAIL) {
            trail_fields(self.trail.get_or_insert_default(), to)?;
        }
        if has(blocks::ARRIVED) {
            to.field(&mut self.arrived_below)?;
        }
        if has(blocks::MARKS) {
            let mut marks = u32::from(self.marks);
            to.field(&mut marks)?;
            to.require(marks < 0x100, 4, "marks", marks, "bits 0 to 7")?;
            self.marks = marks as u8;
        }
        Ok(())
    }
}

/// Reads or writes the ingress ports of a path: their number, then all entries. Unused entries are
/// 0.
fn trail_fields<F: Fields>(trail: &mut Trail, to: &mut F) -> Result<(), F::Error> {
    let mut ports = [0; trail::LONGEST];
    ports[..trail.ports().len()].copy_from_slice(trail.ports());
    let mut count = trail.ports().len() as u16;
    to.field(&mut count)?;
    let is_short = usize::from(count) <= trail::LONGEST;
    to.require(is_short, 2, "switches of the trail", count, "15 or fewer")?;
    trail.clear();
    for (nth, port) in (0..).zip(&mut ports) {
        to.field(port)?;
        if nth < count {
            trail.push(*port);
        } else {
            to.require(*port == 0, 2, "port after the trail", *port, "0")?;
        }
    }
    Ok(())
}
