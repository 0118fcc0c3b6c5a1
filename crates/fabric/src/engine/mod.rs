//! The simulator: drives switches and NICs in virtual time.
//!
//! An event handler changes only its own node. Nodes affect each other only by frames on links.
//! The order within an instant is:
//!
//! 1. arrivals,
//! 2. timers,
//! 3. flow starts,
//! 4. transmissions: ports that requested to send (were kicked) choose a packet, in rounds. A port
//!    that is kicked by a choice of this round chooses in the next round.
//!
//! The rules are in `specs/engine.md`.
//!
//! A [`Simulation`] contains the traffic, the probes, the end conditions and the audit. The network
//! is divided into partitions (`partition.rs`), each with the state machines, packets and calendar
//! of its nodes. Each partition has a thread (`workers.rs`). Frames to another partition are handed
//! over between synchronisation windows (`exchange.rs`, `specs/threads.md`). A large partition is
//! divided into lanes (`lanes.rs`) in the same way, on one thread. Therefore a handler must not
//! read a node of another partition. An event for both ends of a link must be scheduled in the
//! partitions of both ends.

mod audit;
mod audit_receivers;
mod build;
mod carried;
mod clock;
mod close;
mod collectives;
mod composed;
mod credits;
mod cut;
mod deadlock;
mod division;
mod drive;
mod egress;
mod ended;
mod events;
mod exchange;
mod flow_parameters;
mod flow_paths;
mod flow_state;
mod flows;
mod lanes;
mod link_changes;
mod link_ends;
mod link_state;
pub mod lockstep;
mod long_queues;
mod loss;
pub mod measure;
mod member_links;
mod merge;
mod network;
mod node;
mod notices;
mod order;
mod outbox;
mod pace;
mod partition;
mod places;
mod prefetch;
mod probe;
mod rank_events;
mod ranks;
mod recording;
mod single_host;
mod switches_at;
mod upcoming_flows;
mod workers;

use std::sync::Arc;

use dataplane::config::{BaseRtt, NicConfig};
use dataplane::route::Routes;
use dataplane::switch::{Pairs, SwitchConfig};
use dataplane::units::Time;
use kernel::calendar::Wheel;
use traffic::Flow;

use crate::ids::NodeId;
use crate::link_failures::LinkFailures;
use crate::record::{ThreadUse, Violation};
use crate::topology::Graph;
use crate::workload::Jobs;
pub use clock::Clock;
use collectives::Collectives;
pub use credits::upward;
use deadlock::DeadlockSearch;
pub use deadlock::OnDeadlock;
use division::Division;
pub use division::Threads;
pub use drive::run;
pub use flow_paths::{FlowPaths, flow_paths};
use measure::RecordSpec;
use merge::Merged;
use network::Network;
use probe::Probes;
pub use single_host::SingleHost;
pub use switches_at::SwitchesAt;
use upcoming_flows::Traffic;

/// Complete description of a run: network, configuration, traffic and end conditions.
pub struct Plan {
    /// The network.
    pub graph: Arc<Graph>,
    /// Routes of every switch, in the order of switches.
    pub routes: Vec<Routes>,
    /// Configuration of every switch that is not in `switch_at`.
    pub switch: SwitchConfig,
    /// Switches that have another configuration than `switch`.
    pub switch_at: SwitchesAt,
    /// Configuration of every NIC.
    pub nic: NicConfig,
    /// Source of the base RTT and BDP of the congestion controls.
    pub base_rtt: BaseRtt,
    /// The flows, in the order of their start times. Flow IDs count from 0 in this order.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// Number of flows; `None`: unknown.
    pub flows: Option<u64>,
    /// Workloads with dependencies. Their messages are additional flows.
    pub jobs: Jobs,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Maximum duration of the run, ps.
    pub until_ps: Time,
    /// Time between probes, ps; above 0.
    pub probe_ps: Time,
    /// Per switch, the pairs of (ingress, egress) that may pause a queue upstream; `None`: all
    /// pairs may.
    pub backpressure: Option<Vec<Pairs>>,
    /// Links that fail; `None`: links do not fail. `routes` exclude links that are down at the
    /// start.
    pub link_failures: Option<Arc<LinkFailures>>,
    /// Reaction of the run to a deadlock.
    pub on_deadlock: OnDeadlock,
    /// Precision of the times of the run.
    pub clock: Clock,
    /// True if events of one instant run in the order of scheduling. Only [`run`] reads it.
    pub in_order: bool,
    /// True if flow starts precede all other events of their instant. Used only with `in_order`.
    pub starts_first: bool,
    /// Measures to record. They do not change results.
    pub record: RecordSpec,
    /// Number of threads. It changes the speed but not the results.
    pub threads: Threads,
    /// Maximum number of lanes (groups of nodes that a thread simulates in turn) of the network;
    /// `None`: chosen by the size of the network. It changes the speed but not the results.
    pub lanes: Option<u32>,
    /// Omit port-free events if no packet waits for the port. This changes the speed but not the
    /// results.
    pub elide: bool,
}

impl Plan {
    /// Returns the configuration of a switch.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> &SwitchConfig {
        self.switch_at.get(node).unwrap_or(&self.switch)
    }

    /// Returns all different configurations of switches.
    pub fn switch_configs(&self) -> impl Iterator<Item = &SwitchConfig> {
        std::iter::once(&self.switch).chain(self.switch_at.configs())
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("switch", &self.switch)
            .field("nic", &self.nic)
            .field("seed", &self.seed)
            .field("until_ps", &self.until_ps)
            .finish_non_exhaustive()
    }
}

/// A simulated network, with its traffic and its end conditions.
pub struct Simulation<C = Wheel> {
    net: Network<C>,
    /// Division among threads; `None`: the run has one thread.
    division: Option<Division>,
    threads: ThreadUse,
    merged: Merged,
    traffic: Traffic,
    flows: Option<u64>,
    collectives: Collectives,
    probes: Probes,
    until_ps: Time,
    probe_ps: Time,
    lossless: bool,
    /// True if some links lose frames.
    losing: bool,
    /// True if links fail or recover during the run.
    links_change: bool,
    /// State of the deadlock search; `None`: ports cannot wait for each other in a cycle.
    deadlock_search: Option<Box<DeadlockSearch>>,
    /// True if pause frames are repeated without a change.
    repeats_pauses: bool,
    /// True if PFC pauses expire, so that switches repeat them before they expire.
    pauses_run_out: bool,
    /// True if packets of a flow may use several paths at the same time. The ideal FCT of one path
    /// is then not a lower bound.
    spraying: bool,
    /// True if a receiver-driven transport retransmits lost packets itself.
    owns_repair: bool,
    violations: Vec<Violation>,
}

impl<C> std::fmt::Debug for Simulation<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Simulation({} nodes, now {} ps)",
            self.net.graph.nodes(),
            self.net.now_ps()
        )
    }
}
