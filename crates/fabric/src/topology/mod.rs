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

/// Loss probability of a link, as a threshold for 64 random bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss(u64);

impl Loss {
    /// No loss: every frame arrives.
    pub const NONE: Self = Self(0);
    /// Number of values of 64 random bits, 2^64.
    const ALL: f64 = 18_446_744_073_709_551_616.0;

    /// Creates a loss probability from 0 to 1. Losses of frames are independent.
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

/// Rate, propagation delay and loss probability of a link. Both directions are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of one direction, in ps.
    pub delay_ps: Time,
    /// Loss probability of each frame.
    pub loss: Loss,
}

/// The topology that a scenario specifies.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologySpec {
    /// `hosts` hosts on one switch.
    Star {
        /// Number of hosts.
        hosts: u32,
        /// Links of the hosts.
        link: LinkSpec,
    },
    /// Two switches with hosts, connected by one link.
    Dumbbell {
        /// Number of hosts on the first switch.
        left: u32,
        /// Number of hosts on the second switch.
        right: u32,
        /// Links of the hosts.
        link: LinkSpec,
        /// The link between the switches.
        core: LinkSpec,
    },
    /// Every leaf is linked to every spine.
    LeafSpine {
        /// Number of leaves.
        leaves: u32,
        /// Number of spines.
        spines: u32,
        /// Number of hosts per leaf.
        hosts_per_leaf: u32,
        /// Links of the hosts.
        link: LinkSpec,
        /// Leaf-spine links.
        uplink: LinkSpec,
    },
    /// Three tiers: ToRs and aggregation switches in pods, and core switches. Each ToR is linked to
    /// every aggregation switch of its pod. The core switches are divided into as many equal ranges
    /// as a pod has aggregation switches, and aggregation switch i of each pod is linked to the
    /// i-th range.
    Clos {
        /// Number of pods.
        pods: u32,
        /// Number of ToRs per pod.
        tors_per_pod: u32,
        /// Number of aggregation switches per pod; must divide `cores`.
        aggs_per_pod: u32,
        /// Number of core switches.
        cores: u32,
        /// Number of hosts per ToR.
        hosts_per_tor: u32,
        /// Links of the hosts.
        link: LinkSpec,
        /// ToR-aggregation links.
        agg_link: LinkSpec,
        /// Aggregation-core links.
        core_link: LinkSpec,
    },
    /// k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, k²/4 cores, k³/4 hosts.
    FatTree {
        /// Number of ports of every switch; even.
        k: u32,
        /// Links of the hosts.
        link: LinkSpec,
        /// Links between switches.
        fabric_link: LinkSpec,
    },
    /// Pairs of ToRs. Every host has one link to each ToR of its pair, and every ToR has one link
    /// to each aggregation switch. Hosts are divided evenly. If that is impossible, the first pairs
    /// have one host more.
    DualHomed {
        /// Number of pairs of ToRs.
        pairs: u32,
        /// Total number of hosts; at least one per pair.
        hosts: u32,
        /// Number of aggregation switches above the ToRs.
        aggs: u32,
        /// Links of the hosts.
        link: LinkSpec,
        /// ToR-aggregation links.
        uplink: LinkSpec,
    },
    /// Several leaf-spine sites. Each site has a gateway that is linked to all its spines, and
    /// every two gateways are linked.
    MultiDc {
        /// Number of sites.
        sites: u32,
        /// Number of leaves per site.
        leaves: u32,
        /// Number of spines per site.
        spines: u32,
        /// Number of hosts per leaf.
        hosts_per_leaf: u32,
        /// Links of the hosts.
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
        /// Links as (node ID, node ID, link); the IDs of hosts come before those of switches.
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
