//! Control frames of PFC.

use crate::classes::ClassSet;
use crate::declaration::Scheme;
use crate::packet::{Frame, Packet, SchemeNumber, Words};

/// PFC frame that pauses classes of the neighbour's port until a resume frame, or resumes them.
// SW-41
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseClasses {
    /// True for XOFF, false for XON.
    pub on: bool,
    /// Classes to pause or resume, as a bit set.
    pub classes: ClassSet,
}

/// PFC frame that pauses classes of the neighbour's port for a duration. The sender repeats the
/// frame as long as the pause must last.
// QNT-02
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFor {
    /// Duration in pause quanta (times in which the link sends 512 bits); not 0.
    pub quanta: u16,
    /// Classes to pause, as a bit set.
    pub classes: ClassSet,
}

/// Returns the content of a PFC frame: true for a pause and false for a resume, and the classes as
/// a bit set. Returns `None` for other frames.
#[must_use]
pub fn said(frame: &Packet) -> Option<(bool, ClassSet)> {
    let lasting = PauseClasses::read(frame).map(|said| (said.on, said.classes));
    lasting.or_else(|| PauseFor::read(frame).map(|said| (true, said.classes)))
}

impl Frame for PauseClasses {
    const SCHEME: SchemeNumber = Scheme::Pfc.number();
    const NUMBER: u8 = 0;

    fn words(&self) -> Words {
        Words {
            number: self.on.into(),
            other: self.classes.into(),
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            on: words.number != 0,
            classes: words.other as ClassSet,
        }
    }
}

impl Frame for PauseFor {
    const SCHEME: SchemeNumber = Scheme::Pfc.number();
    const NUMBER: u8 = 1;
    const IDLE: bool = true;

    fn words(&self) -> Words {
        Words {
            flow: self.classes.into(),
            number: self.quanta.into(),
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            quanta: words.number as u16,
            classes: words.flow as ClassSet,
        }
    }
}
