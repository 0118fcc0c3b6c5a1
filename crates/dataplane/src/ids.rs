//! Index types, one for each kind of identifier, and arrays with such an index.
//!
//! Ports (`u16`) and classes (`u8`) are plain integers, because no other identifier has their
//! width.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// An identifier that is an index.
pub trait Id: Copy {
    /// Returns the index.
    fn index(self) -> usize;
}

/// Defines an index type of 32 bits. The largest value means "none" and marks the end of a list.
#[macro_export]
macro_rules! index {
    ($(#[$doc:meta])* $Name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $Name(u32);

        impl $Name {
            /// Value for "no index". It marks the end of a list.
            pub const NONE: Self = Self(u32::MAX);

            /// Returns the identifier with this index.
            ///
            /// # Panics
            /// Debug builds panic if the index has more than 32 bits.
            #[inline]
            #[must_use]
            pub const fn new(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }

            /// Returns the identifier with these bits, as encoded in a frame or an event. It may be
            /// invalid at this node.
            #[inline]
            #[must_use]
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// Returns the index.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the index as the 32 bits of a packet record, a frame or an event.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u32 {
                self.0
            }
        }

        impl $crate::ids::Id for $Name {
            #[inline]
            fn index(self) -> usize {
                self.index()
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index! {
    /// Index of a queue among all queues of a switch. It differs from the queue's number at its
    /// port, which control frames between neighbours use.
    QueueId
}

index! {
    /// Index of a flow at its NIC. A packet carries it, and its replies return it, so that the
    /// sender finds the flow without a search. The index is used again after the flow has ended.
    #[derive(Default)]
    FlowSlot
}

/// Array with one entry per identifier of type `I`. Other integers cannot index it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexVec<I, T> {
    entries: Vec<T>,
    index: PhantomData<fn(I)>,
}

impl<I, T> From<Vec<T>> for IndexVec<I, T> {
    fn from(entries: Vec<T>) -> Self {
        Self {
            entries,
            index: PhantomData,
        }
    }
}

impl<I, T> FromIterator<T> for IndexVec<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl<I, T> Deref for IndexVec<I, T> {
    type Target = Vec<T>;

    #[inline]
    fn deref(&self) -> &Vec<T> {
        &self.entries
    }
}

impl<I, T> DerefMut for IndexVec<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.entries
    }
}

impl<I: Id, T> Index<I> for IndexVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IndexVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}
