//! Events that state machines report to the delay breakdown (`measure/blame.rs`).

use crate::ids::{LinkId, LocalNode, NodeId};
use dataplane::ids::QueueId;
use dataplane::nic::Wait;
use dataplane::packet::PacketId;
use dataplane::sink::DropCause;

/// An event that a node has reported through its sink.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heard {
    /// The reason for which a flow waits at its NIC has changed.
    Waits { flow: u32, cookie: u32, wait: Wait },
    /// A switch has released a parked packet to a queue.
    Released { node: LocalNode, id: PacketId },
    /// A packet was dropped.
    Dropped {
        flow: u32,
        psn: u32,
        /// True if it carried data, whole or trimmed.
        is_data: bool,
        cause: DropCause,
        /// The node that dropped it.
        node: NodeId,
        /// The port by which it was to leave, or left; `None`: no route led on.
        link: Option<LinkId>,
    },
    /// A switch has queued a frame that names what it holds upstream, for the length of a queue.
    HoldSent {
        node: LocalNode,
        frame: PacketId,
        egress: u16,
        queue: QueueId,
    },
    /// A frame holds what it names at a port, or lets it go; the port that this goes back to, if it is known.
    HoldReceived {
        link: LinkId,
        number: u32,
        on: bool,
        root: Option<LinkId>,
    },
}
