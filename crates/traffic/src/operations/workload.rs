//! Properties that apply to all ranks of a workload.

use super::options::Options;
use crate::collectives::Algorithm;
use crate::operation::{Collective, CollectiveKind};
use std::sync::Arc;

/// Properties that apply to all ranks of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Number of ranks. They are numbered from 0.
    pub ranks: u32,
    /// Groups to which collectives refer.
    pub groups: Vec<Group>,
    /// Options of the workload.
    pub options: Options,
    /// Triggers to which operations refer.
    pub triggers: Vec<Trigger>,
    /// Collectives that consist of individual operations.
    pub collectives: Vec<Composed>,
}

impl Workload {
    /// Returns the members of a group, in their order. `None` is the group of all ranks.
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

    /// Returns the algorithm of a collective: the collective's own algorithm, else that of the
    /// options, else the default of its kind.
    ///
    /// # Errors
    /// The text of the algorithm is invalid. The error contains the problem.
    pub fn algorithm(&self, collective: &Collective) -> Result<Algorithm, String> {
        let written = collective
            .algorithm
            .as_ref()
            .or_else(|| self.options.algorithms.get(&collective.kind));
        Algorithm::of(collective.kind, written.map(AsRef::as_ref))
    }

    /// Returns the name of a group, for messages and results. `None` is the group of all ranks.
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
    /// The member ranks, all different, in the order of their positions in algorithms.
    pub ranks: Arc<[u32]>,
}

/// A collective that consists of individual computations, sends and receives of a group; these
/// operations move its data. Results contain its duration, and the bandwidths that its kind
/// defines. // OPS-38
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Composed {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// The group, as an index in the workload's list of groups. `None`: all ranks.
    pub group: Option<u32>,
    /// Bytes S of the whole vector.
    pub bytes: u64,
    /// Number of operations, over all ranks, that belong to the collective.
    pub parts: u64,
}

/// The members of a group, in the order of their positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// All ranks from 0 to n − 1.
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

    /// Returns the rank at a position of the group.
    #[must_use]
    pub fn rank(&self, position: u32) -> u32 {
        match self {
            Self::All(_) => position,
            Self::Listed(ranks) => ranks[position as usize],
        }
    }

    /// Returns the position of a rank in the group, if the rank is a member.
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
    /// Rule that determines when the trigger fires.
    pub kind: TriggerKind,
}

/// Rules for firing of a [`Trigger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// The first activation releases all operations of the trigger. Later activations have no
    /// effect.
    OneShot,
    /// Each activation releases the next operation of the trigger.
    MultiShot,
    /// Activation number `count` releases all operations of the trigger.
    Barrier {
        /// Number of activations until the trigger fires; at least 1.
        count: u32,
    },
}
