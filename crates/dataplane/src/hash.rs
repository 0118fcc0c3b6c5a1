//! Hash functions that are the same on every machine.

/// Returns a fast hash in which each input bit affects all output bits (the finaliser of
/// MurmurHash3).
#[inline]
#[must_use]
pub const fn mix32(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Returns the 32-bit MurmurHash3 of three words, which are twelve bytes in little-endian order.
// NS3-40
#[must_use]
pub const fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut h = seed;
    let mut at = 0;
    while at < words.len() {
        let k = words[at].wrapping_mul(0xcc9e_2d51).rotate_left(15);
        h ^= k.wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        at += 1;
    }
    mix32(h ^ 12)
}

/// Maps a hash to an index below `count`.
#[inline(always)]
pub(crate) const fn below(hash: u32, count: usize) -> usize {
    ((hash as u64 * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    // NS3-40
    #[test]
    fn murmur3_gives_the_published_numbers() {
        // Values for the zero key of 12 bytes and for the bytes 1 to 12, from a translation of the
        // reference implementation into another language.
        assert_eq!(murmur3([0; 3], 0), 0xd941_144b);
        assert_eq!(
            murmur3([0x0403_0201, 0x0807_0605, 0x0c0b_0a09], 128),
            0xb360_d5a9
        );
    }
}
