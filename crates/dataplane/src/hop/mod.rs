//! Hop schemes: what neighbours signal to each other, and how they react.
//!
//! A hop scheme is one file or folder here and one line in the list below. Its *downstream half* is
//! state of a switch: it sees the steps of each packet and sends frames to the neighbour upstream
//! (`HopScheme`). Its *upstream half* obeys the frames of the neighbour downstream. Switches and
//! NICs share it, over the few things that a frame can do to a port (`Ports`).
//!
//! A switch has a slot for each of four questions, and schemes of different slots work together:
//! PFC, which acts on the thresholds of the buffer's ingresses; `backpressure`, whose answers are
//! in the list below; `link` ([`link`](crate::link)); and `guard`, the
//! [`watchdog`](crate::watchdog).
//!
//! To add one:
//! 1. a file with its configuration (`impl Declaration`), its frames (`impl Frame`, see
//!    [`packet`](crate::packet)) and its state (`impl HopScheme`);
//! 2. a line in the list, and one for the word that scenarios use for it (`impl Spec`). Another word can name
//!    another setting of the same scheme.

mod any_sink;
pub mod bfc;
mod counters;
pub mod floodgate;
mod outside;
pub mod pfc_tag;
mod scheme;
mod word;

use std::ops::Range;

use crate::added::List;
use crate::declaration::Spec;
pub use crate::declaration::{Counter, Declaration, Scheme};
use crate::packet::{Packet, PacketId, SchemeNumber};
use crate::param::{Kind, Param, Params};
pub use crate::pipeline::Pipeline;
pub use crate::pipeline::context::Cx;
pub use crate::pipeline::pfc;
use crate::pipeline::pfc::Pfc;
pub use crate::pipeline::steps::{Found, Outcome, Step, Steps};
pub use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
pub use bfc::{NIC_QUEUES, NO_NIC_QUEUES};
pub use counters::HopCounters;
use outside::OutsideHop;
pub use outside::OutsideHopConfig;
pub use scheme::{CreditSums, HopScheme, Site, Topology};
pub use word::{HopSpec, HopWord};

/// The list of hop schemes: the names of two accessors, the scheme, and its state.
macro_rules! hop_schemes {
    ($make:ident) => {
        $make! {
            /// Backpressure flow control: pauses of queues.
            bfc, bfc_mut: Bfc, bfc::Bfc;
            /// Floodgate: credits and pauses by destination.
            floodgate, floodgate_mut: Floodgate, floodgate::Floodgate;
        }
    };
}

/// The words of the slot in scenarios: what a scenario configures, and the scheme that results from
/// it.
macro_rules! hop_words {
    ($($spec:ty => $Name:ident($state:ty);)*) => {
        /// The words of the slot for the schemes of this crate.
        pub const HOPS: &[HopWord] = &[$(HopWord::of::<$spec, $state>(|values, around| {
            let params = <$spec as Spec>::Params::read(values);
            <$spec>::configure(params, around).map(HopConfig::$Name)
        })),*];
    };
}

hop_words! {
    bfc::BfcConfig => Bfc(bfc::Bfc);
    floodgate::FloodgateConfig => Floodgate(floodgate::Floodgate);
    pfc_tag::PfcTag => Floodgate(floodgate::Floodgate);
}

macro_rules! make_schemes {
    ($($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident, $state:ty;)*) => {
        /// The hop scheme of a switch, beside PFC.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum HopConfig {
            /// There is none.
            #[default]
            None,
            $($(#[$doc])* $Name(<$state as HopScheme>::Config),)*
            /// A scheme from another crate.
            Outside(OutsideHopConfig),
        }

        impl HopConfig {
            /// Returns what the scheme declares; `None`: there is no scheme.
            #[must_use]
            pub fn declaration(&self) -> Option<&dyn Declaration> {
                match self {
                    Self::None => None,
                    $(Self::$Name(config) => Some(config),)*
                    Self::Outside(config) => Some(config.declaration()),
                }
            }

            $(
                #[doc = concat!("Returns the configuration of ", stringify!($Name), " if the switch has it.")]
                #[must_use]
                pub const fn $field(&self) -> Option<&<$state as HopScheme>::Config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }

                #[doc = concat!("Returns the configuration of ", stringify!($Name), ", to change.")]
                #[must_use]
                pub const fn $field_mut(&mut self) -> Option<&mut <$state as HopScheme>::Config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }
            )*
        }

        /// The state of the hop scheme of a switch.
        #[derive(Debug)]
        pub(crate) enum Hop {
            None,
            $($Name(Box<$state>),)*
            Outside(Box<OutsideHop>),
        }

        /// Calls a method of the scheme of a switch; without a scheme the last argument is the
        /// result.
        macro_rules! dispatch {
            ($hop:expr, $it:ident => $call:expr, $otherwise:expr) => {
                match $hop {
                    $crate::hop::Hop::None => $otherwise,
                    $($crate::hop::Hop::$Name($it) => $call,)*
                    $crate::hop::Hop::Outside($it) => $call,
                }
            };
        }
    };
}
hop_schemes!(make_schemes);
pub(crate) use dispatch;

macro_rules! use_schemes {
    ($($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident, $state:ty;)*) => {
        impl Hop {
            pub fn new(config: &HopConfig, site: &Site<'_>) -> Self {
                match config {
                    HopConfig::None => Self::None,
                    $(HopConfig::$Name(config) => Self::$Name(Box::new(<$state>::new(config, site))),)*
                    HopConfig::Outside(config) => Self::Outside(Box::new(config.state(site))),
                }
            }

            /// Returns the steps that the scheme watches.
            pub fn watches(&self) -> Steps {
                match self {
                    Self::None => Steps::NONE,
                    $(Self::$Name(_) => <$state>::WATCHES,)*
                    Self::Outside(state) => state.watches(),
                }
            }

            /// Returns the number of the scheme.
            fn number(&self) -> Option<SchemeNumber> {
                match self {
                    Self::None => None,
                    $(Self::$Name(_) => Some(<$state>::NUMBER),)*
                    Self::Outside(state) => Some(state.number()),
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

        /// A port obeys a frame of its neighbour. `list` lies beside the frame.
        pub(crate) fn obey<P: Ports>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]) {
            match frame.scheme() {
                Some(number) if number == Scheme::Pfc.number() => pfc::obey(ports, port, frame),
                $(Some(<$state>::NUMBER) => <$state>::obey(ports, port, frame, list),)*
                Some(number) => obey_added(number, ports, port, frame, list),
                None => {}
            }
        }

        /// The lists of counters of the schemes of this crate, in order.
        const COUNTER_LISTS: &[&[Counter]] = &[Pfc::COUNTERS, $(<$state>::COUNTERS),*];
    };
}
hop_schemes!(use_schemes);

/// The numbers that frames of hop schemes from other crates can have ([`HopScheme::NUMBER`]).
pub const FRAME_NUMBERS: Range<SchemeNumber> = 16..32;

static LIST: List<HopWord> = List::new(HOPS);

/// Adds a hop scheme for [`add_hop`](crate::outside::add_hop).
pub(crate) fn add<S: Spec, H: HopScheme<Config = S::Config>>() {
    assert!(
        FRAME_NUMBERS.contains(&H::NUMBER),
        "the frames of {} have number {}, which is not one of {FRAME_NUMBERS:?}",
        S::NAME,
        H::NUMBER
    );
    let word = HopWord::of::<S, H>(|values, around| {
        let own = S::configure(S::Params::read(values), around)?;
        Ok(HopConfig::Outside(OutsideHopConfig::new::<H>(own)))
    });
    let is_same = |other: &HopWord| other.name == S::NAME || other.number == H::NUMBER;
    LIST.add(word, is_same, S::NAME);
}

/// Returns the words of all hop schemes: those of this crate, and those that the program added.
#[must_use]
pub fn words() -> &'static [HopWord] {
    LIST.all()
}

/// Applies a frame of a scheme from another crate to a port. Frames of unknown schemes are ignored.
#[cold]
fn obey_added(
    number: SchemeNumber,
    ports: &mut impl Ports,
    port: u16,
    frame: &Packet,
    list: &[u32],
) {
    if let Some(word) = LIST.added().iter().find(|word| word.number == number) {
        (word.obey)(ports, port, frame, list);
    }
}

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
    /// Whether a switch with this scheme acts on a frame. All switches know PFC; a frame of a
    /// scheme that the switch does not have is ignored.
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

    /// Handles a frame of the neighbour at a port. Returns false if the frame only acts on the
    /// port.
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
