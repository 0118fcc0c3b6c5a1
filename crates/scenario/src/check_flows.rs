//! Checks of flows: their sizes, and the load that they place on links.

use std::sync::Arc;

use dataplane::ids::IndexVec;
use dataplane::nic::MAX_FLOW_PACKETS;
use dataplane::units::Time;
use fabric::expected_load::ExpectedLoad;
use fabric::routing::routes;
use fabric::topology::Graph;
use fabric::{LinkId, NodeId};
use traffic::{Hosts, Pattern, SourceSpec};

use crate::findings::Findings;
use crate::loads::{AskedLoad, loads};
use crate::spec::Spec;
use crate::units::show_size;

/// Maximum number of computation steps for which the load of single links is computed.
const MOST_STEPS: u64 = 1 << 24;
/// Maximum number of overloaded links that a message lists.
const MOST_LINKS: usize = 3;
/// Tolerance for rounding errors of summed loads.
const ROUNDING: f64 = 1e-9;

/// Reports flows and messages whose number of packets exceeds the range of packet sequence numbers.
// NIC-54: packet numbers limit a flow
pub(crate) fn sizes(
    spec: &Spec,
    sources: &[(usize, SourceSpec)],
    mtu: u16,
    findings: &mut Findings<'_>,
) {
    let most = MAX_FLOW_PACKETS * u64::from(mtu);
    let mut check = |keys: &[&str], what: String, bytes: u64| {
        if bytes > most {
            let message = format!(
                "{what} has up to {}, and a flow has at most {} ({MAX_FLOW_PACKETS} packets of {mtu} B)",
                show_size(bytes),
                show_size(most)
            );
            findings.error(keys, message, "lower the size, or raise scheme.mtu");
        }
    };
    for (index, source) in sources {
        let of = |key: &str| format!("traffic.{index}{key}");
        let keys = [
            ".size",
            ".sizes",
            ".sizes.file",
            ".total",
            ".file",
            ".flows",
            "",
        ]
        .map(of);
        let what = format!("a flow of \"{}\"", source.name);
        check(
            &keys.each_ref().map(String::as_str),
            what,
            source.max_flow_bytes(),
        );
    }
    for (i, workload) in spec.workloads.iter().enumerate() {
        let of = |key: &str| format!("workload.{i}{key}");
        let keys = [".size", ".steps", ".file", ""].map(of);
        let what = format!("a message of \"{}\"", workload.name);
        check(
            &keys.each_ref().map(String::as_str),
            what,
            workload.max_bytes(),
        );
    }
}

/// Reports sources with flows between hosts without a path. Such hosts exist if links connect hosts
/// directly, because hosts do not forward packets.
// TOP-06: hosts do not forward
pub(crate) fn paths(
    graph: &Graph,
    hosts: &Hosts,
    sources: &[(usize, SourceSpec)],
    findings: &mut Findings<'_>,
) {
    if !graph.has_cables() {
        return;
    }
    for (index, source) in sources {
        let mut apart = None;
        if matches!(source.pattern, Pattern::List(_))
            || u64::from(graph.hosts()).pow(2) <= MOST_STEPS
        {
            source.pattern.for_each_pair(hosts, |src, dst, _| {
                let (src, dst) = (NodeId::from_bits(src), NodeId::from_bits(dst));
                if apart.is_none() && !graph.reach_each_other(src, dst) {
                    apart = Some((src, dst));
                }
            });
        } else {
            // There are too many pairs to check all. Most patterns use most pairs, so one pair of
            // hosts without a path is sufficient for an error.
            apart = graph.first_apart();
        }
        if let Some((src, dst)) = apart {
            let of = |key: &str| format!("traffic.{index}{key}");
            findings.error(
                &[&of(".file"), &of(".flows"), &of(".pattern"), &of("")],
                format!(
                    "\"{}\" sends from {} to {}, but no path leads there: hosts do not forward packets",
                    source.name,
                    graph.name(src),
                    graph.name(dst)
                ),
                "add links, or send only between hosts that a link or switches join",
            );
        }
    }
}

/// Warns if the sources that are active at the same time exceed the capacity of links.
pub(crate) fn overload(
    spec: &Spec,
    graph: &Arc<Graph>,
    hosts: &Hosts,
    sources: &[(usize, SourceSpec)],
    findings: &mut Findings<'_>,
) {
    let lasting: Vec<&SourceSpec> = sources
        .iter()
        .map(|(_, source)| source)
        .filter(|source| source.arrivals.is_some())
        .collect();
    let pairs = lasting.len() as u64 * u64::from(graph.hosts()).pow(2);
    let steps = u64::from(graph.groups()) * u64::from(graph.port_count());
    let overloaded = match pairs <= MOST_STEPS && steps <= MOST_STEPS {
        true => overloaded_links(spec, graph, hosts, &lasting),
        false => Vec::new(),
    };
    if overloaded.is_empty() {
        return overloaded_network(spec, graph, findings);
    }
    let shown: Vec<String> = overloaded
        .iter()
        .take(MOST_LINKS)
        .map(|&(link, load)| format!("{} {:.1} %", graph.port_name(link), load * 100.0))
        .collect();
    let more = match overloaded.len().saturating_sub(MOST_LINKS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    findings.warn(
        &["traffic"],
        format!(
            "traffic offers some links more payload than they carry: {}{more}",
            shown.join(", ")
        ),
        "queues grow as long as arrivals last; lower the loads",
    );
}

/// Returns ports whose expected load exceeds 1 at some time, with the load, in descending order.
// TOP-25: expected load of a link
fn overloaded_links(
    spec: &Spec,
    graph: &Arc<Graph>,
    hosts: &Hosts,
    lasting: &[&SourceSpec],
) -> Vec<(LinkId, f64)> {
    let Ok(routes) = routes(graph, spec.seed, spec.scheme.switch.path) else {
        return Vec::new(); // the error is reported when the run is built
    };
    let mut highest: IndexVec<LinkId, f64> = vec![0.0; graph.port_count() as usize].into();
    // The load is maximal at a time at which some source starts.
    let mut opens: Vec<Time> = lasting.iter().map(|source| source.window_from_ps).collect();
    opens.sort_unstable();
    opens.dedup();
    let mut loads: Vec<Option<IndexVec<LinkId, f64>>> = vec![None; lasting.len()];
    for now in opens {
        let mut sum = vec![0.0; highest.len()];
        for (source, load) in lasting.iter().zip(&mut loads) {
            if (source.window_from_ps..source.window_to_ps).contains(&now) {
                let load = load.get_or_insert_with(|| {
                    let mut expected = ExpectedLoad::new(Arc::clone(graph));
                    let bps = source.mean_bps(graph.hosts());
                    (source.pattern).for_each_pair(hosts, |src, dst, share| {
                        expected.add(NodeId::from_bits(src), NodeId::from_bits(dst), share * bps);
                    });
                    expected.by_port(&routes)
                });
                for (sum, load) in sum.iter_mut().zip(load.iter()) {
                    *sum += *load;
                }
            }
        }
        for (link, sum) in graph.link_ids().zip(sum) {
            highest[link] = f64::max(highest[link], sum / graph.port(link).rate.bps() as f64);
        }
    }
    let mut over: Vec<(LinkId, f64)> = graph
        .link_ids()
        .zip(highest.iter().copied())
        .filter(|port| port.1 > 1.0 + ROUNDING)
        .collect();
    over.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    over
}

/// Warns if the total load exceeds the total capacity of the host links or of the core.
fn overloaded_network(spec: &Spec, graph: &Graph, findings: &mut Findings<'_>) {
    let loads = loads(spec, graph);
    // The load is maximal at a time at which some source starts.
    let most = |load: &dyn Fn(&AskedLoad) -> f64| {
        let at = |now: Time| -> f64 {
            let active = loads
                .iter()
                .filter(|(_, (from, to))| (*from..*to).contains(&now));
            active.map(|(l, _)| load(l)).sum()
        };
        loads
            .iter()
            .map(|(_, window)| at(window.0))
            .fold(0.0, f64::max)
    };
    let core = most(&|l| l.of_core.unwrap_or(0.0));
    let hosts = most(&|l| l.of_hosts);
    for (load, links) in [(core, "core"), (hosts, "host links")] {
        let asked = format!(
            "the sources of [[traffic]] together offer {:.1} % of the {links}",
            load * 100.0
        );
        if load > 1.0 {
            findings.warn(
                &["traffic"],
                asked,
                "queues grow as long as arrivals last; lower the loads",
            );
        } else if load > 0.95 {
            let message = format!("{asked}, in payload");
            findings.warn(
                &["traffic"],
                message,
                "headers come on top, so the links may be overloaded",
            );
        }
    }
}
