//! Frames of LLR: control ordered sets of a link.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// ACK of a link: all frames up to `number` have arrived.
// LLR-04
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Sequence number of the last frame that arrived without error.
    pub number: u32,
}

/// NACK of a link: all frames up to `number` have arrived, and the next one is missing.
// LLR-05
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// Sequence number of the last frame that arrived without error.
    pub number: u32,
}

macro_rules! control_sets {
    ($($Name:ident: $number:literal;)*) => {$(
        impl Frame for $Name {
            const SCHEME: SchemeNumber = Scheme::Llr.number();
            const NUMBER: u8 = $number;
            const IDLE: bool = true;
            const CONTROL_SET: bool = true;

            fn words(&self) -> Words {
                Words {
                    number: self.number,
                    ..Words::NONE
                }
            }

            fn from_words(words: Words) -> Self {
                Self {
                    number: words.number,
                }
            }
        }
    )*};
}
control_sets! {
    Ack: 0;
    Nack: 1;
}
