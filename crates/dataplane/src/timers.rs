//! Timers of a switch or NIC, in the order of expiry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::prefetch::prefetch;
use crate::sink::Sink;
use crate::units::Time;

/// Timers that have not expired. `K` identifies a timer. Timers that expire at the same time are
/// returned in the order of `K`.
#[derive(Clone, Debug)]
pub(crate) struct Timers<K>(BinaryHeap<Reverse<(Time, K)>>);

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<K: Copy + Ord> Timers<K> {
    /// Sets a timer. Schedules a call of the node if this timer is the first to expire.
    pub fn set<S: Sink>(&mut self, at: Time, timer: K, sink: &mut S) {
        if self.first().is_none_or(|first| (at, timer) < first) {
            sink.wake(at);
        }
        self.add(at, timer);
    }

    /// Sets a timer. The caller must schedule the call of the node.
    pub fn add(&mut self, at: Time, timer: K) {
        self.0.push(Reverse((at, timer)));
    }

    /// Returns the time of the timer that expires first, and this timer.
    #[inline]
    pub fn first(&self) -> Option<(Time, K)> {
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

    /// Changes the time of the first timer to `at`.
    pub fn postpone(&mut self, at: Time) {
        if let Some(mut first) = self.0.peek_mut() {
            first.0.0 = at;
        }
    }

    /// Removes and returns the first timer if it has expired.
    pub fn expired(&mut self, now: Time) -> Option<(Time, K)> {
        let first = self.first().filter(|&(at, _)| at <= now);
        first.inspect(|_| self.pop())
    }

    /// Like [`Self::expired`], but schedules a call of the node at the time of the first timer if
    /// it has not expired.
    pub fn due<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<K> {
        let (at, timer) = self.first()?;
        if at > now {
            sink.wake(at);
            return None;
        }
        self.pop();
        Some(timer)
    }
}
