//! Algorithms of collective operations: what each member of a group sends, receives and reduces.
//!
//! A [`Plan`] is the part of one member. It consists of *lanes*, each a sequence of steps; lanes
//! run concurrently. A step is a pure function of lane and number, so a plan of any length takes no
//! memory. Each algorithm has a file. `algorithm.rs` lists them, and [`bounds`] has their closed
//! forms. Data is described by spans of the vector of S bytes, so that tests can follow each
//! contribution. The rules are in `specs/operations.md`.

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

/// The part of one member in a collective. // OPS-33
pub trait Plan: Debug + Send {
    /// Number of lanes.
    fn lanes(&self) -> u32;

    /// Number of steps of a lane.
    fn steps(&self, lane: u32) -> u32;

    /// Returns step `step` of a lane. Steps count from 0.
    fn step(&self, lane: u32, step: u32) -> Step;

    /// Channel of a lane's messages.
    fn channel(&self, lane: u32) -> u16;

    /// Returns the first step of the chunk to which a step belongs, if a lane has several
    /// sequential chunks.
    fn begin_of_chunk(&self, _lane: u32, _step: u32) -> u32 {
        0
    }
}

/// One step of a lane. Peers are positions in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends the current contents of a part of the vector. The lane continues immediately.
    Send {
        /// Receiving member.
        to: u32,
        /// The part of the vector.
        span: Span,
        /// Distinguishes the messages between two members.
        tag: u64,
    },
    /// Waits for a part of the vector.
    Receive {
        /// Sending member.
        from: u32,
        /// The part of the vector.
        span: Span,
        /// Tag of the send.
        tag: u64,
        /// True if the data are added to the existing data, false if they replace them.
        reduce: bool,
    },
    /// Waits until another lane has completed some steps.
    Await {
        /// The other lane.
        lane: u32,
        /// Number of steps that it must have completed.
        steps: u32,
    },
}

/// A part of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes; may be 0.
    pub bytes: u64,
}

impl Span {
    /// Returns part `at` of `count` parts that differ by at most one byte. // OPS-35
    #[must_use]
    pub fn part(self, at: u32, count: u32) -> Self {
        self.parts(at, at + 1, count)
    }

    /// Returns parts `from` to `to - 1` of `count`, which are adjacent. // OPS-35
    #[must_use]
    pub fn parts(self, from: u32, to: u32, count: u32) -> Self {
        let bound = |at: u32| (u128::from(self.bytes) * u128::from(at) / u128::from(count)) as u64;
        Self {
            offset: self.offset + bound(from),
            bytes: bound(to) - bound(from),
        }
    }

    /// Returns the whole vector.
    #[must_use]
    pub const fn whole(bytes: u64) -> Self {
        Self { offset: 0, bytes }
    }
}
