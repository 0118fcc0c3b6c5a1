//! The place of a packet in a switch, as the classifier selects it.

use crate::hash::mix32;
use crate::ids::QueueId;

/// The queue that a packet will join. `commit` changes the tables accordingly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Index of the queue. [`QueueId::NONE`]: a queue of its own that does not exist yet.
    pub queue: QueueId,
    /// Entry of the flow table, if there is one.
    pub entry: u64,
    /// How the flow got its queue.
    pub assigned: Assigned,
}

/// How a flow got its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// It had the queue before this packet.
    Before,
    /// It got an empty queue.
    Empty,
    /// All queues were in use, and one was drawn.
    Shared,
}

impl Place {
    /// Place of a packet that a hop scheme parks: it has no queue yet.
    pub const PARKED: Self = Self::at(QueueId::NONE);

    pub const fn at(queue: QueueId) -> Self {
        Self {
            queue,
            entry: 0,
            assigned: Assigned::Before,
        }
    }
}

/// Returns the queue of a flow by its hash, below `queues`. It is the same at all switches (BFC
/// paper §3.2).
// SW-24
#[inline]
pub(crate) fn hashed(hash: u32, queues: u16) -> u16 {
    ((u64::from(mix32(hash ^ 0x5eed)) * u64::from(queues)) >> 32) as u16
}
