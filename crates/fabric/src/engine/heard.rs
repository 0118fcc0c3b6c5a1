//! What state machines say to an account of where flows spend their time (`measure/blame.rs`).

use crate::ids::{LinkId, LocalNode, NodeId};
use dataplane::ids::QueueId;
use dataplane::nic::Wait;
use dataplane::packet::PacketId;
use dataplane::sink::DropCause;

/// Something that a node has said through its sink, where somebody listens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heard {
    /// What a flow waits for at its NIC from now on.
    Waits { flow: u32, cookie: u32, wait: Wait },
    /// A switch lets a packet join a queue that it had held back.
    Released { node: LocalNode, id: PacketId },
    /// A packet was dropped.
    Dropped {
        flow: u32,
        psn: u32,
        /// It carried data, whole or trimmed.
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
