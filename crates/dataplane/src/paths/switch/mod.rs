//! Path policies of a switch: they select one of the equal-cost ports for a packet (rules in
//! `specs/paths-switch.md`).
//!
//! A policy either computes the port from the packet alone, which `route.rs` does, or reads the
//! loads of the ports. A policy of the second kind is one file of this folder and one line of the
//! list below.

mod flowlet;
mod least_loaded;

use crate::hash::{below, mix32};
use crate::packet::Packet;
use crate::param::{Params, Word};
use crate::paths::ENTROPY_BITS;
use crate::properties::{Choice, Properties, Property, Rule};
use crate::units::Time;

pub use flowlet::FlowletConfig;
pub use least_loaded::LeastLoaded;

/// A policy that reads the loads of ports.
trait Policy {
    /// Parameters of the policy.
    type Config: Params;

    /// True if two consecutive packets of a flow can take different ports.
    const REORDERS: bool;

    /// Description for the help of the key `path`: a phrase without a full stop.
    const ABOUT: &'static str;

    /// Creates the state of the policy for one switch.
    fn new(config: &Self::Config) -> Self;

    /// Returns the index of the port that a packet takes; `ports` has at least one.
    fn choose<L: Fn(u16) -> Option<u64>>(
        &mut self,
        cx: &Context<L>,
        packet: &Packet,
        ports: EqualPorts<'_>,
    ) -> usize;
}

/// State of the switch that a policy reads.
pub(crate) struct Context<L> {
    pub now: Time,
    /// Hash of the packet's flow with the seed of the switch.
    pub hash: u32,
    /// Returns the queued bytes of a port, or `None` if its link is down.
    pub load: L,
}

impl<L: Fn(u16) -> Option<u64>> Context<L> {
    /// Returns the index of the port with the fewest queued bytes. The hash selects among equal
    /// ones.
    // PTH-02: least loaded, ties by hash; PTH-04: not a failed link
    fn least_loaded(&self, ports: EqualPorts<'_>) -> usize {
        let (mut fewest, mut count) = (u64::MAX, 0usize);
        for nth in 0..ports.len() {
            let Some(bytes) = (self.load)(ports.get(nth)) else {
                continue;
            };
            if bytes < fewest {
                (fewest, count) = (bytes, 0);
            }
            count += usize::from(bytes == fewest);
        }
        // All ports are equal, or all links are down: use the port of ECMP.
        if count == 0 || count == ports.len() {
            return below(self.hash, ports.len());
        }
        // The hash is mixed again, so that the choice does not depend on the port of ECMP.
        let mut left = below(mix32(self.hash), count);
        for nth in 0..ports.len() {
            if (self.load)(ports.get(nth)) == Some(fewest) {
                if left == 0 {
                    return nth;
                }
                left -= 1;
            }
        }
        unreachable!("a port has the fewest bytes")
    }
}

/// Equal-cost egress ports to a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EqualPorts<'a> {
    /// Ports with consecutive numbers.
    Row { first: u16, len: u16 },
    /// Ports with arbitrary numbers.
    List(&'a [u16]),
}

impl EqualPorts<'_> {
    #[inline(always)]
    pub const fn len(self) -> usize {
        match self {
            Self::Row { len, .. } => len as usize,
            Self::List(ports) => ports.len(),
        }
    }

    /// Returns the port with index `nth`.
    #[inline(always)]
    pub fn get(self, nth: usize) -> u16 {
        debug_assert!(nth < self.len(), "port {nth} of {}", self.len());
        match self {
            Self::Row { first, .. } => first + nth as u16,
            Self::List(ports) => ports[nth],
        }
    }
}

/// Makes the state of the policies that read loads.
macro_rules! by_load {
    ($($Name:ident($Policy:ty),)*) => {
        /// State of a policy that reads loads.
        #[derive(Debug)]
        pub(crate) enum ByLoad {
            $($Name($Policy),)*
        }

        impl ByLoad {
            /// Creates the state of a policy at one switch, or returns `None` if the policy uses
            /// only the packet.
            pub fn new(choice: &PathChoice) -> Option<Box<Self>> {
                match choice {
                    $(PathChoice::$Name(config) => {
                        Some(Box::new(Self::$Name(<$Policy as Policy>::new(config))))
                    })*
                    _ => None,
                }
            }

            /// Returns the port that a packet takes.
            pub fn choose<L: Fn(u16) -> Option<u64>>(
                &mut self,
                cx: &Context<L>,
                packet: &Packet,
                ports: EqualPorts<'_>,
            ) -> u16 {
                ports.get(match self {
                    $(Self::$Name(policy) => policy.choose(cx, packet, ports),)*
                })
            }
        }
    };
}

/// Defines the enums of all path policies.
macro_rules! path_choices {
    (
        by_packet { $($(#[$doc_fixed:meta])* $Fixed:ident = $fixed:literal: $about:literal,)* }
        by_sender { $($(#[$sent:meta])* $Sent:ident,)* }
        by_load { $($(#[$doc:meta])* $Name:ident($Config:ty) = $word:literal in $Policy:ty,)* }
    ) => {
        /// Selection among equal-cost paths at a switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PathChoice {
            $($(#[$doc_fixed])* $Fixed,)*
            $($(#[$sent])* $Sent,)*
            $($(#[$doc])* $Name($Config),)*
        }

        impl PathChoice {
            /// Values of `path` for which switches select paths. Policies of senders are not
            /// included.
            pub const WORDS: &'static [Word<Self>] = &[
                $(Word::plain($fixed, |_| Ok(Self::$Fixed)).titled("", $about),)*
                $(Word::new($word, <$Config as Params>::PARAMS, |values| {
                    Ok(Self::$Name(Params::read(values)))
                })
                .titled("", <$Policy as Policy>::ABOUT),)*
            ];

            /// Returns true if the choice depends on the loads of the ports.
            #[must_use]
            pub const fn reads_loads(self) -> bool {
                match self {
                    $(Self::$Name(_) => true,)*
                    _ => false,
                }
            }

            /// Returns true if two consecutive packets of a flow can take different paths.
            #[must_use]
            pub const fn reorders(self) -> bool {
                match self {
                    $(Self::$Name(_) => <$Policy as Policy>::REORDERS,)*
                    _ => self.sprays(),
                }
            }
        }

        by_load! { $($Name($Policy),)* }
    };
}

// PTH-01
path_choices! {
    by_packet {
        /// ECMP by a hash of the flow.
        Flow = "flow": "ECMP",
        /// Random port by a hash of flow and packet number.
        Packet = "packet": "each packet takes a random port",
        /// ECMP by a hash of addresses and ports, as in the ns-3 simulator.
        Tuple = "tuple": "ECMP by addresses and ports as in ns-3",
        /// ECMP by a hash of the flow that is equal for both directions and for all switches of a
        /// tier. Replies use the links of their packets.
        Symmetric = "symmetric": "ECMP by a hash that sends replies over the same links",
    }
    by_sender {
        /// Path by the label that the sender writes into [`Packet::hash`].
        Label,
        /// Path by a hash of the flow and of an entropy value that the sender selects for each
        /// packet.
        Entropy,
    }
    by_load {
        /// Port with the fewest queued bytes.
        LeastLoaded(LeastLoaded) = "least-loaded" in LeastLoaded,
        /// Port with the fewest queued bytes at the first packet of each flowlet.
        Flowlet(FlowletConfig) = "flowlet" in flowlet::Flowlets,
    }
}

impl PathChoice {
    /// Returns true if the packets of a flow take several paths.
    #[must_use]
    pub const fn sprays(self) -> bool {
        !matches!(self, Self::Flow | Self::Tuple | Self::Symmetric)
    }

    /// Returns true if the path of a packet depends on its flow or its label alone.
    #[must_use]
    pub const fn is_predictable(self) -> bool {
        !self.sprays() || matches!(self, Self::Label)
    }

    /// Returns a mask of the bits of [`Packet::hash`] that all packets of a flow share.
    // SPR-05
    #[must_use]
    pub const fn flow_bits(self) -> u32 {
        match self {
            Self::Entropy => !ENTROPY_BITS,
            _ => u32::MAX,
        }
    }
}

impl Choice for PathChoice {
    fn provides(&self) -> Properties {
        Properties::NONE
            .with(Property::Reorders, self.reorders())
            .with(Property::HashedPorts, *self == Self::Tuple)
            .with(Property::SymmetricPaths, *self == Self::Symmetric)
    }

    fn rules(&self) -> Vec<Rule> {
        if *self != Self::Tuple {
            return Vec::new();
        }
        crate::rules! {
            wrong ["path", "classify"] with [QueuesByHash]:
                "path = \"tuple\" puts ports in the place of the hash that `classify` goes by",
                "set path = \"flow\", or classify = \"fifo\"";
        }
    }
}
