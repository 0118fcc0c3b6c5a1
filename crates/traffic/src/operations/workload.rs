//! What holds for all ranks of a workload.

use super::options::Options;
use crate::collectives::{Algorithm, algorithms_of};
use crate::operation::{Collective, CollectiveKind};
use std::sync::Arc;

/// What holds for all ranks of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Number of ranks; they are numbered from 0.
    pub ranks: u32,
    /// Groups that collectives name.
    pub groups: Vec<Group>,
    /// What differs between sources of workloads.
    pub options: Options,
    /// Triggers that operations name.
    pub triggers: Vec<Trigger>,
    /// Collectives that operations name as what they are parts of.
    pub collectives: Vec<Composed>,
}

impl Workload {
    /// The members of a group, in order; `None` is the group of all ranks.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn members(&self, group: Option<u32>) -> Members {
        match group {
            None => Members::All(self.ranks),
            Some(group) => Members::Listed(Arc::clone(&self.groups[group as usize].ranks)),
        }
    }

    /// The algorithm of a collective: its own, that of the options, or the default of its kind.
    ///
    /// # Errors
    /// Says what is wrong with the words that name it.
    pub fn algorithm(&self, collective: &Collective) -> Result<Algorithm, String> {
        let written = collective
            .algorithm
            .as_ref()
            .or_else(|| self.options.algorithms.get(&collective.kind));
        match written {
            Some(text) => Algorithm::parse(text),
            None => Ok(Algorithm::new(algorithms_of(collective.kind)[0])),
        }
    }

    /// The name of a group, for messages and results.
    #[must_use]
    pub fn group_name(&self, group: Option<u32>) -> &str {
        group.map_or("all", |group| &self.groups[group as usize].name)
    }
}

/// A group of ranks: the communicator of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its members, all different, in the order that algorithms go by.
    pub ranks: Arc<[u32]>,
}

/// A collective that computations, sends and receives of a group make up. What moves its data is
/// theirs; it has times, and bandwidths by its kind. // OPS-38
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Composed {
    /// What they do together.
    pub kind: CollectiveKind,
    /// Their group, by its place in the workload's list. None: all ranks.
    pub group: Option<u32>,
    /// Bytes S of the whole vector.
    pub bytes: u64,
    /// How many operations of all ranks make it up.
    pub parts: u64,
}

/// The members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Ranks 0 to n − 1.
    All(u32),
    /// These.
    Listed(Arc<[u32]>),
}

impl Members {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        match self {
            Self::All(count) => *count,
            Self::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// The rank at a position.
    #[must_use]
    pub fn rank(&self, position: u32) -> u32 {
        match self {
            Self::All(_) => position,
            Self::Listed(ranks) => ranks[position as usize],
        }
    }

    /// The position of a rank, if it is a member.
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

/// Something that ends of messages activate and that lets operations of any rank begin. // OPS-40
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// When it fires, and for whom.
    pub kind: TriggerKind,
}

/// Kinds of [`Trigger`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// The first activation fires it for all its operations; later ones do nothing.
    OneShot,
    /// Each activation fires it for the next of its operations.
    MultiShot,
    /// The activation of this number fires it for all its operations.
    Barrier {
        /// How many activations it takes; at least 1.
        count: u32,
    },
}
