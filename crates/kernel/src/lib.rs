//! Discrete-event engine. Knows time, order and chance, and nothing of networks.
//!
//! - [`calendar`]: pending [`Event`]s, popped in an order that their content defines. The
//!   [`Wheel`] is the fast one, [`Naive`] the plain one it is tested against.
//! - [`random`]: counter-based [`Stream`]s, one per seed, entity and purpose.
//! - [`Fifo`]: events of one instant in the order of scheduling, and [`mrg`]: another simulator's
//!   generator; both serve to reproduce that simulator.
//! - [`digest`]: a running hash per entity, and the [`Digest`] of all of them.
//! - [`small_sort`]: order among a few values.
//! - [`Barrier`]: where threads that share a run wait for each other.
//!
//! Nothing here reads a clock, starts a thread or depends on an address, the order of a hash map
//! or the system's mathematical library: the same calls give the same results on every machine.
//! The rules that the crate keeps are in `specs/kernel.md`, and cited as `KER-01` and so on.

pub mod barrier;
pub mod calendar;
pub mod digest;
pub mod mrg;
pub mod random;
pub mod small_sort;

pub use barrier::{Barrier, Broken};
pub use calendar::{Calendar, Event, Fifo, Naive, Wheel, phase};
pub use digest::Digest;
pub use mrg::StreamHeads;
pub use random::{Purpose, Stream, mix64};

/// Simulated time in integer picoseconds.
pub type Time = u64;
