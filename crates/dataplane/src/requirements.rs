//! Functions of switches that transports require: a shaped class, trimming.

use crate::units::{Rate, Time};

/// Credit queue at every port of switches and NICs (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditQueue {
    /// Size of a credit in bytes.
    pub credit_bytes: u16,
    /// Size in bytes of the largest frame that a credit permits. Credits get the share credit /
    /// (credit + frame) of the link.
    pub frame_bytes: u16,
    /// Maximum number of queued credits. Further credits are dropped.
    pub limit: u16,
    /// Maximum number of credits sent back to back after an idle time, at least 1.
    pub burst: u16,
}

impl CreditQueue {
    /// Returns the mean time between two credits of a link, in ps.
    // XP-02
    #[must_use]
    pub fn gap_ps(&self, rate: Rate) -> Time {
        rate.serialisation_ps(u64::from(self.credit_bytes) + u64::from(self.frame_bytes))
    }
}

/// Trimming configuration of a switch (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimConfig {
    /// Maximum number of queued data packets at a port and class.
    pub packets: u16,
    /// Size of a header in bytes.
    pub header_bytes: u16,
    /// Maximum bytes of queued headers and other control packets at a port.
    pub control_bytes: u64,
    /// Number of control packets sent per data packet while both are queued.
    pub weight: u16,
    /// True to trim, at random, either the arriving packet or the last one in the queue. False to
    /// trim the arriving one.
    pub either: bool,
    /// True if a header that finds no room returns to its sender instead of being dropped.
    pub returns: bool,
}

/// Functions of a switch that a transport requires in addition to those that a scenario selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchRequirements {
    /// Shaping of the control class.
    pub shaped: Option<CreditQueue>,
    /// Trimming of data packets.
    pub trim: Option<TrimConfig>,
}
