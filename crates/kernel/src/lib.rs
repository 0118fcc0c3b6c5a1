//! Discrete-event engine. Knows time, order and chance, and nothing of networks.

pub mod random;

pub use random::{Purpose, Stream, mix64};

/// Simulated time in integer picoseconds.
pub type Time = u64;
