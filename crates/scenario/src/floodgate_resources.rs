//! Memory that Floodgate needs in a switch for a number of destinations (Floodgate paper §7.4).

use dataplane::declaration::Around;
use dataplane::hop::floodgate::{FloodgateConfig, Voqs};
use std::collections::{BTreeMap, BTreeSet};

use fabric::NodeId;
use fabric::engine::upward;
use fabric::topology::{Graph, NodeKind};

use crate::spec::Scenario;

/// Bits of units in flight, of a credit counter, and of a number.
// FG-62
const COUNT_BITS: u64 = 32;
/// Bits of a destination's packets and of its bytes in a VOQ.
const PACKETS_BITS: u64 = 16;
const BYTES_BITS: u64 = 24;

/// Memory that Floodgate needs in one kind of switch, as the circuits of `hardware/floodgate` have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodgateResources {
    /// Name of the first such switch.
    pub name: String,
    /// Number of these switches.
    pub count: u32,
    /// Ports that lead to hosts.
    pub host_ports: u64,
    /// Ports that lead to switches.
    pub switch_ports: u64,
    /// Entries of the table of windows.
    pub windows: u64,
    /// Bits of the table of windows.
    pub window_bits: u64,
    /// Destinations that can have a VOQ.
    pub held: u64,
    /// VOQs.
    pub voqs: u64,
    /// Bits of the table that has the VOQ of each destination, and of the state of the VOQs.
    pub voq_bits: u64,
    /// Credit counters: one for each ingress port and destination.
    pub credit_counters: u64,
    /// Bits of the credit counters, of the order in which a port returns them, and of the
    /// destinations whose credits are withheld.
    pub credit_bits: u64,
    /// Numbers of credits and packets: one for each ingress port and destination, two for each
    /// egress port and destination.
    pub numbers: u64,
    /// Bits of the numbers.
    pub number_bits: u64,
    /// Bits for destinations that are paused, at hosts or at switches.
    pub pause_bits: u64,
}

impl FloodgateResources {
    /// Returns the sum of all parts.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.window_bits + self.voq_bits + self.credit_bits + self.number_bits + self.pause_bits
    }

    /// Returns the counters: windows, packets and bytes of a destination in its VOQ, destinations of
    /// a VOQ, credits, and numbers.
    // FG-64
    #[must_use]
    pub const fn counters(&self) -> u64 {
        self.windows + 2 * self.held + self.voqs + self.credit_counters + self.numbers
    }

    /// Returns the registers: the VOQ of a destination, the places of credits in their order, and
    /// the bits of paused destinations.
    // FG-64
    #[must_use]
    pub const fn registers(&self) -> u64 {
        self.held + self.credit_counters + self.pause_bits
    }
}

impl Scenario {
    /// Returns the memory of each kind of switch for a number of destinations (`None`: those of the
    /// network). Returns `None` if the scheme has no Floodgate.
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
        let mut kinds: BTreeMap<Ports, FloodgateResources> = BTreeMap::new();
        for node in self.graph.switch_ids() {
            let ports = ports_of(&self.graph, node);
            kinds
                .entry(ports)
                .and_modify(|r| r.count += 1)
                .or_insert_with(|| one(self.graph.name(node), &config, ports, all));
        }
        let mut found: Vec<_> = kinds.into_values().collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Some(found)
    }
}

/// Ports of a switch that lead to hosts, and to switches; and the number of directions, down and up,
/// in which it forwards to switches.
type Ports = (u64, u64, u64);

fn ports_of(graph: &Graph, node: NodeId) -> Ports {
    let peers = graph.links_of(node).map(|index| graph.port(index).peer);
    let to_switches: Vec<bool> = peers
        .zip(upward(graph, node))
        .filter(|(peer, _)| graph.kind(*peer) != NodeKind::Host)
        .map(|(_, is_up)| is_up)
        .collect();
    let switch_ports = to_switches.len() as u64;
    let directions: BTreeSet<bool> = to_switches.into_iter().collect();
    let host_ports = u64::from(graph.ports(node)) - switch_ports;
    (host_ports, switch_ports, directions.len() as u64)
}

/// Returns the bits of a number below `count`.
const fn bits_below(count: u64) -> u64 {
    (u64::BITS - count.saturating_sub(1).leading_zeros()) as u64
}

// FG-62
fn one(
    name: String,
    config: &FloodgateConfig,
    (host_ports, switch_ports, directions): Ports,
    destinations: u64,
) -> FloodgateResources {
    // FG-01: a switch has no windows for its own hosts.
    let far = destinations.saturating_sub(host_ports);
    let destination_bits = bits_below(destinations);
    let (mut windows, mut credit_counters, mut numbers) = (0, 0, 0);
    if let Some(w) = config.windows() {
        // FG-06: destinations of both directions never share an entry.
        windows = match w.entries {
            Some(entries) => u64::from(entries) * directions,
            None => far,
        };
        credit_counters = switch_ports * destinations;
        if w.numbers_timeout_ps.is_some() {
            numbers = credit_counters + 2 * switch_ports * far;
        }
    }
    let voqs = match config.voqs {
        Voqs::PerDestination => far,
        Voqs::Pool { count, .. } => u64::from(count),
    };
    // FG-61: with VUPs, a flag and a place in the list of destinations that wait for one.
    let vup_bits = config.vup_ps.map_or(0, |_| 1 + destination_bits);
    let held_bits = 1 + bits_below(voqs) + PACKETS_BITS + BYTES_BITS + vup_bits;
    // The destinations of a VOQ, and a bit for the scheduler.
    let voq_state_bits = destination_bits + 2;
    let withheld_bits = if credit_counters > 0 { destinations } else { 0 };
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
        window_bits: windows * COUNT_BITS,
        held: far,
        voqs,
        voq_bits: far * held_bits + voqs * voq_state_bits,
        credit_counters,
        credit_bits: credit_counters * (COUNT_BITS + destination_bits) + withheld_bits,
        numbers,
        number_bits: numbers * COUNT_BITS,
        pause_bits: pausable * destinations,
    }
}
