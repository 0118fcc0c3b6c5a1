//! Properties that apply to all ranks of a workload.

use super::options::Options;
use crate::collectives::Algorithm;
use crate::operation::{Collective, CollectiveKind};
use std::sync::Arc;

/// Properties that apply to all ranks of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Number of ranks; they are numbered from 0.
    pub ranks: u32,
    /// Groups to which collectives refer.
    pub groups: Vec<Group>,
    /// Options of the workload.
    pub options: Options,
    /// Triggers to which operations refer.
    pub triggers: Vec<Trigger>,
    /// Collectives that consist of operations.
    pub collectives: Vec<Composed>,
}

impl Workload {
    /// Returns the members of a group in order. `None` is the group of all ranks.
    ///
    /// # Panics
    /// The group does not exist.
    #[must_use]
    pub fn members(&self, group: Option<u32>) -> Members {
        match group {
            None => Members::All(self.ranks),
            Some(group) => Members::Listed(Arc::clone(&self.groups[group as usize].ranks)),
        }
    }

    /// Returns the algorithm of a collective: its own, that of the options, or the default of its
    /// kind.
    ///
    /// # Errors
    /// The text of the algorithm is invalid. The error has the problem.
    pub fn algorithm(&self, collective: &Collective) -> Result<Algorithm, String> {
        let written = collective
            .algorithm
            .as_ref()
            .or_else(|| self.options.algorithms.get(&collective.kind));
        Algorithm::of(collective.kind, written.map(AsRef::as_ref))
    }

    /// Returns the name of a group, for messages and results.
    #[must_use]
    pub fn group_name(&self, group: Option<u32>) -> &str {
        group.map_or("all", |group| &self.groups[group as usize].name)
    }
}

/// A group of ranks: the communicator of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// The members, all different, in the order that algorithms use.
    pub ranks: Arc<[u32]>,
}

/// A collective that consists of computations, sends and receives of a group. The operations move
/// its data. It has times, and bandwidths according to its kind. // OPS-38
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Composed {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// The group, as an index in the workload's list. `None`: all ranks.
    pub group: Option<u32>,
    /// Bytes S of the whole vector.
    pub bytes: u64,
    /// Number of operations of all ranks that are parts of it.
    pub parts: u64,
}

/// The members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Ranks 0 to n − 1.
    All(u32),
    /// Listed ranks.
    Listed(Arc<[u32]>),
}

impl Members {
    /// Number of members.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::All(count) => *count,
            Self::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// Returns the rank at a position.
    #[must_use]
    pub fn rank(&self, position: u32) -> u32 {
        match self {
            Self::All(_) => position,
            Self::Listed(ranks) => ranks[position as usize],
        }
    }

    /// Returns the position of a rank, if it is a member.
    #[must_use]
    pub fn position(&self, rank: u32) -> Option<u32> {
        match self {
            Self::All(count) => (rank < *count).then_some(rank),
            Self::Listed(ranks) => {
                let at = ranks.iter().position(|&member| member == rank)?;
                Some(at as u32)
            }
        }
    }
}

/// A trigger: ends of messages activate it, and it releases operations of any rank. // OPS-40
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Rule for firing.
    pub kind: TriggerKind,
}

/// Kinds of [`Trigger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// The first activation releases all its operations. Later ones have no effect.
    OneShot,
    /// Each activation releases the next of its operations.
    MultiShot,
    /// The activation with this number releases all its operations.
    Barrier {
        /// Number of activations; at least 1.
        count: u32,
    },
}
