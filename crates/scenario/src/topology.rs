//! Reads `[topology]`: converts TOML to a [`TopologySpec`], and reports errors that are visible
//! before the network is built.

use std::collections::BTreeMap;

use dataplane::param::{Value, Values};
use dataplane::units::Rate;
use fabric::topology::{LinkSpec, Loss, Servers, TopologySpec, Wiring};

pub use crate::keys::{MAX_HOSTS, MAX_PORTS};
use crate::keys::{TOPOLOGY, Variant};
use crate::params::{self, text};
use crate::problem::{Code, nearest};
use crate::reader::Section;
use crate::units::{RATE, TIME};

/// Maximum number of links of a scenario.
const MAX_LINKS: u64 = 4_000_000;

/// Returns the name and the description (with keys) of each kind of topology.
#[must_use]
pub fn topologies() -> Vec<(&'static str, String)> {
    let told = |variant: &Variant| {
        let keys: Vec<&str> = variant.params.iter().map(|param| param.key).collect();
        let about = variant.about.trim_end_matches('.');
        let mut about = about.chars();
        let first = about.next().unwrap_or_default().to_lowercase();
        let text = format!("{first}{}: {}", about.as_str(), keys.join(", "));
        (variant.word, text)
    };
    TOPOLOGY.each.iter().map(told).collect()
}

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
    let kind = TOPOLOGY.chosen(&section, "\"leaf-spine\"");
    let spec = kind.and_then(|kind| {
        let values = params::read(&section, kind.params)?;
        match kind.word {
            "links" => links(&section, &values),
            word => regular(&section, word, &values),
        }
    });
    // `failures.rs` reads these keys, because it needs the built network.
    for param in TOPOLOGY.common {
        section.entry(param.key);
    }
    section.finish();
    spec
}

/// Returns the number of hosts of a topology.
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
        TopologySpec::Servers(servers) => servers.gpus(),
        TopologySpec::Links { hosts, .. } => hosts.len() as u64,
    }
}

/// Creates a link from the values of its table.
fn link(values: &Values) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_bps(values.rate("rate")),
        delay_ps: values.time("delay"),
        loss: Loss::of(values.some_number("loss").unwrap_or(0.0)),
    }
}

/// Reads the link of an upper tier. If it is not set, returns the host link.
fn upper(section: &Section<'_>, values: &Values, key: &str, base: LinkSpec) -> LinkSpec {
    if let Some(given) = values.some_table(key) {
        return link(&given);
    }
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
    base
}

/// Reports an error if the number of hosts, links or ports of the network is too large.
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

/// Reads a regular topology, which is defined by a few numbers.
fn regular(section: &Section<'_>, kind: &str, values: &Values) -> Option<TopologySpec> {
    let number = |key: &str| values.count(key) as u32;
    let host_link = link(&values.table("link"));
    let upper = |key| upper(section, values, key, host_link);
    let spec = match kind {
        "star" => TopologySpec::Star {
            hosts: number("hosts"),
            link: host_link,
        },
        "dumbbell" => TopologySpec::Dumbbell {
            left: number("left"),
            right: number("right"),
            link: host_link,
            core: upper("core"),
        },
        "leaf-spine" => TopologySpec::LeafSpine {
            leaves: number("leaves"),
            spines: number("spines"),
            hosts_per_leaf: number("hosts_per_leaf"),
            link: host_link,
            uplink: upper("uplink"),
        },
        "clos" => TopologySpec::Clos {
            pods: number("pods"),
            tors_per_pod: number("tors_per_pod"),
            aggs_per_pod: number("aggs_per_pod"),
            cores: number("cores"),
            hosts_per_tor: number("hosts_per_tor"),
            link: host_link,
            agg_link: upper("agg_link"),
            core_link: upper("core_link"),
        },
        "fat-tree" => TopologySpec::FatTree {
            k: number("k"),
            link: host_link,
            fabric_link: upper("fabric_link"),
        },
        "dual-homed" => TopologySpec::DualHomed {
            pairs: number("pairs"),
            hosts: number("hosts"),
            aggs: number("aggs"),
            link: host_link,
            uplink: upper("uplink"),
        },
        "rail-optimised" => servers(Wiring::Rails, values, host_link, upper("uplink")),
        "gpu-racks" => servers(Wiring::Racks, values, host_link, upper("uplink")),
        _ => TopologySpec::MultiDc {
            sites: number("sites"),
            leaves: number("leaves"),
            spines: number("spines"),
            hosts_per_leaf: number("hosts_per_leaf"),
            link: host_link,
            uplink: upper("uplink"),
            gateway_link: upper("gateway_link"),
            interconnect: upper("interconnect"),
        },
    };
    buildable(section, &spec).then_some(spec)
}

/// Reads a topology of servers with GPUs.
fn servers(wiring: Wiring, values: &Values, host_link: LinkSpec, uplink: LinkSpec) -> TopologySpec {
    let number = |key: &str| values.count(key) as u32;
    let segment = values.some_count("servers_per_segment");
    TopologySpec::Servers(Servers {
        wiring,
        servers: number("servers"),
        gpus_per_server: number("gpus_per_server"),
        servers_per_segment: segment.map_or(number("servers"), |servers| servers as u32),
        nic_ports: number("nic_ports"),
        planes: number("planes"),
        spines: number("spines"),
        scale_up: link(&values.table("scale_up")),
        link: host_link,
        uplink,
    })
}

/// Reports numbers for which no valid network exists, and networks that are too large.
fn buildable(section: &Section<'_>, spec: &TopologySpec) -> bool {
    if let Some((key, message, hint)) = indivisible(spec) {
        section.complain(key, message, hint);
        return false;
    }
    let Some((links, ports, blame)) = links_and_ports(spec) else {
        return true;
    };
    check_totals(section, hosts(spec), links, ports, blame)
}

/// If a number is not divisible as the topology requires, returns its key, an error message and a
/// hint.
fn indivisible(spec: &TopologySpec) -> Option<(&'static str, String, &'static str)> {
    match *spec {
        TopologySpec::Clos {
            aggs_per_pod: aggs,
            cores,
            ..
        } if !cores.is_multiple_of(aggs) => Some((
            "cores",
            format!("{cores} cores cannot be shared out among {aggs} aggregation switches"),
            "`cores` must be a multiple of `aggs_per_pod`",
        )),
        TopologySpec::FatTree { k, .. } if k % 2 != 0 => Some((
            "k",
            format!("a fat-tree of {k} ports does not exist"),
            "`k` must be even",
        )),
        TopologySpec::DualHomed { pairs, hosts, .. } if hosts < pairs => Some((
            "hosts",
            format!("{hosts} hosts cannot be shared out among {pairs} pairs of ToRs"),
            "every pair needs at least one host",
        )),
        TopologySpec::Servers(ref servers) if !servers.planes_fit() => Some((
            "planes",
            format!(
                "{} planes cannot be had with {} ports of a NIC",
                servers.planes, servers.nic_ports
            ),
            "`planes` must be 1, or the number of `nic_ports`",
        )),
        _ => None,
    }
}

/// Returns the number of links, the largest number of ports of a switch, and the key for error
/// messages. `None`: the ranges of the keys are a sufficient limit.
fn links_and_ports(spec: &TopologySpec) -> Option<(u64, u64, &'static str)> {
    // Each factor is below 2^16, so a product of three fits into 64 bits.
    Some(match *spec {
        TopologySpec::Dumbbell { left, right, .. } => (0, u64::from(left.max(right)) + 1, "left"),
        TopologySpec::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            ..
        } => {
            let [l, s, h] = [leaves, spines, hosts_per_leaf].map(u64::from);
            (l * (h + s), (h + s).max(l), "leaves")
        }
        TopologySpec::Clos {
            pods,
            tors_per_pod,
            aggs_per_pod,
            cores,
            hosts_per_tor,
            ..
        } => {
            let numbers = [pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor];
            let [p, t, a, c, h] = numbers.map(u64::from);
            let links = p * t * h + p * t * a + p * c;
            (links, (h + a).max(t + c / a).max(p), "pods")
        }
        TopologySpec::DualHomed {
            pairs, hosts, aggs, ..
        } => {
            let [p, h, a] = [pairs, hosts, aggs].map(u64::from);
            let ports = (h.div_ceil(p) + a).max(2 * p);
            (2 * h + 2 * p * a, ports, "pairs")
        }
        TopologySpec::Servers(ref servers) => {
            let below_spine = servers.leaves() / u64::from(servers.planes);
            let on_leaf = servers.gpus_per_leaf() + u64::from(servers.spines);
            (servers.links(), on_leaf.max(below_spine), "servers")
        }
        TopologySpec::MultiDc {
            sites,
            leaves,
            spines,
            hosts_per_leaf,
            ..
        } => {
            let [d, l, s, h] = [sites, leaves, spines, hosts_per_leaf].map(u64::from);
            let links = d * (l * h + l * s + s) + d * (d - 1) / 2;
            (links, (h + s).max(l + 1).max(s + d - 1), "sites")
        }
        TopologySpec::Star { .. } | TopologySpec::FatTree { .. } | TopologySpec::Links { .. } => {
            return None;
        }
    })
}

/// Returns the names of nodes, from a list of names or from a number of nodes.
fn node_names(
    section: &Section<'_>,
    values: &Values,
    key: &str,
    prefix: &str,
) -> Option<Vec<String>> {
    let names: Vec<String> = match values.get(key)? {
        &Value::Count(number) => (0..number).map(|i| format!("{prefix}{i}")).collect(),
        Value::List(names) => names.iter().filter_map(name_of).collect(),
        _ => return None,
    };
    let least = if key == "hosts" { 2 } else { 0 };
    if names.len() < least {
        let hint = format!("for example [\"{prefix}0\", \"{prefix}1\"]");
        section.complain(key, format!("`{key}`: at least {least} needed"), hint);
        return None;
    }
    if names.len() as u64 > MAX_HOSTS {
        let message = format!("`{key}`: {} names", names.len());
        section.complain(key, message, format!("at most {MAX_HOSTS}"));
        return None;
    }
    Some(names)
}

fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(name) => Some(name.clone()),
        _ => None,
    }
}

/// Reads a topology whose nodes and links are listed individually.
fn links(section: &Section<'_>, values: &Values) -> Option<TopologySpec> {
    let hosts = node_names(section, values, "hosts", "h")?;
    let switches = node_names(section, values, "switches", "s")?;
    let mut nodes = BTreeMap::new();
    for (i, name) in hosts.iter().chain(&switches).enumerate() {
        if nodes.insert(name.as_str(), i as u32).is_some() {
            let key = if i < hosts.len() { "hosts" } else { "switches" };
            section.complain(
                key,
                format!("two nodes are called `{name}`"),
                "give each node its own name",
            );
            return None;
        }
    }
    let links = params::each(section, "links", values, |section, values| {
        one_link(section, values, &nodes)
    })?;
    connected(section, &hosts, &switches, &links).then_some(TopologySpec::Links {
        hosts,
        switches,
        links,
    })
}

/// Reads one entry of `links`.
fn one_link(
    section: &Section<'_>,
    values: &Values,
    nodes: &BTreeMap<&str, u32>,
) -> Option<(u32, u32, LinkSpec)> {
    let (a, b) = (
        end(section, values, "a", nodes),
        end(section, values, "b", nodes),
    );
    let (a, b) = (a?, b?);
    if a == b {
        section.complain(
            "b",
            "a link from a node to itself",
            "`a` and `b` must differ",
        );
        return None;
    }
    Some((a, b, link(values)))
}

/// Returns the index of the node at one end of a link.
fn end(
    section: &Section<'_>,
    values: &Values,
    key: &str,
    nodes: &BTreeMap<&str, u32>,
) -> Option<u32> {
    let name = text(values, key)?;
    let found = nodes.get(name).copied();
    if found.is_none() {
        let hint = match nearest(name, nodes.keys().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "name it in `hosts` or `switches`".to_owned(),
        };
        let message = format!("`{key}`: there is no node \"{name}\"");
        section.refuse_keys(Code::UnknownName, &[key], message, hint);
    }
    found
}

/// Reports hosts without a link, unreachable hosts, and switches with too many ports.
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
        // Hosts do not forward packets: apart from the first host, the search does not continue at
        // hosts.
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
    // TOP-06: if links connect hosts directly, only hosts with traffic between them must reach each
    // other
    let hosts_alone = |&&(a, b, _): &&(u32, u32, LinkSpec)| a.max(b) < hosts.len() as u32;
    let has_cables = links.iter().filter(hosts_alone).count() > 0;
    if !lost.is_empty() && !has_cables {
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
