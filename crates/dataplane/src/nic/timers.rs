//! Timers of flows at their sender.

use std::collections::VecDeque;

use super::flow::Flow;
use crate::ids::FlowSlot;
use crate::prefetch::prefetch;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::Time;

/// A timer of a flow. Timers that expire at the same time are handled in the order of flow IDs.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowTimer {
    pub flow: u32,
    pub kind: TimerKind,
    pub slot: FlowSlot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// The pacing time of the flow has come.
    Pace,
    /// The flow may have lost packets.
    Timeout,
    /// The congestion control may increase its rate and window without an acknowledgement.
    Rise,
}

/// The timers of the flows of a NIC.
#[derive(Debug, Default)]
pub(super) struct FlowTimers {
    timers: Timers<FlowTimer>,
    /// First timeout of each flow, in the order of time. Most flows end before their first timeout.
    timeouts: VecDeque<(Time, FlowTimer)>,
}

impl FlowTimers {
    /// Sets a timer of a flow.
    pub fn set<S: Sink>(&mut self, at: Time, timer: FlowTimer, sink: &mut S) {
        self.timers.set(at, timer, sink);
    }

    /// Sets the first timeout of a flow. `at` must not be before the time of an earlier call.
    pub fn set_first_timeout<S: Sink>(&mut self, at: Time, timer: FlowTimer, sink: &mut S) {
        debug_assert!(
            self.timeouts.back().is_none_or(|last| last.0 <= at),
            "first timeouts are in the order of time"
        );
        if self.timeouts.is_empty() {
            sink.wake(at);
        }
        self.timeouts.push_back((at, timer));
    }

    /// Removes and returns the first timer if it has expired. Otherwise schedules a call of the NIC
    /// at the time of that timer. Skips timers of flows that have finished.
    #[inline]
    pub fn due<S: Sink>(&mut self, now: Time, flows: &[Flow], sink: &mut S) -> Option<FlowTimer> {
        let is_gone = |timer: &FlowTimer| !flows[timer.slot.index()].is_open(timer.flow);
        loop {
            while self
                .timeouts
                .front()
                .is_some_and(|(_, timer)| is_gone(timer))
            {
                self.timeouts.pop_front();
            }
            let timeout = self.timeouts.front().copied();
            let first = match (timeout, self.timers.first()) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            };
            let (at, timer) = first;
            if at > now {
                sink.wake(at);
                return None;
            }
            if timeout == Some(first) {
                self.timeouts.pop_front();
            } else {
                self.timers.pop();
            }
            if !is_gone(&timer) {
                return Some(timer);
            }
        }
    }

    /// Prefetches the memory that the next call of [`Self::due`] reads. Changes no state.
    #[inline]
    pub fn prefetch(&self) {
        self.timers.prefetch();
        prefetch(self.timeouts.as_slices().0, 0);
    }

    /// Returns the flow of a timer that probably expires next (not exact, for prefetching).
    #[inline]
    pub fn next(&self) -> Option<FlowSlot> {
        let next = self.timers.first();
        next.or_else(|| self.timeouts.front().copied())
            .map(|(_, timer)| timer.slot)
    }
}
