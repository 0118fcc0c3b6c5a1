//! Oblivious spraying: each entropy value is used once per round, in random order, independent of
//! the state of the paths.

use super::{Policy, below, check_rounds, values};
use crate::param::Conflict;
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of oblivious spraying.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ObliviousConfig {
        /// Number of entropy values of a flow.
        pub values: u32 = values("64", "PRE-212", "64 paths, as in the model of UEC"),
    }
}

/// Position of one flow in its round of entropy values: a counter, and a random pattern that is
/// XORed with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oblivious {
    counter: u32,
    pattern: u32,
}

impl Oblivious {
    /// Returns the next entropy value below `values`. Each round has a new random pattern.
    // SPR-20
    pub(super) fn step(&mut self, values: u32, draw: &mut impl FnMut() -> u64) -> u32 {
        if self.counter == 0 {
            self.pattern = below(values, draw);
        }
        let value = self.counter ^ self.pattern;
        self.counter = (self.counter + 1) % values;
        value
    }
}

impl Scheme for Oblivious {
    const NAME: &'static str = "oblivious";
    const ABOUT: &'static str =
        "the sender takes each entropy value once per round, in random order";
    type Params = ObliviousConfig;
    type Config = ObliviousConfig;

    fn configure(config: ObliviousConfig) -> Result<ObliviousConfig, Conflict> {
        check_rounds(config.values).map(|()| config)
    }
}

impl Policy for Oblivious {
    fn new(_config: &ObliviousConfig, _paths: u32) -> Self {
        Self::default()
    }

    fn next(&mut self, config: &ObliviousConfig, _: Time, draw: &mut impl FnMut() -> u64) -> u32 {
        self.step(config.values, draw)
    }
}
