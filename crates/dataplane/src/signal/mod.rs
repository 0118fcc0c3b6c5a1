//! Signals of switches to senders: notices, and marks on data packets.
//!
//! To add a signal, write a file with its configuration and its state (`impl Notifier`), and add a
//! line to the list below with its name and the name of the table of its parameters.

mod bolt;

use crate::packet::{Cold, Packet};
use crate::param::{Params, Word};
use crate::properties::{Choice, Properties, Property, Rule};
use crate::units::{Rate, Time};
pub use bolt::{Amount, BoltConfig};

/// A data packet that joined a queue.
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    pub now: Time,
    /// Port of the queue.
    pub port: u16,
    /// Bytes in the queue before the packet.
    pub queue_bytes: u64,
    pub packet: &'a Packet,
    pub cold: &'a Cold,
}

/// State of a signal at a switch.
pub(crate) trait Notifier {
    /// Handles a data packet that joined a queue. Changes the marks of the packet
    /// ([`Arena::marks`](crate::packet::Arena::marks)), and returns a notice for its sender.
    fn joined(&mut self, joined: &Joined<'_>, marks: &mut u8) -> Option<(Packet, Cold)>;
}

macro_rules! notifiers {
    ($($(#[$doc:meta])* $word:literal, $table:literal: $Name:ident, $config:ty, $state:ty;)*) => {
        /// Configured signal of a switch to senders.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NotifierConfig {
            $($(#[$doc])* $Name($config),)*
        }

        impl NotifierConfig {
            /// Values of `notices` that select a signal.
            pub const WORDS: &'static [Word<Self>] =
                &[$(Word::new($word, <$config as Params>::PARAMS, |values| {
                    Ok(Self::$Name(Params::read(values)))
                })
                .in_table($table)),*];

            /// Values of `notices`.
            pub const NAMES: &'static [&'static str] = &["none", $($word),*];

            /// Returns the size of a notice in bytes.
            #[must_use]
            pub const fn notice_bytes(&self) -> u16 {
                match self {
                    $(Self::$Name(config) => config.notice_bytes,)*
                }
            }
        }

        /// State of the configured signal of a switch.
        #[derive(Debug)]
        pub(crate) enum Signal {
            $($Name($state),)*
        }

        impl Signal {
            /// Creates the state. `packet_bytes` is the size of the largest frame.
            pub fn new(config: &NotifierConfig, packet_bytes: u16, ports: &[(Rate, Time)]) -> Self {
                match config {
                    $(NotifierConfig::$Name(config) => {
                        Self::$Name(<$state>::new(*config, packet_bytes, ports))
                    })*
                }
            }
        }

        impl Notifier for Signal {
            fn joined(&mut self, joined: &Joined<'_>, marks: &mut u8) -> Option<(Packet, Cold)> {
                match self {
                    $(Self::$Name(state) => state.joined(joined, marks),)*
                }
            }
        }
    };
}

// BOLT-07, BOLT-22
impl Choice for NotifierConfig {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::SendsNotices])
    }

    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            wrong ["notices", "control"] with [ReceiverDriven]:
                "receivers control the senders of this `control`, which ignore notices of switches",
                "set notices = \"none\"";
            doubtful ["notices", "control"] without [ReadsNotices, ReceiverDriven]:
                "switches send notices, but `control` does not read them", "set notices = \"none\"";
        }
    }
}

notifiers! {
    /// Bolt: congestion notices, and tokens for packets that may raise a window.
    "bolt", "bolt-switch": Bolt, BoltConfig, bolt::Bolt;
}
