//! Schemes of a link that prevent or repair losses between its two ends.
//!
//! A link can use two independent functions. *Credit* ensures that the next node has room for a
//! frame. *Replay* ensures that the next node receives it. So the slot `link` of a switch is a
//! struct with one field per function, and the key `link` of a scenario is a list of names. Switch
//! and NIC use the same state (`Links`), which acts on their ports through `Ports`.
//!
//! To add a scheme, write a file with its configuration (`impl Spec`, `impl Choice`,
//! `impl Declaration`), its frames (`impl Frame`) and its state (`impl Link`), and add a line to the
//! list below.

pub mod cbfc;
mod cyclic;
pub mod llr;

use crate::declaration::{Around, Counter, Declaration, Scheme, Spec};
use crate::packet::{Packet, PacketId};
use crate::param::{Params, Word};
use crate::ports::Ports;
use crate::properties::{Choice, Properties, Rule};
use crate::units::{Rate, Time};

/// Properties of a node's ports, for the state of its links.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSite<'a> {
    /// Rate of each port, and one-way delay of its link.
    pub ports: &'a [(Rate, Time)],
    /// Number of classes of frames.
    pub classes: u8,
    /// Size of the largest frame in bytes.
    pub max_frame: u16,
}

/// Decision of a link scheme on the next frame of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The node selects the next frame.
    Free,
    /// The port sends this frame of the link scheme.
    Own(PacketId),
    /// The port sends no frame.
    Blocked,
}

/// Counters of the frames of a port with numbered frames.
// LLR-22
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames sent with a new number.
    pub numbered: u64,
    /// Frames sent again.
    pub replayed: u64,
    /// Acknowledgements sent.
    pub sets_sent: u64,
    /// Other frames sent without a number.
    pub unnumbered_sent: u64,
    /// Numbered frames that were passed to the node.
    pub accepted: u64,
    /// Numbered frames that were discarded because another one was expected.
    pub discarded: u64,
    /// Frames that arrived damaged.
    pub damaged: u64,
    /// Acknowledgements received.
    pub sets_arrived: u64,
    /// Other frames received without a number.
    pub unnumbered_arrived: u64,
    /// Copies in the replay buffer now.
    pub stored: u64,
    /// Copies that were removed without an acknowledgement.
    pub dropped: u64,
}

/// State of a link scheme at all ports of a node.
pub(crate) trait Link: Sized {
    /// Configuration of the scheme.
    type Config;
    /// Counters of the scheme.
    const COUNTERS: &'static [Counter];
    /// True if the counters include NICs, false if only switches.
    const COUNTS_AT_HOSTS: bool;

    fn new(config: &Self::Config, site: &LinkSite<'_>) -> Self;

    /// Handles a frame that arrived at `port`. Returns true if the node must handle it next.
    /// Otherwise the scheme has freed it. Only links with replay pass damaged frames to their
    /// schemes, and only to replay.
    fn arrived<P: Ports>(
        &mut self,
        ports: &mut P,
        port: u16,
        id: PacketId,
        is_damaged: bool,
    ) -> bool;

    /// Handles a frame whose transmission at `port` starts.
    fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId);

    /// Runs the timers that are due, and schedules the next call. Calls without a due timer are
    /// allowed.
    fn timer<P: Ports>(&mut self, ports: &mut P);

    /// Resets both ends of a link that failed or recovered.
    // LNK-21
    fn reset<P: Ports>(&mut self, ports: &mut P, port: u16);

    /// Returns the values of the counters in the order of [`Link::COUNTERS`].
    fn counts(&self) -> Vec<u64>;

    /// Returns true if no credit or acknowledgement is missing, so that a run may end.
    fn is_at_rest(&self) -> bool;

    /// Reports blocked frames, for a run that stalled.
    fn explain_stall(&self, say: &mut dyn FnMut(String));

    /// Compares the counters of a switch with the packets in its buffer. Returns the violations.
    fn audit(&self, _buffered: &[Packet]) -> Vec<String> {
        Vec::new()
    }

    /// Returns true if a packet in the buffer prevents the upstream from sending its class.
    // LNK-41
    fn blocks_class(&self, _packet: &Packet) -> bool {
        false
    }

    /// Returns true if the scheme has a frame to send at a port.
    fn is_waiting(&self, _port: u16) -> bool {
        false
    }

    /// Returns the counters of the frames of a port, if they are numbered.
    fn traffic(&self, _port: u16) -> Option<Traffic> {
        None
    }
}

/// List of the link functions, each with its scheme.
macro_rules! link_schemes {
    ($make:ident) => {
        $make! {
            /// Link-level retry: repeats frames that the next node did not receive.
            replay: Llr, llr::LlrConfig, llr::Llr;
            /// Credit-based flow control: sends only frames for which the next node has room.
            credit: Cbfc, cbfc::CbfcConfig, cbfc::Cbfc;
        }
    };
}

macro_rules! make_config {
    ($($(#[$doc:meta])* $question:ident: $Name:ident, $config:ty, $state:ty;)*) => {
        /// Link schemes of a switch and of the NICs attached to it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct LinkConfig {
            $($(#[$doc])* pub $question: Option<$config>,)*
        }

        impl LinkConfig {
            /// Values of `link` that select a scheme. Each configures that scheme alone.
            pub const WORDS: &'static [Word<Self>] =
                &[$(Word::new(<$config as Spec>::NAME, <$config as Params>::PARAMS, |values| {
                    let config = <$config>::configure(Params::read(values), &Around::default())?;
                    Ok(Self { $question: Some(config), ..Self::default() })
                })),*];

            /// Names of all schemes in scenarios.
            pub const NAMES: &'static [&'static str] = &[$(<$config as Spec>::NAME),*];

            /// Names that select one scheme or none.
            pub const ALONE: &'static [&'static str] = &["none", $(<$config as Spec>::NAME),*];

            /// Returns the schemes of both configurations.
            #[must_use]
            pub fn and(self, other: Self) -> Self {
                Self { $($question: self.$question.or(other.$question),)* }
            }

            /// Returns the names of the selected schemes.
            pub fn words(&self) -> impl Iterator<Item = &'static str> {
                [$(self.$question.map(|_| <$config as Spec>::NAME)),*].into_iter().flatten()
            }

            /// Returns the schemes whose frames the links use.
            pub fn schemes(&self) -> impl Iterator<Item = Scheme> {
                [$(self.$question.map(|_| Scheme::$Name)),*].into_iter().flatten()
            }

            /// Returns the declarations of the selected schemes.
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
        /// State of the links of a node.
        #[derive(Debug)]
        pub(crate) struct Links {
            $($question: Option<$state>,)*
        }

        impl Links {
            /// Creates the state, or returns `None` if the links have no scheme.
            pub fn new(config: &LinkConfig, site: &LinkSite<'_>) -> Option<Box<Self>> {
                (*config != LinkConfig::default()).then(|| Box::new(Self {
                    $($question: config.$question.as_ref().map(|config| <$state>::new(config, site)),)*
                }))
            }

            /// Returns the counters of all schemes and their values. `at_host`: only of schemes
            /// that count at hosts.
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

        /// Counters of all schemes, in order.
        pub(crate) const COUNTER_LISTS: &[&[Counter]] = &[$(<$state>::COUNTERS),*];
    };
}
link_schemes!(make_links);

impl Choice for LinkConfig {
    fn provides(&self) -> Properties {
        let all = self.declarations().map(Choice::provides);
        all.fold(Properties::NONE, Properties::and)
    }

    fn rules(&self) -> Vec<Rule> {
        self.declarations().flat_map(Choice::rules).collect()
    }
}

/// Names that `backpressure` accepts too, because it was their key before `link` existed.
pub const ALSO_BACKPRESSURE: &[&str] = &["cbfc"];

impl LinkConfig {
    /// Returns true if links send lost and damaged frames again.
    // LLR-20
    #[must_use]
    pub const fn replays(&self) -> bool {
        self.replay.is_some()
    }

    /// Returns the reason why the links cannot be carried as frames over sockets, if there is one.
    // LLR-30
    #[must_use]
    pub fn not_carried(&self) -> Option<&'static str> {
        self.replays()
            .then_some("links number their frames in the preamble, which no socket carries")
    }
}

impl Links {
    /// Handles a frame that arrived at `port`. Returns true if the node must handle it next.
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

    /// Returns the decision on the next frame of a port. Replay can send its own frame, or block the
    /// port.
    pub fn turn<P: Ports>(&mut self, ports: &mut P, port: u16) -> Turn {
        let replay = self.replay.as_mut();
        replay.map_or(Turn::Free, |replay| replay.turn(ports, port))
    }

    /// Handles a packet that arrived at `port` and leaves the buffer. Its credits can return.
    pub fn left<P: Ports>(&mut self, ports: &mut P, port: u16, packet: &Packet) {
        if let Some(credit) = &mut self.credit {
            credit.left(ports, port, packet);
        }
    }

    /// Handles a frame whose transmission at `port` starts.
    pub fn sent<P: Ports>(&mut self, ports: &mut P, port: u16, id: PacketId) {
        each!(mut self, link => link.sent(ports, port, id));
    }

    /// Runs the timers that are due.
    pub fn timer<P: Ports>(&mut self, ports: &mut P) {
        each!(mut self, link => link.timer(ports));
    }

    /// Resets the link of a port that failed or recovered.
    pub fn reset<P: Ports>(&mut self, ports: &mut P, port: u16) {
        each!(mut self, link => link.reset(ports, port));
    }

    /// Returns true if no credit or acknowledgement is missing.
    pub fn is_at_rest(&self) -> bool {
        each!(self, link => if !link.is_at_rest() { return false });
        true
    }

    /// Reports blocked frames, for a run that stalled.
    pub fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        each!(self, link => link.explain_stall(say));
    }

    /// Compares the counters with the packets in the buffer. Returns the violations.
    pub fn audit(&self, buffered: &[Packet]) -> Vec<String> {
        let mut broken = Vec::new();
        each!(self, link => broken.extend(link.audit(buffered)));
        broken
    }

    /// Returns true if a scheme has a frame to send at a port.
    pub fn is_waiting(&self, port: u16) -> bool {
        each!(self, link => if link.is_waiting(port) { return true });
        false
    }

    /// Returns the counters of the frames of a port, if they are numbered.
    pub fn traffic(&self, port: u16) -> Option<Traffic> {
        each!(self, link => if let Some(traffic) = link.traffic(port) { return Some(traffic) });
        None
    }

    /// Returns true if a packet in the buffer prevents the upstream from sending its class.
    pub fn blocks_class(&self, packet: &Packet) -> bool {
        each!(self, link => if link.blocks_class(packet) { return true });
        false
    }
}
