//! Routes: for every switch and every destination group of endpoints, all ports on a shortest path.
//!
//! The breadth-first searches from 64 groups run in parallel, with one bit per search. A level of
//! the searches costs a few words per link instead of 64 visits. The ports that lead to a group
//! follow from the same words.

use thiserror::Error;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::packet::{Kind, Packet};
use dataplane::route::{Endpoints, PortSets, Routes};
use kernel::{Purpose, Stream};

use crate::ids::{LinkId, NodeId};
use crate::topology::Graph;

/// Maximum number of entries of all routing tables together (2 bytes each). There are at most as
/// many groups as switches, so the number of groups, and of port sets per switch, stays far below
/// 2^16.
const MAX_ENTRIES: u64 = 1 << 30;

/// The reason why routing tables cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RoutingError {
    /// The tables are too large. Their number of entries is the number of switches times the number
    /// of switches with hosts.
    #[error(
        "the routing tables would have {entries} entries (switches x switches with hosts); at \
         most {MAX_ENTRIES} are supported; make the network smaller"
    )]
    TooLarge {
        /// Number of entries of the tables.
        entries: u64,
    },
}

/// Computes the routes of all switches, in the order of node IDs.
///
/// # Errors
/// A [`RoutingError`] if the tables would be too large.
pub fn routes(graph: &Graph, seed: u64, choice: PathChoice) -> Result<Vec<Routes>, RoutingError> {
    let entries = u64::from(graph.switches()) * u64::from(graph.groups());
    if entries > MAX_ENTRIES {
        return Err(RoutingError::TooLarge { entries });
    }
    let mut search = Search::new(graph);
    for first in (0..graph.groups()).step_by(64) {
        search.batch(first);
    }
    let endpoints = Arc::new(endpoints(graph));
    let mut finished: Vec<Routes> = search
        .tables
        .into_iter()
        .enumerate()
        .map(|(switch, Table { entries, sets, .. })| {
            // TOP-09: each switch has its own hash seed
            let seed = Stream::new(seed, switch as u64, Purpose::Routing).next_u64() >> 32;
            let own = graph.group_of_switch(switch as u32).unwrap_or(u32::MAX);
            let endpoints = Arc::clone(&endpoints);
            Routes::new(endpoints, own, (entries, sets), (choice, seed as u32))
        })
        .collect();
    match choice {
        PathChoice::Tuple => crate::ns3::retrace(graph, &mut finished),
        // XP-05: all switches of a tier use the same hash seed.
        PathChoice::Symmetric => by_tier(graph, &mut finished, |tier, routes| {
            routes.seed =
                (Stream::new(seed, tier.into(), Purpose::Routing).next_u64() >> 32) as u32;
        }),
        PathChoice::Label => label(graph, &mut finished),
        _ => {}
    }
    Ok(finished)
}

/// Calls `set` with the tier and the routes of each switch.
fn by_tier(graph: &Graph, routes: &mut [Routes], set: impl Fn(u32, &mut Routes)) {
    for (node, routes) in graph.switch_ids().zip(routes) {
        set(graph.tier(node), routes);
    }
}

/// Sets, for each switch, the number of paths that the switches of lower tiers offer. A path label
/// then has one digit per tier.
// NDP-05
fn label(graph: &Graph, routes: &mut [Routes]) {
    let tiers = graph.switch_ids().map(|node| graph.tier(node));
    let mut paths = vec![1u32; tiers.max().unwrap_or(0) as usize + 2];
    for (node, of) in graph.switch_ids().zip(&*routes) {
        let most = of.sets().iter().map(<[u16]>::len).max().unwrap_or(1);
        let tier = &mut paths[graph.tier(node) as usize + 1];
        *tier = (*tier).max(most as u32);
    }
    let below: Vec<NonZeroU32> = paths
        .iter()
        .scan(1u32, |product, &paths| {
            *product = product.saturating_mul(paths);
            Some(NonZeroU32::new(*product).unwrap_or(NonZeroU32::MIN))
        })
        .collect();
    by_tier(graph, routes, |tier, of| {
        of.paths_below = below[tier as usize]
    });
}

/// Number of equal-cost paths between any two switches with hosts.
// NDP-05
#[derive(Debug)]
pub struct PathCounts {
    groups: usize,
    of: Vec<u32>,
}

impl PathCounts {
    /// Counts the equal-cost paths along the first path of each pair. In a regular topology all
    /// paths are equivalent.
    #[must_use]
    pub fn new(graph: &Graph, routes: &[Routes]) -> Self {
        let groups = graph.groups();
        let ends: Vec<Option<LinkId>> = (0..groups)
            .map(|group| graph.endpoints_on(graph.group_switch(group)).next())
            .collect();
        let pairs = (0..groups).flat_map(|a| ends.iter().map(move |&end| (a, end)));
        let of = pairs
            .map(|(from, end)| end.map_or(1, |end| equal_cost_paths(graph, routes, from, end)))
            .collect();
        Self {
            groups: groups as usize,
            of,
        }
    }

    /// Returns the number of equal-cost paths from one endpoint to another, at least 1.
    #[must_use]
    pub fn between(&self, graph: &Graph, src: LinkId, dst: LinkId) -> u32 {
        if graph.is_cable(src) {
            return 1;
        }
        let (from, to) = (graph.group_of(src) as usize, graph.group_of(dst) as usize);
        self.of[from * self.groups + to]
    }
}

/// Returns the number of paths from a group of endpoints to an endpoint.
fn equal_cost_paths(graph: &Graph, routes: &[Routes], from: u32, dst: LinkId) -> u32 {
    let mut node = graph.switch_node(graph.group_switch(from));
    let mut paths = 1u32;
    while let Some(switch) = graph.switch_number(node) {
        let of = &routes[switch as usize];
        paths = paths.saturating_mul(of.ways(dst.bits()).max(1) as u32);
        let towards = Packet {
            dst: dst.bits(),
            ..Packet::new(Kind::Data, 0, 0)
        };
        let Some(port) = of.port(&towards, || 0) else {
            break;
        };
        node = graph.port(graph.link(node, port)).peer;
    }
    paths
}

/// Returns two endpoints between which the forward and the return path differ for some flows, if
/// there are any. Checks at most 64 switches, with the first endpoint of each, and 16 flows.
// XP-05
#[must_use]
pub fn asymmetry(graph: &Graph, routes: &[Routes]) -> Option<(LinkId, LinkId)> {
    let ends: Vec<LinkId> = (0..graph.groups().min(64))
        .filter_map(|group| graph.endpoints_on(graph.group_switch(group)).next())
        .collect();
    let pairs = ends
        .iter()
        .flat_map(|&a| ends.iter().map(move |&b| (a, b)))
        .filter(|&(a, b)| a < b && graph.plane_of(a) == graph.plane_of(b));
    pairs
        .flat_map(|pair| (0..16u32).map(move |flow| (pair, flow.wrapping_mul(0x9e37_79b9))))
        .find(|&((a, b), hash)| {
            let there = path(graph, routes, a, b, hash);
            let mut back = path(graph, routes, b, a, hash);
            back.reverse();
            there != back
        })
        .map(|(pair, _)| pair)
}

/// Returns the switches that packets of a flow cross, in order.
fn path(graph: &Graph, routes: &[Routes], src: LinkId, dst: LinkId, hash: u32) -> Vec<NodeId> {
    let packet = Packet {
        dst: dst.bits(),
        hash,
        ..Packet::new(Kind::Data, 0, 0)
    };
    let mut nodes = Vec::new();
    let mut node = graph.port(src).peer;
    while let Some(switch) = graph.switch_number(node) {
        nodes.push(node);
        let Some(port) = routes[switch as usize].port(&packet, || src.bits()) else {
            break;
        };
        node = graph.port(graph.link(node, port)).peer;
    }
    nodes
}

/// Returns the destination group and the switch of every endpoint.
fn endpoints(graph: &Graph) -> Endpoints {
    // LNK-11: endpoints whose link is down get additional groups without routes.
    let group = graph
        .endpoint_ids()
        .map(|endpoint| match graph.is_down(endpoint) {
            // TOP-06: ends of host-to-host links get a group without routes, because no switch
            // leads to them.
            _ if graph.is_cable(endpoint) => behind_groups(graph),
            false => graph.group_of(endpoint),
            true => graph.groups() + graph.group_of(endpoint),
        })
        .collect();
    let port = graph
        .endpoint_ids()
        .map(|endpoint| graph.port(endpoint).peer_port)
        .collect();
    Endpoints::new(graph.groups(), group, port, Vec::new())
}

/// Returns the index after the last group of endpoints. If links are down, there are twice as many
/// groups, because endpoints whose link is down get separate groups.
// LNK-11
fn behind_groups(graph: &Graph) -> u32 {
    graph.groups() * if graph.lacks_links() { 2 } else { 1 }
}

/// The routing table of a switch during its construction.
struct Table {
    entries: Vec<u16>,
    sets: PortSets,
    /// Index of each set of ports. Used for lookups only, because the order of iteration is random.
    numbers: HashMap<Box<[u16]>, u16>,
}

impl Table {
    /// Creates a table in which no group is reachable. Set 0 is the empty set of ports.
    fn new(graph: &Graph) -> Self {
        let groups = behind_groups(graph) as usize + usize::from(graph.has_cables());
        let numbers = HashMap::from([(Box::default(), 0)]);
        Self {
            entries: vec![0; groups],
            sets: PortSets::from_iter([[].as_slice()]),
            numbers,
        }
    }

    /// Returns the index of a set of ports. A new set gets the next index.
    fn number(&mut self, ports: &[u16]) -> u16 {
        if let Some(&number) = self.numbers.get(ports) {
            return number;
        }
        let number = self.sets.len() as u16;
        self.sets.push(ports);
        self.numbers.insert(ports.into(), number);
        number
    }
}

/// Parallel breadth-first searches from 64 groups, over switches only, because hosts do not forward
/// packets.
struct Search<'a> {
    graph: &'a Graph,
    tables: Vec<Table>,
    /// Per switch, the searches (as bits) that have reached it.
    seen: Vec<u64>,
    /// Per switch, the searches (as bits) that reached it in the last level.
    front: Vec<u64>,
    /// Per switch, true if it is a candidate of this level.
    listed: Vec<bool>,
    /// Ports of the current switch on shortest paths, each with the searches (as bits) to whose
    /// groups the port leads.
    leads: Vec<(u16, u64)>,
    /// Searches of the current switch (as bits), partitioned so that all searches of one entry use
    /// the same ports.
    parts: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Self {
        let switches = graph.switches() as usize;
        Self {
            graph,
            tables: (0..switches).map(|_| Table::new(graph)).collect(),
            seen: vec![0; switches],
            front: vec![0; switches],
            listed: vec![false; switches],
            leads: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Computes the routes of all switches to the 64 groups that start at `first`. // TOP-07
    fn batch(&mut self, first: u32) {
        self.seen.fill(0);
        self.front.fill(0);
        let mut front: Vec<u32> = Vec::new();
        for group in first..self.graph.groups().min(first + 64) {
            let switch = self.graph.group_switch(group);
            self.seen[switch as usize] = 1 << (group - first);
            self.front[switch as usize] = 1 << (group - first);
            front.push(switch);
        }
        while !front.is_empty() {
            let candidates = self.candidates(&front);
            // `seen` and `front` must not change before the level is complete.
            let news: Vec<u64> = candidates
                .iter()
                .map(|&switch| self.reach(switch, first))
                .collect();
            for switch in front {
                self.front[switch as usize] = 0;
            }
            for (&switch, &new) in candidates.iter().zip(&news) {
                self.front[switch as usize] = new;
                self.seen[switch as usize] |= new;
                self.listed[switch as usize] = false;
            }
            front = candidates;
        }
    }

    /// Returns the candidates of this level: the neighbours of switches in `front` that at least
    /// one search has not reached before.
    fn candidates(&mut self, front: &[u32]) -> Vec<u32> {
        let mut candidates = Vec::new();
        for &switch in front {
            let searches = self.front[switch as usize];
            for index in self.graph.live_links(switch) {
                let peer = self.graph.fabric_peer(index) as usize;
                if !self.listed[peer] && searches & !self.seen[peer] != 0 {
                    self.listed[peer] = true;
                    candidates.push(peer as u32);
                }
            }
        }
        candidates
    }

    /// Stores the ports to the groups of the searches that reach a switch in this level, and
    /// returns these searches.
    fn reach(&mut self, switch: u32, first: u32) -> u64 {
        self.leads.clear();
        let first_link = self.graph.switch_link(switch, 0);
        let unseen = !self.seen[switch as usize];
        let mut new = 0;
        for link in self.graph.live_links(switch) {
            let searches = self.front[self.graph.fabric_peer(link) as usize] & unseen;
            if searches != 0 {
                self.leads.push((link.port(first_link), searches));
                new |= searches;
            }
        }
        self.part(new);
        let table = &mut self.tables[switch as usize];
        for &part in &self.parts {
            let one = part & part.wrapping_neg();
            // Ascending, because ports were visited in this order. // TOP-08
            let ports: Vec<u16> = self
                .leads
                .iter()
                .filter(|lead| lead.1 & one != 0)
                .map(|lead| lead.0)
                .collect();
            let number = table.number(&ports);
            let mut rest = part;
            while rest != 0 {
                table.entries[(first + rest.trailing_zeros()) as usize] = number;
                rest &= rest - 1;
            }
        }
        new
    }

    /// Partitions the searches into sets that use the same ports.
    fn part(&mut self, all: u64) {
        self.parts.clear();
        self.parts.push(all);
        for &(_, searches) in &self.leads {
            for i in 0..self.parts.len() {
                let inside = self.parts[i] & searches;
                let outside = self.parts[i] & !searches;
                if inside != 0 && outside != 0 {
                    self.parts[i] = inside;
                    self.parts.push(outside);
                }
            }
        }
    }
}
