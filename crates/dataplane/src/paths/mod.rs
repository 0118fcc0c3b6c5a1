//! Path policies of senders: they select the path of each packet of a flow. Each policy has its own
//! file. This file has the trait that they implement, the list of policies, and their common parts.
//! The rules are in `specs/paths.md`. Path policies of switches are in `switch/`.
//!
//! A policy selects an entropy value for each packet. Switches hash it together with the flow. The
//! receiver returns it, so the policy can rate each value.

pub mod bitmap;
pub mod oblivious;
pub mod permutation;
pub mod reps;
mod spray;
pub mod switch;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use crate::param::{Conflict, Param};
use crate::properties::{Choice, Properties, Property, Rule};
use crate::scheme::{Scheme, axis};
use crate::units::Time;
pub use bitmap::BitmapConfig;
pub use oblivious::ObliviousConfig;
pub use permutation::PermutationConfig;
pub use reps::RepsConfig;
pub(crate) use spray::Spray;

axis! {
    /// Configured path policy of senders.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum SprayConfig, POLICIES, of!, policies! {
        Permutation(permutation),
        Reps(reps),
        Bitmap(bitmap),
        Oblivious(oblivious),
    }
}

/// Bits of [`Packet::hash`](crate::packet::Packet::hash) that an entropy value changes. The other bits are
/// those of the flow's hash.
// SPR-02
pub const ENTROPY_BITS: u32 = 0xffff;

/// Outcome of a packet with a given entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet arrived without an ECN mark.
    Clean,
    /// The packet arrived with an ECN mark.
    Marked,
    /// The packet was lost and is sent again.
    Lost,
    /// No acknowledgement arrived before the timeout.
    TimedOut,
}

/// A path policy. An instance is the state of one flow.
pub(crate) trait Policy: Scheme + Debug + Sized {
    /// Creates the state of a flow with `paths` equal-cost paths.
    fn new(config: &Self::Config, paths: u32) -> Self;

    /// Returns the entropy value of the next packet. `draw` returns random bits.
    fn next(&mut self, config: &Self::Config, now: Time, draw: &mut impl FnMut() -> u64) -> u32;

    /// Processes the outcome of a packet with this entropy value. Some policies ignore it.
    fn feedback(&mut self, _config: &Self::Config, _now: Time, _entropy: u32, _verdict: Verdict) {}
}

impl SprayConfig {
    /// Returns true if the values are labels of paths, which switches do not hash (NDP-05).
    #[must_use]
    pub const fn has_labels(&self) -> bool {
        of!(self, Of(_config) => Of::PROVIDES.has(Property::Labels))
    }
}

// SPR-07
impl Choice for SprayConfig {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::SenderPaths]).and(of!(self, Of(_config) => Of::PROVIDES))
    }

    fn rules(&self) -> Vec<Rule> {
        let name = of!(self, Of(_config) => Of::NAME);
        let mut rules = crate::rules! {
            wrong ["path", "recovery"] without [AnyOrder, ReceiverDriven]:
                format!(
                    "path = \"{name}\" makes packets overtake each other, and go-back-N takes each overtaken one \
                     for a loss"
                ),
                "set recovery = \"irn\" or \"ideal\", or \"none\" on a lossless network";
            wrong ["path", "nic"] with [ScanArbiter]:
                format!("nic.arbiter = \"scan\" sends a flow on one path, and path = \"{name}\" on several"),
                "set nic.arbiter = \"ring\", or path = \"flow\"";
        };
        if self.has_labels() {
            rules.extend(crate::rules! {
                wrong ["path", "classify"] with [QueuesByHash] without [ReceiverDriven]:
                    format!("path = \"{name}\" puts labels in the place of the hash that `classify` goes by"),
                    "set path = \"oblivious\", or classify = \"fifo\"";
            });
        }
        rules
    }
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// State of one flow under the configured policy.
        #[derive(Clone, Debug)]
        enum Chosen {
            $($name($module::$name),)*
        }

        impl Chosen {
            fn new(config: &SprayConfig, paths: u32) -> Self {
                match config {
                    $(SprayConfig::$name(config) => {
                        Self::$name($module::$name::new(config, paths))
                    })*
                }
            }

            fn next(
                &mut self,
                config: &SprayConfig,
                now: Time,
                draw: &mut impl FnMut() -> u64,
            ) -> u32 {
                match (self, config) {
                    $((Self::$name(policy), SprayConfig::$name(config)) => {
                        policy.next(config, now, draw)
                    })*
                    _ => unreachable!("a flow keeps its policy"),
                }
            }

            fn feedback(&mut self, config: &SprayConfig, now: Time, entropy: u32, verdict: Verdict) {
                match (self, config) {
                    $((Self::$name(policy), SprayConfig::$name(config)) => {
                        policy.feedback(config, now, entropy, verdict);
                    })*
                    _ => unreachable!("a flow keeps its policy"),
                }
            }
        }
    };
}
policies! { define }

/// Returns the parameter for the number of entropy values.
const fn values(default: &'static str, rule: &'static str, source: &'static str) -> Param {
    Param::count("values", 1, ENTROPY_BITS as u64 + 1).default(default, rule, source)
}

/// Checks the number of entropy values of a policy that uses them in rounds.
fn check_rounds(count: u32) -> Result<(), Conflict> {
    if count.is_power_of_two() {
        return Ok(());
    }
    Err(Conflict::new(
        &["values"],
        format!("{count} is not a power of two"),
        format!("set values = {}", count.next_power_of_two()),
    ))
}

/// Returns a random number below `bound`.
fn below(bound: u32, draw: &mut impl FnMut() -> u64) -> u32 {
    ((u128::from(draw()) * u128::from(bound)) >> 64) as u32
}
