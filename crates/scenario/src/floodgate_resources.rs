//! Memory that Floodgate needs in a switch for a number of destinations (Floodgate paper §7.4).

use dataplane::declaration::Around;
use dataplane::hop::floodgate::{FloodgateConfig, Voqs};
use std::collections::{BTreeMap, BTreeSet};

use fabric::NodeId;
use fabric::engine::upward;
use fabric::topology::{Graph, NodeKind};

use crate::spec::Scenario;

/// Bits of a counter of units in flight, of a credit counter, and of a sequence number.
// FG-62
const COUNT_BITS: u64 = 32;
/// Bits of two counters per destination: packets in its VOQ, and bytes in its VOQ.
const PACKETS_BITS: u64 = 16;
const BYTES_BITS: u64 = 24;

/// Memory that Floodgate needs in one kind of switch, as in the circuits of `hardware/floodgate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodgateResources {
    /// Name of the first switch of this kind.
    pub name: String,
    /// Number of switches of this kind.
    pub count: u32,
    /// Number of ports that lead to hosts.
    pub host_ports: u64,
    /// Number of ports that lead to switches.
    pub switch_ports: u64,
    /// Number of entries of the window table.
    pub windows: u64,
    /// Total bits of the window table.
    pub window_bits: u64,
    /// Number of destinations that can have a VOQ.
    pub held: u64,
    /// Number of VOQs.
    pub voqs: u64,
    /// Total bits of the table from destinations to VOQs, and of the state of the VOQs.
    pub voq_bits: u64,
    /// Number of credit counters: one for each ingress port and destination.
    pub credit_counters: u64,
    /// Total bits of the credit counters, of the queues that define the order in which ports return
    /// credits, and of the flags of destinations whose credits are withheld.
    pub credit_bits: u64,
    /// Number of sequence-number registers for credits and packets: one for each ingress port and
    /// destination, and two for each egress port and destination.
    pub numbers: u64,
    /// Total bits of the sequence-number registers.
    pub number_bits: u64,
    /// Total bits of the flags of paused destinations, in pauses to hosts or to switches.
    pub pause_bits: u64,
}

impl FloodgateResources {
    /// Returns the total memory in bits.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.window_bits + self.voq_bits + self.credit_bits + self.number_bits + self.pause_bits
    }

    /// Returns the number of counters: windows, packets and bytes in the VOQ of each destination,
    /// destinations of each VOQ, credits, and sequence numbers.
    // FG-64
    #[must_use]
    pub const fn counters(&self) -> u64 {
        self.windows + 2 * self.held + self.voqs + self.credit_counters + self.numbers
    }

    /// Returns the number of registers: the VOQ of each destination, the queue positions of
    /// credits, and the flags of paused destinations.
    // FG-64
    #[must_use]
    pub const fn registers(&self) -> u64 {
        self.held + self.credit_counters + self.pause_bits
    }
}

impl Scenario {
    /// Returns the memory of each kind of switch for a number of destinations (`None`: the hosts of
    /// the network). Returns no kinds if the scheme does not include Floodgate.
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

/// Number of ports of a switch that lead to hosts, number of ports that lead to switches, and
/// number of directions (up, down) in which the switch forwards to other switches.
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

/// Returns the number of bits that an integer below `count` needs.
const fn bits_below(count: u64) -> u64 {
    (u64::BITS - count.saturating_sub(1).leading_zeros()) as u64
}

// FG-62: memory of one switch
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
        // FG-06: upward and downward destinations have separate table entries.
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
    // FG-61: with VUPs, a flag and a position in the list of destinations that wait for a VUP.
    let vup_bits = config.vup_ps.map_or(0, |_| 1 + destination_bits);
    let held_bits = 1 + bits_below(voqs) + PACKETS_BITS + BYTES_BITS + vup_bits;
    // Number of destinations of a VOQ, and a bit for the scheduler.
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
