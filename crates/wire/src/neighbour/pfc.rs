//! Pauses of classes as PFC has them: the frames of the standard, from XOFF until XON.

use dataplane::hop::pfc::PauseClasses;
use dataplane::packet::{Frame, Packet};

use crate::error::{Fault, Malformed};
use crate::pause::Pause;

/// Pause time of XOFF: the longest. The neighbour does not count it down, it waits for XON.
pub const XOFF_QUANTA: u16 = u16::MAX;

/// The frame that a record stands for; `None`: another frame.
#[must_use]
pub fn frame_of(packet: &Packet) -> Option<Pause> {
    let said = PauseClasses::read(packet)?;
    let time = if said.on { XOFF_QUANTA } else { 0 };
    let quanta = std::array::from_fn(|class| time * u16::from(said.classes >> class & 1));
    Some(Pause::Priority {
        enabled: said.classes,
        quanta,
    })
}

/// The record of a frame that takes this many bytes on its link.
///
/// # Errors
/// A pause of 802.3x, which a PFC port ignores; a frame that pauses some classes and resumes others, which
/// one record cannot say.
pub fn record_of(pause: &Pause, line_bytes: u16) -> Result<Packet, Malformed> {
    let wrong = |field, found, expected| Malformed {
        header: "pause frame",
        at: 0,
        fault: Fault::Value {
            field,
            found,
            expected,
        },
    };
    let Pause::Priority { enabled, quanta } = *pause else {
        let found = crate::pause::GLOBAL.into();
        return Err(wrong("opcode", found, "0x101: a pause of priorities"));
    };
    let times = |on: bool| {
        (0..8)
            .filter(move |class| enabled >> class & 1 != 0 && (quanta[*class] != 0) == on)
            .fold(0u8, |bits, class| bits | 1 << class)
    };
    let (held, resumed) = (times(true), times(false));
    if held != 0 && resumed != 0 {
        let found = u64::from(resumed);
        return Err(wrong(
            "resumed priorities",
            found,
            "none beside paused ones",
        ));
    }
    let said = PauseClasses {
        on: held != 0,
        classes: enabled,
    };
    Ok(said.packet(line_bytes))
}
