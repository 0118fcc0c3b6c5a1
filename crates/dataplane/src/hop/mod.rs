//! Hop schemes: what neighbours signal to each other, and how they react.
//!
//! A hop scheme is one file or folder here and one line in the list below. Its *downstream half* is state of a
//! switch: it sees the steps of each packet and sends frames to the neighbour upstream (`HopScheme`). Its *upstream
//! half* obeys the frames of the neighbour downstream. Switches and NICs share it, over the few things that a frame
//! can do to a port (`Ports`).
//!
//! A switch has a slot for each of four questions, and schemes of different slots work together: PFC, which acts on
//! the thresholds of the buffer's ingresses; `backpressure`, whose answers are in the list below; `link`
//! ([`link`](crate::link)); and `guard` ([`guard`](crate::guard)).
//!
//! To add one:
//! 1. a file with its configuration (`impl Declaration`), its frames (`impl Frame`, see
//!    [`packet`](crate::packet)), its state (`impl HopScheme`), and `fn obey` for what a frame does to a port;
//! 2. a line in the list, and one with the word that scenarios use for it (`impl Spec`). Another word can name
//!    another setting of the same scheme.

pub mod bfc;
mod counters;
pub mod floodgate;
pub mod pfc;
pub mod pfc_tag;
mod scheme;

use crate::declaration::{Around, Fit, Spec};
pub use crate::declaration::{Counter, Declaration, Scheme};
use crate::packet::{Packet, PacketId, SchemeNumber};
use crate::param::{Conflict, Kind, Param, Values};
use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
use crate::switch::context::Cx;
use crate::switch::pipeline::Pipeline;
use crate::switch::steps::{Outcome, Step, Steps};
pub use bfc::{NIC_QUEUES, NO_NIC_QUEUES};
pub use counters::HopCounters;
use pfc::Pfc;
pub use scheme::CreditSums;
pub(crate) use scheme::{HopScheme, Site, Topology};

/// The list of hop schemes: the names of two accessors, the scheme, its configuration, its state, and what its
/// frames do to a port.
macro_rules! hop_schemes {
    ($make:ident) => {
        $make! {
            /// Backpressure flow control: pauses of queues.
            bfc, bfc_mut: Bfc, bfc::BfcConfig, bfc::Bfc, bfc::obey;
            /// Floodgate: credits and pauses by destination.
            floodgate, floodgate_mut: Floodgate,
                floodgate::FloodgateConfig, floodgate::Floodgate, floodgate::obey;
        }
    };
}

/// The words of the slot in scenarios: what a scenario configures, and the scheme that it makes of it.
macro_rules! hop_words {
    ($make:ident) => {
        $make! {
            /// Backpressure flow control.
            "bfc": Bfc, bfc::BfcSpec => Bfc;
            /// Floodgate.
            "floodgate": Floodgate, floodgate::FloodgateSpec => Floodgate;
            /// PFC with destination tag.
            "pfc-tag": PfcTag, pfc_tag::PfcTagSpec => Floodgate;
        }
    };
}

macro_rules! make_configs {
    ($($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident,
        $config:ty, $state:ty, $obey:path;)*) => {
        /// The hop scheme of a switch, beside PFC.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum HopConfig {
            /// There is none.
            #[default]
            None,
            $($(#[$doc])* $Name($config),)*
        }

        impl HopConfig {
            /// Returns what the scheme declares; `None`: there is no scheme.
            #[must_use]
            pub fn declaration(&self) -> Option<&dyn Declaration> {
                match self {
                    Self::None => None,
                    $(Self::$Name(config) => Some(config),)*
                }
            }

            $(
                #[doc = concat!("Returns the configuration of ", stringify!($Name), " if the switch has it.")]
                #[must_use]
                pub const fn $field(&self) -> Option<&$config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }

                #[doc = concat!("Returns the configuration of ", stringify!($Name), ", to change.")]
                #[must_use]
                pub const fn $field_mut(&mut self) -> Option<&mut $config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }
            )*
        }
    };
}
hop_schemes!(make_configs);

macro_rules! make_states {
    ($($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident,
        $config:ty, $state:ty, $obey:path;)*) => {
        /// The state of the hop scheme of a switch.
        #[derive(Debug)]
        pub(crate) enum Hop {
            None,
            $($Name(Box<$state>),)*
        }

        impl Hop {
            pub fn new(config: &HopConfig, site: &Site<'_>) -> Self {
                match config {
                    HopConfig::None => Self::None,
                    $(HopConfig::$Name(config) => Self::$Name(Box::new(<$state>::new(*config, site))),)*
                }
            }

            /// Returns the steps that the scheme watches.
            pub fn watches(&self) -> Steps {
                match self {
                    Self::None => Steps::NONE,
                    $(Self::$Name(_) => <$state>::WATCHES,)*
                }
            }

            /// Returns the number of the scheme.
            fn number(&self) -> Option<SchemeNumber> {
                match self {
                    Self::None => None,
                    $(Self::$Name(_) => Some(Scheme::$Name.number()),)*
                }
            }

            /// Writes what all schemes counted at a switch.
            fn count_all(&self, core: &Pipeline, values: &mut [u64]) {
                let mut rest = values;
                $(
                    let of = match self {
                        Self::$Name(state) => Some(&**state),
                        _ => None,
                    };
                    let (own, others) = rest.split_at_mut(<$state>::COUNTERS.len());
                    <$state>::count(of, core, own);
                    rest = others;
                )*
                let _ = rest;
            }
        }

        /// Calls a method of the scheme of a switch; without a scheme the last argument is the result.
        macro_rules! dispatch {
            ($hop:expr, $it:ident => $call:expr, $otherwise:expr) => {
                match $hop {
                    $crate::hop::Hop::None => $otherwise,
                    $($crate::hop::Hop::$Name($it) => $call,)*
                }
            };
        }

        /// A port obeys a frame of its neighbour. `list` lies beside the frame.
        pub(crate) fn obey<P: Ports>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]) {
            match frame.scheme() {
                Some(number) if number == Scheme::Pfc.number() => pfc::obey(ports, port, frame),
                $(Some(number) if number == Scheme::$Name.number() => {
                    $obey(ports, port, frame, list);
                })*
                _ => {}
            }
        }

        const COUNTERS: usize = Pfc::COUNTERS.len() $(+ <$state>::COUNTERS.len())*;

        /// The lists of counters of all schemes, in order.
        const COUNTER_LISTS: &[&[Counter]] = &[Pfc::COUNTERS, $(<$state>::COUNTERS),*];
    };
}
hop_schemes!(make_states);
pub(crate) use dispatch;

macro_rules! make_specs {
    ($($(#[$doc:meta])* $word:literal: $Word:ident, $spec:ty => $To:ident;)*) => {
        /// Scenario-level configuration of a hop scheme.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum HopSpec {
            /// None.
            #[default]
            None,
            $($(#[$doc])* $Word($spec),)*
        }

        impl HopSpec {
            /// The words of the list, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$(($word, <$spec>::PARAMS)),*];

            /// Returns its word.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$Word(_) => $word,)*
                }
            }

            /// Makes the scheme of one of the words with these values.
            ///
            /// # Errors
            /// Values that cannot go together.
            pub fn from_values(word: &str, values: &Values) -> Result<Self, Conflict> {
                match word {
                    $($word => <$spec>::from_values(values).map(Self::$Word),)*
                    _ => Ok(Self::None),
                }
            }

            /// Returns its configuration in a network.
            #[must_use]
            pub fn configure(&self, around: &Around) -> HopConfig {
                match self {
                    Self::None => HopConfig::None,
                    $(Self::$Word(spec) => HopConfig::$To(spec.configure(around)),)*
                }
            }

            /// Returns the scheme whose frames it sends.
            #[must_use]
            pub const fn scheme(&self) -> Option<Scheme> {
                match self {
                    Self::None => None,
                    $(Self::$Word(_) => Some(Scheme::$To),)*
                }
            }

            /// Returns how it fits the other answers of a scenario; `None`: there is no scheme.
            #[must_use]
            pub fn fit(&self) -> Option<&dyn Fit> {
                match self {
                    Self::None => None,
                    $(Self::$Word(spec) => Some(spec),)*
                }
            }
        }
    };
}
hop_words!(make_specs);

/// Which pauses a NIC obeys.
pub const OBEYS: Param = Param::list("obeys", &Kind::Word(&["pfc", "bfc"]))
    .default("[\"pfc\", \"bfc\"]", "PRE-39", "whatever the switch sends")
    .about("Which pauses the NIC obeys.");

/// The words of the schemes whose frames a NIC may be told to ignore.
pub const IGNORABLE: &[(&str, Scheme)] = &[("pfc", Scheme::Pfc), ("bfc", Scheme::Bfc)];

/// A switch: one choice per axis.
pub type SwitchConfig = crate::config::SwitchConfig<HopConfig>;

impl SwitchConfig {
    /// Returns what the schemes of the slots `backpressure` and `link` declare.
    pub fn declarations(&self) -> impl Iterator<Item = &dyn Declaration> {
        self.hop
            .declaration()
            .into_iter()
            .chain(self.link.declarations())
    }
}

impl Hop {
    /// Whether a switch with this scheme acts on a frame. All switches know PFC; a frame of a scheme that the switch
    /// does not have is ignored.
    // SW-46: frames of unknown schemes are ignored
    pub fn knows(&self, frame: &Packet) -> bool {
        let scheme = frame.scheme();
        scheme == Some(Scheme::Pfc.number()) || scheme == self.number()
    }

    /// Reports a step of a packet to the scheme.
    #[inline(always)]
    pub fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        dispatch!(self, scheme => scheme.step(cx, step), Outcome::Continue)
    }

    /// Drops a packet that arrived and was not admitted.
    #[cold]
    #[inline(never)]
    pub fn refuse<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: Option<u16>,
        (id, packet): (PacketId, &Packet),
        cause: DropCause,
    ) {
        self.step(cx, Step::Refuse(packet));
        cx.arena.hot_mut(id).ingress = packet.ingress;
        cx.drop(port, id, cause);
    }

    /// Reports a fact about the network to the scheme.
    pub fn learn(&mut self, core: &Pipeline, fact: Topology<'_>) {
        dispatch!(self, scheme => scheme.learn(core, fact), ());
    }

    /// Handles a frame of the neighbour at a port. Returns false if the frame only acts on the port.
    pub fn receive<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        frame: &Packet,
        list: &[u32],
    ) -> bool {
        let own = frame.scheme() == self.number();
        own && self.step(cx, Step::Frame { port, frame, list }) == Outcome::Handled
    }
}
