//! The precision with which a run computes times: picoseconds, or nanoseconds as in ns-3.

use dataplane::units::{NS, Rate, Time, cut_to_ns};

/// Precision of the times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Exact to the picosecond.
    #[default]
    Exact,
    /// Serialisation times, pacing gaps and start times of flows are truncated to nanoseconds.
    Nanoseconds {
        /// Reading of the clock at simulation time 0, in ps. Start times are truncated on this
        /// clock.
        epoch_ps: Time,
    },
}

impl Clock {
    /// Returns `rate` with serialisation times in the precision of this clock.
    #[must_use]
    pub const fn of(self, rate: Rate) -> Rate {
        match self {
            Self::Exact => rate,
            Self::Nanoseconds { .. } => rate.cut(),
        }
    }

    /// Returns the time at which a flow starts, if the traffic generator specifies `start_ps`.
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
