//! Optional steps of a packet in a switch, and the steps that a hop scheme observes.

use crate::packet::{Packet, PacketId};

/// A set of optional steps. Each switch computes its set when it is made and when links change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps(u16);

/// Gives each optional step a bit of its own.
macro_rules! steps {
    ($($(#[$doc:meta])* $vis:vis $STEP:ident;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Bit {
            $($STEP,)*
        }

        impl Steps {
            $($(#[$doc])* $vis const $STEP: Self = Self(1 << Bit::$STEP as u16);)*
        }
    };
}

steps! {
    /// Arrivals and departures start the timers of the switch's clock.
    pub(crate) CLOCK;
    /// ACKs return by the ports through which their packet came.
    pub(crate) TRAIL;
    /// Links or routes have changed.
    pub(crate) LINKS;
    /// A class is shaped.
    pub(crate) SHAPE;
    /// Packets that find a full queue are trimmed.
    pub(crate) TRIM;
    /// Packets that leave a VOQ have queues of their own.
    pub(crate) VOQS;
    /// The hop scheme watches arrivals.
    pub ARRIVE;
    /// The hop scheme watches packets that join a queue.
    pub ENQUEUE;
    /// The hop scheme watches departures.
    pub DEPART;
    /// A watchdog can drop packets of a class.
    pub(crate) WATCHDOG;
    /// A signal sends notices to senders.
    pub(crate) NOTIFY;
    /// A path policy reads the loads of ports.
    pub(crate) BY_LOAD;
    /// INT records differ from the exact ones.
    pub(crate) INT_FORMAT;
    /// Schemes of links watch arrivals and departures.
    pub(crate) LINK_SCHEMES;
}

impl Steps {
    /// No step.
    pub const NONE: Self = Self(0);

    /// Returns the steps of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a step on a condition.
    pub(crate) const fn with_if(self, condition: bool, step: Self) -> Self {
        match condition {
            true => self.or(step),
            false => self,
        }
    }

    /// True if the two sets have a step in common.
    #[inline(always)]
    pub(crate) const fn has(self, steps: Self) -> bool {
        self.0 & steps.0 != 0
    }
}

/// State of a queue immediately before a packet joins it.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Bytes in the queue, without the packet.
    pub bytes: u64,
    /// True if the packet's flow-table entry has no other packet in the switch.
    pub alone: bool,
}

/// A step of a packet as a hop scheme sees it. Only switches whose scheme watches `Arrive`,
/// `Enqueue` and `Depart` report these three.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A packet arrived by port `ingress`. Nothing else is decided yet.
    Arrive(&'a Packet),
    /// A packet that arrived is dropped.
    Refuse(&'a Packet),
    /// The switch has stored a packet in its buffer that the scheme decided to park.
    Park {
        /// The port by which it will leave.
        port: u16,
        /// The packet.
        id: PacketId,
    },
    /// A packet joined its queue.
    Enqueue {
        /// The port of the queue.
        port: u16,
        /// The packet.
        id: PacketId,
        /// Record of the packet.
        packet: &'a Packet,
        /// State of the queue before the packet joined it.
        found: Found,
    },
    /// A packet that waited at a dead port joined a queue of another port.
    // LNK-24
    Rejoin {
        /// The port of the queue.
        port: u16,
        /// The packet.
        id: PacketId,
        /// Record of the packet.
        packet: &'a Packet,
        /// State of the queue before the packet joined it.
        found: Found,
    },
    /// A packet leaves.
    Depart {
        /// The port by which it leaves.
        port: u16,
        /// The packet.
        id: PacketId,
        /// Record of the packet as it was in the queue.
        packet: &'a Packet,
    },
    /// A packet is taken out of its queue and stays in the buffer.
    // LNK-23, LNK-24
    Withdraw {
        /// The packet.
        id: PacketId,
        /// Record of the packet.
        packet: &'a Packet,
    },
    /// A packet that was taken out of its queue is dropped.
    // LNK-23
    GiveUp {
        /// The port of the queue.
        port: u16,
        /// Record of the packet.
        packet: &'a Packet,
    },
    /// Packets were taken out of queues.
    // LNK-27
    Emptied,
    /// A multiple of the period that the scheme requested has passed.
    Tick,
    /// A timer of the switch has expired. It may belong to another part of the switch.
    Timer,
    /// A frame of the scheme arrived from the neighbour.
    Frame {
        /// The port by which it arrived.
        port: u16,
        /// Record of the frame.
        frame: &'a Packet,
        /// Numbers that the frame carries in addition to its record.
        list: &'a [u32],
    },
}

/// Decision of a hop scheme at a step. Only `Step::Arrive` may return `Park`, and only
/// `Step::Frame` may return `Handled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The switch continues as usual.
    Continue,
    /// The scheme will park the packet after the switch has stored it in the buffer.
    Park,
    /// The scheme has handled the frame. The frame has no further effect on the port.
    Handled,
}
