//! Signals of switches to senders: notices, and marks on data packets.
//!
//! To add a signal, write a file with its configuration (`impl Scheme`) and its state (`impl
//! Notifier`), and add a line to the list below.

pub mod bolt;

use crate::packet::{Cold, Packet};
use crate::properties::{Choice, Properties, Property, Rule};
use crate::scheme::{Scheme, axis};
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

axis! {
    /// Configured signal of a switch to senders.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NotifierConfig, NOTIFIERS, of!, notifiers! {
        Bolt(bolt),
    }
}

/// State of a signal at a switch.
pub(crate) trait Notifier: Scheme {
    /// Creates the state. `packet_bytes` is the size of the largest frame.
    fn new(config: &Self::Config, packet_bytes: u16, ports: &[(Rate, Time)]) -> Self;

    /// Returns the size of a notice in bytes.
    fn notice_bytes(config: &Self::Config) -> u16;

    /// Handles a data packet that joined a queue. Changes the marks of the packet
    /// ([`Arena::marks`](crate::packet::Arena::marks)), and returns a notice for its sender.
    fn joined(&mut self, joined: &Joined<'_>, marks: &mut u8) -> Option<(Packet, Cold)>;
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// State of the configured signal of a switch.
        #[derive(Debug)]
        pub(crate) enum Signal {
            $($name($module::$name),)*
        }

        impl Signal {
            /// See [`Notifier::new`].
            pub fn new(config: &NotifierConfig, packet_bytes: u16, ports: &[(Rate, Time)]) -> Self {
                match config {
                    $(NotifierConfig::$name(config) => {
                        Self::$name($module::$name::new(config, packet_bytes, ports))
                    })*
                }
            }

            /// See [`Notifier::joined`].
            pub fn joined(&mut self, joined: &Joined<'_>, marks: &mut u8) -> Option<(Packet, Cold)> {
                match self {
                    $(Self::$name(state) => state.joined(joined, marks),)*
                }
            }
        }
    };
}
notifiers! { define }

impl NotifierConfig {
    /// Returns the size of a notice in bytes.
    #[must_use]
    pub fn notice_bytes(&self) -> u16 {
        of!(self, Of(config) => Of::notice_bytes(config))
    }
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
