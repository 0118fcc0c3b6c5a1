//! Space of a packet in the buffer (pool or headroom), and bytes of an ingress in each.

/// Space of the buffer in which an accepted packet is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The reserve of the ingress, or the shared pool if the reserve is full.
    Pool,
    Headroom,
}

/// Bytes of an ingress port and class beyond its reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Bytes in the shared pool.
    pub pool: u64,
    /// Bytes in the headroom.
    pub headroom: u64,
}
