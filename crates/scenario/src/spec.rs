//! A scenario that was read and checked.

use std::sync::Arc;

use dataplane::units::Time;
use fabric::engine::OnDeadlock;
use fabric::measure::RecordSpec;
use fabric::topology::{Graph, TopologySpec};

use crate::failures::FailuresSpec;
use crate::problem::Problem;
use crate::scheme::{SchemeAt, SchemeSpec};
use crate::traffic_spec::TrafficSpec;
use crate::workload_spec::WorkloadSpec;

/// The settings of `[run]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// Latest end of the run, in ps of simulated time.
    pub until_ps: Time,
    /// Interval between samples of buffers and of active flows, ps.
    pub probe_ps: Time,
    /// Warm-up, ps. Flows that start earlier do not count in the statistics.
    pub warmup_ps: Time,
    /// True if the statistics measure a flow until its last ACK has returned; false if they measure
    /// it until its last byte has arrived.
    pub fct_acked: bool,
    /// Clock of another simulator at time 0 of this run, ps. It is added to the times in exports,
    /// and has no effect on the simulated network.
    pub epoch_ps: Time,
    /// Reaction of the run to a deadlock.
    pub on_deadlock: OnDeadlock,
    /// True if drops in a scheme that guarantees no loss are warnings instead of errors.
    pub may_lose: bool,
}

/// All settings of a scenario, including defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random decisions.
    pub seed: u64,
    /// The topology of the network.
    pub topology: TopologySpec,
    /// Link failures.
    pub failures: FailuresSpec,
    /// Buffer of every switch, in bytes.
    pub buffer_bytes: u64,
    /// Bytes of the buffer that are reserved for each port and buffered class.
    pub reserved_bytes: u64,
    /// Sources of flows.
    pub traffic: Vec<TrafficSpec>,
    /// Workloads of ranks.
    pub workloads: Vec<WorkloadSpec>,
    /// Duration of the run, and measured time.
    pub run: RunSpec,
    /// Additional measurements that the results contain.
    pub record: RecordSpec,
    /// The scheme of all switches and hosts.
    pub scheme: SchemeSpec,
    /// Exceptions from the scheme for some switches.
    pub scheme_at: Vec<SchemeAt>,
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// All settings, including defaults.
    pub spec: Spec,
    /// The network that was built from the topology.
    pub graph: Arc<Graph>,
    /// Warnings about the scenario.
    pub warnings: Vec<Problem>,
    /// Notes about values that are valid, but unusual in real networks of this kind.
    pub notes: Vec<Problem>,
    /// The scenario as TOML text, with all values and their origins.
    pub resolved: String,
}
