//! The frames of Floodgate.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// What is credited of one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The destination's endpoint.
    pub dst: u32,
    /// Units of the window.
    pub units: u32,
    /// Everything up to this number is credited.
    pub number: u32,
}

/// Credits of one destination.
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

/// Credits of several destinations: the list has three words for each, see [`Credits::list`].
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
    /// The words of some credits.
    pub fn list(credits: &[Credit]) -> impl Iterator<Item = u32> {
        credits.iter().flat_map(|c| [c.dst, c.units, c.number])
    }

    /// The credits that a list of words names.
    pub fn named(list: &[u32]) -> impl Iterator<Item = Credit> {
        list.chunks_exact(3).map(|words| Credit {
            dst: words[0],
            units: words[1],
            number: words[2],
        })
    }
}

/// The endpoint `dst` was sent units up to this number, and no credit came (switchSYN).
// FG-33
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSyn {
    /// The destination's endpoint.
    pub dst: u32,
    /// Number of the last unit sent.
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

/// Pauses or resumes what goes to an endpoint (dstPause; PFC with tag).
// FG-40, FG-45
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseDestination {
    /// Pause, or resume.
    pub on: bool,
    /// The endpoint.
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
