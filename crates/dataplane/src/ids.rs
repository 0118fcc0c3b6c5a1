//! Identifiers that are indices, each with a type of its own.

/// Defines an index of 32 bits. Its largest value means that there is none, and ends lists.
macro_rules! index {
    ($(#[$doc:meta])* $Name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $Name(u32);

        impl $Name {
            /// No index; ends a list.
            pub const NONE: Self = Self(u32::MAX);

            /// The identifier with this index.
            ///
            /// # Panics
            /// Debug builds panic if the index has more than 32 bits.
            #[inline]
            #[must_use]
            pub const fn new(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }

            /// The identifier that a frame names. It may be invalid at this node.
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

            /// The index as the 32 bits of a packet record or frame.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u32 {
                self.0
            }
        }
    };
}

index! {
    /// Index of a queue among all queues of a switch. It is not the queue's number at its port, which
    /// frames between neighbours name.
    QueueId
}

index! {
    /// Index of a flow at its NIC. A packet carries it, and its replies return it, so that the sender
    /// finds the flow without a search. The index is used again after the flow has ended.
    #[derive(Default)]
    FlowSlot
}
