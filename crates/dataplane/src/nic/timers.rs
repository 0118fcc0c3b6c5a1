//! Timers of flows at their sender.

use std::collections::VecDeque;

use super::flow::Flow;
use crate::alarms::{Alarms, Timed};
use crate::ids::FlowSlot;
use crate::prefetch::prefetch;
use crate::sink::Sink;
use crate::units::Time;

/// Why the NIC wants to be called. Equal times are served by flow, then kind.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    pub at: Time,
    pub flow: u32,
    pub kind: AlarmKind,
    pub slot: FlowSlot,
}

impl Timed for Alarm {
    fn at(&self) -> Time {
        self.at
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlarmKind {
    Pace,
    Timeout,
    /// The control's rate, and its window with it, may grow without an acknowledgement.
    Rise,
}

/// The timers of the flows of a NIC.
#[derive(Debug)]
pub(super) struct Timers {
    alarms: Alarms<Alarm>,
    /// First timeouts of flows. They are in the order of time, and most flows end before theirs.
    timeouts: VecDeque<Alarm>,
}

impl Timers {
    pub const fn new() -> Self {
        Self {
            alarms: Alarms::new(),
            timeouts: VecDeque::new(),
        }
    }

    /// Sets a timer of a flow.
    pub fn set<S: Sink>(&mut self, alarm: Alarm, sink: &mut S) {
        self.alarms.set(alarm, sink);
    }

    /// Sets the first timeout of a flow. No earlier call had a later time.
    pub fn set_first_timeout<S: Sink>(&mut self, alarm: Alarm, sink: &mut S) {
        debug_assert!(
            self.timeouts.back().is_none_or(|last| last.at <= alarm.at),
            "first timeouts are in the order of time"
        );
        if self.timeouts.is_empty() {
            sink.wake(alarm.at);
        }
        self.timeouts.push_back(alarm);
    }

    /// Takes the earliest timer if it is due. Otherwise wakes the NIC for it. Forgets first timeouts of flows
    /// that have finished.
    pub fn due<S: Sink>(&mut self, now: Time, flows: &[Flow], sink: &mut S) -> Option<Alarm> {
        let is_gone = |alarm: &Alarm| !flows[alarm.slot.index()].is_open(alarm.flow);
        loop {
            while self.timeouts.front().is_some_and(is_gone) {
                self.timeouts.pop_front();
            }
            let timeout = self.timeouts.front().copied();
            let next = self.alarms.first();
            let alarm = match (timeout, next) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            };
            if alarm.at > now {
                sink.wake(alarm.at);
                return None;
            }
            if timeout == Some(alarm) {
                self.timeouts.pop_front();
            } else {
                self.alarms.pop();
            }
            if !is_gone(&alarm) {
                return Some(alarm);
            }
        }
    }

    /// Fetches what the next call of [`Self::due`] reads. Changes nothing.
    #[inline]
    pub fn prefetch(&self) {
        self.alarms.prefetch();
        prefetch(self.timeouts.as_slices().0, 0);
    }

    /// Returns the flow of a timer that may be next.
    #[inline]
    pub fn next(&self) -> Option<FlowSlot> {
        let next = self.alarms.first();
        next.or_else(|| self.timeouts.front().copied())
            .map(|alarm| alarm.slot)
    }
}
