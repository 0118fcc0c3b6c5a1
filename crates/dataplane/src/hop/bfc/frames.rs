//! Control frames of BFC.

use crate::declaration::Scheme;
use crate::packet::{Frame, SchemeNumber, Words};

/// Pauses or resumes a queue of the neighbour's port.
// BFC-10
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseQueue {
    /// True to pause, false to resume.
    pub on: bool,
    /// Index of the queue at the neighbour's port.
    pub queue: u16,
}

impl Frame for PauseQueue {
    const SCHEME: SchemeNumber = Scheme::Bfc.number();
    const NUMBER: u8 = 0;

    fn words(&self) -> Words {
        Words {
            number: self.on.into(),
            other: self.queue.into(),
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            on: words.number != 0,
            queue: words.other as u16,
        }
    }
}

/// Pauses or resumes a flow of the neighbour.
// BFC-37
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFlow {
    /// True to pause, false to resume.
    pub on: bool,
    /// ID of the flow.
    pub flow: u32,
    /// Index of the neighbour's queue from which the packet of this flow came.
    pub queue: u16,
}

impl Frame for PauseFlow {
    const SCHEME: SchemeNumber = Scheme::Bfc.number();
    const NUMBER: u8 = 1;

    fn words(&self) -> Words {
        Words {
            flow: self.flow,
            number: self.on.into(),
            other: self.queue.into(),
            ..Words::NONE
        }
    }

    fn from_words(words: Words) -> Self {
        Self {
            on: words.number != 0,
            flow: words.flow,
            queue: words.other as u16,
        }
    }
}

/// Lists all queues of the neighbour's port that must be paused. The neighbour resumes all other
/// queues. The list of the frame contains the indices of these queues in ascending order.
// BFC-30
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitmap;

impl Frame for Bitmap {
    const SCHEME: SchemeNumber = Scheme::Bfc.number();
    const NUMBER: u8 = 2;
    const LISTED: bool = true;
    const IDLE: bool = true;

    fn words(&self) -> Words {
        Words::NONE
    }

    fn from_words(_: Words) -> Self {
        Self
    }
}
