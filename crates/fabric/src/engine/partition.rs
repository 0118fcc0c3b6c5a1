//! A part of the network with all that its nodes need: state machines, packets, calendar, counters.
//!
//! Nodes have numbers of their own in a partition (see [`Places`]), hosts first; links keep the
//! numbers of the network, and each partition has a record of every link. The sending half of a
//! record is alive in the partition of the node that sends, the receiving half in that of the node
//! that receives.

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

/// A part of a network in virtual time.
pub(super) struct Partition<C> {
    /// Shared state of the sinks of its nodes.
    pub core: Core<C>,
    pub graph: Arc<Graph>,
    pub places: Arc<Places>,
    pub arena: Arena,
    pub nics: Vec<Nic>,
    pub switches: Vec<Switch>,
    pub faults: LinkFaults,
    /// Frames for other partitions.
    pub outbox: Outbox,
    /// `None`: no measure is enabled.
    pub measures: Option<Box<Measures>>,
    pub reply: Reply,
    /// Ports of the current round.
    pub round: Vec<LinkId>,
    /// Time of the last arrival or start of a flow.
    pub progress_ps: Time,
    pub flows: FlowState,
    /// `None`: there is no workload.
    pub ranks: Option<Box<Ranks>>,
    pub parameters: FlowParameters,
    pub prefetching: Prefetching,
    pub settings: Settings,
}

/// Links that can lose frames or fail.
#[derive(Debug)]
pub(super) struct LinkFaults {
    pub losses: Losses,
    /// `None`: no link fails.
    pub states: Option<Box<LinkStates>>,
}

/// Settings of prefetching. They change the speed but not the results.
#[derive(Debug)]
pub(super) struct Prefetching {
    /// True if state is prefetched. This is faster if the state is larger than the caches.
    pub on: bool,
    /// Queues are prefetched too, if a class has several queues. This is useful without lanes; the
    /// queues of a lane stay in the caches.
    pub queues: bool,
    /// Memory that the event after the current one will touch; see [`Partition::prefetch`].
    pub next: NextAccess,
}

/// Memory that a near event will touch at a switch, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextAccess {
    Nothing,
    /// A packet joins a queue of this port.
    Enqueue {
        switch: u32,
        port: u16,
        id: PacketId,
    },
    /// This port sends.
    Dequeue {
        switch: u32,
        port: u16,
    },
}

/// How events are handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Port-free events are omitted if no packet waits for them.
    pub elide: bool,
    /// Flows that start come before all other events of their instant.
    pub starts_first: bool,
    /// Packets of a flow may use several paths at the same time, so the ideal FCT of one path is
    /// not a bound.
    pub spraying: bool,
    /// Time from the arrival of a PFC frame to its effect.
    pub pause_response_ps: Time,
    /// Links send damaged frames again.
    pub replays: bool,
    /// The longest time that the watchdog of a switch waits before it acts.
    pub watchdog_patience_ps: Time,
}
