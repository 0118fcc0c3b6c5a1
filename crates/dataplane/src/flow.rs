//! Start of a flow at a NIC, and its end.

use crate::cc::PathInfo;
use crate::units::Time;

/// Maximum number of data packets of one flow. Packet numbers use half of the 32-bit range, so that
/// sums of two numbers fit.
// NIC-54: packet numbers limit a flow
pub const MAX_FLOW_PACKETS: u64 = 1 << 31;

/// Report of the sender's NIC when the last acknowledgement of a flow has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Value of [`FlowStart::cookie`].
    pub cookie: u32,
    /// Time at which the last missing byte arrived at the receiver, in ps.
    pub received_ps: Time,
    /// Time at which the last acknowledgement arrived at the sender, in ps.
    pub acked_ps: Time,
    /// Number of retransmitted data packets.
    pub retransmitted: u32,
}

/// A flow at its sender that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Value of [`FlowStart::cookie`].
    pub cookie: u32,
    /// Number of acknowledged payload bytes.
    pub acked_bytes: u64,
    /// Number of retransmitted data packets so far.
    pub retransmitted: u32,
    /// Reason why the flow does not send.
    pub why: &'static str,
}

/// A flow that starts.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Opaque value that [`FlowEnd`] returns.
    pub cookie: u32,
    /// Port of the sender's NIC that the flow uses.
    pub port: u16,
    /// Index of the sending endpoint (a port of a host).
    pub src: u32,
    /// Index of the receiving endpoint.
    pub dst: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Hash of the flow's identity, for ECMP and flow tables.
    pub hash: u32,
    /// Traffic class. Data packets have the frame class `data_class + class`.
    pub class: u8,
    /// True if the flow belongs to an incast.
    pub incast: bool,
    /// Properties of the path for the congestion control.
    pub path: PathInfo,
    /// Number of equal-cost paths among which the sender selects, or 0 if the network selects.
    pub ways: u32,
}

/// Returns the number of packets of a flow with this many bytes.
// NIC-01
#[inline]
pub(crate) fn packets_of(bytes: u64, mtu: u16) -> u32 {
    bytes.div_ceil(u64::from(mtu)) as u32
}

impl FlowStart {
    /// Returns the number of payload bytes in the packets with numbers below `psn`.
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

    /// Returns a report about this flow, which has not ended.
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

    /// Returns the report about the end of this flow.
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
