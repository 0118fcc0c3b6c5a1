//! Schemes of a link: what keeps the two ends of one link from losing frames.
//!
//! There are two independent questions, and a link may have an answer to both. *Credit*: has the next node room for a
//! frame? *Replay*: has the next node received it? The slot `link` of a switch is therefore a record with one field
//! for each question, and the key `link` of a scenario is a list of words. Switch and NIC have the same state
//! (`Links`), which acts on their ports through `Ports`.
//!
//! To add a scheme: a file with its configuration (`impl Spec`, `impl Declaration`), its frames
//! (`impl Frame`) and its state (`impl Link`), and a line in the list below.

pub mod cbfc;
mod cyclic;
pub mod llr;

use crate::declaration::{Around, Counter, Declaration, Scheme, Spec};
use crate::packet::{Packet, PacketId};
use crate::param::{Conflict, Param, Values};
use crate::ports::Ports;
use crate::units::{Rate, Time};

/// The ports of a node, for the state of its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSite<'a> {
    /// Rates of the ports, and one-way delays of their links.
    pub ports: &'a [(Rate, Time)],
    /// Classes of frames.
    pub classes: u8,
    /// Largest frame in bytes.
    pub max_frame: u16,
}

/// What a port sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// What the node chooses.
    Free,
    /// This frame of the link scheme.
    Own(PacketId),
    /// Nothing.
    Blocked,
}

/// Frames of a port whose links have numbers, by what became of them.
// LLR-22
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames that left with a new number.
    pub numbered: u64,
    /// Frames that left again.
    pub replayed: u64,
    /// Acknowledgements that left.
    pub sets_sent: u64,
    /// Other frames without a number that left.
    pub unnumbered_sent: u64,
    /// Frames with a number that were handed over to the node.
    pub accepted: u64,
    /// Frames with a number that were not expected.
    pub discarded: u64,
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Acknowledgements that arrived.
    pub sets_arrived: u64,
    /// Other frames without a number that arrived.
    pub unnumbered_arrived: u64,
    /// Copies in the replay buffer.
    pub stored: u64,
    /// Copies that were removed without an acknowledgement.
    pub dropped: u64,
}

/// The state of a scheme at all ports of a node.
pub(crate) trait Link: Sized {
    /// The configuration.
    type Config;
    /// The counters of the scheme.
    const COUNTERS: &'static [Counter];
    /// NICs count too, not only switches.
    const COUNTS_AT_HOSTS: bool;

    fn new(config: &Self::Config, site: &LinkSite<'_>) -> Self;

    /// Handles a frame that arrived by `port`, whole. Returns true if the node is to handle it, too. Otherwise
    /// the scheme has freed it. Only links with replay hand damaged frames over, and not beyond replay.
    fn arrived<P: Ports>(
        &mut self,
        ports: &mut P,
        port: u16,
        id: PacketId,
        is_damaged: bool,
    ) -> bool;

    /// Returns what a port sends next, whose link is free.
    fn turn<P: Ports>(&mut self, _ports: &mut P, _port: u16) -> Turn {
        Turn::Free
    }

    /// Handles a packet that arrived by `port` and leaves the buffer of the node.
    fn left<P: Ports>(&mut self, _ports: &mut P, _port: u16, _packet: &Packet) {}

    /// Handles a frame that starts to leave by `port`.
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId);

    /// Handles the timers that are due, and plans the next call. The call may come for another reason.
    fn timer<P: Ports>(&mut self, ports: &mut P);

    /// The link of a port has failed or is back: both ends begin anew.
    // LNK-21
    fn reset<P: Ports>(&mut self, ports: &mut P, port: u16);

    /// Returns the counts in the order of [`Link::COUNTERS`].
    fn counts(&self) -> Vec<u64>;

    /// True if nothing is missing from the neighbours, so that a run may end.
    fn is_at_rest(&self) -> bool;

    /// Reports what waits, for a run that stalled.
    fn explain_stall(&self, say: &mut dyn FnMut(String));

    /// Compares the counters of a switch with the packets in its buffer; returns the violations.
    fn audit(&self, _buffered: &[Packet]) -> Vec<String> {
        Vec::new()
    }

    /// True if a packet in the buffer keeps the upstream from sending its class.
    // LNK-41
    fn blocks_class(&self, _packet: &Packet) -> bool {
        false
    }

    /// True if the scheme has a frame of its own for a port.
    fn is_waiting(&self, _port: u16) -> bool {
        false
    }

    /// Returns what became of the frames of a port, if they have numbers.
    fn traffic(&self, _port: u16) -> Option<Traffic> {
        None
    }
}

/// The list of questions, each with its answer.
macro_rules! link_schemes {
    ($make:ident) => {
        $make! {
            /// Has the next node received it? Link-level retry.
            replay: Llr, llr::LlrConfig, llr::Llr;
            /// Has the next node room? Credit-based flow control.
            credit: Cbfc, cbfc::CbfcConfig, cbfc::Cbfc;
        }
    };
}

macro_rules! make_config {
    ($($(#[$doc:meta])* $question:ident: $Name:ident, $config:ty, $state:ty;)*) => {
        /// The link schemes of a switch and of the NICs at it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct LinkConfig {
            $($(#[$doc])* pub $question: Option<$config>,)*
        }

        impl LinkConfig {
            /// The words of the list, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$((<$config as Spec>::NAME, <$config as Spec>::PARAMS)),*];

            /// The words.
            pub const NAMES: &'static [&'static str] = &[$(<$config as Spec>::NAME),*];

            /// The words that choose one scheme or none.
            pub const ALONE: &'static [&'static str] = &["none", $(<$config as Spec>::NAME),*];

            /// Adds the scheme of one of the words with these values.
            ///
            /// # Errors
            /// Values that cannot go together.
            pub fn with(mut self, word: &str, values: &Values) -> Result<Self, Conflict> {
                $(if word == <$config as Spec>::NAME {
                    self.$question = Some(<$config>::configure(values, &Around::default())?);
                })*
                Ok(self)
            }

            /// Returns the words of its schemes.
            pub fn words(&self) -> impl Iterator<Item = &'static str> {
                [$(self.$question.map(|_| <$config as Spec>::NAME)),*].into_iter().flatten()
            }

            /// Returns the schemes whose frames it sends.
            pub fn schemes(&self) -> impl Iterator<Item = Scheme> {
                [$(self.$question.map(|_| Scheme::$Name)),*].into_iter().flatten()
            }

            /// Returns what its schemes declare.
            pub fn declarations(&self) -> impl Iterator<Item = &dyn Declaration> {
                [$(self.$question.as_ref().map(|config| config as &dyn Declaration)),*]
                    .into_iter()
                    .flatten()
            }
        }
    };
}
link_schemes!(make_config);

macro_rules! make_links {
    ($($(#[$doc:meta])* $question:ident: $Name:ident, $config:ty, $state:ty;)*) => {
        /// The state of the links of a node.
        #[derive(Debug)]
        pub(crate) struct Links {
            $($question: Option<$state>,)*
        }

        impl Links {
            /// Returns the state; `None`: the links have no scheme.
            pub fn new(config: &LinkConfig, site: &LinkSite<'_>) -> Option<Box<Self>> {
                (*config != LinkConfig::default()).then(|| Box::new(Self {
                    $($question: config.$question.as_ref().map(|config| <$state>::new(config, site)),)*
                }))
            }

            /// Returns the counters of its schemes and their values, or of those that a host counts.
            pub fn counted(&self, at_host: bool) -> impl Iterator<Item = (&'static str, u64)> {
                let mut all = Vec::new();
                $(if let Some(link) = &self.$question && (!at_host || <$state>::COUNTS_AT_HOSTS) {
                    let names = <$state>::COUNTERS.iter().map(|counter| counter.name);
                    all.extend(names.zip(link.counts()));
                })*
                all.into_iter()
            }
        }

        /// Evaluates an expression for each scheme of the links.
        macro_rules! each {
            ($links:expr, $link:ident => $call:expr) => {{
                $(if let Some($link) = &$links.$question { $call })*
            }};
            (mut $links:expr, $link:ident => $call:expr) => {{
                $(if let Some($link) = &mut $links.$question { $call })*
            }};
        }

        /// The lists of counters of all schemes, in order.
        pub(crate) const COUNTER_LISTS: &[&[Counter]] = &[$(<$state>::COUNTERS),*];
    };
}
link_schemes!(make_links);

/// Words that `backpressure` accepts, too, as `link` did not exist before.
pub const ALSO_BACKPRESSURE: &[&str] = &["cbfc"];

impl LinkConfig {
    /// Returns why its links cannot be carried as frames over sockets.
    // LLR-30
    #[must_use]
    pub fn not_carried(&self) -> Option<&'static str> {
        let has_numbers = self
            .declarations()
            .any(|scheme| scheme.replays_lost_frames());
        has_numbers.then_some("links number their frames in the preamble, which no socket carries")
    }
}

impl Links {
    /// Handles a frame that arrived by `port`. Returns true if the node is to handle it, too.
    pub fn arrived<P: Ports>(
        &mut self,
        ports: &mut P,
        port: u16,
        id: PacketId,
        is_damaged: bool,
    ) -> bool {
        each!(mut self, link => if !link.arrived(ports, port, id, is_damaged) { return false });
        true
    }

    /// Returns what a port sends next.
    pub fn turn<P: Ports>(&mut self, ports: &mut P, port: u16) -> Turn {
        each!(mut self, link => match link.turn(ports, port) {
            Turn::Free => {}
            turn => return turn,
        });
        Turn::Free
    }

    /// Handles a packet that arrived by `port` and leaves the buffer.
    pub fn left<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        each!(mut self, link => link.left(ports, port, packet));
    }

    /// Handles a frame that starts to leave by `port`.
    pub fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId) {
        each!(mut self, link => link.sent(ports, port, id));
    }

    /// Handles the timers that are due.
    pub fn timer<P: Ports>(&mut self, ports: &mut P) {
        each!(mut self, link => link.timer(ports));
    }

    /// The link of a port has failed or is back.
    pub fn reset<P: Ports>(&mut self, ports: &mut P, port: u16) {
        each!(mut self, link => link.reset(ports, port));
    }

    /// True if nothing is missing from the neighbours.
    pub fn is_at_rest(&self) -> bool {
        each!(self, link => if !link.is_at_rest() { return false });
        true
    }

    /// Reports what waits, for a run that stalled.
    pub fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        each!(self, link => link.explain_stall(say));
    }

    /// Compares the counters with the packets in the buffer; returns the violations.
    pub fn audit(&self, buffered: &[Packet]) -> Vec<String> {
        let mut broken = Vec::new();
        each!(self, link => broken.extend(link.audit(buffered)));
        broken
    }

    /// True if a scheme has a frame of its own for a port.
    pub fn is_waiting(&self, port: u16) -> bool {
        each!(self, link => if link.is_waiting(port) { return true });
        false
    }

    /// Returns what became of the frames of a port, if they have numbers.
    pub fn traffic(&self, port: u16) -> Option<Traffic> {
        each!(self, link => if let Some(traffic) = link.traffic(port) { return Some(traffic) });
        None
    }

    /// True if a packet in the buffer keeps the upstream from sending its class.
    pub fn blocks_class(&self, packet: &Packet) -> bool {
        each!(self, link => if link.blocks_class(packet) { return true });
        false
    }
}
