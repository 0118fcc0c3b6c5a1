//! Notes about values that are valid but unusual in fast networks.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataplane::config::Admission;
use dataplane::switch::pausable_classes;
use fabric::NodeId;
use fabric::topology::{Graph, Servers, TopologySpec, Wiring};
use traffic::collectives::{Algorithm, Name, ring_member};
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

/// Adds a note if a ring sends over at most half of the NICs of its members, and a ring with one
/// channel per member of a server would use more NICs.
fn idle_nics(i: usize, workload: &WorkloadSpec, servers: &Servers, findings: &mut Findings<'_>) {
    let server_of = |host: &NodeId| host.bits() / servers.gpus_per_server;
    let mut seen = BTreeSet::new();
    let better = collectives(workload)
        .into_iter()
        .find_map(|(kind, text, group)| {
            let is_new = seen.insert((kind.word(), text, group.map(|group| &group.name)));
            let ring = Algorithm::of(kind, text).ok()?;
            if ring.name != Name::Ring || kind == CollectiveKind::AllToAll || !is_new {
                return None;
            }
            let of_group = |group: &Group| {
                let ranks = group.ranks.iter();
                ranks.map(|&rank| workload.hosts[rank as usize]).collect()
            };
            let hosts: Vec<NodeId> = group.map_or_else(|| workload.hosts.to_vec(), of_group);
            let places: Vec<u32> = hosts.iter().map(server_of).collect();
            let used = sending_nics(ring, &places);
            let inside = places.iter().take_while(|&place| *place == places[0]);
            let server = inside.count() as u32;
            let channels = server;
            let whole = Algorithm {
                channels,
                server,
                ..ring
            };
            let helps = 2 * used <= places.len()
                && whole.check(kind, places.len() as u32).is_ok()
                && sending_nics(whole, &places) > used;
            (used > 0 && helps).then_some((used, places.len(), server))
        });
    if let Some((used, nics, server)) = better {
        let message = format!(
            "the ring of workload \"{}\" sends over {used} of {nics} NICs",
            workload.name
        );
        let pxn = match servers.wiring {
            Wiring::Rails => " and pxn = true",
            Wiring::Racks => "",
        };
        let hint = format!(
            "to use more of them: algorithm = \"ring:channels={server},server={server}\"{pxn}"
        );
        let keys = ["algorithm", "steps", "collective"].map(|key| format!("workload.{i}.{key}"));
        findings.note(&keys.each_ref().map(String::as_str), message, &hint);
    }
}

/// Returns kind, algorithm and group of each collective. Group `None`: all ranks are members.
fn collectives(workload: &WorkloadSpec) -> Vec<(CollectiveKind, Option<&str>, Option<&Group>)> {
    match &workload.work {
        WorkSpec::Collective(one) => vec![(one.kind, one.algorithm.as_deref(), None)],
        WorkSpec::Steps(steps) => steps.collective_groups().collect(),
        WorkSpec::File(_) => Vec::new(),
    }
}

/// Returns the number of members that, in some channel of the ring, send to another server.
/// `places` contains the server of each member. In channel c, the ring starts at member c of each
/// server. // OPS-51
fn sending_nics(ring: Algorithm, places: &[u32]) -> usize {
    let members = places.len() as u32;
    let together = ring.server.min(members);
    let mut sends = vec![false; places.len()];
    for channel in 0..together.min(ring.channels) {
        let member = |place| ring_member(together, channel, place % members) as usize;
        for place in 0..members {
            let (from, to) = (member(place), member(place + 1));
            sends[from] |= places[from] != places[to];
        }
    }
    sends.into_iter().filter(|&sends| sends).count()
}
