//! Rows of `ports.parquet` and `active.parquet`.

use dataplane::sink::DROP_CAUSES;
use dataplane::units::Time;

use super::table::{Column, Row, columns};
use crate::ids::NodeId;

/// Counters of one port, in its sending direction, for the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortRecord {
    /// Node that sends.
    pub node: NodeId,
    /// Index of the port at this node.
    pub port: u16,
    /// Node at the other end.
    pub peer: NodeId,
    /// Speed in bits per second.
    pub rate_bps: u64,
    /// Propagation delay in ps.
    pub delay_ps: Time,
    /// Number of frames sent.
    pub tx_packets: u64,
    /// Bytes of the frames sent.
    pub tx_bytes: u64,
    /// Number of data packets sent.
    pub tx_data_packets: u64,
    /// Bytes of the data packets sent, including headers.
    pub tx_data_bytes: u64,
    /// Bytes of the ACKs, NAKs and CNPs sent.
    pub tx_reply_bytes: u64,
    /// Bytes of the credit frames sent to neighbours.
    pub tx_credit_bytes: u64,
    /// Number of data packets that were marked (ECN) at this port.
    pub marked: u64,
    /// Number of dropped packets whose egress was this port, per `DropCause`. The cause `Link`
    /// counts packets that were lost on the link.
    pub dropped: [u64; DROP_CAUSES],
    /// Maximum number of bytes queued at this port.
    pub max_queue_bytes: u64,
    /// Maximum of the bytes queued at this port plus the bytes parked for it.
    pub max_port_bytes: u64,
    /// Number of times that PFC paused a class of the port.
    pub pauses: u64,
    /// Number of times that a PFC pause of a class ended: XON arrived, or the pause time expired.
    pub resumes: u64,
    /// Number of received PFC frames with XOFF, including repetitions.
    pub pause_frames: u64,
    /// Number of received PFC frames with XON.
    pub resume_frames: u64,
    /// Time during which at least one class was paused by PFC, ps.
    pub paused_ps: Time,
    /// Histogram of active flows (at least one packet queued at the port): element n is the number
    /// of probes at which n flows were active. The last element also counts higher numbers of
    /// flows.
    pub active_flows: Vec<u64>,
}

/// Names of the causes of drops, in the order of `DropCause`.
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
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The node that sends.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Name of the neighbour, followed by `#n` if several links join the two nodes.";
        NodeTier peer_tier = |r| r.peer, "Its tier.";
        Direction direction = |r| (r.node, r.peer), "`up`, `down` or `side`.";
        U64 rate_bps, "Speed of the link.";
        U64 delay_ps, "Propagation delay of the link.";
        U64 tx_packets, "Frames sent.";
        U64 tx_bytes, "Bytes sent.";
        U64 tx_data_bytes, "Bytes of data packets, headers included.";
        U64 tx_reply_bytes, "Bytes of ACKs, NAKs and CNPs.";
        U64 tx_credit_bytes, "Bytes of credits between switches.";
        U64 marked, "Data packets that this port marked.";
        U64 max_queue_bytes, "Largest number of bytes queued at this port.";
        U64 max_port_bytes, "Largest number of bytes queued at this port or parked for it.";
        U64 pauses, "Times that PFC began to pause a class of the port.";
        U64 resumes, "Times that such a pause ended: XON arrived, or the pause time was over.";
        U64 pause_frames, "PFC frames with XOFF received, repetitions included.";
        U64 resume_frames, "PFC frames with XON received.";
        U64 paused_ps, "Time during which PFC held at least one class.";
        U64 dropped_buffer = |r| r.dropped[0], "Packets for this port that found the buffer full.";
        U64 dropped_egress_threshold = |r| r.dropped[1],
            "Packets over the threshold of their egress.";
        U64 dropped_no_route = |r| r.dropped[2], "Packets to a destination without a route.";
        U64 dropped_link = |r| r.dropped[3], "Packets lost on the link.";
        U64 dropped_credit_limit = |r| r.dropped[4], "Credits that found too many waiting.";
    };

    /// Does nothing: the engine creates the rows in the order of node and port.
    fn order(_: &mut Vec<Self>) {}
}

/// Number of probes that found a given number of active flows at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveRecord {
    /// The node.
    pub node: NodeId,
    /// Index of the port at this node.
    pub port: u16,
    /// The node at the other end of the link.
    pub peer: NodeId,
    /// Number of active flows: those with at least one packet queued at the port.
    pub active: u32,
    /// Number of probes at which this number of flows was active, at least 1.
    pub probes: u64,
}

impl Row for ActiveRecord {
    const TABLE: &'static str = "active";
    const ABOUT: &'static str = "How many probes saw a number of active flows at a port.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "Its port.";
        Direction direction = |r| (r.node, r.peer), "`up`, `down` or `side`.";
        U32 active, "Flows with at least one packet queued at the port.";
        U64 probes, "Probes that saw this number.";
    };

    /// Does nothing: the engine creates the rows in the order of ports.
    fn order(_: &mut Vec<Self>) {}
}

impl PortRecord {
    /// Returns the histogram of active flows as rows.
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
