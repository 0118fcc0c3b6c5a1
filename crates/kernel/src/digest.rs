//! The digest: a 64-bit hash of all events of a run (KER-08).
//!
//! Each entity (a link, a flow...) has a running hash. [`fold`] adds each event of the entity to
//! this hash, in the order of the events. At the end a [`Digest`] combines the hashes. The result
//! does not depend on the order of the entities. So the digests of network partitions, which
//! threads simulate, can be added in any order.
//!
//! ```
//! use kernel::{Digest, digest::fold};
//!
//! let link = [1_000, 7].into_iter().fold(0, fold);
//! let mut digest = Digest::default();
//! digest.add(3, link);
//! assert_eq!(digest.to_string().len(), 16);
//! ```

use std::fmt;

use crate::random::mix64;

/// Multiplier of [`fold`]: an odd number whose one bits are well spread.
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
/// Addend of [`fold`], so that a word of zero changes a hash of zero.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the running hash after one more 64-bit word of an event. A hash starts at 0.
///
/// For a fixed hash the function is a bijection of the word, and for a fixed word a bijection of
/// the hash. So two sequences of words that differ in exactly one word have different hashes.
#[inline]
#[must_use]
pub const fn fold(hash: u64, word: u64) -> u64 {
    (hash ^ word)
        .wrapping_add(STEP)
        .wrapping_mul(FACTOR)
        .rotate_left(32)
}

/// The combined hash of any number of entities. The default is the digest without entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest(pub u64);

impl Digest {
    /// Adds the hash of the entity with the ID `entity`. Each entity must have a different ID.
    #[inline]
    pub const fn add(&mut self, entity: u64, hash: u64) {
        let name = mix64(entity.wrapping_add(STEP));
        self.0 = self.0.wrapping_add(mix64(hash ^ name));
    }
}

impl FromIterator<(u64, u64)> for Digest {
    /// Combines pairs of entity ID and hash.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut digest = Self::default();
        for (entity, hash) in pairs {
            digest.add(entity, hash);
        }
        digest
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(words: &[u64]) -> u64 {
        words.iter().copied().fold(0, fold)
    }

    /// KER-08: digests are part of the product and must not change between versions. The expected
    /// values come from a second implementation, in another language.
    #[test]
    fn known_answers() {
        assert_eq!(hash(&[1, 2, 3]), 0xa970_35a4_d8e4_4762);
        let digest: Digest = [(0, hash(&[1, 2, 3])), (1, hash(&[]))]
            .into_iter()
            .collect();
        assert_eq!(digest.to_string(), "594f76bc78f33f2e");
        assert_eq!(Digest(0xbeef).to_string(), "000000000000beef");
    }

    /// KER-08: the digest depends on the order of the words of an entity, but not on the order of
    /// the entities.
    #[test]
    fn order_matters_only_within() {
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        let forward: Digest = (0..100).map(|e| (e, hash(&[e, e * e]))).collect();
        let backward: Digest = (0..100).rev().map(|e| (e, hash(&[e, e * e]))).collect();
        assert_eq!(forward, backward);
    }

    /// KER-08: the digest depends on the ID of each entity, also if hashes are equal or 0.
    #[test]
    fn a_digest_depends_on_the_ids_of_entities() {
        let of = |pairs: &[(u64, u64)]| pairs.iter().copied().collect::<Digest>();
        assert_ne!(of(&[(0, 5), (1, 6)]), of(&[(0, 6), (1, 5)]));
        assert_ne!(of(&[(0, 5), (1, 5)]), of(&[(2, 5), (3, 5)]));
        assert_ne!(of(&[(0, 0)]), of(&[]));
        assert_ne!(of(&[(0, 0), (1, 0)]), of(&[(0, 0)]));
    }

    /// Sequences of zeros with different lengths have different hashes.
    #[test]
    fn zeros_count() {
        let mut seen: Vec<u64> = (0..1_000).map(|n| hash(&vec![0; n])).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1_000);
    }

    /// Flipping one bit of any word flips about half of the bits of the digest.
    #[test]
    fn one_bit_spreads() {
        let words = [83_200, 7, 1_048, 3];
        let before: Digest = [(9, hash(&words))].into_iter().collect();
        let mut flips = 0;
        for bit in 0..256 {
            let mut changed = words;
            changed[bit / 64] ^= 1 << (bit % 64);
            let after: Digest = [(9, hash(&changed))].into_iter().collect();
            let distance = (before.0 ^ after.0).count_ones();
            assert!((10..=54).contains(&distance), "bit {bit} flips {distance}");
            flips += distance;
        }
        assert!((31..=33).contains(&(flips / 256)));
    }
}
