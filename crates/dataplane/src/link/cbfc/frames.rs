//! Control frames of CBFC.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// CF_Update: the counter of credits that the receiver has freed in a class (R_CF).
// CBFC-10, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsFreed {
    /// Traffic class.
    pub class: u8,
    /// Value of R_CF.
    pub credits: u32,
}

/// CC_Update: the counter of credits that the sender has consumed in a class (S_CC).
// CBFC-13, CBFC-15
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditsConsumed {
    /// Traffic class.
    pub class: u8,
    /// Value of S_CC.
    pub credits: u32,
}

macro_rules! updates {
    ($($name:ident: $number:literal, $is_control_set:literal;)*) => {$(
        impl Frame for $name {
            const SCHEME: SchemeNumber = Scheme::Cbfc.number();
            const NUMBER: u8 = $number;
            const CREDIT: bool = true;
            const IDLE: bool = true;
            const CONTROL_SET: bool = $is_control_set;

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
    CreditsFreed: 0, true;
    CreditsConsumed: 1, false;
}
