//! Where a packet goes in a switch, as the classifier says it.

use crate::hash::mix32;
use crate::ids::QueueId;

/// Where a packet is to go; `commit` makes it so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// [`QueueId::NONE`]: a queue of its own that does not exist yet.
    pub queue: QueueId,
    /// Entry of the flow table, where there is one.
    pub entry: u64,
    /// The flow gets its queue with this packet.
    pub assigned: Assigned,
}

/// How a flow came to its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// It has it already.
    Before,
    /// An empty queue was there.
    Empty,
    /// All were taken; one was drawn.
    Shared,
}

impl Place {
    /// The place of a packet that a hop scheme parks: it has no queue yet.
    pub const PARKED: Self = Self::at(QueueId::NONE);

    pub const fn at(queue: QueueId) -> Self {
        Self {
            queue,
            entry: 0,
            assigned: Assigned::Before,
        }
    }
}

/// Which of `queues` queues the hash of a flow names. All switches agree (BFC paper §3.2).
// SW-24
#[inline]
pub(crate) fn hashed(hash: u32, queues: u16) -> u16 {
    ((u64::from(mix32(hash ^ 0x5eed)) * u64::from(queues)) >> 32) as u16
}
