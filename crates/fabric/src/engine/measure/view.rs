//! Read access to the state machines of a partition.

use dataplane::ids::IndexVec;
use dataplane::nic::Nic;
use dataplane::packet::{Arena, Kind, Packet, PacketId};
use dataplane::switch::Switch;

use super::super::flow_state::LiveFlows;
use super::super::link_ends::Links;
use super::super::long_queues::OnWay;
use super::super::node::Node;
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::topology::Graph;

/// Largest number of hops of a path that is followed.
const MOST_HOPS: usize = 64;

/// State that a measure may read in addition to the arguments of its hooks.
pub(in crate::engine) struct View<'a> {
    pub graph: &'a Graph,
    pub links: &'a Links,
    pub nodes: &'a IndexVec<LocalNode, Node>,
    pub nics: &'a [Nic],
    pub switches: &'a [Switch],
    pub flows: &'a LiveFlows,
    pub arena: &'a Arena,
}

impl View<'_> {
    pub fn link(&self, node: LocalNode, port: u16) -> LinkId {
        self.nodes[node].base.at_port(port)
    }

    pub fn switch(&self, node: LocalNode) -> Option<&Switch> {
        let index = node.switch(self.nics.len())?;
        self.switches.get(index)
    }

    /// Number in the network of the node that sends on a link.
    pub fn sender(&self, link: LinkId) -> NodeId {
        self.nodes[self.links.near[link].node].number
    }

    /// Number in the network of the node that a link leads to.
    pub fn receiver(&self, link: LinkId) -> NodeId {
        self.nodes[self.links.far[link].node].number
    }

    /// Port at which a packet waits that a switch has just admitted, and true if a hop scheme has parked it.
    pub fn waits_at(&self, node: LocalNode, id: PacketId) -> Option<(LinkId, bool)> {
        let (port, held_back) = self.switch(node)?.waits_at(self.arena.hot(id));
        Some((self.link(node, port), held_back))
    }

    /// Port of the queue that contains a packet.
    pub fn queued_at(&self, node: LocalNode, id: PacketId) -> Option<LinkId> {
        let port = self
            .switch(node)?
            .port_of(self.arena.hot(id).location.queue());
        Some(self.link(node, port))
    }

    /// The port that leads to an endpoint.
    pub fn last_port(&self, endpoint: LinkId) -> LinkId {
        self.graph.reverse(endpoint)
    }

    /// Returns true if the path of a packet from a switch to its receiver contains a port.
    // SPFC-44
    pub fn leads_through(&self, mut node: LocalNode, way: &OnWay, root: LinkId) -> bool {
        let packet = Packet {
            flow: way.flow,
            hash: way.hash,
            dst: way.dst,
            ..Packet::new(Kind::Data, way.class, 0)
        };
        for _ in 0..MOST_HOPS {
            let Some(port) = self.switch(node).and_then(|s| s.way(&packet, way.src)) else {
                return false;
            };
            let link = self.link(node, port);
            if link == root {
                return true;
            }
            node = self.links.far[link].node;
        }
        false
    }
}
