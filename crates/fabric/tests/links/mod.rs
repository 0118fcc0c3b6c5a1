//! Links that fail and recover: known outcomes, and properties under random failures. The rules are
//! in `specs/links.md`.

mod answers;
mod deadlock;
mod laws;

use fabric::LinkId;
use std::sync::Arc;

use crate::common::*;
use dataplane::sink::DropCause;
use dataplane::switch::Stranded;
use dataplane::units::Time;
use fabric::link_failures::{LinkFailure, LinkFailures};
use fabric::record::Outcome;
use fabric::topology::Graph;
use kernel::random::{Purpose, Stream};
use traffic::Flow;

const LOST: usize = DropCause::Link as usize;
const NO_ROUTE: usize = DropCause::NoRoute as usize;

/// Returns the link from one node to another.
#[track_caller]
fn link_of(graph: &Graph, from: &str, to: &str) -> LinkId {
    let (from, to) = (graph.find(from).unwrap(), graph.find(to).unwrap());
    let mut ports = graph.links_of(from);
    let port = ports.find(|&index| graph.port(index).peer == to);
    port.expect("the two are neighbours")
}

impl Setup {
    fn graph(&self) -> Graph {
        self.topology.build().expect("a sound topology")
    }

    /// Adds a failure of the link between two named nodes, from the first to the second time.
    #[must_use]
    fn failing(self, from: &str, to: &str, from_ps: Time, until_ps: Option<Time>) -> Self {
        let link = link_of(&self.graph(), from, to);
        self.with(
            &[LinkFailure {
                link,
                from_ps,
                until_ps,
            }],
            0,
            Stranded::Drop,
        )
    }

    #[must_use]
    fn with(
        mut self,
        link_failures: &[LinkFailure],
        reconvergence_ps: Time,
        stranded: Stranded,
    ) -> Self {
        let mut link_failures = LinkFailures::new(&self.graph(), link_failures, reconvergence_ps);
        link_failures.stranded = stranded;
        self.link_failures = Some(link_failures);
        self
    }

    /// Requests several threads, even if they do not make the run faster.
    fn divided(&self) -> Self {
        Self {
            threads: forced(3),
            ..self.clone()
        }
    }

    /// Runs with and without elided events, and on several threads, and checks that the results
    /// agree.
    #[track_caller]
    fn run_twice(self) -> (Outcome, Keep) {
        let full = Self {
            elide: false,
            ..self.clone()
        };
        let divided = self.divided();
        let (outcome, keep) = self.run();
        let (on_threads, same) = divided.run();
        assert_eq!(on_threads.digest, outcome.digest, "threads change nothing");
        let counted = |o: &Outcome| (o.counters.link_changes, o.counters.reroutes);
        assert_eq!(counted(&on_threads), counted(&outcome));
        assert_eq!(on_threads.ports, outcome.ports);
        assert_eq!(on_threads.deadlocks, outcome.deadlocks);
        assert_eq!(on_threads.stall, outcome.stall);
        assert_eq!(same.pauses, keep.pauses);
        assert_eq!(
            full.run().0.digest,
            outcome.digest,
            "elision changes nothing"
        );
        (outcome, keep)
    }
}

/// Flows between random hosts, with start times in the first `over_ps`.
fn busy(hosts: u32, n: u32, over_ps: Time, largest: u64, seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..n)
        .map(|_| {
            let src = random.below(u64::from(hosts)) as u32;
            let dst = (src + 1 + random.below(u64::from(hosts) - 1) as u32) % hosts;
            let bytes = 1 + random.below(largest);
            flow(0, random.below(over_ps), src, dst, bytes)
        })
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    flows
}

/// Returns the counters of the port of node `from` that leads to node `to`.
fn port<'a>(
    outcome: &'a Outcome,
    graph: &Arc<Graph>,
    from: &str,
    to: &str,
) -> &'a fabric::record::PortRecord {
    &outcome.ports[link_of(graph, from, to).index()]
}
