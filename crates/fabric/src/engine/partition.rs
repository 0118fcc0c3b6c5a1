//! A partition: a set of nodes that one thread simulates, with all their data (state machines,
//! packets, calendar, counters).
//!
//! A node has an index in its partition (see [`Places`]); hosts come first. Links keep their IDs of
//! the network, and each partition has a record of every link. Only the partition of the sending
//! node uses the sender's half of a record, and only the partition of the receiving node uses the
//! receiver's half.

use std::sync::Arc;

use dataplane::nic::Nic;
use dataplane::packet::{Arena, PacketId};
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::flow_parameters::FlowParameters;
use super::flow_state::FlowState;
use super::link_state::LinkStates;
use super::loss::Losses;
use super::measure::{Measures, Reply};
use super::node::Core;
use super::outbox::Outbox;
use super::places::Places;
use super::ranks::Ranks;
use crate::ids::LinkId;
use crate::topology::Graph;

/// A set of nodes that one thread simulates, with all their data.
pub(super) struct Partition<C> {
    /// State that the sinks of all nodes of the partition share.
    pub core: Core<C>,
    pub graph: Arc<Graph>,
    pub places: Arc<Places>,
    pub arena: Arena,
    pub nics: Vec<Nic>,
    pub switches: Vec<Switch>,
    pub faults: LinkFaults,
    /// Frames for other partitions.
    pub outbox: Outbox,
    /// Enabled measures; `None`: no measure is enabled.
    pub measures: Option<Box<Measures>>,
    pub reply: Reply,
    /// Ports that choose a frame in the current round of the instant.
    pub round: Vec<LinkId>,
    /// Time of the last arrival of a packet or start of a flow.
    pub progress_ps: Time,
    pub flows: FlowState,
    /// Ranks on hosts of the partition; `None`: there is no workload.
    pub ranks: Option<Box<Ranks>>,
    pub parameters: FlowParameters,
    pub prefetching: Prefetching,
    pub settings: Settings,
}

/// Links that can lose frames or fail.
#[derive(Debug)]
pub(super) struct LinkFaults {
    pub losses: Losses,
    /// State of links that fail; `None`: no link fails.
    pub states: Option<Box<LinkStates>>,
}

/// Settings of prefetching. They change the speed but not the results.
#[derive(Debug)]
pub(super) struct Prefetching {
    /// True if state is prefetched. Prefetching is faster if the state is larger than the CPU
    /// caches.
    pub on: bool,
    /// True if also queues are prefetched where a class has several queues. This is useful only
    /// without lanes, because the queues of a lane stay in the caches.
    pub queues: bool,
    /// Memory that the event after the current one will access; see [`Partition::prefetch`].
    pub next: NextAccess,
}

/// Known memory accesses of one of the next events at a switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextAccess {
    Nothing,
    /// A packet will join a queue of this port.
    Enqueue {
        switch: u32,
        port: u16,
        id: PacketId,
    },
    /// This port will send a packet.
    Dequeue {
        switch: u32,
        port: u16,
    },
}

/// Settings that determine how events are handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// True if port-free events are omitted when no packet waits for them.
    pub elide: bool,
    /// True if flow starts precede all other events of their instant.
    pub starts_first: bool,
    /// True if packets of a flow may use several paths at the same time. The ideal FCT of one path
    /// is then not a lower bound.
    pub spraying: bool,
    /// Time from the arrival of a PFC frame to its effect.
    pub pause_response_ps: Time,
    /// True if links retransmit damaged frames.
    pub replays: bool,
    /// Maximum time before the PFC watchdog of a switch acts on a storm of pauses.
    pub watchdog_patience_ps: Time,
}
