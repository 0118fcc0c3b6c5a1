//! The simulator: drives switches and NICs in virtual time.
//!
//! A handler touches only its own node. What concerns another node travels as a frame on a link.
//! Inside an instant, all arrivals come first, then timers, then flows that start; then the ports
//! that were kicked choose what to send, in rounds: a port that is kicked by a choice of this round
//! has its turn in the next. The rules are in `specs/engine.md`.
//!
//! A [`Simulation`] is the whole: traffic, probes, when it ends, its audit. The network itself is
//! divided into partitions (`partition.rs`), each with the state machines, packets and calendar of
//! its nodes. Where there are several, each has a thread (`workers.rs`), and frames that cross from one
//! to another are handed over between windows of time (`exchange.rs`, `specs/threads.md`). A large
//! partition is worked through in lanes (`lanes.rs`) in the same way, on one thread. So a
//! handler must not even look at a node of another partition, and what is scheduled for both ends of
//! a link has to be scheduled at both.

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
mod heard;
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

/// Everything that a run needs.
pub struct Plan {
    /// The network.
    pub graph: Arc<Graph>,
    /// Routes of every switch, in order of switches.
    pub routes: Vec<Routes>,
    /// Every switch that is not in `switch_at`.
    pub switch: SwitchConfig,
    /// Switches with a configuration of their own.
    pub switch_at: SwitchesAt,
    /// What every NIC is.
    pub nic: NicConfig,
    /// Where T and BDP of the controls come from.
    pub base_rtt: BaseRtt,
    /// The flows, in order of start; ids count from 0.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// How many flows there are, where that is known.
    pub flows: Option<u64>,
    /// Workloads with dependencies, whose messages are flows besides.
    pub jobs: Jobs,
    /// Seed of everything random.
    pub seed: u64,
    /// The run ends here at the latest, ps.
    pub until_ps: Time,
    /// Time between probes, ps; above 0.
    pub probe_ps: Time,
    /// Of every switch, the pairs of (ingress, egress) that may hold a queue upstream; `None`:
    /// all may.
    pub backpressure: Option<Vec<Pairs>>,
    /// Links that fail; `routes` are those of the network without the ones that are down at the
    /// start. `None`: none does.
    pub link_failures: Option<Arc<LinkFailures>>,
    /// What a deadlock does to the run.
    pub on_deadlock: OnDeadlock,
    /// How times are rounded.
    pub clock: Clock,
    /// Events of one instant come in the order of scheduling; [`run`] looks at it.
    pub in_order: bool,
    /// With that: flows that start come before all other events of their instant.
    pub starts_first: bool,
    /// What is recorded besides. Changes no result.
    pub record: RecordSpec,
    /// How many threads it may use. Changes speed, never a result.
    pub threads: Threads,
    /// Stretches of the network that a thread works through in turn; `None`: by the size of the network.
    /// Changes speed, never a result.
    pub lanes: Option<u32>,
    /// Leave out port-free events that nothing waits for. Changes speed, never a result.
    pub elide: bool,
}

impl Plan {
    /// The configuration of a switch.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> &SwitchConfig {
        self.switch_at.get(node).unwrap_or(&self.switch)
    }

    /// Each configuration that a switch may have.
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

/// A network in virtual time, its traffic, and all that is looked at.
pub struct Simulation<C = Wheel> {
    net: Network<C>,
    /// `None`: one thread does it.
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
    /// Some links lose frames.
    losing: bool,
    /// Links fail or come back during the run.
    links_change: bool,
    /// `None`: no circle of ports can wait for each other.
    deadlock_search: Option<Box<DeadlockSearch>>,
    /// Pauses may be repeated though nothing changed.
    repeats_pauses: bool,
    /// Pauses of PFC run out, and are repeated before.
    pauses_run_out: bool,
    /// Packets of a flow may take several paths at once, so the ideal of one path is no bound.
    spraying: bool,
    /// A receiver-driven transport repairs what is lost.
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
