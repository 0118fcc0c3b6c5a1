//! The calendar: events that are pending, in the order in which they will happen.
//!
//! # Order
//! Events are ordered by what they say (KER-01): by time, then [`phase`], then
//! [tie](Event::tie), then argument. When they were pushed does not matter, nor which other
//! events there are, so leaving out an event that does nothing, or dividing the work among
//! threads, changes no result. Among the arrivals of one instant the tie is not the id but a
//! bijection of the id that changes with the time (KER-03): if the id decided, the same link would
//! win every race for a buffer for as long as a load stays in step.
//!
//! # Limits
//! A driver that may get new events from outside up to some time ahead (another partition,
//! a flow that is yet to be drawn) asks only for events *before* a limit. The calendar then goes
//! no further than the limit (KER-05), so what arrives at or after it finds its place.

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
    /// Events of one instant come in the order in which they were pushed (KER-09), not in that of
    /// their content (KER-01).
    const IN_ORDER_OF_SCHEDULING: bool = false;

    /// Adds an event. Its time must not be earlier than that of the last event popped (checked
    /// where assertions are on). An event of the current instant that sorts before the last one
    /// popped is legal, and is simply the next.
    fn push(&mut self, event: Event);

    /// Takes the first event if its time is strictly before `limit`.
    ///
    /// If there is none, any later push at or after the last popped time stays legal. An event at
    /// `Time::MAX` is never popped.
    fn pop_before(&mut self, limit: Time) -> Option<Event>;

    /// What [`pop_before`](Self::pop_before) with the same limit would take. Cheap when a pop
    /// follows: the work is done only once.
    fn peek_before(&mut self, limit: Time) -> Option<Event>;

    /// Takes the first event if it is at the time of the last one popped: another of the same
    /// instant. Only after a first pop. Cheaper than [`pop_before`](Self::pop_before) when there is none.
    fn pop_now(&mut self) -> Option<Event>;

    /// Events that come next, the next one last, as far as they are known without work: a hint of
    /// what to prefetch, which may miss events and must decide nothing.
    fn upcoming(&self) -> &[Event] {
        &[]
    }

    /// Events that will follow on [`upcoming`](Self::upcoming), in no order, as far as they are known: a
    /// hint like those. They are returned once, when `left` of those are left (or all, if they were fewer).
    fn following(&self, left: usize) -> &[Event] {
        let _ = left;
        &[]
    }

    /// The number of pending events.
    fn len(&self) -> usize;

    /// Whether nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
