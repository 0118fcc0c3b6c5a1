//! Alarms of a NIC in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::prefetch::prefetch;
use crate::sink::Sink;
use crate::units::Time;

/// An alarm of some kind. The order of alarms begins with their times.
pub(crate) trait Timed: Copy + Ord {
    /// The time at which it is due.
    fn at(&self) -> Time;
}

/// Alarms that are not due yet.
#[derive(Debug)]
pub(crate) struct Alarms<A>(BinaryHeap<Reverse<A>>);

impl<A: Timed> Alarms<A> {
    pub const fn new() -> Self {
        Self(BinaryHeap::new())
    }

    /// Sets an alarm. Wakes the NIC for it if it is the first.
    pub fn set<S: Sink>(&mut self, alarm: A, sink: &mut S) {
        if self.first().is_none_or(|first| alarm < first) {
            sink.wake(alarm.at());
        }
        self.add(alarm);
    }

    /// Sets an alarm for which the caller wakes the NIC.
    pub fn add(&mut self, alarm: A) {
        self.0.push(Reverse(alarm));
    }

    /// The first alarm.
    #[inline]
    pub fn first(&self) -> Option<A> {
        self.0.peek().map(|first| first.0)
    }

    /// Fetches the first alarm. Changes nothing.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.0.as_slice(), 0);
    }

    /// Removes the first alarm.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// Removes and returns the first alarm if it is due. Otherwise wakes the NIC for it.
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
