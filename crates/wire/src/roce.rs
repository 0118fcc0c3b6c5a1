//! RoCEv2: the transport headers of InfiniBand over UDP (InfiniBand Architecture, annex A17).

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Malformed, Unfit};

/// UDP port of RoCEv2.
pub const PORT: u16 = 4791;

/// Number of bytes of a BTH.
pub const BTH_BYTES: usize = 12;
/// Number of bytes of an iCRC.
pub const ICRC_BYTES: usize = 4;
/// Number of zero bytes after the BTH of a CNP.
pub const CNP_BYTES: usize = 16;

/// Opcodes of a BTH: RDMA writes and ACKs of reliable connections (RC), and CNP.
pub mod opcode {
    /// First packet of an RDMA write; a RETH follows.
    pub const WRITE_FIRST: u8 = 0x06;
    /// Middle packet of an RDMA write.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// Last packet of an RDMA write.
    pub const WRITE_LAST: u8 = 0x08;
    /// Only packet of an RDMA write; a RETH follows.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// Acknowledgement; an AETH follows.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Congestion notification packet (CNP); 16 zero bytes follow.
    pub const CNP: u8 = 0x81;
}

/// Largest number with 24 bits.
pub const LARGEST_24: u32 = (1 << 24) - 1;

/// The base transport header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bth {
    /// Type of the packet; see [`opcode`].
    pub opcode: u8,
    /// Solicited event (SE).
    pub solicited: bool,
    /// Migrated (M).
    pub migrated: bool,
    /// Number of zero bytes after the payload, 0 to 3, so that the payload fills 32-bit words.
    pub pad: u8,
    /// Partition key.
    pub partition: u16,
    /// Forward congestion notification (FECN): this packet experienced congestion.
    pub forward: bool,
    /// Backward congestion notification (BECN): a packet in the other direction experienced
    /// congestion.
    pub backward: bool,
    /// Queue pair of the receiver, 24 bits.
    pub queue_pair: u32,
    /// True if the sender requests an acknowledgement (AckReq).
    pub ack_requested: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Parses the header. Also returns the bytes after it.
    ///
    /// # Errors
    /// Too few bytes, a version other than 0, or reserved bits that are set.
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
            ack_requested: last & 1 << 31 != 0,
            psn: last & LARGEST_24,
        };
        Ok((bth, reader.rest()))
    }

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small, or a value does not fit.
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
        out.u32(bit(self.ack_requested, 31) | psn)
    }
}

/// The ACK extended transport header (AETH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// ACK or NAK; see [`Aeth::ACK`] and [`Aeth::NAK_SEQUENCE`].
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub message: u32,
}

impl Aeth {
    /// Syndrome of an ACK without credits.
    pub const ACK: u8 = 0x1f;
    /// Syndrome of a NAK: a packet is missing.
    pub const NAK_SEQUENCE: u8 = 0x60;

    /// Parses the header. Also returns the bytes after it.
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

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small, or the number does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let most = u64::from(LARGEST_24);
        let message = Unfit::check("the message number", self.message.into(), most)? as u32;
        out.u32(u32::from(self.syndrome) << 24 | message)
    }
}

/// The RDMA extended transport header (RETH): the target memory of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address.
    pub address: u64,
    /// Remote key of the memory (R_Key).
    pub key: u32,
    /// Number of bytes of the whole message.
    pub length: u32,
}

impl Reth {
    /// Parses the header. Also returns the bytes after it.
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

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small.
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

/// Computes the invariant CRC (iCRC) of a packet. Fields that switches may change are replaced by
/// ones. The packet carries the CRC with the lowest byte first.
///
/// `ip` is the IPv4 or IPv6 header. `transport` has the bytes from the BTH to the end of the
/// padding.
#[must_use]
pub fn icrc(ip: &[u8], udp: &[u8; 8], transport: &[u8]) -> u32 {
    let mut masked = [0xff; 40];
    let ip = &ip[..ip.len().min(40)];
    let masked_bytes: &[usize] = match ip.first() {
        Some(byte) if byte >> 4 == 4 => &[1, 8, 10, 11],
        _ => &[1, 2, 3, 7],
    };
    masked[..ip.len()].copy_from_slice(ip);
    if masked_bytes[1] == 2 {
        masked[0] |= 0x0f; // IPv6: the upper half of the traffic class
    }
    for &at in masked_bytes {
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
