//! Rows of the delay breakdown.

use dataplane::units::Time;

use super::part::{NO_ROOT, Part, Parts, Piece};
use crate::ids::{LinkId, NodeId};
use crate::record::table::{Column, Row, Value, column, columns};
use crate::topology::Graph;

/// Delay breakdown of a flow.
// BLM-01
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRecord {
    /// Time at which the last byte of the flow arrived at the receiver, ps.
    pub received_ps: Time,
    /// ID of the flow.
    pub flow: u32,
    /// Time from the start of the flow to the arrival of its last byte at the receiver, ps.
    pub fct_ps: Time,
    /// Components of `fct_ps`.
    pub parts: Parts,
}

/// Time of one delay component of a flow at one port.
// BLM-03
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameHopRecord {
    /// Time at which the last byte of the flow arrived at the receiver, ps.
    pub received_ps: Time,
    /// ID of the flow.
    pub flow: u32,
    /// Index of the port on the path; the NIC is 0.
    pub hop: u16,
    /// The node that owns the port.
    pub node: NodeId,
    /// Index of the port at this node.
    pub port: u16,
    /// The node at the other end of the port.
    pub peer: NodeId,
    /// Component of the delay breakdown.
    pub part: Part,
    /// Time of the delay component, ps.
    pub spent_ps: Time,
    /// Congested port that caused the pause: the node, its port, and the peer. `None` if the delay
    /// component is not a pause, or if the cause is not known.
    pub root: Option<(NodeId, u16, NodeId)>,
}

/// Returns the value of a delay component's column.
macro_rules! of {
    ($part:ident) => {
        column(
            Part::$part.column(),
            Value::U64(|r| r.parts.get(Part::$part)),
            Part::$part.about(),
        )
    };
}

impl Row for BlameRecord {
    const TABLE: &'static str = "blame";
    const ABOUT: &'static str =
        "Where the time of a finished flow went. The parts add up to `fct_ps`.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 flow, "Number of the flow.";
        U64 fct_ps, "From its start to its last byte at the receiver.";
        [of!(Sending)];
        [of!(Turn)];
        [of!(Pair)];
        [of!(Pace)];
        [of!(Window)];
        [of!(NicClassPause)];
        [of!(NicQueuePause)];
        [of!(NicDestinationPause)];
        [of!(NicNoRoom)];
        [of!(Receiver)];
        [of!(Recovery)];
        [of!(Timeout)];
        [of!(NoLink)];
        [of!(Propagation)];
        [of!(Serialisation)];
        [of!(BehindOwn)];
        [of!(BehindOther)];
        [of!(BehindIncast)];
        [of!(BehindControl)];
        [of!(ClassPause)];
        [of!(QueuePause)];
        [of!(NoRoom)];
        [of!(Held)];
        [of!(LinkDown)];
        [of!(Host)];
    };

    /// Sorts the rows by the time at which the receiver had the last byte.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|row| (row.received_ps, row.flow));
    }
}

impl Row for BlameHopRecord {
    const TABLE: &'static str = "blame_hops";
    const ABOUT: &'static str = "What a finished flow waited for at one port: at its NIC, or at a port by which the \
                                 packet left that completed it.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 flow, "Number of the flow.";
        U16 hop, "Which port of the way, from 0 for the NIC.";
        U32 node = |r| r.node.bits(), "The node that sends.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node that the port leads to.";
        Word part = |r| r.part.word(),
            "What the time was spent on: a column of `blame` without its unit.";
        U64 spent_ps, "How long.";
        OptionU32 root_node = |r| r.root.map(|(node, ..)| node.bits()),
            "Node of the congested port that caused the pause.";
        OptionU32 root_port = |r| r.root.map(|(_, port, _)| port.into()),
            "Number of the congested port at that node.";
        OptionU32 root_peer = |r| r.root.map(|(.., peer)| peer.bits()),
            "The node that it leads to.";
    };

    /// Sorts the rows by time of completion and flow. The sort is stable, so rows of a flow keep
    /// their order.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_by_key(|row| (row.received_ps, row.flow));
    }
}

/// Returns the node that sends on a link, its port, and the node that the link leads to.
pub(super) fn place(graph: &Graph, link: LinkId) -> (NodeId, u16, NodeId) {
    let far = graph.port(link);
    let near = graph.port(graph.reverse(link));
    (near.peer, near.peer_port, far.peer)
}

/// Returns the rows for the waiting times of a flow at each port.
// BLM-03
pub(super) fn hops<'a>(
    row: &'a BlameRecord,
    waits: &'a [Piece],
    graph: &'a Graph,
) -> impl Iterator<Item = BlameHopRecord> + 'a {
    let place = |link: LinkId| place(graph, link);
    waits.iter().map(move |wait| {
        let (node, port, peer) = place(wait.link);
        BlameHopRecord {
            received_ps: row.received_ps,
            flow: row.flow,
            hop: wait.hop,
            node,
            port,
            peer,
            part: wait.part,
            spent_ps: wait.spent_ps,
            root: (wait.root != NO_ROOT).then(|| place(wait.root)),
        }
    })
}
