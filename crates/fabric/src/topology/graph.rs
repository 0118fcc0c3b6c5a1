//! A network as nodes and ports, compiled from a [`TopologySpec`](super::TopologySpec).
//!
//! Nodes are numbered hosts first, then switches. All ports of all nodes stand in one list, node
//! by node, so a port has a number in the network (its *port index*) besides its number at the
//! node. The ports of hosts come first in that list and are the *endpoints* of traffic: the index
//! of an endpoint is its port index. // TOP-01

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;

use dataplane::units::{NS, Rate, Time};

use super::plan::{Names, Plan};
use super::{LinkSpec, Loss, TopologyError};

/// No group, no node, not reached.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows; forwards nothing.
    Host,
    /// Forwards.
    Switch,
}

/// A port, seen from the node that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Node at the other end of the link.
    pub peer: u32,
    /// Port of that node.
    pub peer_port: u16,
    /// Speed of each direction.
    pub rate: Rate,
    /// One-way propagation delay in ps.
    pub delay_ps: Time,
}

/// The compiled network.
#[derive(Clone)]
pub struct Graph {
    shape: &'static str,
    hosts: u32,
    switches: u32,
    /// Port index of each node's first port, and at the end the number of ports.
    port_base: Vec<u32>,
    peer: Vec<u32>,
    peer_port: Vec<u16>,
    /// Per port, which of `links`.
    link: Vec<u32>,
    /// Distinct kinds of links.
    links: Vec<LinkSpec>,
    /// Per switch, port index of its first port that leads to a switch; those to hosts lie before.
    fabric_base: Vec<u32>,
    /// Per switch, distance to the nearest host.
    tier: Vec<u32>,
    /// Per switch its group, or [`NONE`].
    group: Vec<u32>,
    /// Per group its switch.
    group_switch: Vec<u32>,
    /// Per host its rack, where hosts have several ports; else empty.
    rack: Vec<u32>,
    /// Per switch, whether it is the scale-up domain of a server; empty: none is.
    scale_up: Vec<bool>,
    /// Per switch its plane: switches of one plane reach each other through switches.
    plane: Vec<u32>,
    names: Names,
    /// Racks of a pod, in a regular shape.
    pod_racks: Option<u32>,
    /// Per port, whether its link is taken to be down; empty: none is.
    down: Vec<bool>,
    /// True if a link joins two hosts.
    has_cables: bool,
}

/// In short: a network of any size prints one line.
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

/// The links of each node, in the order of the plan: what ports are made of.
struct Slots {
    base: Vec<u32>,
    edge: Vec<u32>,
}

impl Slots {
    fn new(plan: &Plan) -> Result<Self, TopologyError> {
        let nodes = (plan.hosts + plan.switches) as usize;
        let mut base = vec![0u32; nodes + 1];
        for edge in &plan.edges {
            base[edge.a as usize + 1] += 1;
            base[edge.b as usize + 1] += 1;
        }
        if let Some(node) = base[1..]
            .iter()
            .position(|&ports| ports > u32::from(u16::MAX))
        {
            let (ports, node) = (base[node + 1], plan.names.of(node as u32));
            return Err(TopologyError::TooManyPorts { node, ports });
        }
        if let Some(node) = base[1..].iter().position(|&ports| ports == 0) {
            return Err(TopologyError::NoLink {
                node: plan.names.of(node as u32),
            });
        }
        for node in 0..nodes {
            base[node + 1] += base[node];
        }
        let mut next = base.clone();
        let mut slots = vec![0; 2 * plan.edges.len()];
        for (number, edge) in plan.edges.iter().enumerate() {
            for node in [edge.a, edge.b] {
                let place = &mut next[node as usize];
                slots[*place as usize] = number as u32;
                *place += 1;
            }
        }
        Ok(Self { base, edge: slots })
    }

    fn of(&self, node: u32) -> Range<usize> {
        self.base[node as usize] as usize..self.base[node as usize + 1] as usize
    }

    /// Distance of every node to its nearest host; [`NONE`] where there is no way.
    fn tiers(&self, plan: &Plan) -> Vec<u32> {
        let mut tier = vec![NONE; (plan.hosts + plan.switches) as usize];
        let mut queue: VecDeque<u32> = (0..plan.hosts).collect();
        tier[..plan.hosts as usize].fill(0);
        while let Some(node) = queue.pop_front() {
            for slot in self.of(node) {
                let peer = other_end(plan, self.edge[slot], node);
                if tier[peer as usize] == NONE {
                    tier[peer as usize] = tier[node as usize] + 1;
                    queue.push_back(peer);
                }
            }
        }
        tier
    }

    /// Sorts the ports of switches: down, then sideways, then up; each in the order of the plan. // TOP-03
    fn sort(&mut self, plan: &Plan, tier: &[u32]) {
        for node in plan.hosts..plan.hosts + plan.switches {
            let range = self.of(node);
            self.edge[range].sort_by_key(|&edge| {
                tier[other_end(plan, edge, node) as usize].cmp(&tier[node as usize])
            });
        }
    }
}

fn other_end(plan: &Plan, edge: u32, node: u32) -> u32 {
    let edge = plan.edges[edge as usize];
    if edge.a == node { edge.b } else { edge.a }
}

impl Graph {
    pub(super) fn compile(plan: Plan) -> Result<Self, TopologyError> {
        let mut slots = Slots::new(&plan)?;
        let tier = slots.tiers(&plan);
        slots.sort(&plan, &tier);

        // Port number of each end of each link.
        let mut ends = vec![[0u16; 2]; plan.edges.len()];
        for node in 0..plan.hosts + plan.switches {
            for (port, slot) in slots.of(node).enumerate() {
                let edge = slots.edge[slot] as usize;
                ends[edge][usize::from(plan.edges[edge].a != node)] = port as u16;
            }
        }
        let ports = slots.edge.len();
        let mut peer = Vec::with_capacity(ports);
        let mut peer_port = Vec::with_capacity(ports);
        let mut link = Vec::with_capacity(ports);
        for node in 0..plan.hosts + plan.switches {
            for slot in slots.of(node) {
                let number = slots.edge[slot] as usize;
                let edge = plan.edges[number];
                peer.push(other_end(&plan, number as u32, node));
                peer_port.push(ends[number][usize::from(edge.a == node)]);
                link.push(edge.link);
            }
        }
        let mut graph = Self {
            shape: plan.shape,
            hosts: plan.hosts,
            switches: plan.switches,
            port_base: slots.base,
            peer,
            peer_port,
            link,
            links: plan.links,
            fabric_base: Vec::new(),
            tier: tier[plan.hosts as usize..].to_vec(),
            group: Vec::new(),
            group_switch: Vec::new(),
            rack: Vec::new(),
            scale_up: Vec::new(),
            plane: Vec::new(),
            names: plan.names,
            pod_racks: plan.pod_racks,
            down: Vec::new(),
            has_cables: false,
        };
        graph.has_cables = (0..graph.endpoints()).any(|endpoint| graph.is_cable(endpoint));
        if !plan.scale_up.is_empty() {
            graph.scale_up = vec![false; plan.switches as usize];
            for switch in plan.scale_up {
                graph.scale_up[switch as usize] = true;
            }
        }
        graph.find_groups();
        graph.find_racks();
        graph.find_planes();
        graph.check_connected()?;
        Ok(graph)
    }

    /// Numbers the switches that have hosts.
    fn find_groups(&mut self) {
        for switch in 0..self.switches {
            let ports = self.port_range(self.hosts + switch);
            let with_hosts = self.peer[ports.clone()].partition_point(|&peer| peer < self.hosts);
            self.fabric_base.push((ports.start + with_hosts) as u32);
            if with_hosts > 0 {
                self.group.push(self.group_switch.len() as u32);
                self.group_switch.push(switch);
            } else {
                self.group.push(NONE);
            }
        }
    }

    /// Numbers the sets of switches that hosts hang on, where there is more than one port to a
    /// host. The switch of a server belongs to no rack. // TOP-13
    fn find_racks(&mut self) {
        if self.endpoints() == self.hosts && !self.has_cables {
            return;
        }
        let mut number = BTreeMap::new();
        for host in 0..self.hosts {
            let mut switches: Vec<u32> = self
                .endpoints_of(host)
                .filter(|&endpoint| !self.is_scale_up(endpoint) && !self.is_cable(endpoint))
                .map(|endpoint| self.switch_of(endpoint))
                .collect();
            switches.sort_unstable();
            switches.dedup();
            if switches.is_empty() && self.has_cables {
                switches.push(self.hosts + self.switches + host); // a rack of its own
            }
            let next = number.len() as u32;
            self.rack.push(*number.entry(switches).or_insert(next));
        }
    }

    /// Numbers the sets of switches that reach each other through switches.
    fn find_planes(&mut self) {
        self.plane = vec![NONE; self.switches as usize];
        let mut planes = 0;
        for first in 0..self.switches {
            if self.plane[first as usize] != NONE {
                continue;
            }
            self.plane[first as usize] = planes;
            let mut open = vec![first];
            while let Some(switch) = open.pop() {
                for port in self.fabric_ports(switch) {
                    let peer = self.peer[port] - self.hosts;
                    if self.plane[peer as usize] == NONE {
                        self.plane[peer as usize] = planes;
                        open.push(peer);
                    }
                }
            }
            planes += 1;
        }
    }

    /// Refuses hosts that have no plane in common, and planes of switches that join no two hosts. Where
    /// links join hosts, two hosts may be apart: a scenario is refused if its traffic needs them. // TOP-06
    fn check_connected(&self) -> Result<(), TopologyError> {
        if !self.has_cables
            && let Some((from, host)) = self.first_apart()
        {
            let port = self.port_base[host as usize];
            return Err(TopologyError::Unreachable {
                host: self.name(host),
                switch: self.name(self.hosts + self.switch_of(port)),
                from: self.name(from),
            });
        }
        let hosts_in = self.hosts_in_planes();
        match self
            .plane
            .iter()
            .position(|&plane| hosts_in[plane as usize] < 2)
        {
            Some(switch) => Err(TopologyError::StraySwitch {
                switch: self.name(self.hosts + switch as u32),
            }),
            None => Ok(()),
        }
    }

    /// The planes in which a host has ports, ascending.
    fn planes_of(&self, host: u32) -> Vec<u32> {
        let mut of: Vec<u32> = self.endpoints_of(host).map(|e| self.plane_of(e)).collect();
        of.sort_unstable();
        of.dedup();
        of
    }

    /// Hosts in each plane of switches.
    fn hosts_in_planes(&self) -> Vec<u32> {
        let planes = self.plane.iter().max().map_or(0, |&last| last as usize + 1);
        let mut hosts_in = vec![0u32; planes];
        for host in 0..self.hosts {
            for plane in self.planes_of(host) {
                // The planes of cables come behind.
                if let Some(hosts) = hosts_in.get_mut(plane as usize) {
                    *hosts += 1;
                }
            }
        }
        hosts_in
    }

    /// Two hosts that have no plane in common, if there are any.
    #[must_use]
    pub fn first_apart(&self) -> Option<(u32, u32)> {
        let hosts_in = self.hosts_in_planes();
        // In nearly all networks one plane has all hosts; the others are compared one by one.
        let widest = (0..hosts_in.len() as u32)
            .rev()
            .max_by_key(|&p| hosts_in[p as usize])
            .unwrap_or(NONE);
        (0..self.hosts)
            .filter(|&host| !self.planes_of(host).contains(&widest))
            .find_map(|host| {
                let other = (0..self.hosts).find(|&other| !self.reach_each_other(host, other))?;
                Some((host.min(other), host.max(other)))
            })
    }

    /// True if two hosts have a plane in common, or are one host.
    #[must_use]
    pub fn reach_each_other(&self, a: u32, b: u32) -> bool {
        let planes = self.planes_of(a);
        a == b || (self.endpoints_of(b)).any(|end| planes.contains(&self.plane_of(end)))
    }

    /// True if a link joins two hosts.
    #[must_use]
    pub const fn has_cables(&self) -> bool {
        self.has_cables
    }

    /// True if the link of an endpoint leads to another host.
    #[must_use]
    pub fn is_cable(&self, endpoint: u32) -> bool {
        self.peer[endpoint as usize] < self.hosts
    }

    /// The same network as routing sees it while these links (each by the port index of one of its
    /// ends) are down. Nodes and ports keep their numbers.
    // LNK-10
    #[must_use]
    pub fn without(&self, links: &[u32]) -> Self {
        let mut graph = self.clone();
        if links.is_empty() {
            return graph;
        }
        graph.down.resize(self.peer.len(), false);
        for &link in links {
            graph.down[link as usize] = true;
            graph.down[self.peer_index(link as usize)] = true;
        }
        graph.pod_racks = None; // no pair of racks stands for another any more
        graph
    }

    /// The same network, with delays cut to whole nanoseconds.
    // NS3-01
    #[must_use]
    pub fn cut_delays(mut self) -> Self {
        for link in &mut self.links {
            link.delay_ps -= link.delay_ps % NS;
        }
        self
    }

    /// The same network with every link up.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self {
            down: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether the link at a port is taken to be down.
    #[must_use]
    pub fn is_down(&self, index: usize) -> bool {
        self.down.get(index).copied().unwrap_or(false)
    }

    /// Whether any link is taken to be down.
    #[must_use]
    pub fn lacks_links(&self) -> bool {
        !self.down.is_empty()
    }

    /// The shape, as scenarios call it.
    #[must_use]
    pub fn shape(&self) -> &'static str {
        self.shape
    }

    /// Number of hosts; they are the nodes `0..hosts`.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of switches; they are the nodes `hosts..nodes`.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.switches
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.hosts + self.switches
    }

    /// Number of links; each has two directions.
    #[must_use]
    pub fn link_count(&self) -> u32 {
        self.peer.len() as u32 / 2
    }

    /// Number of ports of all nodes together.
    #[must_use]
    pub fn port_count(&self) -> u32 {
        self.peer.len() as u32
    }

    /// Number of endpoints (ports of hosts).
    #[must_use]
    pub fn endpoints(&self) -> u32 {
        self.port_base[self.hosts as usize]
    }

    /// Whether a node is a host or a switch.
    #[must_use]
    pub fn kind(&self, node: u32) -> NodeKind {
        if node < self.hosts {
            NodeKind::Host
        } else {
            NodeKind::Switch
        }
    }

    /// Distance of a node to its nearest host: 0 for hosts, 1 for switches with hosts. // TOP-04
    #[must_use]
    pub fn tier(&self, node: u32) -> u32 {
        if node < self.hosts {
            0
        } else {
            self.tier[(node - self.hosts) as usize]
        }
    }

    /// Name of a node, such as `host17` or `leaf3`.
    #[must_use]
    pub fn name(&self, node: u32) -> String {
        self.names.of(node)
    }

    /// The node of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        self.names.find(name)
    }

    /// Ports of a node that lead to another, by port index.
    pub fn ports_to(&self, from: u32, to: u32) -> impl Iterator<Item = usize> + '_ {
        self.port_range(from)
            .filter(move |&index| self.peer[index] == to)
    }

    /// Name of a port: `leaf0->spine1`; where several links join the two nodes, `leaf0->spine1#2` for
    /// the second of them. // TOP-05
    #[must_use]
    pub fn port_name(&self, index: usize) -> String {
        self.name_of_ends(index, "->")
    }

    /// Name of the link at a port: `leaf0--spine1`, with the same numbers as ports. // TOP-05
    #[must_use]
    pub fn link_name(&self, index: usize) -> String {
        self.name_of_ends(index, "--")
    }

    fn name_of_ends(&self, index: usize, between: &str) -> String {
        let (node, peer) = (self.node_of_port(index), self.peer[index]);
        let name = format!("{}{between}{}", self.name(node), self.name(peer));
        // Both ends have these links in the order of the list (TOP-03).
        match self.ports_to(node, peer).count() {
            1 => name,
            _ => {
                let before = self.ports_to(node, peer).filter(|&other| other < index);
                format!("{name}#{}", before.count() + 1)
            }
        }
    }

    /// Number of ports of a node.
    #[must_use]
    pub fn ports(&self, node: u32) -> u16 {
        self.port_range(node).len() as u16
    }

    /// Port indices of a node's ports.
    #[must_use]
    pub fn port_range(&self, node: u32) -> Range<usize> {
        self.port_base[node as usize] as usize..self.port_base[node as usize + 1] as usize
    }

    /// Rate and delay of the link of each port of a node.
    #[must_use]
    pub fn links(&self, node: u32) -> Vec<(Rate, Time)> {
        let ports = self.port_range(node).map(|index| self.port(index));
        ports.map(|port| (port.rate, port.delay_ps)).collect()
    }

    /// Port index of a node's port.
    #[must_use]
    pub fn port_index(&self, node: u32, port: u16) -> usize {
        self.port_base[node as usize] as usize + usize::from(port)
    }

    /// A port by its index.
    #[must_use]
    pub fn port(&self, index: usize) -> Port {
        let LinkSpec { rate, delay_ps, .. } = self.links[self.link[index] as usize];
        Port {
            peer: self.peer[index],
            peer_port: self.peer_port[index],
            rate,
            delay_ps,
        }
    }

    /// How likely a frame is lost that leaves by this port. // TOP-20
    #[must_use]
    pub fn loss(&self, index: usize) -> Loss {
        self.links[self.link[index] as usize].loss
    }

    /// Port index of the other end of a port's link.
    #[must_use]
    pub fn peer_index(&self, index: usize) -> usize {
        self.port_index(self.peer[index], self.peer_port[index])
    }

    /// Node that owns a port.
    #[must_use]
    pub fn node_of_port(&self, index: usize) -> u32 {
        self.port_base
            .partition_point(|&base| base as usize <= index) as u32
            - 1
    }

    /// Host of an endpoint.
    #[must_use]
    pub fn host_of(&self, endpoint: u32) -> u32 {
        if self.endpoints() == self.hosts {
            endpoint
        } else {
            self.node_of_port(endpoint as usize)
        }
    }

    /// Endpoints of a host; a flow uses one of them.
    #[must_use]
    pub fn endpoints_of(&self, host: u32) -> Range<u32> {
        self.port_base[host as usize]..self.port_base[host as usize + 1]
    }

    /// Switch (counted among switches) to which an endpoint is linked. The endpoint must not be the end
    /// of a cable ([`Graph::is_cable`]).
    #[must_use]
    pub fn switch_of(&self, endpoint: u32) -> u32 {
        self.peer[endpoint as usize] - self.hosts
    }

    /// Whether an endpoint hangs on the switch of its server.
    #[must_use]
    pub fn is_scale_up(&self, endpoint: u32) -> bool {
        !self.is_cable(endpoint) && self.is_scale_up_switch(self.switch_of(endpoint))
    }

    /// Whether a switch (counted among switches) is the scale-up domain of a server.
    #[must_use]
    pub fn is_scale_up_switch(&self, switch: u32) -> bool {
        self.scale_up.get(switch as usize).copied().unwrap_or(false)
    }

    /// Plane of an endpoint. Endpoints of one plane reach each other, while all links are up. A link
    /// between two hosts is a plane of its own. // TOP-06
    #[must_use]
    pub fn plane_of(&self, endpoint: u32) -> u32 {
        if self.is_cable(endpoint) {
            let other = self.peer_index(endpoint as usize) as u32;
            return self.switches + endpoint.min(other);
        }
        self.plane[self.switch_of(endpoint) as usize]
    }

    /// Rack of a host: hosts that hang on the same switches share one. // TOP-13
    #[must_use]
    pub fn rack_of(&self, host: u32) -> u32 {
        match self.rack.get(host as usize) {
            Some(&rack) => rack,
            None => self.switch_of(self.port_base[host as usize]),
        }
    }

    /// Number of groups: switches with hosts.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.group_switch.len() as u32
    }

    /// Switch (counted among switches) of a group.
    #[must_use]
    pub fn group_switch(&self, group: u32) -> u32 {
        self.group_switch[group as usize]
    }

    /// Group of a switch (counted among switches), if hosts hang on it.
    #[must_use]
    pub fn group_of_switch(&self, switch: u32) -> Option<u32> {
        let group = self.group[switch as usize];
        (group != NONE).then_some(group)
    }

    /// Group of an endpoint, which must not be the end of a cable.
    #[must_use]
    pub fn group_of(&self, endpoint: u32) -> u32 {
        self.group[self.switch_of(endpoint) as usize]
    }

    /// Endpoints that hang on a switch (counted among switches), in the order of its ports.
    pub fn endpoints_on(&self, switch: u32) -> impl Iterator<Item = u32> + '_ {
        let start = self.port_base[(self.hosts + switch) as usize];
        (start..self.fabric_base[switch as usize]).map(|port| self.peer_index(port as usize) as u32)
    }

    /// Port indices of a switch's (counted among switches) ports that lead to switches.
    pub(crate) fn fabric_ports(&self, switch: u32) -> Range<usize> {
        self.fabric_base[switch as usize] as usize
            ..self.port_base[(self.hosts + switch) as usize + 1] as usize
    }

    /// Those of them whose link is up.
    pub(crate) fn live_ports(&self, switch: u32) -> impl Iterator<Item = usize> + '_ {
        self.fabric_ports(switch)
            .filter(|&index| !self.is_down(index))
    }

    /// Switch (counted among switches) at the other end of a port that leads to one.
    pub(crate) fn fabric_peer(&self, index: usize) -> u32 {
        self.peer[index] - self.hosts
    }

    /// Kind of link at a port, an index for [`Graph::link_spec`].
    pub(crate) fn link_kind(&self, index: usize) -> u32 {
        self.link[index]
    }

    /// Rate and delay of a kind of link.
    pub(crate) fn link_spec(&self, kind: u32) -> LinkSpec {
        self.links[kind as usize]
    }

    /// Whether this is a regular shape, in which pairs of nodes at equal distances are alike.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.pod_racks.is_some()
    }

    /// In a regular shape: a group that lies to group 0 as `to` lies to `from`.
    pub(crate) fn like_pair(&self, from: u32, to: u32) -> Option<u32> {
        let racks = self.pod_racks?;
        Some(match () {
            () if from == to => 0,
            () if from / racks == to / racks => 1,
            () => racks,
        })
    }
}
