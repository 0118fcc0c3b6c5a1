//! A set of port pairs of a switch, as a bit matrix.

/// Set of (ingress, egress) port pairs of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Number of 64-bit words of `bits` for each ingress.
    words: usize,
    bits: Vec<u64>,
}

impl Pairs {
    /// Creates an empty set for a switch with this many ports.
    #[must_use]
    pub fn none(ports: u16) -> Self {
        let words = usize::from(ports).div_ceil(64);
        Self {
            words,
            bits: vec![0; words * usize::from(ports)],
        }
    }

    /// Returns the egress ports of all pairs with this ingress port, as a bit set.
    #[must_use]
    pub fn row(&self, ingress: u16) -> &[u64] {
        &self.bits[usize::from(ingress) * self.words..][..self.words]
    }

    /// Adds the pairs of an ingress port with each egress port of a bit set.
    pub fn insert_all(&mut self, ingress: u16, egresses: &[u64]) {
        let row = &mut self.bits[usize::from(ingress) * self.words..][..self.words];
        for (word, more) in row.iter_mut().zip(egresses) {
            *word |= more;
        }
    }

    /// Adds all pairs of another set of the same switch.
    pub fn unite(&mut self, other: &Self) {
        for (word, more) in self.bits.iter_mut().zip(&other.bits) {
            *word |= more;
        }
    }

    #[inline]
    const fn at(&self, ingress: u16, egress: u16) -> usize {
        ingress as usize * self.words * 64 + egress as usize
    }

    /// Adds a pair.
    pub fn insert(&mut self, ingress: u16, egress: u16) {
        let at = self.at(ingress, egress);
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Removes a pair.
    pub fn remove(&mut self, ingress: u16, egress: u16) {
        let at = self.at(ingress, egress);
        self.bits[at / 64] &= !(1 << (at % 64));
    }

    /// Returns true if the set contains a pair.
    #[inline]
    #[must_use]
    pub fn contains(&self, ingress: u16, egress: u16) -> bool {
        let at = self.at(ingress, egress);
        self.bits[at / 64] >> (at % 64) & 1 != 0
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }
}
