//! Path policies of a sender: which path the next packet of a flow takes. One file for each policy; this
//! file has the trait that they implement, the list, and what they share. The rules are in `specs/paths.md`.
//! Path policies of a switch are in `switch/`.
//!
//! A policy chooses an entropy value for each packet. Switches hash it together with the flow, and the
//! receiver returns it, so the policy learns how each value fared.

pub mod bitmap;
pub mod oblivious;
pub mod permutation;
pub mod reps;
mod spray;
pub mod switch;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use crate::param::{Conflict, Param, Values};
use crate::units::Time;
pub use bitmap::BitmapConfig;
pub use oblivious::ObliviousConfig;
pub use permutation::PermutationConfig;
pub use reps::RepsConfig;
pub(crate) use spray::Spray;

/// The list of all policies, handed to the macro `$then`: type, module and configuration. A new policy is
/// a module and a line here.
macro_rules! policies {
    ($then:ident) => {
        $then! {
            Permutation(permutation, PermutationConfig),
            Reps(reps, RepsConfig),
            Bitmap(bitmap, BitmapConfig),
            Oblivious(oblivious, ObliviousConfig),
        }
    };
}

/// Bits of [`Packet::hash`](crate::packet::Packet::hash) that an entropy value changes. The other bits are
/// those of the flow's hash.
// SPR-02
pub const ENTROPY_BITS: u32 = 0xffff;

/// What happened to a packet with some entropy value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrived without an ECN mark.
    Clean,
    /// It arrived with an ECN mark.
    Marked,
    /// It is sent again.
    Lost,
    /// A timeout passed without its acknowledgement.
    TimedOut,
}

/// A path policy. A value is the state of one flow.
pub(crate) trait Policy: Debug + Sized {
    /// Its parameters.
    type Config: Copy + Debug + PartialEq;
    /// Value of the key `path` in scenarios, and name of the table of its parameters.
    const NAME: &'static str;
    /// What it does, for the help of the key `path`: a phrase without a full stop.
    const ABOUT: &'static str;
    /// Declaration of its parameters.
    const PARAMS: &'static [Param];
    /// Its values are labels of paths, which switches do not hash (NDP-05).
    const LABELS: bool = false;

    /// Returns the configuration for values of [`Self::PARAMS`].
    ///
    /// # Errors
    /// Values that contradict each other.
    fn configure(values: &Values) -> Result<Self::Config, Conflict>;

    /// State of a flow that starts and that has `paths` equal-cost paths, if the policy needs their number.
    fn new(config: &Self::Config, paths: u32) -> Self;

    /// The entropy value of the next packet. `draw` returns random bits.
    fn next(&mut self, config: &Self::Config, now: Time, draw: &mut impl FnMut() -> u64) -> u32;

    /// Learns what happened to a packet with this entropy value. Some policies learn nothing.
    fn feedback(&mut self, _config: &Self::Config, _now: Time, _entropy: u32, _verdict: Verdict) {}
}

/// The declaration of a policy of the list, as data.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Value of the key `path` in scenarios, and name of the table of its parameters.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes its configuration from values.
    pub configure: fn(&Values) -> Result<SprayConfig, Conflict>,
}

macro_rules! define {
    ($($name:ident($module:ident, $config:ident),)*) => {
        /// The configured path policy of senders.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum SprayConfig {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $name($config),
            )*
        }

        /// The policy of one flow.
        #[derive(Clone, Debug)]
        enum Chosen {
            $($name($module::$name),)*
        }

        /// All policies, in the order of the list.
        pub const POLICIES: &[Declaration] = &[$(
            Declaration {
                name: $module::$name::NAME,
                about: $module::$name::ABOUT,
                params: $module::$name::PARAMS,
                configure: |values| $module::$name::configure(values).map(SprayConfig::$name),
            },
        )*];

        impl SprayConfig {
            /// Value of the key `path`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $module::$name::NAME,)*
                }
            }

            /// True if the values are labels of paths, which switches do not hash.
            #[must_use]
            pub const fn has_labels(&self) -> bool {
                match self {
                    $(Self::$name(_) => $module::$name::LABELS,)*
                }
            }
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
policies!(define);

/// The number of entropy values, as a parameter.
const fn values(default: &'static str, rule: &'static str, source: &'static str) -> Param {
    Param::count("values", 1, ENTROPY_BITS as u64 + 1)
        .default(default, rule, source)
        .about("Entropy values of a flow.")
}

/// Reads the number of entropy values of a policy that goes through them in rounds.
fn values_in_rounds(values: &Values) -> Result<u32, Conflict> {
    let count = values.count("values") as u32;
    if count.is_power_of_two() {
        return Ok(count);
    }
    Err(Conflict::new(
        &["values"],
        format!("{count} is not a power of two"),
        format!("set values = {}", count.next_power_of_two()),
    ))
}

/// A random number below `bound`.
fn below(bound: u32, draw: &mut impl FnMut() -> u64) -> u32 {
    ((u128::from(draw()) * u128::from(bound)) >> 64) as u32
}
