//! The thresholds of a scenario in its network: how the buffer of each kind of switch is divided,
//! the bytes at which an ingress is paused, the ECN thresholds, and the bandwidth-delay product for
//! comparison.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::config::{Accounting, Admission, Alpha, BaseRtt, Pfc, PfcThreshold, Red};
use dataplane::switch::{SwitchConfig, division, headroom_of, pausable_classes};
use dataplane::units::{Rate, Time};
use fabric::NodeId;
use fabric::paths::Paths;
use fabric::topology::Graph;
use serde_json::{Value, json};

use crate::in_network::longest_path;
use crate::scheme::SchemeConfig;
use crate::spec::Scenario;

/// The thresholds in the switches of a network, and values for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of the slowest host link, bits per second.
    pub host_bps: u64,
    /// Largest base round trip between two hosts in ps: a full frame, and an ACK back, with empty
    /// queues.
    pub base_rtt_ps: Time,
    /// Round trip that the congestion control assumes in ps, if it is the same for all flows.
    pub control_rtt_ps: Option<Time>,
    /// Maximum number of switches on a shortest path between two hosts.
    pub hops: usize,
    /// Bytes of the largest frame, including headers and INT.
    pub frame_bytes: u16,
    /// Bytes of an ACK frame.
    pub ack_bytes: u16,
    /// Shortest retransmission timeout of a sender, ps.
    pub timeout_ps: Option<Time>,
    /// Rule that admits packets to the buffer, and the reaction to a full buffer.
    pub admission: Admission,
    /// Number of classes that PFC pauses.
    pub pausable_classes: usize,
    /// The thresholds of each kind of switch. Switches with equal ports are one kind.
    pub switches: Vec<SwitchThresholds>,
}

/// The thresholds of switches with equal ports.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchThresholds {
    /// Name of the first switch of this kind.
    pub name: String,
    /// Number of switches of this kind.
    pub count: u32,
    /// Size of the buffer in bytes.
    pub buffer_bytes: u64,
    /// Sum of the reserved bytes of all ingresses.
    pub reserved_bytes: u64,
    /// Sum of the headroom of all ingresses in bytes.
    pub headroom_bytes: u64,
    /// Bytes of the shared pool: buffer minus reserved bytes and headroom. Negative if the buffer
    /// is too small.
    pub shared_bytes: i64,
    /// Bytes that all victim ports together may store outside the shared pool.
    pub beside_bytes: u64,
    /// Bytes in the shared pool at which an ingress is paused, if no other ingress uses the pool.
    pub xoff_alone_bytes: Option<u64>,
    /// Bytes in the shared pool at which each ingress is paused, if all ingresses use equally many.
    pub xoff_all_bytes: Option<u64>,
    /// The thresholds of the ports, grouped by equal properties.
    pub ports: Vec<PortThresholds>,
}

/// The thresholds of ports with equal properties.
#[derive(Clone, Debug, PartialEq)]
pub struct PortThresholds {
    /// Number of ports with these properties.
    pub count: u32,
    /// Rate of the port's link, bits per second.
    pub rate_bps: u64,
    /// Propagation delay of the port's link, ps.
    pub delay_ps: Time,
    /// True if the port leads to a host.
    pub to_host: bool,
    /// Headroom of the ingress in bytes, if PFC can pause the port's neighbour.
    pub headroom_bytes: Option<u64>,
    /// ECN thresholds of the egress queues, if the switch marks packets.
    pub ecn: Option<Red>,
    /// Bytes and timeout (ps) of the replay buffer, if the link retransmits lost frames.
    pub replay: Option<(u64, Time)>,
}

impl Scenario {
    /// Computes the thresholds of all kinds of switches.
    // SW-11, SW-13, SW-18, SW-19, SW-31: division of the buffer
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        let (spec, graph) = (&self.spec, &self.graph);
        let config = spec.configure(graph);
        let frame_bytes = spec.scheme.nic.mtu + spec.scheme.nic.header;
        let mut paths = Paths::new(Arc::clone(graph));
        let base_rtt_ps = paths.max_base_rtt_ps(frame_bytes, spec.scheme.nic.ack);
        Thresholds {
            hosts: graph.hosts(),
            host_bps: slowest_host(graph),
            base_rtt_ps,
            control_rtt_ps: match config.base_rtt {
                BaseRtt::Fixed(given) => Some(given),
                BaseRtt::Network => Some(base_rtt_ps),
                _ => None,
            },
            hops: longest_path(graph, if graph.is_regular() { 1 } else { usize::MAX }),
            frame_bytes: config.switch.max_frame,
            ack_bytes: spec.scheme.nic.ack,
            timeout_ps: spec.scheme.nic.recovery.shortest_timeout_ps(),
            admission: config.switch.mmu.admission,
            pausable_classes: pausable_classes(&config.switch),
            switches: switches(graph, &config),
        }
    }
}

impl Thresholds {
    /// Converts the thresholds to JSON. Names contain units, and missing values are null.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "hosts": self.hosts, "host_bps": self.host_bps,
            "base_rtt_ps": self.base_rtt_ps, "control_rtt_ps": self.control_rtt_ps,
            "hops": self.hops, "frame_bytes": self.frame_bytes, "ack_bytes": self.ack_bytes,
            "timeout_ps": self.timeout_ps,
            "admission": admission(&self.admission),
            "pausable_classes": self.pausable_classes,
            "switches": self.switches.iter().map(switch).collect::<Vec<_>>(),
        })
    }
}

fn switch(s: &SwitchThresholds) -> Value {
    json!({
        "name": s.name, "count": s.count, "buffer_bytes": s.buffer_bytes,
        "reserved_bytes": s.reserved_bytes, "headroom_bytes": s.headroom_bytes,
        "shared_bytes": s.shared_bytes, "beside_bytes": s.beside_bytes,
        "xoff_alone_bytes": s.xoff_alone_bytes, "xoff_all_bytes": s.xoff_all_bytes,
        "ports": s.ports.iter().map(port).collect::<Vec<_>>(),
    })
}

fn port(p: &PortThresholds) -> Value {
    let ecn = p.ecn.map(|red| {
        json!({ "kmin_bytes": red.kmin_bytes, "kmax_bytes": red.kmax_bytes, "pmax": red.pmax })
    });
    let replay = p
        .replay
        .map(|(bytes, timer_ps)| json!({ "bytes": bytes, "timer_ps": timer_ps }));
    json!({
        "count": p.count, "rate_bps": p.rate_bps, "delay_ps": p.delay_ps, "to_host": p.to_host,
        "headroom_bytes": p.headroom_bytes, "ecn": ecn, "replay": replay,
    })
}

/// Converts the admission rule and its parameters to JSON.
fn admission(admission: &Admission) -> Value {
    let factor = |alpha: Alpha| f64::from(alpha.0) / f64::from(1u32 << 16);
    match *admission {
        Admission::Pfc(pfc) => json!({
            "kind": "pfc",
            "alpha": match pfc.threshold {
                PfcThreshold::Dynamic(alpha) => Some(factor(alpha)),
                _ => None,
            },
            "equal": pfc.threshold == PfcThreshold::Equal,
            "by_formula": pfc.headroom.is_none() && pfc.accounting == Accounting::Pool,
            "beside": pfc.headroom_beside,
            "headroom_pool_bytes": pfc.headroom_pool,
            "xon_offset_bytes": pfc.xon_offset,
            "frame_bytes": pfc.frame_bytes,
            "response_ps": pfc.response_ps,
            "victims": pfc.victims.is_some(),
        }),
        Admission::EgressDynamic { alpha, per_queue } => json!({
            "kind": "egress-dynamic", "alpha": factor(alpha), "per_queue": per_queue,
        }),
        Admission::SharedPool => json!({ "kind": "shared-pool" }),
        Admission::PerPort { bytes } => json!({ "kind": "per-port", "bytes": bytes }),
        Admission::Unlimited => json!({ "kind": "unlimited" }),
    }
}

fn slowest_host(graph: &Graph) -> u64 {
    let ports = graph.host_ids().flat_map(|host| graph.links_of(host));
    ports.map(|i| graph.port(i).rate.bps()).min().unwrap_or(0)
}

type Kind = (u64, Time, bool);

fn switches(graph: &Graph, config: &SchemeConfig) -> Vec<SwitchThresholds> {
    let mut kinds: BTreeMap<(Vec<Kind>, usize), (NodeId, u32)> = BTreeMap::new();
    for node in graph.switch_ids() {
        let of = |link| {
            let port = graph.port(link);
            (port.rate.bps(), port.delay_ps, graph.is_host(port.peer))
        };
        let mut kind: Vec<Kind> = graph.links_of(node).map(of).collect();
        kind.sort_unstable();
        let entry = kinds
            .entry((kind, config.switch_at.kind(node)))
            .or_insert((node, 0));
        entry.0 = entry.0.min(node);
        entry.1 += 1;
    }
    let mut found: Vec<(NodeId, SwitchThresholds)> = kinds
        .iter()
        .map(|((kind, _), &(node, count))| {
            let switch = config.switch_of(node);
            (node, one(graph.name(node), count, kind, switch))
        })
        .collect();
    found.sort_by_key(|(node, _)| *node);
    found.into_iter().map(|(_, switch)| switch).collect()
}

fn one(name: String, count: u32, kind: &[Kind], config: &SwitchConfig) -> SwitchThresholds {
    let links: Vec<(Rate, Time)> = kind
        .iter()
        .map(|&(bps, delay_ps, _)| (Rate::from_bps(bps), delay_ps))
        .collect();
    let (reserved_bytes, headroom_bytes, shared_bytes) = division(config, &links);
    let pfc = match config.mmu.admission {
        Admission::Pfc(pfc) => Some(pfc),
        _ => None,
    };
    let xoff = |ingresses: u64| {
        pfc.map(|pfc| {
            let shared = shared_bytes.max(0) as u64;
            xoff_bytes(config, &pfc, links.len() as u64, shared, ingresses)
        })
    };
    let mut ports: BTreeMap<(bool, u64, Time), PortThresholds> = BTreeMap::new();
    for &(rate_bps, delay_ps, to_host) in kind {
        let link = (Rate::from_bps(rate_bps), delay_ps);
        let port = ports.entry((!to_host, rate_bps, delay_ps));
        port.or_insert_with(|| PortThresholds {
            count: 0,
            rate_bps,
            delay_ps,
            to_host,
            headroom_bytes: pfc.map(|pfc| headroom_of(config, &pfc, link)),
            ecn: config.ecn.as_ref().map(|ecn| ecn.at(link.0)),
            // LLR-11, LLR-12: replay buffer and timeout
            replay: config.link.replay.map(|replay| {
                let frame = config.max_frame;
                let bytes = replay.bytes_of(link.0, delay_ps, frame);
                (bytes, replay.timer_of(link.0, delay_ps, frame))
            }),
        })
        .count += 1;
    }
    SwitchThresholds {
        name,
        count,
        buffer_bytes: config.mmu.buffer_bytes,
        reserved_bytes,
        headroom_bytes,
        shared_bytes,
        beside_bytes: pfc.and_then(|pfc| pfc.victims).map_or(0, |victims| {
            let ingresses = links.len() * pausable_classes(config);
            let buffer_bytes = config.mmu.buffer_bytes;
            victims.beside.bytes(buffer_bytes, ingresses as u64)
        }),
        xoff_alone_bytes: xoff(1),
        xoff_all_bytes: xoff(links.len() as u64),
        ports: ports.into_values().collect(),
    }
}

/// Returns the bytes in the shared pool at which each of `ingresses` ingresses with equal bytes is
/// paused.
// SW-13, SW-18: threshold of PFC
fn xoff_bytes(config: &SwitchConfig, pfc: &Pfc, ports: u64, shared: u64, ingresses: u64) -> u64 {
    let threshold = match pfc.threshold {
        PfcThreshold::Static(bytes) => bytes,
        PfcThreshold::Dynamic(alpha) => together(alpha, shared, ingresses),
        PfcThreshold::Equal => config.mmu.buffer_bytes / ports.max(1),
    };
    let kept = match pfc.accounting {
        Accounting::Pool => pausable_classes(config) as u64 * ports * u64::from(config.max_frame),
        Accounting::Ns3 { .. } => 0,
    };
    threshold.min(shared.saturating_sub(kept) / ingresses.max(1))
}

/// Solves x = α (shared − n x) for x: the bytes of each of `n` equal ingresses when they reach a
/// dynamic threshold.
pub(crate) fn together(alpha: Alpha, shared: u64, n: u64) -> u64 {
    let (alpha, whole) = (u128::from(alpha.0), 1u128 << 16);
    (u128::from(shared) * alpha / (whole + u128::from(n) * alpha)) as u64
}
