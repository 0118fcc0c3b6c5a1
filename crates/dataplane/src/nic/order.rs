//! Flows of a port and class that may send, in an order other than round robin.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound::{Excluded, Unbounded};

use crate::config::FlowOrder;
use crate::flow::FlowStart;
use crate::hash::mix32;
use crate::ids::FlowSlot;

/// Flows that may send, in the order in which they send.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    Shortest(BinaryHeap<Reverse<Remaining>>),
    Cyclic(Cyclic),
}

/// A ready flow, ordered by its remaining bytes when it became ready, then by its flow ID.
// NIC-30
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Remaining {
    bytes: u64,
    flow: u32,
    slot: FlowSlot,
}

/// Ready flows in the order of their pseudo-random numbers, and the flow that was served last.
// NIC-31
#[derive(Clone, Debug, Default)]
pub(super) struct Cyclic {
    ready: BTreeSet<Numbered>,
    last: Numbered,
}

/// A ready flow, ordered by a pseudo-random number, then by its flow ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    number: u32,
    flow: u32,
    slot: FlowSlot,
}

impl Ordered {
    /// Creates an empty list of flows with this send order, or returns `None` for round robin,
    /// which uses a ring.
    pub fn new(order: FlowOrder) -> Option<Self> {
        match order {
            FlowOrder::Ring => None,
            FlowOrder::ShortestFirst => Some(Self::Shortest(BinaryHeap::new())),
            FlowOrder::Cyclic => Some(Self::Cyclic(Cyclic::default())),
        }
    }

    /// Adds the flow in `slot`, which has `bytes` left to send.
    pub fn push(&mut self, start: &FlowStart, bytes: u64, slot: FlowSlot) {
        let flow = start.flow;
        match self {
            Self::Shortest(heap) => heap.push(Reverse(Remaining { bytes, flow, slot })),
            Self::Cyclic(cyclic) => {
                cyclic.ready.insert(Numbered {
                    number: mix32(start.hash ^ 0x3c6e_f372),
                    flow,
                    slot,
                });
            }
        }
    }

    /// Removes the flow whose turn it is, and returns its slot.
    pub fn pop(&mut self) -> Option<FlowSlot> {
        match self {
            Self::Shortest(heap) => heap.pop().map(|next| next.0.slot),
            Self::Cyclic(cyclic) => {
                let beyond = (Excluded(cyclic.last), Unbounded);
                let next = cyclic.ready.range(beyond).next();
                let next = *next.or_else(|| cyclic.ready.first())?;
                cyclic.ready.remove(&next);
                cyclic.last = next;
                Some(next.slot)
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Shortest(heap) => heap.is_empty(),
            Self::Cyclic(cyclic) => cyclic.ready.is_empty(),
        }
    }
}
