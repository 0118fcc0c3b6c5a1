//! How a run rounds times.

use dataplane::units::{NS, Rate, Time, cut_to_ns};

/// Precision of the times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Exact to the picosecond.
    #[default]
    Exact,
    /// Serialisation times, pacing gaps and starts of flows are truncated to nanoseconds.
    Nanoseconds {
        /// Reading of the clock at time 0, ps. Starts are truncated on this clock.
        epoch_ps: Time,
    },
}

impl Clock {
    /// Returns a rate whose serialisation times follow this clock.
    #[must_use]
    pub const fn of(self, rate: Rate) -> Rate {
        match self {
            Self::Exact => rate,
            Self::Nanoseconds { .. } => rate.cut(),
        }
    }

    /// Returns the time at which a flow starts whose traffic gives `start_ps`.
    // NS3-03
    #[must_use]
    pub fn start(self, start_ps: Time) -> Time {
        let Self::Nanoseconds { epoch_ps } = self else {
            return start_ps;
        };
        let seconds = (start_ps + epoch_ps) as f64 / 1e12;
        (cut_to_ns(seconds) * NS).saturating_sub(epoch_ps / NS * NS)
    }
}
