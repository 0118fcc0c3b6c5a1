//! Sets of packet numbers. The numbers of a set are close together and increase with time.

use std::collections::VecDeque;

const BITS: u32 = u64::BITS;

/// A set of packet numbers, with one bit for each number from the lowest to the highest in the set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    words: VecDeque<u64>,
    /// Index of the first stored word: its first packet number / 64.
    first: u32,
    len: u32,
}

impl Numbers {
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cfg(test)]
    pub fn contains(&self, number: u32) -> bool {
        self.word(number / BITS) >> (number % BITS) & 1 == 1
    }

    /// Returns the word for packet numbers 64 · `index` to 64 · `index` + 63. Words that are not
    /// stored are 0.
    fn word(&self, index: u32) -> u64 {
        let at = index.checked_sub(self.first);
        at.and_then(|at| self.words.get(at as usize))
            .copied()
            .unwrap_or(0)
    }

    /// Adds a packet number. Returns false if the set contained it before.
    pub fn insert(&mut self, number: u32) -> bool {
        let index = number / BITS;
        if self.words.is_empty() {
            self.first = index;
        }
        while index < self.first {
            self.first -= 1;
            self.words.push_front(0);
        }
        let at = (index - self.first) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (number % BITS);
        let fresh = self.words[at] & bit == 0;
        self.words[at] |= bit;
        self.len += u32::from(fresh);
        fresh
    }

    /// Removes all packet numbers below `floor`. Returns how many were removed.
    pub fn forget_below(&mut self, floor: u32) -> u32 {
        let before = self.len;
        while self.first < floor / BITS
            && let Some(word) = self.words.pop_front()
        {
            self.len -= word.count_ones();
            self.first += 1;
        }
        if self.first == floor / BITS
            && let Some(word) = self.words.front_mut()
        {
            let below = *word & ((1 << (floor % BITS)) - 1);
            *word ^= below;
            self.len -= below.count_ones();
        }
        if self.len == 0 {
            self.words.clear();
        }
        before - self.len
    }

    /// Returns the first packet number from `from` on that is not in the set.
    pub fn first_absent(&self, from: u32) -> u32 {
        let mut number = from;
        loop {
            let absent = !self.word(number / BITS) >> (number % BITS);
            if absent != 0 {
                return number + absent.trailing_zeros();
            }
            number = (number / BITS + 1) * BITS;
        }
    }

    /// Returns the first packet number from `from` on that is in the set.
    pub fn first_present(&self, from: u32) -> Option<u32> {
        let end = (self.first + self.words.len() as u32) * BITS;
        let mut number = from.max(self.first * BITS);
        while number < end {
            let present = self.word(number / BITS) >> (number % BITS);
            if present != 0 {
                return Some(number + present.trailing_zeros());
            }
            number = (number / BITS + 1) * BITS;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        // REC-10, REC-11: the results equal those of a standard set.
        #[test]
        fn numbers_are_a_set(ops in prop::collection::vec((0u32..4, 0u32..400), 1..200)) {
            let (mut numbers, mut set, mut floor) = (Numbers::default(), BTreeSet::new(), 0);
            for (what, number) in ops {
                match what {
                    0 => {
                        floor = floor.max(number / 2);
                        let below = set.iter().filter(|&&n| n < floor).count() as u32;
                        set.retain(|&n| n >= floor);
                        prop_assert_eq!(numbers.forget_below(floor), below);
                    }
                    1 => {
                        let absent = (number..).find(|n| !set.contains(n)).unwrap();
                        prop_assert_eq!(numbers.first_absent(number), absent);
                        let present = set.range(number..).next().copied();
                        prop_assert_eq!(numbers.first_present(number), present);
                    }
                    _ => {
                        let number = floor + number;
                        prop_assert_eq!(numbers.insert(number), set.insert(number));
                    }
                }
                prop_assert_eq!(numbers.len as usize, set.len());
                prop_assert_eq!(numbers.is_empty(), set.is_empty());
                prop_assert!((0..900).all(|n| numbers.contains(n) == set.contains(&n)));
            }
        }
    }
}
