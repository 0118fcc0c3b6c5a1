//! Lists the nodes and links of a topology. Only this module contains the structure of the regular
//! topologies.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::{LinkSpec, TopologyError, TopologySpec};
use crate::ids::NodeId;

/// Maximum number of hosts of a network.
pub(super) const MAX_HOSTS: u64 = 1 << 22;
/// Maximum number of switches of a network.
pub(super) const MAX_SWITCHES: u64 = 1 << 22;
/// Maximum number of links of a network.
pub(super) const MAX_LINKS: u64 = 1 << 25;
/// Maximum propagation delay: 1000 s.
const MAX_DELAY_PS: u64 = 1_000_000_000_000_000;

/// Names of the nodes of a network, stored or computed from the node ID.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// Groups of nodes of one kind, in node order: (name, number of nodes). Nodes are called
    /// `leaf0`, `leaf1`, ..., `spine0`, ...
    Runs(Vec<(&'static str, u32)>),
    /// Names from the scenario, by node, and the nodes sorted by name.
    Given(Vec<String>, Vec<NodeId>),
}

impl Names {
    /// Stores the given names, one for each node. No two names are equal.
    pub(super) fn given(names: Vec<String>) -> Self {
        let mut sorted: Vec<NodeId> = (0..names.len()).map(NodeId::new).collect();
        sorted.sort_unstable_by(|a, b| names[a.index()].cmp(&names[b.index()]));
        Self::Given(names, sorted)
    }

    /// Returns the name of a node.
    pub(super) fn of(&self, node: NodeId) -> String {
        match self {
            Self::Given(names, _) => names[node.index()].clone(),
            Self::Runs(runs) => {
                let mut rest = node.bits();
                for &(prefix, count) in runs {
                    if rest < count {
                        return format!("{prefix}{rest}");
                    }
                    rest -= count;
                }
                format!("node{node}")
            }
        }
    }

    /// Returns the node with this name; `None`: there is none.
    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        match self {
            Self::Given(names, sorted) => {
                let found = sorted.binary_search_by(|&node| names[node.index()].as_str().cmp(name));
                found.ok().map(|at| sorted[at])
            }
            Self::Runs(runs) => {
                let mut first = 0;
                for &(prefix, count) in runs {
                    if let Some(number) = name.strip_prefix(prefix).and_then(plain_number)
                        && number < count
                    {
                        return Some(NodeId::from_bits(first + number));
                    }
                    first += count;
                }
                None
            }
        }
    }
}

/// Parses the index at the end of a name: digits without leading zeros.
fn plain_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// A link: the IDs of its two nodes, and the index of its kind in [`Plan::links`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) a: NodeId,
    pub(super) b: NodeId,
    pub(super) link: u32,
}

impl Edge {
    /// Creates a link between nodes `a` and `b`. `link` is the index of its kind.
    pub(super) const fn new(a: u32, b: u32, link: u32) -> Self {
        Self {
            a: NodeId::from_bits(a),
            b: NodeId::from_bits(b),
            link,
        }
    }

    /// Returns links of one kind from node `a` to each node in `others`.
    pub(super) fn to_each(a: u32, others: Range<u32>, link: u32) -> impl Iterator<Item = Self> {
        others.map(move |b| Self::new(a, b, link))
    }

    /// Returns links of one kind from nodes to nodes of the next tier: `below` nodes connect to
    /// node `first`, the next `below` nodes to the node after `first`, and so on.
    pub(super) fn in_turn(
        nodes: Range<u32>,
        below: u32,
        first: u32,
        link: u32,
    ) -> impl Iterator<Item = Self> {
        let above = move |nth| first + nth / below;
        (0..)
            .zip(nodes)
            .map(move |(nth, a)| Self::new(a, above(nth), link))
    }
}

/// All nodes and links of a network.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Name of the topology in scenarios.
    pub(super) shape: &'static str,
    pub(super) hosts: u32,
    pub(super) switches: u32,
    pub(super) edges: Vec<Edge>,
    /// Distinct kinds of links (rate, delay, loss). An [`Edge`] refers to this list by index.
    pub(super) links: Vec<LinkSpec>,
    pub(super) names: Names,
    /// Number of racks (switches with hosts) per pod in a regular topology. The paths between two
    /// racks depend only on whether the racks are equal, or in the same pod.
    pub(super) pod_racks: Option<u32>,
    /// Scale-up switches of servers, as indices among the switches.
    pub(super) scale_up: Vec<u32>,
}

impl Plan {
    /// Lists the nodes and links of a topology. All counts are checked before memory is allocated.
    pub(super) fn new(spec: &TopologySpec) -> Result<Self, TopologyError> {
        match *spec {
            TopologySpec::Star { hosts, link } => star(hosts, link),
            TopologySpec::Dumbbell {
                left,
                right,
                link,
                core,
            } => dumbbell(left, right, link, core),
            TopologySpec::LeafSpine {
                leaves,
                spines,
                hosts_per_leaf,
                link,
                uplink,
            } => leaf_spine(leaves, spines, hosts_per_leaf, link, uplink),
            TopologySpec::Clos {
                pods,
                tors_per_pod,
                aggs_per_pod,
                cores,
                hosts_per_tor,
                link,
                agg_link,
                core_link,
            } => {
                let shape = ThreeTier {
                    shape: "clos",
                    tor_name: "tor",
                    pods,
                    tors_per_pod,
                    aggs_per_pod,
                    cores,
                    hosts_per_tor,
                };
                shape.check_clos()?;
                shape.plan(link, agg_link, core_link)
            }
            TopologySpec::FatTree {
                k,
                link,
                fabric_link,
            } => ThreeTier::fat_tree(k)?.plan(link, fabric_link, fabric_link),
            TopologySpec::DualHomed {
                pairs,
                hosts,
                aggs,
                link,
                uplink,
            } => dual_homed(pairs, hosts, aggs, link, uplink),
            TopologySpec::MultiDc {
                sites,
                leaves,
                spines,
                hosts_per_leaf,
                link,
                uplink,
                gateway_link,
                interconnect,
            } => {
                let counts = [sites, leaves, spines, hosts_per_leaf];
                multi_dc(counts, [link, uplink, gateway_link, interconnect])
            }
            TopologySpec::Servers(ref servers) => servers.plan(),
            TopologySpec::Links {
                ref hosts,
                ref switches,
                ref links,
            } => given(hosts, switches, links),
        }
    }
}

fn too_many_hosts(k: u32) -> TopologyError {
    let count = u128::from(k).pow(3) / 4;
    TopologyError::TooLarge {
        what: "hosts",
        count,
        limit: MAX_HOSTS,
    }
}

pub(super) fn check_counts(
    shape: &'static str,
    counts: &[(&'static str, u32)],
) -> Result<(), TopologyError> {
    match counts.iter().find(|(_, count)| *count == 0) {
        Some(&(key, _)) => Err(TopologyError::Zero { shape, key }),
        None => Ok(()),
    }
}

/// Returns the numbers of hosts and switches, or an error if one exceeds its limit.
pub(super) fn check_size(
    hosts: u128,
    switches: u128,
    links: u128,
) -> Result<(u32, u32), TopologyError> {
    let limits = [
        ("hosts", hosts, MAX_HOSTS),
        ("switches", switches, MAX_SWITCHES),
        ("links", links, MAX_LINKS),
    ];
    for (what, count, limit) in limits {
        if count > u128::from(limit) {
            return Err(TopologyError::TooLarge { what, count, limit });
        }
    }
    if hosts < 2 {
        return Err(TopologyError::TooFewHosts {
            hosts: hosts as u32,
        });
    }
    Ok((hosts as u32, switches as u32))
}

pub(super) fn check_delays(links: &[LinkSpec]) -> Result<(), TopologyError> {
    match links.iter().find(|link| link.delay_ps > MAX_DELAY_PS) {
        Some(link) => Err(TopologyError::DelayTooLong {
            delay_ps: link.delay_ps,
        }),
        None => Ok(()),
    }
}

fn star(hosts: u32, link: LinkSpec) -> Result<Plan, TopologyError> {
    check_counts("star", &[("hosts", hosts)])?;
    check_size(hosts.into(), 1, hosts.into())?;
    check_delays(&[link])?;
    Ok(Plan {
        shape: "star",
        hosts,
        switches: 1,
        edges: Edge::in_turn(0..hosts, hosts, hosts, 0).collect(),
        links: vec![link],
        names: Names::Runs(vec![("host", hosts), ("switch", 1)]),
        pod_racks: Some(1),
        scale_up: Vec::new(),
    })
}

fn dumbbell(left: u32, right: u32, link: LinkSpec, core: LinkSpec) -> Result<Plan, TopologyError> {
    check_counts("dumbbell", &[("left", left), ("right", right)])?;
    let count = u128::from(left) + u128::from(right);
    let (hosts, switches) = check_size(count, 2, count + 1)?;
    check_delays(&[link, core])?;
    let mut edges: Vec<Edge> = (0..hosts)
        .map(|host| Edge::new(host, hosts + u32::from(host >= left), 0))
        .collect();
    edges.push(Edge::new(hosts, hosts + 1, 1));
    Ok(Plan {
        shape: "dumbbell",
        hosts,
        switches,
        edges,
        links: vec![link, core],
        names: Names::Runs(vec![("host", hosts), ("switch", 2)]),
        pod_racks: Some(1),
        scale_up: Vec::new(),
    })
}

fn leaf_spine(
    leaves: u32,
    spines: u32,
    hosts_per_leaf: u32,
    link: LinkSpec,
    uplink: LinkSpec,
) -> Result<Plan, TopologyError> {
    let counts = [
        ("leaves", leaves),
        ("spines", spines),
        ("hosts_per_leaf", hosts_per_leaf),
    ];
    check_counts("leaf-spine", &counts)?;
    let [l, s, h] = [leaves, spines, hosts_per_leaf].map(u128::from);
    let (hosts, switches) = check_size(l * h, l + s, l * h + l * s)?;
    check_delays(&[link, uplink])?;
    let mut edges = Vec::with_capacity((l * h + l * s) as usize);
    edges.extend(Edge::in_turn(0..hosts, hosts_per_leaf, hosts, 0));
    for leaf in hosts..hosts + leaves {
        edges.extend(Edge::to_each(leaf, hosts + leaves..hosts + switches, 1));
    }
    Ok(Plan {
        shape: "leaf-spine",
        hosts,
        switches,
        edges,
        links: vec![link, uplink],
        names: Names::Runs(vec![("host", hosts), ("leaf", leaves), ("spine", spines)]),
        pod_racks: Some(1),
        scale_up: Vec::new(),
    })
}

/// Numbers of nodes in a three-tier network: pods of ToRs and aggregation switches, and cores.
struct ThreeTier {
    shape: &'static str,
    tor_name: &'static str,
    pods: u32,
    tors_per_pod: u32,
    aggs_per_pod: u32,
    cores: u32,
    hosts_per_tor: u32,
}

impl ThreeTier {
    /// Returns an error if a count is 0, or if the core switches cannot be divided evenly.
    fn check_clos(&self) -> Result<(), TopologyError> {
        let counts = [
            ("pods", self.pods),
            ("tors_per_pod", self.tors_per_pod),
            ("aggs_per_pod", self.aggs_per_pod),
            ("cores", self.cores),
            ("hosts_per_tor", self.hosts_per_tor),
        ];
        check_counts("clos", &counts)?;
        let (cores, aggs_per_pod) = (self.cores, self.aggs_per_pod);
        match cores.is_multiple_of(aggs_per_pod) {
            true => Ok(()),
            false => Err(TopologyError::UnevenCores {
                cores,
                aggs_per_pod,
            }),
        }
    }

    /// Returns the numbers of nodes of a fat-tree whose switches have `k` ports.
    fn fat_tree(k: u32) -> Result<Self, TopologyError> {
        if k == 0 || !k.is_multiple_of(2) {
            return Err(TopologyError::BadK { k });
        }
        let half = k / 2;
        // Larger networks exceed the limit on hosts anyway. This check keeps half² in range.
        let cores = half.checked_mul(half).ok_or_else(|| too_many_hosts(k))?;
        Ok(Self {
            shape: "fat-tree",
            tor_name: "edge",
            pods: k,
            tors_per_pod: half,
            aggs_per_pod: half,
            cores,
            hosts_per_tor: half,
        })
    }

    /// Assigns node IDs to all ToRs by pod, all aggregation switches by pod, and the core switches.
    /// Aggregation switch i of every pod is linked to the i-th range of core switches. // TOP-02
    fn plan(
        &self,
        link: LinkSpec,
        agg_link: LinkSpec,
        core_link: LinkSpec,
    ) -> Result<Plan, TopologyError> {
        let [p, t, a, c, h] = [
            self.pods,
            self.tors_per_pod,
            self.aggs_per_pod,
            self.cores,
            self.hosts_per_tor,
        ]
        .map(u128::from);
        let links = p * t * (h + a) + p * c;
        let (hosts, switches) = check_size(p * t * h, p * (t + a) + c, links)?;
        check_delays(&[link, agg_link, core_link])?;
        let (tors, aggs) = (self.pods * self.tors_per_pod, self.pods * self.aggs_per_pod);
        let (first_agg, first_core) = (hosts + tors, hosts + tors + aggs);
        let share = self.cores / self.aggs_per_pod;
        let mut edges = Vec::with_capacity(links as usize);
        edges.extend(Edge::in_turn(0..hosts, self.hosts_per_tor, hosts, 0));
        for tor in 0..tors {
            let own = first_agg + tor / self.tors_per_pod * self.aggs_per_pod;
            edges.extend(Edge::to_each(hosts + tor, own..own + self.aggs_per_pod, 1));
        }
        for agg in 0..aggs {
            let own = first_core + agg % self.aggs_per_pod * share;
            edges.extend(Edge::to_each(first_agg + agg, own..own + share, 2));
        }
        let runs = vec![
            ("host", hosts),
            (self.tor_name, tors),
            ("agg", aggs),
            ("core", self.cores),
        ];
        Ok(Plan {
            shape: self.shape,
            hosts,
            switches,
            edges,
            links: vec![link, agg_link, core_link],
            names: Names::Runs(runs),
            pod_racks: Some(self.tors_per_pod),
            scale_up: Vec::new(),
        })
    }
}

/// Lays out dual-homed hosts. ToRs 2p and 2p + 1 form pair p. The node IDs of the hosts of a pair
/// follow those of earlier pairs. // TOP-18
fn dual_homed(
    pairs: u32,
    hosts: u32,
    aggs: u32,
    link: LinkSpec,
    uplink: LinkSpec,
) -> Result<Plan, TopologyError> {
    let counts = [("pairs", pairs), ("hosts", hosts), ("aggs", aggs)];
    check_counts("dual-homed", &counts)?;
    if hosts < pairs {
        return Err(TopologyError::EmptyPair { pairs, hosts });
    }
    let [p, h, a] = [pairs, hosts, aggs].map(u128::from);
    let links = 2 * h + 2 * p * a;
    let (_, switches) = check_size(h, 2 * p + a, links)?;
    check_delays(&[link, uplink])?;
    let mut edges = Vec::with_capacity(links as usize);
    let mut host = 0;
    for pair in 0..pairs {
        let own = hosts / pairs + u32::from(pair < hosts % pairs);
        let tor = hosts + 2 * pair;
        for a in host..host + own {
            edges.extend(Edge::to_each(a, tor..tor + 2, 0));
        }
        host += own;
    }
    let tors = 2 * pairs;
    let first_agg = hosts + tors;
    for tor in hosts..first_agg {
        edges.extend(Edge::to_each(tor, first_agg..first_agg + aggs, 1));
    }
    Ok(Plan {
        shape: "dual-homed",
        hosts,
        switches,
        edges,
        links: vec![link, uplink],
        names: Names::Runs(vec![("host", hosts), ("tor", tors), ("agg", aggs)]),
        pod_racks: Some(1),
        scale_up: Vec::new(),
    })
}

/// Assigns node IDs to all leaves by site, all spines by site, and the gateways. // TOP-21
fn multi_dc(counts: [u32; 4], links: [LinkSpec; 4]) -> Result<Plan, TopologyError> {
    let [sites, leaves, spines, hosts_per_leaf] = counts;
    let named = [
        ("sites", sites),
        ("leaves", leaves),
        ("spines", spines),
        ("hosts_per_leaf", hosts_per_leaf),
    ];
    check_counts("multi-dc", &named)?;
    let [d, l, s, h] = counts.map(u128::from);
    let count = d * (l * h + l * s + s) + d * (d - 1) / 2;
    let (hosts, switches) = check_size(d * l * h, d * (l + s + 1), count)?;
    check_delays(&links)?;
    let first_leaf = hosts;
    let first_spine = first_leaf + sites * leaves;
    let first_gateway = first_spine + sites * spines;
    let mut edges = Vec::with_capacity(count as usize);
    edges.extend(Edge::in_turn(0..hosts, hosts_per_leaf, first_leaf, 0));
    for leaf in 0..sites * leaves {
        let own = first_spine + leaf / leaves * spines;
        edges.extend(Edge::to_each(first_leaf + leaf, own..own + spines, 1));
    }
    let all_spines = first_spine..first_gateway;
    edges.extend(Edge::in_turn(all_spines, spines, first_gateway, 2));
    let end = first_gateway + sites;
    for gateway in first_gateway..end {
        edges.extend(Edge::to_each(gateway, gateway + 1..end, 3));
    }
    let runs = vec![
        ("host", hosts),
        ("leaf", sites * leaves),
        ("spine", sites * spines),
        ("gateway", sites),
    ];
    Ok(Plan {
        shape: "multi-dc",
        hosts,
        switches,
        edges,
        links: links.to_vec(),
        names: Names::Runs(runs),
        pod_racks: Some(leaves),
        scale_up: Vec::new(),
    })
}

fn given(
    hosts: &[String],
    switches: &[String],
    lines: &[(u32, u32, LinkSpec)],
) -> Result<Plan, TopologyError> {
    let (host_count, switch_count) = check_size(
        hosts.len() as u128,
        switches.len() as u128,
        lines.len() as u128,
    )?;
    let names: Vec<String> = hosts.iter().chain(switches).cloned().collect();
    check_names(&names)?;
    check_lines(&names, lines)?;

    let mut links = Vec::new();
    let mut number = HashMap::new();
    let edges = lines
        .iter()
        .map(|&(a, b, link)| {
            let link = *number
                .entry((link.rate.bps(), link.delay_ps, link.loss))
                .or_insert_with(|| {
                    links.push(link);
                    links.len() as u32 - 1
                });
            Edge::new(a, b, link)
        })
        .collect();
    check_delays(&links)?;
    Ok(Plan {
        shape: "links",
        hosts: host_count,
        switches: switch_count,
        edges,
        links,
        names: Names::given(names),
        pod_racks: None,
        scale_up: Vec::new(),
    })
}

fn check_names(names: &[String]) -> Result<(), TopologyError> {
    let mut seen = BTreeSet::new();
    for (node, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(TopologyError::EmptyName { node: node as u32 });
        }
        if !seen.insert(name) {
            return Err(TopologyError::RepeatedName { name: name.clone() });
        }
    }
    Ok(())
}

fn check_lines(names: &[String], lines: &[(u32, u32, LinkSpec)]) -> Result<(), TopologyError> {
    let nodes = names.len() as u32;
    let name = |node: u32| names[node as usize].clone();
    for (line, &(a, b, _)) in lines.iter().enumerate() {
        let link = line + 1;
        if let Some(node) = [a, b].into_iter().find(|&node| node >= nodes) {
            return Err(TopologyError::UnknownNode { link, node, nodes });
        }
        if a == b {
            return Err(TopologyError::SelfLoop {
                link,
                node: name(a),
            });
        }
    }
    Ok(())
}
