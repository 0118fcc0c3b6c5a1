//! The wall clock, in the dataplane's unit.

use std::time::{Duration, Instant};

use dataplane::units::{NS, Time};

/// Time since the start of a program, in picoseconds. It never goes back.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// It is 0 now.
    #[must_use]
    pub fn start() -> Self {
        let start = Instant::now();
        Self { start }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.start.elapsed().as_nanos() as Time * NS
    }

    /// How long it is until a time; nothing if it is over.
    #[must_use]
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()).div_ceil(NS))
    }
}
