//! A simple calendar, used as the reference in tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::Key;
use super::{Calendar, Event};
use crate::Time;

/// A calendar that is a binary heap. It is slow with many events, but simple: the reference in
/// tests of the [`Wheel`](super::Wheel).
#[derive(Clone, Debug, Default)]
pub struct Naive {
    heap: BinaryHeap<Reverse<Key>>,
    popped_ps: Time,
}

impl Naive {
    /// Creates an empty calendar at time 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Calendar for Naive {
    #[inline]
    fn push(&mut self, event: Event) {
        debug_assert!(
            event.time >= self.popped_ps,
            "{event:?} is before {} ps",
            self.popped_ps
        );
        self.heap.push(Reverse(Key::of(event)));
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        let event = self.peek_before(limit)?;
        self.heap.pop();
        self.popped_ps = event.time;
        Some(event)
    }

    #[inline]
    fn pop_now(&mut self) -> Option<Event> {
        self.pop_before(self.popped_ps.saturating_add(1))
    }

    #[inline]
    fn peek_before(&mut self, limit: Time) -> Option<Event> {
        let Reverse(key) = *self.heap.peek()?;
        (key.time() < limit).then(|| key.event())
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}
