//! A part of the network with all that its nodes need: state machines, packets, calendar, counters.
//!
//! Nodes have numbers of their own in a partition (see [`Places`]), hosts first; links keep the
//! numbers of the network, and each partition has a record of every link. The sending half of a
//! record is alive in the partition of the node that sends, the receiving half in that of the node
//! that receives.

use std::collections::VecDeque;
use std::sync::Arc;

use dataplane::config::{BaseRtt, NicConfig};
use dataplane::nic::Nic;
use dataplane::packet::Arena;
use dataplane::switch::Switch;
use dataplane::units::Time;
use traffic::Flow;

use super::exchange::Outbox;
use super::link_state::LinkStates;
use super::live_flows::LiveFlows;
use super::loss::Losses;
use super::measure::Recording;
use super::node::Core;
use super::order::SourcePorts;
use super::places::Places;
use super::prefetch::NextAccess;
use crate::ns3::Baselines;
use crate::paths::Paths;
use crate::record::{FlowRecord, Violation};
use crate::routing::PathCounts;
use crate::topology::Graph;

/// A part of a network in virtual time.
pub(super) struct Partition<C> {
    pub core: Core<C>,
    pub graph: Arc<Graph>,
    pub places: Arc<Places>,
    pub arena: Arena,
    pub nics: Vec<Nic>,
    pub switches: Vec<Switch>,
    pub losses: Losses,
    /// `None`: no link fails.
    pub link_states: Option<Box<LinkStates>>,
    /// Frames for other partitions.
    pub outbox: Outbox,
    /// `None`: nothing is recorded besides.
    pub recording: Option<Box<Recording>>,
    /// Ports of the current round.
    pub round: Vec<u32>,
    /// Last time that anything arrived or started.
    pub progress_ps: Time,

    /// Flows that are to start here, as far as they have been drawn; by lane.
    pub coming: Vec<VecDeque<Flow>>,
    /// Flows whose start has been announced but not happened.
    pub starting: VecDeque<Flow>,
    pub live: LiveFlows,
    pub finished: Vec<FlowRecord>,
    pub started: u64,
    pub done: u64,
    pub finished_bytes: u64,
    pub violations: Vec<Violation>,
    pub paths: Paths,
    pub baselines: Baselines,
    pub source_ports: SourcePorts,
    /// Largest base round trip of the network, computed when first needed.
    pub network_rtt_ps: Option<Time>,

    pub nic: Arc<NicConfig>,
    pub base_rtt: BaseRtt,
    pub seed: u64,
    pub elide: bool,
    /// Flows that start come before all other events of their instant.
    pub starts_first: bool,
    /// Memory is prefetched: this pays where the state is larger than the caches.
    pub prefetches: bool,
    /// Queues are prefetched too, where packets of a class stand in several: this pays without lanes, whose
    /// queues stay in the caches.
    pub prefetches_queues: bool,
    /// What the event after the current one will touch; see [`Partition::prefetch`].
    pub next_access: NextAccess,
    /// Packets of a flow may take several paths at once, so the ideal of one path is no bound.
    pub spraying: bool,
    /// How many equal-cost paths there are, where senders choose among them.
    pub path_counts: Option<Arc<PathCounts>>,
}
