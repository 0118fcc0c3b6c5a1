//! Checks of parameters whose value or default depends on the network: timeouts, delay targets,
//! periods, rates.
//!
//! Each parameter declares its relation to the network once ([`InNetwork`]). While a scenario is
//! read, defaults are adapted and values are recorded ([`crate::fitted`]). Then [`check`] compares
//! the recorded values with the network.

use std::sync::Arc;

use dataplane::param::{InNetwork, TIMEOUT_ROUND_TRIPS, Value};
use dataplane::units::{Rate, Time};
use fabric::LinkId;
use fabric::paths::Paths;
use fabric::topology::{Graph, Loss};

use crate::failures::FailuresSpec;
use crate::findings::Findings;
use crate::presets::PARAMETER_SETS;
use crate::reader::{NetworkFacts, Noted};
use crate::scheme::SchemeSpec;
use crate::spec::Spec;
use crate::traffic_spec::last_arrival_ps;
use crate::units::{show_rate, show_rounded, show_time};

/// Returns the properties of the network on which defaults of this scheme depend.
// NIC-40: hosts process a packet and its ACK
pub(crate) fn facts(
    graph: &Arc<Graph>,
    scheme: &SchemeSpec,
    failures: Option<&FailuresSpec>,
) -> NetworkFacts {
    let frame = scheme.max_frame();
    let ack = scheme.nic.ack_bytes();
    let process_ps = |bytes: u16| {
        scheme.nic.host.processing.map_or(0, |host| {
            let rate_ps = (host.rate).map_or(0, |rate| rate.serialisation_ps(bytes.into()));
            host.delay_ps + rate_ps
        })
    };
    NetworkFacts {
        base_rtt_ps: Paths::new(Arc::clone(graph)).max_base_rtt_ps(frame, ack),
        hosts_ps: process_ps(frame) + process_ps(ack),
        // PRE-274: defaults are scaled only without a named parameter set; such a set has a network
        // of its own
        host_bps: (scheme.parameters == PARAMETER_SETS[0])
            .then(|| host_rates(graph).min())
            .flatten(),
        loses_frames: failures.is_some_and(|failures| !failures.entries.is_empty())
            || graph.link_ids().any(|link| graph.loss(link) != Loss::NONE),
    }
}

impl Noted {
    fn path(&self) -> String {
        format!("{}.{}", self.table, self.param.key)
    }

    fn time_ps(&self) -> Option<Time> {
        match self.value {
            Value::Time(ps) => Some(ps),
            _ => None,
        }
    }
}

/// Compares the recorded parameter values with the network and the traffic.
pub(crate) fn check(
    spec: &Spec,
    graph: &Arc<Graph>,
    noted: &[Noted],
    network: NetworkFacts,
    findings: &mut Findings<'_>,
) {
    for one in noted {
        match one.param.network {
            InNetwork::Timeout => timeout(one, network, findings),
            InNetwork::Target { with_hosts } => {
                let hosts_ps = if with_hosts { network.hosts_ps } else { 0 };
                let rtt_ps = network.base_rtt_ps.saturating_add(hosts_ps);
                target(one, noted, graph, rtt_ps, findings);
            }
            InNetwork::HostTarget => host_target(one, network.hosts_ps, findings),
            InNetwork::Period => period(one, spec, findings),
            InNetwork::Independent
            | InNetwork::PerHop(_)
            | InNetwork::AtRate(_)
            | InNetwork::RepairsLosses { .. } => {}
        }
    }
    rates(graph, noted, network, findings);
}

/// Warns about a timeout that expires before an acknowledgement can arrive.
// PRE-270
fn timeout(one: &Noted, network: NetworkFacts, findings: &mut Findings<'_>) {
    let rtt_ps = network.base_rtt_ps.saturating_add(network.hosts_ps);
    let Some(given_ps) = one.time_ps().filter(|&given_ps| given_ps <= rtt_ps) else {
        return;
    };
    let path = one.path();
    let message = format!(
        "{path} is {}, and the largest base round trip of the network is {}: what is not lost is sent again",
        show_time(given_ps),
        show_rounded(rtt_ps)
    );
    let least_ps = rtt_ps.saturating_mul(TIMEOUT_ROUND_TRIPS);
    let hint = format!("set it above {}, or leave it out", show_rounded(least_ps));
    findings.warn(&[&path], message, &hint);
}

/// Warns about a delay target below the base round trip.
// PRE-272: delay targets
fn target(
    one: &Noted,
    noted: &[Noted],
    graph: &Arc<Graph>,
    rtt_ps: Time,
    findings: &mut Findings<'_>,
) {
    let Some(given_ps) = one.time_ps() else {
        return;
    };
    let path = one.path();
    let adds = |other: &&Noted| {
        other.table == one.table && other.param.network == InNetwork::PerHop(one.param.key)
    };
    let per_hop = noted.iter().find(adds);
    let per_hop_ps = per_hop.and_then(Noted::time_ps).unwrap_or(0);
    let mut total_ps = given_ps;
    let mut said = format!("{path} is {}", show_time(given_ps));
    if let Some(per_hop) = per_hop.filter(|_| per_hop_ps > 0) {
        // In a regular topology all hosts have the same distances.
        let from = if graph.is_regular() { 1 } else { usize::MAX };
        let hops = longest_path(graph, from) as u64;
        total_ps = given_ps.saturating_add(per_hop_ps.saturating_mul(hops));
        said = format!(
            "{path} and {} come to {} on a path with {hops} {}",
            per_hop.path(),
            show_time(total_ps),
            if hops == 1 { "switch" } else { "switches" }
        );
    }
    if total_ps > rtt_ps {
        return;
    }
    let message = format!(
        "{said}, and the largest base round trip of the network is {}: a flow can slow down even if it is alone",
        show_rounded(rtt_ps)
    );
    let hint = format!("raise it by more than {}", show_rounded(rtt_ps - total_ps));
    findings.warn(&[&path], message, &hint);
}

/// Warns about a delay target for hosts that is at most the processing time of hosts.
// PRE-272: delay targets of hosts
fn host_target(one: &Noted, hosts_ps: Time, findings: &mut Findings<'_>) {
    let Some(given_ps) = one.time_ps().filter(|&given_ps| given_ps <= hosts_ps) else {
        return;
    };
    let path = one.path();
    let message = format!(
        "{path} is {}, and hosts take {} for a packet and its ACK: a flow slows down even if it is alone",
        show_time(given_ps),
        show_rounded(hosts_ps)
    );
    let hint = format!("raise it above {}", show_rounded(hosts_ps));
    findings.warn(&[&path], message, &hint);
}

/// Warns about a period that is longer than the time in which all measured flows start.
// PRE-273: periods
fn period(one: &Noted, spec: &Spec, findings: &mut Findings<'_>) {
    let until_ps = spec.run.until_ps;
    let last_ps = last_arrival_ps(&spec.traffic).map_or(until_ps, |last_ps| last_ps.min(until_ps));
    let measured_ps = last_ps.saturating_sub(spec.run.warmup_ps);
    let Some(given_ps) = one.time_ps().filter(|&given_ps| given_ps > measured_ps) else {
        return;
    };
    let path = one.path();
    let message = format!(
        "{path} is {}, longer than the {} in which measured flows start: what it controls hardly acts",
        show_time(given_ps),
        show_time(measured_ps)
    );
    findings.warn(
        &[&path],
        message,
        "lengthen the traffic's window, or shorten the period",
    );
}

/// Warns if defaults were scaled to the slowest host although hosts have different rates.
// PRE-274: defaults that scale with the rate
fn rates(graph: &Graph, noted: &[Noted], network: NetworkFacts, findings: &mut Findings<'_>) {
    let fastest = host_rates(graph).max().unwrap_or(0);
    let Some(slowest) = network.host_bps.filter(|&slowest| slowest != fastest) else {
        return;
    };
    let scaled = |one: &&Noted| one.is_default && matches!(one.param.network, InNetwork::AtRate(_));
    let paths: Vec<String> = noted.iter().filter(scaled).map(Noted::path).collect();
    let Some(first) = paths.first() else {
        return;
    };
    let message = format!(
        "{} are scaled to hosts of {}, and other hosts have {}",
        paths.join(" and "),
        show_rate(slowest),
        show_rate(fastest)
    );
    findings.warn(
        &[first, "topology"],
        message,
        "set them, if the faster hosts matter",
    );
}

/// Returns the rate of each host (the rate of its slowest link) in bits per second.
fn host_rates(graph: &Graph) -> impl Iterator<Item = u64> {
    graph.host_ids().filter_map(|host| {
        let rates = graph.links_of(host).map(|index| graph.port(index).rate);
        rates.map(Rate::bps).min()
    })
}

/// Returns the maximum number of switches on a shortest path between two hosts. Only paths from
/// hosts at the first `from` switches with hosts are considered.
pub(crate) fn longest_path(graph: &Arc<Graph>, from: usize) -> usize {
    let mut paths = Paths::new(graph.clone());
    let ends: Vec<LinkId> = (0..graph.groups())
        .filter_map(|g| graph.endpoints_on(graph.group_switch(g)).next())
        .collect();
    let mut longest = 1;
    for &a in ends.iter().take(from) {
        for &b in &ends {
            if a != b && graph.plane_of(a) == graph.plane_of(b) {
                longest = longest.max(paths.hops(a, b).saturating_sub(1));
            }
        }
    }
    longest
}
