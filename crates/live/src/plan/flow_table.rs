//! The result table of the flows that a host has started.

use fabric::record::table::{Column, Row, Value, column};

use crate::host::flows::OwnFlow;

fn slowdown(flow: &OwnFlow) -> Option<f64> {
    Some(flow.fct_ps()? as f64 / flow.ideal_ps.max(1) as f64)
}

// HST-31: table of flows
impl Row for OwnFlow {
    const TABLE: &'static str = "flows";
    const ABOUT: &'static str = "A flow that the host has begun, finished or not.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "id",
            Value::U32(|r| r.flow.id),
            "Number of the flow in the scenario.",
        ),
        column("src", Value::U32(|r| r.flow.src), "The host that sends."),
        column("dst", Value::U32(|r| r.flow.dst), "The host that receives."),
        column("bytes", Value::U64(|r| r.flow.bytes), "Payload."),
        column("class", Value::U8(|r| r.flow.class), "Traffic class."),
        column(
            "incast",
            Value::Bool(|r| r.flow.incast),
            "It belongs to an incast.",
        ),
        column(
            "start_ps",
            Value::U64(|r| r.flow.start_ps),
            "Its start, since the host began.",
        ),
        column(
            "acked_ps",
            Value::OptionU64(|r| r.acked_ps),
            "When the sender had the last acknowledgement.",
        ),
        column(
            "fct_ps",
            Value::OptionU64(OwnFlow::fct_ps),
            "How long that took.",
        ),
        column(
            "ideal_acked_ps",
            Value::U64(|r| r.ideal_ps),
            "The same for the flow alone in the network of the scenario.",
        ),
        column(
            "slowdown_acked",
            Value::OptionF64(slowdown),
            "How long it took over the ideal.",
        ),
        column(
            "retransmitted",
            Value::U32(|r| r.retransmitted),
            "Data packets sent again.",
        ),
        column(
            "finished",
            Value::Bool(|r| r.acked_ps.is_some()),
            "The sender had the last acknowledgement.",
        ),
    ];

    /// Sorts flows by flow ID.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|row| row.flow.id);
    }
}
