//! Network data as the replayed ns-3 simulator computes them: IDs and addresses of nodes, the order
//! of equal-cost paths, and the RTT and BDP of senders (rules in `specs/ns3.md`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::ids::IndexVec;
use dataplane::route::{Endpoints, PortSets, Routes, ports};
use dataplane::switch::SwitchConfig;
use dataplane::units::{NS, Time};
use kernel::StreamHeads;
use traffic::Flow;

use crate::ids::{LinkId, NodeId};
use crate::topology::Graph;
use crate::topology::graph::NONE;

/// Returns the ns-3 ID of every node: its name if all names are different numbers; otherwise hosts
/// are numbered from 0, then switches.
// NS3-42
#[must_use]
pub fn node_numbers(graph: &Graph) -> IndexVec<NodeId, u32> {
    let named: Option<Vec<u32>> = graph
        .node_ids()
        .map(|node| graph.name(node).parse().ok())
        .collect();
    let unique = |numbers: &Vec<u32>| {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == numbers.len()
    };
    named
        .filter(unique)
        .unwrap_or_else(|| (0..graph.nodes()).collect())
        .into()
}

/// Returns the link rate of the host with the lowest ns-3 ID.
// NS3-11
#[must_use]
pub fn nic_bps(graph: &Graph) -> u64 {
    let numbers = node_numbers(graph);
    let first = graph.host_ids().min_by_key(|&host| numbers[host]);
    first.map_or(0, |host| graph.port(graph.first_link(host)).rate.bps())
}

/// Returns the IP address of the host with this ns-3 ID: 11.x.y.1, where x and y are the two bytes
/// of the ID.
// NS3-41
#[must_use]
pub const fn address(number: u32) -> u32 {
    0x0b00_0001 + ((number / 256) << 16) + ((number % 256) << 8)
}

/// The order in which a breadth-first search from a group of hosts reaches the switches.
struct Search {
    /// Position of each switch in the order of the search; [`NONE`]: the search does not reach the
    /// switch.
    rank: Vec<u32>,
    /// Values of the first path that the search finds to each switch: sum of delays and sum of
    /// serialisation times of a packet (both in ns), and lowest rate in bit/s.
    sums: Vec<PathSum>,
}

/// Delay, serialisation time and lowest rate of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathSum {
    delay_ns: u64,
    packet_ns: u64,
    bps: u64,
}

impl PathSum {
    const NONE: Self = Self {
        delay_ns: 0,
        packet_ns: 0,
        bps: u64::MAX,
    };

    /// Extends a path by one link.
    fn and(self, graph: &Graph, link: LinkId, payload_bytes: u64) -> Self {
        let port = graph.port(link);
        let bps = port.rate.bps();
        Self {
            delay_ns: self.delay_ns + port.delay_ps / NS,
            packet_ns: self.packet_ns + payload_bytes * 8 * 1_000_000_000 / bps,
            bps: self.bps.min(bps),
        }
    }

    /// NS3-43: returns the RTT: propagation in both directions, and serialisation of a packet
    /// without headers in the forward direction.
    const fn rtt_ns(&self) -> u64 {
        2 * self.delay_ns + self.packet_ns
    }

    fn bdp_bytes(&self) -> u64 {
        let bits = u128::from(self.rtt_ns()) * u128::from(self.bps) / 1_000_000_000;
        (bits / 8) as u64
    }
}

impl Search {
    /// Searches breadth-first from the switch of a group. Neighbours with higher ns-3 IDs are
    /// visited first.
    // NS3-44
    fn from(
        graph: &Graph,
        numbers: &IndexVec<NodeId, u32>,
        group: u32,
        payload_bytes: u64,
    ) -> Self {
        let switches = graph.switches() as usize;
        let mut search = Self {
            rank: vec![NONE; switches],
            sums: vec![PathSum::NONE; switches],
        };
        let start = graph.group_switch(group);
        search.rank[start as usize] = 0;
        let mut next_rank = 1;
        let mut queue = VecDeque::from([start]);
        while let Some(switch) = queue.pop_front() {
            let mut ports: Vec<LinkId> = graph.fabric_links(switch).collect();
            ports.sort_by_key(|&port| std::cmp::Reverse(numbers[graph.port(port).peer]));
            for port in ports {
                let peer = graph.fabric_peer(port) as usize;
                if search.rank[peer] != NONE {
                    continue;
                }
                search.rank[peer] = next_rank;
                next_rank += 1;
                search.sums[peer] = search.sums[switch as usize].and(graph, port, payload_bytes);
                queue.push_back(peer as u32);
            }
        }
        search
    }
}

/// Changes routes to the path choice of ns-3. A hash of addresses and ports, seeded with the ID of
/// the switch, selects a next hop. The next hops have the order in which the search of ns-3 finds
/// them.
// NS3-40, NS3-44
pub fn retrace(graph: &Graph, routes: &mut [Routes]) {
    let numbers = node_numbers(graph);
    let searches: Vec<Search> = (0..graph.groups())
        .map(|group| Search::from(graph, &numbers, group, 0)) // for the order of the search
        .collect();
    let Some(first) = routes.first() else { return };
    let Endpoints { group, port, .. } = first.endpoints();
    let addresses = graph
        .endpoint_ids()
        .map(|endpoint| address(numbers[graph.host_of(endpoint)]))
        .collect();
    let (group, port) = (group.clone(), port.clone());
    let endpoints = Arc::new(Endpoints::new(graph.groups(), group, port, addresses));
    for (switch, of) in routes.iter_mut().enumerate() {
        let switch = switch as u32;
        let mut sets = PortSets::default();
        let mut table = Vec::with_capacity(searches.len());
        // LNK-11: for endpoints whose link is down, the same number of groups without a path
        // follows.
        for (set, search) in of.groups().zip(searches.iter().cycle()) {
            let mut set = set.to_vec();
            set.sort_by_key(|&port| {
                search.rank[graph.fabric_peer(graph.switch_link(switch, port)) as usize]
            });
            let known = sets.iter().position(|other| other == set);
            let number = known.unwrap_or_else(|| {
                sets.push(&set);
                sets.len() - 1
            });
            table.push(number as u16);
        }
        let own = graph.group_of_switch(switch).unwrap_or(u32::MAX);
        let chosen = (PathChoice::Tuple, numbers[graph.switch_node(switch)]);
        *of = Routes::new(Arc::clone(&endpoints), own, (table, sets), chosen);
    }
}

/// RTTs and BDPs as ns-3 computes them.
#[derive(Debug)]
pub struct Baselines {
    graph: Arc<Graph>,
    numbers: IndexVec<NodeId, u32>,
    payload_bytes: u64,
    /// Per destination group, the values of the paths from all switches; `None`: not computed yet.
    sums: Vec<Option<Vec<PathSum>>>,
    largest: Option<(Time, u64)>,
}

impl Baselines {
    /// Creates empty data, which are computed when they are first needed. A full packet has
    /// `payload_bytes`.
    #[must_use]
    pub fn new(graph: Arc<Graph>, payload_bytes: u64) -> Self {
        Self {
            payload_bytes,
            numbers: node_numbers(&graph),
            sums: vec![None; graph.groups() as usize],
            largest: None,
            graph,
        }
    }

    /// Returns the RTT in ps and the BDP in bytes from one endpoint to another.
    pub fn of_pair(&mut self, src: LinkId, dst: LinkId) -> (Time, u64) {
        let path = self.path(src, dst);
        (path.rtt_ns() * NS, path.bdp_bytes())
    }

    /// Returns the largest RTT and the largest BDP of any two hosts. They can belong to different
    /// pairs.
    // NS3-45
    pub fn largest(&mut self) -> (Time, u64) {
        if let Some(largest) = self.largest {
            return largest;
        }
        let mut largest = (0, 0);
        // Endpoints of one switch with the same kind of link are equivalent, so two of each kind
        // are enough.
        let mut chosen: Vec<LinkId> = Vec::new();
        for group in 0..self.graph.groups() {
            let mut seen: Vec<(u32, u8)> = Vec::new();
            for endpoint in self.graph.endpoints_on(self.graph.group_switch(group)) {
                let kind = self.graph.link_kind(endpoint);
                match seen.iter_mut().find(|(k, _)| *k == kind) {
                    Some((_, 2)) => continue,
                    Some((_, count)) => *count += 1,
                    None => seen.push((kind, 1)),
                }
                chosen.push(endpoint);
            }
        }
        chosen.extend(
            self.graph
                .endpoint_ids()
                .filter(|&end| self.graph.is_cable(end)),
        );
        for &src in &chosen {
            for &dst in &chosen {
                let graph = &self.graph;
                let together = graph.plane_of(src) == graph.plane_of(dst);
                if together && graph.host_of(src) != graph.host_of(dst) {
                    let (rtt_ps, bytes) = self.of_pair(src, dst);
                    largest = (rtt_ps.max(largest.0), bytes.max(largest.1));
                }
            }
        }
        self.largest = Some(largest);
        largest
    }

    fn path(&mut self, src: LinkId, dst: LinkId) -> PathSum {
        if self.graph.is_cable(src) {
            return PathSum::NONE.and(&self.graph, src, self.payload_bytes);
        }
        let (from, to) = (self.graph.group_of(src), self.graph.group_of(dst));
        let (graph, numbers, payload) = (&self.graph, &self.numbers, self.payload_bytes);
        let sums = self.sums[to as usize]
            .get_or_insert_with(|| Search::from(graph, numbers, to, payload).sums);
        sums[graph.group_switch(from) as usize]
            .and(graph, src, payload)
            .and(graph, dst, payload)
    }
}

/// Returns one sequence of random numbers for all nodes, if the switches replay the random numbers
/// of ns-3.
// NS3-18
pub(crate) fn draws(switch: &SwitchConfig, graph: &Graph) -> Option<StreamHeads> {
    let replay = switch.ecn.as_ref().is_some_and(|ecn| ecn.replay);
    replay.then(|| StreamHeads::new(1, 1, 6 * u64::from(graph.nodes()) + 2))
}

/// Source ports of flows, counted per pair of hosts from 10 000.
// NS3-41
#[derive(Debug, Default)]
pub(crate) struct SourcePorts {
    used: BTreeMap<(u32, u32), u16>,
}

impl SourcePorts {
    const FIRST: u16 = 10_000;

    pub fn next(&mut self, flow: &Flow) -> u32 {
        if let Some(said) = flow.src_port {
            return ports(said, flow.port); // FGC-30: port of the trace
        }
        let port = self.used.entry((flow.src, flow.dst)).or_insert(Self::FIRST);
        let src = *port;
        *port = port.wrapping_add(1);
        ports(src, flow.port)
    }
}
