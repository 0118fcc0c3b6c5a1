//! Reasons why a flow does not send. Its NIC reports them to a simulation that records delay
//! breakdowns.

use crate::units::Time;

/// Reason for which a flow waits at its NIC. Rules in `specs/blame.md`.
// BLM-11
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The flow may send, but other flows use the port, or its class is paused or lacks credit.
    Turn,
    /// Earlier messages of its queue pair are sent until this time. From then on the reason is
    /// `Turn`.
    Pair(Time),
    /// The flow waits for its pacing time, which is given here. From then on the reason is `Turn`.
    Pace(Time),
    /// The window is full.
    Window,
    /// All data were sent, and ACKs are outstanding. Data sent after this wait are retransmissions.
    Answers,
    /// A retransmission timeout ended the wait, so a loss caused it.
    TimedOut,
    /// Its queue at the NIC, or the flow itself, is paused. Contains the number of the queue or the
    /// flow ID.
    Paused(u32),
    /// Its destination is paused.
    Destination,
    /// The receiver must permit it to send, by credits, grants or pulls.
    Receiver,
    /// No path leads to its receiver, because links are down.
    Reach,
}
