//! The frames of PFC.

use crate::hop::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// Pauses or resumes classes of the neighbour's port.
// SW-41
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseClasses {
    /// XOFF, or XON.
    pub on: bool,
    /// The classes, as bits.
    pub classes: u8,
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
            classes: words.other as u8,
        }
    }
}
