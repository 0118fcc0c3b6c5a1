//! `ports.parquet` and `active.parquet`.

use dataplane::sink::DROP_CAUSES;
use dataplane::units::Time;

use super::table::{Column, Row, Value, column};
use crate::ids::NodeId;

/// Everything counted at one port (its sending direction), over the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortRecord {
    /// Node that sends.
    pub node: NodeId,
    /// Port of the node.
    pub port: u16,
    /// Node at the other end.
    pub peer: NodeId,
    /// Speed in bits per second.
    pub rate_bps: u64,
    /// Propagation delay in ps.
    pub delay_ps: Time,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Data packets among them.
    pub tx_data_packets: u64,
    /// Bytes of data packets, headers included.
    pub tx_data_bytes: u64,
    /// Bytes of ACKs, NAKs and CNPs.
    pub tx_reply_bytes: u64,
    /// Bytes of credits between switches.
    pub tx_credit_bytes: u64,
    /// Data packets that left marked by this port.
    pub marked: u64,
    /// Packets dropped that were to leave by this port, per `DropCause`; by `Link`: that left by it
    /// and were lost on its link.
    pub dropped: [u64; DROP_CAUSES],
    /// Most bytes ever queued at this port.
    pub max_queue_bytes: u64,
    /// Largest sum of the bytes queued at this port and the bytes parked for it.
    pub max_port_bytes: u64,
    /// Number of times that PFC paused a class of the port.
    pub pauses: u64,
    /// Times that such a pause ended: XON arrived, or the pause time was over.
    pub resumes: u64,
    /// PFC frames with XOFF received, repetitions included.
    pub pause_frames: u64,
    /// PFC frames with XON received.
    pub resume_frames: u64,
    /// Time during which at least one class was paused by PFC, ps.
    pub paused_ps: Time,
    /// Histogram of active flows (at least one packet queued at the port) over the probes:
    /// element n counts the probes that saw n; the last element counts those that saw more.
    pub active_flows: Vec<u64>,
}

/// Names of the causes of drops, in their numbering.
pub const DROP_NAMES: [&str; DROP_CAUSES] = [
    "buffer",
    "egress_threshold",
    "no_route",
    "link",
    "credit_limit",
];

impl Row for PortRecord {
    const TABLE: &'static str = "ports";
    const ABOUT: &'static str = "A port in its sending direction, over the whole run.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "node",
            Value::U32(|r| r.node.bits()),
            "The node that sends.",
        ),
        column("name", Value::NodeName(|r| r.node), "Its name."),
        column("tier", Value::NodeTier(|r| r.node), "Its tier."),
        column("port", Value::U16(|r| r.port), "Its port."),
        column(
            "peer",
            Value::U32(|r| r.peer.bits()),
            "The node at the other end.",
        ),
        column(
            "peer_name",
            Value::PeerName(|r| (r.node, r.port, r.peer)),
            "Name of the neighbour, followed by `#n` if several links join the two nodes.",
        ),
        column("peer_tier", Value::NodeTier(|r| r.peer), "Its tier."),
        column(
            "direction",
            Value::Direction(|r| (r.node, r.peer)),
            "`up`, `down` or `side`.",
        ),
        column("rate_bps", Value::U64(|r| r.rate_bps), "Speed of the link."),
        column(
            "delay_ps",
            Value::U64(|r| r.delay_ps),
            "Propagation delay of the link.",
        ),
        column("tx_packets", Value::U64(|r| r.tx_packets), "Frames sent."),
        column("tx_bytes", Value::U64(|r| r.tx_bytes), "Bytes sent."),
        column(
            "tx_data_bytes",
            Value::U64(|r| r.tx_data_bytes),
            "Bytes of data packets, headers included.",
        ),
        column(
            "tx_reply_bytes",
            Value::U64(|r| r.tx_reply_bytes),
            "Bytes of ACKs, NAKs and CNPs.",
        ),
        column(
            "tx_credit_bytes",
            Value::U64(|r| r.tx_credit_bytes),
            "Bytes of credits between switches.",
        ),
        column(
            "marked",
            Value::U64(|r| r.marked),
            "Data packets that left marked by this port.",
        ),
        column(
            "max_queue_bytes",
            Value::U64(|r| r.max_queue_bytes),
            "Most bytes ever queued at this port.",
        ),
        column(
            "max_port_bytes",
            Value::U64(|r| r.max_port_bytes),
            "The same with what was held for this port.",
        ),
        column(
            "pauses",
            Value::U64(|r| r.pauses),
            "Times that PFC began to pause a class of the port.",
        ),
        column(
            "resumes",
            Value::U64(|r| r.resumes),
            "Times that such a pause ended: XON arrived, or the pause time was over.",
        ),
        column(
            "pause_frames",
            Value::U64(|r| r.pause_frames),
            "PFC frames with XOFF received, repetitions included.",
        ),
        column(
            "resume_frames",
            Value::U64(|r| r.resume_frames),
            "PFC frames with XON received.",
        ),
        column(
            "paused_ps",
            Value::U64(|r| r.paused_ps),
            "Time during which PFC held at least one class.",
        ),
        column(
            "dropped_buffer",
            Value::U64(|r| r.dropped[0]),
            "Packets for this port that found the buffer full.",
        ),
        column(
            "dropped_egress_threshold",
            Value::U64(|r| r.dropped[1]),
            "Packets over the threshold of their egress.",
        ),
        column(
            "dropped_no_route",
            Value::U64(|r| r.dropped[2]),
            "Packets to a destination without a route.",
        ),
        column(
            "dropped_link",
            Value::U64(|r| r.dropped[3]),
            "Packets lost on the link.",
        ),
        column(
            "dropped_credit_limit",
            Value::U64(|r| r.dropped[4]),
            "Credits that found too many waiting.",
        ),
    ];

    /// The engine makes them in the order of node and port.
    fn order(_: &mut Vec<Self>) {}
}

/// Number of probes that found a given number of active flows at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRecord {
    /// The node.
    pub node: NodeId,
    /// Port of that node.
    pub port: u16,
    /// The node at the other end.
    pub peer: NodeId,
    /// Flows with at least one packet queued at the port.
    pub active: u32,
    /// Probes that saw this number, at least 1.
    pub probes: u64,
}

impl Row for ActiveRecord {
    const TABLE: &'static str = "active";
    const ABOUT: &'static str = "How many probes saw a number of active flows at a port.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("node", Value::U32(|r| r.node.bits()), "The switch."),
        column("name", Value::NodeName(|r| r.node), "Its name."),
        column("tier", Value::NodeTier(|r| r.node), "Its tier."),
        column("port", Value::U16(|r| r.port), "Its port."),
        column(
            "direction",
            Value::Direction(|r| (r.node, r.peer)),
            "`up`, `down` or `side`.",
        ),
        column(
            "active",
            Value::U32(|r| r.active),
            "Flows with at least one packet queued at the port.",
        ),
        column(
            "probes",
            Value::U64(|r| r.probes),
            "Probes that saw this number.",
        ),
    ];

    /// In the order of the ports.
    fn order(_: &mut Vec<Self>) {}
}

impl PortRecord {
    /// The histogram of active flows, as rows.
    pub fn active(&self) -> impl Iterator<Item = ActiveRecord> {
        let seen = (0..)
            .zip(&self.active_flows)
            .filter(|(_, probes)| **probes > 0);
        seen.map(|(active, &probes)| ActiveRecord {
            node: self.node,
            port: self.port,
            peer: self.peer,
            active,
            probes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_of_drops_has_its_column() {
        let names = PortRecord::COLUMNS.iter().map(|column| column.name);
        let drops: Vec<&str> = names
            .filter_map(|name| name.strip_prefix("dropped_"))
            .collect();
        assert_eq!(drops, DROP_NAMES);
    }
}
