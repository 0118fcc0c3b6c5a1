//! Bodies of BFC control frames: pauses of queues, of flows, and bitmaps.

use dataplane::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use dataplane::packet::{Frame, Packet};

use super::{Header, List, Parsed};
use crate::bytes::{Fields, Reader, Writer};
use crate::error::Unfit;

const QUEUE: u8 = 0;
const FLOW: u8 = 1;
const BITMAP: u8 = 2;

/// Maximum length of a bitmap of paused queues in bytes: one bit for each 16-bit queue number.
const MOST_BITMAP_BYTES: u16 = 1 << 13;

pub(super) fn parse<'a>(header: &Header, mut body: Reader<'a>) -> Parsed<'a> {
    let (on, bytes) = (header.on, header.line_bytes);
    Ok(Some(match header.kind {
        QUEUE => {
            let queue = body.u16()?;
            (PauseQueue { on, queue }.packet(bytes), List::None)
        }
        FLOW => {
            let queue = body.u16()?;
            body.u16()?;
            let flow = body.u32()?;
            (PauseFlow { on, flow, queue }.packet(bytes), List::None)
        }
        BITMAP => {
            let most = header.entries <= MOST_BITMAP_BYTES;
            body.require(
                most,
                2,
                "bytes of the bitmap",
                header.entries,
                "8192 or fewer",
            )?;
            let bits = body.bytes(header.entries.into())?;
            (Bitmap.packet(bytes), List::Bits(bits))
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
    if let Some(frame) = PauseQueue::read(packet) {
        header(QUEUE, frame.on, 0).emit(out)?;
        out.u16(frame.queue)?;
    } else if let Some(frame) = PauseFlow::read(packet) {
        header(FLOW, frame.on, 0).emit(out)?;
        out.u16(frame.queue)?;
        out.u16(0)?;
        out.u32(frame.flow)?;
    } else if Bitmap::read(packet).is_some() {
        let highest = list.iter().max().copied().unwrap_or(0);
        Unfit::check("the number of a queue", highest.into(), u16::MAX.into())?;
        let bytes = if list.is_empty() { 0 } else { highest / 8 + 1 };
        header(BITMAP, false, bytes as u16).emit(out)?;
        let bits = out.reserve(bytes as usize)?;
        bits.fill(0);
        for queue in list {
            bits[*queue as usize / 8] |= 1 << (queue % 8);
        }
    } else {
        return Ok(false);
    }
    Ok(true)
}
