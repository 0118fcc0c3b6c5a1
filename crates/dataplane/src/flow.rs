//! How a flow is handed to a NIC, and what comes back when it is done.

use crate::cc::PathInfo;
use crate::units::Time;

/// Most data packets of one flow. Packet numbers have 32 bits; half of their range leaves room for sums of two
/// numbers.
// NIC-54: packet numbers limit a flow
pub const MAX_FLOW_PACKETS: u64 = 1 << 31;

/// What a sender's NIC says when the last acknowledgement of a flow is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Number of the flow in its run.
    pub flow: u32,
    /// What [`FlowStart::cookie`] said.
    pub cookie: u32,
    /// When the receiver had the last byte, in ps.
    pub received_ps: Time,
    /// When the sender had the last acknowledgement, in ps.
    pub acked_ps: Time,
    /// Data packets that were sent again.
    pub retransmitted: u32,
}

/// A flow at its sender that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// [`FlowStart::cookie`].
    pub cookie: u32,
    /// Payload bytes that are known to have arrived.
    pub acked_bytes: u64,
    /// Data packets that were sent again so far.
    pub retransmitted: u32,
    /// Why the flow does not send.
    pub why: &'static str,
}

/// A flow that begins.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Comes back with [`FlowEnd`].
    pub cookie: u32,
    /// Port of this NIC that the flow uses.
    pub port: u16,
    /// Endpoint of that port.
    pub src: u32,
    /// Endpoint of the receiver.
    pub dst: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Hash of the flow's identity.
    pub hash: u32,
    /// Traffic class; the frames have class `data_class + class`.
    pub class: u8,
    /// Belongs to an incast.
    pub incast: bool,
    /// What the control knows of the path.
    pub path: PathInfo,
    /// Equal-cost ways to the receiver, among which the sender chooses; 0: the network chooses.
    pub ways: u32,
}

impl FlowStart {
    /// Payload bytes of the packets below a number.
    // NIC-01
    #[inline]
    pub(crate) const fn bytes_below(&self, psn: u32, mtu: u16) -> u64 {
        let bytes = psn as u64 * mtu as u64;
        if bytes < self.bytes {
            bytes
        } else {
            self.bytes
        }
    }

    /// The state of this flow while it has not ended.
    pub(crate) const fn unfinished(
        &self,
        acked_bytes: u64,
        retransmitted: u32,
        why: &'static str,
    ) -> Unfinished {
        Unfinished {
            cookie: self.cookie,
            acked_bytes,
            retransmitted,
            why,
        }
    }

    /// The end of this flow.
    pub(crate) const fn end(
        &self,
        received_ps: Time,
        acked_ps: Time,
        retransmitted: u32,
    ) -> FlowEnd {
        FlowEnd {
            flow: self.flow,
            cookie: self.cookie,
            received_ps,
            acked_ps,
            retransmitted,
        }
    }
}
