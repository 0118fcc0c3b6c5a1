//! Calendars: queues of pending events in the order in which they will happen.
//!
//! # Order
//! Events are ordered by their content (KER-01): by time, then [`phase`], then [tie](Event::tie),
//! then argument. The order does not depend on when events were pushed or on which other events
//! exist. So results stay the same if a useless event is left out, or if threads divide the work.
//! Among the arrivals of one instant the tie is a bijection of the id that changes with the time
//! (KER-03). If the id itself decided, the same link would win every race for a buffer while the
//! load stays in step.
//!
//! # Limits
//! A driver may still receive events for a later time, for example from another partition. It then
//! pops only events *before* a limit. The calendar does not advance beyond the limit (KER-05), so a
//! new event at or after the limit still finds its place.

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
    /// True if events of one instant come in the order in which they were pushed (KER-09), instead
    /// of the order of their content (KER-01).
    const IN_ORDER_OF_SCHEDULING: bool = false;

    /// Adds an event. Its time must not be before the last popped event; debug builds check this.
    /// An event of the current instant may sort before the last popped event. It is then the next
    /// to be popped.
    fn push(&mut self, event: Event);

    /// Removes and returns the first event if its time is strictly before `limit`.
    ///
    /// If there is none, later pushes at or after the last popped time stay legal. An event at
    /// `Time::MAX` is never popped.
    fn pop_before(&mut self, limit: Time) -> Option<Event>;

    /// Returns the event that [`pop_before`](Self::pop_before) would remove. A following pop is
    /// then cheap, because the search is not repeated.
    fn peek_before(&mut self, limit: Time) -> Option<Event>;

    /// Removes and returns the next event if it has the time of the last popped event. May be
    /// called only after a first pop. Cheaper than [`pop_before`](Self::pop_before) if there is no
    /// such event.
    fn pop_now(&mut self) -> Option<Event>;

    /// Returns the events that come next, the next one last, as far as they are known without work.
    /// This is a hint for prefetching: events may be missing, and no decision may depend on it.
    fn upcoming(&self) -> &[Event] {
        &[]
    }

    /// Returns events that will follow those of [`upcoming`](Self::upcoming), unordered, as far as
    /// they are known. This is also only a hint. They are returned once: when `left` upcoming
    /// events remain, or all if there were fewer.
    fn following(&self, left: usize) -> &[Event] {
        let _ = left;
        &[]
    }

    /// Number of pending events.
    fn len(&self) -> usize;

    /// True if no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
