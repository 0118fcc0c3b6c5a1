//! Algorithms of collective operations: what each member of a group sends, receives and reduces.
//!
//! A [`Plan`] is the part of one member. It consists of *lanes*, each a sequence of steps done one
//! after the other; lanes run side by side. A step is a pure function of lane and number, so a plan
//! takes no memory however long it is. One file has one algorithm; `algorithm.rs` has their list,
//! [`bounds`] their closed forms. Data is described by spans of the vector of S bytes, so that
//! tests can follow each contribution. The rules are in `specs/operations.md`.

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

use std::fmt::Debug;

/// The part of one member in a collective. // OPS-33
pub trait Plan: Debug + Send {
    /// Number of lanes.
    fn lanes(&self) -> u32;

    /// Number of steps of a lane.
    fn steps(&self, lane: u32) -> u32;

    /// Step `step` of a lane, from 0, below their number.
    fn step(&self, lane: u32, step: u32) -> Step;

    /// Channel of a lane's messages.
    fn channel(&self, lane: u32) -> u16;

    /// The step with which a lane began the chunk that a step is of, where chunks follow each other
    /// in a lane.
    fn begin_of_chunk(&self, _lane: u32, _step: u32) -> u32 {
        0
    }
}

/// One step of a lane. Peers are positions in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a part of the vector as it is now. The lane goes on at once.
    Send {
        /// To whom.
        to: u32,
        /// What.
        span: Span,
        /// Distinguishes the messages between two members.
        tag: u64,
    },
    /// Waits for a part of the vector.
    Receive {
        /// From whom.
        from: u32,
        /// Where it belongs.
        span: Span,
        /// That of the send.
        tag: u64,
        /// Whether it is added to what is there, or takes its place.
        reduce: bool,
    },
    /// Waits until another lane has done this many steps.
    Await {
        /// The other lane.
        lane: u32,
        /// Number of its steps that must be over.
        steps: u32,
    },
}

/// A stretch of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes; may be 0.
    pub bytes: u64,
}

impl Span {
    /// Part `at` of `count` parts that differ by at most one byte. // OPS-35
    #[must_use]
    pub fn part(self, at: u32, count: u32) -> Self {
        self.parts(at, at + 1, count)
    }

    /// Parts `from` to `to - 1` of `count`, which lie side by side. // OPS-35
    #[must_use]
    pub fn parts(self, from: u32, to: u32, count: u32) -> Self {
        let bound = |at: u32| (u128::from(self.bytes) * u128::from(at) / u128::from(count)) as u64;
        Self {
            offset: self.offset + bound(from),
            bytes: bound(to) - bound(from),
        }
    }

    /// All of a vector.
    #[must_use]
    pub const fn whole(bytes: u64) -> Self {
        Self { offset: 0, bytes }
    }
}
