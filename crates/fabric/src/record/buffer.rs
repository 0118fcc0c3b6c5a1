//! Rows of `queues.parquet`: buffer levels of switches over time.

use dataplane::units::Time;

use super::table::{Column, Row, columns};
use crate::ids::NodeId;

/// A probe of one switch, or several consecutive equal probes of an empty network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSample {
    /// Time of the probe, ps; of the last probe if there are several.
    pub at_ps: Time,
    /// Time of the first of these probes; equal to `at_ps` for a single probe.
    pub from_ps: Time,
    /// Number of probes at equal intervals; at least 1.
    pub probes: u64,
    /// The switch.
    pub node: NodeId,
    /// Bytes in the shared buffer of the switch.
    pub used_bytes: u64,
    /// Bytes queued for the port of the switch with the most such bytes, including parked packets.
    pub max_port_bytes: u64,
}

impl Row for BufferSample {
    const TABLE: &'static str = "queues";
    const ABOUT: &'static str = "A probe of one switch, or equal ones in a row.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "When; of several, the last.";
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U64 used_bytes, "Bytes in its shared buffer.";
        U64 max_port_bytes, "Bytes queued at its fullest port, with what is held for it.";
        U64 from_ps, "When the first of the probes was.";
        U64 probes, "How many probes, at equal distances.";
    };

    /// Does nothing: a probe samples the switches of all partitions in the order of nodes.
    fn order(_: &mut Vec<Self>) {}
}
