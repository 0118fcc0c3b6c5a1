//! Identifiers that are indices, each with a type of its own.

/// Index of a queue among all queues of a switch. It is not the queue's number at its port, which
/// frames between neighbours name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct QueueId(u32);

impl QueueId {
    /// No queue; ends a list of queues.
    pub const NONE: Self = Self(u32::MAX);

    /// The queue with this index.
    ///
    /// # Panics
    /// Debug builds panic if the index has more than 32 bits.
    #[inline]
    #[must_use]
    pub const fn new(index: usize) -> Self {
        debug_assert!(index <= u32::MAX as usize);
        Self(index as u32)
    }

    /// The index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The index as the 32 bits that a packet stores.
    #[inline]
    #[must_use]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

/// Index of a flow at its NIC. A packet carries it, and its replies return it, so that the sender
/// finds the flow without a search. The index is used again after the flow has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FlowSlot(u32);

impl FlowSlot {
    /// No flow; ends a list of flows.
    pub const NONE: Self = Self(u32::MAX);

    /// The slot with this index.
    ///
    /// # Panics
    /// Debug builds panic if the index has more than 32 bits.
    #[inline]
    #[must_use]
    pub const fn new(index: usize) -> Self {
        debug_assert!(index <= u32::MAX as usize);
        Self(index as u32)
    }

    /// The slot that a frame names. It may be invalid at this NIC.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The index as the 32 bits of a frame.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}
