//! A flow at its receiver, as far as losses are concerned.

use crate::packet::{Kind, Packet, flag};
use crate::units::Time;

/// A data packet at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub now: Time,
    pub packet: &'a Packet,
    /// Bytes from this packet to the end of the flow.
    pub remaining: u64,
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// One ACK is sent for this many packets.
    pub ack_every: u32,
}

impl Data<'_> {
    /// Packets of the whole flow.
    // NIC-17
    #[inline]
    pub fn packets(&self) -> u32 {
        self.packet.psn + self.remaining.div_ceil(u64::from(self.mtu)) as u32
    }

    /// The sender waits for the acknowledgement.
    // NIC-09
    #[inline]
    pub const fn asks(&self) -> bool {
        self.packet.has(flag::ASKS)
    }
}

/// The decision of a receiver on a data packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Kind of the reply, if one is sent.
    pub reply: Option<Kind>,
    /// The packet is accepted; else it is discarded.
    pub fresh: bool,
    /// The flow is complete with this packet.
    pub last: bool,
    /// The packet was reported missing although it was only overtaken by a later one (NIC-18).
    pub overtaken: bool,
}

impl Answer {
    /// The packet is discarded.
    pub const fn discard(reply: Option<Kind>) -> Self {
        Self {
            reply,
            fresh: false,
            last: false,
            overtaken: false,
        }
    }
}

/// The state of a flow at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Number of the next packet in order, or of packets received if the order does not matter.
    pub expected: u32,
    /// Packets since the last ACK.
    pub unacknowledged: u32,
    /// Packet number of the last NAK; `u32::MAX`: none.
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

    /// Accepts the packet that advances the flow by one. The last packet, one whose sender waits, and
    /// each n-th cause an ACK.
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
