//! Control frames between neighbours and their encoding in the fields of a [`Packet`].
//!
//! A hop scheme (`hop/`) defines its frames as types with named fields. Each type implements
//! [`Frame`], which assigns its fields to the four words below. Only this type can decode its
//! frames. Frames have class 0 and no flags, and switches do not forward them. Content that does
//! not fit the words, such as a bitmap, is stored in a list
//! ([`Arena::set_list`](super::Arena::set_list)).
//!
//! | fields of the packet | in a control frame |
//! |---|---|
//! | `flow`, `psn`, `hash`, `dst` | the words of [`Words`] |
//! | `upstream_queue` | type of the frame: scheme, number, properties |
//! | `ingress`, `location`, `next` | no content of the frame; used by the current node as for all packets |
//!
//! The digest of a run (a checksum of all arrivals) includes `flow` and `psn` of each frame. Frames
//! of one type with different meaning should differ in these words.

use super::{Kind, Packet};

/// ID of a hop scheme in its control frames: its position in the list of `hop/`, or 16 to 31 for a
/// scheme of another crate.
pub type SchemeNumber = u8;

/// Set of hop schemes, as a bit set of their IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeSet(u32);

impl SchemeSet {
    /// Set of all schemes.
    pub const ALL: Self = Self(u32::MAX);

    /// Returns the set without one scheme.
    #[must_use]
    pub const fn without(self, scheme: SchemeNumber) -> Self {
        Self(self.0 & !(1 << scheme))
    }

    /// Returns true if the set contains a scheme.
    #[must_use]
    pub const fn contains(self, scheme: SchemeNumber) -> bool {
        scheme < u32::BITS as SchemeNumber && self.0 >> scheme & 1 != 0
    }
}

/// Content of a control frame: four 32-bit words. The type of the frame defines their meaning.
/// Unused words have the values of [`Words::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// A flow ID, or [`u32::MAX`].
    pub flow: u32,
    /// A number, or 1 for a pause and 0 for a resume.
    pub number: u32,
    /// A value that the type of the frame defines.
    pub other: u32,
    /// Index of an endpoint, or [`u32::MAX`].
    pub endpoint: u32,
}

impl Words {
    /// Words of a control frame without content.
    pub const NONE: Self = Self {
        flow: u32::MAX,
        number: 0,
        other: 0,
        endpoint: u32::MAX,
    };
}

/// Property bits of [`Frame::IDENTITY`]. They lie between the scheme (upper eight bits) and the
/// number of the frame type (lowest four bits).
mod property {
    pub const LISTED: u16 = 1 << 4;
    pub const CREDIT: u16 = 1 << 5;
    pub const IDLE: u16 = 1 << 6;
    pub const CONTROL_SET: u16 = 1 << 7;
}

/// A control frame between neighbours. Each frame of a hop scheme has its own type.
pub trait Frame: Sized {
    /// ID of the hop scheme of the frame.
    const SCHEME: SchemeNumber;
    /// Number of the frame type in its scheme, 0 to 15.
    const NUMBER: u8;
    /// True if the frame has a list of numbers in addition to its words.
    const LISTED: bool = false;
    /// True if the frame permits its receiver to send. The bytes of such frames are counted
    /// separately.
    const CREDIT: bool = false;
    /// True if the frame is also sent when no packet moves, so that it is not a sign of progress.
    const IDLE: bool = false;
    /// True for a control ordered set of the link. The link-level retry does not number it like a
    /// frame.
    const CONTROL_SET: bool = false;

    /// Encodes the content of the frame in four words.
    fn words(&self) -> Words;

    /// Decodes the words that [`Frame::words`] returned.
    fn from_words(words: Words) -> Self;

    /// Type of the frame (scheme, number, properties), as stored in `Packet::upstream_queue`.
    const IDENTITY: u16 = ((Self::SCHEME as u16) << 8)
        | Self::NUMBER as u16
        | (property::LISTED * Self::LISTED as u16)
        | (property::CREDIT * Self::CREDIT as u16)
        | (property::IDLE * Self::IDLE as u16)
        | (property::CONTROL_SET * Self::CONTROL_SET as u16);

    /// Returns the frame as a packet with this many bytes on the wire.
    fn packet(&self, bytes: u16) -> Packet {
        let words = self.words();
        Packet {
            flow: words.flow,
            psn: words.number,
            hash: words.other,
            dst: words.endpoint,
            upstream_queue: Self::IDENTITY,
            ..Packet::new(Kind::Hop, 0, bytes)
        }
    }

    /// Decodes a packet as a frame of this type. Returns `None` for other frames and packets.
    #[inline]
    fn read(packet: &Packet) -> Option<Self> {
        let is_it = packet.is_frame() && packet.upstream_queue == Self::IDENTITY;
        is_it.then(|| {
            Self::from_words(Words {
                flow: packet.flow,
                number: packet.psn,
                other: packet.hash,
                endpoint: packet.dst,
            })
        })
    }
}

impl Packet {
    /// Returns true for a control frame between two neighbours, which switches do not forward.
    #[inline]
    #[must_use]
    pub const fn is_frame(&self) -> bool {
        self.tag & 15 == Kind::Hop as u8
    }

    const fn has_property(&self, bit: u16) -> bool {
        self.is_frame() && self.upstream_queue & bit != 0
    }

    /// Returns the ID of the hop scheme of a control frame, or `None` for other packets.
    #[inline]
    #[must_use]
    pub const fn scheme(&self) -> Option<SchemeNumber> {
        if self.is_frame() {
            Some((self.upstream_queue >> 8) as SchemeNumber)
        } else {
            None
        }
    }

    /// Returns true for a control frame with a list, see [`Frame::LISTED`].
    #[inline]
    #[must_use]
    pub const fn has_list(&self) -> bool {
        self.has_property(property::LISTED)
    }

    /// Returns true for a frame that permits its receiver to send, see [`Frame::CREDIT`].
    #[inline]
    #[must_use]
    pub const fn is_credit(&self) -> bool {
        self.has_property(property::CREDIT)
    }

    /// Returns true for a control ordered set of a link, see [`Frame::CONTROL_SET`].
    #[inline]
    #[must_use]
    pub const fn is_control_set(&self) -> bool {
        self.has_property(property::CONTROL_SET)
    }

    /// Returns true if the arrival of the packet shows progress of the run, see [`Frame::IDLE`].
    #[inline]
    #[must_use]
    pub const fn is_progress(&self) -> bool {
        !self.has_property(property::IDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Stop {
        endpoint: u32,
        on: bool,
    }

    impl Frame for Stop {
        const SCHEME: SchemeNumber = 3;
        const NUMBER: u8 = 2;

        fn words(&self) -> Words {
            Words {
                endpoint: self.endpoint,
                number: self.on.into(),
                ..Words::NONE
            }
        }

        fn from_words(words: Words) -> Self {
            Self {
                endpoint: words.endpoint,
                on: words.number != 0,
            }
        }
    }

    #[derive(Debug, PartialEq)]
    struct All;

    impl Frame for All {
        const SCHEME: SchemeNumber = 3;
        const NUMBER: u8 = 1;
        const LISTED: bool = true;
        const IDLE: bool = true;

        fn words(&self) -> Words {
            Words::NONE
        }

        fn from_words(_: Words) -> Self {
            Self
        }
    }

    #[test]
    fn a_frame_is_read_as_what_it_was_and_as_nothing_else() {
        let stop = Stop {
            endpoint: 7,
            on: true,
        };
        let packet = stop.packet(64);
        assert_eq!(Stop::read(&packet), Some(stop));
        assert_eq!(All::read(&packet), None);
        assert_eq!(Stop::read(&Packet { tag: 0, ..packet }), None, "data");
        let seen = (packet.scheme(), packet.size, packet.class(), packet.flags);
        assert_eq!(seen, (Some(3), 64, 0, 0));
        assert!(!packet.has_list() && packet.is_progress() && !packet.is_credit());
        let all = All.packet(128);
        assert!(all.has_list() && !all.is_progress());
    }

    #[test]
    fn a_set_of_schemes_has_none_that_nobody_knows() {
        let set = SchemeSet::ALL.without(3);
        assert!(set.contains(2) && !set.contains(3) && !set.contains(200));
    }

    #[test]
    fn the_same_words_in_a_packet_are_no_frame() {
        let packet = Packet {
            upstream_queue: All::IDENTITY,
            ..Packet::new(Kind::Data, 2, 1048)
        };
        assert!(!packet.is_frame() && !packet.has_list() && packet.is_progress());
        assert_eq!(packet.scheme(), None);
    }
}
