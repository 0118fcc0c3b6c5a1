//! The queue of a packet in a switch, as the classifier selects it.

use crate::hash::mix32;
use crate::ids::QueueId;

/// Result of the classifier: the queue that a packet will join. The tables of the classifier change
/// only when the packet is accepted (`commit`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Index of the queue in the switch. [`QueueId::NONE`] if a hop scheme parks the packet, or if
    /// the queue of its flow does not exist yet.
    pub queue: QueueId,
    /// Index of the flow-table entry, if the switch has a flow table.
    pub entry: u64,
    /// How the flow was assigned its queue.
    pub assigned: Assigned,
}

/// How a flow was assigned its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// The flow had this queue before this packet, or has a fixed queue.
    Before,
    /// The flow was assigned an empty queue.
    Empty,
    /// All queues were in use, and the flow shares one of them.
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

/// Maps the hash of a flow to a queue below `queues`. The result is the same at all switches (BFC
/// paper §3.2).
// SW-24
#[inline]
pub(crate) fn hashed(hash: u32, queues: u16) -> u16 {
    ((u64::from(mix32(hash ^ 0x5eed)) * u64::from(queues)) >> 32) as u16
}
