//! Path policies of a switch: which of the equal-cost ports a packet takes (rules in `specs/paths-switch.md`).
//!
//! A policy either computes the port from the packet alone, which `route.rs` does, or reads the loads
//! of the ports. A policy of the second kind is one file of this folder and one line of the list below.

mod flowlet;
mod least_loaded;

use crate::hash::{below, mix32};
use crate::packet::Packet;
use crate::param::{Param, Values};
use crate::paths::ENTROPY_BITS;
use crate::units::Time;

pub use flowlet::FlowletConfig;
pub use least_loaded::LeastLoaded;

/// A policy that reads the loads of ports.
trait Policy {
    /// Configuration, as a scenario gives it.
    type Config;

    /// True if two consecutive packets of a flow can take different ports.
    const REORDERS: bool;

    /// What it does, for the help of the key `path`: a phrase without a full stop.
    const ABOUT: &'static str;

    /// Parameters of the policy in a scenario.
    const PARAMS: &'static [Param];

    /// Converts the parameters of a scenario.
    fn config(values: &Values) -> Self::Config;

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
    /// Returns the waiting bytes of a port; `None` if its link is down.
    pub load: L,
}

impl<L: Fn(u16) -> Option<u64>> Context<L> {
    /// Returns the index of the port with the fewest waiting bytes. The hash chooses among equal ones.
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
        // All ports are equal, or all links are down: the port of ECMP.
        if count == 0 || count == ports.len() {
            return below(self.hash, ports.len());
        }
        // Mixed again, or the port of ECMP would determine the choice among the others.
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

/// The equal-cost egress ports to a destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EqualPorts<'a> {
    /// Consecutive numbers.
    Row { first: u16, len: u16 },
    /// Any numbers.
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

    /// Port `nth` of them.
    #[inline(always)]
    pub fn get(self, nth: usize) -> u16 {
        debug_assert!(nth < self.len(), "port {nth} of {}", self.len());
        match self {
            Self::Row { first, .. } => first + nth as u16,
            Self::List(ports) => ports[nth],
        }
    }
}

/// Makes the enums of the list.
macro_rules! path_choices {
    (
        by_packet { $($(#[$doc_fixed:meta])* $Fixed:ident = $fixed:literal: $about:literal,)* }
        by_sender { $($(#[$sent:meta])* $Sent:ident,)* }
        by_load { $($(#[$doc:meta])* $Name:ident($Config:ty) = $word:literal in $Policy:ty,)* }
    ) => {
        /// How a switch chooses among equal-cost paths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PathChoice {
            $($(#[$doc_fixed])* $Fixed,)*
            $($(#[$sent])* $Sent,)*
            $($(#[$doc])* $Name($Config),)*
        }

        impl PathChoice {
            /// The words of a scenario, each with what it does, without those of senders' policies.
            pub const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($fixed, $about),)* $(($word, <$Policy as Policy>::ABOUT),)*];

            /// The words that have parameters, with these.
            pub fn tables() -> impl Iterator<Item = (&'static str, &'static [Param])> {
                let all = [$(($word, <$Policy as Policy>::PARAMS),)*];
                all.into_iter().filter(|(_, params)| !params.is_empty())
            }

            /// True if the choice depends on the loads of the ports.
            #[must_use]
            pub const fn reads_loads(self) -> bool {
                match self {
                    $(Self::$Name(_) => true,)*
                    _ => false,
                }
            }

            /// True if two consecutive packets of a flow can take different paths.
            #[must_use]
            pub const fn reorders(self) -> bool {
                match self {
                    $(Self::$Name(_) => <$Policy as Policy>::REORDERS,)*
                    _ => self.sprays(),
                }
            }

            /// The choice with this word and, if it reads loads, these parameters.
            ///
            /// # Panics
            /// If the word is not one of [`Self::WORDS`].
            #[must_use]
            pub fn of_word(word: &str, values: &Values) -> Self {
                match word {
                    $($fixed => Self::$Fixed,)*
                    $($word => Self::$Name(<$Policy as Policy>::config(values)),)*
                    _ => unreachable!("{word} is not a path choice"),
                }
            }
        }

        /// The state of a policy that reads loads.
        #[derive(Debug)]
        pub(crate) enum ByLoad {
            $($Name($Policy),)*
        }

        impl ByLoad {
            /// The state of a choice at one switch; `None` if the packet alone decides.
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

// PTH-01
path_choices! {
    by_packet {
        /// By a hash of the flow.
        Flow = "flow": "ECMP",
        /// By a hash of flow and packet number.
        Packet = "packet": "each packet takes a random port",
        /// By a hash of addresses and ports, as the ns-3 simulator does.
        Tuple = "tuple": "ECMP by addresses and ports as in ns-3",
        /// By a hash of the flow that is equal for both directions and for all switches of a tier:
        /// replies cross the links of their packets.
        Symmetric = "symmetric": "ECMP by a hash that sends replies over the same links",
    }
    by_sender {
        /// By the label that the sender writes into [`Packet::hash`].
        Label,
        /// By a hash of the flow and of an entropy value that the sender chooses for each packet.
        Entropy,
    }
    by_load {
        /// By the waiting bytes of the ports.
        LeastLoaded(LeastLoaded) = "least-loaded" in LeastLoaded,
        /// By the waiting bytes of the ports, at the first packet of each flowlet.
        Flowlet(FlowletConfig) = "flowlet" in flowlet::Flowlets,
    }
}

impl PathChoice {
    /// True if a word of a scenario is a choice of switches.
    #[must_use]
    pub fn has_word(word: &str) -> bool {
        Self::WORDS.iter().any(|(known, _)| *known == word)
    }

    /// True if the packets of a flow take several paths.
    #[must_use]
    pub const fn sprays(self) -> bool {
        !matches!(self, Self::Flow | Self::Tuple | Self::Symmetric)
    }

    /// True if the path of a packet follows from its flow or its label alone.
    #[must_use]
    pub const fn is_predictable(self) -> bool {
        !self.sprays() || matches!(self, Self::Label)
    }

    /// The bits of [`Packet::hash`] that all packets of a flow share.
    // SPR-05
    #[must_use]
    pub const fn flow_bits(self) -> u32 {
        match self {
            Self::Entropy => !ENTROPY_BITS,
            _ => u32::MAX,
        }
    }
}
