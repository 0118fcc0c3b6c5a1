//! Functions of switches that receiver-driven transports require: a rate-shaped class for credits,
//! packet trimming.

use crate::units::{Rate, Time};

/// Credit queue with a rate shaper at every port of switches and NICs (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditQueue {
    /// Size of a credit in bytes.
    pub credit_bytes: u16,
    /// Size in bytes of the largest frame that a credit permits. Credits may use the fraction
    /// `credit_bytes` / (`credit_bytes` + `frame_bytes`) of the link rate.
    pub frame_bytes: u16,
    /// Maximum number of queued credits. Further credits are dropped.
    pub limit: u16,
    /// Maximum number of credits that are sent back to back after an idle time, at least 1.
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
    /// Maximum number of queued data packets at a port and class. Further packets are trimmed.
    pub packets: u16,
    /// Size of a trimmed packet (header) in bytes.
    pub header_bytes: u16,
    /// Maximum bytes of queued headers and other control packets at a port.
    pub control_bytes: u64,
    /// Number of control packets sent per data packet while both are queued.
    pub weight: u16,
    /// True to trim, at random, either the arriving packet or the last packet in the queue. False
    /// to trim the arriving packet.
    pub either: bool,
    /// True if a trimmed header is returned to its sender, instead of dropped, when the control
    /// queue is full.
    pub returns: bool,
}

/// Functions of a switch that a transport requires in addition to those that a scenario selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchRequirements {
    /// Rate shaping of the control class, which carries credits.
    pub shaped: Option<CreditQueue>,
    /// Trimming of data packets.
    pub trim: Option<TrimConfig>,
}
