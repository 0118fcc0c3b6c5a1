//! Discrete-event kernel: time, order of events, random numbers and digests. It does not depend on
//! what is simulated.
//!
//! - [`calendar`] stores pending [`Event`]s and pops them in an order that depends only on their
//!   content. [`Wheel`] is the fast calendar. [`Naive`] is a simple calendar for tests of `Wheel`.
//! - [`random`] provides counter-based [`Stream`]s, one per seed, entity and purpose.
//! - [`Fifo`] pops the events of one instant in the order of scheduling, and [`mrg`] is the random
//!   number generator of ns-3. They serve to reproduce runs of ns-3.
//! - [`digest`] computes a running hash per entity and combines these hashes into a [`Digest`].
//! - [`small_sort`] sorts a few values.
//! - [`Barrier`] synchronises the threads of a run.
//!
//! The crate reads no clock and starts no thread. Its results do not depend on addresses, on the
//! order of a hash map or on the mathematical library of the system. The same calls give the same
//! results on every machine. `specs/kernel.md` has the rules of this crate; comments cite them as
//! `KER-01` and so on.

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
