//! Links that fail and come back during a run. The rules are in `specs/links.md`.
//!
//! A change of a link is an event at each of its ends; new routes are one at every node. All of
//! them come first in their instant, links before routes.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::nic::{CUT_OFF, OUT_OF_REACH};
use dataplane::packet::PacketId;
use dataplane::route::Routes;
use dataplane::switch::Pairs;
use dataplane::units::{NEVER, Time};
use kernel::calendar::{Calendar, Event, phase};

use super::network::Network;
use super::node::NodeSink;
use super::{Partition, Plan, Simulation};
use crate::backpressure_graph::BackpressureGraph;
use crate::link_failures::{LinkFailures, parts};
use crate::routing::routes;
use crate::topology::Graph;

/// Flows out of reach that are named one by one.
const MOST_NAMED: usize = 200;

/// What a link's ends know of it beyond what runs it.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Of the sender: when the last bit of the last frame would have left.
    busy_ps: Time,
    /// Of the sender, if it is a host: replies that waited and were lost.
    lost_waiting: u64,
    /// Of the receiver: frames in flight at that time are lost.
    failed_ps: Time,
    /// Of the receiver: frames that were in flight when it failed.
    lost_in_flight: u64,
}

/// New routes, for every node.
#[derive(Debug, Default)]
struct NewRoutes {
    at_ps: Time,
    /// `None`: all endpoints reach each other.
    parts: Option<Arc<[u32]>>,
    routes: Vec<Option<Routes>>,
    allowed: Vec<Option<Pairs>>,
}

/// The links of a run whose links fail, as a partition knows them.
#[derive(Debug)]
pub(super) struct LinkStates {
    link_failures: Arc<LinkFailures>,
    seed: u64,
    choice: PathChoice,
    ends: Vec<End>,
    /// Links that routing takes to be down, and how many changes it knows of.
    down: BTreeSet<u32>,
    known: usize,
    new_routes: NewRoutes,
    /// When the last change, or the last new routes, come.
    last_ps: Time,
    /// Links that changed so far (each is counted at one of its ends), and how often routes did.
    pub changes: u64,
    pub reroutes: u64,
}

impl LinkStates {
    /// `None`: no link ever fails.
    pub fn new(plan: &Plan) -> Option<Box<Self>> {
        let link_failures = plan
            .link_failures
            .clone()
            .filter(|link_failures| !link_failures.is_empty())?;
        let last = link_failures.changes().last().map(|change| change.at_ps);
        Some(Box::new(Self {
            seed: plan.seed,
            choice: plan.switch.path,
            ends: vec![End::default(); plan.graph.port_count() as usize],
            down: link_failures.initial().iter().copied().collect(),
            known: 0,
            new_routes: NewRoutes::default(),
            last_ps: last.map_or(0, |at| at.saturating_add(link_failures.reconvergence_ps)),
            changes: 0,
            reroutes: 0,
            link_failures,
        }))
    }

    /// Whether links change during the run.
    pub fn change(&self) -> bool {
        !self.link_failures.changes().is_empty()
    }

    /// Whether anything is to change after `now`.
    pub fn pending(&self, now: Time) -> bool {
        now < self.last_ps
    }

    /// The network as routing knows it.
    fn known_graph(&self, graph: &Graph) -> Graph {
        let down: Vec<u32> = self.down.iter().copied().collect();
        graph.without(&down)
    }

    /// Routing learns of all changes that are old enough, and computes new routes.
    // LNK-12, LNK-25
    fn learn(&mut self, graph: &Graph, now: Time) {
        let reconvergence_ps = self.link_failures.reconvergence_ps;
        let is_known = |at_ps: Time| at_ps.saturating_add(reconvergence_ps) <= now;
        for change in &self.link_failures.changes()[self.known..] {
            if !is_known(change.at_ps) {
                break;
            }
            if change.up {
                self.down.remove(&change.link);
            } else {
                self.down.insert(change.link);
            }
            self.known += 1;
        }
        self.reroutes += 1;
        let known = self.known_graph(graph);
        // Tables that fitted at the start fit now.
        let routes = routes(&known, self.seed, self.choice).unwrap_or_default();
        let elide = self.link_failures.elide_backpressure && !known.is_regular();
        let held = elide.then(|| BackpressureGraph::new(&known, &routes));
        let held = held.filter(|held| !held.removed.is_empty());
        let mut allowed: Vec<Option<Pairs>> = Vec::new();
        if let Some(held) = held {
            allowed.extend(held.allowed().into_iter().map(Some));
        }
        allowed.resize(routes.len(), None);
        self.new_routes = NewRoutes {
            at_ps: now,
            parts: reachable_parts(&known),
            routes: routes.into_iter().map(Some).collect(),
            allowed,
        };
    }
}

/// Of every endpoint its connected part of the network; `None`: all endpoints reach each other.
// LNK-13
fn reachable_parts(known: &Graph) -> Option<Arc<[u32]>> {
    let parts = parts(known);
    let whole = parts
        .iter()
        .all(|&part| part != CUT_OFF && part == parts[0]);
    (!whole).then(|| parts.into())
}

impl<C: Calendar> Partition<C> {
    /// Puts all changes that concern nodes of this partition into the calendar, and the links that
    /// are down from the start to rest.
    // LNK-01
    pub(super) fn schedule_link_failures(&mut self, part: u32) {
        let Some(states) = &self.link_states else {
            return;
        };
        let link_failures = Arc::clone(&states.link_failures);
        let parts = reachable_parts(&states.known_graph(&self.graph));
        for change in link_failures.changes() {
            for end in self.ends(change.link, part) {
                let event = Event::new(change.at_ps, phase::TOPOLOGY, end, u32::from(change.up));
                self.core.calendar.here.push(event);
            }
        }
        let first = self.graph.port_count();
        for (at_ps, _) in link_failures.epochs().into_iter().skip(1) {
            for node in 0..self.core.nodes.len() as u32 {
                let event = Event::new(at_ps, phase::TOPOLOGY, first + node, 0);
                self.core.calendar.here.push(event);
            }
        }
        for &link in link_failures.initial() {
            for end in self.ends(link, part) {
                self.change_end(end, false);
            }
        }
        for host in 0..self.nics.len() as u32 {
            self.set_reach(host, parts.as_ref());
        }
    }

    /// The ends of a link that are in this partition.
    fn ends(&self, link: u32, part: u32) -> Vec<u32> {
        let other = self.graph.peer_index(link as usize) as u32;
        let here = |&end: &u32| self.places.of(self.graph.node_of_port(end as usize)).part == part;
        [link, other].into_iter().filter(here).collect()
    }

    /// An end of a link changes, or the routes of a node.
    #[cold]
    pub(super) fn change_topology(&mut self, id: u32, up: bool) {
        self.progress_ps = self.core.now;
        if let Some(node) = id.checked_sub(self.graph.port_count()) {
            self.take_routes(node);
        } else {
            self.change_end(id, up);
            let lower = self.graph.peer_index(id as usize) > id as usize;
            if let Some(states) = &mut self.link_states {
                states.changes += u64::from(lower);
            }
        }
        if !self.core.notices.dropped.is_empty() {
            self.send_notices();
        }
    }

    /// One end of a link: the node there, its sending direction, and the receiving one.
    // LNK-01, LNK-02, LNK-20
    fn change_end(&mut self, end: u32, up: bool) {
        let now = self.core.now;
        let Some(states) = &mut self.link_states else {
            return;
        };
        let incoming = self.graph.peer_index(end as usize);
        let l = &mut self.core.links.near[end as usize];
        if up {
            l.busy_ps = states.ends[end as usize].busy_ps.max(now);
        } else {
            states.ends[end as usize].busy_ps = std::mem::replace(&mut l.busy_ps, NEVER);
            states.ends[incoming].failed_ps = now;
        }
        let (node, port) = (l.node, l.port);
        self.core.links.far[incoming].lossy = true;
        let stranded = states.link_failures.stranded;
        let sink = &mut NodeSink::of(&mut self.core, node);
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => {
                self.switches[switch].link(now, port, up, stranded, &mut self.arena, sink);
            }
            None => {
                let lost = self.nics[node as usize].link(now, port, up, &mut self.arena, sink);
                states.ends[end as usize].lost_waiting += lost;
            }
        }
    }

    /// New routes come to a node.
    // LNK-12
    fn take_routes(&mut self, node: u32) {
        let now = self.core.now;
        let Some(states) = &mut self.link_states else {
            return;
        };
        if states.reroutes == 0 || states.new_routes.at_ps != now {
            states.learn(&self.graph, now);
        }
        let Some(switch) = (node as usize).checked_sub(self.nics.len()) else {
            let parts = states.new_routes.parts.clone();
            return self.set_reach(node, parts.as_ref());
        };
        let number = self.core.nodes[node as usize].number - self.graph.hosts();
        let Some(routes) = states.new_routes.routes[number as usize].take() else {
            return;
        };
        let allowed = states.new_routes.allowed[number as usize].take();
        let sink = &mut NodeSink::of(&mut self.core, node);
        self.switches[switch].reroute(now, routes, allowed, &mut self.arena, sink);
    }

    /// Informs a host which receivers it cannot reach.
    // LNK-13
    fn set_reach(&mut self, host: u32, parts: Option<&Arc<[u32]>>) {
        let sink = &mut NodeSink::of(&mut self.core, host);
        self.nics[host as usize].reach(sink.core.now, parts, sink);
    }

    /// Whether the frame that comes to the end of a lossy link now is lost.
    // LNK-02
    #[cold]
    pub(super) fn is_lost(&mut self, link: u32, id: PacketId) -> bool {
        if let Some(states) = &mut self.link_states {
            let end = &mut states.ends[link as usize];
            let links = &self.core.links;
            let delay_ps = links.near[link as usize].delay_ps;
            let size = u64::from(self.arena.hot(id).size);
            let in_flight_ps = delay_ps + links.rates[link as usize].serialisation_ps(size);
            if self.core.now - in_flight_ps < end.failed_ps {
                end.lost_in_flight += 1;
                return true;
            }
        }
        !self.losses.none() && self.losses.takes(link)
    }
}

impl<C> Network<C> {
    /// Frames that were lost because a link had failed, outside of switches.
    pub fn lost_with(&self, link: u32) -> u64 {
        let of = |node| {
            let states = self.part_of(node).link_states.as_ref();
            states.map_or(End::default(), |states| states.ends[link as usize])
        };
        let receiver = self.graph.port(link as usize).peer;
        of(self.node_of(link)).lost_waiting + of(receiver).lost_in_flight
    }
}

impl<C: Calendar> Simulation<C> {
    /// Flows that wait at the end of the run for a receiver out of reach.
    // LNK-13
    pub(super) fn out_of_reach(&self) -> Vec<String> {
        let (mut named, mut more) = (Vec::new(), 0);
        let graph = &self.net.graph;
        for (host, nic, _) in self.net.each_nic() {
            let part = self.net.part_of(host);
            if part.link_states.is_none() {
                break;
            }
            nic.for_each_flow(|cookie, acked, why| {
                let flow = part.live.get(cookie);
                let Some(flow) = flow.filter(|_| why == OUT_OF_REACH) else {
                    return;
                };
                if named.len() == MOST_NAMED {
                    more += 1;
                    return;
                }
                named.push(format!(
                    "flow {} from {} to {}: {acked} of {} B acknowledged, {why}",
                    flow.id,
                    graph.name(host),
                    graph.name(flow.dst),
                    flow.bytes
                ));
            });
        }
        if more > 0 {
            named.push(format!(
                "and {more} more flows whose receivers cannot be reached"
            ));
        }
        named
    }
}
