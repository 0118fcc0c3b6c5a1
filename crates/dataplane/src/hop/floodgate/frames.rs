//! Control frames of Floodgate.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// Credit for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Endpoint ID of the destination.
    pub dst: u32,
    /// Units that are refunded to the window.
    pub units: u32,
    /// Sequence number up to which this credit refunds all data, also lost data.
    pub number: u32,
}

/// A credit frame with one destination.
// FG-20
impl Frame for Credit {
    const SCHEME: SchemeNumber = Scheme::Floodgate.number();
    const NUMBER: u8 = 0;
    const CREDIT: bool = true;
    const IDLE: bool = true;

    fn words(&self) -> Words {
        Words {
            endpoint: self.dst,
            number: self.number,
            other: self.units,
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            dst: words.endpoint,
            units: words.other,
            number: words.number,
        }
    }
}

/// A credit frame with several destinations. The list of the frame contains three words per
/// destination, see [`Credits::list`].
// FG-25
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits;

impl Frame for Credits {
    const SCHEME: SchemeNumber = Scheme::Floodgate.number();
    const NUMBER: u8 = 1;
    const LISTED: bool = true;
    const CREDIT: bool = true;
    const IDLE: bool = true;

    fn words(&self) -> Words {
        Words::NONE
    }

    fn from_words(_: Words) -> Self {
        Self
    }
}

impl Credits {
    /// Encodes credits as words of a frame's list.
    pub fn list(credits: &[Credit]) -> impl Iterator<Item = u32> {
        credits.iter().flat_map(|c| [c.dst, c.units, c.number])
    }

    /// Decodes the credits from the words of a frame's list.
    pub fn named(list: &[u32]) -> impl Iterator<Item = Credit> {
        list.chunks_exact(3).map(|words| Credit {
            dst: words[0],
            units: words[1],
            number: words[2],
        })
    }
}

/// The switchSYN frame: the sender has sent data for endpoint `dst` up to this number and has
/// received no credit for a timeout.
// FG-33
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSyn {
    /// Endpoint ID of the destination.
    pub dst: u32,
    /// Sequence number of the last unit that was sent.
    pub number: u32,
}

impl Frame for SwitchSyn {
    const SCHEME: SchemeNumber = Scheme::Floodgate.number();
    const NUMBER: u8 = 2;
    const IDLE: bool = true;

    fn words(&self) -> Words {
        Words {
            endpoint: self.dst,
            number: self.number,
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            dst: words.endpoint,
            number: words.number,
        }
    }
}

/// Pauses or resumes the packets to an endpoint (dstPause, PFC with tag).
// FG-40, FG-45
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseDestination {
    /// True to pause, false to resume.
    pub on: bool,
    /// Endpoint ID of the destination.
    pub dst: u32,
}

impl Frame for PauseDestination {
    const SCHEME: SchemeNumber = Scheme::Floodgate.number();
    const NUMBER: u8 = 3;

    fn words(&self) -> Words {
        Words {
            endpoint: self.dst,
            number: self.on.into(),
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            on: words.number != 0,
            dst: words.endpoint,
        }
    }
}
