//! The whole network, combined from its partitions, for probes, audit and results.

use std::sync::Arc;

use dataplane::link::Traffic;
use dataplane::nic::Nic;
use dataplane::packet::Arena;
use dataplane::switch::Switch;
use dataplane::units::Time;
use kernel::digest::fold;

use super::link_ends::{Far, Near, Pauses};
use super::partition::Partition;
use super::places::Places;
use crate::ids::{LinkId, NodeId};
use crate::topology::Graph;

/// Sender's and receiver's state of one direction of a link.
pub(super) struct LinkDirection<'a> {
    /// State of the link at its sender.
    pub near: &'a Near,
    pub pauses: &'a Pauses,
    /// State of the link at its receiver.
    pub far: &'a Far,
}

impl LinkDirection<'_> {
    /// ENG-20: returns the hash of the frames that arrived on the link and of the sender's
    /// counters.
    pub fn digest(&self) -> u64 {
        let (near, pauses) = (self.near, self.pauses);
        let sent = [near.packets, near.bytes, pauses.count, pauses.paused_ps];
        let seen = fold(self.far.digest, self.far.arrived);
        sent.into_iter().fold(seen, fold)
    }
}

/// The whole network, combined from its partitions. All iterators follow the order of IDs.
pub(super) struct Network<C> {
    pub graph: Arc<Graph>,
    pub places: Arc<Places>,
    pub parts: Vec<Partition<C>>,
}

impl<C> Network<C> {
    /// Returns the time of the last event.
    pub fn now_ps(&self) -> Time {
        self.parts.iter().map(|p| p.core.now).max().unwrap_or(0)
    }

    /// Returns the partition of a node.
    pub fn part_of(&self, node: NodeId) -> &Partition<C> {
        &self.parts[self.places.of(node).part as usize]
    }

    /// Returns the node that sends on a link.
    pub fn node_of(&self, link: LinkId) -> NodeId {
        let back = self.graph.reverse(link);
        self.graph.port(back).peer
    }

    /// Returns a host's NIC, and the packet arena of its partition.
    pub fn nic(&self, host: NodeId) -> (&Nic, &Arena) {
        let place = self.places.of(host);
        let part = &self.parts[place.part as usize];
        (&part.nics[place.at.index()], &part.arena)
    }

    /// Returns a switch, given its node ID, and the packet arena of its partition.
    pub fn switch(&self, node: NodeId) -> (&Switch, &Arena) {
        let place = self.places.of(node);
        let part = &self.parts[place.part as usize];
        (
            &part.switches[place.at.index() - part.nics.len()],
            &part.arena,
        )
    }

    /// Returns the hosts with their NICs and the packet arenas of their partitions.
    pub fn each_nic(&self) -> impl Iterator<Item = (NodeId, &Nic, &Arena)> {
        self.graph.host_ids().map(|host| {
            let (nic, arena) = self.nic(host);
            (host, nic, arena)
        })
    }

    /// Returns the switches with their node IDs and the packet arenas of their partitions.
    pub fn each_switch(&self) -> impl Iterator<Item = (NodeId, &Switch, &Arena)> {
        self.graph.switch_ids().map(|node| {
            let (switch, arena) = self.switch(node);
            (node, switch, arena)
        })
    }

    pub fn direction(&self, link: LinkId) -> LinkDirection<'_> {
        let of = |node| &self.part_of(node).core.links;
        let near = of(self.node_of(link));
        let far = of(self.graph.port(link).peer);
        LinkDirection {
            near: &near.near[link],
            pauses: &near.pauses[link],
            far: &far.far[link],
        }
    }

    /// Returns all directions of links with their link IDs.
    pub fn each_direction(&self) -> impl Iterator<Item = (LinkId, LinkDirection<'_>)> {
        self.graph
            .link_ids()
            .map(|link| (link, self.direction(link)))
    }

    /// Returns the numbers of frames on a link that arrived, were lost or were retransmitted;
    /// `None`: the link has no sequence numbers.
    pub fn traffic_of(&self, link: LinkId) -> Option<Traffic> {
        let node = self.node_of(link);
        let port = link.port(self.graph.first_link(node));
        match self.graph.is_host(node) {
            true => self.nic(node).0.link_traffic(port),
            false => self.switch(node).0.link_traffic(port),
        }
    }

    /// Returns the maximum number of lanes of a partition.
    pub fn most_lanes(&self) -> u32 {
        let lanes = (0..self.parts.len() as u32).map(|part| self.places.lanes(part));
        lanes.max().unwrap_or(1) as u32
    }

    /// Returns the number of packet records in use.
    pub fn alive(&self) -> u64 {
        self.parts.iter().map(|p| p.arena.alive() as u64).sum()
    }

    /// Returns the number of flows that have started and not finished.
    pub fn live(&self) -> usize {
        self.parts.iter().map(|p| p.flows.live.len()).sum()
    }

    /// Returns the number of ranks of workloads that have unfinished operations.
    pub fn unfinished_ranks(&self) -> u32 {
        let ranks = self.parts.iter().filter_map(|p| p.ranks.as_ref());
        ranks.map(|ranks| ranks.unfinished).sum()
    }

    /// Returns the number of flows that have started.
    pub fn started(&self) -> u64 {
        self.parts.iter().map(|p| p.flows.started).sum()
    }

    /// Returns the number of flows that have finished.
    pub fn finished(&self) -> u64 {
        self.parts.iter().map(|p| p.flows.done).sum()
    }

    /// Returns the time of the last arrival of a packet or start of a flow.
    pub fn progress_ps(&self) -> Time {
        self.parts.iter().map(|p| p.progress_ps).max().unwrap_or(0)
    }

    /// Returns the number of frames that have arrived at the end of a link, over all links.
    pub fn packet_hops(&self) -> u64 {
        let arrived = |p: &Partition<C>| p.core.links.far.iter().map(|l| l.arrived).sum::<u64>();
        self.parts.iter().map(arrived).sum()
    }
}
