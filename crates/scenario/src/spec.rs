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

/// `[run]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// The run ends here at the latest, ps.
    pub until_ps: Time,
    /// Buffers and active flows are sampled this often, ps.
    pub probe_ps: Time,
    /// Flows that start earlier are left out of the statistics, ps.
    pub warmup_ps: Time,
    /// Statistics count the time of a flow until its last ACK is back, not until its last byte is there.
    pub fct_acked: bool,
    /// What the clock of another simulator shows at time 0 of this run, ps. Exports count from it;
    /// nothing in the simulated network does.
    pub epoch_ps: Time,
    /// What a deadlock does to the run.
    pub on_deadlock: OnDeadlock,
    /// Drops where the scheme promises no loss are warnings, not errors.
    pub may_lose: bool,
}

/// Everything that a scenario says, with all defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// Where all chance comes from.
    pub seed: u64,
    /// The network.
    pub topology: TopologySpec,
    /// Its links that fail.
    pub failures: FailuresSpec,
    /// Buffer of every switch.
    pub buffer_bytes: u64,
    /// Bytes reserved per port and buffered class.
    pub reserved_bytes: u64,
    /// Who sends what.
    pub traffic: Vec<TrafficSpec>,
    /// What ranks do together.
    pub workloads: Vec<WorkloadSpec>,
    /// How long, and what is measured.
    pub run: RunSpec,
    /// What is recorded besides.
    pub record: RecordSpec,
    /// One answer per axis.
    pub scheme: SchemeSpec,
    /// Switches whose answers differ.
    pub scheme_at: Vec<SchemeAt>,
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it says.
    pub spec: Spec,
    /// The network, built.
    pub graph: Arc<Graph>,
    /// What is doubtful in it.
    pub warnings: Vec<Problem>,
    /// The scenario with every value and where it comes from, as TOML.
    pub resolved: String,
}
