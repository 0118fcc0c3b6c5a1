//! Follows PFC pauses through the network. It records:
//!
//! - the buffered bytes of an ingress when it paused its upstream node,
//! - which pause caused which,
//! - the flows that wait although they did not cause the congestion.
//!
//! It does not change results. The rules are SPFC-40 to SPFC-44. It reads state on the whole path
//! of a flow, so the run has one thread.
//!
//! A pause is identified by the paused port, its class, and its number among the pauses of these
//! two. The cold part of the pause frame carries number, depth and congested port to the paused
//! node.

use std::collections::BTreeMap;

use dataplane::event::{EventSet, NodeEvent, PauseFrame, PauseSent};
use dataplane::packet::PacketId;
use dataplane::param::{Param, Values};
use dataplane::units::Time;

use super::super::long_queues::{LongQueues, OnWay};
use super::super::merge::Merged;
use super::pause_tree::{Held, LONG_BYTES, PauseTree};
use super::{Event, Measure, Setup, View};
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, Value, column, columns, traffic_class};

/// Configuration of the measure of pause causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Record the flows that wait for pauses.
    pub flows: bool,
}

/// A PFC pause at the time when a switch decided on it: the paused port, the buffer state, and the
/// cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseRecord {
    /// Time, ps.
    pub at_ps: Time,
    /// The switch that sends the pause.
    pub node: NodeId,
    /// Ingress of the switch whose upstream port is paused.
    pub port: u16,
    /// The upstream node, which is paused.
    pub peer: NodeId,
    /// Paused port of the upstream node.
    pub peer_port: u16,
    /// The dataplane class.
    pub class: u8,
    /// Index of the pause among those of this port and class, from 1.
    pub number: u32,
    /// Bytes that packets of the ingress and class occupy in reserve, pool and headroom.
    pub held_bytes: u64,
    /// PFC threshold of the ingress and class for its bytes in the pool.
    pub threshold_bytes: u64,
    /// Bytes of the pool that all ingresses and classes use.
    pub pool_bytes: u64,
    /// True if the ingress was in the victim state (higher PFC threshold) until this pause.
    pub victim: bool,
    /// Egress port at which most of the bytes of the paused ingress and class wait.
    pub egress: u16,
    /// The node at the other end of the egress port.
    pub egress_peer: NodeId,
    /// Bytes of this ingress and class that wait at `egress`.
    pub egress_bytes: u64,
    /// Index of the pause that caused this one, among the pauses of `egress` and the class; `None`:
    /// this pause is a root.
    pub parent: Option<u32>,
    /// Depth in the tree of pauses: 1 for a root, otherwise the depth of the causing pause plus 1.
    pub depth: u16,
    /// The switch with the congested port.
    pub root_node: NodeId,
    /// The congested port.
    pub root_port: u16,
    /// The node at the other end of the congested port.
    pub root_peer: NodeId,
}

/// Returns the value of a column that describes the congested port.
macro_rules! root {
    (name) => {
        column("root_name", Value::NodeName(|r| r.root_node), "Its name.")
    };
    (port) => {
        column(
            "root_port",
            Value::U16(|r| r.root_port),
            "The congested port.",
        )
    };
    (peer_name) => {
        column(
            "root_peer_name",
            Value::PeerName(|r| (r.root_node, r.root_port, r.root_peer)),
            "The node that it leads to, with the number of the link if there are several.",
        )
    };
    (node) => {
        column(
            "root_node",
            Value::U32(|r| r.root_node.bits()),
            "The switch with the congested port.",
        )
    };
}

impl Row for CauseRecord {
    const TABLE: &'static str = "pause_causes";
    const ABOUT: &'static str =
        "A PAUSE at the moment that a switch decided on it, and why it did.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "When.";
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        U16 port, "The ingress that it pauses.";
        U32 peer = |r| r.peer.bits(), "The node upstream, which has to wait.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        U16 peer_port, "Its port.";
        [traffic_class!()];
        U32 number, "Which of the pauses of this port and class, from 1.";
        U64 held_bytes, "Bytes of the ingress and class.";
        U64 threshold_bytes, "What its bytes in the pool were compared with.";
        U64 pool_bytes, "Bytes of the pool in use.";
        Bool victim, "The ingress was a victim port until then.";
        U16 egress, "The port at which most of its bytes wait.";
        PeerName egress_name = |r| (r.node, r.egress, r.egress_peer),
            "The node that this port leads to, with the number of the link if there are several.";
        U64 egress_bytes, "Bytes of the ingress and class that wait there.";
        OptionU32 parent, "Number of the pause that holds this port, and so caused this one.";
        U16 depth, "1 for a root, one more than its cause's for others.";
        [root!(node)];
        [root!(name)];
        [root!(port)];
        [root!(peer_name)];
    };

    /// Does nothing: a single partition adds the rows in the order of time.
    fn order(_: &mut Vec<Self>) {}
}

/// Waiting time of a flow at a paused port, for all pauses with the same congested port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldFlowRecord {
    /// ID of the flow that waits.
    pub flow: u32,
    /// The paused node.
    pub node: NodeId,
    /// Paused port of that node.
    pub port: u16,
    /// The node that this port leads to.
    pub peer: NodeId,
    /// The switch with the congested port.
    pub root_node: NodeId,
    /// Index of the congested port at its switch.
    pub root_port: u16,
    /// The node at the other end of the congested port.
    pub root_peer: NodeId,
    /// Number of pauses for which the flow waited.
    pub pauses: u64,
    /// Total time that the flow waited, ps.
    pub held_ps: Time,
    /// True if the path of the flow does not contain the congested port.
    pub victim: bool,
}

impl Row for HeldFlowRecord {
    const TABLE: &'static str = "held_flows";
    const ABOUT: &'static str =
        "What pauses with a common congested port did to a flow at a port that they held.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 flow, "Number of the flow.";
        U32 node = |r| r.node.bits(), "The node that was held.";
        NodeName name = |r| r.node, "Its name.";
        U16 port, "Its port.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "The node that this port leads to, with the number of the link if there are several.";
        [root!(node)];
        [root!(name)];
        [root!(port)];
        [root!(peer_name)];
        U64 pauses, "Pauses for which the flow waited.";
        U64 held_ps, "How long.";
        Bool victim, "Its path does not lead through the congested port.";
    };

    /// Does nothing: a single partition adds the rows in the order of flow, paused port and
    /// congested port.
    fn order(_: &mut Vec<Self>) {}
}

/// Key of a row: the flow, the paused port, and the congested port that caused the pauses.
type HeldKey = (u32, LinkId, LinkId);

#[derive(Clone, Copy, Debug, Default)]
struct HeldFlow {
    pauses: u64,
    held_ps: Time,
    victim: bool,
}

/// State of the measure of pause causes.
#[derive(Debug)]
pub(super) struct PauseCauses {
    tree: PauseTree,
    records: Vec<CauseRecord>,
    /// Waiting times of flows at paused ports; `None`: they are not recorded.
    flows: Option<BTreeMap<HeldKey, HeldFlow>>,
    /// Cached counts of the packets in long queues, by class and path.
    queues: LongQueues<OnWay>,
    links_fail: bool,
}

impl PauseCauses {
    /// Handles a PFC frame that a switch has queued, and adds a row if it starts a new pause.
    // SPFC-40, SPFC-41, SPFC-42: buffer level, egress, parent and root
    fn sent(&mut self, node: LocalNode, sent: &PauseSent, view: &View<'_>) {
        let cause = self.tree.sent(node, sent, view);
        let (PauseFrame::Xoff(level), Some(cause)) = (sent.pause, cause) else {
            return;
        };
        let (link, root) = (view.link(node, sent.port), cause.root);
        self.records.push(CauseRecord {
            at_ps: view.now,
            node: view.sender(link),
            port: sent.port,
            peer: view.receiver(link),
            peer_port: view.links.far[link].port,
            class: sent.class,
            number: cause.number,
            held_bytes: level.held_bytes,
            threshold_bytes: level.threshold_bytes,
            pool_bytes: level.pool_bytes,
            victim: level.victim,
            egress: cause.egress,
            egress_peer: view.receiver(view.link(node, cause.egress)),
            egress_bytes: cause.egress_bytes,
            parent: cause.parent,
            depth: cause.depth,
            root_node: view.sender(root),
            root_port: view.links.near[root].port,
            root_peer: view.receiver(root),
        });
    }

    /// Adds the duration of an ended pause to the flows that waited for it.
    // SPFC-44; QNT-08: also by its timer
    fn note_ended(&mut self, ended: Option<((LinkId, u8), Held)>, view: &View<'_>) {
        if let Some((at, held)) = ended {
            self.note_flows(view.now, at, &held, view);
        }
    }

    /// Adds the duration of a pause up to `now` to the flows that waited for it.
    // SPFC-44
    fn note_flows(&mut self, now: Time, (link, class): (LinkId, u8), held: &Held, view: &View<'_>) {
        let mut seen = BTreeMap::new();
        let see = |way: OnWay, since_ps| {
            seen.entry(way.flow).or_insert((way, since_ps));
        };
        if self.flows.is_some() {
            each_waiting(&mut self.queues, (link, class), view, see);
        }
        let Some(flows) = &mut self.flows else { return };
        let pauser = view.links.far[link].node;
        for (flow, (way, since_ps)) in seen {
            let of = flows.entry((flow, link, held.root)).or_default();
            of.pauses += 1;
            of.held_ps += now.saturating_sub(held.from_ps.max(since_ps));
            // Without link failures a path does not change, so one check per flow is enough.
            if of.pauses == 1 || self.links_fail {
                of.victim |= !view.leads_through(pauser, &way, held.root);
            }
        }
    }
}

/// Calls `visit` with every flow of a class that waits at a port, and the earliest time since which
/// it may have waited. A flow can be visited several times.
fn each_waiting(
    queues: &mut LongQueues<OnWay>,
    (link, class): (LinkId, u8),
    view: &View<'_>,
    mut visit: impl FnMut(OnWay, Time),
) {
    let near = &view.links.near[link];
    if let Some(switch) = view.switch(near.node) {
        switch.for_each_queue(near.port, |queue| {
            queues.visit(link.bits(), queue, LONG_BYTES, view.arena, |way, _| {
                if way.class == class {
                    visit(way, 0);
                }
            });
        });
        return;
    }
    view.nics[near.node.index()].for_each_unsent(near.port, class, |flow| {
        let live = view.flows.get(flow.cookie);
        let way = OnWay {
            flow: flow.flow,
            hash: flow.hash,
            src: flow.src,
            dst: flow.dst,
            class,
        };
        visit(way, live.map_or(0, |live| live.start_ps));
    });
}

impl Measure for PauseCauses {
    type Spec = Spec;
    const KEY: &'static str = "pauses";
    const EXAMPLE: &'static str = "pauses = { flows = true }";
    const ABOUT: &'static str =
        "Why each PAUSE of PFC was sent: `pause_causes.parquet`, `held_flows.parquet`.";
    const PARAMS: &'static [Param] = &[Param::flag("flows")
        .needed("true")
        .about("Also name the flows that PFC held.")];
    const WANTS: EventSet = PauseTree::WANTS;
    // SPFC-44: victims are found along the whole path
    const ONE_THREAD: Option<&'static str> =
        Some("a run that follows pauses looks at the whole path of a flow");

    fn tables() -> Vec<Table> {
        vec![Table::of::<CauseRecord>(), Table::of::<HeldFlowRecord>()]
    }

    fn fills(spec: &Spec, table: &Table) -> bool {
        spec.flows || table.name != HeldFlowRecord::TABLE
    }

    // SPFC-40: one row per pause; waiting flows if requested
    fn configure(values: &Values) -> Spec {
        Spec {
            flows: values.flag("flows"),
        }
    }

    /// Creates the measure. Waiting flows are not recorded if packets of one flow take several
    /// paths.
    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        Self {
            tree: PauseTree::default(),
            records: Vec::new(),
            flows: (spec.flows && setup.one_path).then(BTreeMap::new),
            queues: LongQueues::default(),
            links_fail: setup.links_fail,
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        match *event {
            Event::Node {
                node,
                what: NodeEvent::PauseSent(sent),
            } => self.sent(node, &sent, view),
            Event::Arriving { link, id, .. } if view.arena.hot(id).is_frame() => {
                let ended = self.tree.arrives(link, id, view);
                self.note_ended(ended, view);
            }
            Event::PauseExpired { link, class } => {
                let ended = self.tree.end((link, class), view);
                self.note_ended(ended, view);
            }
            _ => {}
        }
    }

    /// Returns false: the measure needs no arrivals of packets.
    #[inline(always)]
    fn follows(&self, _: PacketId) -> bool {
        false
    }

    fn probe(&mut self, _: Time, out: &mut Merged) {
        out.add(self.records.drain(..));
    }

    /// Outputs the remaining rows. Pauses that are still open end with the run.
    fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
        for (at, held) in self.tree.open() {
            self.note_flows(end_ps, at, &held, view);
        }
        let flows = self.flows.iter().flatten();
        out.add(flows.map(|(&(flow, link, root), of)| HeldFlowRecord {
            flow,
            node: view.sender(link),
            port: view.links.near[link].port,
            peer: view.receiver(link),
            root_node: view.sender(root),
            root_port: view.links.near[root].port,
            root_peer: view.receiver(root),
            pauses: of.pauses,
            held_ps: of.held_ps,
            victim: of.victim,
        }));
    }
}
