//! Start of a flow at a NIC, and its end.

use crate::cc::PathInfo;
use crate::units::Time;

/// Maximum number of data packets of one flow. Packet numbers have 32 bits. Half of their range is
/// used, so that sums of two numbers fit.
// NIC-54: packet numbers limit a flow
pub const MAX_FLOW_PACKETS: u64 = 1 << 31;

/// Report of a sender's NIC when the last acknowledgement of a flow has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Value of [`FlowStart::cookie`].
    pub cookie: u32,
    /// Time at which the receiver had the last byte, in ps.
    pub received_ps: Time,
    /// Time at which the sender had the last acknowledgement, in ps.
    pub acked_ps: Time,
    /// Data packets that were sent again.
    pub retransmitted: u32,
}

/// A flow at its sender that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Value of [`FlowStart::cookie`].
    pub cookie: u32,
    /// Payload bytes that are known to have arrived.
    pub acked_bytes: u64,
    /// Data packets that were sent again so far.
    pub retransmitted: u32,
    /// Reason why the flow does not send.
    pub why: &'static str,
}

/// A flow that starts.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Value that is returned in [`FlowEnd`].
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
    /// True if the flow belongs to an incast.
    pub incast: bool,
    /// Properties of the path for the congestion control.
    pub path: PathInfo,
    /// Number of equal-cost paths among which the sender selects; 0: the network selects.
    pub ways: u32,
}

/// Returns the number of packets of a flow with this many bytes.
// NIC-01
#[inline]
pub(crate) fn packets_of(bytes: u64, mtu: u16) -> u32 {
    bytes.div_ceil(u64::from(mtu)) as u32
}

impl FlowStart {
    /// Returns the payload bytes of the packets below a number.
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

    /// Returns the state of this flow while it has not ended.
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

    /// Returns the end of this flow.
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
