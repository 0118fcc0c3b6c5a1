//! Sources of the operations of ranks.

use crate::Error;
use crate::operation::Operation;
use std::sync::Arc;

/// A source of the operations of each rank, block by block, in the order of indices. // OPS-04
///
/// Several threads may read at the same time, each for other ranks.
pub trait Source: std::fmt::Debug + std::marker::Send + Sync {
    /// Number of operations of a rank.
    fn count(&self, rank: u32) -> u32;

    /// Returns the next operations of a rank, starting at index `from`: at least one, if there is
    /// one.
    ///
    /// # Errors
    /// The operations cannot be read.
    fn read(&self, rank: u32, from: u32) -> Result<Block, Error>;

    /// Returns the name of an operation, if it has one. This may be slow and is for messages to
    /// users.
    fn name(&self, rank: u32, index: u32) -> Option<String>;
}

/// Consecutive operations of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The operations.
    pub operations: Vec<Operation>,
    /// Condition for reading the next block: an operation has started whose index is at least this
    /// value minus 1. 0: read it immediately. `None`: there is no next block.
    ///
    /// Each later operation depends on an operation with at least this index minus 1, so none of
    /// them can start earlier. So reading in blocks changes no result. // OPS-04
    pub next_at: Option<u32>,
}

/// Returns a lower bound of what the remaining operations wait for: for each operation the largest
/// index + 1 of its dependencies, and of these values the smallest. It is 0 if an operation has no
/// dependency. // OPS-04
#[must_use]
pub fn needed_at<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Option<u32> {
    let waits = operations.into_iter().map(|operation| {
        let before = operation.after_end.iter().chain(&operation.after_start);
        before.max().map_or(0, |last| last + 1)
    });
    waits.min()
}

/// Operations in memory, by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InMemory {
    /// The operations of each rank.
    pub operations: Arc<[Vec<Operation>]>,
    /// Names of operations: (rank, index, name), sorted.
    pub names: Vec<(u32, u32, String)>,
}

impl Source for InMemory {
    fn count(&self, rank: u32) -> u32 {
        self.operations[rank as usize].len() as u32
    }

    fn read(&self, rank: u32, from: u32) -> Result<Block, Error> {
        Ok(Block {
            operations: self.operations[rank as usize][from as usize..].to_vec(),
            next_at: None,
        })
    }

    fn name(&self, rank: u32, index: u32) -> Option<String> {
        let at = self
            .names
            .binary_search_by_key(&(rank, index), |(rank, index, _)| (*rank, *index));
        at.ok().map(|at| self.names[at].2.clone())
    }
}
