//! State of links that fail and recover during a run, per partition. The rules are in
//! `specs/links.md`.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::ids::IndexVec;
use dataplane::nic::CUT_OFF;
use dataplane::route::Routes;
use dataplane::switch::Pairs;
use dataplane::units::Time;

use super::Plan;
use crate::backpressure_graph::BackpressureGraph;
use crate::ids::LinkId;
use crate::link_failures::{LinkFailures, parts};
use crate::routing::routes;
use crate::topology::Graph;

/// Failure state of one end of a link, for both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// Time at which the last bit of the last sent frame would have left the port.
    pub busy_ps: Time,
    /// Number of waiting replies of the sender that were lost, if the sender is a host.
    pub lost_waiting: u64,
    /// Time of the last failure at the receiver. Frames that were in flight at that time are lost.
    pub failed_ps: Time,
    /// Number of frames to the receiver that were in flight when the link failed.
    pub lost_in_flight: u64,
}

/// Routes of every node after a change of links.
#[derive(Debug, Default)]
pub(super) struct NewRoutes {
    pub at_ps: Time,
    /// Connected component of the network, per endpoint; `None`: all endpoints can reach each
    /// other.
    pub parts: Option<Arc<[u32]>>,
    pub routes: Vec<Option<Routes>>,
    pub allowed: Vec<Option<Pairs>>,
}

/// Link states of a partition, in a run whose links fail.
#[derive(Debug)]
pub(super) struct LinkStates {
    pub link_failures: Arc<LinkFailures>,
    seed: u64,
    choice: PathChoice,
    pub ends: IndexVec<LinkId, End>,
    /// Links that are down according to routing, which learns of a change after the reconvergence
    /// time.
    down: BTreeSet<LinkId>,
    /// Number of link changes that routing has processed.
    known: usize,
    pub new_routes: NewRoutes,
    /// Time of the last change of a link or of routes.
    last_ps: Time,
    /// Number of link changes so far. Each change is counted at one end of the link.
    pub changes: u64,
    /// Number of times that routes changed.
    pub reroutes: u64,
}

impl LinkStates {
    /// Returns true if links of a run can fail.
    pub fn fail(plan: &Plan) -> bool {
        let failures = plan.link_failures.as_ref();
        failures.is_some_and(|failures| !failures.is_empty())
    }

    /// Creates the link states of a plan; `None`: no link ever fails.
    pub fn new(plan: &Plan) -> Option<Box<Self>> {
        let link_failures = plan
            .link_failures
            .clone()
            .filter(|link_failures| !link_failures.is_empty())?;
        let last = link_failures.changes().last().map(|change| change.at_ps);
        Some(Box::new(Self {
            seed: plan.seed,
            choice: plan.switch.path,
            ends: vec![End::default(); plan.graph.port_count() as usize].into(),
            down: link_failures.initial().iter().copied().collect(),
            known: 0,
            new_routes: NewRoutes::default(),
            last_ps: last.map_or(0, |at| at.saturating_add(link_failures.reconvergence_ps)),
            changes: 0,
            reroutes: 0,
            link_failures,
        }))
    }

    /// Returns true if links change state during the run.
    pub fn change(&self) -> bool {
        !self.link_failures.changes().is_empty()
    }

    /// Returns true if a link changes state after `now`.
    pub fn pending(&self, now: Time) -> bool {
        now < self.last_ps
    }

    /// Returns the network without the links that are down according to routing.
    pub fn known_graph(&self, graph: &Graph) -> Graph {
        let down: Vec<LinkId> = self.down.iter().copied().collect();
        graph.without(&down)
    }

    /// Applies all link changes that have reached routing before `now`, and computes new routes.
    // LNK-12, LNK-25
    pub fn learn(&mut self, graph: &Graph, now: Time) {
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
        // Route tables have at most the size of those at the start, so they fit.
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

/// Returns the connected component of each endpoint; `None` if all endpoints can reach each other.
// LNK-13
pub(super) fn reachable_parts(known: &Graph) -> Option<Arc<[u32]>> {
    let parts = parts(known);
    let whole = parts
        .iter()
        .all(|&part| part != CUT_OFF && part == parts[0]);
    (!whole).then(|| parts.into())
}
