//! `queues.parquet`.

use dataplane::units::Time;

use super::table::{Column, Row, Value, column};
use crate::ids::NodeId;

/// A probe of one switch, or equal ones in a row: while the network is empty, all see the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSample {
    /// When; of several, the last.
    pub at_ps: Time,
    /// When the first of them was; equal to `at_ps` where it is one.
    pub from_ps: Time,
    /// Number of probes at equal intervals; at least 1.
    pub probes: u64,
    /// The switch.
    pub node: NodeId,
    /// Bytes in its shared buffer.
    pub used_bytes: u64,
    /// Bytes queued at its fullest port, including parked packets.
    pub max_port_bytes: u64,
}

impl Row for BufferSample {
    const TABLE: &'static str = "queues";
    const ABOUT: &'static str = "A probe of one switch, or equal ones in a row.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "at_ps",
            Value::U64(|r| r.at_ps),
            "When; of several, the last.",
        ),
        column("node", Value::U32(|r| r.node.bits()), "The switch."),
        column("name", Value::NodeName(|r| r.node), "Its name."),
        column("tier", Value::NodeTier(|r| r.node), "Its tier."),
        column(
            "used_bytes",
            Value::U64(|r| r.used_bytes),
            "Bytes in its shared buffer.",
        ),
        column(
            "max_port_bytes",
            Value::U64(|r| r.max_port_bytes),
            "Bytes queued at its fullest port, with what is held for it.",
        ),
        column(
            "from_ps",
            Value::U64(|r| r.from_ps),
            "When the first of the probes was.",
        ),
        column(
            "probes",
            Value::U64(|r| r.probes),
            "How many probes, at equal distances.",
        ),
    ];

    /// The rows are already ordered: a probe samples all partitions in the order of the nodes.
    fn order(_: &mut Vec<Self>) {}
}
