//! A network as nodes and ports, compiled from a [`TopologySpec`](super::TopologySpec).
//!
//! Nodes are numbered: hosts first, then switches. All ports of all nodes are in one list, ordered
//! by node. So a port has two indices: one at the node, and one in the list. The second one is the
//! [`LinkId`] of the direction on which the port sends. The ports of hosts are first in the list.
//! They are the *endpoints* of traffic. // TOP-01
//!
//! Switches also have an index among the switches, from 0. This index is a plain integer.

use std::fmt;
use std::ops::Range;

use dataplane::units::{NS, Rate, Time};

use dataplane::ids::IndexVec;

use super::plan::Names;
use super::{LinkSpec, Loss};
use crate::ids::{LinkId, NodeId};

/// Value for a missing group or node, or for a node that a search has not reached.
pub(crate) const NONE: u32 = u32::MAX;

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// The node sends and receives flows, and does not forward packets.
    Host,
    /// The node forwards packets.
    Switch,
}

/// Iterator over consecutive IDs.
pub type Ids<I> = std::iter::Map<Range<u32>, fn(u32) -> I>;

/// A port, seen from the node that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Node at the other end of the link.
    pub peer: NodeId,
    /// Index of the port at that node.
    pub peer_port: u16,
    /// Rate of each direction.
    pub rate: Rate,
    /// One-way propagation delay in ps.
    pub delay_ps: Time,
}

/// The compiled network.
#[derive(Clone)]
pub struct Graph {
    pub(super) shape: &'static str,
    pub(super) hosts: u32,
    pub(super) switches: u32,
    /// Per node, the link of port 0. The last element is the number of link directions.
    pub(super) first_link: IndexVec<NodeId, LinkId>,
    pub(super) peer: IndexVec<LinkId, NodeId>,
    pub(super) peer_port: IndexVec<LinkId, u16>,
    /// Per port, the index of its kind of link in `links`.
    pub(super) link_kind: IndexVec<LinkId, u32>,
    /// Distinct kinds of links.
    pub(super) links: Vec<LinkSpec>,
    /// Per switch, the link of its first port to another switch. Ports to hosts have smaller
    /// numbers.
    pub(super) first_fabric_link: Vec<LinkId>,
    /// Per switch, distance to the nearest host.
    pub(super) tier: Vec<u32>,
    /// Per switch, its group (switches with hosts are the groups), or [`NONE`] for a switch without
    /// hosts.
    pub(super) group: Vec<u32>,
    /// Per group, its switch.
    pub(super) group_switch: Vec<u32>,
    /// Per host, its rack, if hosts have several ports; otherwise empty.
    pub(super) rack: IndexVec<NodeId, u32>,
    /// Per switch, true if it is the scale-up domain of a server. Empty if there are none.
    pub(super) scale_up: Vec<bool>,
    /// Per switch, the index of its plane. Switches that reach each other through switches are in
    /// one plane.
    pub(super) plane: Vec<u32>,
    pub(super) names: Names,
    /// Number of racks per pod in a regular topology.
    pub(super) pod_racks: Option<u32>,
    /// Per port, true if routing treats its link as down. Empty if all links are up.
    pub(super) down: IndexVec<LinkId, bool>,
    /// True if any link joins two hosts directly.
    pub(super) has_cables: bool,
}

/// Prints one line, because a network can be large.
impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("shape", &self.shape)
            .field("hosts", &self.hosts)
            .field("switches", &self.switches)
            .field("links", &self.link_count())
            .finish_non_exhaustive()
    }
}

impl Graph {
    /// Returns the planes in which a host has ports, ascending.
    fn planes_of(&self, host: NodeId) -> Vec<u32> {
        let mut of: Vec<u32> = self.links_of(host).map(|e| self.plane_of(e)).collect();
        of.sort_unstable();
        of.dedup();
        of
    }

    /// Returns the number of hosts in each plane of switches.
    pub(super) fn hosts_in_planes(&self) -> Vec<u32> {
        let planes = self.plane.iter().max().map_or(0, |&last| last as usize + 1);
        let mut hosts_in = vec![0u32; planes];
        for host in self.host_ids() {
            for plane in self.planes_of(host) {
                // Planes of host-to-host links follow the planes of switches, so they have no
                // entry.
                if let Some(hosts) = hosts_in.get_mut(plane as usize) {
                    *hosts += 1;
                }
            }
        }
        hosts_in
    }

    /// Returns two hosts without a common plane; `None` if all hosts have one.
    #[must_use]
    pub fn first_apart(&self) -> Option<(NodeId, NodeId)> {
        let hosts_in = self.hosts_in_planes();
        // In nearly all networks one plane contains all hosts. Only hosts outside the largest plane
        // are compared pairwise.
        let widest = (0..hosts_in.len() as u32)
            .rev()
            .max_by_key(|&p| hosts_in[p as usize])
            .unwrap_or(NONE);
        self.host_ids()
            .filter(|&host| !self.planes_of(host).contains(&widest))
            .find_map(|host| {
                let other = self
                    .host_ids()
                    .find(|&other| !self.reach_each_other(host, other))?;
                Some((host.min(other), host.max(other)))
            })
    }

    /// Returns true if two hosts have a plane in common, or are the same host.
    #[must_use]
    pub fn reach_each_other(&self, a: NodeId, b: NodeId) -> bool {
        let planes = self.planes_of(a);
        a == b || (self.links_of(b)).any(|end| planes.contains(&self.plane_of(end)))
    }

    /// Returns true if any link connects two hosts directly.
    #[must_use]
    pub const fn has_cables(&self) -> bool {
        self.has_cables
    }

    /// Returns true if the link of an endpoint leads to another host.
    #[must_use]
    pub fn is_cable(&self, endpoint: LinkId) -> bool {
        self.is_host(self.peer[endpoint])
    }

    /// Returns this network with the given links down for routing. Each link is given by one of its
    /// directions. Nodes and ports keep their IDs.
    // LNK-10
    #[must_use]
    pub fn without(&self, links: &[LinkId]) -> Self {
        let mut graph = self.clone();
        if links.is_empty() {
            return graph;
        }
        graph.down.resize(self.peer.len(), false);
        for &link in links {
            graph.down[link] = true;
            graph.down[self.reverse(link)] = true;
        }
        graph.pod_racks = None; // pairs of racks are no longer equivalent
        graph
    }

    /// Truncates link delays to whole nanoseconds.
    // NS3-01
    #[must_use]
    pub fn cut_delays(mut self) -> Self {
        for link in &mut self.links {
            link.delay_ps -= link.delay_ps % NS;
        }
        self
    }

    /// Returns this network with all links up.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self {
            down: Vec::new().into(),
            ..self.clone()
        }
    }

    /// Returns true if a link is down for routing.
    #[must_use]
    pub fn is_down(&self, link: LinkId) -> bool {
        self.down.get(link.index()).copied().unwrap_or(false)
    }

    /// Returns true if any link is down for routing.
    #[must_use]
    pub fn lacks_links(&self) -> bool {
        !self.down.is_empty()
    }

    /// Returns the name of the topology in scenarios.
    #[must_use]
    pub fn shape(&self) -> &'static str {
        self.shape
    }

    /// Returns the number of hosts, which are the nodes `0..hosts`.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Returns the number of switches, which are the nodes `hosts..nodes`.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches
    }

    /// Returns the number of links. Each link has two directions.
    #[must_use]
    pub fn link_count(&self) -> u32 {
        self.peer.len() as u32 / 2
    }

    /// Returns the total number of ports of all nodes.
    #[must_use]
    pub fn port_count(&self) -> u32 {
        self.peer.len() as u32
    }

    /// Returns the number of endpoints (ports of hosts).
    #[must_use]
    pub fn endpoints(&self) -> u32 {
        self.first_link[NodeId::from_bits(self.hosts)].bits()
    }

    /// Returns all nodes in order.
    pub fn node_ids(&self) -> Ids<NodeId> {
        (0..self.nodes()).map(NodeId::from_bits)
    }

    /// Returns the hosts in order.
    pub fn host_ids(&self) -> Ids<NodeId> {
        (0..self.hosts).map(NodeId::from_bits)
    }

    /// Returns the switches in order.
    pub fn switch_ids(&self) -> Ids<NodeId> {
        (self.hosts..self.nodes()).map(NodeId::from_bits)
    }

    /// Returns all directions of all links in order.
    pub fn link_ids(&self) -> Ids<LinkId> {
        (0..self.port_count()).map(LinkId::from_bits)
    }

    /// Returns the endpoints in order.
    pub fn endpoint_ids(&self) -> Ids<LinkId> {
        (0..self.endpoints()).map(LinkId::from_bits)
    }

    /// Returns true if a node is a host.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        node.bits() < self.hosts
    }

    /// Returns the node ID of a switch, given its index among the switches.
    #[must_use]
    pub fn switch_node(&self, switch: u32) -> NodeId {
        NodeId::from_bits(self.hosts + switch)
    }

    /// Returns the index of a node among the switches; `None`: the node is a host.
    #[must_use]
    pub fn switch_number(&self, node: NodeId) -> Option<u32> {
        node.bits().checked_sub(self.hosts)
    }

    /// Returns the kind of a node.
    #[must_use]
    pub fn kind(&self, node: NodeId) -> NodeKind {
        match self.is_host(node) {
            true => NodeKind::Host,
            false => NodeKind::Switch,
        }
    }

    /// Returns the distance of a node to its nearest host: 0 for hosts, 1 for switches with hosts.
    /// // TOP-04
    #[must_use]
    pub fn tier(&self, node: NodeId) -> u32 {
        self.switch_number(node)
            .map_or(0, |switch| self.tier[switch as usize])
    }

    /// Returns the name of a node, such as `host17` or `leaf3`.
    #[must_use]
    pub fn name(&self, node: NodeId) -> String {
        self.names.of(node)
    }

    /// Returns the node with this name; `None`: there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.find(name)
    }

    /// Returns the links from node `from` to node `to`.
    pub fn links_to(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = LinkId> + '_ {
        self.links_of(from)
            .filter(move |&link| self.peer[link] == to)
    }

    /// Returns the name of a port, such as `leaf0->spine1`. If several links connect the two nodes,
    /// the index of the link follows, from 1: `leaf0->spine1#2`. // TOP-05
    #[must_use]
    pub fn port_name(&self, link: LinkId) -> String {
        self.name_of_ends(link, "->")
    }

    /// Returns the name of the link of a port, such as `leaf0--spine1`. Indices of parallel links
    /// are as in the names of ports. // TOP-05
    #[must_use]
    pub fn link_name(&self, link: LinkId) -> String {
        self.name_of_ends(link, "--")
    }

    fn name_of_ends(&self, link: LinkId, between: &str) -> String {
        let (node, peer) = (self.sender(link), self.peer[link]);
        let name = format!("{}{between}{}", self.name(node), self.name(peer));
        // Parallel links have the same order at both ends (TOP-03).
        match self.links_to(node, peer).count() {
            1 => name,
            _ => {
                let before = self.links_to(node, peer).filter(|&other| other < link);
                format!("{name}#{}", before.count() + 1)
            }
        }
    }

    /// Returns the number of ports of a node.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> u16 {
        self.links_of(node).len() as u16
    }

    /// Returns the links on which a node sends, in the order of its ports. For a host, these are
    /// its endpoints.
    pub fn links_of(&self, node: NodeId) -> Ids<LinkId> {
        let links = self.first_link[node].bits()..self.first_link_behind(node).bits();
        links.map(LinkId::from_bits)
    }

    /// Returns the link of port 0 of the next node.
    pub(super) fn first_link_behind(&self, node: NodeId) -> LinkId {
        self.first_link[NodeId::from_bits(node.bits() + 1)]
    }

    /// Returns the rate and the delay of the link at each port of a node.
    #[must_use]
    pub fn rates_and_delays(&self, node: NodeId) -> Vec<(Rate, Time)> {
        let ports = self.links_of(node).map(|link| self.port(link));
        ports.map(|port| (port.rate, port.delay_ps)).collect()
    }

    /// Returns the link on which a node's port sends.
    #[must_use]
    pub fn link(&self, node: NodeId, port: u16) -> LinkId {
        self.first_link[node].at_port(port)
    }

    /// Returns the link on which a port of a switch sends. `switch` is the index among the
    /// switches.
    #[must_use]
    pub fn switch_link(&self, switch: u32, port: u16) -> LinkId {
        self.link(self.switch_node(switch), port)
    }

    /// Returns the link of a node's port 0.
    #[must_use]
    pub fn first_link(&self, node: NodeId) -> LinkId {
        self.first_link[node]
    }

    /// Returns the port that sends on a link.
    #[must_use]
    pub fn port(&self, link: LinkId) -> Port {
        let LinkSpec { rate, delay_ps, .. } = self.link_spec(self.link_kind[link]);
        Port {
            peer: self.peer[link],
            peer_port: self.peer_port[link],
            rate,
            delay_ps,
        }
    }

    /// Returns the probability that a frame is lost on a link. // TOP-20
    #[must_use]
    pub fn loss(&self, link: LinkId) -> Loss {
        self.link_spec(self.link_kind[link]).loss
    }

    /// Returns the other direction of a link.
    #[must_use]
    pub fn reverse(&self, link: LinkId) -> LinkId {
        self.link(self.peer[link], self.peer_port[link])
    }

    /// Returns the node that sends on a link.
    #[must_use]
    pub fn sender(&self, link: LinkId) -> NodeId {
        NodeId::new(self.first_link.partition_point(|&first| first <= link) - 1)
    }

    /// Returns the host of an endpoint.
    #[must_use]
    pub fn host_of(&self, endpoint: LinkId) -> NodeId {
        if self.endpoints() == self.hosts {
            NodeId::from_bits(endpoint.bits())
        } else {
            self.sender(endpoint)
        }
    }

    /// Returns the switch to which an endpoint is linked, as an index among the switches. The
    /// endpoint must not be the end of a host-to-host link ([`Graph::is_cable`]).
    #[must_use]
    pub fn switch_of(&self, endpoint: LinkId) -> u32 {
        self.fabric_peer(endpoint)
    }

    /// Returns true if an endpoint is linked to the scale-up switch of its server.
    #[must_use]
    pub fn is_scale_up(&self, endpoint: LinkId) -> bool {
        !self.is_cable(endpoint) && self.is_scale_up_switch(self.switch_of(endpoint))
    }

    /// Returns true if a switch, given by its index among the switches, is the scale-up switch of a
    /// server.
    #[must_use]
    pub fn is_scale_up_switch(&self, switch: u32) -> bool {
        self.scale_up.get(switch as usize).copied().unwrap_or(false)
    }

    /// Returns the plane of an endpoint. Endpoints of one plane reach each other while all links
    /// are up. A link between two hosts is a separate plane. // TOP-06
    #[must_use]
    pub fn plane_of(&self, endpoint: LinkId) -> u32 {
        if self.is_cable(endpoint) {
            return self.switches + endpoint.min(self.reverse(endpoint)).bits();
        }
        self.plane[self.switch_of(endpoint) as usize]
    }

    /// Returns the rack of a host. Hosts that are connected to the same switches are in the same
    /// rack.
    // TOP-13
    #[must_use]
    pub fn rack_of(&self, host: NodeId) -> u32 {
        match self.rack.get(host.index()) {
            Some(&rack) => rack,
            None => self.switch_of(self.first_link[host]),
        }
    }

    /// Returns the number of groups. Each switch with hosts is a group.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.group_switch.len() as u32
    }

    /// Returns the switch of a group, as an index among the switches.
    #[must_use]
    pub fn group_switch(&self, group: u32) -> u32 {
        self.group_switch[group as usize]
    }

    /// Returns the group of a switch, given its index among the switches; `None`: no hosts are
    /// connected to it.
    #[must_use]
    pub fn group_of_switch(&self, switch: u32) -> Option<u32> {
        let group = self.group[switch as usize];
        (group != NONE).then_some(group)
    }

    /// Returns the group of an endpoint, which must not be the end of a host-to-host link.
    #[must_use]
    pub fn group_of(&self, endpoint: LinkId) -> u32 {
        self.group[self.switch_of(endpoint) as usize]
    }

    /// Returns the endpoints that are linked to a switch, in the order of its ports. `switch` is
    /// the index among the switches.
    pub fn endpoints_on(&self, switch: u32) -> impl Iterator<Item = LinkId> + '_ {
        let first = self.first_link[self.switch_node(switch)].bits();
        let links = first..self.first_fabric_link[switch as usize].bits();
        links.map(|link| self.reverse(LinkId::from_bits(link)))
    }

    /// Returns the links of a switch to other switches. `switch` is the index among the switches.
    pub(crate) fn fabric_links(&self, switch: u32) -> Ids<LinkId> {
        let end = self.first_link_behind(self.switch_node(switch));
        (self.first_fabric_link[switch as usize].bits()..end.bits()).map(LinkId::from_bits)
    }

    /// Returns the links of a switch to other switches, except links that are down.
    pub(crate) fn live_links(&self, switch: u32) -> impl Iterator<Item = LinkId> + '_ {
        self.fabric_links(switch)
            .filter(|&link| !self.is_down(link))
    }

    /// Returns the switch at the other end of a link to a switch, as an index among the switches.
    pub(crate) fn fabric_peer(&self, link: LinkId) -> u32 {
        self.peer[link].bits() - self.hosts
    }

    /// Returns the index of the kind of a link, for [`Graph::link_spec`].
    pub(crate) fn link_kind(&self, link: LinkId) -> u32 {
        self.link_kind[link]
    }

    /// Returns rate, delay and loss of a kind of link, given its index.
    pub(crate) fn link_spec(&self, kind: u32) -> LinkSpec {
        self.links[kind as usize]
    }

    /// Returns true if the topology is regular: the paths between two racks depend only on whether
    /// they are the same, or in the same pod.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.pod_racks.is_some()
    }

    /// Returns, for a regular topology, a group whose position relative to group 0 is the same as
    /// that of `to` relative to `from`.
    pub(crate) fn like_pair(&self, from: u32, to: u32) -> Option<u32> {
        let racks = self.pod_racks?;
        Some(match () {
            () if from == to => 0,
            () if from / racks == to / racks => 1,
            () => racks,
        })
    }
}
