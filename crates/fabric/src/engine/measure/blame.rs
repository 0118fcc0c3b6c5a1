//! Delay breakdown of each flow: its time at the NIC, and the time of the packet that completed it. The rules are
//! in `specs/blame.md`.
//!
//! - `account.rs` keeps the time at the NIC per flow.
//! - `journey.rs` follows each packet that can complete its flow. The packet starts with the time that its flow has
//!   spent so far and adds its own times on the path.
//! - `ports.rs` keeps a clock of the frames that each port sends.
//! - `arrivals.rs` finds the packet that completes the flow at the receiver; that packet gives the row.
//!
//! The packet carries all times with it, so no node looks up state of another node.

mod account;
mod arrivals;
mod journey;
mod part;
mod ports;

use std::collections::BTreeMap;

use dataplane::classes::ClassSet;
use dataplane::ids::{IndexVec, QueueId};
use dataplane::nic::Wait;
use dataplane::packet::{Cold, Kind, PacketId, flag};
use dataplane::param::{Param, Values};
use dataplane::switch::{HeldBy, MixedMap};
use dataplane::units::Time;
use traffic::Flow;

use super::super::flow_state::FlowAt;
use super::super::heard::Heard;
use super::super::merge::Merged;
use super::super::node::PauseSent;
use super::pause_tree::PauseTree;
use super::{Measure, Passing, Sending, Setup, View};
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::record::table::{Column, Row, Value, column};
use crate::record::{DROP_NAMES, Table};
use crate::topology::Graph;
use account::Accounts;
use arrivals::Arrivals;
pub(in crate::engine) use journey::Journey;
use journey::{Journeys, Obstacle, Place};
use part::{NEXT_ROOT, NO_ROOT, Piece};
pub use part::{Part, Parts};
use ports::Port;

/// Configuration of the delay breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Also record the parts by port.
    pub hops: bool,
}

/// Delay breakdown of a flow.
// BLM-01
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameRecord {
    /// Time at which the receiver had its last byte, ps.
    pub received_ps: Time,
    /// Number of the flow.
    pub flow: u32,
    /// From its start to its last byte at the receiver, ps.
    pub fct_ps: Time,
    /// Parts of `fct_ps`.
    pub parts: Parts,
}

/// Time that a flow spent on one part at one port.
// BLM-03
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameHopRecord {
    /// When the flow's last byte came to the receiver, ps.
    pub received_ps: Time,
    /// Number of the flow.
    pub flow: u32,
    /// Index of the port on the path; the NIC is 0.
    pub hop: u16,
    /// The node that sends.
    pub node: NodeId,
    /// Port of that node.
    pub port: u16,
    /// The node that the port leads to.
    pub peer: NodeId,
    /// Part of the delay breakdown.
    pub part: Part,
    /// Time spent, ps.
    pub spent_ps: Time,
    /// Congested port that caused the pause: the node, its port, and the peer. `None` if the part is not a pause.
    pub root: Option<(NodeId, u16, NodeId)>,
}

/// The column of a part.
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
    const COLUMNS: &'static [Column<Self>] = &[
        column("flow", Value::U32(|r| r.flow), "Number of the flow."),
        column(
            "fct_ps",
            Value::U64(|r| r.fct_ps),
            "From its start to its last byte at the receiver.",
        ),
        of!(Sending),
        of!(Turn),
        of!(Pace),
        of!(Window),
        of!(NicClassPause),
        of!(NicQueuePause),
        of!(NicDestinationPause),
        of!(NicNoRoom),
        of!(Receiver),
        of!(Recovery),
        of!(NoLink),
        of!(Propagation),
        of!(Serialisation),
        of!(BehindOwn),
        of!(BehindOther),
        of!(BehindIncast),
        of!(BehindControl),
        of!(ClassPause),
        of!(QueuePause),
        of!(NoRoom),
        of!(Held),
        of!(LinkDown),
        of!(Host),
    ];

    /// By the time at which the receiver had the last byte.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|row| (row.received_ps, row.flow));
    }
}

impl Row for BlameHopRecord {
    const TABLE: &'static str = "blame_hops";
    const ABOUT: &'static str = "What a finished flow waited for at one port: at its NIC, or at a port by which the \
                                 packet left that completed it.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("flow", Value::U32(|r| r.flow), "Number of the flow."),
        column(
            "hop",
            Value::U16(|r| r.hop),
            "Which port of the way, from 0 for the NIC.",
        ),
        column(
            "node",
            Value::U32(|r| r.node.bits()),
            "The node that sends.",
        ),
        column("port", Value::U16(|r| r.port), "Its port."),
        column(
            "peer",
            Value::U32(|r| r.peer.bits()),
            "The node that the port leads to.",
        ),
        column(
            "part",
            Value::Word(|r| r.part.word()),
            "What the time was spent on: a column of `blame` without its unit.",
        ),
        column("spent_ps", Value::U64(|r| r.spent_ps), "How long."),
        column(
            "root_node",
            Value::OptionU32(|r| r.root.map(|(node, ..)| node.bits())),
            "Of a pause the node with the port that it goes back to.",
        ),
        column(
            "root_port",
            Value::OptionU32(|r| r.root.map(|(_, port, _)| port.into())),
            "That port.",
        ),
        column(
            "root_peer",
            Value::OptionU32(|r| r.root.map(|(.., peer)| peer.bits())),
            "The node that it leads to.",
        ),
    ];

    /// By time of completion and flow; the sort is stable, so rows of a flow keep their order.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_by_key(|row| (row.received_ps, row.flow));
    }
}

/// Packets of a flow that were dropped at one port for one cause.
// BLM-14
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameLossRecord {
    /// Number of the flow.
    pub flow: u32,
    /// The node that sent them on the link that lost them, or that dropped them.
    pub node: NodeId,
    /// The port by which they left, or were to leave; `None`: no route led on.
    pub port: Option<u16>,
    /// Why.
    pub cause: &'static str,
    /// Data packets, whole or trimmed.
    pub packets: u64,
    /// ACKs, NAKs and other answers.
    pub answers: u64,
}

impl Row for BlameLossRecord {
    const TABLE: &'static str = "blame_losses";
    const ABOUT: &'static str = "Packets of a flow that were dropped at one port for one cause.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("flow", Value::U32(|r| r.flow), "Number of the flow."),
        column(
            "node",
            Value::U32(|r| r.node.bits()),
            "The node that sent them on the link that lost them, or that dropped them.",
        ),
        column("name", Value::NodeName(|r| r.node), "Its name."),
        column(
            "port",
            Value::OptionU32(|r| r.port.map(u32::from)),
            "The port by which they left, or were to leave; null: no route led on.",
        ),
        column(
            "cause",
            Value::Word(|r| r.cause),
            "`buffer`, `egress_threshold`, `no_route`, `link` or `credit_limit`.",
        ),
        column(
            "packets",
            Value::U64(|r| r.packets),
            "Data packets, whole or trimmed.",
        ),
        column(
            "answers",
            Value::U64(|r| r.answers),
            "ACKs, NAKs and other answers.",
        ),
    ];

    /// By flow, node and port. Two partitions can drop packets of one flow on one link.
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

/// The accounts of a run.
#[derive(Debug)]
pub(super) struct Blame {
    accounts: Accounts,
    journeys: Journeys,
    arrivals: Arrivals,
    /// Per port of the network.
    ports: IndexVec<LinkId, Port>,
    /// Per port of a host: classes that are paused, and those that the neighbour has no room for.
    held: IndexVec<LinkId, (ClassSet, ClassSet)>,
    roots: Roots,
    /// Class of data whose traffic class is 0.
    data_class: u8,
    /// Any packet of a flow can be the one that completes it.
    all: bool,
    rows: Vec<BlameRecord>,
    /// `None`: the parts are not recorded by port.
    hops: Option<Vec<BlameHopRecord>>,
    /// Data packets and answers that were dropped, by flow, port, node and cause.
    losses: BTreeMap<LossKey, (u64, u64)>,
}

/// A flow, the port at which packets of it were lost, the node that dropped them, and the cause.
type LossKey = (u32, Option<LinkId>, NodeId, u8);

/// A number that a pause names, at a port.
const fn name_at(link: LinkId, number: u32) -> u64 {
    (link.bits() as u64) << 32 | number as u64
}

/// Congested ports that caused the current pauses.
#[derive(Debug, Default)]
struct Roots {
    tree: PauseTree,
    /// Per port and number that a pause names.
    named: MixedMap<u64, LinkId>,
}

impl Roots {
    /// Congested port that caused a pause at `link`, if the pause frame carried it.
    // BLM-30, BLM-31, BLM-32
    fn of(&self, link: LinkId, class: u8, by: HeldBy) -> Option<LinkId> {
        match by {
            HeldBy::Class => self.tree.root(link, class),
            HeldBy::Named(number) => self.named(link, number),
            HeldBy::Room => None,
        }
    }

    fn named(&self, link: LinkId, number: u32) -> Option<LinkId> {
        self.named.get(&name_at(link, number)).copied()
    }

    /// Returns why a queue at a port cannot send, and the congested port that caused it.
    fn obstacle(&self, link: LinkId, queue: QueueId, view: &View<'_>) -> Obstacle {
        let Some(switch) = view.switch(view.links.near[link].node) else {
            return Obstacle::NONE;
        };
        let Some(by) = switch.held_by(queue, view.arena) else {
            return Obstacle::NONE;
        };
        let part = match by {
            HeldBy::Class => Part::ClassPause,
            HeldBy::Room => Part::NoRoom,
            HeldBy::Named(_) => Part::QueuePause,
        };
        let root = self.of(link, switch.class_of(queue), by);
        Obstacle {
            part: Some(part),
            root: root.unwrap_or(NEXT_ROOT),
        }
    }
}

impl Blame {
    /// Updates the classes of a NIC's port that are paused or have no room, and the causes.
    // BLM-12
    fn hold_flows(&mut self, now: Time, link: LinkId, (paused, full): (ClassSet, ClassSet)) {
        let tree = &self.roots.tree;
        self.accounts.hold_classes(now, link, |class| match () {
            () if paused >> class & 1 != 0 => {
                let root = tree.root(link, class).unwrap_or(NO_ROOT);
                Some((Part::NicClassPause, root))
            }
            () if full >> class & 1 != 0 => Some((Part::NicNoRoom, NO_ROOT)),
            () => None,
        });
    }

    /// A port of a switch sends a frame.
    // BLM-21
    #[inline]
    fn count(&mut self, p: Passing<'_>, is_data: bool) {
        let port = &mut self.ports[p.link];
        port.sends(p.now, p.packet, p.takes_ps);
        if is_data && port.not_alone > 0 {
            self.journeys.own_sent(p.link, p.packet.flow, p.takes_ps);
        }
    }

    /// A packet of a flow leaves its host.
    // BLM-10, BLM-20
    fn leaves_host(&mut self, s: &Sending<'_>) {
        let p = &s.passing;
        let Some(account) = self.accounts.get_mut(FlowAt {
            flow: p.packet.flow,
            cookie: s.cold.cookie,
        }) else {
            return;
        };
        let again = p.packet.has(flag::RETRANSMITTED);
        account.sends(p.now, p.takes_ps, again);
        self.journeys.end(p.id, &mut self.ports);
        if self.all || s.cold.is_last() {
            self.journeys.leaves_host(s, account);
        }
    }
}

/// The node that sends on a link, its port, and the node that the link leads to.
fn place(graph: &Graph, link: LinkId) -> (NodeId, u16, NodeId) {
    let far = graph.port(link);
    let near = graph.port(graph.reverse(link));
    (near.peer, near.peer_port, far.peer)
}

/// The rows of the waits of a flow.
// BLM-03
fn hops<'a>(
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

impl Measure for Blame {
    type Spec = Spec;
    const KEY: &'static str = "blame";
    const EXAMPLE: &'static str = "blame = {}";
    const ABOUT: &'static str = "Where the time of each flow went and where its packets were lost: `blame.parquet`, `blame_hops.parquet`, \
         `blame_losses.parquet`.";
    const PARAMS: &'static [Param] = &[Param::flag("hops")
        .default("true", "BLM-03", "our choice")
        .about("Also tell the parts by port: `blame_hops.parquet`.")];
    const FOLLOWS_PAUSES: bool = true;
    const FOLLOWS_FLOWS: bool = true;

    fn tables() -> Vec<Table> {
        vec![
            Table::of::<BlameRecord>(),
            Table::of::<BlameHopRecord>(),
            Table::of::<BlameLossRecord>(),
        ]
    }

    fn fills(spec: &Spec, table: &Table) -> bool {
        spec.hops || table.name != BlameHopRecord::TABLE
    }

    // BLM-03
    fn configure(values: &Values) -> Spec {
        Spec {
            hops: values.flag("hops"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let ports = setup.graph.port_count() as usize;
        let in_order = !setup.nic.recovery.properties().selective;
        Self {
            accounts: Accounts::new(setup.graph.endpoints() as usize),
            journeys: Journeys::new(ports, !setup.links_fail),
            arrivals: Arrivals::new(setup.nic.host.processing.map(|host| host.delay_ps)),
            ports: vec![Port::default(); ports].into(),
            held: vec![(0, 0); setup.graph.endpoints() as usize].into(),
            roots: Roots::default(),
            data_class: setup.nic.data_class,
            all: !setup.one_path || setup.links_fail || !in_order,
            rows: Vec::new(),
            hops: spec.hops.then(Vec::new),
            losses: BTreeMap::new(),
        }
    }

    fn flow_started(
        &mut self,
        now: Time,
        flow: &Flow,
        at: u32,
        (link, last_link): (LinkId, LinkId),
    ) {
        let held = self.held[link];
        if held != (0, 0) {
            self.hold_flows(now, link, held);
        }
        let class = self.data_class + flow.class;
        self.accounts
            .open(now, (flow, at), class, (link, last_link));
    }

    // BLM-11, BLM-32
    fn flow_waits(&mut self, now: Time, flow: FlowAt, wait: Wait) {
        let Some(account) = self.accounts.get_mut(flow) else {
            return;
        };
        let root = match wait {
            Wait::Paused(number) => self.roots.named(account.link, number),
            Wait::Destination => Some(account.last_link), // BLM-33
            _ => None,
        };
        account.waits(now, wait, root.unwrap_or(NO_ROOT));
    }

    // BLM-24, BLM-32
    fn heard(&mut self, now: Time, heard: Heard, view: &View<'_>) -> Option<Cold> {
        match heard {
            Heard::Released { node, id } => {
                if self.journeys.follows(id) {
                    let (link, queue) = (
                        view.queued_at(node, id)?,
                        view.arena.hot(id).location.queue(),
                    );
                    let place = Place {
                        link,
                        queue,
                        obstacle: self.roots.obstacle(link, queue, view),
                    };
                    let ports = &mut self.ports;
                    self.journeys.is_released(now, id, place, ports);
                }
            }
            Heard::Waits { .. } => {}
            // BLM-14
            Heard::Dropped {
                flow,
                is_data,
                cause,
                node,
                link,
                ..
            } => {
                let of = self
                    .losses
                    .entry((flow, link, node, cause as u8))
                    .or_default();
                match is_data {
                    true => of.0 += 1,
                    false => of.1 += 1,
                }
            }
            Heard::HoldReceived {
                link,
                number,
                on,
                root,
            } => {
                match root.filter(|_| on) {
                    Some(root) => self.roots.named.insert(name_at(link, number), root),
                    None => self.roots.named.remove(&name_at(link, number)),
                };
            }
            Heard::HoldSent {
                node,
                egress,
                queue,
                ..
            } => {
                let link = view.link(node, egress);
                let switch = view.switch(node)?;
                let by = switch.held_by(queue, view.arena);
                let class = switch.class_of(queue);
                let root = by.and_then(|by| self.roots.of(link, class, by));
                return Some(Cold {
                    credit: 1,
                    src: root.unwrap_or(link).bits(),
                    ..Cold::default()
                });
            }
        }
        None
    }

    #[inline]
    fn passes(&mut self, p: Passing<'_>) -> bool {
        let is_data = p.packet.kind() == Kind::Data;
        if p.from_host || is_data && self.journeys.follows(p.id) {
            return is_data;
        }
        self.count(p, is_data);
        false
    }

    fn sends(&mut self, s: &Sending<'_>) {
        let p = &s.passing;
        if p.packet.kind() != Kind::Data {
            return;
        }
        if p.from_host {
            self.leaves_host(s);
        } else if self.journeys.follows(p.id) {
            self.journeys.leaves(s, &mut self.ports);
            self.count(*p, true);
        }
    }

    // BLM-20, BLM-22
    fn came_to_switch(&mut self, now: Time, node: LocalNode, id: PacketId, view: &View<'_>) {
        let Some((link, held_back)) = view.waits_at(node, id) else {
            return;
        };
        let packet = view.arena.hot(id);
        let obstacle = match held_back {
            true => Obstacle {
                part: Some(Part::Held),
                root: view.last_port(LinkId::from_bits(packet.dst)), // BLM-33
            },
            false => self.roots.obstacle(link, packet.location.queue(), view),
        };
        let place = Place {
            link,
            queue: packet.location.queue(),
            obstacle,
        };
        self.journeys.comes(now, id, place, &mut self.ports);
    }

    fn packet_gone(&mut self, id: PacketId) {
        self.journeys.end(id, &mut self.ports);
    }

    fn came_to_host(&mut self, now: Time, id: PacketId) {
        let journeys = &mut self.journeys;
        if let Some(at) = journeys.arrives(id, &mut self.ports) {
            let journey = journeys.get_mut(at);
            let flow = journey.flow;
            for nth in [0, 2, 4] {
                dataplane::prefetch::prefetch(&journey.spent.waits, nth);
            }
            self.arrivals.add(now, flow, at, journeys);
        }
    }

    // BLM-04
    fn hand_over(&mut self, id: PacketId) -> Option<Journey> {
        let journeys = &mut self.journeys;
        let at = journeys.arrives(id, &mut self.ports)?;
        journeys.release(at);
        Some(std::mem::take(journeys.get_mut(at)))
    }

    fn take_over(&mut self, id: PacketId, journey: Option<Journey>) {
        self.journeys.end(id, &mut self.ports);
        if let Some(journey) = journey {
            self.journeys.take_over(id, journey);
        }
    }

    fn holds_change(&mut self, now: Time, link: LinkId, classes: (ClassSet, ClassSet)) {
        if let Some(held) = self.held.get_mut(link.index()) {
            *held = classes;
            self.hold_flows(now, link, classes);
        }
    }

    // BLM-22
    fn look_again(&mut self, now: Time, link: LinkId, view: &View<'_>) {
        let obstacle = |queue| self.roots.obstacle(link, queue, view);
        // A packet that was dropped from a queue stays followed until its record is reused.
        let is_there = |id| !self.all || view.arena.hot(id).kind() == Kind::Data;
        let port = &self.ports[link];
        self.journeys
            .look_again(now, link, port, obstacle, is_there);
    }

    #[inline]
    fn prefetch(&self, id: PacketId) {
        self.journeys.prefetch(id);
    }

    fn follows(&self, id: PacketId) -> bool {
        self.journeys.follows(id)
    }

    // SPFC-40, SPFC-41, SPFC-42
    fn pfc_sent(&mut self, now: Time, sent: &PauseSent, view: &View<'_>) -> Option<Cold> {
        Some(self.roots.tree.sent(now, sent, view).0)
    }

    fn pfc_arrives(
        &mut self,
        now: Time,
        at: (LocalNode, u16),
        frame: PacketId,
        view: &View<'_>,
    ) -> Option<u32> {
        Some(self.roots.tree.arrived(now, at, frame, view).number)
    }

    // QNT-08
    fn pause_expires(&mut self, now: Time, at: (LinkId, u8), view: &View<'_>) {
        self.roots.tree.end(now, at, view);
    }

    // BLM-01, BLM-02
    fn flow_delivered(&mut self, now: Time, flow: u32, graph: &Graph) -> Option<String> {
        let Some(journey) = self.arrivals.complete(now, flow, &mut self.journeys) else {
            return Some(format!(
                "flow {flow}: the packet that completed it was not followed"
            ));
        };
        let row = BlameRecord {
            received_ps: now,
            flow,
            fct_ps: now - journey.start_ps,
            parts: journey.spent.parts(),
        };
        if let Some(all) = &mut self.hops {
            all.extend(hops(&row, &journey.spent.waits, graph));
        }
        let (fct_ps, sum_ps) = (row.fct_ps, row.parts.sum());
        let idle = self.journeys.idle(row.parts.get(Part::LinkDown));
        self.rows.push(row);
        if sum_ps != fct_ps {
            return Some(format!(
                "flow {flow} took {fct_ps} ps, its parts make {sum_ps} ps"
            ));
        }
        idle.map(|ps| {
            format!(
                "flow {flow}: its last packet waited {ps} ps at a port that sent nothing, and nothing held it"
            )
        })
    }

    fn probe(&mut self, _: Time, out: &mut Merged) {
        out.take(&mut self.rows);
        if let Some(hops) = &mut self.hops {
            out.take(hops);
        }
    }

    fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
        let losses = std::mem::take(&mut self.losses);
        out.add(
            losses
                .into_iter()
                .map(|((flow, link, dropped_by, cause), (packets, answers))| {
                    let at = link.map(|link| place(view.graph, link));
                    BlameLossRecord {
                        flow,
                        node: at.map_or(dropped_by, |(node, ..)| node),
                        port: at.map(|(_, port, _)| port),
                        cause: DROP_NAMES[usize::from(cause)],
                        packets,
                        answers,
                    }
                }),
        );
    }
}
