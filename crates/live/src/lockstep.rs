//! Runs a scenario in lockstep on real frames.

use std::time::Instant;

use fabric::engine::Plan;
use fabric::engine::lockstep::{self, Carrier};
use fabric::topology::Graph;
use results::Summary;
use scenario::{BuildError, Options, RunError, Scenario};
use thiserror::Error;

use crate::network::{self, Failure};

/// The carriers (which send and receive frames) of all nodes, in the order of node IDs.
pub type Carriers = Vec<Box<dyn Carrier>>;

/// Result of a lockstep run, in addition to its files.
#[derive(Debug)]
pub struct Report {
    /// Summary of the results, as in the simulator.
    pub summary: Summary,
    /// Number of nodes. Each node had its own network namespace.
    pub nodes: u32,
    /// Number of frames that nodes sent to each other.
    pub frames: u64,
    /// Number of bytes of these frames, without frame check sequences.
    pub bytes: u64,
    /// Number of rounds. In each round, every node runs once and exchanges frames.
    pub rounds: u64,
    /// Wall-clock duration of the run, without the time to build the network.
    pub seconds: f64,
}

/// Runs a scenario on real frames in a network of namespaces, and writes its results. The process
/// must be in a [user namespace](crate::enter_user_namespace) in which it may create network
/// namespaces.
///
/// # Errors
/// The errors of [`Scenario::run`], and: the nodes need information that frames do not carry, or
/// the network cannot be built, or it fails.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<Report, RunError> {
    run_over(scenario, options, veth_carriers)
}

/// Error of a lockstep run on real frames.
#[derive(Debug, Error)]
pub enum LockstepError {
    /// The scenario cannot be built.
    #[error("{0}")]
    Build(BuildError),
    /// The network of namespaces cannot be built.
    #[error("{0}")]
    Network(Failure),
    /// The scenario cannot run in lockstep, or the run fails.
    #[error("{0}")]
    Run(lockstep::Error),
}

/// Builds the network namespaces and virtual interfaces for a network, and opens the interfaces.
pub(crate) fn veth_carriers(graph: &Graph) -> Result<Carriers, Failure> {
    let carriers = network::build(graph)?;
    let boxed = carriers
        .into_iter()
        .map(|carrier| Box::new(carrier) as Box<dyn Carrier>);
    Ok(boxed.collect())
}

/// Like [`run`], with carriers that the caller chooses.
///
/// # Errors
/// The errors of [`run`].
pub fn run_over(
    scenario: &Scenario,
    options: Options<'_>,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Report, RunError> {
    let mut totals = None;
    let summary = scenario.run_by(options, |plan, recorder, watch| {
        let carriers = carriers_of(&plan, carriers).map_err(|error| error.to_string())?;
        let nodes = plan.graph.nodes();
        let began = Instant::now();
        let ended = lockstep::run(plan, carriers, recorder, watch);
        let ended = ended.map_err(|error| error.to_string())?;
        let seconds = began.elapsed().as_secs_f64();
        totals = Some((nodes, ended.frames, ended.bytes, ended.rounds, seconds));
        Ok(ended.outcome)
    })?;
    let (nodes, frames, bytes, rounds, seconds) = totals.unwrap_or_default();
    Ok(Report {
        summary,
        nodes,
        frames,
        bytes,
        rounds,
        seconds,
    })
}

/// Builds carriers for a plan, if the plan can run on frames.
// LIV-02: refuse scenarios whose nodes need information that frames do not carry
pub(crate) fn carriers_of(
    plan: &Plan,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Carriers, LockstepError> {
    if let Some(why) = lockstep::refusal(plan) {
        return Err(LockstepError::Run(lockstep::Error::Refused(why)));
    }
    carriers(&plan.graph).map_err(LockstepError::Network)
}
