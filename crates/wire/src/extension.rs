//! What RoCEv2 has no place for: the extension header of a packet of a flow.
//!
//! It stands behind the transport headers of RoCEv2, in front of the payload; messages of receiver-driven
//! transports consist of it alone. A first part that all have is followed by blocks, in the order of their
//! bits in `blocks`; a scheme's packets have the blocks that its nodes read (docs/wire.md).

use dataplane::packet::ramp;
use dataplane::trail;

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// The first two bytes: "BW".
pub const MAGIC: u16 = 0x4257;
/// Version of this format.
pub const VERSION: u8 = 1;
/// Port of UDP of the messages of receiver-driven transports.
pub const MESSAGE_PORT: u16 = 49_792;
/// Bytes of the part that all have.
pub const FIXED_BYTES: usize = 24;
/// Most bytes that it can have.
pub const MOST_BYTES: usize = FIXED_BYTES + 5 * 4 + 4 * 8 + WAY_BYTES;

const WAY_BYTES: usize = 2 + 2 * trail::LONGEST;

/// Bits of `flags`.
mod flags {
    pub const AGAIN: u8 = 1 << 0;
    pub const INCAST: u8 = 1 << 1;
}

/// Bits of `blocks`.
mod blocks {
    pub const QUEUE: u16 = 1 << 0;
    pub const LINK_NUMBER: u16 = 1 << 1;
    pub const CREDIT: u16 = 1 << 2;
    pub const SENT: u16 = 1 << 3;
    pub const REMAINING: u16 = 1 << 4;
    pub const DONE: u16 = 1 << 5;
    pub const HOST: u16 = 1 << 6;
    pub const WAY: u16 = 1 << 7;
    pub const ARRIVED: u16 = 1 << 8;
    pub const RAMP: u16 = 1 << 9;
    pub const ALL: u16 = (1 << 10) - 1;
}

/// What a packet of a flow is, where transport headers do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Message {
    /// Payload.
    Data = 0,
    /// Everything below `number` has arrived.
    Ack = 1,
    /// `number` is missing.
    Nak = 2,
    /// A notification of congestion.
    Cnp = 3,
    /// A switch informs the sender of a packet.
    Notice = 6,
    /// What is left of a trimmed packet.
    Trimmed = 12,
    /// The same on its way back.
    Returned = 13,
    /// The receiver lets the sender send: a credit, a grant, or a pull.
    Grant = 14,
    /// One side asks the other for something.
    Request = 15,
}

impl Message {
    const ALL: [Self; 9] = [
        Self::Data,
        Self::Ack,
        Self::Nak,
        Self::Cnp,
        Self::Notice,
        Self::Trimmed,
        Self::Returned,
        Self::Grant,
        Self::Request,
    ];
}

/// Ports by which a packet came into the switches on its way, for ACKs that go back by it.
pub type Way = trail::Trail;

/// The extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// What the packet is.
    pub message: Message,
    /// It was sent before.
    pub again: bool,
    /// Its flow belongs to an incast.
    pub incast: bool,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the packet in its flow, or what an answer says: all 32 bits.
    pub number: u32,
    /// Hash of the flow, or label of its path: all 32 bits.
    pub hash: u32,
    /// Place of the flow at its sender.
    pub slot: u32,
    /// Queue that it left at the node upstream.
    pub queue: u16,
    /// Priority level that is set by a grant.
    pub level: u16,
    /// Number that the link's sender gave it.
    pub link_number: Option<u32>,
    /// Number of the credit that let it go, or a count of packets.
    pub credit: u32,
    /// When its transmission began at its host, ps; on an answer that of the packet that it answers.
    pub sent_ps: u64,
    /// Payload bytes left in the flow.
    pub remaining: u64,
    /// When the flow was complete, or the credit sent, ps.
    pub done_ps: Option<u64>,
    /// How long the host of the sender of this packet held what it answers, ps.
    pub host_ps: u64,
    /// The way so far.
    pub way: Option<Way>,
    /// The receiver has all packets below this number (receiver-driven transports).
    pub arrived_below: u32,
    /// Bits that a control and switches keep on a packet, see `dataplane::packet::ramp`.
    pub ramp: u8,
}

impl Extension {
    /// Bits of the blocks that it has.
    pub(crate) fn blocks(&self) -> u16 {
        let bit = |present: bool, block: u16| if present { block } else { 0 };
        bit(self.queue != 0 || self.level != 0, blocks::QUEUE)
            | bit(self.link_number.is_some(), blocks::LINK_NUMBER)
            | bit(self.credit != 0, blocks::CREDIT)
            | bit(self.sent_ps != 0, blocks::SENT)
            | bit(self.remaining != 0, blocks::REMAINING)
            | bit(self.done_ps.is_some(), blocks::DONE)
            | bit(self.host_ps != 0, blocks::HOST)
            | bit(self.way.is_some(), blocks::WAY)
            | bit(self.arrived_below != 0, blocks::ARRIVED)
            | bit(self.ramp != 0, blocks::RAMP)
    }

    /// Reads it. Returns what follows.
    ///
    /// # Errors
    /// Too few bytes, another version, blocks or flags that we do not know, or a length that is not theirs.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new("extension header", bytes);
        let magic = reader.u16()?;
        reader.require(magic == MAGIC, 2, "first bytes", magic, "0x4257")?;
        let first = reader.u8()?;
        reader.require(first >> 4 == VERSION, 1, "version", first >> 4, "1")?;
        let message = Message::ALL
            .into_iter()
            .find(|message| *message as u8 == first & 15);
        let Some(message) = message else {
            let expected = "0 to 3, 6, or 12 to 15";
            let unknown = reader.require(false, 1, "message", first & 15, expected);
            return Err(unknown.expect_err("it does not hold"));
        };
        let flags = reader.u8()?;
        reader.require(flags < 4, 1, "flags", flags, "bits 0 and 1")?;
        let blocks = reader.u16()?;
        let known = blocks & !blocks::ALL == 0;
        reader.require(known, 2, "blocks", blocks, "bits 0 to 9")?;
        let words = reader.u8()?;
        let reserved = reader.u8()?;
        reader.require(reserved == 0, 1, "reserved byte", reserved, "0")?;
        let has = |block: u16| blocks & block != 0;
        let mut it = Self {
            message,
            again: flags & flags::AGAIN != 0,
            incast: flags & flags::INCAST != 0,
            flow: reader.u32()?,
            number: reader.u32()?,
            hash: reader.u32()?,
            slot: reader.u32()?,
            queue: 0,
            level: 0,
            link_number: None,
            credit: 0,
            sent_ps: 0,
            remaining: 0,
            done_ps: None,
            host_ps: 0,
            way: None,
            arrived_below: 0,
            ramp: 0,
        };
        if has(blocks::QUEUE) {
            it.queue = reader.u16()?;
            it.level = reader.u16()?;
        }
        if has(blocks::LINK_NUMBER) {
            it.link_number = Some(reader.u32()?);
        }
        if has(blocks::CREDIT) {
            it.credit = reader.u32()?;
        }
        if has(blocks::SENT) {
            it.sent_ps = reader.u64()?;
        }
        if has(blocks::REMAINING) {
            it.remaining = reader.u64()?;
        }
        if has(blocks::DONE) {
            it.done_ps = Some(reader.u64()?);
        }
        if has(blocks::HOST) {
            it.host_ps = reader.u64()?;
        }
        if has(blocks::WAY) {
            it.way = Some(parse_way(&mut reader)?);
        }
        if has(blocks::ARRIVED) {
            it.arrived_below = reader.u32()?;
        }
        if has(blocks::RAMP) {
            let bits = reader.u32()?;
            let known = bits & !u32::from(ramp::ALL) == 0;
            reader.require(known, 4, "ramp", bits, "bits 0 to 4")?;
            it.ramp = bits as u8;
        }
        let mut length = Reader::new("extension header", bytes);
        length.bytes(7)?;
        let fits = usize::from(words) * 4 == reader.at();
        length.require(fits, 1, "length in words", words, "what its blocks take")?;
        Ok((it, reader.rest()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// There is no room.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let start = out.written();
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        out.u16(MAGIC)?;
        out.u8(VERSION << 4 | self.message as u8)?;
        out.u8(bit(self.again, flags::AGAIN) | bit(self.incast, flags::INCAST))?;
        let blocks = self.blocks();
        out.u16(blocks)?;
        out.u16(0)?;
        out.u32(self.flow)?;
        out.u32(self.number)?;
        out.u32(self.hash)?;
        out.u32(self.slot)?;
        let has = |block: u16| blocks & block != 0;
        if has(blocks::QUEUE) {
            out.u16(self.queue)?;
            out.u16(self.level)?;
        }
        if let Some(number) = self.link_number {
            out.u32(number)?;
        }
        if has(blocks::CREDIT) {
            out.u32(self.credit)?;
        }
        if has(blocks::SENT) {
            out.u64(self.sent_ps)?;
        }
        if has(blocks::REMAINING) {
            out.u64(self.remaining)?;
        }
        if let Some(done_ps) = self.done_ps {
            out.u64(done_ps)?;
        }
        if has(blocks::HOST) {
            out.u64(self.host_ps)?;
        }
        if let Some(way) = &self.way {
            emit_way(way, out)?;
        }
        if has(blocks::ARRIVED) {
            out.u32(self.arrived_below)?;
        }
        if has(blocks::RAMP) {
            out.u32(self.ramp.into())?;
        }
        let words = (out.written() - start) / 4;
        out.since(start)[6] = words as u8;
        Ok(())
    }
}

fn parse_way(reader: &mut Reader<'_>) -> Result<Way, Malformed> {
    let count = reader.u16()?;
    let few = usize::from(count) <= trail::LONGEST;
    reader.require(few, 2, "switches of the way", count, "15 or fewer")?;
    let mut way = Way::default();
    for nth in 0..trail::LONGEST {
        let port = reader.u16()?;
        if nth < usize::from(count) {
            way.push(port);
        } else {
            reader.require(port == 0, 2, "port behind the way", port, "0")?;
        }
    }
    Ok(way)
}

fn emit_way(way: &Way, out: &mut Writer<'_>) -> Result<(), Unfit> {
    let ports = way.ports();
    out.u16(ports.len() as u16)?;
    for port in ports {
        out.u16(*port)?;
    }
    out.zeros(2 * (trail::LONGEST - ports.len()))
}
