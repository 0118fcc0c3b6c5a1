//! In-band telemetry (INT) in frames, after the UDP header: in the format of the HPCC paper (§4.1,
//! Fig. 7), and as INT-MD 2.1.
//!
//! The paper places its field before the BTH. It does not define how a receiver recognises the
//! field. In Backwater the UDP port shows it: [`PAPER_PORT`] or [`MD_PORT`] replaces the port of
//! RoCEv2.

use dataplane::int::wire as paper;
use dataplane::int::{IntHop, IntStack, Layout, MAX_HOPS};

use crate::bytes::{Reader, Writer};
use crate::error::{Malformed, Unfit};

/// UDP port of a RoCEv2 packet that has the paper's telemetry before the BTH.
pub const PAPER_PORT: u16 = 49_790;
/// UDP port of a packet with INT-MD. Its shim has the original port.
pub const MD_PORT: u16 = 49_791;

/// Parses the field of the paper: number of hops, pathID, and eight bytes per hop. Also returns the
/// bytes after it.
///
/// # Errors
/// Too few bytes, or more hops than a stack can store.
pub fn parse_paper(layout: Layout, bytes: &[u8]) -> Result<(IntStack, &[u8]), Malformed> {
    let mut reader = Reader::new("INT of the paper", bytes);
    let (hops, _) = paper::split_header(reader.u16()?);
    let few = usize::from(hops) <= MAX_HOPS;
    reader.require(few, 2, "hops", hops, "8 or fewer")?;
    reader.bytes(paper::RECORD_BYTES * usize::from(hops))?;
    let stack = paper::read(layout, bytes).expect("hops and bytes were checked");
    Ok((stack, reader.rest()))
}

/// Writes the field of the paper. Values are rounded to the resolution of the format; see
/// [`Layout::encode`].
///
/// # Errors
/// The buffer is too small.
pub fn emit_paper(layout: Layout, stack: &IntStack, out: &mut Writer<'_>) -> Result<(), Unfit> {
    out.u16(paper::header(stack.hops().len() as u8, stack.path()))?;
    for hop in stack.hops() {
        out.u64(layout.encode(hop))?;
    }
    Ok(())
}

/// Fields of INT-MD 2.1 (P4.org, In-band Network Telemetry) as Backwater uses them.
pub mod md {
    /// Number of bytes of shim and header.
    pub const HEADER_BYTES: usize = 16;
    /// Number of words of the header without its shim.
    pub const HEADER_WORDS: usize = 3;
    /// Instruction bit of the egress time, 8 bytes, here in ps.
    pub const EGRESS_TIME: u16 = 1 << (15 - 5);
    /// Domain id of Backwater, "BW" in ASCII.
    pub const DOMAIN: u16 = 0x4257;
    /// Domain instruction: bytes that the port had sent, 8 bytes.
    pub const SENT_BYTES: u16 = 1 << 15;
    /// Domain instruction: bytes in the queues of the port, and its rate in 10⁶ bit/s; 4 bytes
    /// each.
    pub const QUEUE_AND_RATE: u16 = 1 << 14;
    /// Number of words of one hop with these three instructions.
    pub const HOP_WORDS: u8 = 6;
}

/// The shim and header of INT-MD over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MdHeader {
    /// UDP port that the packet had without INT.
    pub port: u16,
    /// Number of words that each hop adds.
    pub hop_words: u8,
    /// Number of hops that may still be added.
    pub hops_left: u8,
    /// Instruction bitmap, first bit on the left.
    pub instructions: u16,
    /// Domain that defines the following fields.
    pub domain: u16,
    /// Instruction bitmap of the domain.
    pub domain_instructions: u16,
    /// Flags of the domain. In Backwater's domain: XOR of the switch identifiers (pathID).
    pub domain_flags: u16,
    /// Number of words of all hops so far.
    pub stack_words: u8,
}

impl MdHeader {
    /// Parses the header. Also returns the hops, newest first, and the bytes after them.
    ///
    /// # Errors
    /// Too few bytes, another type or version, or contradictory lengths.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8], &[u8]), Malformed> {
        let mut reader = Reader::new("INT-MD", bytes);
        let kind = reader.u8()?;
        let expected = "0x14 (INT-MD after a UDP port)";
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
        from_start.require(whole, 1, "length", length, "3 words and complete hops")?;
        let stack = reader.bytes(4 * usize::from(header.stack_words))?;
        Ok((header, stack, reader.rest()))
    }

    /// Writes the header. The caller writes the hops after it.
    ///
    /// # Errors
    /// The buffer is too small, or a value does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let words = u64::from(self.stack_words) + md::HEADER_WORDS as u64;
        let words = Unfit::check("the length of INT", words, 255)? as u8;
        let hop_words = Unfit::check("the words per hop", self.hop_words.into(), 31)? as u32;
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

/// Parses INT-MD of Backwater's domain. Also returns the bytes after it.
///
/// # Errors
/// The bytes are not INT-MD, or belong to another domain.
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
        let mut reader = Reader::new("INT-MD hop", stack);
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

/// Telemetry of Backwater's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Md {
    /// UDP port of the packet without INT.
    pub port: u16,
    /// XOR of the switch identifiers.
    pub path: u16,
    hops: [IntHop; MAX_HOPS],
    count: usize,
}

impl Md {
    /// Returns the hops in the order of the path.
    #[must_use]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.count]
    }
}

/// Writes a stack as INT-MD. `growing` is true if switches add hops, and false on the way back.
///
/// # Errors
/// The buffer is too small.
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
