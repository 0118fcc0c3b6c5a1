//! Links that fail and recover during a run. The rules are in `specs/links.md`.
//!
//! A change of a link is an event at each of its ends; new routes are an event at every node. These
//! events come first in their instant, links before routes.

use std::sync::Arc;

use dataplane::nic::OUT_OF_REACH;
use dataplane::packet::PacketId;
use dataplane::units::NEVER;
use kernel::calendar::{Calendar, Event, phase};

use super::Simulation;
use super::link_state::{End, reachable_parts};
use super::network::Network;
use super::node::NodeSink;
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode, hosts_of};

/// Maximum number of flows with an unreachable receiver that are listed individually.
const MOST_NAMED: usize = 200;

impl<C: Calendar> Partition<C> {
    /// Schedules all link changes that concern nodes of this partition, and deactivates links that
    /// are down at the start.
    // LNK-01
    pub(super) fn schedule_link_failures(&mut self, part: u32) {
        let Some(states) = &self.faults.states else {
            return;
        };
        let link_failures = Arc::clone(&states.link_failures);
        let parts = reachable_parts(&states.known_graph(&self.graph));
        for change in link_failures.changes() {
            for end in self.ends(change.link, part) {
                let up = u32::from(change.up);
                let event = Event::new(change.at_ps, phase::TOPOLOGY, end.bits(), up);
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
        for host in 0..self.nics.len() {
            self.set_reach(LocalNode::new(host), parts.as_ref());
        }
    }

    /// Returns the ends of a link that are in this partition. Each end is the direction in which
    /// its node sends.
    fn ends(&self, link: LinkId, part: u32) -> Vec<LinkId> {
        let other = self.graph.reverse(link);
        let here = |&end: &LinkId| self.places.of(self.graph.sender(end)).part == part;
        [link, other].into_iter().filter(here).collect()
    }

    /// Handles an event of a topology change: a change of one end of a link, or new routes of a
    /// node.
    #[cold]
    pub(super) fn change_topology(&mut self, id: u32, up: bool) {
        self.progress_ps = self.core.now;
        if let Some(node) = id.checked_sub(self.graph.port_count()) {
            self.take_routes(LocalNode::from_bits(node));
        } else {
            let end = LinkId::from_bits(id);
            self.change_end(end, up);
            let lower = self.graph.reverse(end) > end;
            if let Some(states) = &mut self.faults.states {
                states.changes += u64::from(lower);
            }
        }
        if !self.core.notices.dropped.is_empty() {
            self.send_notices();
        }
    }

    /// Changes one end of a link: updates the node and the directions in which it sends and
    /// receives.
    // LNK-01, LNK-02, LNK-20
    fn change_end(&mut self, end: LinkId, up: bool) {
        let now = self.core.now;
        let Some(states) = &mut self.faults.states else {
            return;
        };
        let incoming = self.graph.reverse(end);
        let l = &mut self.core.links.near[end];
        if up {
            l.busy_ps = states.ends[end].busy_ps.max(now);
        } else {
            states.ends[end].busy_ps = std::mem::replace(&mut l.busy_ps, NEVER);
            states.ends[incoming].failed_ps = now;
        }
        let (node, port) = (l.node, l.port);
        self.core.links.far[incoming].lossy = true;
        let stranded = states.link_failures.stranded;
        let sink = &mut NodeSink::of(&mut self.core, node);
        match node.switch(self.nics.len()) {
            Some(switch) => {
                self.switches[switch].link(
                    now,
                    port,
                    (!up).then_some(stranded),
                    &mut self.arena,
                    sink,
                );
            }
            None => {
                let lost = self.nics[node.index()].link(now, port, up, &mut self.arena, sink);
                states.ends[end].lost_waiting += lost;
            }
        }
    }

    /// Installs new routes at a node.
    // LNK-12
    fn take_routes(&mut self, node: LocalNode) {
        let now = self.core.now;
        let Some(states) = &mut self.faults.states else {
            return;
        };
        if states.reroutes == 0 || states.new_routes.at_ps != now {
            states.learn(&self.graph, now);
        }
        let Some(switch) = node.switch(self.nics.len()) else {
            let parts = states.new_routes.parts.clone();
            return self.set_reach(node, parts.as_ref());
        };
        let node_id = self.core.nodes[node].number;
        let Some(number) = self.graph.switch_number(node_id) else {
            return;
        };
        let Some(routes) = states.new_routes.routes[number as usize].take() else {
            return;
        };
        let allowed = states.new_routes.allowed[number as usize].take();
        let sink = &mut NodeSink::of(&mut self.core, node);
        self.switches[switch].reroute(now, routes, allowed, &mut self.arena, sink);
    }

    /// Passes the connected components of the network to a host, so that the host can determine
    /// which receivers it cannot reach.
    // LNK-13
    fn set_reach(&mut self, host: LocalNode, parts: Option<&Arc<[u32]>>) {
        let sink = &mut NodeSink::of(&mut self.core, host);
        self.nics[host.index()].reach(sink.core.now, parts, sink);
    }

    /// Returns the reason why a frame is lost that now arrives at the end of a link; `None`: it is
    /// not lost.
    // LNK-02
    #[cold]
    pub(super) fn lost(&mut self, link: LinkId, id: PacketId) -> Option<Lost> {
        if let Some(states) = &mut self.faults.states {
            let end = &mut states.ends[link];
            let links = &self.core.links;
            let delay_ps = links.near[link].delay_ps;
            let size = u64::from(self.arena.hot(id).size);
            let in_flight_ps = delay_ps + links.rates[link].serialisation_ps(size);
            if self.core.now - in_flight_ps < end.failed_ps {
                end.lost_in_flight += 1;
                return Some(Lost::Failed);
            }
        }
        let is_damaged = !self.faults.losses.none() && self.faults.losses.takes(link);
        is_damaged.then_some(Lost::Damaged)
    }
}

/// The reason why a link loses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The link failed while the frame was on it.
    Failed,
    /// The frame arrived and is unreadable.
    Damaged,
}

impl<C> Network<C> {
    /// Returns the number of frames that were in flight on a link when it failed.
    pub fn lost_in_flight(&self, link: LinkId) -> u64 {
        let receiver = self.graph.port(link).peer;
        let states = self.part_of(receiver).faults.states.as_ref();
        states.map_or(0, |states| states.ends[link].lost_in_flight)
    }

    /// Returns the number of frames that were lost because a link failed, except those in switches.
    pub fn lost_with(&self, link: LinkId) -> u64 {
        let of = |node| {
            let states = self.part_of(node).faults.states.as_ref();
            states.map_or(End::default(), |states| states.ends[link])
        };
        let receiver = self.graph.port(link).peer;
        of(self.node_of(link)).lost_waiting + of(receiver).lost_in_flight
    }
}

impl<C: Calendar> Simulation<C> {
    /// Describes the flows that still wait for an unreachable receiver at the end of the run.
    // LNK-13
    pub(super) fn out_of_reach(&self) -> Vec<String> {
        let (mut named, mut more) = (Vec::new(), 0);
        let graph = &self.net.graph;
        for (host, nic, _) in self.net.each_nic() {
            let part = self.net.part_of(host);
            if part.faults.states.is_none() {
                break;
            }
            nic.for_each_flow(|sent| {
                let flow = part.flows.live.get(sent.cookie);
                let Some(flow) = flow.filter(|_| sent.why == OUT_OF_REACH) else {
                    return;
                };
                if named.len() == MOST_NAMED {
                    more += 1;
                    return;
                }
                named.push(format!(
                    "flow {} from {} to {}: {} of {} B acknowledged, {}",
                    flow.id,
                    graph.name(host),
                    graph.name(hosts_of(&flow).1),
                    sent.acked_bytes,
                    flow.bytes,
                    sent.why
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
