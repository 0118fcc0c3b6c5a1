//! Notices: congestion notifications that a switch creates and sends to the sender of a packet.

use super::{Cold, Kind, Packet};
use crate::classes::CONTROL_CLASS;
use crate::units::Time;

/// Content of a congestion notification from a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Number of the packet that caused the notice.
    pub psn: u32,
    /// Time at which the sender started to transmit that packet, in ps.
    pub sent_ps: Time,
    /// Time that the switch's port needs to send the queue in front of the packet, in ps.
    pub drain_ps: Time,
    /// Rate of the switch's port in Mb/s.
    pub rate_mbps: u32,
}

impl Notice {
    /// Creates the notification as a packet to the sender of a data packet. `bytes` is its size on
    /// the wire.
    // SW-60: congestion notifications of switches use the control class
    #[must_use]
    pub fn record(&self, data: &Packet, cold: &Cold, bytes: u16) -> (Packet, Cold) {
        let packet = Packet {
            flow: data.flow,
            psn: self.psn,
            hash: data.hash,
            dst: cold.src,
            ingress: data.ingress,
            ..Packet::new(Kind::Notice, CONTROL_CLASS, bytes)
        };
        let cold = Cold {
            src: data.dst,
            slot: cold.slot,
            sent_ps: self.sent_ps,
            remaining: self.drain_ps,
            credit: self.rate_mbps,
            ..Cold::default()
        };
        (packet, cold)
    }

    /// Decodes a packet as a congestion notification. Returns `None` for other packets.
    #[must_use]
    pub fn read(packet: &Packet, cold: &Cold) -> Option<Self> {
        (packet.kind() == Kind::Notice).then_some(Self {
            psn: packet.psn,
            sent_ps: cold.sent_ps,
            drain_ps: cold.remaining,
            rate_mbps: cold.credit,
        })
    }
}

/// Marks of Bolt on a data packet and its ACK ([`Arena::marks`](super::Arena::marks)).
// BOLT-01
pub mod ramp {
    /// The sender has not measured a round trip yet.
    pub const FIRST: u8 = 1 << 0;
    /// The packet is in the last window of its message.
    pub const LAST: u8 = 1 << 1;
    /// The sender may increase its window by one packet if the ACK has this bit: no switch on the
    /// path has cleared it.
    pub const INCREASE: u8 = 1 << 2;
    /// A switch has sent a congestion notification for the packet.
    pub const DECREASE: u8 = 1 << 3;
    /// The sender increases its window when this packet is acknowledged, once per round trip.
    pub const ADDITIVE: u8 = 1 << 4;
}
