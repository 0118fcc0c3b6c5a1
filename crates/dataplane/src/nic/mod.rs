//! The NIC: which flow sends next, how fast, and what happens when something is lost.

pub mod control;
pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod timely;

use crate::units::Time;

/// What a sender's NIC says when the last acknowledgement of a flow is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Number of the flow in its run.
    pub flow: u32,
    /// When the receiver had the last byte, in ps.
    pub received_ps: Time,
    /// When the sender had the last acknowledgement, in ps.
    pub acked_ps: Time,
    /// Data packets that were sent again.
    pub retransmitted: u32,
}
