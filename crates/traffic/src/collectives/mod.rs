//! Algorithms of collective operations: the messages that each member of a group sends, receives
//! and reduces.
//!
//! A [`Plan`] is the contribution of one member. It consists of *lanes*, each a sequence of steps;
//! lanes run concurrently. A step is a pure function of its lane and its index, so a plan of any
//! length takes no memory. Each algorithm has a file. `algorithm.rs` lists the algorithms, and
//! [`bounds`] contains closed forms of their costs. Data is described by byte ranges (spans) of the
//! vector of S bytes, so that tests can follow each contribution. The rules are in
//! `specs/operations.md`.

mod algorithm;
mod barrier;
pub mod bounds;
mod broadcast;
mod direct;
mod double_binary_tree;
mod halving_doubling;
mod hierarchical;
mod phases;
mod planner;
mod ring;

pub use algorithm::{Algorithm, Name, Part, algorithms_of};
pub use planner::plan;
pub use ring::ring_member;

use std::fmt::Debug;

/// The contribution of one member to a collective, as concurrent lanes (sequences of steps).
// OPS-33
pub trait Plan: Debug + Send {
    /// Number of lanes.
    fn lanes(&self) -> u32;

    /// Number of steps of a lane.
    fn steps(&self, lane: u32) -> u32;

    /// Returns step `step` of a lane. Steps count from 0.
    fn step(&self, lane: u32, step: u32) -> Step;

    /// Channel of the messages of a lane.
    fn channel(&self, lane: u32) -> u16;

    /// Returns the first step of the chunk that contains a step, if the lane transfers several
    /// chunks in sequence.
    fn begin_of_chunk(&self, _lane: u32, _step: u32) -> u32 {
        0
    }
}

/// One step of a lane. Peers are identified by their positions in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends the current contents of a byte range of the vector. The lane continues immediately.
    Send {
        /// Receiving member.
        to: u32,
        /// Byte range of the vector.
        span: Span,
        /// Distinguishes messages between the same two members.
        tag: u64,
    },
    /// Waits until a byte range of the vector has arrived.
    Receive {
        /// Sending member.
        from: u32,
        /// Byte range of the vector.
        span: Span,
        /// Tag of the corresponding send.
        tag: u64,
        /// True if the data are added to the existing data; false if they replace the existing
        /// data.
        reduce: bool,
    },
    /// Waits until another lane has completed a number of steps.
    Await {
        /// Lane that must complete the steps.
        lane: u32,
        /// Number of steps that the other lane must have completed.
        steps: u32,
    },
}

/// A byte range of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes; may be 0.
    pub bytes: u64,
}

impl Span {
    /// Divides the range into `count` pieces whose sizes differ by at most one byte. Returns piece
    /// `at` (from 0). // OPS-35
    #[must_use]
    pub fn part(self, at: u32, count: u32) -> Self {
        self.parts(at, at + 1, count)
    }

    /// Divides the range like [`Self::part`]. Returns the range of pieces `from` to `to - 1`, which
    /// are adjacent. // OPS-35
    #[must_use]
    pub fn parts(self, from: u32, to: u32, count: u32) -> Self {
        let bound = |at: u32| (u128::from(self.bytes) * u128::from(at) / u128::from(count)) as u64;
        Self {
            offset: self.offset + bound(from),
            bytes: bound(to) - bound(from),
        }
    }

    /// Returns the range of the whole vector.
    #[must_use]
    pub const fn whole(bytes: u64) -> Self {
        Self { offset: 0, bytes }
    }
}
