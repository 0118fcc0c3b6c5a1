//! Permutation: the packets of a flow use all paths once in random order, then again in another
//! order. The entropy values are indices of paths, not inputs of a hash.

use super::{Policy, below};
use crate::param::Conflict;
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// The permutation policy has no parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PermutationConfig;
}

/// Order of the paths of one flow, and position in it.
#[derive(Clone, Debug)]
pub struct Permutation {
    paths: Vec<u32>,
    used: usize,
}

impl Permutation {
    /// Creates the state of a flow that has `paths` paths.
    pub(crate) fn of(paths: u32) -> Self {
        Self {
            paths: (0..paths).collect(),
            used: 0,
        }
    }

    /// Returns the index of the next path.
    // NDP-05
    pub(crate) fn step(&mut self, draw: &mut impl FnMut() -> u64) -> u32 {
        if self.used == 0 {
            for left in (2..=self.paths.len()).rev() {
                let nth = below(left as u32, draw);
                self.paths.swap(left - 1, nth as usize);
            }
        }
        let path = self.paths[self.used];
        self.used = (self.used + 1) % self.paths.len();
        path
    }
}

impl Scheme for Permutation {
    const NAME: &'static str = "permutation";
    const ABOUT: &'static str = "the sender goes through all paths in random order";
    type Params = PermutationConfig;
    type Config = PermutationConfig;
    const PROVIDES: Properties = Properties::of(&[Property::Labels]);

    fn configure(config: PermutationConfig) -> Result<PermutationConfig, Conflict> {
        Ok(config)
    }
}

impl Policy for Permutation {
    fn new(_config: &PermutationConfig, paths: u32) -> Self {
        Self::of(paths.max(1))
    }

    fn next(&mut self, _: &PermutationConfig, _: Time, draw: &mut impl FnMut() -> u64) -> u32 {
        self.step(draw)
    }
}
