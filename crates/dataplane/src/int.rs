//! In-network telemetry: what switches write on a data packet and the receiver returns to the
//! sender (HPCC paper, §3.1 and Fig. 7).

pub mod wire;

use crate::units::Time;

pub use wire::Layout;

/// What switches write into telemetry, and hence how senders read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntFormat {
    /// Exact numbers that never wrap.
    #[default]
    Exact,
    /// Records of 8 bytes, to the bit (HPCC-30).
    Wire(Layout),
}

impl IntFormat {
    /// Time and bytes between the record of a hop and the next one: ps, bytes. A time of 0 means
    /// that the stamp is not later.
    #[inline]
    #[must_use]
    pub fn since(self, last: &IntHop, new: &IntHop) -> (Time, u64) {
        match self {
            Self::Exact => (
                new.ts_ps.saturating_sub(last.ts_ps),
                new.tx_bytes.saturating_sub(last.tx_bytes), // HPCC-11
            ),
            Self::Wire(layout) => (layout.elapsed_ps(last, new), layout.sent_bytes(last, new)),
        }
    }
}

/// Which bytes of its egress port a switch counts in telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// Those that left: txBytes, the paper's choice.
    #[default]
    Sent,
    /// Those that joined the queue: rxBytes, in the same place (HPCC-31).
    Arrived,
}

/// Switches that one stack can hold.
pub const MAX_HOPS: usize = 8;

/// Bytes that telemetry of `hops` switches adds to a packet: two for hop count and pathID, eight
/// for each switch.
#[must_use]
pub const fn padding_bytes(hops: u16) -> u16 {
    2 + 8 * hops // HPCC-24
}

/// What one egress port wrote as the packet left it (HPCC-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// When the packet left the port's queue.
    pub ts_ps: Time,
    /// Bytes that the port had sent before this packet (HPCC-02).
    pub tx_bytes: u64,
    /// Bytes that stay in the port's queues behind this packet (HPCC-02).
    pub qlen_bytes: u32,
    /// Speed of the port in 10⁶ bits per second.
    pub rate_mbps: u32,
}

/// The telemetry of one packet. The first cache line has its length and the first two hops.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct IntStack {
    len: u8,
    path: u16,
    hops: [IntHop; MAX_HOPS],
}

impl IntStack {
    /// Makes it empty.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.path = 0;
    }

    /// Adds what switch `switch` says. Past [`MAX_HOPS`] the stack stays as it is; whoever builds
    /// the network refuses longer paths with INT. Says whether there was room.
    #[inline]
    pub fn push(&mut self, switch: u32, hop: IntHop) -> bool {
        let Some(slot) = self.hops.get_mut(self.len as usize) else {
            return false;
        };
        *slot = hop;
        self.len += 1;
        self.path ^= switch as u16; // HPCC-03
        true
    }

    /// Makes it the same as another with this path and these hops, of which there are at most
    /// [`MAX_HOPS`].
    #[inline]
    pub fn set(&mut self, path: u16, hops: &[IntHop]) {
        let len = hops.len().min(MAX_HOPS);
        self.hops[..len].copy_from_slice(&hops[..len]);
        self.len = len as u8;
        self.path = path;
    }

    /// The last hop, to change.
    pub(crate) fn last_mut(&mut self) -> Option<&mut IntHop> {
        self.hops[..self.len as usize].last_mut()
    }

    /// The hops so far, in the order of the path.
    #[inline]
    #[must_use]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.len as usize]
    }

    /// XOR of the switches' identifiers (HPCC's pathID): tells that the path changed.
    #[inline]
    #[must_use]
    pub const fn path(&self) -> u16 {
        self.path
    }
}
