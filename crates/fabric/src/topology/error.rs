//! Errors of a topology.

use thiserror::Error;

/// The reason why a [`TopologySpec`](super::TopologySpec) is not valid, or why a property of the
/// network is undefined. Its text is a sentence for the author of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A count that must be at least one is zero.
    #[error("topology {shape}: {key} is 0; it must be at least 1")]
    Zero {
        /// Name of the topology in scenarios.
        shape: &'static str,
        /// Key of the count in scenarios.
        key: &'static str,
    },
    /// The parameter `k` of a fat-tree is odd or zero.
    #[error(
        "topology fat-tree: k is {k}; it must be even and at least 2, since half the ports of a \
         switch lead down and half lead up"
    )]
    BadK {
        /// Given value of `k`.
        k: u32,
    },
    /// The core switches of a Clos cannot be divided evenly among the aggregation switches of a
    /// pod.
    #[error(
        "topology clos: cores = {cores} cannot be shared evenly among aggs_per_pod = \
         {aggs_per_pod}; cores must be a multiple of aggs_per_pod"
    )]
    UnevenCores {
        /// Number of core switches.
        cores: u32,
        /// Number of aggregation switches per pod.
        aggs_per_pod: u32,
    },
    /// The ports of a NIC cannot be divided among planes.
    #[error(
        "planes = {planes} does not fit nic_ports = {nic_ports}; planes must be 1, or one for \
         each port of a NIC"
    )]
    UnevenPlanes {
        /// Number of planes.
        planes: u32,
        /// Number of ports of a NIC.
        nic_ports: u32,
    },
    /// There are fewer hosts than pairs of ToRs.
    #[error(
        "topology dual-homed: hosts = {hosts} cannot be shared out among pairs = {pairs}; every \
         pair of ToRs needs at least one host"
    )]
    EmptyPair {
        /// Number of pairs of ToRs.
        pairs: u32,
        /// Number of hosts.
        hosts: u32,
    },
    /// The network is larger than the supported maximum.
    #[error(
        "the topology would have {count} {what}; at most {limit} are supported; make it smaller"
    )]
    TooLarge {
        /// Kind of object: `hosts`, `switches` or `links`.
        what: &'static str,
        /// Requested number.
        count: u128,
        /// Largest allowed number.
        limit: u64,
    },
    /// The number of ports of a node exceeds the range of port indices.
    #[error(
        "{node} would have {ports} ports; a node can have at most 65535; spread its links over \
         more nodes"
    )]
    TooManyPorts {
        /// Name of the node.
        node: String,
        /// Number of ports that the node would have.
        ports: u32,
    },
    /// The network has fewer than two hosts.
    #[error("the topology has {hosts} host(s); traffic needs at least 2")]
    TooFewHosts {
        /// Number of hosts.
        hosts: u32,
    },
    /// A propagation delay is longer than the maximum.
    #[error(
        "a link has a delay of {delay_ps} ps; at most 10^15 ps (1000 s) are supported; check its \
         unit"
    )]
    DelayTooLong {
        /// The delay in ps.
        delay_ps: u64,
    },
    /// A node has an empty name.
    #[error("node number {node} has an empty name; give it one")]
    EmptyName {
        /// Node ID.
        node: u32,
    },
    /// Two nodes have the same name.
    #[error("two nodes are called \"{name}\"; names must differ")]
    RepeatedName {
        /// The name.
        name: String,
    },
    /// A link refers to a node that does not exist.
    #[error(
        "link number {link} names node {node}, but the {nodes} nodes are numbered from 0, hosts \
         first"
    )]
    UnknownNode {
        /// Position of the link in the list, counted from 1.
        link: usize,
        /// The invalid node ID.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// A link joins a node with itself.
    #[error("link number {link} joins {node} with itself; a link needs two different nodes")]
    SelfLoop {
        /// Position of the link in the list, counted from 1.
        link: usize,
        /// Name of the node.
        node: String,
    },
    /// A node has no link.
    #[error("{node} has no link; link it to another node, or leave it out")]
    NoLink {
        /// Name of the node.
        node: String,
    },
    /// No path through switches connects two hosts.
    #[error(
        "{host} on {switch} cannot be reached from {from}; traffic does not pass through hosts, \
         so any two hosts need ports on switches that are joined by switches"
    )]
    Unreachable {
        /// A host that is unreachable at one of its ports.
        host: String,
        /// The switch of this port.
        switch: String,
        /// The host from which it is unreachable.
        from: String,
    },
    /// A switch is on no path between hosts.
    #[error(
        "{switch} leads from no host to another; link it to switches with hosts, or leave it out"
    )]
    StraySwitch {
        /// Name of the switch.
        switch: String,
    },
    /// The capacity of the core is needed, but no link connects two switches.
    #[error(
        "a topology of kind {shape} has no core (no link between switches); give the load as a \
         fraction of the host links"
    )]
    NoCore {
        /// Name of the topology in scenarios.
        shape: &'static str,
    },
    /// Pairs of hosts in different racks are needed, but all hosts are in one rack.
    #[error(
        "all hosts are in one rack, so no pair of hosts lies in different racks; choose among \
         all pairs"
    )]
    OneRack,
}
