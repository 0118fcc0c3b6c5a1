//! Notes about values that are valid, and that fast fabrics do not have.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::Admission;
use dataplane::switch::pausable_classes;
use fabric::NodeId;
use fabric::topology::{Graph, Servers, TopologySpec, Wiring};
use traffic::collectives::{Algorithm, Name, algorithms_of};
use traffic::operations::CollectiveKind;

use crate::findings::Findings;
use crate::scheme::SchemeConfig;
use crate::spec::Spec;
use crate::units::{RATE, show_size};
use crate::workload_spec::{WorkSpec, WorkloadSpec};

/// Link rate of hosts from which packets and response time are checked, bits per second. At slower
/// links smaller packets are common, and a response time adds little headroom.
const FAST_BPS: u64 = 400_000_000_000;
/// Usual payload of a packet at this rate, bytes.
const USUAL_MTU: u16 = 4096;

/// Adds notes about small packets and a PFC response time of 0 at fast hosts, and about idle NICs.
pub(crate) fn defaults(
    spec: &Spec,
    graph: &Arc<Graph>,
    config: &SchemeConfig,
    findings: &mut Findings<'_>,
) {
    let links = graph.host_ids().flat_map(|host| graph.links_of(host));
    let slowest = links.map(|link| graph.port(link).rate.bps()).min();
    if slowest.is_some_and(|bps| bps >= FAST_BPS) {
        mtu(config, findings);
        response(config, findings);
    }
    if let TopologySpec::Servers(servers) = &spec.topology {
        for (i, workload) in spec.workloads.iter().enumerate() {
            idle_nics(i, workload, servers, findings);
        }
    }
}

fn mtu(config: &SchemeConfig, findings: &mut Findings<'_>) {
    let mtu = config.nic.mtu;
    if mtu < USUAL_MTU {
        let message = format!(
            "packets carry {} at hosts of {}, where {USUAL_MTU} B are usual, and a run has {:.1} \
             times as many packets",
            show_size(u64::from(mtu)),
            RATE.show(FAST_BPS),
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

/// Notes that rings send over at most half of the NICs of their members.
fn idle_nics(i: usize, workload: &WorkloadSpec, servers: &Servers, findings: &mut Findings<'_>) {
    let per_server = servers.gpus_per_server;
    let idle = rings(workload).find_map(|(ring, hosts)| {
        let used = sending_nics(ring, &hosts, per_server);
        (used > 0 && 2 * used <= hosts.len()).then_some((used, hosts.len()))
    });
    if let Some((used, nics)) = idle {
        let message = format!(
            "the ring of workload \"{}\" sends over {used} of {nics} NICs",
            workload.name
        );
        let pxn = match servers.wiring {
            Wiring::Rails => " and pxn = true",
            Wiring::Racks => "",
        };
        let hint = format!(
            "to use all of them: algorithm = \"ring:channels={per_server},server={per_server}\"{pxn}"
        );
        let keys = ["algorithm", "steps", "collective"].map(|key| format!("workload.{i}.{key}"));
        findings.note(&keys.each_ref().map(String::as_str), message, &hint);
    }
}

/// Returns the rings of a workload, each with the hosts of its members in order.
fn rings(workload: &WorkloadSpec) -> impl Iterator<Item = (Algorithm, Vec<NodeId>)> {
    let collectives: Vec<_> = match &workload.work {
        WorkSpec::Collective(one) => {
            vec![(one.kind, one.algorithm.as_deref(), workload.hosts.to_vec())]
        }
        WorkSpec::Steps(steps) => (steps.collective_groups())
            .map(|(kind, algorithm, group)| {
                let hosts = match group {
                    Some(group) => (group.ranks.iter())
                        .map(|&rank| workload.hosts[rank as usize])
                        .collect(),
                    None => workload.hosts.to_vec(),
                };
                (kind, algorithm, hosts)
            })
            .collect(),
        WorkSpec::File(_) => Vec::new(),
    };
    collectives.into_iter().filter_map(|(kind, text, hosts)| {
        let algorithm = match text {
            Some(text) => Algorithm::parse(text).ok()?,
            None => Algorithm::new(algorithms_of(kind)[0]),
        };
        let is_ring = algorithm.name == Name::Ring && kind != CollectiveKind::AllToAll;
        is_ring.then_some((algorithm, hosts))
    })
}

/// Returns the number of members from which a ring sends to another server. The ring of each
/// channel starts at another member of each group of `server` members. // OPS-51
fn sending_nics(ring: Algorithm, hosts: &[NodeId], gpus_per_server: u32) -> usize {
    let server_of = |member: usize| hosts[member].bits() / gpus_per_server;
    let together = (ring.server as usize).min(hosts.len());
    let mut sending = BTreeSet::new();
    for channel in 0..together.min(ring.channels as usize) {
        let member = |place: usize| {
            let first = place / together * together;
            first + (place % together + channel) % together
        };
        for place in 0..hosts.len() {
            let (from, to) = (member(place), member((place + 1) % hosts.len()));
            if server_of(from) != server_of(to) {
                sending.insert(from);
            }
        }
    }
    sending.len()
}
