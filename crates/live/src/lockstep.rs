//! Runs a scenario in lockstep on real frames.

use std::time::Instant;

use fabric::engine::Plan;
use fabric::engine::lockstep::{self, Carrier};
use fabric::topology::Graph;
use results::Summary;
use scenario::{BuildError, Options, RunError, Scenario};
use thiserror::Error;

use crate::network::{self, Failure};

/// Carriers of all nodes, in the order of the node numbers.
pub type Carriers = Vec<Box<dyn Carrier>>;

/// Result of a run in lockstep, besides its files.
#[derive(Debug)]
pub struct Report {
    /// Summary of the results.
    pub summary: Summary,
    /// Number of nodes. Each had its own network namespace.
    pub nodes: u32,
    /// Number of frames sent between nodes.
    pub frames: u64,
    /// Number of bytes of these frames, without frame check sequences.
    pub bytes: u64,
    /// Number of rounds: each node takes part in each round.
    pub rounds: u64,
    /// Wall-clock time of the run, without building the network.
    pub seconds: f64,
}

/// Runs a scenario on real frames in a network of namespaces, and writes its results. The process
/// must be in a [user namespace](crate::enter_user_namespace) that allows network namespaces.
///
/// # Errors
/// The errors of [`Scenario::run`]. Also: the scenario needs more than frames, or the network
/// cannot be built or fails.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<Report, RunError> {
    run_over(scenario, options, veth_carriers)
}

/// Error of a run in lockstep on real frames.
#[derive(Debug, Error)]
pub enum LockstepError {
    /// The scenario cannot be built.
    #[error("{0}")]
    Build(BuildError),
    /// The network of namespaces cannot be built.
    #[error("{0}")]
    Network(Failure),
    /// The run is refused or fails.
    #[error("{0}")]
    Run(lockstep::Error),
}

/// Builds namespaces and interfaces for a network.
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
// LIV-02: refuse scenarios that need more than frames
pub(crate) fn carriers_of(
    plan: &Plan,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Carriers, LockstepError> {
    if let Some(why) = lockstep::refusal(plan) {
        return Err(LockstepError::Run(lockstep::Error::Refused(why)));
    }
    carriers(&plan.graph).map_err(LockstepError::Network)
}
