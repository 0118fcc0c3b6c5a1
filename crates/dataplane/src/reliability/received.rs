//! State of a flow at its receiver for loss recovery.

use crate::flow::packets_of;
use crate::packet::{Kind, Packet, flag};
use crate::units::Time;

/// A data packet that has arrived at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub now: Time,
    pub packet: &'a Packet,
    /// Payload bytes from the start of this packet to the end of the flow.
    pub remaining: u64,
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Number of packets after which the receiver sends an ACK.
    pub ack_every: u32,
}

impl Data<'_> {
    /// Returns the number of packets of the whole flow.
    // NIC-17
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packet.psn + packets_of(self.remaining, self.mtu)
    }

    /// Returns true if the sender waits for an acknowledgement of this packet.
    // NIC-09
    #[inline]
    pub const fn asks(&self) -> bool {
        self.packet.has(flag::ASKS)
    }
}

/// Decision of a receiver about an arrived data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Kind of the reply, if one is sent.
    pub reply: Option<Kind>,
    /// True if the packet is accepted, false if it is discarded.
    pub fresh: bool,
    /// True if this packet completes the flow.
    pub last: bool,
    /// True if the packet was reported missing although it was only overtaken by a later one
    /// (NIC-18).
    pub overtaken: bool,
}

impl Answer {
    /// Returns the decision to discard a packet.
    pub const fn discard(reply: Option<Kind>) -> Self {
        Self {
            reply,
            fresh: false,
            last: false,
            overtaken: false,
        }
    }
}

/// State of a flow at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Packet number of the next packet in order. If packets may arrive in any order: number of
    /// packets received.
    pub expected: u32,
    /// Number of packets since the last ACK.
    pub unacknowledged: u32,
    /// Packet number of the last NAK; `u32::MAX` before the first.
    pub reported: u32,
    /// Time of the last NAK, in ps.
    pub reported_ps: Time,
}

impl Received {
    pub const NEW: Self = Self {
        expected: 0,
        unacknowledged: 0,
        reported: u32::MAX,
        reported_ps: 0,
    };

    /// Accepts a packet. An ACK is sent for the last packet, for a packet whose sender waits for
    /// it, and after every `ack_every` packets.
    #[inline]
    pub fn accept(&mut self, data: &Data<'_>) -> Answer {
        self.expected += 1;
        self.unacknowledged += 1;
        let last = self.expected == data.packets();
        let due = last || data.asks() || self.unacknowledged >= data.ack_every;
        if due {
            self.unacknowledged = 0;
        }
        Answer {
            reply: due.then_some(Kind::Ack),
            fresh: true,
            last,
            overtaken: false,
        }
    }
}
