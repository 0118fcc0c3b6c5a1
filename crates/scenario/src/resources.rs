//! The cost of BFC in a switch (BFC paper §3.3, §4): entries and bytes of the flow table and of the
//! pause counters, and the fraction of the switch's capacity that recirculated headers use.

use std::collections::BTreeMap;

use dataplane::config::Classify;
use dataplane::hop::bfc::{self, state_entries};
use dataplane::switch::{SwitchConfig, sticky_ps};
use dataplane::units::{Rate, Time};

use crate::messages::for_each_size;
use crate::spec::Scenario;

/// Bytes of a recirculated header, which is a minimum-size frame. With this value, the limit below
/// is reached at 533 bytes per packet on average; the paper states 500.
// BFC-53: recirculation of headers
pub const RECIRCULATED_BYTES: u64 = 64;

/// Fraction of a switch's capacity that its internal links provide for recirculated headers.
// BFC-53: recirculation of headers
pub const RECIRCULATION_LIMIT: f64 = 0.12;

/// Bits of the packet counter of a flow-table entry, and bits of its timestamp.
const COUNT_BITS: u64 = 16;

/// Average data packet on the wire, over all packets of all flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketMix {
    /// Mean bytes of a packet, including headers.
    pub mean_bytes: f64,
    /// Fraction of the packets that are shorter than a full packet.
    pub short_share: f64,
}

/// Switches whose ports have the same rates and delays.
#[derive(Clone, Debug)]
pub(crate) struct SwitchKind {
    /// Name of the first switch of this kind.
    pub name: String,
    /// Number of switches of this kind.
    pub count: u32,
    /// Rate and propagation delay of each port of the first switch.
    pub ports: Vec<(Rate, Time)>,
}

/// The cost of BFC in one kind of switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchResources {
    /// Name of the first switch of this kind.
    pub name: String,
    /// Number of switches of this kind.
    pub count: u32,
    /// Number of ports of the switch.
    pub ports: u16,
    /// Sum of the port rates in one direction, bits per second.
    pub capacity_bps: u64,
    /// Number of entries of the flow table.
    pub table_entries: u64,
    /// Bits of three fields of an entry: queue, packet counter, timestamp.
    pub entry_bits: [u64; 3],
    /// Total bytes of the flow table.
    pub table_bytes: u64,
    /// Number of pause counters.
    pub counters: u64,
    /// Total bytes of the pause counters.
    pub counter_bytes: u64,
    /// Round trip over one hop, from which the pause thresholds are computed, ps.
    pub hrtt_ps: Time,
    /// Time for which a flow without packets keeps its queue, ps.
    pub sticky_ps: Time,
    /// For each egress rate (bits per second), the pause threshold of a queue that is the only
    /// active one, in bytes.
    pub thresholds: Vec<(u64, u64)>,
    /// Packets per second if every port sends without a gap.
    pub packets_per_s: f64,
    /// Number of these packets whose header is recirculated, per second.
    pub recirculated_per_s: f64,
    /// Fraction of the switch's capacity that recirculated headers use.
    pub recirculated_share: f64,
}

impl SwitchResources {
    /// True if the internal links can carry the recirculated headers.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.recirculated_share <= RECIRCULATION_LIMIT
    }
}

impl Scenario {
    /// Bytes of a full data packet, including headers.
    #[must_use]
    pub fn full_packet_bytes(&self) -> u16 {
        self.spec.scheme.max_frame()
    }

    /// Returns the average data packet of the scenario's traffic, or `None` if the scenario has
    /// only workloads.
    #[must_use]
    pub fn packet_mix(&self) -> Option<PacketMix> {
        let (mut packets, mut payload, mut short) = (0.0, 0.0, 0.0);
        let mtu = f64::from(self.spec.scheme.nic.mtu);
        let made = for_each_size(&self.spec, &self.graph, |bytes, flows| {
            let full = (bytes / mtu).floor();
            let rest = if bytes > full * mtu { 1.0 } else { 0.0 };
            packets += flows * (full + rest);
            short += flows * rest;
            payload += flows * bytes;
        });
        if !made {
            return None;
        }
        let header = f64::from(self.spec.scheme.max_frame() - self.spec.scheme.nic.mtu);
        (packets > 0.0).then(|| PacketMix {
            mean_bytes: payload / packets + header,
            short_share: short / packets,
        })
    }

    /// Returns the cost of BFC in each kind of switch, if packets have `mean_bytes` bytes on
    /// average.
    // BFC-16, BFC-53: flow table, recirculation
    #[must_use]
    pub fn resources(&self, mean_bytes: f64) -> Vec<SwitchResources> {
        let config = self.spec.configure(&self.graph).switch;
        let kinds = self.switch_kinds().into_iter();
        kinds.map(|kind| one(kind, &config, mean_bytes)).collect()
    }

    /// Returns the kinds of switches, sorted by the name of the first switch of each.
    pub(crate) fn switch_kinds(&self) -> Vec<SwitchKind> {
        let mut kinds: BTreeMap<Vec<(u64, Time)>, SwitchKind> = BTreeMap::new();
        for node in self.graph.switch_ids() {
            let ports = self.graph.rates_and_delays(node);
            let mut key: Vec<(u64, Time)> = ports.iter().map(|p| (p.0.bps(), p.1)).collect();
            key.sort_unstable();
            let kind = kinds.entry(key).or_insert_with(|| SwitchKind {
                name: self.graph.name(node),
                count: 0,
                ports,
            });
            kind.count += 1;
        }
        let mut all: Vec<SwitchKind> = kinds.into_values().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

fn one(kind: SwitchKind, config: &SwitchConfig, mean_bytes: f64) -> SwitchResources {
    let SwitchKind { name, count, ports } = kind;
    let ports = &ports[..];
    let (table_entries, counters) = state_entries(config, ports.len() as u32);
    let queues = match config.classify {
        Classify::Dynamic { queues, .. } => queues,
        _ => 1,
    };
    let queue_bits = if queues > 256 { 16 } else { 8 };
    let entry_bits = [queue_bits, COUNT_BITS, COUNT_BITS];
    let capacity_bps: u64 = ports.iter().map(|p| p.0.bps()).sum();
    let sampling = config
        .hop
        .bfc()
        .map_or(0.0, |b| f64::from(b.sampling) / 65_536.0);
    let packets_per_s = capacity_bps as f64 / 8.0 / mean_bytes;
    let recirculated_per_s = packets_per_s * sampling;
    let bfc = config.hop.bfc();
    let hrtt_ps = bfc.map_or(0, |b| bfc::hrtt_ps(b, ports));
    let thresholds = bfc.map_or_else(Vec::new, |config| {
        let speeds: BTreeMap<u64, u64> = bfc::pause_thresholds(config, ports).into_iter().collect();
        speeds.into_iter().collect()
    });
    SwitchResources {
        name,
        count,
        ports: ports.len() as u16,
        capacity_bps,
        table_entries,
        entry_bits,
        table_bytes: table_entries * entry_bits.iter().sum::<u64>() / 8,
        counters,
        counter_bytes: counters * COUNT_BITS / 8,
        hrtt_ps,
        sticky_ps: sticky_ps(config, ports),
        thresholds,
        packets_per_s,
        recirculated_per_s,
        recirculated_share: recirculated_per_s * RECIRCULATED_BYTES as f64 * 8.0
            / capacity_bps as f64,
    }
}
