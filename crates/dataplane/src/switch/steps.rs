//! Names of the steps of a packet through a switch: which optional steps a switch has, and what a hop
//! scheme sees at each step.

use crate::packet::{Packet, PacketId};

/// A set of optional steps. Each switch computes its set when it is made and when links change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Steps(u16);

/// Gives each optional step a bit of its own.
macro_rules! steps {
    ($($(#[$doc:meta])* $STEP:ident;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Bit {
            $($STEP,)*
        }

        impl Steps {
            $($(#[$doc])* pub const $STEP: Self = Self(1 << Bit::$STEP as u16);)*
        }
    };
}

steps! {
    /// Arrivals and departures start the timers of the switch's clock.
    CLOCK;
    /// ACKs return by the ports through which their packet came.
    TRAIL;
    /// Links or routes have changed.
    LINKS;
    /// A class is shaped.
    SHAPE;
    /// Packets that find a full queue are trimmed.
    TRIM;
    /// Packets that leave a VOQ have queues of their own.
    VOQS;
    /// The hop scheme watches arrivals.
    ARRIVE;
    /// The hop scheme watches packets that join a queue.
    ENQUEUE;
    /// The hop scheme watches departures.
    DEPART;
    /// A guard can drop packets of a class.
    GUARD;
    /// A signal sends notices to senders.
    NOTIFY;
    /// A path policy reads the loads of ports.
    BY_LOAD;
    /// INT records differ from the exact ones.
    INT_FORMAT;
    /// Schemes of links watch arrivals and departures.
    LINK_SCHEMES;
}

impl Steps {
    pub const NONE: Self = Self(0);

    /// The steps of one set or the other.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a step on a condition.
    pub const fn with_if(self, condition: bool, step: Self) -> Self {
        match condition {
            true => self.or(step),
            false => self,
        }
    }

    /// True if the two sets have a step in common.
    #[inline(always)]
    pub const fn has(self, steps: Self) -> bool {
        self.0 & steps.0 != 0
    }
}

/// What a packet found when it joined its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Bytes that its queue held before it.
    pub bytes: u64,
    /// The flow table knows of no other packet of its flow here.
    pub alone: bool,
}

/// A step of a packet as a hop scheme sees it. Only switches whose scheme watches `Arrive`, `Enqueue` and
/// `Depart` report these three.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// A packet arrived by port `ingress`. Nothing else is decided yet.
    Arrive(&'a Packet),
    /// A packet that arrived is dropped.
    Refuse(&'a Packet),
    /// A packet that the scheme parks is in the buffer. It will leave by this port.
    Park { port: u16, id: PacketId },
    /// A packet joined its queue.
    Enqueue {
        port: u16,
        id: PacketId,
        packet: &'a Packet,
        found: Found,
    },
    /// A packet that waited at a dead port joined a queue of another port.
    // LNK-24
    Rejoin {
        port: u16,
        id: PacketId,
        packet: &'a Packet,
        found: Found,
    },
    /// A packet leaves by a port. `packet` is its record as it was in the queue.
    Depart {
        port: u16,
        id: PacketId,
        packet: &'a Packet,
    },
    /// A packet is taken out of its queue and stays in the buffer.
    // LNK-23, LNK-24
    Withdraw { id: PacketId, packet: &'a Packet },
    /// A packet that was taken out of its queue at a port is dropped.
    // LNK-23
    GiveUp { port: u16, packet: &'a Packet },
    /// Packets were taken out of queues.
    // LNK-27
    Emptied,
    /// A multiple of the period that the scheme requested.
    Tick,
    /// A timer of the switch has expired, perhaps for another reason.
    Timer,
    /// A frame of the scheme arrived from the neighbour at a port. `list` lies beside it.
    Frame {
        port: u16,
        frame: &'a Packet,
        list: &'a [u32],
    },
}

/// What a hop scheme decides at a step. Only `Step::Arrive` can park a packet, and only `Step::Frame` is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Continue,
    /// The scheme stores the packet once it is in the buffer.
    Park,
    /// The frame does not act on the port besides.
    Handled,
}
