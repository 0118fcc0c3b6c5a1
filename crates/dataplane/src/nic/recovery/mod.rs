//! What a NIC does about lost packets besides going back: the sender's memory of single packets,
//! and the receiver's. The rules are in `specs/recovery.md`.
//!
//! Go-back-N needs no memory of single packets, so it has none of this.

pub(crate) mod arrivals;
mod ideal;
mod irn;
mod numbers;

use crate::cc::PathInfo;
use crate::config::Recovery;
use crate::units::Time;

use ideal::Ideal;
use irn::Irn;

/// What a sender knows of the single packets of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Repair {
    Irn(Irn),
    Ideal(Ideal),
}

/// How far a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Everything below is acknowledged.
    pub acked: u32,
    /// Next packet number that was never sent.
    pub next: u32,
    /// Payload bytes of a full packet.
    pub mtu: u16,
}

/// An ACK or NAK as a sender reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// The packet that it answers, if it says that one before is missing.
    pub beyond_gap: Option<u32>,
    /// When the packet that it answers was sent.
    pub sent_ps: Time,
    /// Payload bytes that the cumulative acknowledgement newly covers.
    pub newly: u64,
}

/// What a reply tells a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Payload bytes that are now known to have arrived, and were not before.
    pub newly: u64,
    /// It showed a loss that nothing had shown before.
    pub loss: bool,
}

impl Repair {
    /// The memory of a flow that starts, if its recovery has one.
    pub fn new(recovery: &Recovery) -> Option<Box<Self>> {
        match recovery {
            Recovery::Irn(config) => Some(Box::new(Self::Irn(Irn::new(config)))),
            Recovery::Ideal { .. } => Some(Box::new(Self::Ideal(Ideal::default()))),
            Recovery::GoBackN { .. } | Recovery::None | Recovery::Own => None,
        }
    }

    /// The packet to be sent again before anything new.
    pub fn lost(&self, acked: u32) -> Option<u32> {
        match self {
            Self::Irn(irn) => irn.lost(acked),
            Self::Ideal(ideal) => ideal.lost(),
        }
    }

    /// That packet is on its way.
    pub fn sent_again(&mut self, now: Time, psn: u32) {
        match self {
            Self::Irn(irn) => irn.sent_again(now, psn),
            Self::Ideal(ideal) => ideal.sent_again(),
        }
    }

    /// Bytes in flight and the window, for the next new packet.
    pub fn flight(
        &self,
        recovery: &Recovery,
        path: &PathInfo,
        in_flight: u64,
        window: u64,
    ) -> (u64, u64) {
        match (self, recovery) {
            (Self::Irn(_), Recovery::Irn(config)) => {
                (in_flight, window.min(irn::cap(config, path)))
            }
            (Self::Ideal(ideal), _) => (in_flight.saturating_sub(ideal.lost_bytes()), window),
            _ => (in_flight, window),
        }
    }

    /// An ACK or NAK came.
    pub fn replied(&mut self, at: &Progress, reply: &Reply) -> News {
        match self {
            Self::Irn(irn) => irn.replied(at, reply),
            Self::Ideal(_) => News {
                newly: reply.newly,
                loss: false,
            },
        }
    }

    /// Nothing moved for the whole timeout.
    pub fn timed_out(&mut self, at: &Progress) {
        if let Self::Irn(irn) = self {
            irn.timed_out(at);
        }
    }

    /// The node that dropped a packet says so.
    pub fn told(&mut self, psn: u32, payload: u64) {
        if let Self::Ideal(ideal) = self {
            ideal.told(psn, payload);
        }
    }
}
