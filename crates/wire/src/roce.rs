//! RoCEv2: the transport headers of InfiniBand behind UDP (InfiniBand Architecture, annex A17).

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// Port of UDP.
pub const PORT: u16 = 4791;

/// Bytes of a BTH.
pub const BTH_BYTES: usize = 12;
/// Bytes of an iCRC.
pub const ICRC_BYTES: usize = 4;
/// Zeros behind the BTH of a CNP.
pub const CNP_BYTES: usize = 16;

/// What a BTH can be the header of. Reliable connections (RC) and CNP.
pub mod opcode {
    /// First packet of a write; a RETH follows.
    pub const WRITE_FIRST: u8 = 0x06;
    /// Neither first nor last packet of a write.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// Last packet of a write.
    pub const WRITE_LAST: u8 = 0x08;
    /// The only packet of a write; a RETH follows.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// An acknowledgement; an AETH follows.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// A notification of congestion (CNP); 16 zeros follow.
    pub const CNP: u8 = 0x81;
}

/// Largest number of 24 bits.
pub const LARGEST_24: u32 = (1 << 24) - 1;

/// The base transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bth {
    /// See [`opcode`].
    pub opcode: u8,
    /// Solicited event (SE).
    pub solicited: bool,
    /// Migrated (M).
    pub migrated: bool,
    /// Zeros behind the payload, 0 to 3, so that it has whole words.
    pub pad: u8,
    /// Partition key.
    pub partition: u16,
    /// Congestion was met on the way here (FECN).
    pub forward: bool,
    /// Congestion was met on the way there (BECN).
    pub backward: bool,
    /// Queue pair of the receiver, 24 bits.
    pub queue_pair: u32,
    /// An acknowledgement is requested (AckReq).
    pub asks: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Reads it. Returns what follows.
    ///
    /// # Errors
    /// Too few bytes, another version than 0, or reserved bits that are set.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new("BTH", bytes);
        let opcode = reader.u8()?;
        let second = reader.u8()?;
        reader.require(second & 15 == 0, 1, "version", second & 15, "0")?;
        let partition = reader.u16()?;
        let pair = reader.u32()?;
        let reserved = pair >> 24 & 0x3f;
        reader.require(reserved == 0, 4, "reserved bits", reserved, "0")?;
        let last = reader.u32()?;
        let reserved = last >> 24 & 0x7f;
        reader.require(reserved == 0, 4, "reserved bits", reserved, "0")?;
        let bth = Self {
            opcode,
            solicited: second & 0x80 != 0,
            migrated: second & 0x40 != 0,
            pad: second >> 4 & 3,
            partition,
            forward: pair & 1 << 31 != 0,
            backward: pair & 1 << 30 != 0,
            queue_pair: pair & LARGEST_24,
            asks: last & 1 << 31 != 0,
            psn: last & LARGEST_24,
        };
        Ok((bth, reader.rest()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// There is no room, or a value does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let pad = Unfit::check("the padding", self.pad.into(), 3)? as u8;
        let most = u64::from(LARGEST_24);
        let pair = Unfit::check("the queue pair", self.queue_pair.into(), most)? as u32;
        let psn = Unfit::check("the PSN", self.psn.into(), most)? as u32;
        let bit = |set: bool, place: u32| u32::from(set) << place;
        out.u8(self.opcode)?;
        out.u8((bit(self.solicited, 7) | bit(self.migrated, 6)) as u8 | pad << 4)?;
        out.u16(self.partition)?;
        out.u32(bit(self.forward, 31) | bit(self.backward, 30) | pair)?;
        out.u32(bit(self.asks, 31) | psn)
    }
}

/// The header of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// What is said, see [`Aeth::ACK`] and [`Aeth::NAK_SEQUENCE`].
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub message: u32,
}

impl Aeth {
    /// An ACK that says nothing of credits.
    pub const ACK: u8 = 0x1f;
    /// A NAK: a packet was missing.
    pub const NAK_SEQUENCE: u8 = 0x60;

    /// Reads it. Returns what follows.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new("AETH", bytes);
        let word = reader.u32()?;
        let aeth = Self {
            syndrome: (word >> 24) as u8,
            message: word & LARGEST_24,
        };
        Ok((aeth, reader.rest()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// There is no room, or the number does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let most = u64::from(LARGEST_24);
        let message = Unfit::check("the message number", self.message.into(), most)? as u32;
        out.u32(u32::from(self.syndrome) << 24 | message)
    }
}

/// Where a write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address.
    pub address: u64,
    /// Key of the memory (R_Key).
    pub key: u32,
    /// Bytes of the whole message.
    pub length: u32,
}

impl Reth {
    /// Reads it. Returns what follows.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut reader = Reader::new("RETH", bytes);
        let reth = Self {
            address: reader.u64()?,
            key: reader.u32()?,
            length: reader.u32()?,
        };
        Ok((reth, reader.rest()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// There is no room.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        out.u64(self.address)?;
        out.u32(self.key)?;
        out.u32(self.length)
    }
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let mut crc = n as u32;
        let mut bit = 0;
        while bit < 8 {
            let feedback = if crc & 1 == 0 { 0 } else { 0xedb8_8320 };
            crc = crc >> 1 ^ feedback;
            bit += 1;
        }
        table[n] = crc;
        n += 1;
    }
    table
};

fn crc(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, &byte| {
        CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8
    })
}

/// The invariant CRC of a packet: over what no switch may change, with ones in the place of what one may.
/// Its bytes stand in the packet lowest first.
///
/// `ip`: the header of IPv4 or IPv6; `transport`: from the BTH to the end of the payload's padding.
#[must_use]
pub fn icrc(ip: &[u8], udp: &[u8; 8], transport: &[u8]) -> u32 {
    let mut masked = [0xff; 40];
    let ip = &ip[..ip.len().min(40)];
    let places: &[usize] = match ip.first() {
        Some(byte) if byte >> 4 == 4 => &[1, 8, 10, 11],
        _ => &[1, 2, 3, 7],
    };
    masked[..ip.len()].copy_from_slice(ip);
    if places[1] == 2 {
        masked[0] |= 0x0f; // The upper half of the class.
    }
    for &at in places {
        masked[at] = 0xff;
    }
    let mut udp = *udp;
    udp[6..].fill(0xff);
    let mut state = crc(u32::MAX, &[0xff; 8]);
    state = crc(state, &masked[..ip.len()]);
    state = crc(state, &udp);
    if let Some((bth, rest)) = transport.split_first_chunk::<BTH_BYTES>() {
        let mut bth = *bth;
        bth[4] = 0xff;
        state = crc(crc(state, &bth), rest);
    }
    !state
}
