//! Backpressure graph: which egress port can pause which other one. It finds cycles, and the edges
//! to remove so that there are no cycles (BFC-35).
//!
//! A node is an egress port of a switch. If packets go from port A to port B in one hop, B can
//! pause A. A network whose graph has no cycle cannot deadlock.

use dataplane::ids::IndexVec;
use dataplane::route::Routes;
use dataplane::switch::Pairs;

use crate::ids::LinkId;
use crate::topology::{Graph, NodeKind};

/// One edge: packets enter `switch` by `ingress` and leave by `egress`, so the egress can pause the
/// port at the other end of the link of the ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Index of the switch among the switches.
    pub switch: u32,
    /// Port by which packets enter the switch.
    pub ingress: u16,
    /// Port by which the packets leave the switch.
    pub egress: u16,
}

/// The backpressure graph of a network with its routes.
#[derive(Clone, Debug)]
pub struct BackpressureGraph {
    /// Per switch, the pairs (ingress, egress) of ports that at least one route uses.
    pub used: Vec<Pairs>,
    /// Number of nodes of the graph, which are the egress ports of switches.
    pub nodes: u64,
    /// Number of edges of the graph.
    pub edges: u64,
    /// Cycles: maximal sets of ports (by their links) in which every port can wait for every other,
    /// directly or indirectly. Ordered by their first ports.
    pub cycles: Vec<Vec<LinkId>>,
    /// Edges that were removed so that the graph has no cycle.
    pub removed: Vec<Edge>,
}

/// The graph of ports between switches. Only these ports can be part of a cycle.
struct Fabric<'a> {
    graph: &'a Graph,
    used: &'a [Pairs],
    /// Ports by their links. Other lists refer to a port by its index here.
    ports: Vec<LinkId>,
    /// Index in `ports` of the port that sends on each link; `u32::MAX` if the port is not in
    /// `ports`.
    place: IndexVec<LinkId, u32>,
    /// Edges that have been removed, in the order of removal.
    removed: Vec<Edge>,
}

/// A port on the path of a depth-first search: its index, its outgoing edges, and the number of
/// edges that have been visited.
type Visit = (u32, Vec<(u32, Edge)>, usize);

impl BackpressureGraph {
    /// Builds the graph of a network from its routes.
    // BFC-50
    #[must_use]
    pub fn new(graph: &Graph, routes: &[Routes]) -> Self {
        let used = used_pairs(graph, routes);
        let mut fabric = Fabric::new(graph, &used);
        let cycles = fabric.cycles();
        if !cycles.is_empty() {
            fabric.break_cycles(routes);
        }
        let removed = std::mem::take(&mut fabric.removed);
        let nodes = graph
            .switch_ids()
            .map(|node| u64::from(graph.ports(node)))
            .sum();
        let edges = edges_of(graph, &used).count() as u64;
        Self {
            used,
            nodes,
            edges,
            cycles,
            removed,
        }
    }

    /// Returns, per switch, the pairs (ingress, egress) whose egress may pause the upstream port of
    /// the ingress: the pairs that routes use, except the removed ones.
    // BFC-52
    #[must_use]
    pub fn allowed(&self) -> Vec<Pairs> {
        let mut allowed = self.used.clone();
        for edge in &self.removed {
            allowed[edge.switch as usize].remove(edge.ingress, edge.egress);
        }
        allowed
    }

    /// Returns all edges of the graph, sorted by switch, ingress and egress.
    pub fn all_edges<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = Edge> + 'a {
        edges_of(graph, &self.used)
    }
}

/// Finds cycles of ports, if packets use the pairs `used` (ingress, egress) of each switch. The
/// result has the form of the field `cycles` of [`BackpressureGraph`].
// LNK-40
#[must_use]
pub fn cycles(graph: &Graph, used: &[Pairs]) -> Vec<Vec<LinkId>> {
    Fabric::new(graph, used).cycles()
}

/// Finds a shortest cycle through the first port that is in a cycle. The ports have the order of
/// the packets: each port waits for the next, and the last waits for the first.
// LNK-40
#[must_use]
pub fn shortest_cycle(graph: &Graph, used: &[Pairs]) -> Vec<LinkId> {
    let cycle = Fabric::new(graph, used).shortest_cycle();
    let edges = cycle.into_iter().flatten();
    edges.map(|edge| edge.held(graph)).collect()
}

impl Edge {
    /// Returns the port that the edge can pause: the port at the other end of the ingress link.
    #[must_use]
    pub fn held(&self, graph: &Graph) -> LinkId {
        graph.reverse(graph.switch_link(self.switch, self.ingress))
    }

    /// Returns the port that can send the pause: the egress port of the edge.
    #[must_use]
    pub fn holder(&self, graph: &Graph) -> LinkId {
        graph.switch_link(self.switch, self.egress)
    }
}

/// Returns the edges of the graph: used port pairs whose ingress is linked to a switch.
fn edges_of<'a>(graph: &'a Graph, used: &'a [Pairs]) -> impl Iterator<Item = Edge> + 'a {
    (0..graph.switches()).flat_map(move |switch| {
        let first = graph.switch_link(switch, 0);
        graph.fabric_links(switch).flat_map(move |link| {
            let ingress = link.port(first);
            egresses(used[switch as usize].row(ingress)).map(move |egress| Edge {
                switch,
                ingress,
                egress,
            })
        })
    })
}

/// Returns the egress ports whose bits are set in a row of a bitmap.
fn egresses(row: &[u64]) -> impl Iterator<Item = u16> + '_ {
    row.iter().enumerate().flat_map(|(word, &bits)| {
        (0..64u16)
            .filter(move |bit| bits >> bit & 1 != 0)
            .map(move |bit| word as u16 * 64 + bit)
    })
}

/// Returns a bitmap of `words` 64-bit words in which the bits of these ports are set.
fn mask(words: usize, ports: impl Iterator<Item = u16>) -> Vec<u64> {
    let mut bits = vec![0; words];
    for port in ports {
        bits[usize::from(port) / 64] |= 1 << (port % 64);
    }
    bits
}

/// Returns, per switch, the pairs (ingress, egress) that packets of at least one route use.
// BFC-50
#[must_use]
pub fn used_pairs(graph: &Graph, routes: &[Routes]) -> Vec<Pairs> {
    let switches = graph.switches() as usize;
    let ports = |switch: usize| graph.ports(graph.switch_node(switch as u32));
    let words = |switch: usize| usize::from(ports(switch)).div_ceil(64);
    let hosts_below = |switch: usize| {
        let switch = switch as u32;
        graph.ports(graph.switch_node(switch)) - graph.fabric_links(switch).len() as u16
    };
    let mut used: Vec<Pairs> = (0..switches).map(|s| Pairs::none(ports(s))).collect();
    // Per switch, the ingresses that receive packets to the current group of hosts.
    let mut entries: Vec<Vec<u16>> = vec![Vec::new(); switches];
    // Per switch, the egresses that packets of the switch's own hosts use, to any group.
    let mut from_hosts: Vec<Vec<u64>> = (0..switches).map(|s| vec![0; words(s)]).collect();
    // True for switches on a path to the current group.
    let mut reached = vec![false; switches];
    for group in 0..graph.groups() {
        let last = graph.group_switch(group) as usize;
        reached.fill(false);
        entries.iter_mut().for_each(Vec::clear);
        let mut open: Vec<usize> = (0..switches)
            .filter(|&s| s != last && hosts_below(s) > 0)
            .collect();
        open.iter().for_each(|&s| reached[s] = true);
        while let Some(switch) = open.pop() {
            for &out in routes[switch].towards(group) {
                let port = graph.port(graph.switch_link(switch as u32, out));
                let next = graph.fabric_peer(graph.switch_link(switch as u32, out)) as usize;
                entries[next].push(port.peer_port);
                if next != last && !reached[next] {
                    reached[next] = true;
                    open.push(next);
                }
            }
        }
        for switch in 0..switches {
            let leaving = if switch == last {
                mask(words(switch), 0..hosts_below(switch))
            } else if reached[switch] {
                mask(words(switch), routes[switch].towards(group).iter().copied())
            } else {
                continue;
            };
            for &ingress in &entries[switch] {
                used[switch].insert_all(ingress, &leaving);
            }
            for (word, more) in from_hosts[switch].iter_mut().zip(&leaving) {
                *word |= more;
            }
        }
    }
    for (switch, leaving) in from_hosts.iter().enumerate() {
        for ingress in 0..hosts_below(switch) {
            used[switch].insert_all(ingress, leaving);
            used[switch].remove(ingress, ingress);
        }
    }
    used
}

impl<'a> Fabric<'a> {
    fn new(graph: &'a Graph, used: &'a [Pairs]) -> Self {
        let mut place = IndexVec::from(vec![u32::MAX; graph.port_count() as usize]);
        let mut ports = Vec::new();
        for switch in 0..graph.switches() {
            for link in graph.fabric_links(switch) {
                place[link] = ports.len() as u32;
                ports.push(link);
            }
        }
        Self {
            graph,
            used,
            ports,
            place,
            removed: Vec::new(),
        }
    }

    /// Returns the edges from port `at` to the ports that can pause it: the egress ports of the
    /// next switch.
    fn onward(&self, at: u32) -> Vec<(u32, Edge)> {
        let link = self.graph.port(self.ports[at as usize]);
        let switch = self.graph.fabric_peer(self.ports[at as usize]);
        let edge = |egress| Edge {
            switch,
            ingress: link.peer_port,
            egress,
        };
        egresses(self.used[switch as usize].row(link.peer_port))
            .map(edge)
            .filter(|edge| self.removed.binary_search(edge).is_err())
            .map(|edge| (self.place[edge.holder(self.graph)], edge))
            .filter(|&(to, _)| to != u32::MAX)
            .collect()
    }

    fn remove(&mut self, edge: Edge) {
        if let Err(at) = self.removed.binary_search(&edge) {
            self.removed.insert(at, edge);
        }
    }

    /// Returns the cycles: sets of ports that can wait for each other, as links of the network.
    fn cycles(&self) -> Vec<Vec<LinkId>> {
        let mut cycles: Vec<Vec<LinkId>> = self
            .components()
            .into_iter()
            .map(|places| places.iter().map(|&p| self.ports[p as usize]).collect())
            .collect();
        cycles
            .iter_mut()
            .for_each(|cycle: &mut Vec<LinkId>| cycle.sort_unstable());
        cycles.sort();
        cycles
    }

    /// Returns the strongly connected components that contain a cycle (Tarjan's algorithm without
    /// recursion).
    fn components(&self) -> Vec<Vec<u32>> {
        const NONE: u32 = u32::MAX;
        let n = self.ports.len();
        let (mut number, mut low) = (vec![NONE; n], vec![NONE; n]);
        let mut on_stack = vec![false; n];
        let mut stack: Vec<u32> = Vec::new();
        let mut count = 0;
        let mut found = Vec::new();
        for start in 0..n as u32 {
            if number[start as usize] != NONE {
                continue;
            }
            let mut visits: Vec<Visit> = Vec::new();
            let mut enter = Some(start);
            loop {
                if let Some(at) = enter.take() {
                    number[at as usize] = count;
                    low[at as usize] = count;
                    count += 1;
                    stack.push(at);
                    on_stack[at as usize] = true;
                    visits.push((at, self.onward(at), 0));
                }
                let Some((at, onward, next)) = visits.last_mut() else {
                    break;
                };
                let at = *at as usize;
                if let Some(&(to, _)) = onward.get(*next) {
                    *next += 1;
                    if number[to as usize] == NONE {
                        enter = Some(to);
                    } else if on_stack[to as usize] {
                        low[at] = low[at].min(number[to as usize]);
                    }
                    continue;
                }
                let itself = onward.iter().any(|&(to, _)| to as usize == at);
                visits.pop();
                if let Some((parent, _, _)) = visits.last() {
                    low[*parent as usize] = low[*parent as usize].min(low[at]);
                }
                if low[at] == number[at] {
                    let from = stack.iter().rposition(|&p| p as usize == at).unwrap_or(0);
                    let component = stack.split_off(from);
                    component.iter().for_each(|&p| on_stack[p as usize] = false);
                    if component.len() > 1 || itself {
                        found.push(component);
                    }
                }
            }
        }
        found
    }

    /// Removes edges until no cycle is left, then restores the edges that need not be removed.
    // BFC-51
    fn break_cycles(&mut self, routes: &[Routes]) {
        // In a Clos network, cycles need edges of packets that come down and go up again.
        for edge in self.edges_in_cycles() {
            if self.is_valley(&edge) {
                self.remove(edge);
            }
        }
        while let Some(cycle) = self.shortest_cycle() {
            let least = cycle
                .iter()
                .min_by_key(|edge| (self.groups_over(edge, routes), std::cmp::Reverse(**edge)));
            if let Some(&edge) = least {
                self.remove(edge);
            }
        }
        for edge in self.removed.clone().into_iter().rev() {
            let at = self.removed.binary_search(&edge).unwrap_or(0);
            self.removed.remove(at);
            let (held, holder) = (
                self.place_of(edge.held(self.graph)),
                self.place_of(edge.holder(self.graph)),
            );
            if self.shortest_path(holder, held).is_some() {
                self.remove(edge);
            }
        }
    }

    fn place_of(&self, link: LinkId) -> u32 {
        self.place[link]
    }

    /// Returns the edges that are part of a cycle: both ports are in the same strongly connected
    /// component.
    fn edges_in_cycles(&self) -> Vec<Edge> {
        let mut component = vec![u32::MAX; self.ports.len()];
        let found = self.components();
        for (number, ports) in found.iter().enumerate() {
            ports
                .iter()
                .for_each(|&p| component[p as usize] = number as u32);
        }
        let mut edges = Vec::new();
        for (at, &of) in component
            .iter()
            .enumerate()
            .filter(|(_, of)| **of != u32::MAX)
        {
            let onward = self.onward(at as u32).into_iter();
            edges.extend(
                onward
                    .filter(|(to, _)| component[*to as usize] == of)
                    .map(|e| e.1),
            );
        }
        edges.sort_unstable();
        edges
    }

    /// Returns true if the packets of an edge come down to a switch from a higher tier and go up
    /// again.
    fn is_valley(&self, edge: &Edge) -> bool {
        let node = self.graph.switch_node(edge.switch);
        let tier = |port| {
            let peer = self.graph.port(self.graph.link(node, port)).peer;
            match self.graph.kind(peer) {
                NodeKind::Host => 0,
                NodeKind::Switch => self.graph.tier(peer),
            }
        };
        tier(edge.ingress) > self.graph.tier(node) && tier(edge.egress) > self.graph.tier(node)
    }

    /// Returns the number of destination groups whose packets use both links of an edge.
    fn groups_over(&self, edge: &Edge, routes: &[Routes]) -> u32 {
        let held = edge.held(self.graph);
        let from = self.graph.fabric_peer(self.graph.reverse(held));
        let out = held.port(self.graph.switch_link(from, 0));
        let before = &routes[from as usize];
        let here = &routes[edge.switch as usize];
        (0..self.graph.groups())
            .filter(|&group| before.towards(group).contains(&out))
            .filter(|&group| here.towards(group).contains(&edge.egress))
            .count() as u32
    }

    /// Returns the edges of a shortest cycle through the first port that is in a cycle.
    fn shortest_cycle(&self) -> Option<Vec<Edge>> {
        let first = self.components().into_iter().flatten().min()?;
        self.shortest_path(first, first)
    }

    /// Returns the edges of a shortest path from one port to another. It has at least one edge.
    fn shortest_path(&self, from: u32, to: u32) -> Option<Vec<Edge>> {
        let mut came: Vec<Option<(u32, Edge)>> = vec![None; self.ports.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (next, edge) in self.onward(at) {
                if came[next as usize].is_some() {
                    continue;
                }
                came[next as usize] = Some((at, edge));
                if next == to {
                    return Some(self.path_through(&came, from, to));
                }
                queue.push_back(next);
            }
        }
        None
    }

    fn path_through(&self, came: &[Option<(u32, Edge)>], from: u32, to: u32) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut at = to;
        while let Some((before, edge)) = came[at as usize] {
            path.push(edge);
            at = before;
            if at == from {
                break;
            }
        }
        path.reverse();
        path
    }
}
