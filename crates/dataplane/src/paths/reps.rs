//! REPS (recycled entropy packet spraying): entropy values of packets that were acknowledged
//! without an ECN mark are used again. After a timeout the sender draws no new values for some
//! time, because a path may have failed.

use super::{ENTROPY_BITS, Policy, Verdict, below, values};
use crate::param::{Conflict, Param};
use crate::scheme::Scheme;
use crate::units::{Time, US};

crate::params! {
    /// Parameters of REPS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RepsConfig {
        /// Number of entropy values of a flow.
        pub values: u32 = values("65536", "PRE-212", "16 bits, as in UEC"),
        /// Maximum number of entropy values without ECN mark that a flow stores.
        pub ring: u32 = Param::count("ring", 1, LARGEST_RING as u64)
            .default("8", "PRE-212", "8 values (REPS paper)"),
        /// Time after a timeout in which a flow draws no new entropy value.
        pub freeze_ps: Time = Param::time("freeze", US)
            .default("\"10ms\"", "PRE-212", "as in the model of UEC"),
    }
}

/// Maximum number of entropy values that `ring` permits.
pub const LARGEST_RING: u32 = 32;

/// Ring of recycled entropy values of one flow.
// SPR-10
#[derive(Clone, Copy, Debug)]
pub struct Reps {
    ring: [u16; LARGEST_RING as usize],
    /// Index in the ring at which the next entropy value is stored.
    head: u32,
    /// Number of entries that have been filled.
    filled: u32,
    /// Number of stored entropy values that have not been used again.
    unused: u32,
    /// Index of the next entropy value that is used again after a timeout.
    again: u32,
    /// Time until which the sender draws no new entropy value.
    frozen_until: Time,
}

impl Scheme for Reps {
    const NAME: &'static str = "reps";
    const ABOUT: &'static str = "the sender reuses entropy values that returned without a mark";
    type Params = RepsConfig;
    type Config = RepsConfig;

    fn configure(config: RepsConfig) -> Result<RepsConfig, Conflict> {
        Ok(config)
    }
}

impl Policy for Reps {
    fn new(_config: &RepsConfig, _paths: u32) -> Self {
        Self {
            ring: [0; LARGEST_RING as usize],
            head: 0,
            filled: 0,
            unused: 0,
            again: 0,
            frozen_until: 0,
        }
    }

    fn next(&mut self, config: &RepsConfig, now: Time, draw: &mut impl FnMut() -> u64) -> u32 {
        // SPR-11: the oldest value that returned without a mark and was not used again.
        if self.unused > 0 {
            let at = (self.head + config.ring - self.unused) % config.ring;
            self.unused -= 1;
            return u32::from(self.ring[at as usize]);
        }
        // SPR-13: values of the ring in turn, even if they have been used again already.
        if now < self.frozen_until && self.filled > 0 {
            let at = self.again % self.filled;
            self.again = at + 1;
            return u32::from(self.ring[at as usize]);
        }
        below(config.values, draw) // SPR-12
    }

    fn feedback(&mut self, config: &RepsConfig, now: Time, entropy: u32, verdict: Verdict) {
        match verdict {
            Verdict::Clean => {
                self.ring[self.head as usize] = (entropy & ENTROPY_BITS) as u16;
                self.filled = self.filled.max(self.head + 1);
                self.head = (self.head + 1) % config.ring;
                self.unused = (self.unused + 1).min(config.ring);
            }
            Verdict::TimedOut => self.frozen_until = now + config.freeze_ps, // SPR-13
            Verdict::Marked | Verdict::Lost => {}                            // SPR-11
        }
    }
}
