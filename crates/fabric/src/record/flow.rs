//! Rows of `flows.parquet`.

use dataplane::units::Time;
use traffic::Flow;

use super::table::{Column, Row, columns};

/// One flow, finished or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// The flow as the traffic generator defines it.
    pub flow: Flow,
    /// Time at which the receiver had the last byte, ps; `None`: the flow did not complete.
    pub received_ps: Option<Time>,
    /// Time at which the sender received the last ACK, ps; `None`: the ACK did not arrive.
    pub acked_ps: Option<Time>,
    /// FCT until the last byte at the receiver, if the flow were alone in the network, in ps.
    pub ideal_received_ps: Time,
    /// FCT until the last ACK at the sender, if the flow were alone in the network, in ps.
    pub ideal_acked_ps: Time,
    /// Number of retransmitted data packets.
    pub retransmitted: u32,
}

impl FlowRecord {
    /// Returns true if the receiver has all bytes and the sender has the last ACK.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.received_ps.is_some() && self.acked_ps.is_some()
    }

    /// Returns the FCT to the receiver's last byte, divided by the ideal FCT; `None`: the receiver
    /// does not have the last byte.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        self.over_ideal(self.received_ps?, self.ideal_received_ps)
    }

    /// Returns the FCT to the sender's last ACK, divided by the ideal FCT; `None`: the ACK has not
    /// arrived.
    #[must_use]
    pub fn slowdown_acked(&self) -> Option<f64> {
        self.over_ideal(self.acked_ps?, self.ideal_acked_ps)
    }

    fn over_ideal(&self, end_ps: Time, ideal_ps: Time) -> Option<f64> {
        let fct_ps = end_ps.saturating_sub(self.flow.start_ps);
        Some(fct_ps as f64 / ideal_ps.max(1) as f64)
    }
}

impl Row for FlowRecord {
    const TABLE: &'static str = "flows";
    const ABOUT: &'static str = "A flow, finished or not.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 id = |r| r.flow.id, "Number of the flow.";
        TrafficName source = |r| r.flow.source.into(), "Name of its traffic.";
        U32 src = |r| r.flow.src, "The host that sends.";
        U32 dst = |r| r.flow.dst, "The host that receives.";
        U64 bytes = |r| r.flow.bytes, "Payload.";
        U8 class = |r| r.flow.class, "Traffic class.";
        Bool incast = |r| r.flow.incast, "It belongs to an incast.";
        U16 port = |r| r.flow.port, "Port of the receiver.";
        U64 start_ps = |r| r.flow.start_ps, "Its start.";
        OptionU64 received_ps, "When the receiver had the last byte.";
        OptionU64 acked_ps, "When the sender had the last acknowledgement.";
        U64 ideal_received_ps, "FCT to the receiver's last byte of the flow alone in the network.";
        U64 ideal_acked_ps, "FCT to the sender's last ACK of the flow alone in the network.";
        OptionF64 slowdown = Self::slowdown, "FCT to the receiver's last byte over the ideal one.";
        OptionF64 slowdown_acked = Self::slowdown_acked,
            "FCT to the sender's last ACK over the ideal one.";
        U32 retransmitted, "Data packets sent again, also by flows that did not finish.";
        Bool finished = Self::is_finished, "The receiver had everything, and the sender knows it.";
    };

    /// Sorts the rows by the time of the last ACK. Unfinished flows are last, sorted by flow ID.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.acked_ps.unwrap_or(Time::MAX), r.flow.id));
    }
}
