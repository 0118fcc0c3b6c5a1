//! The sending halves that a NIC can have: one for each congestion control and transport, and
//! special ones.

use super::driven::Driven;
use super::scan::Scan;
use super::sender::Sender;
use crate::cc::{ControlConfig, Mixed, OutsideFlow, controls};
use crate::config::{Arbiter, NicConfig, Sending};
use crate::transport::{TransportConfig, transports};
use crate::units::Rate;

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        transports! { define_with [$($name($module),)*] }
    };
}

macro_rules! define_with {
    ([$($name:ident($module:ident),)*] $($other:ident($file:ident),)*) => {
        /// The sending half of a NIC, as selected by the configuration.
        #[derive(Debug)]
        pub(super) enum Half {
            $($name(Sender<crate::cc::$module::$name>),)*
            $($other(Box<Driven<crate::transport::$file::$other>>),)*
            Outside(Sender<OutsideFlow>),
            Mixed(Sender<Mixed>),
            Scan(Box<Scan>),
        }

        impl Half {
            /// Creates the sending half that the configuration selects, for ports with these rates.
            pub fn new(config: &NicConfig, classes: usize, ports: &[Rate]) -> Self {
                if config.host.arbiter == Arbiter::Scan {
                    return Self::Scan(Box::new(Scan::new()));
                }
                match &config.control {
                    $(Sending::Control(ControlConfig::$name(_)) => Self::$name(Sender::new(false)),)*
                    Sending::Control(ControlConfig::Outside(_)) => Self::Outside(Sender::new(false)),
                    $(Sending::Transport(TransportConfig::$other(own)) => {
                        Self::$other(Box::new(Driven::new(own, config, classes, ports)))
                    })*
                    Sending::PerClass(_) => Self::Mixed(Sender::new(false)),
                    Sending::Paired(_) => Self::Mixed(Sender::new(true)),
                }
            }

            /// Returns true if the half is a receiver-driven transport, which also receives data.
            #[inline]
            pub const fn receives(&self) -> bool {
                matches!(self, $(Self::$other(_))|*)
            }
        }

        /// Calls a method of the sending half, with code specialised for its type.
        macro_rules! each {
            ($self:expr, $half:ident => $call:expr) => {
                match $self {
                    $($crate::nic::halves::Half::$name($half) => $call,)*
                    $($crate::nic::halves::Half::$other($half) => $call,)*
                    $crate::nic::halves::Half::Outside($half) => $call,
                    $crate::nic::halves::Half::Mixed($half) => $call,
                    $crate::nic::halves::Half::Scan($half) => $call,
                }
            };
        }
        pub(super) use each;
    };
}
controls!(define);
