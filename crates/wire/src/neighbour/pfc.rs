//! Conversion of PFC control frames of the dataplane to IEEE 802.1Qbb frames and back.

use dataplane::classes::{ClassSet, DATA_CLASS};
use dataplane::hop::pfc::{PauseClasses, PauseFor};
use dataplane::packet::{Frame, Packet};

use crate::error::Malformed;
use crate::pause::Pause;

/// Pause time of an XOFF that lasts until XON: the maximum. The neighbour ignores the duration.
pub const XOFF_QUANTA: u16 = u16::MAX;

/// Returns the IEEE 802.1Qbb frame for a control frame of the dataplane, or `None` if `packet` is
/// not a PFC frame.
#[must_use]
pub fn frame_of(packet: &Packet) -> Option<Pause> {
    let lasting = PauseClasses::read(packet);
    let lasting = lasting.map(|frame| (frame.classes, if frame.on { XOFF_QUANTA } else { 0 }));
    let timed = || PauseFor::read(packet).map(|frame| (frame.classes, frame.quanta));
    let (classes, time) = lasting.or_else(timed)?;
    // SW-03: priorities are the traffic classes of the scenario; PFC pauses no other class
    let enabled = (classes >> DATA_CLASS) as u8;
    let quanta = std::array::from_fn(|class| time * u16::from(enabled >> class & 1));
    Some(Pause::Priority { enabled, quanta })
}

/// Returns an IEEE 802.1Qbb frame as a control frame of the dataplane, whose size on the link is
/// `line_bytes`. `timed` is true if pauses expire, and false if they last until XON.
///
/// # Errors
/// A pause of 802.3x, which a PFC port ignores. A frame that pauses some classes and resumes
/// others, or pauses classes for different times: it needs several control frames of the dataplane.
pub fn record_of(pause: &Pause, timed: bool, line_bytes: u16) -> Result<Packet, Malformed> {
    let wrong = |field, found, expected| Malformed::value("pause frame", 0, field, found, expected);
    let Pause::Priority { enabled, quanta } = *pause else {
        let found = crate::pause::GLOBAL;
        return Err(wrong("opcode", found, "0x101 (PFC pause of priorities)"));
    };
    let mut all = records_of(enabled, quanta, timed, line_bytes);
    let first = all.next();
    if let Some(other) = all.next() {
        let found =
            dataplane::hop::pfc::said(&other).map_or(0, |(_, classes)| classes >> DATA_CLASS);
        let expected = "only priorities with equal pause times";
        return Err(wrong("priorities", found, expected));
    }
    let empty = PauseClasses {
        on: false,
        classes: 0,
    };
    Ok(first.unwrap_or_else(|| empty.packet(line_bytes)))
}

/// Returns the control frames of the dataplane for an IEEE 802.1Qbb frame: one for the resumed
/// priorities, and one for each different pause time. If pauses last until XON (`timed` is false),
/// all times above 0 count as equal.
pub fn records_of(
    enabled: u8,
    quanta: [u16; 8],
    timed: bool,
    line_bytes: u16,
) -> impl Iterator<Item = Packet> {
    let time_of = move |priority: usize| match quanta[priority] {
        time if timed => time,
        time => time.min(1),
    };
    let mut left = enabled;
    std::iter::from_fn(move || {
        let first = (0..8).find(|priority| left >> priority & 1 != 0)?;
        let time = time_of(first);
        let same = |nth: &usize| left >> nth & 1 != 0 && time_of(*nth) == time;
        let priorities = (0..8).filter(same).fold(0u8, |bits, nth| bits | 1 << nth);
        left &= !priorities;
        let classes = ClassSet::from(priorities) << DATA_CLASS;
        Some(match time {
            quanta if timed && quanta > 0 => PauseFor { quanta, classes }.packet(line_bytes),
            time => PauseClasses {
                on: time > 0,
                classes,
            }
            .packet(line_bytes),
        })
    })
}
