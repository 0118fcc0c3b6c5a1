//! Errors of a topology.

use std::fmt;

/// Why no network can be made of a [`TopologySpec`](super::TopologySpec), or why a question about
/// it has no answer. Its text is a sentence for the person who wrote the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// A count that must be at least one is zero.
    Zero {
        /// Shape, as scenarios call it.
        shape: &'static str,
        /// Name of the count.
        key: &'static str,
    },
    /// The `k` of a fat-tree is odd or zero.
    BadK {
        /// The `k` that was given.
        k: u32,
    },
    /// The cores of a Clos cannot be shared out evenly.
    UnevenCores {
        /// Core switches.
        cores: u32,
        /// Aggregation switches of a pod.
        aggs_per_pod: u32,
    },
    /// A NIC's ports cannot be shared out among planes.
    UnevenPlanes {
        /// Planes.
        planes: u32,
        /// Ports of a NIC.
        nic_ports: u32,
    },
    /// Fewer hosts than pairs of ToRs.
    EmptyPair {
        /// Pairs of ToRs.
        pairs: u32,
        /// Hosts.
        hosts: u32,
    },
    /// Larger than anything that is simulated here.
    TooLarge {
        /// Kind of object: `hosts`, `switches` or `links`.
        what: &'static str,
        /// Requested number.
        count: u128,
        /// Largest allowed number.
        limit: u64,
    },
    /// A node has more ports than a port number can name.
    TooManyPorts {
        /// Name of the node.
        node: String,
        /// Number of ports that it would have.
        ports: u32,
    },
    /// Fewer than two hosts.
    TooFewHosts {
        /// Number of hosts.
        hosts: u32,
    },
    /// A propagation delay longer than any real link's.
    DelayTooLong {
        /// The delay in ps.
        delay_ps: u64,
    },
    /// A node has an empty name.
    EmptyName {
        /// Number of the node.
        node: u32,
    },
    /// Two nodes have one name.
    RepeatedName {
        /// The name.
        name: String,
    },
    /// A link names a node that does not exist.
    UnknownNode {
        /// Which link, the first being 1.
        link: usize,
        /// The number that names no node.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// A link joins a node with itself.
    SelfLoop {
        /// Which link, the first being 1.
        link: usize,
        /// Name of the node.
        node: String,
    },
    /// A node has no link.
    NoLink {
        /// Name of the node.
        node: String,
    },
    /// Switches do not lead from one host to the other.
    Unreachable {
        /// A host that cannot be reached by one of its ports.
        host: String,
        /// The switch on which it hangs.
        switch: String,
        /// The host from which it cannot be reached.
        from: String,
    },
    /// A switch that leads from no host to another.
    StraySwitch {
        /// Name of the switch.
        switch: String,
    },
    /// The capacity of the core is needed, but there is no link between switches.
    NoCore {
        /// Shape, as scenarios call it.
        shape: &'static str,
    },
    /// Pairs of hosts in different racks were requested, and there is one rack.
    OneRack,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { shape, key } => {
                write!(f, "topology {shape}: {key} is 0; it must be at least 1")
            }
            Self::BadK { k } => write!(
                f,
                "topology fat-tree: k is {k}; it must be even and at least 2, since half the ports of a switch lead down and half lead up"
            ),
            Self::UnevenCores {
                cores,
                aggs_per_pod,
            } => write!(
                f,
                "topology clos: cores = {cores} cannot be shared evenly among aggs_per_pod = {aggs_per_pod}; cores must be a multiple of aggs_per_pod"
            ),
            Self::UnevenPlanes { planes, nic_ports } => write!(
                f,
                "planes = {planes} does not fit nic_ports = {nic_ports}; planes must be 1, or one for each port of a NIC"
            ),
            Self::EmptyPair { pairs, hosts } => write!(
                f,
                "topology dual-homed: hosts = {hosts} cannot be shared out among pairs = {pairs}; every pair of ToRs needs at least one host"
            ),
            Self::TooLarge { what, count, limit } => write!(
                f,
                "the topology would have {count} {what}; at most {limit} are supported; make it smaller"
            ),
            Self::TooManyPorts { node, ports } => write!(
                f,
                "{node} would have {ports} ports; a node can have at most 65535; spread its links over more nodes"
            ),
            Self::TooFewHosts { hosts } => {
                write!(
                    f,
                    "the topology has {hosts} host(s); traffic needs at least 2"
                )
            }
            Self::DelayTooLong { delay_ps } => write!(
                f,
                "a link has a delay of {delay_ps} ps; at most 10^15 ps (1000 s) are supported; check its unit"
            ),
            Self::EmptyName { node } => {
                write!(f, "node number {node} has an empty name; give it one")
            }
            Self::RepeatedName { name } => {
                write!(f, "two nodes are called \"{name}\"; names must differ")
            }
            Self::UnknownNode { link, node, nodes } => write!(
                f,
                "link number {link} names node {node}, but the {nodes} nodes are numbered from 0, hosts first"
            ),
            Self::SelfLoop { link, node } => write!(
                f,
                "link number {link} joins {node} with itself; a link needs two different nodes"
            ),
            Self::NoLink { node } => {
                write!(
                    f,
                    "{node} has no link; link it to another node, or leave it out"
                )
            }
            Self::Unreachable { host, switch, from } => write!(
                f,
                "{host} on {switch} cannot be reached from {from}; traffic does not pass through hosts, so any two hosts need ports on switches that are joined by switches"
            ),
            Self::StraySwitch { switch } => write!(
                f,
                "{switch} leads from no host to another; link it to switches with hosts, or leave it out"
            ),
            Self::NoCore { shape } => write!(
                f,
                "a topology of kind {shape} has no core (no link between switches); give the load as a fraction of the host links"
            ),
            Self::OneRack => write!(
                f,
                "all hosts are in one rack, so no pair of hosts lies in different racks; choose among all pairs"
            ),
        }
    }
}

impl std::error::Error for TopologyError {}
