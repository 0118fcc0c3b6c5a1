//! Links that fail and come back during a run. The rules are in `specs/links.md`.
//!
//! A change of a link is an event at each of its ends; new routes are one at every node. All of
//! them come first in their instant.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::nic::{CUT_OFF, OUT_OF_REACH};
use dataplane::route::Routes;
use dataplane::switch::Pairs;
use dataplane::units::{NEVER, Time};
use kernel::calendar::{Calendar, Event, phase};

use super::{NodeSink, Simulation};
use crate::backpressure_graph::BackpressureGraph;
use crate::outages::{Outages, parts};
use crate::routing::routes;
use crate::topology::Graph;

/// Flows out of reach that are named one by one.
const MOST_NAMED: usize = 200;

/// One direction of a link, beyond what runs it.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// What arrives up to then was sent before the link failed, and is lost.
    cut_ps: Time,
    /// When the last bit of the last frame would have left.
    busy_ps: Time,
    /// Frames lost on it, and replies that waited at a host for it.
    lost: u64,
}

/// The links of a run that has outages.
#[derive(Debug)]
pub(super) struct LinkStates {
    outages: Outages,
    /// The network with every link up.
    graph: Arc<Graph>,
    seed: u64,
    choice: PathChoice,
    ends: Vec<End>,
    /// Links that routing takes to be down, and how many changes it knows of.
    down: BTreeSet<u32>,
    known: usize,
    /// When the last change, or the last new routes, come.
    last_ps: Time,
    /// Changes so far, and how often routes were made anew.
    pub changes: u64,
    pub reroutes: u64,
}

impl LinkStates {
    /// `None`: no link ever fails.
    pub fn new(
        outages: Option<Outages>,
        graph: &Arc<Graph>,
        seed: u64,
        choice: PathChoice,
    ) -> Option<Box<Self>> {
        let outages = outages.filter(|outages| !outages.is_empty())?;
        let last = outages.changes().last().map(|change| change.at_ps);
        Some(Box::new(Self {
            graph: Arc::clone(graph),
            seed,
            choice,
            ends: vec![End::default(); graph.port_count() as usize],
            down: outages.initial().iter().copied().collect(),
            known: 0,
            last_ps: last.map_or(0, |at| at.saturating_add(outages.reconvergence_ps)),
            changes: 0,
            reroutes: 0,
            outages,
        }))
    }

    /// Whether links change during the run.
    pub fn change(&self) -> bool {
        !self.outages.changes().is_empty()
    }

    /// Whether anything is to change after `now`.
    pub fn pending(&self, now: Time) -> bool {
        now < self.last_ps
    }

    /// Whether a frame that comes to the end of a link now was sent before the link failed.
    // LNK-02
    pub fn takes(&mut self, link: u32, now: Time) -> bool {
        let end = &mut self.ends[link as usize];
        let lost = now <= end.cut_ps;
        end.lost += u64::from(lost);
        lost
    }

    /// Frames that a link has lost because it failed.
    pub fn lost(&self, link: usize) -> u64 {
        self.ends[link].lost
    }

    /// The network as routing knows it.
    pub fn known_graph(&self) -> Graph {
        let down: Vec<u32> = self.down.iter().copied().collect();
        self.graph.without(&down)
    }

    /// Routes of the network as it is known, and the pairs of ports that may hold their upstream.
    // LNK-12, LNK-25
    fn find_routes(&self, known: &Graph) -> Option<(Vec<Routes>, Option<Vec<Pairs>>)> {
        // Tables that fitted at the start fit now.
        let routes = routes(known, self.seed, self.choice).ok()?;
        let elide = self.outages.elide_backpressure && !known.is_regular();
        let graph = elide.then(|| BackpressureGraph::new(known, &routes));
        let graph = graph.filter(|graph| !graph.removed.is_empty());
        Some((routes, graph.map(|graph| graph.allowed())))
    }
}

impl<C: Calendar> Simulation<C> {
    /// Puts all changes into the calendar, and the links that are down from the start to rest.
    // LNK-01
    pub(super) fn plan_outages(&mut self) {
        let Some(states) = self.link_states.take() else {
            return;
        };
        let everywhere = self.graph.port_count();
        for change in states.outages.changes() {
            let other = self.graph.peer_index(change.link as usize) as u32;
            let event = |id| Event::new(change.at_ps, phase::TOPOLOGY, id, u32::from(change.up));
            self.core.calendar.push(event(change.link));
            self.core.calendar.push(event(other));
        }
        // One for all changes of an instant.
        for (at_ps, _) in states.outages.epochs().into_iter().skip(1) {
            let event = Event::new(at_ps, phase::TOPOLOGY, everywhere, 0);
            self.core.calendar.push(event);
        }
        let initial = states.outages.initial().to_vec();
        let parts = parts(&states.known_graph());
        self.link_states = Some(states);
        for link in initial {
            let other = self.graph.peer_index(link as usize) as u32;
            self.change_link(link, false);
            self.change_link(other, false);
        }
        self.tell_reach(parts);
    }

    /// Something about links changes: one end of one of them, or the routes.
    #[cold]
    pub(super) fn change_topology(&mut self, id: u32, up: bool) {
        self.progress_ps = self.core.now;
        if id == self.graph.port_count() {
            self.reroute();
        } else {
            self.change_link(id, up);
            // Both ends of a link make one change.
            if let Some(states) = &mut self.link_states
                && self.graph.peer_index(id as usize) > id as usize
            {
                states.changes += 1;
            }
        }
    }

    /// The sending direction of a link, and the node that sends on it.
    // LNK-01, LNK-02, LNK-20
    fn change_link(&mut self, link: u32, up: bool) {
        let now = self.core.now;
        let Some(states) = &mut self.link_states else {
            return;
        };
        if let Some(standstill) = &mut self.standstill {
            standstill.forget();
        }
        let end = &mut states.ends[link as usize];
        let l = &mut self.core.links.hot[link as usize];
        if up {
            l.busy_ps = end.busy_ps.max(now);
        } else {
            end.busy_ps = l.busy_ps;
            end.cut_ps = l.busy_ps + l.delay_ps;
            l.busy_ps = NEVER;
            l.lossy = true;
        }
        let (node, port) = (l.node, l.port);
        let stranded = states.outages.stranded;
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
        };
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => {
                self.switches[switch].link(now, port, up, stranded, &mut self.arena, sink);
            }
            None => {
                let lost = self.nics[node as usize].link(port, up, &mut self.arena, sink);
                states.ends[link as usize].lost += lost;
            }
        }
        if !self.core.notices.dropped.is_empty() {
            self.send_notices();
        }
    }

    /// Routing has heard of all changes that are old enough, and every node has the new routes.
    // LNK-12
    fn reroute(&mut self) {
        let now = self.core.now;
        let Some(mut states) = self.link_states.take() else {
            return;
        };
        let reconvergence_ps = states.outages.reconvergence_ps;
        let news = states.outages.changes()[states.known..].iter();
        for change in news.take_while(|change| change.at_ps.saturating_add(reconvergence_ps) <= now) {
            if change.up {
                states.down.remove(&change.link);
            } else {
                states.down.insert(change.link);
            }
            states.known += 1;
        }
        states.reroutes += 1;
        let known = states.known_graph();
        let found = states.find_routes(&known);
        self.link_states = Some(states);
        self.tell_reach(parts(&known));
        let Some((routes, allowed)) = found else {
            return;
        };
        let mut allowed = allowed.into_iter().flatten();
        for (index, routes) in routes.into_iter().enumerate() {
            let sink = &mut NodeSink {
                core: &mut self.core,
                node: (self.nics.len() + index) as u32,
            };
            self.switches[index].reroute(now, routes, allowed.next(), &mut self.arena, sink);
        }
        if !self.core.notices.dropped.is_empty() {
            self.send_notices();
        }
        self.learn_routes();
    }

    /// Whoever looks for deadlocks knows by which ports packets go.
    pub(super) fn learn_routes(&mut self) {
        if let Some(standstill) = &mut self.standstill {
            let routes = self.switches.iter().map(dataplane::switch::Switch::routes);
            standstill.learn(&self.graph, &routes.collect::<Vec<_>>());
        }
    }

    /// Hosts know which receivers no way leads to.
    // LNK-13
    fn tell_reach(&mut self, parts: Vec<u32>) {
        let now = self.core.now;
        let whole = parts.iter().all(|&part| part != CUT_OFF && part == parts[0]);
        let parts: Option<Arc<[u32]>> = (!whole).then(|| parts.into());
        for (host, nic) in self.nics.iter_mut().enumerate() {
            let sink = &mut NodeSink {
                core: &mut self.core,
                node: host as u32,
            };
            nic.reach(now, parts.as_ref(), sink);
        }
    }

    /// Whether the frame that comes to the end of a lossy link now is lost.
    #[cold]
    pub(super) fn is_lost(&mut self, link: u32) -> bool {
        let now = self.core.now;
        let cut = self.link_states.as_mut();
        cut.is_some_and(|states| states.takes(link, now))
            || !self.losses.none() && self.losses.takes(link)
    }

    /// Flows that wait at the end of the run for a receiver out of reach.
    // LNK-13
    pub(super) fn out_of_reach(&self) -> Vec<String> {
        let mut named = Vec::new();
        let mut more = 0;
        if self.link_states.is_none() {
            return named;
        }
        for (host, nic) in self.nics.iter().enumerate() {
            nic.for_each_flow(|cookie, acked, why| {
                let flow = self.live.flows.get(cookie as usize).copied().flatten();
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
                    self.graph.name(host as u32),
                    self.graph.name(flow.dst),
                    flow.bytes
                ));
            });
        }
        if more > 0 {
            named.push(format!("and {more} more flows whose receivers cannot be reached"));
        }
        named
    }
}
