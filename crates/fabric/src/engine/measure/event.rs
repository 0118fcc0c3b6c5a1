//! Events of a run that measures observe.

use dataplane::event::{EventSet, NodeEvent};
use dataplane::packet::{Packet, PacketId};
use dataplane::sink::DropCause;
use dataplane::units::Time;
use traffic::Flow;

use crate::ids::{LinkId, LocalNode, NodeId};

/// A port of a host or switch starts to send a frame.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Sending {
    /// The link on which the port sends.
    pub link: LinkId,
    pub from_host: bool,
    pub id: PacketId,
    /// Transmission time of the frame.
    pub takes_ps: Time,
    /// Propagation delay of the link.
    pub delay_ps: Time,
}

/// A packet was dropped.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Dropped {
    pub flow: u32,
    pub psn: u32,
    /// True if the packet carried data, whole or trimmed.
    pub is_data: bool,
    pub cause: DropCause,
    /// The node that dropped the packet.
    pub node: NodeId,
    /// The egress port of the packet; `None`: the packet had no route.
    pub link: Option<LinkId>,
}

/// An event of a run. It happens at [`View::now`](super::View).
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum Event<'a> {
    /// A switch or NIC reported an event. Measures receive it when the node has finished its step.
    Node { node: LocalNode, what: NodeEvent },
    /// A node dropped a packet, or a link lost it. Frames between neighbours do not count.
    Dropped(Dropped),
    /// A flow starts. `cookie` is its index among the active flows.
    FlowStarted {
        flow: &'a Flow,
        cookie: u32,
        /// Port of the flow at its NIC, and the port that leads to its receiver.
        links: (LinkId, LinkId),
    },
    /// The receiver of a flow has received its last byte.
    FlowDelivered { flow: u32 },
    /// A packet or frame has fully arrived at a node, which has not processed it yet.
    Arriving {
        node: LocalNode,
        /// The port at which the packet arrives, given as the link on which that port sends.
        link: LinkId,
        to_host: bool,
        id: PacketId,
    },
    /// A node has processed a packet or frame that arrived. Its record may have been freed.
    Arrived {
        node: LocalNode,
        /// The port at which the packet arrived, given as the link on which that port sends.
        link: LinkId,
        to_host: bool,
        id: PacketId,
        /// The packet at its arrival, before the node processed it.
        packet: &'a Packet,
    },
    /// The pause timer of a port and class has expired.
    PauseExpired { link: LinkId, class: u8 },
    /// The queue of a port may have changed.
    QueueTouched { link: LinkId },
    /// A free port has chosen the frame that it sends next, or has found no frame.
    Chosen { link: LinkId },
    /// A port starts to send a frame.
    Sending(Sending),
    /// All other events of this instant have been handled.
    InstantOver,
    /// One of the next engine events may use this packet, so measures can prefetch its state. The
    /// packet ID may be invalid.
    Upcoming { id: PacketId },
    /// A packet leaves for another partition. A measure puts the journey (delay so far) of the
    /// packet into the [reply](super::Reply::journey).
    Leaving { id: PacketId },
    /// A packet arrives from another partition. Its journey (delay so far) is in the
    /// [reply](super::Reply::journey).
    Entering { id: PacketId },
}

impl Event<'_> {
    pub const DROPPED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER);
    pub const FLOW_STARTED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 1);
    pub const FLOW_DELIVERED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 2);
    pub const ARRIVING: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 3);
    pub const ARRIVED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 4);
    pub const PAUSE_EXPIRED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 5);
    pub const QUEUE_TOUCHED: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 6);
    pub const CHOSEN: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 7);
    pub const SENDING: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 8);
    pub const INSTANT_OVER: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 9);
    pub const UPCOMING: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 10);
    pub const LEAVING: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 11);
    pub const ENTERING: EventSet = EventSet::kind(EventSet::FIRST_OF_DRIVER + 12);

    /// Kinds of events that are collected until the node has finished its step.
    pub const REPORTED: EventSet = EventSet::of(&[NodeEvent::ALL, Self::DROPPED]);
    /// Kinds of events that can happen when a port chooses a frame.
    pub const CHOICE: EventSet = EventSet::of(&[Self::REPORTED, Self::CHOSEN]);
    /// Kinds of events that can happen when a packet or frame arrives at a node.
    pub const ARRIVALS: EventSet = EventSet::of(&[Self::ARRIVING, Self::ARRIVED]);

    /// Returns the kind of the event.
    #[inline(always)]
    pub const fn kind(&self) -> EventSet {
        match self {
            Self::Node { what, .. } => what.kind(),
            Self::Dropped(_) => Self::DROPPED,
            Self::FlowStarted { .. } => Self::FLOW_STARTED,
            Self::FlowDelivered { .. } => Self::FLOW_DELIVERED,
            Self::Arriving { .. } => Self::ARRIVING,
            Self::Arrived { .. } => Self::ARRIVED,
            Self::PauseExpired { .. } => Self::PAUSE_EXPIRED,
            Self::QueueTouched { .. } => Self::QUEUE_TOUCHED,
            Self::Chosen { .. } => Self::CHOSEN,
            Self::Sending(_) => Self::SENDING,
            Self::InstantOver => Self::INSTANT_OVER,
            Self::Upcoming { .. } => Self::UPCOMING,
            Self::Leaving { .. } => Self::LEAVING,
            Self::Entering { .. } => Self::ENTERING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_event_has_a_bit_of_its_own() {
        let kinds = [
            NodeEvent::FLOW_WAITS,
            NodeEvent::RELEASED,
            NodeEvent::PAUSE_SENT,
            NodeEvent::QUEUE_PAUSE_SENT,
            NodeEvent::QUEUE_PAUSE_RECEIVED,
            Event::DROPPED,
            Event::FLOW_STARTED,
            Event::FLOW_DELIVERED,
            Event::ARRIVING,
            Event::ARRIVED,
            Event::PAUSE_EXPIRED,
            Event::QUEUE_TOUCHED,
            Event::CHOSEN,
            Event::SENDING,
            Event::INSTANT_OVER,
            Event::UPCOMING,
            Event::LEAVING,
            Event::ENTERING,
        ];
        for (nth, &kind) in kinds.iter().enumerate() {
            let others = [&kinds[..nth], &kinds[nth + 1..]].concat();
            assert!(!kind.intersects(EventSet::of(&others)), "{nth}");
            assert!(kind.intersects(EventSet::of(&kinds)), "{nth}");
        }
    }
}
