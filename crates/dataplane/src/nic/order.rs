//! The flows of a port and class that may send, where they do not stand in a ring: kept in the order in which they
//! have their turn.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound::{Excluded, Unbounded};

use crate::config::FlowOrder;
use crate::flow::FlowStart;
use crate::hash::mix32;
use crate::ids::FlowSlot;

/// Flows that may send, in order.
#[derive(Clone, Debug)]
pub(super) enum Ordered {
    Shortest(BinaryHeap<Reverse<Remaining>>),
    Cyclic(Cyclic),
}

/// A flow that is ready, by what it had left when it got so; of equals the one that started first.
// NIC-30
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Remaining {
    bytes: u64,
    flow: u32,
    slot: FlowSlot,
}

/// Flows that are ready by their numbers, and whose turn it was.
// NIC-31
#[derive(Clone, Debug, Default)]
pub(super) struct Cyclic {
    ready: BTreeSet<Numbered>,
    last: Numbered,
}

/// A flow by the number that it has by chance, of equals by its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    number: u32,
    flow: u32,
    slot: FlowSlot,
}

impl Ordered {
    /// `None`: flows stand in a ring.
    pub fn new(order: FlowOrder) -> Option<Self> {
        match order {
            FlowOrder::Ring => None,
            FlowOrder::ShortestFirst => Some(Self::Shortest(BinaryHeap::new())),
            FlowOrder::Cyclic => Some(Self::Cyclic(Cyclic::default())),
        }
    }

    /// Adds the flow in a slot that has this much left.
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

    /// Takes out the flow whose turn it is; returns its slot.
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
