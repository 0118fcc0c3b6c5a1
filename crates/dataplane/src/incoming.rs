//! Flows at their receiver.

use crate::mixed::MixedMap;
use crate::reliability::arrivals::Arrivals;
use crate::units::Time;

/// State of the incomplete flows at a receiver, by flow ID. Many hosts receive one flow at a time,
/// so the first flow is stored directly and needs no search.
#[derive(Debug)]
pub(crate) struct Open<T> {
    first: Option<(u32, T)>,
    others: MixedMap<u32, T>,
}

impl<T> Open<T> {
    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut T> {
        match &mut self.first {
            Some((number, value)) if *number == flow => Some(value),
            _ => self.others.get_mut(&flow),
        }
    }

    /// Returns the state of a flow. Adds the flow if it is not in the map.
    pub fn get_or_insert_with(&mut self, flow: u32, new: impl FnOnce() -> T) -> &mut T {
        if self.first.is_none() && !self.others.contains_key(&flow) {
            return &mut self.first.insert((flow, new())).1;
        }
        match &mut self.first {
            Some((number, value)) if *number == flow => value,
            _ => self.others.entry(flow).or_insert_with(new),
        }
    }

    pub fn remove(&mut self, flow: u32) {
        if self.first.as_ref().is_some_and(|first| first.0 == flow) {
            self.first = None;
        } else {
            self.others.remove(&flow);
        }
    }
}

/// Flows at their receiver. `T` is the state of a flow that is not complete.
#[derive(Debug)]
pub(crate) struct IncomingFlows<T> {
    pub open: Open<T>,
    /// Time at which each complete flow was complete. Retransmissions of such flows may still
    /// arrive, but rarely. So these flows are not in `open`, which is searched for every packet.
    // NIC-32
    complete: MixedMap<u32, Time>,
    /// Packets that arrived out of order, after a gap in the packet numbers.
    pub arrivals: Arrivals,
}

impl<T> IncomingFlows<T> {
    pub fn new() -> Self {
        Self {
            open: Open {
                first: None,
                others: MixedMap::default(),
            },
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
        }
    }

    /// Returns the time at which a flow was complete, or `None` if the flow is not complete.
    pub fn done_ps(&self, flow: u32) -> Option<Time> {
        self.complete.get(&flow).copied()
    }

    /// Stores the time at which a flow was complete.
    pub fn complete(&mut self, flow: u32, done_ps: Time) {
        self.complete.insert(flow, done_ps);
    }

    /// Moves an open flow to the complete flows. `done_ps` is the time at which it was complete.
    pub fn end(&mut self, flow: u32, done_ps: Time) {
        self.open.remove(flow);
        self.complete(flow, done_ps);
    }
}
