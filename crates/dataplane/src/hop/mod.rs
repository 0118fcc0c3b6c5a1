//! Hop schemes: what neighbours signal to each other, and how they react.
//!
//! A hop scheme is one file or folder here and one line in the list below. Its *downstream half* is state of a
//! switch: it sees the steps of each packet and sends frames to the neighbour upstream (`HopScheme`). Its *upstream
//! half* obeys the frames of the neighbour downstream. Switches and NICs share it, over the few things that a frame
//! can do to a port (`Ports`).
//!
//! PFC is not in the list: it acts on the thresholds of the buffer's ingresses, and other schemes can be
//! active beside it. The others are answers to the same question, `backpressure`, so that a switch has at most one.
//!
//! To add one:
//! 1. a file with its configuration (`impl Declaration`), its frames (`impl Frame`, see
//!    [`packet`](crate::packet)), its state (`impl HopScheme`), `fn obey` for what a frame does to a port,
//!    and the state of NICs (`impl AtHost`) if it counts what they send (`ObeysOnly` if not);
//! 2. a line in the list, and one with the word that scenarios use for it (`impl Spec`). Another word can name
//!    another setting of the same scheme.

pub mod bfc;
pub mod cbfc;
pub mod floodgate;
pub mod pfc;
pub mod pfc_tag;
pub mod spec;

use crate::classes::ClassSet;
use std::ops::Index;

use crate::packet::{Arena, Packet, PacketId, SchemeNumber};
use crate::param::{Conflict, Kind, Param, Values};
use crate::sink::{DropCause, Sink};
use crate::switch::context::Cx;
use crate::switch::needs::Needs;
use crate::switch::pairs::Pairs;
use crate::switch::pipeline::Pipeline;
use crate::switch::steps::{Outcome, Step, Steps};
use crate::units::{Rate, Time};
pub use bfc::{NIC_QUEUES, NO_NIC_QUEUES};
use pfc::Pfc;
use spec::{Around, Beside, Finding, NetworkFacts, Spec};

/// What a scheme's configuration says of itself to everything that must not know the scheme.
pub trait Declaration {
    /// What people call it.
    fn name(&self) -> &'static str;
    /// What it needs of the pipeline.
    fn needs(&self) -> Needs;
    /// Bytes of its smallest frame. Threads go on for as long as it takes on the shortest link.
    // PAR-02
    fn smallest_frame_bytes(&self) -> u16;
    /// Switches give data a number on each link, which the next switch reads from `queue` of the record.
    fn numbers_data(&self) -> bool {
        false
    }
    /// What a port sends can hold that port: it takes the last room, or uncovers a packet whose flow is held.
    fn holds_by_sending(&self) -> bool {
        self.needs().pauses_flows
    }
    /// Its frames repeat pauses that hold already.
    fn repeats_pauses(&self) -> bool {
        false
    }
    /// Advice how to repeat lost pauses; `None` if the scheme repeats them already.
    fn repair(&self) -> Option<&'static str> {
        None
    }
    /// What it says to a network.
    fn network(&self, _facts: &NetworkFacts, _say: &mut dyn FnMut(Finding)) {}
    /// What it says to links that fail during the run.
    fn failing_links(&self, _say: &mut dyn FnMut(Finding)) {}
    /// A switch whose links lose nothing drops no frame of a data class for want of buffer.
    // AUD-05
    fn is_lossless(&self) -> bool {
        false
    }
    /// Bytes of buffer that a switch with these links promises its neighbours; 0: it promises none.
    fn promised_bytes(&self, _ports: &[(Rate, Time)], _max_frame: u16, _classes: usize) -> u64 {
        0
    }
    /// Its pauses last as long as packets wait at the neighbour, so that they can hold each other in a
    /// circle.
    fn can_deadlock(&self) -> bool {
        false
    }
}

/// A number that a scheme counts at each switch: a key of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The key.
    pub name: &'static str,
    /// Of several switches the largest value counts, not the sum.
    pub largest: bool,
}

impl Counter {
    /// Its values are added.
    #[must_use]
    pub const fn sum(name: &'static str) -> Self {
        Self {
            name,
            largest: false,
        }
    }

    /// Its largest value counts.
    #[must_use]
    pub const fn largest(name: &'static str) -> Self {
        Self {
            name,
            largest: true,
        }
    }
}

/// Sums of credits, in units of the scheme. They must agree between the switches of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditSums {
    /// Units that left by a port towards a switch that credits them.
    pub sent: u64,
    /// Units that came in from switches.
    pub arrived: u64,
    /// Units told in credits.
    pub told: u64,
    /// Units that credits gave back.
    pub taken: u64,
    /// Units that the sending side says are in flight.
    pub in_flight: u64,
}

/// A switch as a scheme finds it when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    /// Rates of its ports, and one-way delays of their links.
    pub ports: &'a [(Rate, Time)],
    /// Largest frame in bytes.
    pub max_frame: u16,
    pub core: &'a Pipeline,
}

/// The ports of a node, a switch or a NIC, as a hop scheme acts on them. A pause that changes nothing is
/// counted as a repeated pause.
pub(crate) trait Ports {
    /// Returns the time.
    fn now(&self) -> Time;
    /// Queues a frame for the neighbour at a port, before all other packets.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Plans a call of the scheme's timer.
    fn wake(&mut self, at: Time);
    /// Blocks a class of a port, or unblocks it, because the neighbour lacks room. The scheme computes that
    /// itself, so it is not a pause of the neighbour.
    fn block_class(&mut self, port: u16, class: u8, on: bool);
    /// Pauses or resumes classes, given as bits.
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool);
    /// Pauses classes, given as bits, for the time in which the port sends this many times 512 bits.
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16);
    /// Pauses or resumes a queue by its number at the port.
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool);
    /// Pauses exactly these queues, given in order.
    fn pause_exactly(&mut self, port: u16, queues: &[u32]);
    /// Pauses or resumes a flow; `queue` is where its packets wait at a NIC.
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool);
    /// Pauses or resumes an endpoint.
    fn pause_destination(&mut self, port: u16, dst: u32, on: bool);
}

/// New facts about the network around a switch.
#[derive(Clone, Debug)]
pub(crate) enum Topology<'a> {
    /// Only packets of these pairs of (ingress, egress) pause their upstream; `None`: all do.
    Pairs(Option<Pairs>),
    /// These ports lead away from the hosts. Reported before any packet.
    Upward(&'a [bool]),
    /// The routes of the switch have changed.
    // LNK-27
    Routes,
}

/// A scheme at the ports of a NIC, if it does more there than to obey pauses: one that counts what it
/// sends and what it has room for.
pub(crate) trait AtHost: Sized {
    /// The state of a NIC's ports; `None`: the scheme has none there.
    fn new(config: &HopConfig, host: &HostSite<'_>) -> Option<Self>;
    /// A packet arrived by `port`, whole; the host has processed it.
    fn arrived<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet);
    /// A packet starts to leave by `port`.
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet);
    /// A frame of the scheme came from the neighbour at `port`. True: it is done; false: it says something
    /// to the egress only.
    fn receive<P: Ports>(&mut self, ports: &mut P, port: u16, frame: &Packet) -> bool;
    /// The requested time has come; other things may be due then.
    fn timer<P: Ports>(&mut self, ports: &mut P);
    /// The link at a port has failed or is back.
    fn link<P: Ports>(&mut self, ports: &mut P, port: u16);
    /// Nothing is owed to or missing from the neighbours, so that a run may end.
    fn is_at_rest(&self) -> bool;
}

/// A NIC as a scheme finds it when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostSite<'a> {
    /// Rates of its ports, and one-way delays of their links.
    pub ports: &'a [(Rate, Time)],
    /// Classes of frames.
    pub classes: u8,
    /// Largest frame in bytes.
    pub max_frame: u16,
}

/// A scheme that does no more at a NIC than to obey pauses.
#[derive(Debug)]
pub(crate) enum ObeysOnly {}

impl AtHost for ObeysOnly {
    fn new(_config: &HopConfig, _host: &HostSite<'_>) -> Option<Self> {
        None
    }

    fn arrived<P: Ports>(&mut self, _ports: &mut P, _port: u16, _packet: &Packet) {}

    fn sent<P: Ports>(&mut self, _ports: &mut P, _port: u16, _packet: &Packet) {}

    fn receive<P: Ports>(&mut self, _ports: &mut P, _port: u16, _frame: &Packet) -> bool {
        false
    }

    fn timer<P: Ports>(&mut self, _ports: &mut P) {}

    fn link<P: Ports>(&mut self, _ports: &mut P, _port: u16) {}

    fn is_at_rest(&self) -> bool {
        true
    }
}

/// The state of a hop scheme at a switch.
pub(crate) trait HopScheme: Sized {
    /// The counters of the scheme.
    const COUNTERS: &'static [Counter];

    /// Which of the steps `ARRIVE`, `ENQUEUE` and `DEPART` the scheme watches.
    const WATCHES: Steps;

    /// Writes the counts of a switch in the order of [`HopScheme::COUNTERS`]. `of` is the scheme's state, if
    /// the switch has the scheme.
    fn count(of: Option<&Self>, core: &Pipeline, values: &mut [u64]);

    /// Acts on a step of a packet.
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome;

    /// The link at a port has failed or is back: neither end pauses the other any more.
    // LNK-21
    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16);

    /// Handles a frame of the scheme from the neighbour at `port`; `list` lies beside it. Returns false if the
    /// frame only acts on the port.
    fn receive<S: Sink>(
        &mut self,
        _cx: &mut Cx<'_, S>,
        _port: u16,
        _frame: &Packet,
        _list: &[u32],
    ) -> bool {
        false
    }

    /// Handles the scheme's timers that are due. The call may come for another reason.
    fn timer<S: Sink>(&mut self, _cx: &mut Cx<'_, S>) {}

    /// Learns a fact about the network.
    fn learn(&mut self, _core: &Pipeline, _fact: Topology<'_>) {}

    /// True if all credits that can return have returned, so that a run may end.
    fn is_at_rest(&self) -> bool;

    /// True if the scheme pauses something upstream.
    fn pauses_upstream(&self) -> bool;

    /// Reports what waits and what is paused, for a run that stalled.
    fn explain_stall(&self, say: &mut dyn FnMut(String));

    /// Compares the scheme's counters with the packets that are here; returns the violations.
    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String>;

    /// Returns the number of the queue or flow upstream that a queued packet keeps paused.
    // LNK-41
    fn pauses_by_name(&self, _packet: &Packet) -> Option<u32> {
        None
    }

    /// True if a packet in the buffer keeps the upstream from sending its class though no pause does.
    // LNK-41
    fn blocks_class(&self, _packet: &Packet) -> bool {
        false
    }

    /// Returns sums that must agree between switches, if the scheme has credits.
    fn credit_sums(&self) -> Option<CreditSums> {
        None
    }

    /// Returns the bytes in VOQs for a port, and the most bytes that were ever queued at it and in VOQs for it.
    fn voq_bytes(&self, _port: u16) -> Option<(u64, u64)> {
        None
    }

    /// Returns the VOQ of a destination and its number of packets there; `None`: it has no VOQ.
    fn voq_of(&self, _dst: u32) -> Option<(u32, u32)> {
        None
    }

    /// Calls `visit` with every packet in a VOQ.
    fn for_each_parked(&self, _arena: &Arena, _visit: &mut dyn FnMut(PacketId)) {}
}

/// Makes what follows from the list: numbers on frames, configurations, state, dispatch, counters.
macro_rules! hop_schemes {
    (schemes {
        $($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident,
            $config:ty, $state:ty, $obey:path, $host:ty;)*
    } words {
        $($(#[$word_doc:meta])* $word:literal: $Word:ident, $spec:ty => $To:ident;)*
    }) => {
        /// A hop scheme. Its place in the list is its number on frames, so a new scheme comes last.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Scheme {
            /// Priority flow control: pauses of classes.
            Pfc,
            $($(#[$doc])* $Name,)*
        }

        impl Scheme {
            /// The scheme with this number; `None`: no scheme has it.
            #[must_use]
            pub const fn from_number(number: SchemeNumber) -> Option<Self> {
                if number == Self::Pfc.number() {
                    return Some(Self::Pfc);
                }
                $(if number == Self::$Name.number() {
                    return Some(Self::$Name);
                })*
                None
            }
        }

        /// The answer of a switch to the question of hop control, beside PFC.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum HopConfig {
            /// Nothing is told.
            #[default]
            None,
            $($(#[$doc])* $Name($config),)*
        }

        impl HopConfig {
            /// What the scheme says of itself; `None`: there is none.
            #[must_use]
            pub fn declaration(&self) -> Option<&dyn Declaration> {
                match self {
                    Self::None => None,
                    $(Self::$Name(config) => Some(config),)*
                }
            }

            $(
                #[doc = concat!("The configuration of ", stringify!($Name), ", if that is the answer.")]
                #[must_use]
                pub const fn $field(&self) -> Option<&$config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }
            )*

            $(
                #[doc = concat!("The configuration of ", stringify!($Name), ", to change.")]
                #[must_use]
                pub const fn $field_mut(&mut self) -> Option<&mut $config> {
                    match self {
                        Self::$Name(config) => Some(config),
                        _ => None,
                    }
                }
            )*
        }

        /// Scenario-level configuration of a hop scheme.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum HopSpec {
            /// None.
            #[default]
            None,
            $($(#[$word_doc])* $Word($spec),)*
        }

        impl HopSpec {
            /// The words of the list, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$(($word, <$spec>::PARAMS)),*];

            /// The words of the answer.
            pub const NAMES: &'static [&'static str] = &["none", $($word),*];

            /// Its word.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$Word(_) => $word,)*
                }
            }

            /// The scheme of one of the words with these values.
            ///
            /// # Errors
            /// Values that cannot go together.
            pub fn from_values(word: &str, values: &Values) -> Result<Self, Conflict> {
                match word {
                    $($word => <$spec>::from_values(values).map(Self::$Word),)*
                    _ => Ok(Self::None),
                }
            }

            /// What it is in a network.
            #[must_use]
            pub fn configure(&self, around: &Around) -> HopConfig {
                match self {
                    Self::None => HopConfig::None,
                    $(Self::$Word(spec) => HopConfig::$To(spec.configure(around)),)*
                }
            }

            /// The scheme whose frames it sends.
            #[must_use]
            pub const fn scheme(&self) -> Option<Scheme> {
                match self {
                    Self::None => None,
                    $(Self::$Word(_) => Some(Scheme::$To),)*
                }
            }

            /// What it says to the other answers.
            pub fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
                match self {
                    Self::None => {}
                    $(Self::$Word(spec) => spec.beside(others, say),)*
                }
            }

            /// Why it cannot be used with a receiver-driven transport of this name.
            #[must_use]
            pub fn against_transport(&self, name: &str) -> Option<String> {
                match self {
                    Self::None => None,
                    $(Self::$Word(spec) => spec.against_transport(name),)*
                }
            }

            /// Pairs of ports whose pauses could close a circle hold nobody.
            #[must_use]
            pub fn elides(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$Word(spec) => spec.elides(),)*
                }
            }

            /// A switch with the scheme works beside neighbours without it, which ignore its frames.
            #[must_use]
            pub fn works_beside_others(&self) -> bool {
                match self {
                    Self::None => true,
                    $(Self::$Word(spec) => spec.works_beside_others(),)*
                }
            }

            /// Its pauses name queues of NICs.
            #[must_use]
            pub fn names_nic_queues(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$Word(spec) => spec.names_nic_queues(),)*
                }
            }

            /// What it did not do in a run: sentences.
            pub fn idle(&self, counters: &HopCounters, say: &mut dyn FnMut(&'static str)) {
                let counted = |name: &str| counters[name];
                match self {
                    Self::None => {}
                    $(Self::$Word(spec) => spec.idle(&counted, say),)*
                }
            }
        }

        /// The state of the scheme of a switch.
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

            /// The steps that the scheme watches.
            pub fn watches(&self) -> Steps {
                match self {
                    Self::None => Steps::NONE,
                    $(Self::$Name(_) => <$state>::WATCHES,)*
                }
            }

            /// The number of the scheme.
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

        /// The state of the scheme at a NIC, where it has some.
        #[derive(Debug)]
        pub(crate) enum HostHop {
            $($Name($host),)*
        }

        impl HostHop {
            /// The state at a NIC whose switch has this scheme.
            pub fn of(config: &HopConfig, host: &HostSite<'_>) -> Option<Box<Self>> {
                match config {
                    HopConfig::None => None,
                    $(HopConfig::$Name(_) => {
                        let state = <$host as AtHost>::new(config, host)?;
                        Some(Box::new(Self::$Name(state)))
                    })*
                }
            }

            pub fn arrived<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
                match self {
                    $(Self::$Name(state) => state.arrived(ports, port, packet),)*
                }
            }

            pub fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
                match self {
                    $(Self::$Name(state) => state.sent(ports, port, packet),)*
                }
            }

            /// Returns whether the frame is done.
            pub fn receive<P: Ports>(&mut self, ports: &mut P, port: u16, frame: &Packet) -> bool {
                match self {
                    $(Self::$Name(state) => {
                        let own = frame.scheme() == Some(Scheme::$Name.number());
                        own && state.receive(ports, port, frame)
                    })*
                }
            }

            pub fn timer<P: Ports>(&mut self, ports: &mut P) {
                match self {
                    $(Self::$Name(state) => state.timer(ports),)*
                }
            }

            pub fn link<P: Ports>(&mut self, ports: &mut P, port: u16) {
                match self {
                    $(Self::$Name(state) => state.link(ports, port),)*
                }
            }

            pub fn is_at_rest(&self) -> bool {
                match self {
                    $(Self::$Name(state) => state.is_at_rest(),)*
                }
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

hop_schemes! {
    schemes {
        /// Backpressure flow control: pauses of queues.
        bfc, bfc_mut: Bfc, bfc::BfcConfig, bfc::Bfc, bfc::obey, ObeysOnly;
        /// Floodgate: credits and pauses by destination.
        floodgate, floodgate_mut: Floodgate,
            floodgate::FloodgateConfig, floodgate::Floodgate, floodgate::obey, ObeysOnly;
        /// Credit-based flow control of links.
        cbfc, cbfc_mut: Cbfc, cbfc::CbfcConfig, cbfc::Cbfc, cbfc::obey, cbfc::CbfcAtHost;
    }
    words {
        /// Backpressure flow control.
        "bfc": Bfc, bfc::BfcSpec => Bfc;
        /// Floodgate.
        "floodgate": Floodgate, floodgate::FloodgateSpec => Floodgate;
        /// PFC with destination tag.
        "pfc-tag": PfcTag, pfc_tag::PfcTagSpec => Floodgate;
        /// Credit-based flow control of links.
        "cbfc": Cbfc, cbfc::CbfcConfig => Cbfc;
    }
}
pub(crate) use dispatch;

/// Which pauses a NIC obeys.
pub const OBEYS: Param = Param::list("obeys", &Kind::Word(&["pfc", "bfc"]))
    .default("[\"pfc\", \"bfc\"]", "PRE-39", "whatever the switch sends")
    .about("Which pauses the NIC obeys.");

/// The words of the schemes whose frames a NIC may be told to ignore.
pub const IGNORABLE: &[(&str, Scheme)] = &[("pfc", Scheme::Pfc), ("bfc", Scheme::Bfc)];

/// A switch: one choice per axis.
pub type SwitchConfig = crate::config::SwitchConfig<HopConfig>;

impl Scheme {
    /// Its number on frames.
    #[must_use]
    pub const fn number(self) -> SchemeNumber {
        self as SchemeNumber
    }
}

/// What hop schemes counted, PFC first; schemes that a switch does not have count 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopCounters([u64; COUNTERS]);

impl Default for HopCounters {
    fn default() -> Self {
        Self([0; COUNTERS])
    }
}

impl HopCounters {
    /// What the schemes of a switch counted.
    pub(crate) fn of(hop: &Hop, core: &Pipeline) -> Self {
        let mut counters = Self::default();
        let (own, others) = counters.0.split_at_mut(Pfc::COUNTERS.len());
        core.pfc.count(core.timed.count(), own);
        hop.count_all(core, others);
        counters
    }

    fn names() -> impl Iterator<Item = &'static Counter> {
        COUNTER_LISTS.iter().copied().flatten()
    }

    /// All counters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::names().map(|c| c.name).zip(self.0)
    }

    /// Adds to one of them what nodes counted that are no switches. What no scheme counts is left out.
    pub fn add_to(&mut self, name: &str, more: u64) {
        if let Some(nth) = Self::names().position(|counter| counter.name == name) {
            self.0[nth] += more;
        }
    }

    /// Adds what another switch counted; of the largest values the larger stays.
    pub fn add(&mut self, other: &Self) {
        for ((own, more), counter) in self.0.iter_mut().zip(other.0).zip(Self::names()) {
            *own = match counter.largest {
                true => (*own).max(more),
                false => *own + more,
            };
        }
    }
}

impl Index<&str> for HopCounters {
    type Output = u64;

    /// # Panics
    /// If no scheme has a counter of this name.
    fn index(&self, name: &str) -> &u64 {
        let nth = Self::names().position(|counter| counter.name == name);
        match nth {
            Some(nth) => &self.0[nth],
            None => panic!("no scheme counts `{name}`"),
        }
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
        own && dispatch!(self, scheme => scheme.receive(cx, port, frame, list), false)
    }
}
