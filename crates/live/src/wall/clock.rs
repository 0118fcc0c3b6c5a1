//! The wall clock in units of the dataplane.

use std::time::{Duration, Instant};

use dataplane::units::{NS, Time};

/// A monotonic clock that counts picoseconds since its start.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// Starts the clock at 0.
    #[must_use]
    pub fn start() -> Self {
        let start = Instant::now();
        Self { start }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.start.elapsed().as_nanos() as Time * NS
    }

    /// Returns the duration until `at`, or zero if `at` has passed.
    #[must_use]
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()).div_ceil(NS))
    }
}
