//! IDs of nodes and links. Each kind of ID has its own type.

use dataplane::index;
use traffic::Flow;

index! {
    /// ID of a node in the network: hosts come first, then switches. // TOP-01
    #[derive(Default)]
    NodeId
}

index! {
    /// ID of one direction of a link: the index of the port that sends on it, among all ports of
    /// all nodes. The ports of hosts, which are the endpoints of traffic, come first. // TOP-01
    #[derive(Default)]
    LinkId
}

index! {
    /// Index of a node in its partition: hosts come first, then switches.
    LocalNode
}

impl LinkId {
    /// Returns the link of port `port`, if `self` is the link of port 0 of the same node.
    #[inline]
    #[must_use]
    pub const fn at_port(self, port: u16) -> Self {
        Self::from_bits(self.bits() + port as u32)
    }

    /// Returns the link of port 0 of the node, if `self` is the link of port `port`.
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

    /// Returns a map key that combines the link and another ID, such as a flow ID.
    #[inline]
    #[must_use]
    pub const fn key_with(self, number: u32) -> u64 {
        (self.bits() as u64) << 32 | number as u64
    }
}

impl LocalNode {
    /// Returns the index among the switches of the partition, which has this number of hosts;
    /// `None`: the node is a host.
    #[inline]
    #[must_use]
    pub const fn switch(self, hosts: usize) -> Option<usize> {
        self.index().checked_sub(hosts)
    }
}

/// Returns the nodes of the sending and of the receiving host of a flow. Host IDs in the traffic
/// are equal to node IDs.
#[must_use]
pub const fn hosts_of(flow: &Flow) -> (NodeId, NodeId) {
    (NodeId::from_bits(flow.src), NodeId::from_bits(flow.dst))
}
