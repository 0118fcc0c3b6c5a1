//! Compiles a plan of nodes and links into a [`Graph`].

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use dataplane::ids::IndexVec;

use super::TopologyError;
use super::graph::{Graph, NONE};
use super::plan::Plan;
use crate::ids::{LinkId, NodeId};

/// The links of each node, in the order of the plan. The index of a link becomes the index of the
/// port.
struct Slots {
    base: IndexVec<NodeId, LinkId>,
    edge: Vec<u32>,
}

impl Slots {
    fn new(plan: &Plan) -> Result<Self, TopologyError> {
        let nodes = (plan.hosts + plan.switches) as usize;
        let mut base = vec![0u32; nodes + 1];
        for edge in &plan.edges {
            base[edge.a.index() + 1] += 1;
            base[edge.b.index() + 1] += 1;
        }
        if let Some(node) = base[1..]
            .iter()
            .position(|&ports| ports > u32::from(u16::MAX))
        {
            let (ports, node) = (base[node + 1], plan.names.of(NodeId::new(node)));
            return Err(TopologyError::TooManyPorts { node, ports });
        }
        if let Some(node) = base[1..].iter().position(|&ports| ports == 0) {
            return Err(TopologyError::NoLink {
                node: plan.names.of(NodeId::new(node)),
            });
        }
        for node in 0..nodes {
            base[node + 1] += base[node];
        }
        let mut next = base.clone();
        let mut slots = vec![0; 2 * plan.edges.len()];
        for (number, edge) in plan.edges.iter().enumerate() {
            for node in [edge.a, edge.b] {
                let place = &mut next[node.index()];
                slots[*place as usize] = number as u32;
                *place += 1;
            }
        }
        Ok(Self {
            base: base.into_iter().map(LinkId::from_bits).collect(),
            edge: slots,
        })
    }

    fn of(&self, node: NodeId) -> Range<usize> {
        self.base[node].index()..self.base[NodeId::new(node.index() + 1)].index()
    }

    /// Returns the distance of every node to its nearest host, in links; [`NONE`] if there is no
    /// path.
    fn tiers(&self, plan: &Plan) -> IndexVec<NodeId, u32> {
        let mut tier = IndexVec::from(vec![NONE; (plan.hosts + plan.switches) as usize]);
        let mut queue: VecDeque<NodeId> = (0..plan.hosts).map(NodeId::from_bits).collect();
        tier.as_mut_slice()[..plan.hosts as usize].fill(0);
        while let Some(node) = queue.pop_front() {
            for slot in self.of(node) {
                let peer = other_end(plan, self.edge[slot], node);
                if tier[peer] == NONE {
                    tier[peer] = tier[node] + 1;
                    queue.push_back(peer);
                }
            }
        }
        tier
    }

    /// Sorts the ports of each switch: links to lower tiers first, then the same tier, then higher
    /// tiers. Ports of one kind keep the order of the plan.
    // TOP-03
    fn sort(&mut self, plan: &Plan, tier: &IndexVec<NodeId, u32>) {
        for node in (plan.hosts..plan.hosts + plan.switches).map(NodeId::from_bits) {
            let range = self.of(node);
            self.edge[range]
                .sort_by_key(|&edge| tier[other_end(plan, edge, node)].cmp(&tier[node]));
        }
    }
}

fn other_end(plan: &Plan, edge: u32, node: NodeId) -> NodeId {
    let edge = plan.edges[edge as usize];
    if edge.a == node { edge.b } else { edge.a }
}

impl Plan {
    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.hosts + self.switches).map(NodeId::from_bits)
    }
}

impl Graph {
    pub(super) fn compile(plan: Plan) -> Result<Self, TopologyError> {
        let mut slots = Slots::new(&plan)?;
        let tier = slots.tiers(&plan);
        slots.sort(&plan, &tier);

        // Port index at both ends of each link.
        let mut ends = vec![[0u16; 2]; plan.edges.len()];
        for node in plan.nodes() {
            for (port, slot) in slots.of(node).enumerate() {
                let edge = slots.edge[slot] as usize;
                ends[edge][usize::from(plan.edges[edge].a != node)] = port as u16;
            }
        }
        let ports = slots.edge.len();
        let mut peer = Vec::with_capacity(ports);
        let mut peer_port = Vec::with_capacity(ports);
        let mut link_kind = Vec::with_capacity(ports);
        for node in plan.nodes() {
            for slot in slots.of(node) {
                let number = slots.edge[slot] as usize;
                let edge = plan.edges[number];
                peer.push(other_end(&plan, number as u32, node));
                peer_port.push(ends[number][usize::from(edge.a == node)]);
                link_kind.push(edge.link);
            }
        }
        let mut graph = Self {
            shape: plan.shape,
            hosts: plan.hosts,
            switches: plan.switches,
            first_link: slots.base,
            peer: peer.into(),
            peer_port: peer_port.into(),
            link_kind: link_kind.into(),
            links: plan.links,
            first_fabric_link: Vec::new(),
            tier: tier.as_slice()[plan.hosts as usize..].to_vec(),
            group: Vec::new(),
            group_switch: Vec::new(),
            rack: Vec::new().into(),
            scale_up: Vec::new(),
            plane: Vec::new(),
            names: plan.names,
            pod_racks: plan.pod_racks,
            down: Vec::new().into(),
            has_cables: false,
        };
        graph.has_cables = graph
            .endpoint_ids()
            .any(|endpoint| graph.is_cable(endpoint));
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

    /// Assigns group indices to the switches that have hosts.
    fn find_groups(&mut self) {
        for switch in 0..self.switches {
            let mut ports = self.links_of(self.switch_node(switch));
            let first = ports.clone().find(|&link| !self.is_host(self.peer[link]));
            let with_hosts = ports.next() != first;
            let end = self.first_link_behind(self.switch_node(switch));
            self.first_fabric_link.push(first.unwrap_or(end));
            if with_hosts {
                self.group.push(self.group_switch.len() as u32);
                self.group_switch.push(switch);
            } else {
                self.group.push(NONE);
            }
        }
    }

    /// Assigns rack indices to the sets of switches to which hosts are connected, if hosts have
    /// several ports. The scale-up switch of a server belongs to no rack. // TOP-13
    fn find_racks(&mut self) {
        if self.endpoints() == self.hosts && !self.has_cables {
            return;
        }
        let mut number = BTreeMap::new();
        for host in self.host_ids() {
            let mut switches: Vec<u32> = self
                .links_of(host)
                .filter(|&endpoint| !self.is_scale_up(endpoint) && !self.is_cable(endpoint))
                .map(|endpoint| self.switch_of(endpoint))
                .collect();
            switches.sort_unstable();
            switches.dedup();
            if switches.is_empty() && self.has_cables {
                switches.push(self.nodes() + host.bits()); // a separate rack
            }
            let next = number.len() as u32;
            self.rack.push(*number.entry(switches).or_insert(next));
        }
    }

    /// Assigns plane indices to the sets of switches that reach each other through switches.
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
                for port in self.fabric_links(switch) {
                    let peer = self.fabric_peer(port);
                    if self.plane[peer as usize] == NONE {
                        self.plane[peer as usize] = planes;
                        open.push(peer);
                    }
                }
            }
            planes += 1;
        }
    }

    /// Returns an error for hosts without a common plane, and for planes of switches that do not
    /// connect two hosts.
    ///
    /// If links connect hosts directly, two hosts may be unconnected. A scenario is refused only if
    /// its traffic needs a path between them.
    // TOP-06
    fn check_connected(&self) -> Result<(), TopologyError> {
        if !self.has_cables
            && let Some((from, host)) = self.first_apart()
        {
            let switch = self.switch_of(self.first_link[host]);
            return Err(TopologyError::Unreachable {
                host: self.name(host),
                switch: self.name(self.switch_node(switch)),
                from: self.name(from),
            });
        }
        let hosts_in = self.hosts_in_planes();
        let stray = self
            .plane
            .iter()
            .position(|&plane| hosts_in[plane as usize] < 2);
        match stray {
            Some(switch) => Err(TopologyError::StraySwitch {
                switch: self.name(self.switch_node(switch as u32)),
            }),
            None => Ok(()),
        }
    }
}
