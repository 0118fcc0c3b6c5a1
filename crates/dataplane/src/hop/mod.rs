//! Hop schemes: what neighbours tell each other and obey.
//!
//! A hop scheme is one file or folder here and one line in the list below. It has two halves. The
//! *downstream half* is state of a switch that watches each packet's steps and tells the neighbour
//! upstream what to do (`HopScheme`). The *upstream half* obeys the frames of the neighbour downstream:
//! the same code in switches and NICs, over the few things that an egress can do (`Egress`).
//!
//! PFC stands beside the list: it acts on the thresholds of the buffer's ingresses, which any other
//! scheme may have as well. All others answer one question, `backpressure`, so that a switch has at
//! most one of them.
//!
//! To add one:
//! 1. a file with its configuration (`impl Declaration`), its frames (`impl Frame`, see
//!    [`packet`](crate::packet)), its state (`impl HopScheme`), `fn obey` for what a frame says to an egress,
//!    and state of NICs (`impl AtHost`) if it counts what they send (`ObeysOnly` if not);
//! 2. a line in the list, and one with the word that scenarios use for it (`impl Said`); a word may stand
//!    for another setting of a scheme, too.

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
use crate::switch::needs::Needs;
use crate::switch::pairs::Pairs;
use crate::switch::pipeline::{Found, Pipeline};
use crate::switch::place::Place;
use crate::units::{Rate, Time};
pub use bfc::{NIC_QUEUES, NO_NIC_QUEUES};
use pfc::Pfc;
use spec::{Around, Beside, Finding, NetworkFacts, Said};

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
pub struct CreditBooks {
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

/// What a step of a packet happens in.
pub(crate) struct Cx<'a, S> {
    pub now: Time,
    pub core: &'a mut Pipeline,
    pub pfc: &'a mut Pfc,
    pub arena: &'a mut Arena,
    pub sink: &'a mut S,
}

impl<S: Sink> Cx<'_, S> {
    /// The same for a call that is rarely made, so that only then it has to lie in memory.
    #[inline(always)]
    pub const fn again(&mut self) -> Cx<'_, S> {
        Cx {
            now: self.now,
            core: self.core,
            pfc: self.pfc,
            arena: self.arena,
            sink: self.sink,
        }
    }

    /// Queues a frame for the neighbour at a port, in front of everything.
    pub fn emit(&mut self, port: u16, frame: Packet) -> PacketId {
        self.core.emit(port, frame, self.arena, self.sink)
    }

    /// The queue that a packet would join at a port.
    #[inline(never)]
    pub fn place(&mut self, port: u16, packet: &Packet) -> Place {
        self.core.place(self.now, port, packet, self.sink)
    }

    /// Lets an admitted packet join its queue. The caller kicks the port.
    pub fn forward(&mut self, port: u16, place: Place, id: PacketId) -> Found {
        self.core
            .forward(self.now, port, place, id, self.arena, self.sink)
    }

    /// Drops a packet that is in the buffer and stands in no queue any more.
    pub fn discard(&mut self, port: u16, id: PacketId, cause: DropCause) {
        Pfc::release(self, id);
        self.core.drop(Some(port), id, cause, self.arena, self.sink);
    }
}

/// What an egress can do for a frame of its neighbour: a port of a switch, or of a NIC. What changes
/// nothing is counted as a repeated pause.
pub(crate) trait Egress {
    /// Holds classes, given as bits, or lets them go.
    fn pause_classes(&mut self, classes: ClassSet, on: bool);
    /// Holds classes, given as bits, for as long as the port takes to send this many times 512 bits.
    fn pause_classes_for(&mut self, classes: ClassSet, quanta: u16);
    /// Holds a queue by its number at the port, or lets it go.
    fn pause_queue(&mut self, queue: u16, on: bool);
    /// Holds exactly these queues, given in order.
    fn pause_exactly(&mut self, queues: &[u32]);
    /// Holds a flow, or lets it go; `queue` is where its packets stand at a NIC.
    fn pause_flow(&mut self, flow: u32, queue: u16, on: bool);
    /// Holds what goes to an endpoint, or lets it go.
    fn pause_destination(&mut self, dst: u32, on: bool);
}

/// What a scheme can do at the ports of a node, be it a switch or a NIC.
pub(crate) trait Ports {
    /// The time.
    fn now(&self) -> Time;
    /// Holds a class of a port, or lets it go: nothing of it starts meanwhile. That is no pause of the
    /// neighbour, but the scheme's own count of what the neighbour has room for.
    fn hold_class(&mut self, port: u16, class: u8, on: bool);
    /// Queues a frame for the neighbour at a port, in front of everything.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Asks to be called at this time.
    fn wake(&mut self, at: Time);
}

impl<S: Sink> Ports for Cx<'_, S> {
    fn now(&self) -> Time {
        self.now
    }

    fn hold_class(&mut self, port: u16, class: u8, on: bool) {
        self.core.queueing.shape(port, class, on);
        if !on {
            self.sink.kick(port);
        }
    }

    fn emit(&mut self, port: u16, frame: Packet) {
        Cx::emit(self, port, frame);
    }

    fn wake(&mut self, at: Time) {
        self.sink.wake(at);
    }
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

/// The state of a hop scheme at a switch. Hooks without a default are those that a scheme must think of.
pub(crate) trait HopScheme: Sized {
    /// What it counts.
    const COUNTERS: &'static [Counter];

    /// Writes what it counted at a switch in the order of [`HopScheme::COUNTERS`]. `of`: its state, if the
    /// switch has the scheme.
    fn count(of: Option<&Self>, core: &Pipeline, values: &mut [u64]);

    /// The link at a port has failed or is back: neither side holds the other any more.
    // LNK-21
    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16);

    /// Nothing is owed to or missing from anybody, so that a run may end.
    fn is_at_rest(&self) -> bool;

    /// Something upstream is held.
    fn holds_upstream(&self) -> bool;

    /// Says who holds whom, for a run that stalled.
    fn explain_stall(&self, say: &mut dyn FnMut(String));

    /// Compares its books with the packets that are here; tells what is broken.
    fn audit(&self, core: &Pipeline, arena: &Arena) -> Vec<String>;

    /// A packet came in, whatever becomes of it. Returns whether the scheme holds it back if it is
    /// admitted.
    #[inline]
    fn arrived(&mut self, _core: &Pipeline, _in_port: u16, _packet: &Packet) -> bool {
        false
    }

    /// A packet that arrived is dropped.
    fn refused<S: Sink>(&mut self, _cx: &mut Cx<'_, S>, _packet: &Packet) {}

    /// A packet that is to leave by `port` was admitted; `place` is its queue, or nothing if it is held
    /// back. Returns whether the scheme has taken it: held it, or let it join its queue.
    #[inline]
    fn admitted<S: Sink>(
        &mut self,
        _cx: &mut Cx<'_, S>,
        _port: u16,
        _place: Option<Place>,
        _id: PacketId,
    ) -> bool {
        false
    }

    /// A packet that it has not taken joined its queue.
    #[inline]
    fn enqueued<S: Sink>(
        &mut self,
        _cx: &mut Cx<'_, S>,
        _port: u16,
        _packet: (PacketId, &Packet),
        _found: Found,
    ) {
    }

    /// A packet leaves by `port`. `packet` is its record as it was in the queue.
    #[inline]
    fn departed<S: Sink>(
        &mut self,
        _cx: &mut Cx<'_, S>,
        _port: u16,
        _id: PacketId,
        _packet: &Packet,
    ) {
    }

    /// What INT says of the bytes that wait in front of a packet, if not those of the port.
    #[inline]
    fn seen_by_int(&self, _packet: &Packet) -> Option<u64> {
        None
    }

    /// A packet is taken out of its queue, but stays in the buffer.
    // LNK-23, LNK-24
    fn withdrawn<S: Sink>(&mut self, _cx: &mut Cx<'_, S>, _id: PacketId, _packet: &Packet) {}

    /// A packet that was taken out of its queue at `port` is given up.
    // LNK-23
    fn given_up<S: Sink>(&mut self, _cx: &mut Cx<'_, S>, _port: u16, _packet: &Packet) {}

    /// Where a packet that was taken out of its queue joins one at `port`, if not where all do.
    // LNK-24
    fn place_again(&self, _core: &Pipeline, _port: u16, _packet: &Packet) -> Option<Place> {
        None
    }

    /// Packets of egress queues were taken out.
    // LNK-27
    fn emptied<S: Sink>(&mut self, _cx: &mut Cx<'_, S>) {}

    /// New routes have come.
    // LNK-27
    fn rerouted(&mut self, _core: &Pipeline) {}

    /// A frame of the scheme came from the neighbour at `port`. True: it is done; false: it says something
    /// to the egress only.
    fn receive<S: Sink>(
        &mut self,
        _cx: &mut Cx<'_, S>,
        _port: u16,
        _id: PacketId,
        _frame: &Packet,
    ) -> bool {
        false
    }

    /// The time that the switch requested has come; other things may be due then.
    fn timer<S: Sink>(&mut self, _cx: &mut Cx<'_, S>) {}

    /// A multiple of [`Needs::period_ps`].
    fn tick<S: Sink>(&mut self, _cx: &mut Cx<'_, S>) {}

    /// Only packets of these pairs of (ingress, egress) hold their upstream; `None`: all do.
    fn allow(&mut self, _pairs: Option<Pairs>) {}

    /// Which ports lead up, away from the hosts. Before any packet.
    fn set_upward(&mut self, _core: &Pipeline, _upward: &[bool]) {}

    /// What a packet in a queue holds upstream by a pause that names queues or flows: its number.
    // LNK-41
    fn holds(&self, _packet: &Packet) -> Option<u32> {
        None
    }

    /// Whether a packet in the buffer keeps the upstream from sending its class, though nothing pauses it.
    // LNK-41
    fn holds_class(&self, _packet: &Packet) -> bool {
        false
    }

    /// Whether a packet that was just admitted was held back, if only for the moment.
    fn held_back(&self, _packet: &Packet) -> bool {
        false
    }

    /// Sums that must agree between switches, if it has credits.
    fn books(&self) -> Option<CreditBooks> {
        None
    }

    /// Bytes held back for a port, and the most that ever were queued at it and held for it together.
    fn held_for(&self, _port: u16) -> Option<(u64, u64)> {
        None
    }

    /// The VOQ of a destination, and the packets of the destination in it; `None`: it has no VOQ.
    fn voq_of(&self, _dst: u32) -> Option<(u32, u32)> {
        None
    }

    /// Calls `visit` with every packet that is held back.
    fn for_each_held(&self, _arena: &Arena, _visit: &mut dyn FnMut(PacketId)) {}
}

/// Makes what follows from the list: numbers on frames, configurations, state, dispatch, counters.
macro_rules! hop_schemes {
    (schemes {
        $($(#[$doc:meta])* $field:ident, $field_mut:ident: $Name:ident,
            $config:ty, $state:ty, $obey:path, $host:ty;)*
    } words {
        $($(#[$said_doc:meta])* $word:literal: $Said:ident, $said:ty => $To:ident;)*
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

        /// A hop scheme as a scenario says it.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum HopSpec {
            /// None.
            #[default]
            None,
            $($(#[$said_doc])* $Said($said),)*
        }

        impl HopSpec {
            /// The words of the list, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$(($word, <$said>::PARAMS)),*];

            /// The words of the answer.
            pub const NAMES: &'static [&'static str] = &["none", $($word),*];

            /// Its word.
            #[must_use]
            pub const fn word(&self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$Said(_) => $word,)*
                }
            }

            /// The scheme of one of the words with these values.
            ///
            /// # Errors
            /// Values that cannot go together.
            pub fn from_values(word: &str, values: &Values) -> Result<Self, Conflict> {
                match word {
                    $($word => <$said>::from_values(values).map(Self::$Said),)*
                    _ => Ok(Self::None),
                }
            }

            /// What it is in a network.
            #[must_use]
            pub fn configure(&self, around: &Around) -> HopConfig {
                match self {
                    Self::None => HopConfig::None,
                    $(Self::$Said(said) => HopConfig::$To(said.configure(around)),)*
                }
            }

            /// The scheme whose frames it sends.
            #[must_use]
            pub const fn scheme(&self) -> Option<Scheme> {
                match self {
                    Self::None => None,
                    $(Self::$Said(_) => Some(Scheme::$To),)*
                }
            }

            /// What it says to the other answers.
            pub fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
                match self {
                    Self::None => {}
                    $(Self::$Said(said) => said.beside(others, say),)*
                }
            }

            /// Why it cannot be used with a receiver-driven transport of this name.
            #[must_use]
            pub fn against_transport(&self, name: &str) -> Option<String> {
                match self {
                    Self::None => None,
                    $(Self::$Said(said) => said.against_transport(name),)*
                }
            }

            /// Pairs of ports whose pauses could close a circle hold nobody.
            #[must_use]
            pub fn elides(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$Said(said) => said.elides(),)*
                }
            }

            /// A switch with the scheme works beside neighbours without it, which ignore its frames.
            #[must_use]
            pub fn works_beside_others(&self) -> bool {
                match self {
                    Self::None => true,
                    $(Self::$Said(said) => said.works_beside_others(),)*
                }
            }

            /// Its pauses name queues of NICs.
            #[must_use]
            pub fn names_nic_queues(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$Said(said) => said.names_nic_queues(),)*
                }
            }

            /// What it did not do in a run: sentences.
            pub fn idle(&self, counters: &HopCounters, say: &mut dyn FnMut(&'static str)) {
                let counted = |name: &str| counters[name];
                match self {
                    Self::None => {}
                    $(Self::$Said(said) => said.idle(&counted, say),)*
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

        /// Calls a hook of the scheme that a switch has.
        macro_rules! ask {
            ($hop:expr, $it:ident => $call:expr, $otherwise:expr) => {
                match $hop {
                    Hop::None => $otherwise,
                    $(Hop::$Name($it) => $call,)*
                }
            };
        }

        /// Lets an egress obey a frame of its neighbour. `list` lies beside the frame.
        pub(crate) fn obey<E: Egress>(egress: &mut E, frame: &Packet, list: &[u32]) {
            match frame.scheme() {
                Some(number) if number == Scheme::Pfc.number() => pfc::obey(egress, frame, list),
                $(Some(number) if number == Scheme::$Name.number() => $obey(egress, frame, list),)*
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
pub(crate) use ask;

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
    pub(crate) fn of(pfc: &Pfc, hop: &Hop, core: &Pipeline) -> Self {
        let mut counters = Self::default();
        let (own, others) = counters.0.split_at_mut(Pfc::COUNTERS.len());
        pfc.count(core, own);
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

    /// A frame came from the neighbour at a port. Returns whether the scheme has done all that it says.
    pub fn receive<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        id: PacketId,
        frame: &Packet,
    ) -> bool {
        let own = frame.scheme() == self.number();
        own && ask!(self, hop => hop.receive(cx, port, id, frame), false)
    }
}
