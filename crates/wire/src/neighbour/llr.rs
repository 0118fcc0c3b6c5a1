//! Bodies of the control frames of link-level retry (LLR).

use dataplane::link::llr::{Ack, Nack};
use dataplane::packet::{Frame, Packet};

use super::{Header, List, Parsed};
use crate::bytes::{Reader, Writer};
use crate::error::Unfit;

const ACK: u8 = 0;
const NACK: u8 = 1;

pub(super) fn parse<'a>(header: &Header, mut body: Reader<'a>) -> Parsed<'a> {
    if header.kind > NACK {
        return Ok(None);
    }
    let number = body.u32()?;
    let packet = match header.kind {
        ACK => Ack { number }.packet(header.line_bytes),
        _ => Nack { number }.packet(header.line_bytes),
    };
    Ok(Some((packet, List::None)))
}

pub(super) fn emit(
    scheme: u8,
    packet: &Packet,
    _list: &[u32],
    out: &mut Writer<'_>,
) -> Result<bool, Unfit> {
    let ack = Ack::read(packet).map(|ack| (ACK, ack.number));
    let nack = Nack::read(packet).map(|nack| (NACK, nack.number));
    let Some((kind, number)) = ack.or(nack) else {
        return Ok(false);
    };
    let header = Header {
        scheme,
        kind,
        on: false,
        line_bytes: packet.size,
        entries: 0,
    };
    header.emit(out)?;
    out.u32(number)?;
    Ok(true)
}
