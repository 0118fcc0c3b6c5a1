//! Numbers of the C library that BFC's authors' simulator runs with (`srand` and `rand` on Linux).

/// Words of its state, and how far the word that is added to lies ahead of the one that is added.
const WORDS: usize = 31;
const AHEAD: usize = 3;
/// Numbers that it drops before it gives the first.
const DROPPED: usize = 310;

/// The first number after the generator has begun with `seed`: a multiplicative generator fills 31
/// words, and each number is the sum of two of them, without its last bit.
// BFCC-06
pub(crate) fn first(seed: u32) -> u32 {
    const MODULUS: u64 = (1 << 31) - 1;
    let mut words = [0; WORDS];
    let mut word = seed.max(1);
    for place in &mut words {
        *place = word;
        word = (u64::from(word) * 16_807 % MODULUS) as u32;
    }
    let mut number = 0;
    for nth in 0..=DROPPED {
        let sum = words[(nth + AHEAD) % WORDS].wrapping_add(words[nth % WORDS]);
        words[(nth + AHEAD) % WORDS] = sum;
        number = sum >> 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    // BFCC-06
    #[test]
    fn numbers_are_those_of_the_c_library() {
        let known = [
            (0, 1_804_289_383),
            (1, 1_804_289_383),
            (2, 1_505_335_290),
            (64, 901_501_096),
            (460_799, 2_141_752_515),
        ];
        for (seed, number) in known {
            assert_eq!(first(seed), number, "seed {seed}");
        }
    }
}
