//! What keeps a flow from sending, as its NIC tells a driver that keeps an account of it.

use crate::units::Time;

/// What a flow waits for at its NIC. Rules in `specs/blame.md`.
// BLM-11
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It may send: others have the port, or its class may not use it.
    Turn,
    /// Its pace, until then; from then on its turn.
    Pace(Time),
    /// Its window.
    Window,
    /// Answers to what it has sent, which is everything: what it sends after that was lost.
    Answers,
    /// A timeout has ended a wait, all of which was for something that was lost.
    TimedOut,
    /// Its queue at the NIC, or it alone, is paused under this number.
    Paused(u32),
    /// Its destination is paused.
    Destination,
    /// Its receiver, which has to let it go on: by credits, grants or pulls.
    Receiver,
    /// Links that lead to its receiver.
    Reach,
}
