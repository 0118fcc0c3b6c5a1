//! Reimplements `srand` and `rand` of the C library on Linux, which the simulator of BFC's authors
//! uses.

/// Number of 32-bit words in the state of the generator.
const WORDS: usize = 31;
/// Distance in the state between the two words that are added for the next output.
const AHEAD: usize = 3;
/// Number of outputs that `srand` discards.
const DROPPED: usize = 310;

/// Returns the first output of `rand` after `srand(seed)`. A multiplicative generator fills the 31
/// words of the state. Each output is the sum of two words, shifted right by one bit.
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
