//! Bodies of Floodgate control frames: credits, requests and pauses of destinations.

use dataplane::hop::floodgate::{Credit, Credits, PauseDestination, SwitchSyn};
use dataplane::packet::{Frame, Packet};

use super::{Header, List, Parsed};
use crate::bytes::{Reader, Writer};
use crate::error::Unfit;

const CREDIT: u8 = 0;
const CREDITS: u8 = 1;
const SWITCH_SYN: u8 = 2;
const PAUSE_DESTINATION: u8 = 3;

/// Number of 32-bit words of one credit in a list: destination, units, sequence number.
const ENTRY_WORDS: usize = 3;

pub(super) fn parse<'a>(header: &Header, mut body: Reader<'a>) -> Parsed<'a> {
    let bytes = header.line_bytes;
    Ok(Some(match header.kind {
        CREDIT => {
            let frame = Credit {
                dst: body.u32()?,
                units: body.u32()?,
                number: body.u32()?,
            };
            (frame.packet(bytes), List::None)
        }
        CREDITS => {
            let words = body.bytes(4 * ENTRY_WORDS * usize::from(header.entries))?;
            (Credits.packet(bytes), List::Words(words))
        }
        SWITCH_SYN => {
            let frame = SwitchSyn {
                dst: body.u32()?,
                number: body.u32()?,
            };
            (frame.packet(bytes), List::None)
        }
        PAUSE_DESTINATION => {
            let frame = PauseDestination {
                on: header.on,
                dst: body.u32()?,
            };
            (frame.packet(bytes), List::None)
        }
        _ => return Ok(None),
    }))
}

pub(super) fn emit(
    scheme: u8,
    packet: &Packet,
    list: &[u32],
    out: &mut Writer<'_>,
) -> Result<bool, Unfit> {
    let header = |kind, on, entries| Header {
        scheme,
        kind,
        on,
        line_bytes: packet.size,
        entries,
    };
    if let Some(frame) = Credit::read(packet) {
        header(CREDIT, false, 0).emit(out)?;
        out.u32(frame.dst)?;
        out.u32(frame.units)?;
        out.u32(frame.number)?;
    } else if Credits::read(packet).is_some() {
        let entries = (list.len() / ENTRY_WORDS) as u64;
        let entries = Unfit::check("the number of credits", entries, u16::MAX.into())? as u16;
        header(CREDITS, false, entries).emit(out)?;
        for word in &list[..ENTRY_WORDS * usize::from(entries)] {
            out.u32(*word)?;
        }
    } else if let Some(frame) = SwitchSyn::read(packet) {
        header(SWITCH_SYN, false, 0).emit(out)?;
        out.u32(frame.dst)?;
        out.u32(frame.number)?;
    } else if let Some(frame) = PauseDestination::read(packet) {
        header(PAUSE_DESTINATION, frame.on, 0).emit(out)?;
        out.u32(frame.dst)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}
