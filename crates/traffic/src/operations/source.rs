//! Where the operations of ranks come from.

use crate::Error;
use crate::operation::Operation;
use std::sync::Arc;

/// Gives the operations of each rank, block by block, in the order of indices. // OPS-04
///
/// Several threads may read at once, each other ranks.
pub trait Source: std::fmt::Debug + std::marker::Send + Sync {
    /// Number of operations of a rank.
    fn count(&self, rank: u32) -> u32;

    /// The next operations of a rank: those from index `from` on, at least one if there is one.
    ///
    /// # Errors
    /// If the operations cannot be read.
    fn read(&self, rank: u32, from: u32) -> Result<Block, Error>;

    /// The name of an operation, if it has one: for messages to users, not quick.
    fn name(&self, rank: u32, index: u32) -> Option<String>;
}

/// Operations of one rank that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The operations.
    pub operations: Vec<Operation>,
    /// When the next block must have been read: when this many of the rank's operations, counted
    /// by index, include one that has started. 0: at once. None: there is no next block.
    ///
    /// Each later operation waits for one with at least this index less 1, so none of them can
    /// start before. This makes reading in blocks exact. // OPS-04
    pub next_at: Option<u32>,
}

/// What a rest of operations waits for at least: the smallest, over the operations, of the largest
/// index + 1 that each waits for; 0 if one waits for nothing. // OPS-04
#[must_use]
pub fn needed_at<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Option<u32> {
    let waits = operations.into_iter().map(|operation| {
        let before = operation.after_end.iter().chain(&operation.after_start);
        before.max().map_or(0, |last| last + 1)
    });
    waits.min()
}

/// Operations that are in memory, rank by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InMemory {
    /// The operations of each rank.
    pub operations: Arc<[Vec<Operation>]>,
    /// Their names: (rank, index, name), sorted.
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
