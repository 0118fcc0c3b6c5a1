//! Reasons why a flow does not send, reported by its NIC to a driver that records delay breakdowns.

use crate::units::Time;

/// Reason for which a flow waits at its NIC. Rules in `specs/blame.md`.
// BLM-11
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The flow may send, but other flows use the port or its class may not send.
    Turn,
    /// Pacing until this time, then the turn of the flow.
    Pace(Time),
    /// The window is full.
    Window,
    /// All data are sent, and replies are outstanding. Data sent after this wait replace lost data.
    Answers,
    /// A timeout ended the wait, which was caused by a loss.
    TimedOut,
    /// Its queue at the NIC, or the flow itself, is paused. The number identifies the pause.
    Paused(u32),
    /// Its destination is paused.
    Destination,
    /// The receiver must permit it to send, by credits, grants or pulls.
    Receiver,
    /// The links to its receiver are down.
    Reach,
}
