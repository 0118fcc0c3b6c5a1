//! Timers of a NIC, ordered by expiry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::prefetch::prefetch;
use crate::sink::Sink;
use crate::units::Time;

/// A timer with an expiry. Timers are ordered by expiry first.
pub(crate) trait Timed: Copy + Ord {
    /// Returns the expiry.
    fn at(&self) -> Time;
}

/// Timers that have not expired yet.
#[derive(Debug)]
pub(crate) struct Alarms<A>(BinaryHeap<Reverse<A>>);

impl<A: Timed> Alarms<A> {
    pub const fn new() -> Self {
        Self(BinaryHeap::new())
    }

    /// Sets a timer. Schedules a call of the NIC if it is the first timer.
    pub fn set<S: Sink>(&mut self, alarm: A, sink: &mut S) {
        if self.first().is_none_or(|first| alarm < first) {
            sink.wake(alarm.at());
        }
        self.add(alarm);
    }

    /// Sets a timer whose call of the NIC the caller schedules.
    pub fn add(&mut self, alarm: A) {
        self.0.push(Reverse(alarm));
    }

    /// Returns the first timer.
    #[inline]
    pub fn first(&self) -> Option<A> {
        self.0.peek().map(|first| first.0)
    }

    /// Prefetches the first timer. Changes no state.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.0.as_slice(), 0);
    }

    /// Removes the first timer.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// Removes and returns the first timer if it has expired. Otherwise schedules a call of the NIC
    /// for it.
    pub fn due<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<A> {
        let first = self.first()?;
        if first.at() > now {
            sink.wake(first.at());
            return None;
        }
        self.pop();
        Some(first)
    }
}
