//! Sources from which ranks read their operations.

use crate::Error;
use crate::operation::Operation;
use std::sync::Arc;

/// A source from which the operations of each rank are read in blocks by ascending index. // OPS-04
///
/// Several threads may read at the same time, each for different ranks.
pub trait Source: std::fmt::Debug + std::marker::Send + Sync {
    /// Number of operations of a rank.
    fn count(&self, rank: u32) -> u32;

    /// Returns the next operations of a rank, starting at index `from`. The block contains at least
    /// one operation unless the rank has no more.
    ///
    /// # Errors
    /// The operations cannot be read.
    fn read(&self, rank: u32, from: u32) -> Result<Block, Error>;

    /// Returns the name of an operation, if it has one. The call may be slow; use it only for
    /// messages to users.
    fn name(&self, rank: u32, index: u32) -> Option<String>;
}

/// Consecutive operations of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The operations.
    pub operations: Vec<Operation>,
    /// Condition for reading the next block: an operation with an index of at least (this value −
    /// 1) has started. 0: read the next block immediately. `None`: this is the last block.
    ///
    /// Each later operation depends on an operation with at least this index, so none of them can
    /// start before the condition is met. So reading in blocks changes no result. // OPS-04
    pub next_at: Option<u32>,
}

/// Returns the condition [`Block::next_at`] under which one of these operations could start. Per
/// operation it takes max(index + 1) over its dependencies, or 0 without dependencies. The result
/// is the minimum over all operations. // OPS-04
#[must_use]
pub fn needed_at<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Option<u32> {
    let waits = operations.into_iter().map(|operation| {
        let before = operation.after_end.iter().chain(&operation.after_start);
        before.max().map_or(0, |last| last + 1)
    });
    waits.min()
}

/// Operations of all ranks, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InMemory {
    /// The operations of each rank.
    pub operations: Arc<[Vec<Operation>]>,
    /// Names of operations as (rank, index, name), sorted.
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
