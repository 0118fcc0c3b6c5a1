//! Counter-based random streams: one per (seed, entity, purpose).
//!
//! A draw is a pure function of the stream's key and of how many draws came before it, so a new
//! stream somewhere else never shifts the numbers of this one.

/// What a stream is for. Two purposes of one entity never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Marking decisions and queue choices of a switch.
    Switch = 1,
    /// Sizes of flows.
    Sizes = 2,
    /// Gaps between arrivals.
    Arrivals = 3,
    /// Who talks to whom.
    Pairs = 4,
    /// Seeds of the hash functions that pick among equal paths.
    Routing = 5,
    /// Draws of a NIC.
    Nic = 6,
    /// Anything in tests.
    Test = 7,
}

/// SplitMix64's finaliser: a bijection of `u64` with full avalanche.
#[inline]
#[must_use]
pub const fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A reproducible stream of random numbers. Cloning it repeats its future.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    counter: u64,
}

impl Stream {
    /// The stream of `entity` (a node, a traffic source, ...) for `purpose` under `seed`.
    #[must_use]
    pub const fn new(seed: u64, entity: u64, purpose: Purpose) -> Self {
        let a = mix64(seed.wrapping_add(GOLDEN));
        let b = mix64(a ^ entity.wrapping_mul(GOLDEN).wrapping_add(1));
        let key = mix64(b ^ (purpose as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self { key, counter: 0 }
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GOLDEN);
        mix64(mix64(self.key ^ self.counter).wrapping_add(self.key))
    }

    /// A number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number in `0..n`, unbiased to 2^-64 (multiply-shift). `n` must not be 0.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// An exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// A standard normal (polar method of Marsaglia; the second value is not kept, so that each
    /// draw depends only on the stream's position).
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.unit() - 1.0;
            let y = 2.0 * self.unit() - 1.0;
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(s) / s);
            }
        }
    }
}
