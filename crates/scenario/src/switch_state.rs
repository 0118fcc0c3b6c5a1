//! State that the mechanisms of the papers keep in a switch: counters, registers and their bits.
//!
//! A counter counts packets, bytes or credits. A register stores any other value: a queue index, an
//! address, a time, a flag.

use dataplane::cc::ControlConfig;
use dataplane::cc::hpcc::{Division, Reciprocals};
use dataplane::config::{Admission, VictimConfig};
use dataplane::hop::pfc::counting_number;
use dataplane::int::{IntFormat, Layout};
use dataplane::switch::SwitchConfig;
use dataplane::units::{Rate, Time};

use crate::resources::SwitchKind;
use crate::spec::Scenario;

/// Bits of the txBytes field in an INT record (HPCC paper 4.1).
const HPCC_SENT_BITS: u32 = 20;
/// Number of flows of one engine of HPCC's NIC (HPCC paper 4.3).
const HPCC_FLOWS: u64 = 50;
/// Default relative error of the table of reciprocals.
const HPCC_EPSILON: f64 = 0.01;

/// Bits of SPFC's Timeout Clock (TC).
// SPFC-45: the paper does not state the width
const CLOCK_BITS: u64 = 16;

/// State that a mechanism keeps in one kind of switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchState {
    /// Name of the first switch of this kind.
    pub name: String,
    /// Number of switches of this kind.
    pub count: u32,
    /// Number of ports of the switch.
    pub ports: u64,
    /// Number of counters in the switch.
    pub counters: u64,
    /// Number of registers in the switch.
    pub registers: u64,
    /// Total bits of the counters and registers.
    pub bits: u64,
}

/// State of HPCC in a NIC: the table of reciprocals, and the state of one engine for flows.
// HPCC-40: state in the NIC
#[derive(Clone, Debug, PartialEq)]
pub struct NicState {
    /// Relative error of the table of reciprocals.
    pub epsilon: f64,
    /// Number of integers with a reciprocal in the table.
    pub entries: u64,
    /// Total bits of the table of reciprocals.
    pub table_bits: u64,
    /// Number of flows of the engine.
    pub flows: u64,
    /// Bits of state per flow in the congestion control of the NIC.
    pub sender_bits: u64,
    /// Bits of state per flow in the flow scheduler of the NIC.
    pub scheduler_bits: u64,
}

/// State that a mechanism keeps in the switches of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemState {
    /// The paper's name of the mechanism, in lower case.
    pub system: &'static str,
    /// The state in each kind of switch.
    pub switches: Vec<SwitchState>,
}

impl Scenario {
    /// Returns the state of each mechanism in the scheme. `destinations` is the number of hosts for
    /// which Floodgate has memory; `None` is the number of hosts of the network.
    #[must_use]
    pub fn switch_states(&self, destinations: Option<u64>) -> Vec<SystemState> {
        let config = self.spec.configure(&self.graph).switch;
        let kinds = self.switch_kinds();
        let mut found = Vec::new();
        if config.hop.bfc().is_some() {
            found.push(("bfc", self.bfc_state()));
        }
        if let Some(switches) = self.floodgate_state(destinations) {
            found.push(("floodgate", switches));
        }
        if let Admission::Pfc(pfc) = &config.mmu.admission
            && let Some(victims) = &pfc.victims
        {
            let pausable = config.classes.iter().filter(|class| class.pausable).count() as u64;
            let state = |kind: &SwitchKind| spfc(victims, &config, pausable, &kind.ports);
            found.push(("spfc", each(&kinds, state)));
        }
        if let Some(int) = config.int {
            let state = |kind: &SwitchKind| hpcc(int.format, kind.ports.len() as u64);
            found.push(("hpcc", each(&kinds, state)));
        }
        found
            .into_iter()
            .map(|(system, switches)| SystemState { system, switches })
            .collect()
    }

    /// Returns the state of HPCC in a NIC, or `None` if no sender uses HPCC.
    #[must_use]
    pub fn nic_state(&self) -> Option<NicState> {
        let config = self.spec.configure(&self.graph).nic;
        let controls = config.control.controls();
        let hpcc = controls.iter().find_map(|control| match control {
            ControlConfig::Hpcc(hpcc) => Some(hpcc),
            _ => None,
        })?;
        Some(match &hpcc.division {
            Division::Table(table) => nic_of(table),
            Division::Exact => nic_of(&Reciprocals::new(HPCC_EPSILON)),
        })
    }

    // BFC-54: a flow-table entry has a counter and two registers
    fn bfc_state(&self) -> Vec<SwitchState> {
        let of = |r: crate::resources::SwitchResources| SwitchState {
            counters: r.table_entries + r.counters,
            registers: 2 * r.table_entries,
            bits: 8 * (r.table_bytes + r.counter_bytes),
            name: r.name,
            count: r.count,
            ports: r.ports.into(),
        };
        // The mean packet size has no effect on the number of bits.
        self.resources(1.0).into_iter().map(of).collect()
    }

    fn floodgate_state(&self, destinations: Option<u64>) -> Option<Vec<SwitchState>> {
        let of = |r: crate::floodgate_resources::FloodgateResources| SwitchState {
            counters: r.counters(),
            registers: r.registers(),
            bits: r.bits(),
            name: r.name,
            count: r.count,
            ports: r.host_ports + r.switch_ports,
        };
        let found = self.floodgate_resources(destinations)?;
        Some(found.into_iter().map(of).collect())
    }
}

/// Number of counters, number of registers, and total bits.
type Amounts = (u64, u64, u64);

fn each(kinds: &[SwitchKind], state: impl Fn(&SwitchKind) -> Amounts) -> Vec<SwitchState> {
    let of = |kind: &SwitchKind| {
        let (counters, registers, bits) = state(kind);
        SwitchState {
            name: kind.name.clone(),
            count: kind.count,
            ports: kind.ports.len() as u64,
            counters,
            registers,
            bits,
        }
    };
    kinds.iter().map(of).collect()
}

// SPFC-45: Timeout Clock, IRC counter and SH flag of each ingress port, and a reset flag for each
// pausable class
fn spfc(
    victims: &VictimConfig,
    config: &SwitchConfig,
    pausable: u64,
    ports: &[(Rate, Time)],
) -> Amounts {
    let count = ports.len() as u64;
    // SPFC-16, SPFC-20: each option needs one more bit
    let options = u64::from(victims.unpaused_waits) + u64::from(victims.resumes_at_once);
    let bits: u64 = ports
        .iter()
        .map(|&(rate, _)| {
            // The IRC counter stops at the counting number.
            let number = counting_number(victims, rate, config.max_frame);
            let counter_bits = u64::from(u64::BITS - number.leading_zeros());
            CLOCK_BITS + counter_bits + 1 + pausable + options
        })
        .sum();
    (count, count * (2 + pausable + options), bits)
}

// HPCC-40: the txBytes counter of an egress port, and its bits below one INT unit
fn hpcc(format: IntFormat, ports: u64) -> Amounts {
    let layout = match format {
        IntFormat::Exact => Layout::new(1, 16),
        IntFormat::Wire(layout) => layout,
    };
    let unit_bits = u64::BITS - (layout.tx_unit() - 1).leading_zeros();
    let bits = HPCC_SENT_BITS + unit_bits;
    (ports, 0, ports * u64::from(bits))
}

// HPCC-40: bit widths as in `hardware/hpcc`
fn nic_of(table: &Reciprocals) -> NicState {
    let entries = table.entries() as u64;
    // Each entry, and one additional entry at the end, has an integer of 22 bits and a reciprocal
    // of 32 bits. For each of 2048 segments, an index stores the first entry of the segment.
    let index_bits = u64::from(u64::BITS - entries.leading_zeros());
    NicState {
        epsilon: table.epsilon(),
        entries,
        table_bits: (entries + 1) * (22 + 32) + 2048 * index_bits,
        flows: HPCC_FLOWS,
        // INT records of five links, nHop and pathID, U, W^c, incStage, lastUpdateSeq.
        sender_bits: 5 * 64 + 16 + 30 + 32 + 10 + 32,
        // W, R, last byte of the flow, acknowledged byte, sent byte, credit.
        scheduler_bits: 5 * 32 + 49,
    }
}
