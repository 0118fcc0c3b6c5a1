//! Frames of CBFC.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// CF_Update: R_CF of a class.
// CBFC-10, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsFreed {
    /// The class.
    pub class: u8,
    /// R_CF.
    pub credits: u32,
}

/// CC_Update: S_CC of a class.
// CBFC-13, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsConsumed {
    /// The class.
    pub class: u8,
    /// S_CC.
    pub credits: u32,
}

macro_rules! updates {
    ($($name:ident: $number:literal;)*) => {$(
        impl Frame for $name {
            const SCHEME: SchemeNumber = Scheme::Cbfc.number();
            const NUMBER: u8 = $number;
            const CREDIT: bool = true;
            const IDLE: bool = true;

            fn words(&self) -> Words {
                Words {
                    flow: self.class.into(),
                    number: self.credits,
                    ..Words::NONE
                }
            }

            fn from_words(words: Words) -> Self {
                Self {
                    class: words.flow as u8,
                    credits: words.number,
                }
            }
        }
    )*};
}
updates! {
    CreditsFreed: 0;
    CreditsConsumed: 1;
}
