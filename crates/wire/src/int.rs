//! In-band telemetry (INT) in frames, after the UDP header: in the format of the HPCC paper (§4.1,
//! Fig. 7), and as INT-MD 2.1.
//!
//! The HPCC paper places the INT field before the BTH, but does not define how a receiver detects
//! it. In Backwater the UDP port identifies the format: [`PAPER_PORT`] or [`MD_PORT`] replaces the
//! port of RoCEv2.

use dataplane::int::wire as paper;
use dataplane::int::{IntHop, IntStack, Layout, MAX_HOPS};

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Malformed, Unfit};

/// UDP port of a RoCEv2 packet with INT in the format of the HPCC paper before the BTH.
pub const PAPER_PORT: u16 = 49_790;
/// UDP port of a packet with INT-MD. The INT-MD shim contains the original UDP port.
pub const MD_PORT: u16 = 49_791;

/// Parses an INT field in the format of the HPCC paper: number of hops, pathID, and eight bytes per
/// hop. Also returns the bytes after it.
///
/// # Errors
/// Too few bytes, or more than [`MAX_HOPS`] hops.
pub fn parse_paper(layout: Layout, bytes: &[u8]) -> Result<(IntStack, &[u8]), Malformed> {
    let mut reader = Reader::new("INT of the paper", bytes);
    let (hops, _) = paper::split_header(reader.u16()?);
    let few = usize::from(hops) <= MAX_HOPS;
    reader.require(few, 2, "hops", hops, "8 or fewer")?;
    reader.bytes(paper::RECORD_BYTES * usize::from(hops))?;
    let stack = paper::read(layout, bytes).expect("hops and bytes were checked");
    Ok((stack, reader.rest()))
}

/// Writes an INT field in the format of the HPCC paper. Values are rounded to the resolution of the
/// format; see [`Layout::encode`].
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
mod md {
    /// Type in the shim header: INT-MD, with the original UDP port in the shim.
    pub const TYPE: u8 = 0x14;
    /// Number of 32-bit words of the INT-MD header, without the shim.
    pub const HEADER_WORDS: usize = 3;
    /// Instruction bit for the egress time stamp (8 bytes), which Backwater writes in ps.
    pub const EGRESS_TIME: u16 = 1 << (15 - 5);
    /// Domain ID of Backwater, "BW" in ASCII.
    pub const DOMAIN: u16 = 0x4257;
    /// Domain instruction: counter of bytes sent by the port (8 bytes).
    pub const SENT_BYTES: u16 = 1 << 15;
    /// Domain instruction: bytes in the queues of the port (4 bytes), and its rate in 10⁶ bit/s
    /// (4 bytes).
    pub const QUEUE_AND_RATE: u16 = 1 << 14;
    /// Number of 32-bit words of one hop with these three instructions.
    pub const HOP_WORDS: usize = 6;
}

/// Parses INT-MD of Backwater's domain: shim, header, and hops (last hop first). Returns the
/// original UDP port of the packet, the INT stack, and the bytes after INT-MD.
///
/// # Errors
/// Too few bytes, another type, version or domain, or contradictory lengths.
pub fn parse_md(bytes: &[u8]) -> Result<(u16, IntStack, &[u8]), Malformed> {
    let mut reader = Reader::new("INT-MD", bytes);
    let kind = reader.u8()?;
    let expected = "0x14 (INT-MD after a UDP port)";
    reader.require(kind & 0xfc == md::TYPE, 1, "type", kind, expected)?;
    let words = usize::from(reader.u8()?);
    let stack_words = words.checked_sub(md::HEADER_WORDS);
    let count = stack_words.filter(|words| words.is_multiple_of(md::HOP_WORDS));
    let count = count.map_or(usize::MAX, |words| words / md::HOP_WORDS);
    let expected = "3 words, and 6 for each of at most 8 hops";
    reader.require(
        count <= MAX_HOPS,
        1,
        "length in words",
        words as u64,
        expected,
    )?;
    let port = reader.u16()?;
    let first = reader.u32()?;
    reader.require(first >> 28 == 2, 4, "version", first >> 28, "2")?;
    let hop_words = first >> 8 & 31;
    reader.require(
        hop_words == md::HOP_WORDS as u32,
        4,
        "words per hop",
        hop_words,
        "6",
    )?;
    let expected = "egress time, and bytes, queue and rate of domain 0x4257";
    for own in [
        md::EGRESS_TIME,
        md::DOMAIN,
        md::SENT_BYTES | md::QUEUE_AND_RATE,
    ] {
        let found = reader.u16()?;
        reader.require(found == own, 2, "instructions", found, expected)?;
    }
    let path = reader.u16()?;
    let mut hops = [IntHop::default(); MAX_HOPS];
    for hop in hops[..count].iter_mut().rev() {
        *hop = IntHop {
            ts_ps: reader.u64()?,
            tx_bytes: reader.u64()?,
            qlen_bytes: reader.u32()?,
            rate_mbps: reader.u32()?,
        };
    }
    Ok((port, IntStack::new(path, &hops[..count]), reader.rest()))
}

/// Writes an INT stack as INT-MD. `port` is the original UDP port of the packet. `growing` is true
/// if switches add hops (data), and false on the return path (ACKs). The domain flags contain the
/// pathID.
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
    let hops_left = if growing { MAX_HOPS - hops.len() } else { 0 };
    out.u8(md::TYPE)?;
    out.u8((md::HEADER_WORDS + md::HOP_WORDS * hops.len()) as u8)?;
    out.u16(port)?;
    out.u32(2 << 28 | (md::HOP_WORDS << 8 | hops_left) as u32)?;
    out.u16(md::EGRESS_TIME)?;
    out.u16(md::DOMAIN)?;
    out.u16(md::SENT_BYTES | md::QUEUE_AND_RATE)?;
    out.u16(stack.path())?;
    for hop in hops.iter().rev() {
        out.u64(hop.ts_ps)?;
        out.u64(hop.tx_bytes)?;
        out.u32(hop.qlen_bytes)?;
        out.u32(hop.rate_mbps)?;
    }
    Ok(())
}
