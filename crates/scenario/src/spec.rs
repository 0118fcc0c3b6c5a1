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
    /// Latest end of the run, ps.
    pub until_ps: Time,
    /// Interval of sampling buffers and active flows, ps.
    pub probe_ps: Time,
    /// Warm-up, ps. Flows that start earlier do not count in the statistics.
    pub warmup_ps: Time,
    /// True if statistics count the time of a flow until its last ACK has returned, false until its
    /// last byte has arrived.
    pub fct_acked: bool,
    /// Clock of another simulator at time 0 of this run, ps. Exports count from it. It has no
    /// effect in the simulated network.
    pub epoch_ps: Time,
    /// Effect of a deadlock on the run.
    pub on_deadlock: OnDeadlock,
    /// True if drops are warnings instead of errors when the scheme guarantees no loss.
    pub may_lose: bool,
}

/// All settings of a scenario, including defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random decisions.
    pub seed: u64,
    /// The network.
    pub topology: TopologySpec,
    /// Link failures.
    pub failures: FailuresSpec,
    /// Buffer of every switch.
    pub buffer_bytes: u64,
    /// Bytes reserved per port and buffered class.
    pub reserved_bytes: u64,
    /// Sources of flows.
    pub traffic: Vec<TrafficSpec>,
    /// Workloads of ranks.
    pub workloads: Vec<WorkloadSpec>,
    /// Duration and measured time.
    pub run: RunSpec,
    /// Additional records.
    pub record: RecordSpec,
    /// The scheme.
    pub scheme: SchemeSpec,
    /// Exceptions from the scheme for some switches.
    pub scheme_at: Vec<SchemeAt>,
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// All settings.
    pub spec: Spec,
    /// The built network.
    pub graph: Arc<Graph>,
    /// Warnings about the scenario.
    pub warnings: Vec<Problem>,
    /// Notes about valid values that real networks of this kind do not have.
    pub notes: Vec<Problem>,
    /// The scenario as TOML with all values and their origins.
    pub resolved: String,
}
