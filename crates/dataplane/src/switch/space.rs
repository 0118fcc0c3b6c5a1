//! What the books of the buffer say of a packet.

/// Where an accepted packet is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// The ingress' reserve, and the shared pool for what does not fit it.
    Pool,
    Headroom,
}

/// What a packet that came or left changes for its ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    Nothing,
    /// The ingress is to be compared with its threshold.
    Compare,
    /// The upstream is to stop.
    Xoff,
    /// The upstream may go on.
    Xon,
}
