//! Events that a switch or NIC reports for statistics and traces. They do not change the behaviour
//! of the node.
//!
//! A node reports an event with [`Sink::event`](crate::sink::Sink::event). The driver (simulator or
//! live switch) has further events, such as the transmission of a frame on a link. Both kinds share
//! one [`EventSet`].

use crate::ids::QueueId;
use crate::packet::PacketId;
use crate::wait::Wait;

/// A set of kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSet(u32);

impl EventSet {
    /// No event.
    pub const NONE: Self = Self(0);
    /// Lowest number for kinds of events that the driver (simulator or live switch) adds.
    pub const FIRST_OF_DRIVER: u32 = 8;

    /// Returns the set of one kind of events. `number` is below 32.
    #[must_use]
    pub const fn kind(number: u32) -> Self {
        Self(1 << number)
    }

    /// Returns the union of several sets.
    #[must_use]
    pub const fn of(sets: &[Self]) -> Self {
        let (mut all, mut nth) = (0, 0);
        while nth < sets.len() {
            all |= sets[nth].0;
            nth += 1;
        }
        Self(all)
    }

    /// Returns true if the two sets have a kind in common.
    #[inline]
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Buffer level of an ingress port and class, for example when it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Buffered bytes of the ingress and class, in reserve, pool and headroom.
    pub held_bytes: u64,
    /// Threshold for the bytes of the ingress and class in the pool.
    pub threshold_bytes: u64,
    /// Bytes of the shared pool that all ingresses together use.
    pub pool_bytes: u64,
    /// True if the ingress was a victim port, with a larger PFC threshold, until now.
    pub victim: bool,
}

/// Kind of a PFC frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseFrame {
    /// Pauses a class. Contains the buffer level at that time.
    Xoff(Level),
    /// Repeats the last pause.
    Refresh,
    /// Resumes a class.
    Xon,
}

/// A PFC frame that a switch has queued for the upstream neighbour at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSent {
    /// The port.
    pub port: u16,
    /// The class that the frame pauses or resumes.
    pub class: u8,
    /// The frame.
    pub frame: PacketId,
    /// Kind of the frame.
    pub pause: PauseFrame,
}

/// An event of a switch or NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEvent {
    /// A flow waits at its NIC for a reason, which can be the same as before.
    FlowWaits {
        /// ID of the flow.
        flow: u32,
        /// Opaque value that the caller passed at the start of the flow.
        cookie: u32,
        /// The reason.
        wait: Wait,
    },
    /// A hop scheme has moved a parked packet to a queue.
    Released {
        /// The packet.
        id: PacketId,
    },
    /// A switch has queued a PFC frame. The simulator may use the cold fields of this frame.
    PauseSent(PauseSent),
    /// A switch has queued a frame that pauses a queue or flow of the upstream neighbour. The
    /// simulator may use the cold fields of this frame.
    QueuePauseSent {
        /// The frame.
        frame: PacketId,
        /// Egress port of the queue whose length caused the pause.
        egress: u16,
        /// The queue whose length caused the pause.
        queue: QueueId,
    },
    /// A received frame pauses or resumes a queue or flow of a port.
    QueuePauseReceived {
        /// The port.
        port: u16,
        /// Number of the queue at its port, or ID of the flow.
        number: u32,
        /// True for a pause, false for a resume.
        on: bool,
    },
}

impl NodeEvent {
    /// [`NodeEvent::FlowWaits`].
    pub const FLOW_WAITS: EventSet = EventSet::kind(0);
    /// [`NodeEvent::Released`].
    pub const RELEASED: EventSet = EventSet::kind(1);
    /// [`NodeEvent::PauseSent`].
    pub const PAUSE_SENT: EventSet = EventSet::kind(2);
    /// [`NodeEvent::QueuePauseSent`].
    pub const QUEUE_PAUSE_SENT: EventSet = EventSet::kind(3);
    /// [`NodeEvent::QueuePauseReceived`].
    pub const QUEUE_PAUSE_RECEIVED: EventSet = EventSet::kind(4);

    /// All kinds of events of nodes.
    pub const ALL: EventSet = EventSet::of(&[
        Self::FLOW_WAITS,
        Self::RELEASED,
        Self::PAUSE_SENT,
        Self::QUEUE_PAUSE_SENT,
        Self::QUEUE_PAUSE_RECEIVED,
    ]);

    /// Returns the kind of the event.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> EventSet {
        match self {
            Self::FlowWaits { .. } => Self::FLOW_WAITS,
            Self::Released { .. } => Self::RELEASED,
            Self::PauseSent(_) => Self::PAUSE_SENT,
            Self::QueuePauseSent { .. } => Self::QUEUE_PAUSE_SENT,
            Self::QueuePauseReceived { .. } => Self::QUEUE_PAUSE_RECEIVED,
        }
    }
}
