//! Checks that involve the network, the traffic and the scheme together.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::config::{Admission, BaseRtt, IntConfig, PathChoice, PauseTime};
use dataplane::declaration::{Declaration, NetworkFacts};
use dataplane::int::{IntFormat, MAX_HOPS, padding_bytes};
use dataplane::properties::{Choice, Property};
use dataplane::switch::{SwitchConfig, pausable_classes};
use dataplane::units::Rate;
use fabric::paths::Paths;
use fabric::routing::{asymmetry, routes};
use fabric::topology::{Graph, Loss, TopologySpec};
use fabric::workload::can_share_queue_pairs;
use traffic::Hosts;
use traffic::operations::QueuePairs;

use crate::check_buffers;
use crate::check_defaults;
use crate::check_flows;
use crate::check_links;
use crate::findings::Findings;
use crate::in_network::{self, longest_path};
use crate::loads::{racks, source};
use crate::problem::{At, Problem};
use crate::reader::Context;
use crate::scheme::{SchemeAt, SchemeConfig};
use crate::spec::Spec;
use crate::units::{RATE, show_time};

/// Runs all checks on a scenario without syntax errors.
pub(crate) fn network(
    spec: &Spec,
    graph: &Arc<Graph>,
    places: &BTreeMap<String, At>,
    context: &Context,
) -> Vec<Problem> {
    let mut findings = Findings {
        places,
        problems: Vec::new(),
    };
    let config = spec.configure(graph);
    traffic(spec, graph, config.nic.mtu, &mut findings);
    check_buffers::buffers(graph, &config, &mut findings);
    symmetry(spec, graph, &mut findings);
    telemetry(spec, graph, &config, &mut findings);
    followed_copies(spec, &config, &mut findings);
    losses(graph, &config, &mut findings);
    hop(graph, &config, &mut findings);
    mixed(spec, graph, &mut findings);
    check_links::links(spec, graph, &config, &mut findings);
    queue_pairs(spec, &config, &mut findings);
    if let Some(facts) = context.network.get() {
        in_network::check(spec, graph, &context.noted.borrow(), facts, &mut findings);
    }
    pipelines(spec, &config, &mut findings);
    check_defaults::defaults(spec, graph, &config, &mut findings);
    ingresses(spec, &config, &mut findings);
    let last_start = spec
        .traffic
        .iter()
        .map(|t| t.window_ps.1)
        .max()
        .unwrap_or(0);
    if spec.run.until_ps < last_start {
        let message = format!(
            "the run ends at {}, before the last flow may start, at {}",
            show_time(spec.run.until_ps),
            show_time(last_start)
        );
        findings.warn(
            &["run.until"],
            message,
            "flows that start later are not sent",
        );
    }
    findings.problems
}

/// Warns if `record.ingress` is set but no PFC threshold applies to ingresses.
// RCD-13: recorded ingresses
fn ingresses(spec: &Spec, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let pauses = |switch: &SwitchConfig| {
        matches!(switch.mmu.admission, Admission::Pfc(_)) && pausable_classes(switch) > 0
    };
    let paused = config.switches().any(pauses);
    if spec.record.ingress.is_some() && !paused {
        let message = "port_ingress will be empty: PFC pauses nobody in this scheme".to_owned();
        let hint =
            "leave `ingress` out, or choose a scheme with PFC; `queues` shows what waits to leave";
        findings.warn(&["record.ingress.every", "record"], message, hint);
    }
}

/// Reports messages that should share queue pairs if the NIC does not support sharing.
// NIC-53: shared queue pairs
fn queue_pairs(spec: &Spec, config: &SchemeConfig, findings: &mut Findings<'_>) {
    if can_share_queue_pairs(&config.nic) {
        return;
    }
    let why = match config.nic.control.transport() {
        Some(_) => "the transport of this scheme keeps nothing from message to message",
        None => "in the ns-3 simulator each message has a queue pair of its own",
    };
    for (i, workload) in spec.workloads.iter().enumerate() {
        let (key, file) = (
            format!("workload.{i}.queue_pairs"),
            format!("workload.{i}.file"),
        );
        let is_stated = [&key, &file]
            .iter()
            .any(|key| findings.places.contains_key(*key));
        if is_stated && workload.queue_pairs == QueuePairs::PerChannel {
            let message = format!(
                "messages of workload \"{}\" are to share queue pairs, which has no effect: {why}",
                workload.name
            );
            let hint = "queue_pairs = \"per-message\" says what is run";
            findings.warn(&[&key, &file], message, hint);
        }
    }
}

/// Reports tree algorithms of collectives whose chunks are not pipelined as in NCCL.
// OPS-63: on each channel NCCL sends one message at a time
fn pipelines(spec: &Spec, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let shares = can_share_queue_pairs(&config.nic);
    for (i, workload) in spec.workloads.iter().enumerate() {
        let in_order = shares && workload.queue_pairs == QueuePairs::PerChannel;
        let chosen = workload.collectives();
        if let Some((message, hint)) = chosen
            .iter()
            .find_map(|chosen| chosen.no_pipeline(in_order))
        {
            let keys =
                ["algorithm", "queue_pairs", "steps"].map(|key| format!("workload.{i}.{key}"));
            findings.warn(&keys.each_ref().map(String::as_str), message, &hint);
        }
    }
}

fn traffic(spec: &Spec, graph: &Arc<Graph>, mtu: u16, findings: &mut Findings<'_>) {
    let hosts = match Hosts::new(&racks(graph)) {
        Ok(hosts) => hosts,
        Err(e) => return findings.error(&["topology"], e.message, "traffic needs hosts"),
    };
    let mut flows = 0.0;
    let mut sources = Vec::new();
    for (i, t) in spec.traffic.iter().enumerate() {
        let of = |key: &str| format!("traffic.{i}{key}");
        match source(t, graph, &hosts) {
            Err(message) => findings.error(
                &[&of(".load.of"), &of(".load"), &of("")],
                message,
                "change `load`: { fraction = .., of = \"hosts\" } fits every network",
            ),
            Ok(source) => {
                if let Err(e) = source.check(&hosts) {
                    let key = blame(&e.message);
                    findings.error(
                        &[&of(key), &of("")],
                        e.message,
                        "see docs/scenario.md, [[traffic]]",
                    );
                } else {
                    flows += source.expected_flows(graph.hosts());
                    sources.push((i, source));
                }
            }
        }
    }
    if flows > traffic::MAX_FLOWS as f64 {
        let message = format!(
            "about {flows:.2e} flows, and a run can have {}",
            traffic::MAX_FLOWS
        );
        findings.error(
            &["traffic"],
            message,
            "shorten the windows, lower the load, or set a limit",
        );
    }
    check_flows::sizes(spec, &sources, mtu, findings);
    check_flows::paths(graph, &hosts, &sources, findings);
    check_flows::overload(spec, graph, &hosts, &sources, findings);
}

/// Returns the scenario key to which an error message of the flow generator refers.
fn blame(message: &str) -> &'static str {
    const WORDS: &[(&str, &str)] = &[
        ("degree", ".degree"),
        ("senders", ".degree"),
        ("receiver", ".receiver"),
        ("sigma", ".arrivals"),
        ("first arrival", ".arrivals"),
        ("gap", ".every"),
        ("rack", ".scope"),
        ("list", ".flows"),
    ];
    WORDS
        .iter()
        .find(|(word, _)| message.contains(word))
        .map_or("", |(_, key)| key)
}

/// Warns if credits do not return over the links that the data used.
// XP-05: symmetric paths
fn symmetry(spec: &Spec, graph: &Graph, findings: &mut Findings<'_>) {
    if spec.scheme.switch.path != PathChoice::Symmetric {
        return;
    }
    let Ok(routes) = routes(graph, spec.seed, PathChoice::Symmetric) else {
        return; // The network is too large; another check reports it.
    };
    let Some((a, b)) = asymmetry(graph, &routes) else {
        return;
    };
    let name = |endpoint| graph.name(graph.host_of(endpoint));
    let message = format!(
        "between {} and {} some flows take other links than what comes back",
        name(a),
        name(b)
    );
    findings.warn(
        &["scheme.path", "topology"],
        message,
        "symmetric hashing needs switches of one tier whose equal ports stand in the same order",
    );
}

/// Refuses records of single packets if links retransmit copies of frames.
// LLR-30: copies cannot be distinguished
fn followed_copies(spec: &Spec, config: &SchemeConfig, findings: &mut Findings<'_>) {
    if let Some(replay) = &config.switch.link.replay
        && spec.record.blame.is_some()
    {
        let message = format!(
            "record.blame follows each packet, and {} sends copies of packets, which it cannot follow",
            replay.name()
        );
        let hint = "take `blame` out of [record], or set another scheme.link";
        findings.error(&["record.blame", "scheme.link"], message, hint);
    }
}

/// Refuses lossy links if the scheme has no retransmission. Warns if pause frames can be lost.
fn losses(graph: &Graph, config: &SchemeConfig, findings: &mut Findings<'_>) {
    if graph.link_ids().all(|link| graph.loss(link) == Loss::NONE) {
        return;
    }
    if config.switch.link.replays() {
        // LLR-23: a retransmitted pause frame arrives late
        if config
            .switches()
            .any(|switch| matches!(switch.mmu.admission, Admission::Pfc(_)))
        {
            findings.warn(
                &["topology", "scheme.link"],
                "links lose pause frames and replay them, so that a pause can come a replay late".to_owned(),
                "the headroom of PFC does not include that time: set scheme.pfc.headroom, or use credits of links",
            );
        }
        return;
    }
    if !config.nic.recovery.properties().has(Property::Repairs) {
        findings.error(
            &["scheme.recovery", "scheme.preset", "topology"],
            "links lose frames, and what is lost is not sent again".to_owned(),
            "set scheme.recovery, or take `loss` out of the links",
        );
        return;
    }
    // QNT-07: a lost resume frame matters if a pause has no timer
    let holds = |switch: &SwitchConfig| matches!(switch.mmu.admission, Admission::Pfc(pfc) if pfc.pause == PauseTime::UntilResumed);
    if config.switches().any(holds) {
        findings.warn(
            &["topology"],
            "links also lose the pauses and resumes of PFC, and nothing repeats them".to_owned(),
            "a port whose resume is lost stays paused until the next one; scheme.pfc.pause = \"quanta\" repairs that",
        );
    }
}

/// Warns if neighbouring switches do not support each other's control frames.
// PRE-292: switches with other schemes
fn mixed(spec: &Spec, graph: &Graph, findings: &mut Findings<'_>) {
    let base = &spec.scheme.hop;
    let others = || {
        let differ = |at: &&SchemeAt| at.scheme.hop.number() != base.number();
        spec.scheme_at.iter().filter(differ)
    };
    let Some(other) = others().next() else {
        return;
    };
    let count: usize = others().map(|at| at.switches.len()).sum();
    let named = other.switches.first().map(|&node| graph.name(node));
    findings.warn(
        &["scheme.at"],
        format!(
            "{count} of {} switches ({}, ..) have backpressure = \"{}\" and the others \"{}\": a switch ignores pauses \
             of a scheme that it does not have, so its neighbour's buffer takes what it goes on sending",
            graph.switches(),
            named.unwrap_or_default(),
            other.scheme.hop.word(),
            base.word()
        ),
        "limit the bytes in flight of each flow (control = \"fixed-window\"; BFC paper, section 5), or check that the \
         buffer suffices",
    );
}

/// Reports the findings of the hop-by-hop scheme about the network.
fn hop(graph: &Graph, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let facts = NetworkFacts {
        // Lossy links without end-to-end retransmission have already been refused.
        lossy: config.nic.recovery.properties().has(Property::Repairs)
            && !config.switch.link.replays()
            && graph.link_ids().any(|link| graph.loss(link) != Loss::NONE),
        racks: graph.groups(),
        classes: config.switch.classes.len(),
        max_frame: config.switch.max_frame,
    };
    for scheme in config.distinct_schemes() {
        scheme.network(&facts, &mut |finding| findings.of_scheme(finding));
    }
}

/// Refuses paths with more switches than an INT stack has records. Warns if the base round trip T
/// is shorter than that of the network.
fn telemetry(spec: &Spec, graph: &Arc<Graph>, config: &SchemeConfig, findings: &mut Findings<'_>) {
    records_on_the_wire(graph, config, findings);
    if config.switch.int.is_some()
        && let TopologySpec::Links { .. } = spec.topology
    {
        // Topologies of other kinds have at most five switches on a path.
        let longest = longest_path(graph, usize::MAX);
        if longest > MAX_HOPS {
            let message = format!("a path has {longest} switches, and INT has room for {MAX_HOPS}");
            findings.error(
                &["scheme.signal", "scheme.preset", "topology.links"],
                message,
                "use a scheme without INT, or shorter paths",
            );
        }
    }
    if let BaseRtt::Fixed(given) = config.base_rtt {
        let mut paths = Paths::new(graph.clone());
        let longest = paths.max_base_rtt_ps(config.switch.max_frame, config.nic.ack_bytes());
        let uses = !config.nic.control.provides().has(Property::IgnoresPath);
        if given < longest && uses {
            let message = format!(
                "base_rtt is {}, but the longest round trip of the empty network is {}",
                show_time(given),
                show_time(longest)
            );
            findings.warn(
                &["scheme.base_rtt"],
                message,
                "a flow then cannot reach the full rate on its own",
            );
        }
    }
}

/// Refuses link rates that an INT record cannot encode, and packets without space for INT records.
// HPCC-30: INT records as bytes
fn records_on_the_wire(graph: &Arc<Graph>, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let Some(IntConfig {
        format: IntFormat::Wire(layout),
        ..
    }) = config.switch.int
    else {
        return;
    };
    // In a regular topology all hosts have the same distances.
    let from = if graph.is_regular() { 1 } else { usize::MAX };
    let longest = longest_path(graph, from);
    let needed = padding_bytes(longest as u16);
    if needed > config.nic.int {
        let message = format!(
            "a packet has {} B for INT, and the records of a path of {longest} switches take {needed} B",
            config.nic.int
        );
        let keys = ["scheme.int.bytes", "scheme.int.format"];
        let hint = format!("set int.bytes = \"{needed}B\" or more, or int.format = \"exact\"");
        findings.error(&keys, message, &hint);
    }
    let known = layout.rates_mbps();
    let stated = |rate: Rate| {
        known
            .iter()
            .any(|r| rate.bps() == u64::from(*r) * 1_000_000)
    };
    for node in graph.switch_ids() {
        let Some(port) = graph
            .links_of(node)
            .map(|i| graph.port(i))
            .find(|p| !stated(p.rate))
        else {
            continue;
        };
        let message = format!(
            "the link from {} to {} has {}, and a record of INT states the rate by a number that \
             stands for one of {}",
            graph.name(node),
            graph.name(port.peer),
            RATE.show(port.rate.bps()),
            list_of_rates(known)
        );
        let keys = ["scheme.int.format", "topology"];
        findings.error(
            &keys,
            message,
            "set int.format = \"exact\", or change the link",
        );
        return;
    }
}

/// Formats rates in ascending order, such as "10Gbps, 25Gbps, …".
fn list_of_rates(rates_mbps: &[u32]) -> String {
    let mut rates = rates_mbps.to_vec();
    rates.sort_unstable();
    let shown: Vec<String> = rates
        .iter()
        .map(|r| RATE.show(u64::from(*r) * 1_000_000))
        .collect();
    shown.join(", ")
}
