//! Hash table from entry number to value, for the used entries of a flow table. It uses open
//! addressing, so that the memory of an entry can be prefetched.

use crate::prefetch::prefetch;

/// Entry number that marks a free slot.
const NONE: u64 = u64::MAX;
/// Initial number of slots.
const FIRST: usize = 16;

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Slot<V> {
    number: u64,
    value: V,
}

/// Map from entry number to value. At most half of the slots are in use.
#[derive(Debug)]
pub(crate) struct Entries<V> {
    slots: Vec<Slot<V>>,
    len: usize,
    /// Initial value of an entry.
    idle: V,
}

impl<V: Copy> Entries<V> {
    pub fn new(idle: V) -> Self {
        Self {
            slots: Self::empty(FIRST, idle),
            len: 0,
            idle,
        }
    }

    fn empty(slots: usize, idle: V) -> Vec<Slot<V>> {
        let slot = Slot {
            number: NONE,
            value: idle,
        };
        vec![slot; slots]
    }

    /// Returns the index of the slot at which the search for an entry number begins.
    #[inline]
    fn home(&self, number: u64) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - bits)) as usize
    }

    /// Returns the index of the slot of an entry number, or of the free slot for a new entry.
    #[inline]
    fn find(&self, number: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut at = self.home(number);
        while self.slots[at].number != number && self.slots[at].number != NONE {
            at = (at + 1) & last;
        }
        at
    }

    #[inline]
    pub fn get(&self, number: u64) -> Option<&V> {
        let slot = &self.slots[self.find(number)];
        (slot.number == number).then_some(&slot.value)
    }

    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut V> {
        let at = self.find(number);
        let slot = &mut self.slots[at];
        (slot.number == number).then_some(&mut slot.value)
    }

    /// Returns the value of an entry number. Adds an entry with the idle value if there is none.
    #[inline]
    pub fn entry(&mut self, number: u64) -> &mut V {
        let mut at = self.find(number);
        if self.slots[at].number == NONE {
            if 2 * self.len >= self.slots.len() {
                self.grow();
                at = self.find(number);
            }
            self.slots[at].number = number;
            self.len += 1;
        }
        &mut self.slots[at].value
    }

    #[cold]
    fn grow(&mut self) {
        let more = Self::empty(2 * self.slots.len(), self.idle);
        for slot in std::mem::replace(&mut self.slots, more) {
            self.put(slot);
        }
    }

    fn put(&mut self, slot: Slot<V>) {
        if slot.number != NONE {
            let at = self.find(slot.number);
            self.slots[at] = slot;
        }
    }

    /// Removes all entries for which `keeps` returns false.
    pub fn retain(&mut self, keeps: impl Fn(&V) -> bool) {
        let slots = self.slots.len();
        let old = std::mem::replace(&mut self.slots, Self::empty(slots, self.idle));
        self.len = 0;
        for slot in old {
            if slot.number != NONE && keeps(&slot.value) {
                self.put(slot);
                self.len += 1;
            }
        }
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the values of all entries, in arbitrary order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        let used = self.slots.iter().filter(|slot| slot.number != NONE);
        used.map(|slot| &slot.value)
    }

    /// Prefetches the slot at which the search for an entry number begins. Changes no state.
    #[inline]
    pub fn prefetch(&self, number: u64) {
        prefetch(&self.slots, self.home(number));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slot_of_a_flow_table_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot<(u64, u32, u32, u16)>>(), 32);
    }

    proptest! {
        /// Compares with a `HashMap`: random insertions, changes and removals of nearby numbers.
        #[test]
        fn entries_are_those_of_a_map(steps in prop::collection::vec((0u64..200, 0u32..300), 0..3_000)) {
            let mut entries = Entries::new(0u64);
            let mut map = HashMap::new();
            for (step, (number, what)) in (0u64..).zip(steps) {
                prop_assert_eq!(entries.get(number), map.get(&number));
                match what {
                    0 => {
                        let keeps = |value: &u64| !value.is_multiple_of(3);
                        entries.retain(keeps);
                        map.retain(|_, value| keeps(value));
                    }
                    1..150 => {
                        let value = entries.entry(number);
                        let same = map.entry(number).or_insert(0);
                        prop_assert_eq!(&value, &same);
                        (*value, *same) = (step, step);
                    }
                    _ => {
                        let values = [entries.get_mut(number), map.get_mut(&number)];
                        for value in values.into_iter().flatten() {
                            *value += 1;
                        }
                    }
                }
                prop_assert_eq!(entries.len(), map.len());
            }
            let mut all: Vec<u64> = entries.values().copied().collect();
            let mut same: Vec<u64> = map.values().copied().collect();
            all.sort_unstable();
            same.sort_unstable();
            prop_assert_eq!(all, same);
        }
    }
}
