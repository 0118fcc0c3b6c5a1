//! The wall clock in picoseconds, the time unit of the dataplane.

use std::time::{Duration, Instant};

use dataplane::units::{NS, Time};

/// A monotonic clock that counts picoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// Creates a clock that starts at 0 now.
    #[must_use]
    pub fn start() -> Self {
        let start = Instant::now();
        Self { start }
    }

    /// Returns the time since the start of the clock, in ps.
    #[must_use]
    pub fn now(&self) -> Time {
        self.start.elapsed().as_nanos() as Time * NS
    }

    /// Returns the time that remains until `at`, or zero if `at` has passed.
    #[must_use]
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()).div_ceil(NS))
    }
}
