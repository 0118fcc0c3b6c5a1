//! Answers of a switch that transports require: a shaped class, trimming.

use crate::units::{Rate, Time};

/// The queue of credits at every port, of switches and NICs alike (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditQueue {
    /// Bytes of a credit.
    pub credit_bytes: u16,
    /// Bytes of the largest frame that a credit lets go. Credits get
    /// credit / (credit + frame) of the link.
    pub frame_bytes: u16,
    /// Credits that may wait; one more is dropped.
    pub limit: u16,
    /// Credits that may leave at once after a silence, at least 1.
    pub burst: u16,
}

impl CreditQueue {
    /// Mean time between two credits of a link, in ps.
    // XP-02
    #[must_use]
    pub fn gap_ps(&self, rate: Rate) -> Time {
        rate.serialisation_ps(u64::from(self.credit_bytes) + u64::from(self.frame_bytes))
    }
}

/// Trimming at a switch (`specs/ndp.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimConfig {
    /// Data packets that may wait at a port and class.
    pub packets: u16,
    /// Bytes of a header.
    pub header_bytes: u16,
    /// Bytes of headers and other control that may wait at a port.
    pub control_bytes: u64,
    /// Control packets that go for each data packet while both wait.
    pub weight: u16,
    /// Of an arriving packet and the last in the queue one is trimmed by chance; else always the
    /// arriving one.
    pub either: bool,
    /// A header that finds no room goes back to its sender instead of being dropped.
    pub returns: bool,
}

/// Answers of a switch that a transport requires, beside those that a scenario chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchRequirements {
    /// The control class is shaped.
    pub shaped: Option<CreditQueue>,
    /// Data packets are trimmed.
    pub trim: Option<TrimConfig>,
}
