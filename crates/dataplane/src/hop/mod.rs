//! Hop schemes: the control frames that neighbours send each other, and the reaction to them.
//!
//! A hop scheme is one file or folder here and one line in the list below. Its *downstream half* is
//! state of a switch: it observes the steps of each packet and sends frames to the upstream
//! neighbour (`HopScheme`). Its *upstream half* applies the frames of the downstream neighbour.
//! Switches and NICs use the same code for that half: it acts on their ports through the trait
//! `Ports`.
//!
//! A switch can combine four independent mechanisms: PFC, which compares the bytes of an ingress
//! with thresholds; one hop scheme of the list below (key `backpressure` of scenarios); the schemes
//! of its links (key `link`, see [`link`](crate::link)); and the
//! [`watchdog`](crate::watchdog) of PFC (key `guard`).
//!
//! To add a hop scheme, write:
//! 1. a file with its configuration (`impl Choice`, `impl Declaration`), its frames (`impl Frame`, see
//!    [`packet`](crate::packet)) and its state (`impl HopScheme`);
//! 2. a line in the list, and a line for the value that selects it in scenarios (`impl Spec`).
//!    Another value can select another configuration of the same scheme.

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

/// Values of `scheme.backpressure` in scenarios: for each, the configuration that it selects and
/// the scheme that results.
macro_rules! hop_words {
    ($($spec:ty => $Name:ident($state:ty);)*) => {
        /// The values of `scheme.backpressure` for the schemes of this crate.
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
        /// Configuration of the hop scheme of a switch. PFC is configured separately.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum HopConfig {
            /// The switch has no hop scheme.
            #[default]
            None,
            $($(#[$doc])* $Name(<$state as HopScheme>::Config),)*
            /// A scheme from another crate.
            Outside(OutsideHopConfig),
        }

        impl HopConfig {
            /// Returns the declaration of the scheme, or `None` without a scheme.
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

        /// Calls a method of the hop scheme of a switch. Without a scheme, the last argument is the
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

            /// Returns the optional steps that the scheme observes.
            pub fn watches(&self) -> Steps {
                match self {
                    Self::None => Steps::NONE,
                    $(Self::$Name(_) => <$state>::WATCHES,)*
                    Self::Outside(state) => state.watches(),
                }
            }

            /// Returns the number of the scheme in its frames, or `None` without a scheme.
            fn number(&self) -> Option<SchemeNumber> {
                match self {
                    Self::None => None,
                    $(Self::$Name(_) => Some(<$state>::NUMBER),)*
                    Self::Outside(state) => Some(state.number()),
                }
            }

            /// Writes the counters of all schemes of this crate for one switch.
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

        /// Applies a frame of the neighbour to a port. `list` contains the words that the frame has
        /// in addition to its record.
        pub(crate) fn obey<P: Ports>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]) {
            match frame.scheme() {
                Some(number) if number == Scheme::Pfc.number() => pfc::obey(ports, port, frame),
                $(Some(<$state>::NUMBER) => <$state>::obey(ports, port, frame, list),)*
                Some(number) => obey_added(number, ports, port, frame, list),
                None => {}
            }
        }

        /// Lists of counters of PFC and of the schemes of this crate, in order.
        const COUNTER_LISTS: &[&[Counter]] = &[Pfc::COUNTERS, $(<$state>::COUNTERS),*];
    };
}
hop_schemes!(use_schemes);

/// The numbers that frames of hop schemes from other crates may have ([`HopScheme::NUMBER`]).
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

/// Returns the values of `scheme.backpressure`: those of this crate, and those that the program
/// added.
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

/// Values that the list [`OBEYS`] can contain, with their schemes. A NIC ignores frames of these
/// schemes if the list does not contain them.
pub const IGNORABLE: &[(&str, Scheme)] = &[("pfc", Scheme::Pfc), ("bfc", Scheme::Bfc)];

/// Configuration of a switch, with one field per design choice.
pub type SwitchConfig = crate::config::SwitchConfig<HopConfig>;

impl SwitchConfig {
    /// Returns the declarations of the hop scheme and of the link schemes.
    pub fn declarations(&self) -> impl Iterator<Item = &dyn Declaration> {
        self.hop
            .declaration()
            .into_iter()
            .chain(self.link.declarations())
    }
}

impl Hop {
    /// Returns true if a switch with this scheme acts on a frame. Every switch acts on PFC frames.
    /// Frames of other schemes are ignored.
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

    /// Passes a frame from the neighbour at a port to the scheme. Returns false if the scheme does
    /// not handle it itself. The frame then acts only on the port.
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
