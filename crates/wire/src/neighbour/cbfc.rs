//! Bodies of the control frames of credit-based flow control (CBFC).

use dataplane::classes::{DATA_CLASS, TRAFFIC_CLASSES, traffic_class};
use dataplane::link::cbfc::{CreditsConsumed, CreditsFreed};
use dataplane::packet::{Frame, Packet};

use super::{Header, List, Parsed};
use crate::bytes::{Fields, Reader, Writer};
use crate::error::Unfit;

const FREED: u8 = 0;
const CONSUMED: u8 = 1;

pub(super) fn parse<'a>(header: &Header, mut body: Reader<'a>) -> Parsed<'a> {
    if header.kind > CONSUMED {
        return Ok(None);
    }
    let traffic = body.u8()?;
    let expected = "a traffic class from 0 to 7";
    body.require(
        usize::from(traffic) < TRAFFIC_CLASSES,
        1,
        "class",
        traffic,
        expected,
    )?;
    let class = DATA_CLASS + traffic;
    let credits = body.u8()?;
    let credits = u32::from(credits) << 16 | u32::from(body.u16()?);
    let packet = match header.kind {
        FREED => CreditsFreed { class, credits }.packet(header.line_bytes),
        _ => CreditsConsumed { class, credits }.packet(header.line_bytes),
    };
    Ok(Some((packet, List::None)))
}

pub(super) fn emit(
    scheme: u8,
    packet: &Packet,
    _list: &[u32],
    out: &mut Writer<'_>,
) -> Result<bool, Unfit> {
    let freed = CreditsFreed::read(packet).map(|frame| (FREED, frame.class, frame.credits));
    let consumed =
        CreditsConsumed::read(packet).map(|frame| (CONSUMED, frame.class, frame.credits));
    let Some((kind, class, credits)) = freed.or(consumed) else {
        return Ok(false);
    };
    let credits = Unfit::check("a count of credits", credits.into(), (1 << 24) - 1)? as u32;
    let header = Header {
        scheme,
        kind,
        on: false,
        line_bytes: packet.size,
        entries: 0,
    };
    header.emit(out)?;
    // SW-03: frames carry the traffic classes of the scenario
    let traffic = traffic_class(class).unwrap_or(u8::MAX);
    out.u32(u32::from(traffic) << 24 | credits)?;
    Ok(true)
}
