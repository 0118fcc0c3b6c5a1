//! Hop schemes: what neighbours tell each other and obey.

pub mod bfc;
pub mod floodgate;
pub mod pfc;

use crate::packet::SchemeNumber;

/// The list of hop schemes. A scheme's place in it is its number on frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Scheme {
    /// Priority flow control: pauses of classes.
    Pfc,
    /// Backpressure flow control: pauses of queues.
    Bfc,
    /// Floodgate: credits and pauses by destination.
    Floodgate,
}

impl Scheme {
    /// Its number on frames.
    #[must_use]
    pub const fn number(self) -> SchemeNumber {
        self as SchemeNumber
    }
}
