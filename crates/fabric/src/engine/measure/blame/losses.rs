//! Packets that were dropped, by flow, port and cause.

use std::collections::BTreeMap;

use super::super::Dropped;
use super::rows::place;
use crate::ids::{LinkId, NodeId};
use crate::record::DROP_NAMES;
use crate::record::table::{Column, Row, columns};
use crate::topology::Graph;

/// Number of packets of a flow that were dropped at one port for one cause.
// BLM-14
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameLossRecord {
    /// ID of the flow.
    pub flow: u32,
    /// The node that dropped the packets, or the sending node of the link that lost them.
    pub node: NodeId,
    /// The egress port of the packets at this node; `None`: the packets had no route.
    pub port: Option<u16>,
    /// Cause of the drops.
    pub cause: &'static str,
    /// Number of dropped data packets, complete or trimmed.
    pub packets: u64,
    /// Number of dropped ACKs, NAKs and other replies.
    pub answers: u64,
}

impl Row for BlameLossRecord {
    const TABLE: &'static str = "blame_losses";
    const ABOUT: &'static str = "Packets of a flow that were dropped at one port for one cause.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 flow, "Number of the flow.";
        U32 node = |r| r.node.bits(),
            "The node that sent them on the link that lost them, or that dropped them.";
        NodeName name = |r| r.node, "Its name.";
        OptionU32 port = |r| r.port.map(u32::from),
            "The port by which they left, or were to leave; null: no route led on.";
        Word cause, "`buffer`, `egress_threshold`, `no_route`, `link` or `credit_limit`.";
        U64 packets, "Data packets, whole or trimmed.";
        U64 answers, "ACKs, NAKs and other answers.";
    };

    /// Sorts the rows by flow, node, port and cause, and adds up rows with the same key. Two
    /// partitions can drop packets of one flow on one link.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|row| (row.flow, row.node, row.port, row.cause));
        rows.dedup_by(|row, before| {
            let key = |row: &Self| (row.flow, row.node, row.port, row.cause);
            let is_same = key(row) == key(before);
            if is_same {
                before.packets += row.packets;
                before.answers += row.answers;
            }
            is_same
        });
    }
}

/// Key of a row: the flow, the egress port of the dropped packets, the node that dropped them, and
/// the cause.
type LossKey = (u32, Option<LinkId>, NodeId, u8);

/// Number of dropped data packets and of dropped replies, by key.
#[derive(Debug, Default)]
pub(super) struct Losses(BTreeMap<LossKey, (u64, u64)>);

impl Losses {
    // BLM-14: count data packets and replies separately
    pub fn add(&mut self, drop: &Dropped) {
        let key = (drop.flow, drop.link, drop.node, drop.cause as u8);
        let of = self.0.entry(key).or_default();
        match drop.is_data {
            true => of.0 += 1,
            false => of.1 += 1,
        }
    }

    /// Removes and returns all rows.
    pub fn rows(&mut self, graph: &Graph) -> impl Iterator<Item = BlameLossRecord> {
        let losses = std::mem::take(&mut self.0).into_iter();
        losses.map(|((flow, link, dropped_by, cause), (packets, answers))| {
            let at = link.map(|link| place(graph, link));
            BlameLossRecord {
                flow,
                node: at.map_or(dropped_by, |(node, ..)| node),
                port: at.map(|(_, port, _)| port),
                cause: DROP_NAMES[usize::from(cause)],
                packets,
                answers,
            }
        })
    }
}
