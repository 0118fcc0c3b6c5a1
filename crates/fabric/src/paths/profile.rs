//! Times of frames and flows on one path without other traffic.

use super::saturate;
use dataplane::config::NicConfig;
use dataplane::units::{Rate, Time};

/// Sizes of a flow's packets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSizes {
    /// Payload of a full packet.
    pub mtu: u16,
    /// Header of each packet.
    pub header: u16,
    /// Size of an ACK.
    pub ack: u16,
}

impl FrameSizes {
    /// Returns the packet sizes of a NIC.
    #[must_use]
    pub const fn of(nic: &NicConfig) -> Self {
        Self {
            mtu: nic.mtu,
            header: nic.header,
            ack: nic.ack,
        }
    }
}

/// The links of a path, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathProfile {
    /// Rate and propagation delay (ps) of each link, starting with the sender's link.
    pub hops: Vec<(Rate, Time)>,
}

impl PathProfile {
    /// Returns the time from sending the first bit to receiving the last bit of a single frame, ps.
    #[must_use]
    pub fn one_way_ps(&self, frame_bytes: u16) -> Time {
        let total = self.hops.iter().map(|&(rate, delay_ps)| {
            u128::from(rate.serialisation_ps(frame_bytes.into())) + u128::from(delay_ps)
        });
        saturate(total.sum())
    }

    /// Returns the ideal FCT: the time until the receiver has the last byte of a flow of `bytes`
    /// that is alone on this path. Packets have `mtu` bytes of payload (the last packet has the
    /// remaining bytes), and `header` bytes in addition. Packets are sent back to back, and every
    /// switch stores and forwards them. An `mtu` of 0 counts as 1.
    // TOP-14
    #[must_use]
    pub fn ideal_received_ps(&self, bytes: u64, mtu: u16, header: u16) -> Time {
        let mtu = u64::from(mtu.max(1));
        let packets = bytes.div_ceil(mtu).max(1);
        let full_bytes = mtu + u64::from(header);
        let last_bytes = bytes - (packets - 1) * mtu + u64::from(header);

        // The last but one of the full packets leaves link j at
        //   sum of all serialisations up to j + delays before j + (packets - 2) * the longest.
        let (mut sum, mut longest) = (0u128, 0u128);
        // Time at which the last packet arrives at the end of the current link.
        let mut arrives = 0u128;
        for &(rate, delay_ps) in &self.hops {
            let full = u128::from(rate.serialisation_ps(full_bytes));
            longest = longest.max(full);
            sum += full;
            let free = match packets {
                1 => 0,
                _ => sum + u128::from(packets - 2) * longest,
            };
            let leaves = arrives.max(free) + u128::from(rate.serialisation_ps(last_bytes));
            arrives = leaves + u128::from(delay_ps);
            sum += u128::from(delay_ps);
        }
        saturate(arrives)
    }

    /// Returns the rate of the slowest link; `None`: the path has no link.
    #[must_use]
    pub fn bottleneck(&self) -> Option<Rate> {
        self.hops
            .iter()
            .map(|hop| hop.0)
            .min_by_key(|rate| rate.bps())
    }
}
