//! A scenario in lockstep: its results, and how many frames it took.

use std::fmt;
use std::time::Instant;

use fabric::engine::Plan;
use fabric::engine::lockstep::{self, Carrier};
use fabric::topology::Graph;
use results::Summary;
use scenario::{BuildError, Options, RunError, Scenario};

use crate::network::{self, Failure};

/// Carriers of all nodes, in the order of their numbers.
pub type Carriers = Vec<Box<dyn Carrier>>;

/// What a run in lockstep leaves besides its files.
#[derive(Debug)]
pub struct Report {
    /// That of its files.
    pub summary: Summary,
    /// Nodes, each in a network namespace of its own.
    pub nodes: u32,
    /// Frames that went from node to node.
    pub frames: u64,
    /// Their bytes, without the checksum of Ethernet.
    pub bytes: u64,
    /// How often all nodes met.
    pub rounds: u64,
    /// Wall-clock time from the first frame to the last, without the making of the network.
    pub seconds: f64,
}

/// Runs a scenario on real frames, in a network of namespaces that it makes, and writes its results. The process has
/// to be in a [user namespace](crate::enter_user_namespace) that allows that.
///
/// # Errors
/// As for [`Scenario::run`]; something of the scenario cannot be done with frames alone; or the network cannot be
/// made, or fails.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<Report, RunError> {
    run_over(scenario, options, veth_carriers)
}

/// Error of a run in lockstep on real frames.
#[derive(Debug)]
pub enum LockstepError {
    /// The scenario cannot be built.
    Build(BuildError),
    /// The network of namespaces cannot be made.
    Network(Failure),
    /// The run is refused, or fails.
    Run(lockstep::Error),
}

impl fmt::Display for LockstepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(why) => write!(f, "{why}"),
            Self::Network(why) => write!(f, "{why}"),
            Self::Run(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for LockstepError {}

/// Makes namespaces and interfaces for a network.
pub(crate) fn veth_carriers(graph: &Graph) -> Result<Carriers, Failure> {
    let carriers = network::build(graph)?;
    let boxed = carriers
        .into_iter()
        .map(|carrier| Box::new(carrier) as Box<dyn Carrier>);
    Ok(boxed.collect())
}

/// [`run`], over carriers of the caller's choice.
///
/// # Errors
/// As for [`run`].
pub fn run_over(
    scenario: &Scenario,
    options: Options<'_>,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Report, RunError> {
    let mut did = None;
    let summary = scenario.run_by(options, |plan, recorder, watch| {
        let carriers = carriers_of(&plan, carriers).map_err(|error| error.to_string())?;
        let nodes = plan.graph.nodes();
        let began = Instant::now();
        let ended = lockstep::run(plan, carriers, recorder, watch);
        let ended = ended.map_err(|error| error.to_string())?;
        let seconds = began.elapsed().as_secs_f64();
        did = Some((nodes, ended.frames, ended.bytes, ended.rounds, seconds));
        Ok(ended.outcome)
    })?;
    let (nodes, frames, bytes, rounds, seconds) = did.unwrap_or_default();
    Ok(Report {
        summary,
        nodes,
        frames,
        bytes,
        rounds,
        seconds,
    })
}

/// Carriers for a plan that can be run with them.
// LIV-02
pub(crate) fn carriers_of(
    plan: &Plan,
    carriers: impl FnOnce(&Graph) -> Result<Carriers, Failure>,
) -> Result<Carriers, LockstepError> {
    if let Some(why) = lockstep::refusal(plan) {
        return Err(LockstepError::Run(lockstep::Error::Refused(why)));
    }
    carriers(&plan.graph).map_err(LockstepError::Network)
}
