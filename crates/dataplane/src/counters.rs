//! Counters of a NIC.

use crate::packet::{Packet, flag};

/// Counters of one NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Data packets sent, including retransmissions.
    pub data_packets: u64,
    /// Payload bytes sent for the first time.
    pub payload_bytes: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// ACKs sent.
    pub acks: u64,
    /// NAKs sent.
    pub naks: u64,
    /// CNPs sent.
    pub cnps: u64,
    /// Data packets received.
    pub received: u64,
    /// Received data packets that were discarded: out of order, or received before.
    pub discarded: u64,
    /// Data packets that arrived out of order: after a packet that was sent later.
    pub overtaken: u64,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Received pauses and resumes that changed nothing. Must be 0 unless links lose frames.
    pub repeated_pauses: u64,
    /// Counters of receiver-driven transports.
    pub driven: DrivenCounters,
}

impl NicCounters {
    /// Counts a data packet that the NIC sends.
    #[inline]
    pub(crate) fn count_sent(&mut self, hot: &Packet, payload: u16) {
        self.data_packets += 1;
        if hot.has(flag::RETRANSMITTED) {
            self.retransmissions += 1;
        } else {
            self.payload_bytes += u64::from(payload);
        }
    }
}

/// Counters of receiver-driven transports at one NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrivenCounters {
    /// Requests for credits and for missing packets.
    pub requests: u64,
    /// Requests to stop sending credits.
    pub stops: u64,
    /// Credits created by receivers.
    pub credits: u64,
    /// Received credits that permitted a packet.
    pub credits_used: u64,
    /// Received credits for which the sender had no data.
    pub credits_wasted: u64,
    /// Credits that the receiver's own NIC dropped because its credit queue was full.
    pub credits_dropped: u64,
    /// Pulls sent.
    pub pulls: u64,
    /// Grants sent.
    pub grants: u64,
    /// Headers of trimmed packets that arrived at their receiver.
    pub headers: u64,
    /// Headers that returned to their sender.
    pub returned: u64,
}

impl DrivenCounters {
    /// Adds the counters of another NIC.
    pub const fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.stops += other.stops;
        self.credits += other.credits;
        self.credits_used += other.credits_used;
        self.credits_wasted += other.credits_wasted;
        self.credits_dropped += other.credits_dropped;
        self.pulls += other.pulls;
        self.grants += other.grants;
        self.headers += other.headers;
        self.returned += other.returned;
    }
}
