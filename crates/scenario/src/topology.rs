//! `[topology]`: from TOML to a [`TopologySpec`], with the errors that need no graph.

use std::collections::BTreeMap;

use dataplane::units::Rate;
use fabric::topology::{LinkSpec, Loss, TopologySpec};

use crate::document::{Node, Value};
use crate::failures;
use crate::problem::{Code, nearest};
use crate::reader::{
    Read, Section, array, choice, count, fraction, name, quantity, refuse, refuse_as,
};
use crate::units::{MAX_RATE_BPS, RATE, TIME};

/// Most hosts of a scenario.
pub const MAX_HOSTS: u64 = 262_144;
/// Most ports of a switch.
pub const MAX_PORTS: u64 = 65_535;
/// Most links of a scenario.
const MAX_LINKS: u64 = 4_000_000;
/// Slowest link: slower ones are not of this world, and their times would overflow.
pub(crate) const MIN_RATE_BPS: u64 = 1_000_000;
/// Longest delay of a link: a second, three times to the moon.
pub(crate) const MAX_DELAY_PS: u64 = 1_000_000_000_000;

#[derive(Clone, Copy)]
enum Kind {
    Star,
    Dumbbell,
    LeafSpine,
    Clos,
    FatTree,
    DualHomed,
    MultiDc,
    Links,
}

const KINDS: &[(&str, Kind)] = &[
    ("star", Kind::Star),
    ("dumbbell", Kind::Dumbbell),
    ("leaf-spine", Kind::LeafSpine),
    ("clos", Kind::Clos),
    ("fat-tree", Kind::FatTree),
    ("dual-homed", Kind::DualHomed),
    ("multi-dc", Kind::MultiDc),
    ("links", Kind::Links),
];

/// Names of all kinds of topology, with what they are.
pub const TOPOLOGIES: &[(&str, &str)] = &[
    ("star", "hosts on one switch: hosts, link"),
    (
        "dumbbell",
        "two switches with hosts, joined by one link: left, right, link, core",
    ),
    (
        "leaf-spine",
        "every leaf linked to every spine: leaves, spines, hosts_per_leaf, link, uplink",
    ),
    (
        "clos",
        "pods of ToRs and aggregation switches below cores: pods, tors_per_pod, aggs_per_pod, \
         cores, hosts_per_tor, link, agg_link, core_link",
    ),
    ("fat-tree", "k-ary fat-tree: k, link, fabric_link"),
    (
        "dual-homed",
        "pairs of ToRs with hosts on both, below aggregation switches: pairs, hosts, aggs, link, uplink",
    ),
    (
        "multi-dc",
        "leaf-spine sites, each with a gateway; every two gateways are linked: sites, leaves, spines, \
         hosts_per_leaf, link, uplink, gateway_link, interconnect",
    ),
    (
        "links",
        "nodes and links one by one: hosts, switches, links",
    ),
];

/// Reads `[topology]`.
pub(crate) fn read(root: &Section<'_>) -> Option<TopologySpec> {
    if root.table.get("topology").is_none() {
        root.missing(
            "topology",
            "{ kind = \"star\", hosts = 4, link = { rate = \"100Gbps\", delay = \"1us\" } }",
        );
        root.has("topology");
        return None;
    }
    let section = root.section("topology")?;
    let kind = section.required("kind", "\"leaf-spine\"", |n| choice(n, KINDS))?;
    let spec = match kind {
        Kind::Star => star(&section),
        Kind::Dumbbell => dumbbell(&section),
        Kind::LeafSpine => leaf_spine(&section),
        Kind::Clos => clos(&section),
        Kind::FatTree => fat_tree(&section),
        Kind::DualHomed => dual_homed(&section),
        Kind::MultiDc => multi_dc(&section),
        Kind::Links => links(&section),
    };
    failures::KEYS.into_iter().for_each(|key| {
        section.entry(key);
    });
    section.finish();
    spec
}

/// How many hosts a topology has.
#[must_use]
pub fn hosts(spec: &TopologySpec) -> u64 {
    match spec {
        TopologySpec::Star { hosts, .. } | TopologySpec::DualHomed { hosts, .. } => {
            u64::from(*hosts)
        }
        TopologySpec::Dumbbell { left, right, .. } => u64::from(*left) + u64::from(*right),
        TopologySpec::LeafSpine {
            leaves,
            hosts_per_leaf,
            ..
        } => u64::from(*leaves) * u64::from(*hosts_per_leaf),
        TopologySpec::Clos {
            pods,
            tors_per_pod,
            hosts_per_tor,
            ..
        } => u64::from(*pods) * u64::from(*tors_per_pod) * u64::from(*hosts_per_tor),
        TopologySpec::MultiDc {
            sites,
            leaves,
            hosts_per_leaf,
            ..
        } => u64::from(*sites) * u64::from(*leaves) * u64::from(*hosts_per_leaf),
        TopologySpec::FatTree { k, .. } => u64::from(*k).pow(3) / 4,
        TopologySpec::Links { hosts, .. } => hosts.len() as u64,
    }
}

fn size(section: &Section<'_>, key: &'static str, example: &str) -> Option<u32> {
    section
        .required(key, example, |n| count(n, 1, MAX_PORTS))
        .map(|v| v as u32)
}

/// A link that must be there.
fn link(section: &Section<'_>) -> Option<LinkSpec> {
    let Some(inner) = section.section("link") else {
        if section.table.get("link").is_none() {
            section.missing("link", "{ rate = \"100Gbps\", delay = \"1us\" }");
        }
        return None;
    };
    let spec = link_values(&inner);
    inner.finish();
    spec
}

fn link_values(section: &Section<'_>) -> Option<LinkSpec> {
    let rate = section.required("rate", "\"100Gbps\"", |n| {
        quantity(n, &RATE, MIN_RATE_BPS, MAX_RATE_BPS)
    });
    let delay = section.required("delay", "\"1us\"", |n| quantity(n, &TIME, 0, MAX_DELAY_PS));
    let loss = match section.has("loss") {
        true => section.optional("loss", |n| fraction(n, 0.0, 1.0)),
        false => Some(0.0),
    };
    Some(LinkSpec {
        rate: Rate::from_bps(rate?),
        delay_ps: delay?,
        loss: Loss::of(loss?),
    })
}

/// A link of the upper tiers; by default as the host links.
fn other_link(
    section: &Section<'_>,
    key: &'static str,
    base: Option<LinkSpec>,
) -> Option<LinkSpec> {
    if section.table.get(key).is_none() {
        section.has(key);
        let base = base?;
        let loss = match base.loss {
            Loss::NONE => String::new(),
            loss => format!(", loss = {:?}", loss.probability()),
        };
        let text = format!(
            "{{ rate = \"{}\", delay = \"{}\"{loss} }}",
            RATE.show(base.rate.bps()),
            TIME.show(base.delay_ps)
        );
        section
            .context
            .compute(&section.path, key, text, "default: as link");
        return Some(base);
    }
    let inner = section.section(key)?;
    let spec = link_values(&inner);
    inner.finish();
    spec
}

/// Refuses networks whose parts multiply to absurd numbers.
fn check_totals(section: &Section<'_>, hosts: u64, links: u64, ports: u64, blame: &str) -> bool {
    let (what, number, limit) = if hosts > MAX_HOSTS {
        ("hosts", hosts, MAX_HOSTS)
    } else if ports > MAX_PORTS {
        ("ports on one switch", ports, MAX_PORTS)
    } else if links > MAX_LINKS {
        ("links", links, MAX_LINKS)
    } else {
        return true;
    };
    let message = format!("this network would have {number} {what}");
    section.complain(
        blame,
        message,
        format!("at most {limit} {what} can be simulated"),
    );
    false
}

fn star(section: &Section<'_>) -> Option<TopologySpec> {
    let hosts = section
        .required("hosts", "16", |n| count(n, 2, MAX_PORTS))
        .map(|v| v as u32);
    let link = link(section);
    Some(TopologySpec::Star {
        hosts: hosts?,
        link: link?,
    })
}

fn dumbbell(section: &Section<'_>) -> Option<TopologySpec> {
    let left = size(section, "left", "2");
    let right = size(section, "right", "2");
    let link = link(section);
    let core = other_link(section, "core", link);
    let (left, right) = (left?, right?);
    let ports = u64::from(left.max(right)) + 1;
    check_totals(
        section,
        u64::from(left) + u64::from(right),
        0,
        ports,
        "left",
    )
    .then_some(())?;
    Some(TopologySpec::Dumbbell {
        left,
        right,
        link: link?,
        core: core?,
    })
}

fn leaf_spine(section: &Section<'_>) -> Option<TopologySpec> {
    let leaves = size(section, "leaves", "8");
    let spines = size(section, "spines", "8");
    let hosts_per_leaf = size(section, "hosts_per_leaf", "16");
    let link = link(section);
    let uplink = other_link(section, "uplink", link);
    let (leaves, spines, hosts_per_leaf) = (leaves?, spines?, hosts_per_leaf?);
    let [l, s, h] = [leaves, spines, hosts_per_leaf].map(u64::from);
    check_totals(section, l * h, l * (h + s), (h + s).max(l), "leaves").then_some(())?;
    Some(TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: link?,
        uplink: uplink?,
    })
}

fn clos(section: &Section<'_>) -> Option<TopologySpec> {
    let pods = size(section, "pods", "5");
    let tors_per_pod = size(section, "tors_per_pod", "4");
    let aggs_per_pod = size(section, "aggs_per_pod", "4");
    let cores = size(section, "cores", "16");
    let hosts_per_tor = size(section, "hosts_per_tor", "16");
    let link = link(section);
    let agg_link = other_link(section, "agg_link", link);
    let core_link = other_link(section, "core_link", link);
    let (pods, tors_per_pod) = (pods?, tors_per_pod?);
    let (aggs_per_pod, cores, hosts_per_tor) = (aggs_per_pod?, cores?, hosts_per_tor?);
    if !cores.is_multiple_of(aggs_per_pod) {
        let message =
            format!("{cores} cores cannot be shared out among {aggs_per_pod} aggregation switches");
        section.complain(
            "cores",
            message,
            "`cores` must be a multiple of `aggs_per_pod`",
        );
        return None;
    }
    let [p, t, a, c, h] = [pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor].map(u64::from);
    // Each factor is below 2^16, so three of them fit.
    let hosts = p * t * h;
    let links = hosts + p * t * a + p * c;
    let ports = (h + a).max(t + c / a).max(p);
    check_totals(section, hosts, links, ports, "pods").then_some(())?;
    let (link, agg_link, core_link) = (link?, agg_link?, core_link?);
    Some(TopologySpec::Clos {
        pods,
        tors_per_pod,
        aggs_per_pod,
        cores,
        hosts_per_tor,
        link,
        agg_link,
        core_link,
    })
}

fn fat_tree(section: &Section<'_>) -> Option<TopologySpec> {
    let k = section
        .required("k", "4", |n| count(n, 2, 100))
        .map(|v| v as u32);
    let link = link(section);
    let fabric_link = other_link(section, "fabric_link", link);
    let k = k?;
    if k % 2 != 0 {
        section.complain(
            "k",
            format!("a fat-tree of {k} ports does not exist"),
            "`k` must be even",
        );
        return None;
    }
    Some(TopologySpec::FatTree {
        k,
        link: link?,
        fabric_link: fabric_link?,
    })
}

fn dual_homed(section: &Section<'_>) -> Option<TopologySpec> {
    let pairs = size(section, "pairs", "2");
    let hosts = section
        .required("hosts", "32", |n| count(n, 2, MAX_HOSTS))
        .map(|v| v as u32);
    let aggs = size(section, "aggs", "1");
    let link = link(section);
    let uplink = other_link(section, "uplink", link);
    let (pairs, hosts, aggs) = (pairs?, hosts?, aggs?);
    if hosts < pairs {
        let message = format!("{hosts} hosts cannot be shared out among {pairs} pairs of ToRs");
        section.complain("hosts", message, "every pair needs at least one host");
        return None;
    }
    let [p, h, a] = [pairs, hosts, aggs].map(u64::from);
    let ports = (h.div_ceil(p) + a).max(2 * p);
    check_totals(section, h, 2 * h + 2 * p * a, ports, "pairs").then_some(())?;
    Some(TopologySpec::DualHomed {
        pairs,
        hosts,
        aggs,
        link: link?,
        uplink: uplink?,
    })
}

fn multi_dc(section: &Section<'_>) -> Option<TopologySpec> {
    let sites = section
        .required("sites", "2", |n| count(n, 1, 256))
        .map(|v| v as u32);
    let leaves = size(section, "leaves", "4");
    let spines = size(section, "spines", "8");
    let hosts_per_leaf = size(section, "hosts_per_leaf", "16");
    let link = link(section);
    let uplink = other_link(section, "uplink", link);
    let gateway_link = other_link(section, "gateway_link", link);
    let interconnect = other_link(section, "interconnect", link);
    let (sites, leaves, spines, hosts_per_leaf) = (sites?, leaves?, spines?, hosts_per_leaf?);
    let [d, l, s, h] = [sites, leaves, spines, hosts_per_leaf].map(u64::from);
    let links = d * (l * h + l * s + s) + d * (d - 1) / 2;
    let ports = (h + s).max(l + 1).max(s + d - 1);
    check_totals(section, d * l * h, links, ports, "sites").then_some(())?;
    Some(TopologySpec::MultiDc {
        sites,
        leaves,
        spines,
        hosts_per_leaf,
        link: link?,
        uplink: uplink?,
        gateway_link: gateway_link?,
        interconnect: interconnect?,
    })
}

/// Names of nodes, as a list or as a count of them.
fn node_names(node: &Node, prefix: &str, min: u64) -> Read<Vec<String>> {
    let Value::Array(items) = &node.value else {
        let n = count(node, min, MAX_HOSTS)?;
        return Ok((0..n).map(|i| format!("{prefix}{i}")).collect());
    };
    if (items.len() as u64) < min {
        return refuse(
            format!("at least {min} needed"),
            format!("for example [\"{prefix}0\", \"{prefix}1\"]"),
        );
    }
    if items.len() as u64 > MAX_HOSTS {
        return refuse("too many", format!("at most {MAX_HOSTS}"));
    }
    items.iter().map(name).collect()
}

struct Nodes {
    index: BTreeMap<String, u32>,
    hosts: u32,
}

fn links(section: &Section<'_>) -> Option<TopologySpec> {
    let hosts = section.required("hosts", "[\"h0\", \"h1\"]", |n| node_names(n, "h", 2));
    let switches = section.required("switches", "[\"s0\"]", |n| node_names(n, "s", 1));
    let entry = section.entry("links");
    let (hosts, switches) = (hosts?, switches?);
    let mut nodes = Nodes {
        index: BTreeMap::new(),
        hosts: hosts.len() as u32,
    };
    for (i, name) in hosts.iter().chain(&switches).enumerate() {
        if nodes.index.insert(name.clone(), i as u32).is_some() {
            let key = if i < hosts.len() { "hosts" } else { "switches" };
            section.complain(
                key,
                format!("two nodes are called `{name}`"),
                "give each node its own name",
            );
            return None;
        }
    }
    let Some(entry) = entry else {
        section.missing(
            "links",
            "[{ a = \"h0\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" }]",
        );
        return None;
    };
    let items = match array(&entry.node, "an array of links") {
        Ok(items) => items,
        Err(refusal) => {
            section.complain(
                "links",
                format!("`links`: {}", refusal.message),
                "[{ a = .., b = .., rate = .., delay = .. }]",
            );
            return None;
        }
    };
    section
        .context
        .note(&section.child("links"), &entry.node.at);
    let mut links = Vec::new();
    let mut seen = BTreeMap::new();
    let mut good = true;
    for (i, item) in items.iter().enumerate() {
        match one_link(section, item, i, &nodes, &mut seen) {
            Some(link) => links.push(link),
            None => good = false,
        }
    }
    if !good || !connected(section, &hosts, &switches, &links) {
        return None;
    }
    Some(TopologySpec::Links {
        hosts,
        switches,
        links,
    })
}

/// One item of `links`.
fn one_link(
    section: &Section<'_>,
    item: &Node,
    i: usize,
    nodes: &Nodes,
    seen: &mut BTreeMap<(u32, u32), usize>,
) -> Option<(u32, u32, LinkSpec)> {
    let path = section.child(&format!("links.{i}"));
    let Value::Table(table) = &item.value else {
        let hint = "{ a = \"h0\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" }".to_owned();
        let message = format!("a link is a table, not {}", item.kind());
        section
            .context
            .error(Code::WrongType, &item.at, &path, message, Some(hint));
        return None;
    };
    let inner = Section::new(section.context, table, path.clone(), item.at.clone());
    let a = inner.required("a", "\"h0\"", |n| end(n, nodes));
    let b = inner.required("b", "\"s0\"", |n| end(n, nodes));
    let spec = link_values(&inner);
    inner.finish();
    let (a, b) = (a?, b?);
    if a == b {
        inner.complain(
            "b",
            "a link from a node to itself",
            "`a` and `b` must differ",
        );
        return None;
    }
    if a < nodes.hosts && b < nodes.hosts {
        inner.complain("b", "a link between two hosts", "put a switch between them");
        return None;
    }
    if let Some(first) = seen.insert((a.min(b), a.max(b)), i) {
        let message = format!("the same two nodes are already linked by links.{first}");
        section.context.error(
            Code::WrongValue,
            &item.at,
            &path,
            message,
            Some("take one of the two out; for more capacity raise its rate".to_owned()),
        );
        return None;
    }
    Some((a, b, spec?))
}

/// The index of a named node.
fn end(node: &Node, nodes: &Nodes) -> Read<u32> {
    let text = name(node)?;
    if let Some(&i) = nodes.index.get(&text) {
        return Ok(i);
    }
    let hint = match nearest(&text, nodes.index.keys().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "name it in `hosts` or `switches`".to_owned(),
    };
    refuse_as(
        Code::UnknownName,
        format!("there is no node \"{text}\""),
        hint,
    )
}

/// Reports hosts without a link or out of reach, and switches with too many ports.
fn connected(
    section: &Section<'_>,
    hosts: &[String],
    switches: &[String],
    links: &[(u32, u32, LinkSpec)],
) -> bool {
    let total = hosts.len() + switches.len();
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); total];
    for &(a, b, _) in links {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    let mut reached = vec![false; total];
    let mut open = vec![0u32];
    reached[0] = true;
    while let Some(node) = open.pop() {
        // Traffic does not pass through hosts: only the first one is left again.
        if (node as usize) < hosts.len() && node != 0 {
            continue;
        }
        for &next in &neighbours[node as usize] {
            if !std::mem::replace(&mut reached[next as usize], true) {
                open.push(next);
            }
        }
    }
    let lost: Vec<&str> = (0..hosts.len())
        .filter(|&h| !reached[h])
        .map(|h| hosts[h].as_str())
        .collect();
    if !lost.is_empty() {
        let shown = lost.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let more = if lost.len() > 5 {
            format!(" and {} more", lost.len() - 5)
        } else {
            String::new()
        };
        let message = format!("no path leads from host {} to {shown}{more}", hosts[0]);
        section.complain(
            "links",
            message,
            "add links so that every host can reach every other over switches",
        );
        return false;
    }
    let most = neighbours.iter().map(Vec::len).max().unwrap_or(0) as u64;
    check_totals(
        section,
        hosts.len() as u64,
        links.len() as u64,
        most,
        "links",
    )
}
