//! Telemetry (INT) in frames, behind UDP: in the form of the HPCC paper (§4.1, Fig. 7), and as INT-MD 2.1.
//!
//! The paper says where its field stands, in front of the BTH, but not how a receiver knows that it is there.
//! Here UDP's port does, [`PAPER_PORT`] or [`MD_PORT`] instead of RoCEv2's.

use dataplane::int::wire as paper;
use dataplane::int::{IntHop, IntStack, Layout, MAX_HOPS};

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// Port of UDP of a RoCEv2 packet with the paper's telemetry in front of the BTH.
pub const PAPER_PORT: u16 = 49_790;
/// Port of UDP of a packet with INT-MD, of which the shim says whose it is.
pub const MD_PORT: u16 = 49_791;

/// Reads the paper's field: number of hops and pathID, and eight bytes for each hop. Returns what follows.
///
/// # Errors
/// Too few bytes, or more hops than a stack holds.
pub fn parse_paper(layout: Layout, bytes: &[u8]) -> Result<(IntStack, &[u8]), Malformed> {
    let mut reader = Reader::new("INT of the paper", bytes);
    let (hops, _) = paper::split_header(reader.u16()?);
    let few = usize::from(hops) <= MAX_HOPS;
    reader.require(few, 2, "hops", hops, "8 or fewer")?;
    reader.bytes(paper::RECORD_BYTES * usize::from(hops))?;
    let stack = paper::read(layout, bytes).expect("it has few hops, and all their bytes");
    Ok((stack, reader.rest()))
}

/// Writes the paper's field. What a record of 8 bytes cannot say exactly is rounded, see [`Layout::encode`].
///
/// # Errors
/// There is no room.
pub fn emit_paper(layout: Layout, stack: &IntStack, out: &mut Writer<'_>) -> Result<(), Unfit> {
    out.u16(paper::header(stack.hops().len() as u8, stack.path()))?;
    for hop in stack.hops() {
        out.u64(layout.encode(hop))?;
    }
    Ok(())
}

/// Headers of INT-MD 2.1 (P4.org, In-band Network Telemetry), and their meaning in our domain.
pub mod md {
    /// Bytes of shim and header.
    pub const HEADER_BYTES: usize = 16;
    /// Words of the header without its shim.
    pub const HEADER_WORDS: usize = 3;
    /// The time at which a packet left, 8 bytes: here in ps.
    pub const EGRESS_TIME: u16 = 1 << (15 - 5);
    /// Our domain: "BW".
    pub const DOMAIN: u16 = 0x4257;
    /// Of our domain: bytes that the port had sent, 8 bytes.
    pub const SENT_BYTES: u16 = 1 << 15;
    /// Of our domain: bytes that stay in its queues, and its rate in 10⁶ bit/s; 4 bytes each.
    pub const QUEUE_AND_RATE: u16 = 1 << 14;
    /// Words of one hop with these three.
    pub const HOP_WORDS: u8 = 6;
}

/// Shim and header of INT-MD over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdHeader {
    /// Port of UDP that the packet had without INT.
    pub port: u16,
    /// Words that each hop adds.
    pub hop_words: u8,
    /// Hops that may still be added.
    pub hops_left: u8,
    /// What each hop adds, the first bit on the left.
    pub instructions: u16,
    /// Whose are the following.
    pub domain: u16,
    /// What each hop adds by the rules of the domain.
    pub domain_instructions: u16,
    /// Flags of the domain. In ours: XOR of the switches' identifiers (pathID).
    pub domain_flags: u16,
    /// Words of all hops so far.
    pub stack_words: u8,
}

impl MdHeader {
    /// Reads it. Returns the hops, newest first, and what follows.
    ///
    /// # Errors
    /// Too few bytes, another type or version, or lengths that do not go together.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8], &[u8]), Malformed> {
        let mut reader = Reader::new("INT-MD", bytes);
        let kind = reader.u8()?;
        let expected = "0x14 (INT-MD behind a port of UDP)";
        reader.require(kind & 0xfc == 0x14, 1, "type", kind, expected)?;
        let words = reader.u8()?;
        let port = reader.u16()?;
        let first = reader.u32()?;
        reader.require(first >> 28 == 2, 4, "version", first >> 28, "2")?;
        let hop_words = (first >> 8 & 31) as u8;
        let header = Self {
            port,
            hop_words,
            hops_left: first as u8,
            instructions: reader.u16()?,
            domain: reader.u16()?,
            domain_instructions: reader.u16()?,
            domain_flags: reader.u16()?,
            stack_words: words.saturating_sub(md::HEADER_WORDS as u8),
        };
        let whole = usize::from(words) >= md::HEADER_WORDS
            && (header.stack_words == 0
                || hop_words > 0 && header.stack_words.is_multiple_of(hop_words));
        let length = u64::from(words);
        let mut from_start = Reader::new("INT-MD", bytes);
        from_start.bytes(2)?;
        from_start.require(whole, 1, "length", length, "3 words and whole hops")?;
        let stack = reader.bytes(4 * usize::from(header.stack_words))?;
        Ok((header, stack, reader.rest()))
    }

    /// Writes it; the hops follow.
    ///
    /// # Errors
    /// There is no room, or a value does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let words = u64::from(self.stack_words) + md::HEADER_WORDS as u64;
        let words = Unfit::check("the length of INT", words, 255)? as u8;
        let hop_words = Unfit::check("the words of a hop", self.hop_words.into(), 31)? as u32;
        out.u8(0x14)?;
        out.u8(words)?;
        out.u16(self.port)?;
        out.u32(2 << 28 | hop_words << 8 | u32::from(self.hops_left))?;
        out.u16(self.instructions)?;
        out.u16(self.domain)?;
        out.u16(self.domain_instructions)?;
        out.u16(self.domain_flags)
    }
}

/// Reads telemetry of our domain as INT-MD: its stack, the port without INT, and what follows.
///
/// # Errors
/// No INT-MD, or that of others.
pub fn parse_md(bytes: &[u8]) -> Result<(Md, &[u8]), Malformed> {
    let (header, mut stack, rest) = MdHeader::parse(bytes)?;
    let mut reader = Reader::new("INT-MD", bytes);
    reader.bytes(10)?;
    let ours = header.domain == md::DOMAIN
        && header.instructions == md::EGRESS_TIME
        && header.domain_instructions == md::SENT_BYTES | md::QUEUE_AND_RATE
        && (header.hop_words == md::HOP_WORDS);
    let found = header.instructions;
    let expected = "egress time, and bytes, queue and rate of domain 0x4257";
    reader.require(ours, 2, "instructions", found, expected)?;
    let count = stack.len() / (4 * usize::from(md::HOP_WORDS));
    let few = count <= MAX_HOPS;
    reader.require(few, 2, "hops", count as u64, "8 or fewer")?;
    let mut hops = [IntHop::default(); MAX_HOPS];
    for hop in hops[..count].iter_mut().rev() {
        let mut reader = Reader::new("hop of INT-MD", stack);
        *hop = IntHop {
            ts_ps: reader.u64()?,
            tx_bytes: reader.u64()?,
            qlen_bytes: reader.u32()?,
            rate_mbps: reader.u32()?,
        };
        stack = reader.rest();
    }
    let md = Md {
        port: header.port,
        path: header.domain_flags,
        hops,
        count,
    };
    Ok((md, rest))
}

/// Telemetry of our domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md {
    /// Port of UDP without INT.
    pub port: u16,
    /// XOR of the switches' identifiers.
    pub path: u16,
    hops: [IntHop; MAX_HOPS],
    count: usize,
}

impl Md {
    /// The hops in the order of the path.
    #[must_use]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.count]
    }
}

/// Writes a stack as INT-MD. `growing`: switches add to it; else it is on its way back.
///
/// # Errors
/// There is no room.
pub fn emit_md(
    port: u16,
    growing: bool,
    stack: &IntStack,
    out: &mut Writer<'_>,
) -> Result<(), Unfit> {
    let hops = stack.hops();
    let header = MdHeader {
        port,
        hop_words: md::HOP_WORDS,
        hops_left: if growing {
            (MAX_HOPS - hops.len()) as u8
        } else {
            0
        },
        instructions: md::EGRESS_TIME,
        domain: md::DOMAIN,
        domain_instructions: md::SENT_BYTES | md::QUEUE_AND_RATE,
        domain_flags: stack.path(),
        stack_words: md::HOP_WORDS * hops.len() as u8,
    };
    header.emit(out)?;
    for hop in hops.iter().rev() {
        out.u64(hop.ts_ps)?;
        out.u64(hop.tx_bytes)?;
        out.u32(hop.qlen_bytes)?;
        out.u32(hop.rate_mbps)?;
    }
    Ok(())
}
