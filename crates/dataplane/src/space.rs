//! Where the buffer stores a packet, and how much an ingress has there.

/// Where an accepted packet is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The reserve of the ingress, and the shared pool for what does not fit there.
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
