//! Topologies: their specification in a scenario, and the graph of the network.

use dataplane::units::{Rate, Time};

pub mod capacity;
mod compile;
pub mod error;
pub mod graph;
mod plan;
mod servers;

pub use capacity::{CapacityOf, PairScope};
pub use error::TopologyError;
pub use graph::{Graph, Ids, NodeKind, Port};
pub use servers::{Servers, Wiring};

/// Probability that a link loses a frame, as a threshold for 64 random bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss(u64);

impl Loss {
    /// No loss: every frame arrives.
    pub const NONE: Self = Self(0);
    /// 2^64, the number of values of a 64-bit draw.
    const ALL: f64 = 18_446_744_073_709_551_616.0;

    /// Returns a loss with this probability, from 0 to 1, independent for each frame.
    #[must_use]
    pub fn of(probability: f64) -> Self {
        Self((probability * Self::ALL) as u64)
    }

    /// Returns the probability of a loss, from 0 to 1.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.0 as f64 / Self::ALL
    }

    /// Returns true if the frame for which these random bits were drawn is lost.
    #[inline]
    #[must_use]
    pub const fn takes(self, draw: u64) -> bool {
        draw < self.0
    }
}

/// Rate, propagation delay and loss of a link; both directions are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Speed of each direction.
    pub rate: Rate,
    /// Propagation delay of one direction, in ps.
    pub delay_ps: Time,
    /// Loss probability of each frame.
    pub loss: Loss,
}

/// The network that a scenario specifies.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologySpec {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Host links.
        link: LinkSpec,
    },
    /// Two switches joined by one link, with hosts on both sides.
    Dumbbell {
        /// Hosts on the first switch.
        left: u32,
        /// Hosts on the second switch.
        right: u32,
        /// Host links.
        link: LinkSpec,
        /// The link between the switches.
        core: LinkSpec,
    },
    /// Every leaf is linked to every spine.
    LeafSpine {
        /// Switches with hosts.
        leaves: u32,
        /// Switches above.
        spines: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Host links.
        link: LinkSpec,
        /// Leaf-spine links.
        uplink: LinkSpec,
    },
    /// Three tiers: pods of ToRs and aggregation switches, cores above. Each ToR is linked to every
    /// aggregation switch of its pod; aggregation switch i of each pod to the i-th share of the
    /// cores.
    Clos {
        /// Pods.
        pods: u32,
        /// ToRs of a pod.
        tors_per_pod: u32,
        /// Aggregation switches of a pod; must divide `cores`.
        aggs_per_pod: u32,
        /// Core switches.
        cores: u32,
        /// Hosts on each ToR.
        hosts_per_tor: u32,
        /// Host links.
        link: LinkSpec,
        /// ToR-aggregation links.
        agg_link: LinkSpec,
        /// Aggregation-core links.
        core_link: LinkSpec,
    },
    /// k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, k²/4 cores, k³/4 hosts.
    FatTree {
        /// Ports of every switch; even.
        k: u32,
        /// Host links.
        link: LinkSpec,
        /// All other links.
        fabric_link: LinkSpec,
    },
    /// Pairs of ToRs. Every host has one link to each ToR of its pair, and every ToR has one link
    /// to each aggregation switch. Hosts are divided evenly. If that is impossible, the first pairs
    /// have one host more.
    DualHomed {
        /// Pairs of ToRs.
        pairs: u32,
        /// Number of all hosts; at least one per pair.
        hosts: u32,
        /// Switches above the ToRs.
        aggs: u32,
        /// Host links.
        link: LinkSpec,
        /// ToR-aggregation links.
        uplink: LinkSpec,
    },
    /// Several leaf-spine sites. Each site has a gateway that is linked to all its spines, and
    /// every two gateways are linked.
    MultiDc {
        /// Sites.
        sites: u32,
        /// Switches with hosts per site.
        leaves: u32,
        /// Spines of a site.
        spines: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Host links.
        link: LinkSpec,
        /// Leaf-spine links.
        uplink: LinkSpec,
        /// Spine-gateway links.
        gateway_link: LinkSpec,
        /// Links between gateways.
        interconnect: LinkSpec,
    },
    /// Servers with GPUs, each with a scale-up domain, below leaves and spines.
    Servers(Servers),
    /// Nodes and links that a scenario lists.
    Links {
        /// Names of the hosts.
        hosts: Vec<String>,
        /// Names of the switches.
        switches: Vec<String>,
        /// Links as (index of a node, index of a node, link); hosts come first in the numbering.
        links: Vec<(u32, u32, LinkSpec)>,
    },
}

impl TopologySpec {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns a [`TopologyError`] if the specification is not valid.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        Graph::compile(plan::Plan::new(self)?)
    }
}
