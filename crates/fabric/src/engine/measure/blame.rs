//! Delay breakdown of each flow: its time at the NIC, and the time of the packet that completed it.
//! The rules are in `specs/blame.md`.
//!
//! - `account.rs` keeps the time at the NIC per flow.
//! - `journey.rs` follows each packet that can complete its flow. The packet starts with the time
//!   that its flow has spent so far and adds its own times on the path.
//! - `ports.rs` keeps a clock of the frames that each port sends.
//! - `arrivals.rs` finds the packet that completes the flow at the receiver. The row of the flow
//!   has the times of this packet.
//! - `roots.rs` stores the congested ports that caused the current pauses.
//! - `losses.rs` counts the packets that were dropped.
//!
//! The packet carries all times with it, so no node looks up state of another node.

mod account;
mod arrivals;
mod journey;
mod losses;
mod part;
mod ports;
mod roots;
mod rows;

use dataplane::classes::ClassSet;
use dataplane::event::{EventSet, NodeEvent};
use dataplane::ids::IndexVec;
use dataplane::nic::Wait;
use dataplane::packet::{Arena, Kind, PacketId, flag};
use dataplane::param::{Param, Values};
use dataplane::properties::Property;
use dataplane::switch::Switch;
use dataplane::units::Time;
use traffic::Flow;

use super::super::flow_state::FlowAt;
use super::super::merge::Merged;
use super::pause_tree::PauseTree;
use super::{Event, Measure, Sending, Setup, View};
use crate::ids::{LinkId, LocalNode};
use crate::record::Table;
use crate::record::table::Row;
use account::Accounts;
use arrivals::Arrivals;
pub(in crate::engine) use journey::Journey;
use journey::{Journeys, Obstacle, Place};
pub use losses::BlameLossRecord;
use losses::Losses;
use part::NO_ROOT;
pub use part::{Part, Parts};
use ports::Port;
use roots::Roots;
use rows::hops;
pub use rows::{BlameHopRecord, BlameRecord};

/// Configuration of the delay breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// True to record the delay components also per port of the path.
    pub hops: bool,
}

/// State of the delay breakdown in a partition: times at NICs (accounts), times on paths
/// (journeys), and the congested ports that caused pauses.
#[derive(Debug)]
pub(super) struct Blame {
    accounts: Accounts,
    journeys: Journeys,
    arrivals: Arrivals,
    /// Per port of the network, the time that it has spent sending, by kind of frame.
    ports: IndexVec<LinkId, Port>,
    /// Per port, when it was last checked: classes that are paused, and classes for which the
    /// neighbour has no room.
    held: IndexVec<LinkId, (ClassSet, ClassSet)>,
    roots: Roots,
    /// ID, flow and sequence number of the followed packet that a switch is processing. `None`: no
    /// such packet, or the switch has dropped it.
    arriving: Option<(PacketId, u32, u32)>,
    pauses_without_frames: bool,
    /// Dataplane class of data packets of traffic class 0.
    data_class: u8,
    /// True if any packet of a flow can complete it, so that all packets are followed.
    all: bool,
    rows: Vec<BlameRecord>,
    /// Rows of delay components per port; `None` if they are not recorded.
    hops: Option<Vec<BlameHopRecord>>,
    losses: Losses,
}

impl Blame {
    /// Handles an event that a node has reported, other than a wait.
    #[inline(never)]
    fn on_node(&mut self, node: LocalNode, what: NodeEvent, view: &View<'_>) {
        match what {
            NodeEvent::FlowWaits { .. } => {}
            NodeEvent::Released { id } => self.released(node, id, view),
            NodeEvent::PauseSent(sent) => {
                self.roots.tree.sent(node, &sent, view);
            }
            NodeEvent::QueuePauseSent { egress, queue, .. } => {
                let cold = self.roots.queue_pause_sent(node, egress, queue, view);
                view.reply.cold.set(cold);
            }
            NodeEvent::QueuePauseReceived { port, number, on } => {
                self.roots.queue_paused(view.link(node, port), number, on);
            }
        }
    }

    /// Updates the reasons why the classes of a NIC's port cannot send: paused classes and classes
    /// without room at the neighbour, with the congested ports that caused the pauses.
    // BLM-12: class pauses at a NIC
    fn hold_flows(&mut self, now: Time, link: LinkId) {
        let (tree, (paused, full)) = (&self.roots.tree, self.held[link]);
        self.accounts.hold_classes(now, link, |class| match () {
            () if paused >> class & 1 != 0 => {
                let root = tree.root(link, class).unwrap_or(NO_ROOT);
                Some((Part::NicClassPause, root))
            }
            () if full >> class & 1 != 0 => Some((Part::NicNoRoom, NO_ROOT)),
            () => None,
        });
    }

    /// Handles a possible change of the pauses of a port, after a frame arrived, a timer expired,
    /// or the port chose a frame (`chose`).
    // BLM-12, BLM-22: cause that blocks a flow or a queue
    #[inline(never)]
    fn check_port(&mut self, link: LinkId, chose: bool, view: &View<'_>) {
        let classes = view.held_classes(link);
        let changed = std::mem::replace(&mut self.held[link], classes) != classes;
        if changed && link.index() < view.graph.endpoints() as usize {
            self.hold_flows(view.now, link);
        }
        let node = view.links.near[link].node;
        if changed || !chose || view.switch(node).is_some_and(Switch::holds_flows) {
            let obstacle = |queue| self.roots.obstacle(link, queue, view);
            // A packet that was dropped from a queue stays followed until its record is reused, if
            // every packet is followed. So check that the record still contains a data packet.
            let is_there = |id| !self.all || view.arena.hot(id).kind() == Kind::Data;
            let port = &self.ports[link];
            self.journeys
                .look_again(view.now, link, port, obstacle, is_there);
        }
    }

    fn flow_started(&mut self, now: Time, flow: &Flow, cookie: u32, links: (LinkId, LinkId)) {
        if self.held[links.0] != (0, 0) {
            self.hold_flows(now, links.0);
        }
        let class = self.data_class + flow.class;
        self.accounts.open(now, (flow, cookie), class, links);
    }

    // BLM-11, BLM-32: reason and congested port of a wait at the NIC
    fn flow_waits(&mut self, now: Time, flow: FlowAt, wait: Wait) {
        let Some(account) = self.accounts.get_mut(flow) else {
            return;
        };
        let root = match wait {
            Wait::Paused(number) => self.roots.named(account.link, number),
            Wait::Destination => Some(account.last_link), // BLM-33: the last port of the path
            _ => None,
        };
        account.waits(now, wait, root.unwrap_or(NO_ROOT));
    }

    /// Records that a port starts to send a frame.
    #[inline]
    fn sends(&mut self, sending: &Sending, view: &View<'_>) {
        let packet = view.arena.hot(sending.id);
        let is_data = packet.kind() == Kind::Data;
        if sending.from_host {
            if is_data {
                self.leaves_host(view.now, sending, view.arena);
            }
            return;
        }
        if is_data && self.journeys.follows(sending.id) {
            self.journeys.leaves(view.now, sending, &mut self.ports);
        }
        // BLM-21: transmission time of the port
        let port = &mut self.ports[sending.link];
        port.sends(view.now, packet, sending.takes_ps);
        if is_data && port.not_alone > 0 {
            self.journeys
                .own_sent(sending.link, packet.flow, sending.takes_ps);
        }
    }

    /// Records that a data packet leaves its host.
    // BLM-10, BLM-20: transmission at the NIC, then the path
    #[inline(never)]
    fn leaves_host(&mut self, now: Time, sending: &Sending, arena: &Arena) {
        let id = sending.id;
        let (packet, cold) = (arena.hot(id), arena.cold(id));
        let Some(account) = self.accounts.get_mut(FlowAt {
            flow: packet.flow,
            cookie: cold.cookie,
        }) else {
            return;
        };
        let again = packet.has(flag::RETRANSMITTED);
        account.sends(now, sending.takes_ps, again);
        self.journeys.end(id, &mut self.ports);
        if self.all || cold.is_last() {
            self.journeys.leaves_host(sending, arena, account);
        }
    }

    /// Handles the arrival of a followed packet at a node.
    #[inline(never)]
    fn packet_arrives(&mut self, id: PacketId, to_host: bool, view: &View<'_>) {
        if !to_host {
            let packet = view.arena.hot(id);
            self.arriving = Some((id, packet.flow, packet.psn));
            return;
        }
        let journeys = &mut self.journeys;
        if let Some(at) = journeys.arrives(id, &mut self.ports) {
            let journey = journeys.get_mut(at);
            let flow = journey.flow;
            for nth in [0, 2, 4] {
                dataplane::prefetch::prefetch(&journey.spent.waits, nth);
            }
            self.arrivals.add(view.now, flow, at, journeys);
        }
    }

    /// Handles a followed packet that a switch has processed: the switch has queued, parked,
    /// trimmed or dropped it.
    // BLM-20, BLM-22: what the packet waits for
    #[inline(never)]
    fn packet_processed(&mut self, node: LocalNode, id: PacketId, view: &View<'_>) {
        let packet = view.arena.hot(id);
        if self.arriving.take().is_none() || packet.kind() != Kind::Data {
            return self.journeys.end(id, &mut self.ports);
        }
        let Some((link, parked)) = view.waits_at(node, id) else {
            return;
        };
        let obstacle = match parked {
            true => Obstacle {
                part: Some(Part::Held),
                root: view.last_port(LinkId::from_bits(packet.dst)), // BLM-33: the last port of the path
            },
            false => self.roots.obstacle(link, packet.location.queue(), view),
        };
        let place = Place {
            link,
            queue: packet.location.queue(),
            obstacle,
        };
        self.journeys.comes(view.now, id, place, &mut self.ports);
    }

    /// Handles a parked packet that a hop scheme has moved to a queue. A packet that is still being
    /// processed is not recorded as waiting yet, so it is skipped.
    // BLM-24: the end of parking
    fn released(&mut self, node: LocalNode, id: PacketId, view: &View<'_>) {
        let is_arriving = self.arriving.is_some_and(|of| of.0 == id);
        if is_arriving || !self.journeys.follows(id) {
            return;
        }
        let Some(link) = view.queued_at(node, id) else {
            return;
        };
        let queue = view.arena.hot(id).location.queue();
        let place = Place {
            link,
            queue,
            obstacle: self.roots.obstacle(link, queue, view),
        };
        self.journeys
            .is_released(view.now, id, place, &mut self.ports);
    }

    // BLM-01, BLM-02: the row of a flow; the sum of its components is the FCT
    fn flow_delivered(&mut self, flow: u32, view: &View<'_>) -> Result<(), String> {
        let now = view.now;
        let Some(journey) = self.arrivals.complete(now, flow, &mut self.journeys) else {
            return Err(format!(
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
            all.extend(hops(&row, &journey.spent.waits, view.graph));
        }
        let (fct_ps, sum_ps) = (row.fct_ps, row.parts.sum());
        let idle = self.journeys.idle(row.parts.get(Part::LinkDown));
        self.rows.push(row);
        if sum_ps != fct_ps {
            return Err(format!(
                "flow {flow} took {fct_ps} ps, its parts make {sum_ps} ps"
            ));
        }
        match idle {
            None => Ok(()),
            Some(ps) => Err(format!(
                "flow {flow}: its last packet waited {ps} ps at a port that sent nothing, and nothing held it"
            )),
        }
    }

    /// Returns the journey (delay so far) of a packet that leaves for another partition; `None`:
    /// the packet is not followed.
    // BLM-04: the packet carries its journey to the other partition
    fn hand_over(&mut self, id: PacketId) -> Option<Journey> {
        let journeys = &mut self.journeys;
        let at = journeys.arrives(id, &mut self.ports)?;
        journeys.release(at);
        Some(std::mem::take(journeys.get_mut(at)))
    }
}

impl Measure for Blame {
    type Spec = Spec;
    const KEY: &'static str = "blame";
    const EXAMPLE: &'static str = "blame = {}";
    const ABOUT: &'static str = "Where the time of each flow went and where its packets were lost: `blame.parquet`, `blame_hops.parquet`, \
         `blame_losses.parquet`.";
    const PARAMS: &'static [Param] = &[Param::flag("hops")
        .default("true", "BLM-03", "our choice")
        .about("Also record the parts by port: `blame_hops.parquet`.")];
    const WANTS: EventSet = EventSet::of(&[
        PauseTree::WANTS,
        NodeEvent::FLOW_WAITS,
        NodeEvent::RELEASED,
        NodeEvent::QUEUE_PAUSE_SENT,
        NodeEvent::QUEUE_PAUSE_RECEIVED,
        Event::DROPPED,
        Event::FLOW_STARTED,
        Event::FLOW_DELIVERED,
        Event::ARRIVED,
        Event::CHOSEN,
        Event::SENDING,
        Event::UPCOMING,
        Event::LEAVING,
        Event::ENTERING,
    ]);

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

    // BLM-03: waiting times also by port, if requested
    fn configure(values: &Values) -> Spec {
        Spec {
            hops: values.flag("hops"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let ports = setup.graph.port_count() as usize;
        let in_order = !setup.nic.recovery.properties().has(Property::Selective);
        Self {
            accounts: Accounts::new(setup.graph.endpoints() as usize),
            journeys: Journeys::new(ports, !setup.links_fail),
            arrivals: Arrivals::new(setup.nic.host.processing.map(|host| host.delay_ps)),
            ports: vec![Port::default(); ports].into(),
            held: vec![(0, 0); ports].into(),
            roots: Roots::default(),
            arriving: None,
            pauses_without_frames: setup.pauses_without_frames,
            data_class: setup.nic.data_class,
            all: !setup.one_path || setup.links_fail || !in_order,
            rows: Vec::new(),
            hops: spec.hops.then(Vec::new),
            losses: Losses::default(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        match *event {
            Event::Node {
                what: NodeEvent::FlowWaits { flow, cookie, wait },
                ..
            } => self.flow_waits(view.now, FlowAt { flow, cookie }, wait),
            Event::Node { node, what } => self.on_node(node, what, view),
            // BLM-14: drops by flow, port and cause
            Event::Dropped(drop) => {
                // The switch has dropped the packet that it was processing.
                self.arriving
                    .take_if(|of| (of.1, of.2) == (drop.flow, drop.psn));
                self.losses.add(&drop);
            }
            Event::FlowStarted {
                flow,
                cookie,
                links,
            } => self.flow_started(view.now, flow, cookie, links),
            Event::FlowDelivered { flow } => {
                let checked = self.flow_delivered(flow, view);
                view.reply.error.set(checked.err());
            }
            Event::Arriving {
                link, to_host, id, ..
            } => {
                let packet = view.arena.hot(id);
                if packet.is_frame() {
                    self.roots.frame_arrives(link, id, view);
                } else if packet.kind() == Kind::Data && self.follows(id) {
                    self.packet_arrives(id, to_host, view);
                }
            }
            Event::Arrived {
                node,
                link,
                to_host,
                id,
                packet,
            } => {
                if packet.is_frame() {
                    self.check_port(link, false, view);
                } else if !to_host && packet.kind() == Kind::Data && self.follows(id) {
                    self.packet_processed(node, id, view);
                }
            }
            // QNT-08, BLM-22: the timer ends the pause
            Event::PauseExpired { link, class } => {
                self.roots.tree.end((link, class), view);
                self.check_port(link, false, view);
            }
            Event::Chosen { link } if self.pauses_without_frames => {
                self.check_port(link, true, view);
            }
            Event::Sending(sending) => self.sends(&sending, view),
            Event::Upcoming { id } => self.journeys.prefetch(id),
            Event::Leaving { id } => view.reply.journey.set(self.hand_over(id)),
            Event::Entering { id } => {
                self.journeys.end(id, &mut self.ports);
                if let Some(journey) = view.reply.journey.take() {
                    self.journeys.take_over(id, journey);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn follows(&self, id: PacketId) -> bool {
        self.journeys.follows(id)
    }

    fn probe(&mut self, _: Time, out: &mut Merged) {
        out.take(&mut self.rows);
        if let Some(hops) = &mut self.hops {
            out.take(hops);
        }
    }

    fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
        out.add(self.losses.rows(view.graph));
    }
}
