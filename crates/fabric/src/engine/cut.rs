//! Cuts a network into partitions, one for each thread. Cuts long links only, so that few frames
//! cross between partitions. All partitions have about equal load. The cut changes the speed of a
//! run but not its results.

use dataplane::ids::IndexVec;
use dataplane::units::Time;

use super::Clock;
use crate::ids::{LinkId, NodeId};
use crate::topology::{Graph, NodeKind};

/// Maximum load of a partition (rates of its ports), in percent of the mean over all partitions.
const UNEVEN: u64 = 130;
/// Number of passes that move units (groups of nodes) to better partitions.
const PASSES: usize = 4;

/// A network that is divided into partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Index of the partition of each node.
    pub part_of: IndexVec<NodeId, u32>,
    /// Lookahead: minimum time after which an event in one partition can affect another partition.
    pub lookahead_ps: Time,
}

impl Cut {
    /// Returns the number of partitions.
    pub fn parts(&self) -> u32 {
        self.part_of.iter().max().map_or(1, |&last| last + 1)
    }
}

/// Divides a network into one partition per node. No frame is smaller than `smallest_bytes`.
// LIV-04
pub(super) fn cut_all(graph: &Graph, clock: Clock, smallest_bytes: u64) -> Cut {
    let part_of: IndexVec<NodeId, u32> = (0..graph.nodes()).collect();
    let reach = reaches(graph, clock, smallest_bytes);
    Cut {
        lookahead_ps: look_ahead(graph, &reach, &part_of),
        part_of,
    }
}

/// Divides a network into at most `parts` partitions; `None` if partitions of about equal load are
/// impossible. No frame is smaller than `smallest_bytes`.
// PAR-01
pub(super) fn cut(graph: &Graph, clock: Clock, smallest_bytes: u64, parts: u32) -> Option<Cut> {
    let reach = reaches(graph, clock, smallest_bytes);
    // Cutting longer links gives fewer synchronisation windows, so links between sites are tried
    // before links between racks.
    let all = all_units(graph, &reach);
    let mut most_parts_first = (2..=parts).rev();
    let part_of =
        most_parts_first.find_map(|parts| all.iter().find_map(|units| units.spread(parts)))?;
    Some(Cut {
        lookahead_ps: look_ahead(graph, &reach, &part_of),
        part_of,
    })
}

/// Returns, per port, the time from the start of the smallest frame until it arrives at the other
/// end of the link.
fn reaches(graph: &Graph, clock: Clock, smallest_bytes: u64) -> IndexVec<LinkId, Time> {
    let reach = |link: LinkId| {
        let port = graph.port(link);
        port.delay_ps + clock.of(port.rate).serialisation_ps(smallest_bytes)
    };
    graph.link_ids().map(reach).collect()
}

/// Returns possible groupings of the nodes into units, the coarsest first. For each power of two
/// (in ps), nodes whose link is shorter are in one unit. Equal groupings occur once.
fn all_units<'a>(graph: &'a Graph, reach: &IndexVec<LinkId, Time>) -> Vec<Units<'a>> {
    let (Some(&longest), Some(&shortest)) = (reach.iter().max(), reach.iter().min()) else {
        return Vec::new();
    };
    let mut all: Vec<Units> = Vec::new();
    for power in (shortest.max(1).ilog2()..=longest.max(1).ilog2()).rev() {
        let units = Units::new(graph, reach, 1 << power);
        // The units of a smaller power are subsets of these units.
        if all
            .last()
            .is_none_or(|last| last.nodes.len() < units.nodes.len())
        {
            all.push(units);
        }
    }
    all
}

/// Returns the minimum delay of a link between two partitions.
// PAR-02
fn look_ahead(
    graph: &Graph,
    reach: &IndexVec<LinkId, Time>,
    part_of: &IndexVec<NodeId, u32>,
) -> Time {
    let crosses = |&link: &LinkId| {
        let from = graph.port(graph.reverse(link)).peer;
        part_of[from] != part_of[graph.port(link).peer]
    };
    let crossing = graph.link_ids().filter(crosses);
    crossing.map(|link| reach[link]).min().unwrap_or(Time::MAX)
}

/// Units of a network: sets of nodes that are always in the same partition.
struct Units<'a> {
    graph: &'a Graph,
    /// Unit of each node. Units are numbered from 0 in the order of their first nodes, so units
    /// with hosts are first and neighbours are adjacent.
    unit_of: IndexVec<NodeId, u32>,
    nodes: Vec<Vec<NodeId>>,
    /// Sum of the rates of all ports of a unit, in Mbit/s, as an estimate of its simulation load.
    work: Vec<u64>,
}

impl<'a> Units<'a> {
    /// Groups nodes into units: a host with its nearest switch, and neighbours whose link delay is
    /// less than `least`.
    fn new(graph: &'a Graph, reach: &IndexVec<LinkId, Time>, least: Time) -> Self {
        let mut sets = Sets::new(graph);
        for node in graph.node_ids() {
            // A host is grouped only with its nearest switch, for example that of its server. Its
            // links to more distant switches may be cut.
            let nearest = match graph.kind(node) {
                NodeKind::Host => graph.links_of(node).map(|port| reach[port]).min(),
                NodeKind::Switch => None,
            };
            for port in graph.links_of(node) {
                if Some(reach[port]) == nearest || reach[port] < least {
                    sets.join(node, graph.port(port).peer);
                }
            }
        }
        let none = u32::MAX;
        let mut unit_of_set: IndexVec<NodeId, u32> = vec![none; graph.nodes() as usize].into();
        let mut units = Self {
            graph,
            unit_of: Vec::with_capacity(graph.nodes() as usize).into(),
            nodes: Vec::new(),
            work: Vec::new(),
        };
        for node in graph.node_ids() {
            let set = sets.find(node);
            if unit_of_set[set] == none {
                unit_of_set[set] = units.nodes.len() as u32;
                units.nodes.push(Vec::new());
                units.work.push(0);
            }
            let unit = unit_of_set[set];
            let rates = graph.links_of(node).map(|port| graph.port(port).rate);
            units.unit_of.push(unit);
            units.nodes[unit as usize].push(node);
            units.work[unit as usize] += rates.map(|rate| rate.bps() / 1_000_000 + 1).sum::<u64>();
        }
        units
    }

    /// Returns the partition of each node; `None` if the loads of the partitions would be too
    /// uneven.
    fn spread(&self, parts: u32) -> Option<IndexVec<NodeId, u32>> {
        if self.nodes.len() < parts as usize {
            return None;
        }
        let mut spread = Spread {
            units: self,
            part_of: vec![u32::MAX; self.nodes.len()],
            work: vec![0; parts as usize],
            most: self.work.iter().sum::<u64>() / u64::from(parts) * UNEVEN / 100,
        };
        spread.place_hosts();
        spread.place_others();
        for _ in 0..PASSES {
            if !spread.improve() {
                break;
            }
        }
        if spread
            .work
            .iter()
            .any(|&work| work == 0 || work > spread.most)
        {
            return None;
        }
        let part = |&unit: &u32| spread.part_of[unit as usize];
        Some(self.unit_of.iter().map(part).collect())
    }
}

/// Assignment of units to partitions, while it is computed.
struct Spread<'a> {
    units: &'a Units<'a>,
    /// Partition of each unit; `u32::MAX`: not assigned yet.
    part_of: Vec<u32>,
    work: Vec<u64>,
    /// Maximum load of a partition, in Mbit/s.
    most: u64,
}

impl Spread<'_> {
    fn put(&mut self, unit: usize, part: usize) {
        if let Some(work) = self.work.get_mut(self.part_of[unit] as usize) {
            *work -= self.units.work[unit];
        }
        self.part_of[unit] = part as u32;
        self.work[part] += self.units.work[unit];
    }

    /// Assigns the units with hosts to partitions: consecutive units with equal load per partition,
    /// because the racks of a pod have consecutive indices.
    fn place_hosts(&mut self) {
        let graph = self.units.graph;
        let units = (self.units.nodes.iter()).take_while(|unit| graph.is_host(unit[0]));
        let units = units.count();
        let all: u64 = self.units.work[..units].iter().sum();
        let mut before = 0;
        for unit in 0..units {
            let middle = before + self.units.work[unit] / 2;
            before += self.units.work[unit];
            let part = u128::from(middle) * self.work.len() as u128 / u128::from(all.max(1));
            self.put(unit, (part as usize).min(self.work.len() - 1));
        }
    }

    /// Assigns the units without hosts, those near the hosts first. Each unit goes to the partition
    /// with which it shares most of its links, if that partition is not full. Among equal
    /// partitions, the one with the least load is chosen.
    fn place_others(&mut self) {
        let graph = self.units.graph;
        let mut others: Vec<usize> = (0..self.part_of.len())
            .filter(|&unit| self.part_of[unit] == u32::MAX)
            .collect();
        others.sort_by_key(|&unit| graph.tier(self.units.nodes[unit][0]));
        let full = self.most * 100 / UNEVEN;
        for unit in others {
            let ties = self.ties(unit);
            let order = |&part: &usize| {
                let fits = self.work[part] + self.units.work[unit] <= full;
                (
                    fits,
                    fits.then_some(ties[part]),
                    std::cmp::Reverse(self.work[part]),
                )
            };
            // Reversed to get the first of equal partitions, because `max_by_key` returns the last.
            let best = (0..self.work.len()).rev().max_by_key(order);
            self.put(unit, best.unwrap_or(0));
        }
    }

    /// Returns the total rate of the links from a unit to each partition, in Mbit/s.
    fn ties(&self, unit: usize) -> Vec<u64> {
        let graph = self.units.graph;
        let mut ties = vec![0; self.work.len()];
        for &node in &self.units.nodes[unit] {
            for port in graph.links_of(node).map(|port| graph.port(port)) {
                let there = self.units.unit_of[port.peer] as usize;
                if there != unit
                    && let Some(ties) = ties.get_mut(self.part_of[there] as usize)
                {
                    *ties += port.rate.bps() / 1_000_000 + 1;
                }
            }
        }
        ties
    }

    /// Moves each unit to the partition to which most of its links lead, if that partition has
    /// room. Returns true if a unit was moved.
    fn improve(&mut self) -> bool {
        let mut moved = false;
        for unit in 0..self.part_of.len() {
            let ties = self.ties(unit);
            let here = self.part_of[unit] as usize;
            let work = self.units.work[unit];
            let room = |part: &usize| self.work[*part] + work <= self.most;
            let better = (0..ties.len()).rev().filter(|part| *part != here);
            let better = better.filter(room).max_by_key(|&part| ties[part]);
            if let Some(part) = better.filter(|&part| ties[part] > ties[here])
                && self.work[here] > work
            {
                self.put(unit, part);
                moved = true;
            }
        }
        moved
    }
}

/// Disjoint sets of nodes (union-find): each node points to another node of its set, or to itself.
struct Sets(IndexVec<NodeId, NodeId>);

impl Sets {
    fn new(graph: &Graph) -> Self {
        Self(graph.node_ids().collect())
    }

    fn find(&mut self, node: NodeId) -> NodeId {
        let mut at = node;
        while self.0[at] != at {
            let up = self.0[at];
            self.0[at] = self.0[up];
            at = up;
        }
        at
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{LinkSpec, Loss, TopologySpec};
    use dataplane::units::{NS, Rate, US};

    const LINK: LinkSpec = link(US);

    const fn link(delay_ps: Time) -> LinkSpec {
        LinkSpec {
            rate: Rate::from_gbps(100),
            delay_ps,
            loss: Loss::NONE,
        }
    }

    fn cut_of(topology: &TopologySpec, parts: u32) -> (Graph, Option<Cut>) {
        let graph = topology.build().unwrap();
        let cut = cut(&graph, Clock::Exact, 50, parts);
        (graph, cut)
    }

    /// Returns the total rate of the cut links, in units of 100 Gbit/s.
    fn crossing(graph: &Graph, cut: &Cut) -> usize {
        let ports = 0..graph.port_count() as usize;
        let ends = ports.map(|port| {
            let to = graph.port(LinkId::new(port)).peer;
            let from = graph.port(graph.reverse(LinkId::new(port))).peer;
            (from, to)
        });
        let part = |node: NodeId| cut.part_of[NodeId::new(node.index())];
        ends.filter(|&(from, to)| from < to && part(from) != part(to))
            .count()
    }

    // PAR-01
    #[test]
    fn pods_of_a_fat_tree_stay_whole_and_cores_are_shared_out() {
        let topology = TopologySpec::FatTree {
            k: 8,
            link: LINK,
            fabric_link: LINK,
        };
        for parts in [2, 4, 8] {
            let (graph, cut) = cut_of(&topology, parts);
            let cut = cut.unwrap();
            assert_eq!(cut.parts(), parts);
            for host in graph.host_ids() {
                // A pod has 16 hosts, 4 edges and 4 aggregation switches.
                assert_eq!(cut.part_of[host], host.bits() / 16 * parts / 8);
            }
            // A core switch has 8 links, one to each pod.
            let whole = 16 * (8 - 8 / parts as usize);
            assert_eq!(crossing(&graph, &cut), whole, "{parts} parts");
            for part in 0..parts {
                let nodes = cut.part_of.iter().filter(|&&p| p == part).count();
                assert_eq!(nodes as u32 * parts, graph.nodes());
            }
            // Lookahead: 1 µs of link delay, plus 4 ns for a frame of 50 B at 100 Gbit/s.
            assert_eq!(cut.lookahead_ps, US + 4 * NS);
        }
    }

    // PAR-01, PAR-02
    #[test]
    fn the_longest_links_are_cut_first_and_short_ones_never() {
        let sites = TopologySpec::MultiDc {
            sites: 2,
            leaves: 4,
            spines: 2,
            hosts_per_leaf: 4,
            link: LINK,
            uplink: LINK,
            gateway_link: LINK,
            interconnect: link(200 * US),
        };
        let (graph, cut) = cut_of(&sites, 2);
        let cut = cut.unwrap();
        assert_eq!(crossing(&graph, &cut), 1, "one link joins the sites");
        assert_eq!(cut.lookahead_ps, 200 * US + 4 * NS);
        // Four partitions are possible only if the short links are cut.
        let (_, cut) = cut_of(&sites, 4);
        assert_eq!(cut.unwrap().lookahead_ps, US + 4 * NS);

        let near = TopologySpec::Clos {
            pods: 4,
            tors_per_pod: 2,
            aggs_per_pod: 2,
            cores: 4,
            hosts_per_tor: 2,
            link: LINK,
            agg_link: link(0),
            core_link: LINK,
        };
        let (graph, cut) = cut_of(&near, 4);
        let cut = cut.unwrap();
        assert_eq!((cut.parts(), cut.lookahead_ps), (4, US + 4 * NS));
        assert_eq!(
            crossing(&graph, &cut),
            12,
            "16 links of cores, one of four at home"
        );
    }

    // PAR-01
    #[test]
    fn what_cannot_be_cut_evenly_is_cut_into_fewer_parts_or_not_at_all() {
        let star = TopologySpec::Star {
            hosts: 64,
            link: LINK,
        };
        assert_eq!(cut_of(&star, 2).1, None);
        let dumbbell = |left, right| TopologySpec::Dumbbell {
            left,
            right,
            link: LINK,
            core: LINK,
        };
        let (graph, cut) = cut_of(&dumbbell(10, 10), 8);
        let cut = cut.unwrap();
        assert_eq!((cut.parts(), crossing(&graph, &cut)), (2, 1));
        assert_eq!(
            cut_of(&dumbbell(2, 30), 2).1,
            None,
            "one side has nearly all the work"
        );
    }

    // PAR-01
    #[test]
    fn nodes_join_their_neighbours_in_whatever_order_they_are_numbered() {
        // Two halls of six switches each: a full mesh inside each hall, and one link between the
        // halls. The switches of both halls are numbered alternately.
        let switches = 12;
        let access = (0..switches).map(|s| (s, switches + s, LINK));
        let pairs = (0..switches).flat_map(|a| (a + 2..switches).step_by(2).map(move |b| (a, b)));
        let inside = pairs.map(|(a, b)| (switches + a, switches + b, LINK));
        let bridge = [(switches, switches + 1, LINK)];
        let topology = TopologySpec::Links {
            hosts: (0..switches).map(|i| format!("h{i}")).collect(),
            switches: (0..switches).map(|i| format!("s{i}")).collect(),
            links: access.chain(inside).chain(bridge).collect(),
        };
        let (graph, cut) = cut_of(&topology, 2);
        assert_eq!(crossing(&graph, &cut.unwrap()), 1);
    }
}
