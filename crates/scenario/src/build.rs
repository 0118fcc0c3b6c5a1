//! Converts a checked scenario into the plan that the simulation engine executes.

use std::sync::{Arc, OnceLock};

use dataplane::route::Routes;
use dataplane::switch::Pairs;
use fabric::backpressure_graph::BackpressureGraph;
use fabric::engine::{Clock, FlowPaths, Plan, Threads, flow_paths};
use fabric::routing::{RoutingError, routes};
use fabric::topology::Graph;
use fabric::workload::{Job, Jobs};
use thiserror::Error;
use traffic::{Feed, Flow, Hosts};

use crate::loads::{racks, source};
use crate::spec::Scenario;

/// The reason why a scenario without errors cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The routing tables would be too large.
    #[error("{0}")]
    Routing(RoutingError),
    /// The flows cannot be generated.
    #[error("{0}")]
    Traffic(String),
}

/// A plan for the simulation engine, and a cell for errors of its flow generator.
#[derive(Debug)]
pub struct Built {
    /// The input of the simulation engine.
    pub plan: Plan,
    /// Set during the run if random arrivals exceed the maximum number of flows of a run.
    pub traffic_error: Arc<OnceLock<String>>,
}

/// The flows of a feed. If the feed ends with an error, the message is stored in `error`.
struct CheckedFeed {
    feed: Feed,
    error: Arc<OnceLock<String>>,
}

impl Iterator for CheckedFeed {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let flow = self.feed.next();
        if flow.is_none()
            && let Some(e) = self.feed.error()
        {
            // Setting fails if the error is already stored. The message is the same each time.
            let _ = self.error.set(e.to_string());
        }
        flow
    }
}

impl Scenario {
    /// Returns the flows of the scenario in the order of their starts. The flows do not depend on
    /// the scheme.
    ///
    /// # Errors
    /// The flows cannot be generated.
    pub fn feed(&self) -> Result<Feed, BuildError> {
        let racks = racks(&self.graph);
        let wrong = |e: traffic::Error| BuildError::Traffic(e.to_string());
        let hosts = Hosts::new(&racks).map_err(wrong)?;
        let sources: Result<Vec<_>, String> = self
            .spec
            .traffic
            .iter()
            .map(|t| source(t, &self.graph, &hosts))
            .collect();
        let sources = sources.map_err(BuildError::Traffic)?;
        Feed::new(self.spec.seed, &sources, self.graph.hosts(), &racks).map_err(wrong)
    }

    /// Returns the backpressure graph: for each egress port, the egress ports that it can stop by
    /// backpressure.
    ///
    /// # Errors
    /// The network is too large.
    pub fn backpressure_graph(&self) -> Result<BackpressureGraph, BuildError> {
        let path = self.spec.scheme.switch.path;
        let known = self
            .graph
            .without(self.spec.link_failures(&self.graph).initial());
        let routes = routes(&known, self.spec.seed, path).map_err(BuildError::Routing)?;
        Ok(BackpressureGraph::new(&known, &routes))
    }

    /// Returns the pairs of ports of which one may pause the other. `None`: all pairs may.
    // BFC-52: port pairs that could form a pause cycle are exempt
    fn allowed_pairs(&self, known: &Graph, routes: &[Routes]) -> Option<Vec<Pairs>> {
        // In regular topologies all routes go up and then down, so the backpressure graph has no
        // cycle.
        if !self.spec.scheme.elides() || known.is_regular() {
            return None;
        }
        let graph = BackpressureGraph::new(known, routes);
        (!graph.removed.is_empty()).then(|| graph.allowed())
    }

    /// Returns the path of each flow, in the order of flow IDs. `None`: packets of one flow use
    /// several paths.
    ///
    /// # Errors
    /// The network is too large, or the flows cannot be generated.
    pub fn flow_paths(&self) -> Result<Option<FlowPaths>, BuildError> {
        self.build().map(|built| flow_paths(built.plan))
    }

    /// Returns the workloads. Their source indices follow those of the traffic sources.
    fn jobs(&self) -> Vec<Job> {
        let numbers = self.spec.traffic.len() as u16..;
        let jobs = numbers.zip(&self.spec.workloads);
        jobs.map(|(number, workload)| workload.job(number))
            .collect()
    }

    /// Returns the plan that the simulation engine executes.
    ///
    /// # Errors
    /// The network is too large, or the flows cannot be generated.
    pub fn build(&self) -> Result<Built, BuildError> {
        let config = self.spec.configure(&self.graph);
        let feed = self.feed()?;
        let flows = feed.known_len();
        let traffic_error = Arc::new(OnceLock::new());
        // LNK-10: initial routes avoid links that are down at the start
        let link_failures = self.spec.link_failures(&self.graph);
        let known = self.graph.without(link_failures.initial());
        let routes =
            routes(&known, self.spec.seed, config.switch.path).map_err(BuildError::Routing)?;
        let plan = Plan {
            graph: self.graph.clone(),
            switch: config.switch,
            switch_at: config.switch_at,
            nic: config.nic,
            base_rtt: config.base_rtt,
            feed: Box::new(CheckedFeed {
                feed,
                error: traffic_error.clone(),
            }),
            flows: flows.filter(|_| self.spec.workloads.is_empty()),
            jobs: Jobs {
                jobs: self.jobs().into(),
                error: traffic_error.clone(),
            },
            seed: self.spec.seed,
            until_ps: self.spec.run.until_ps,
            probe_ps: self.spec.run.probe_ps,
            backpressure: self.allowed_pairs(&known, &routes),
            routes,
            link_failures: (!link_failures.is_empty()).then(|| Arc::new(link_failures)),
            on_deadlock: self.spec.run.on_deadlock,
            clock: if self.spec.scheme.cut_times {
                Clock::Nanoseconds {
                    epoch_ps: self.spec.run.epoch_ps,
                }
            } else {
                Clock::Exact
            },
            in_order: self.spec.scheme.in_order,
            starts_first: self.spec.scheme.starts_first,
            record: self.spec.record.clone(),
            threads: Threads::ONE,
            lanes: None,
            elide: true,
        };
        Ok(Built {
            plan,
            traffic_error,
        })
    }
}
