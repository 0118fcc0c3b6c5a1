//! Frames between neighbours: how they lie in a packet's record.
//!
//! A hop scheme (`hop/`) defines its frames as types with named fields, and says for each by
//! [`Frame`] which of the four words below holds which field. No other place knows. Frames have the
//! class 0 and no flags, and no switch forwards them. What fits no word, such as a bitmap, is a list
//! beside the record ([`Arena::set_list`](super::Arena::set_list)).
//!
//! | part of the record | in a frame |
//! |---|---|
//! | `flow`, `psn`, `hash`, `dst` | the words of [`Words`] |
//! | `upstream_queue` | which frame it is: scheme, number, properties |
//! | `ingress`, `queue`, `next` | nothing; as with all packets they belong to the node that holds it |
//!
//! The digest of a run takes `flow` and `psn` of each frame, so that two frames of one kind that differ
//! for their receiver should differ there.

use super::{Kind, Packet};

/// Number of a hop scheme: its place in the list of `hop/`.
pub type SchemeNumber = u8;

/// A set of hop schemes, of those with numbers below 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeSet(u32);

impl SchemeSet {
    /// All of them.
    pub const ALL: Self = Self(u32::MAX);

    /// The set without one.
    #[must_use]
    pub const fn without(self, scheme: SchemeNumber) -> Self {
        Self(self.0 & !(1 << scheme))
    }

    /// Whether a scheme is in it.
    #[must_use]
    pub const fn contains(self, scheme: SchemeNumber) -> bool {
        scheme < u32::BITS as SchemeNumber && self.0 >> scheme & 1 != 0
    }
}

/// What a frame holds: four words that its type gives a meaning. Those that it does not use keep the
/// values of [`Words::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// A flow, or [`u32::MAX`].
    pub flow: u32,
    /// A number, or 1 for a pause and 0 for its end.
    pub number: u32,
    /// Anything else.
    pub other: u32,
    /// An endpoint, or [`u32::MAX`].
    pub endpoint: u32,
}

impl Words {
    /// Of a frame that says nothing but what it is.
    pub const NONE: Self = Self {
        flow: u32::MAX,
        number: 0,
        other: 0,
        endpoint: u32::MAX,
    };
}

/// Bits of a frame's identity besides its scheme (upper half) and its number (lowest four bits).
mod property {
    pub const LISTED: u16 = 1 << 4;
    pub const CREDIT: u16 = 1 << 5;
    pub const IDLE: u16 = 1 << 6;
    pub const CONTROL_SET: u16 = 1 << 7;
}

/// A frame between neighbours. One type for each frame of each hop scheme.
pub trait Frame: Sized {
    /// The scheme whose frame it is.
    const SCHEME: SchemeNumber;
    /// Which of the scheme's frames, 0 to 15.
    const NUMBER: u8;
    /// A list lies beside the record.
    const LISTED: bool = false;
    /// It lets the receiver send; its bytes are counted apart.
    const CREDIT: bool = false;
    /// It is also sent where no packet moves, so that it says nothing about the progress of a run.
    const IDLE: bool = false;
    /// It is a control ordered set of the link, which is no frame for the scheme that numbers frames.
    const CONTROL_SET: bool = false;

    /// What is written into the record.
    fn words(&self) -> Words;

    /// Reads what [`Frame::words`] wrote.
    fn from_words(words: Words) -> Self;

    /// How the record says which frame it is.
    const IDENTITY: u16 = ((Self::SCHEME as u16) << 8)
        | Self::NUMBER as u16
        | (property::LISTED * Self::LISTED as u16)
        | (property::CREDIT * Self::CREDIT as u16)
        | (property::IDLE * Self::IDLE as u16)
        | (property::CONTROL_SET * Self::CONTROL_SET as u16);

    /// The frame as a packet with this many bytes on the wire.
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

    /// The frame in a record; `None`: it holds another frame, or no frame.
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
    /// Whether it is a frame between two neighbours, which no switch forwards.
    #[inline]
    #[must_use]
    pub const fn is_frame(&self) -> bool {
        self.tag & 15 == Kind::Hop as u8
    }

    const fn has_property(&self, bit: u16) -> bool {
        self.is_frame() && self.upstream_queue & bit != 0
    }

    /// The scheme whose frame it is; `None`: it is no frame.
    #[inline]
    #[must_use]
    pub const fn scheme(&self) -> Option<SchemeNumber> {
        if self.is_frame() {
            Some((self.upstream_queue >> 8) as SchemeNumber)
        } else {
            None
        }
    }

    /// Whether a list lies beside it, see [`Frame::LISTED`].
    #[inline]
    #[must_use]
    pub const fn has_list(&self) -> bool {
        self.has_property(property::LISTED)
    }

    /// Whether it is a frame that lets its receiver send, see [`Frame::CREDIT`].
    #[inline]
    #[must_use]
    pub const fn is_credit(&self) -> bool {
        self.has_property(property::CREDIT)
    }

    /// True for a control ordered set of a link, see [`Frame::CONTROL_SET`].
    #[inline]
    #[must_use]
    pub const fn is_control_set(&self) -> bool {
        self.has_property(property::CONTROL_SET)
    }

    /// Whether its arrival shows that the run goes on, see [`Frame::IDLE`].
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
