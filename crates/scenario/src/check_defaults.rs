//! Notes about values that are valid but unusual in fast networks.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::Admission;
use dataplane::switch::pausable_classes;
use fabric::NodeId;
use fabric::topology::{Graph, Servers, TopologySpec, Wiring};
use traffic::collectives::{Algorithm, Name, Part, Step, plan};
use traffic::operations::{CollectiveKind, Group};

use crate::findings::Findings;
use crate::scheme::SchemeConfig;
use crate::spec::Spec;
use crate::units::{RATE, show_size};
use crate::workload_spec::{WorkSpec, WorkloadSpec};

/// Minimum link rate of hosts, in bits per second, for checks of packet size and PFC response time.
/// On slower links smaller packets are common, and a response time adds little headroom.
const FAST_BPS: u64 = 400_000_000_000;
/// Usual payload of a packet at this link rate, bytes.
const USUAL_MTU: u16 = 4096;

/// Adds notes about small packets and a PFC response time of 0 at fast hosts, and about unused
/// NICs.
pub(crate) fn defaults(
    spec: &Spec,
    graph: &Arc<Graph>,
    config: &SchemeConfig,
    findings: &mut Findings<'_>,
) {
    let links = graph.host_ids().flat_map(|host| graph.links_of(host));
    let slowest = links.map(|link| graph.port(link).rate.bps()).min();
    if let Some(bps) = slowest.filter(|&bps| bps >= FAST_BPS) {
        mtu(bps, config, findings);
        response(config, findings);
    }
    if let TopologySpec::Servers(servers) = &spec.topology {
        for (i, workload) in spec.workloads.iter().enumerate() {
            idle_nics(i, workload, servers, findings);
        }
    }
}

fn mtu(host_bps: u64, config: &SchemeConfig, findings: &mut Findings<'_>) {
    let mtu = config.nic.mtu;
    if mtu < USUAL_MTU {
        let message = format!(
            "packets carry {} at hosts of {}, where {USUAL_MTU} B are usual, and a run has {:.1} \
             times as many packets",
            show_size(u64::from(mtu)),
            RATE.show(host_bps),
            f64::from(USUAL_MTU) / f64::from(mtu)
        );
        findings.note(&["scheme.mtu"], message, "set scheme.mtu = \"4096B\"");
    }
}

fn response(config: &SchemeConfig, findings: &mut Findings<'_>) {
    let stops_at_once = config.switches().any(|switch| {
        matches!(switch.mmu.admission, Admission::Pfc(pfc) if pfc.response_ps == 0)
            && pausable_classes(switch) > 0
    });
    if stops_at_once {
        let message = "ports stop at the instant a PAUSE arrives (scheme.pfc.response is 0), but \
                       a device needs time, and more headroom";
        let hint = "set scheme.pfc.response to that of the device, such as \"500ns\"";
        findings.note(&["scheme.pfc.response"], message.to_owned(), hint);
    }
}

/// Adds a note if a collective sends over at most half of the NICs of its members, and another
/// algorithm would use more NICs.
fn idle_nics(i: usize, workload: &WorkloadSpec, servers: &Servers, findings: &mut Findings<'_>) {
    let server_of = |host: &NodeId| host.bits() / servers.gpus_per_server;
    let mut seen = BTreeSet::new();
    let found = collectives(workload)
        .into_iter()
        .find_map(|(kind, text, group)| {
            let is_new = seen.insert((kind.word(), text, group.map(|group| &group.name)));
            let own = Algorithm::of(kind, text).ok().filter(|_| is_new)?;
            let of_group = |group: &Group| {
                let ranks = group.ranks.iter();
                ranks.map(|&rank| workload.hosts[rank as usize]).collect()
            };
            let hosts: Vec<NodeId> = group.map_or_else(|| workload.hosts.to_vec(), of_group);
            let places: Vec<u32> = hosts.iter().map(server_of).collect();
            let better = with_more_nics(kind, own, &places)?;
            let used = sending_nics(kind, own, &places);
            let helps = 2 * used <= places.len() && sending_nics(kind, better, &places) > used;
            (used > 0 && helps).then_some((own.name, used, places.len(), better))
        });
    if let Some((name, used, nics, better)) = found {
        let message = format!(
            "the {} of workload \"{}\" sends over {used} of {nics} NICs",
            name.word(),
            workload.name
        );
        let pxn = match (servers.wiring, better.name) {
            (Wiring::Rails, Name::Ring) => " and pxn = true",
            _ => "",
        };
        let hint = format!("to use more of them: algorithm = \"{better}\"{pxn}");
        let keys = ["algorithm", "steps", "collective"].map(|key| format!("workload.{i}.{key}"));
        findings.note(&keys.each_ref().map(String::as_str), message, &hint);
    }
}

/// Returns an algorithm for the same collective in which all members of a server send to other
/// servers: rings that begin at different members, or one that works inside the servers first.
/// `places` has the server of each member.
fn with_more_nics(kind: CollectiveKind, own: Algorithm, places: &[u32]) -> Option<Algorithm> {
    let server = places
        .iter()
        .take_while(|&place| *place == places[0])
        .count() as u32;
    let better = match (kind, own.name) {
        (CollectiveKind::AllToAll, _) => Algorithm::new(Name::Direct),
        (_, Name::Ring) => Algorithm {
            channels: server,
            server,
            ..own
        },
        (CollectiveKind::AllReduce, across) => Algorithm {
            server,
            across,
            ..Algorithm::new(Name::Hierarchical)
        },
        _ => return None,
    };
    let is_possible = better.check(kind, places.len() as u32).is_ok();
    is_possible.then_some(better)
}

/// Returns kind, algorithm and group of each collective. Group `None`: all ranks are members.
fn collectives(workload: &WorkloadSpec) -> Vec<(CollectiveKind, Option<&str>, Option<&Group>)> {
    match &workload.work {
        WorkSpec::Collective(one) => vec![(one.kind, one.algorithm.as_deref(), None)],
        WorkSpec::Steps(steps) => steps.collective_groups().collect(),
        WorkSpec::File(_) => Vec::new(),
    }
}

/// Returns the number of members that send to another server. `places` contains the server of each
/// member.
fn sending_nics(kind: CollectiveKind, algorithm: Algorithm, places: &[u32]) -> usize {
    // Each chunk takes the same path.
    let algorithm = Algorithm {
        chunks: 1,
        active: 1,
        ..algorithm
    };
    let sends = |member: usize| {
        let part = Part {
            kind,
            position: member as u32,
            members: places.len() as u32,
            bytes: 0,
            root: 0,
            to_each: &[],
            from_each: &[],
        };
        let plan = plan(&part, &algorithm);
        let leaves =
            |step| matches!(step, Step::Send { to, .. } if places[to as usize] != places[member]);
        (0..plan.lanes())
            .any(|lane| (0..plan.steps(lane)).any(|step| leaves(plan.step(lane, step))))
    };
    (0..places.len()).filter(|&member| sends(member)).count()
}
