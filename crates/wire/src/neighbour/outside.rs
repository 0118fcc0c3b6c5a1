//! Bodies of the control frames of hop schemes from other crates: the four words of the frame
//! content, and the list.

use dataplane::hop::FRAME_NUMBERS;
use dataplane::packet::{Kind, Packet};

use super::{Header, List, Parsed};
use crate::bytes::{Reader, Writer};
use crate::error::Unfit;

pub(super) fn parse<'a>(header: &Header, mut body: Reader<'a>) -> Parsed<'a> {
    if !FRAME_NUMBERS.contains(&header.scheme) {
        return Ok(None);
    }
    let packet = Packet {
        flow: body.u32()?,
        psn: body.u32()?,
        hash: body.u32()?,
        dst: body.u32()?,
        upstream_queue: u16::from(header.scheme) << 8 | u16::from(header.kind),
        ..Packet::new(Kind::Hop, 0, header.line_bytes)
    };
    let words = body.bytes(4 * usize::from(header.entries))?;
    let list = match packet.has_list() {
        true => List::Words(words),
        false => List::None,
    };
    Ok(Some((packet, list)))
}

pub(super) fn emit(packet: &Packet, list: &[u32], out: &mut Writer<'_>) -> Result<bool, Unfit> {
    let scheme = packet
        .scheme()
        .filter(|number| FRAME_NUMBERS.contains(number));
    let Some(scheme) = scheme else {
        return Ok(false);
    };
    let entries = list.len() as u64;
    let header = Header {
        scheme,
        kind: packet.upstream_queue as u8,
        on: false,
        line_bytes: packet.size,
        entries: Unfit::check("the length of the list", entries, u16::MAX.into())? as u16,
    };
    header.emit(out)?;
    let words = [packet.flow, packet.psn, packet.hash, packet.dst];
    for word in words.iter().chain(list) {
        out.u32(*word)?;
    }
    Ok(true)
}
