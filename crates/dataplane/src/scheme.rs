//! The declaration of a scheme, and the lists of schemes.

use std::fmt::Debug;

use crate::declaration::Around;
use crate::param::{Conflict, Params, Values, Word};
use crate::properties::{Properties, Rule};

/// Declaration of a scheme: its names, parameters and properties. Reading, checks and documents of
/// scenarios are derived from it. The trait of an axis has the behaviour of its schemes.
pub trait Scheme {
    /// Value in scenarios that selects the scheme.
    const NAME: &'static str;
    /// Name of the table of its parameters.
    const TABLE: &'static str = Self::NAME;
    /// Name in messages and documents; empty if the value itself is used.
    const TITLE: &'static str = "";
    /// Description: a sentence, or a phrase for the help of the key.
    const ABOUT: &'static str = "";
    /// Parameters ([`params!`](crate::params)). They can also be the configuration.
    type Params: Params;
    /// The configuration.
    type Config: Clone + Debug + PartialEq + Send + Sync;
    /// Properties of the scheme that other choices depend on.
    const PROVIDES: Properties = Properties::NONE;

    /// Returns the configuration for values of the parameters.
    ///
    /// # Errors
    /// Values that contradict each other.
    fn configure(params: Self::Params) -> Result<Self::Config, Conflict>;

    /// Completes a configuration with facts about the network.
    fn complete(config: Self::Config, _around: &Around) -> Self::Config {
        config
    }

    /// Returns the rules about combinations with other choices of a scenario, in addition to those
    /// of all schemes of the axis.
    fn rules(_config: &Self::Config) -> Vec<Rule> {
        Vec::new()
    }
}

/// A type that has a configuration. Every [`Scheme`] is one.
pub trait Configured {
    /// The configuration.
    type Config: Clone + Debug + PartialEq + Send + Sync;
}

impl<S: Scheme> Configured for S {
    type Config = S::Config;
}

impl<C> Word<C> {
    /// Creates the value that selects a scheme.
    pub(crate) const fn of<S: Scheme>(configure: fn(&Values) -> Result<C, Conflict>) -> Self {
        Self {
            table: S::TABLE,
            ..Self::new(S::NAME, S::Params::PARAMS, configure).titled(S::TITLE, S::ABOUT)
        }
    }
}

/// Makes an axis from the list of its schemes, each with the name of its type and its module. A new
/// scheme needs a module and a line in the list. The macro defines:
/// - the enum of the configurations, with `Outside` for schemes from other crates, and other
///   variants without parameters;
/// - the list of all values of the key in scenarios;
/// - a macro that evaluates an expression with the type of a configured scheme and its
///   configuration, and has match arms for the other variants: `of!(value, Of(config) => ...)`;
/// - a macro that calls another macro with its arguments and the list.
macro_rules! axis {
    (@ ($d:tt)
        $(#[$meta:meta])*
        pub enum $Axis:ident, $WORDS:ident, $of:ident!, $list:ident! {
            $($Name:ident($module:ident),)*
        }
        $(outside $outside:ty;)?
        $($(#[$doc:meta])* also $Plain:ident = $word:literal;)?
    ) => {
        $(#[$meta])*
        pub enum $Axis {
            $(
                #[doc = concat!("Configuration of [`", stringify!($Name), "`](", stringify!($module), "::", stringify!($Name), ").")]
                $Name(<$module::$Name as $crate::scheme::Scheme>::Config),
            )*
            $(
                /// Configuration of a scheme from another crate.
                Outside($outside),
            )?
            $($(#[$doc])* $Plain,)?
        }

        /// All values of the key in scenarios that select a scheme of this crate.
        pub const $WORDS: &[$crate::param::Word<$Axis>] = &[
            $($crate::param::Word::of::<$module::$Name>(|values| {
                let params = $crate::param::Params::read(values);
                let config = <$module::$Name as $crate::scheme::Scheme>::configure(params);
                config.map($Axis::$Name)
            }),)*
            $($crate::param::Word::plain($word, |_| Ok($Axis::$Plain)),)?
        ];

        macro_rules! $of {
            ($d value:expr, $d Of:ident($d own:ident) => $d call:expr
                $d(, $d other:pat => $d result:expr)*) => {
                match $d value {
                    $($Axis::$Name($d own) => {
                        type $d Of = $module::$Name;
                        $d call
                    })*
                    $d($d other => $d result,)*
                }
            };
        }

        #[allow(unused_macros, reason = "only some axes make more from their list")]
        macro_rules! $list {
            ($d then:ident $d($d before:tt)*) => {
                $d then! { $d($d before)* $($Name($module),)* }
            };
        }

        impl $Axis {
            /// Completes the configuration with facts about the network.
            #[must_use]
            pub fn complete(self, around: &$crate::declaration::Around) -> Self {
                match self {
                    $(Self::$Name(config) => Self::$Name($module::$Name::complete(config, around)),)*
                    $(Self::Outside(config) => Self::Outside(<$outside>::complete(config, around)),)?
                    $(Self::$Plain => Self::$Plain,)?
                }
            }
        }
    };
    ($($axis:tt)*) => {
        $crate::scheme::axis! { @ ($) $($axis)* }
    };
}
pub(crate) use axis;
