//! Numbers of nodes and links, each with a type of its own.

use dataplane::index;
use traffic::Flow;

index! {
    /// Number of a node in the network: hosts first, then switches. // TOP-01
    #[derive(Default)]
    NodeId
}

index! {
    /// Number of one direction of a link: the port that sends on it, counted over all ports of all
    /// nodes. The ports of hosts come first. They are the endpoints of traffic. // TOP-01
    #[derive(Default)]
    LinkId
}

index! {
    /// Number of a node in its partition: hosts first, then switches.
    LocalNode
}

impl LinkId {
    /// Returns the link of a port, if `self` is the link of port 0 of the same node.
    #[inline]
    #[must_use]
    pub const fn at_port(self, port: u16) -> Self {
        Self::from_bits(self.bits() + port as u32)
    }

    /// Returns the link of port 0 of the node, if this is the link of a port.
    #[inline]
    #[must_use]
    pub const fn first_link(self, port: u16) -> Self {
        debug_assert!(self.bits() >= port as u32);
        Self::from_bits(self.bits() - port as u32)
    }

    /// Returns the port that sends on this link, if `first` is the link of port 0 of the same node.
    #[inline]
    #[must_use]
    pub const fn port(self, first: Self) -> u16 {
        let port = self.bits() - first.bits();
        debug_assert!(port <= u16::MAX as u32);
        port as u16
    }

    /// Returns a key for maps: the link and a number, such as that of a flow.
    #[inline]
    #[must_use]
    pub const fn key_with(self, number: u32) -> u64 {
        (self.bits() as u64) << 32 | number as u64
    }
}

impl LocalNode {
    /// Returns the index among the switches of the partition, which has this number of hosts.
    /// `None`: the node is a host.
    #[inline]
    #[must_use]
    pub const fn switch(self, hosts: usize) -> Option<usize> {
        self.index().checked_sub(hosts)
    }
}

/// Returns the nodes of the sending and of the receiving host of a flow. Traffic counts hosts as
/// the network does.
#[must_use]
pub const fn hosts_of(flow: &Flow) -> (NodeId, NodeId) {
    (NodeId::from_bits(flow.src), NodeId::from_bits(flow.dst))
}
