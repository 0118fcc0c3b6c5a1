//! What Floodgate takes of a switch's memory for a number of destinations (Floodgate paper §7.4).

use dataplane::declaration::Around;
use dataplane::hop::floodgate::{FloodgateConfig, Voqs};
use std::collections::BTreeMap;

use fabric::NodeId;
use fabric::topology::{Graph, NodeKind};

use crate::spec::Scenario;

/// Bits of a destination's address, of a counter or number, and of the name of a VOQ.
// FG-62
const ADDRESS_BITS: u64 = 32;
const COUNT_BITS: u64 = 32;
const VOQ_BITS: u64 = 16;
/// Bits of a VOQ: its first and last packet, and how many destinations use it.
const VOQ_STATE_BITS: u64 = 2 * 32 + 16;

/// What Floodgate takes of one kind of switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodgateResources {
    /// Name of the first such switch.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Ports that lead to hosts, and to switches.
    pub host_ports: u64,
    /// Ports that lead to switches.
    pub switch_ports: u64,
    /// Entries of the table of windows in the worst case, and their bytes.
    pub windows: u64,
    /// Bytes of the table of windows.
    pub window_bytes: u64,
    /// Registers of the table of windows: the destination, if entries have one, and the VOQ.
    pub window_registers: u64,
    /// VOQs in the worst case, and their bytes.
    pub voqs: u64,
    /// Bytes of the VOQs' state.
    pub voq_bytes: u64,
    /// Registers of the VOQs: first packet, last packet, length.
    pub voq_registers: u64,
    /// Credit counters in the worst case: one for each ingress port and destination.
    pub credit_counters: u64,
    /// Bytes of the credit counters.
    pub credit_bytes: u64,
    /// Numbers of credits and packets.
    pub numbers: u64,
    /// Bytes of numbers: one for each ingress port and destination, two for each egress.
    pub number_bytes: u64,
    /// Bits that say which host or switch is paused for which destination.
    pub pauses: u64,
    /// Bytes of the bits that say which host or switch is paused for which destination.
    pub pause_bytes: u64,
}

impl FloodgateResources {
    /// All of it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.window_bytes
            + self.voq_bytes
            + self.credit_bytes
            + self.number_bytes
            + self.pause_bytes
    }
}

impl Scenario {
    /// Floodgate's memory at each kind of switch for this many destinations (`None`: those of the
    /// network); `None` where the scheme has no Floodgate.
    // FG-62
    #[must_use]
    pub fn floodgate_resources(
        &self,
        destinations: Option<u64>,
    ) -> Option<Vec<FloodgateResources>> {
        let config = *self
            .spec
            .scheme
            .hop
            .configure(&Around::default())
            .floodgate()?;
        let all = destinations.unwrap_or_else(|| u64::from(self.graph.endpoints()));
        let mut kinds: BTreeMap<(u64, u64), FloodgateResources> = BTreeMap::new();
        for node in self.graph.switch_ids() {
            let (host_ports, switch_ports) = ports_of(&self.graph, node);
            kinds
                .entry((host_ports, switch_ports))
                .and_modify(|r| r.count += 1)
                .or_insert_with(|| {
                    let name = self.graph.name(node);
                    one(name, &config, host_ports, switch_ports, all)
                });
        }
        let mut found: Vec<_> = kinds.into_values().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Some(found)
    }
}

/// Ports of a switch that lead to hosts, and to switches.
fn ports_of(graph: &Graph, node: NodeId) -> (u64, u64) {
    let peers = graph.links_of(node).map(|index| graph.port(index).peer);
    let hosts = peers
        .filter(|&peer| graph.kind(peer) == NodeKind::Host)
        .count() as u64;
    (hosts, u64::from(graph.ports(node)) - hosts)
}

fn one(
    name: String,
    config: &FloodgateConfig,
    host_ports: u64,
    switch_ports: u64,
    destinations: u64,
) -> FloodgateResources {
    // FG-01: a switch has no windows for its own hosts.
    let far = destinations.saturating_sub(host_ports);
    let (mut windows, mut window_bits, mut window_registers) = (0, 0, 0);
    let (mut credit_counters, mut numbers) = (0, 0);
    if let Some(w) = config.windows() {
        windows = w.entries.map_or(far, |entries| u64::from(entries).min(far));
        let key_bits = if w.entries.is_some() { 0 } else { ADDRESS_BITS };
        window_bits = windows * (key_bits + COUNT_BITS + VOQ_BITS);
        window_registers = windows * (key_bits / ADDRESS_BITS + 1);
        credit_counters = switch_ports * destinations;
        if w.numbers_timeout_ps.is_some() {
            numbers = credit_counters + 2 * switch_ports * far;
        }
    }
    let voqs = match config.voqs {
        Voqs::PerDestination => far,
        Voqs::Pool { count, .. } => u64::from(count),
    };
    let pausable = match (config.windows(), config.host_pause) {
        (Some(_), None) => 0,
        (Some(_), Some(_)) => host_ports,
        (None, None) => 2 * switch_ports,
        (None, Some(_)) => host_ports + 2 * switch_ports,
    };
    FloodgateResources {
        name,
        count: 1,
        host_ports,
        switch_ports,
        windows,
        window_bytes: window_bits.div_ceil(8),
        window_registers,
        voqs,
        voq_registers: 3 * voqs,
        voq_bytes: (voqs * VOQ_STATE_BITS).div_ceil(8),
        credit_counters,
        credit_bytes: credit_counters * COUNT_BITS / 8,
        numbers,
        number_bytes: (numbers * COUNT_BITS).div_ceil(8),
        pauses: pausable * destinations,
        pause_bytes: (pausable * destinations).div_ceil(8),
    }
}
