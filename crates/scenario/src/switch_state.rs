//! State that the systems of the papers keep in a switch: counters, registers and their bits.
//!
//! A counter counts packets, bytes or credits. A register holds anything else: the number of a
//! queue, an address, a time, a flag.

use dataplane::cc::ControlConfig;
use dataplane::cc::hpcc::{Division, Reciprocals};
use dataplane::config::{Admission, VictimConfig};
use dataplane::hop::pfc::counting_number;
use dataplane::int::{IntFormat, Layout};
use dataplane::switch::SwitchConfig;
use dataplane::units::{Rate, Time};

use crate::resources::SwitchKind;
use crate::spec::Scenario;

/// Bits of txBytes in a record (HPCC paper 4.1).
const HPCC_SENT_BITS: u32 = 20;
/// Flows of an engine of HPCC's NIC (HPCC paper 4.3).
const HPCC_FLOWS: u64 = 50;
/// Default error of the table of reciprocals.
const HPCC_EPSILON: f64 = 0.01;

/// Width of SPFC's Timeout Clock.
// SPFC-45: our choice of its width
const CLOCK_BITS: u64 = 16;

/// State that a system keeps in one kind of switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchState {
    /// Name of the first such switch.
    pub name: String,
    /// Number of these switches.
    pub count: u32,
    /// Number of ports.
    pub ports: u64,
    /// Counters of the switch.
    pub counters: u64,
    /// Registers of the switch.
    pub registers: u64,
    /// Sum of their bits.
    pub bits: u64,
}

/// State of HPCC in a NIC: the table of reciprocals, and one engine of flows.
// HPCC-40
#[derive(Clone, Debug, PartialEq)]
pub struct NicState {
    /// Error of the table.
    pub epsilon: f64,
    /// Integers that have a reciprocal in the table.
    pub entries: u64,
    /// Bits of the table.
    pub table_bits: u64,
    /// Flows of the engine.
    pub flows: u64,
    /// Bits of a flow in the congestion control.
    pub sender_bits: u64,
    /// Bits of a flow in the flow scheduler.
    pub scheduler_bits: u64,
}

/// State that a system keeps in the switches of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemState {
    /// The paper's name of the system, in lower case.
    pub system: &'static str,
    /// The state in each kind of switch.
    pub switches: Vec<SwitchState>,
}

impl Scenario {
    /// Returns the state of each system in the scheme. `destinations` is the number of hosts for
    /// which Floodgate has memory. `None` means the hosts of the network.
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

    /// Returns the state of HPCC in a NIC, if a sender has HPCC.
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

    // BFC-54: a table entry has a counter and two registers
    fn bfc_state(&self) -> Vec<SwitchState> {
        let of = |r: crate::resources::SwitchResources| SwitchState {
            counters: r.table_entries + r.counters,
            registers: 2 * r.table_entries,
            bits: 8 * (r.table_bytes + r.counter_bytes),
            name: r.name,
            count: r.count,
            ports: r.ports.into(),
        };
        // The mean size of packets has no effect on the state.
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

/// Counters, registers and bits.
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

// SPFC-45: TC, IRC and SH of each ingress port, and a reset for each class that it pauses
fn spfc(
    victims: &VictimConfig,
    config: &SwitchConfig,
    pausable: u64,
    ports: &[(Rate, Time)],
) -> Amounts {
    let count = ports.len() as u64;
    // SPFC-16, SPFC-20: one more bit for each option.
    let options = u64::from(victims.unpaused_waits) + u64::from(victims.resumes_at_once);
    let bits: u64 = ports
        .iter()
        .map(|&(rate, _)| {
            // IRC stops at the counting number.
            let number = counting_number(victims, rate, config.max_frame);
            let counter_bits = u64::from(u64::BITS - number.leading_zeros());
            CLOCK_BITS + counter_bits + 1 + pausable + options
        })
        .sum();
    (count, count * (2 + pausable + options), bits)
}

// HPCC-40: txBytes of an egress port, and the bytes below one of its units
fn hpcc(format: IntFormat, ports: u64) -> Amounts {
    let layout = match format {
        IntFormat::Exact => Layout::new(1, 16),
        IntFormat::Wire(layout) => layout,
    };
    let unit_bits = u64::BITS - (layout.tx_unit() - 1).leading_zeros();
    let bits = HPCC_SENT_BITS + unit_bits;
    (ports, 0, ports * u64::from(bits))
}

// HPCC-40: the widths of `hardware/hpcc`
fn nic_of(table: &Reciprocals) -> NicState {
    let entries = table.entries() as u64;
    // An integer of 22 bits and a reciprocal of 32 bits for each entry and one behind the last. The
    // first entry of each of 2048 segments.
    let index_bits = u64::from(u64::BITS - entries.leading_zeros());
    NicState {
        epsilon: table.epsilon(),
        entries,
        table_bits: (entries + 1) * (22 + 32) + 2048 * index_bits,
        flows: HPCC_FLOWS,
        // Records of five links, nHop and pathID, U, W^c, incStage, lastUpdateSeq.
        sender_bits: 5 * 64 + 16 + 30 + 32 + 10 + 32,
        // W, R, the end of the flow, the acknowledged and the sent byte, credit.
        scheduler_bits: 5 * 32 + 49,
    }
}
