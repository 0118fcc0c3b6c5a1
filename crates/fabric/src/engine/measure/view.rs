//! Read access to the state machines of a partition.

use std::cell::Cell;

use dataplane::classes::ClassSet;
use dataplane::ids::IndexVec;
use dataplane::nic::Nic;
use dataplane::packet::{Arena, Cold, Kind, Packet, PacketId};
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::super::flow_state::LiveFlows;
use super::super::link_ends::Links;
use super::super::long_queues::OnWay;
use super::super::node::Node;
use super::Journey;
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::topology::Graph;

/// Maximum number of hops on a path that [`View::leads_through`] follows.
const MOST_HOPS: usize = 64;

/// Results that a measure returns to the engine while it handles an event.
#[derive(Default)]
pub(in crate::engine) struct Reply {
    /// Cold part (rarely used packet data) for the frame of a
    /// [`NodeEvent`](dataplane::event::NodeEvent).
    pub cold: Cell<Option<Cold>>,
    /// Description of an error that a measure has found, for the audit of the run.
    pub error: Cell<Option<String>>,
    /// Journey (delay so far on the path) of a packet that leaves for another partition or arrives
    /// from another one.
    pub journey: Cell<Option<Journey>>,
}

/// State of a partition that a measure may read, at the time of an event.
#[derive(Clone, Copy)]
pub(in crate::engine) struct View<'a> {
    pub now: Time,
    pub reply: &'a Reply,
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

    /// Returns the classes of a port that are paused, and the classes for which the neighbour has
    /// no buffer.
    pub fn held_classes(&self, link: LinkId) -> (ClassSet, ClassSet) {
        let near = &self.links.near[link];
        match self.switch(near.node) {
            Some(switch) => switch.held_classes(near.port),
            None => self.nics[near.node.index()].held_classes(near.port),
        }
    }

    /// Returns the ID of the node that sends on a link.
    pub fn sender(&self, link: LinkId) -> NodeId {
        self.nodes[self.links.near[link].node].number
    }

    /// Returns the ID of the node that receives from a link.
    pub fn receiver(&self, link: LinkId) -> NodeId {
        self.nodes[self.links.far[link].node].number
    }

    /// Returns the port at which a packet waits that the switch has just admitted. The second value
    /// is true if a hop scheme has parked the packet.
    pub fn waits_at(&self, node: LocalNode, id: PacketId) -> Option<(LinkId, bool)> {
        let (port, held_back) = self.switch(node)?.waits_at(self.arena.hot(id));
        Some((self.link(node, port), held_back))
    }

    /// Returns the port of the queue that contains a packet.
    pub fn queued_at(&self, node: LocalNode, id: PacketId) -> Option<LinkId> {
        let port = self
            .switch(node)?
            .port_of(self.arena.hot(id).location.queue());
        Some(self.link(node, port))
    }

    /// Returns the port that leads to an endpoint, which is the last port on all paths to it.
    pub fn last_port(&self, endpoint: LinkId) -> LinkId {
        self.graph.reverse(endpoint)
    }

    /// Returns true if the path of a packet from a switch to its receiver contains the port `root`.
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
