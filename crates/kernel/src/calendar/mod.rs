//! Calendars: queues of pending events in the order in which they will happen.
//!
//! # Order
//! Events are ordered by their content (KER-01): by time, then [`phase`], then [tie](Event::tie),
//! then argument. The order does not depend on when events were pushed or on which other events
//! exist. So results stay the same if an event without effect is omitted, or if several threads
//! simulate parts of the network. Among the arrivals of one instant the tie is a bijection of the
//! id that changes with the time (KER-03). With the id itself, under a periodic load the packets of
//! the same link would always enter the buffer first.
//!
//! # Limits
//! The simulation loop may still receive events for a later time from other threads. It then pops
//! only events *before* a limit. The calendar does not advance beyond the limit (KER-05), so events
//! at or after the limit can still be pushed.

mod event;
mod fifo;
mod naive;
mod ring;
mod wheel;
mod width;

pub use event::{Event, phase};
pub use fifo::Fifo;
pub use naive::Naive;
pub use wheel::Wheel;

use crate::Time;

/// A queue of pending events.
pub trait Calendar {
    /// True if events of one instant are popped in the order in which they were pushed (KER-09),
    /// instead of the order of their content (KER-01).
    const IN_ORDER_OF_SCHEDULING: bool = false;

    /// Adds an event. Its time must not be before the time of the last popped event; debug builds
    /// check this. If an event of the current instant sorts before the last popped event, it is
    /// popped next.
    fn push(&mut self, event: Event);

    /// Removes and returns the first event if its time is strictly before `limit`.
    ///
    /// If it returns `None`, pushes at or after the last popped time stay legal. An event at
    /// `Time::MAX` is never popped.
    fn pop_before(&mut self, limit: Time) -> Option<Event>;

    /// Returns the event that [`pop_before`](Self::pop_before) would remove. A pop after it is
    /// cheap, because the search is not repeated.
    fn peek_before(&mut self, limit: Time) -> Option<Event>;

    /// Removes and returns the next event if it has the time of the last popped event. May be
    /// called only after an event was popped. Cheaper than [`pop_before`](Self::pop_before) if
    /// there is no such event.
    fn pop_now(&mut self) -> Option<Event>;

    /// Returns the next events in reverse order: the last one is popped first. This is a hint for
    /// prefetching. The list can be incomplete or empty, and no decision may depend on it.
    fn upcoming(&self) -> &[Event] {
        &[]
    }

    /// Returns events that follow those of [`upcoming`](Self::upcoming), in any order. This is also
    /// only a hint. Each such list is returned once: when `left` upcoming events remain, or earlier
    /// if there were fewer. Otherwise the result is empty.
    fn following(&self, left: usize) -> &[Event] {
        let _ = left;
        &[]
    }

    /// Returns the number of pending events.
    fn len(&self) -> usize;

    /// Returns true if no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
