//! Optional steps of a packet in a switch, and the steps at which the switch calls its hop scheme.

use crate::packet::{Packet, PacketId};

/// A set of optional steps. A switch computes its set when it is created, and when links change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps(u16);

/// Defines one bit for each optional step.
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
    /// Arrivals and departures start the periodic timers of the switch.
    pub(crate) CLOCK;
    /// ACKs return by the path of the data packet that they acknowledge.
    pub(crate) TRAIL;
    /// Links or routes have changed.
    pub(crate) LINKS;
    /// A class has a rate shaper.
    pub(crate) SHAPE;
    /// Packets whose queue is full are trimmed.
    pub(crate) TRIM;
    /// Packets that leave a VOQ join separate low-priority queues.
    pub(crate) VOQS;
    /// The hop scheme is called for arriving packets.
    pub ARRIVE;
    /// The hop scheme is called for packets that join a queue.
    pub ENQUEUE;
    /// The hop scheme is called for departing packets.
    pub DEPART;
    /// A PFC watchdog can drop packets of a class.
    pub(crate) WATCHDOG;
    /// A signal scheme sends congestion notifications to senders.
    pub(crate) NOTIFY;
    /// A load-balancing policy selects the egress port by the load of ports.
    pub(crate) BY_LOAD;
    /// INT records differ from the exact ones.
    pub(crate) INT_FORMAT;
    /// Link schemes are called for arriving and departing packets.
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

    /// Returns true if the two sets have a step in common.
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

/// A step of a packet at which the switch calls its hop scheme. `Arrive`, `Enqueue` and `Depart`
/// are reported only if the scheme requests them ([`Steps`]).
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A packet arrived at port `ingress`. It is not routed yet.
    Arrive(&'a Packet),
    /// An arriving packet is dropped before it joins a queue.
    Refuse(&'a Packet),
    /// The scheme decided to park this packet, and the switch has stored it in its buffer.
    Park {
        /// The egress port of the packet.
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
        /// Fields of the packet.
        packet: &'a Packet,
        /// State of the queue before the packet joined it.
        found: Found,
    },
    /// A packet that waited at a port whose link is down joined a queue of another port.
    // LNK-24
    Rejoin {
        /// The port of the queue.
        port: u16,
        /// The packet.
        id: PacketId,
        /// Fields of the packet.
        packet: &'a Packet,
        /// State of the queue before the packet joined it.
        found: Found,
    },
    /// A packet leaves the switch.
    Depart {
        /// The egress port.
        port: u16,
        /// The packet.
        id: PacketId,
        /// Fields of the packet from when it was in the queue.
        packet: &'a Packet,
    },
    /// A packet is removed from its queue and stays in the buffer.
    // LNK-23, LNK-24
    Withdraw {
        /// The packet.
        id: PacketId,
        /// Fields of the packet.
        packet: &'a Packet,
    },
    /// A packet that was removed from its queue (`Withdraw`) is dropped.
    // LNK-23
    GiveUp {
        /// The port of the queue.
        port: u16,
        /// Fields of the packet.
        packet: &'a Packet,
    },
    /// The packets of all ports whose link is down were removed from their queues.
    // LNK-27
    Emptied,
    /// The periodic timer that the scheme requested has expired.
    Tick,
    /// A timer of the switch has expired. It is not necessarily a timer of the scheme.
    Timer,
    /// A frame of the scheme arrived from the neighbour.
    Frame {
        /// The port at which the frame arrived.
        port: u16,
        /// Fields of the frame.
        frame: &'a Packet,
        /// List of numbers that the frame carries in addition, for example paused queues.
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
