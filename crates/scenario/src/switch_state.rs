//! State that the systems of the papers keep in a switch: counters, registers and their bits.
//!
//! A counter counts packets, bytes or credits. A register holds anything else: the number of a queue,
//! an address, a time, a flag.

use dataplane::config::{Admission, VictimConfig};
use dataplane::hop::pfc::counting_number;
use dataplane::switch::SwitchConfig;
use dataplane::units::{Rate, Time};

use crate::resources::SwitchKind;
use crate::spec::Scenario;

/// Widths of HPCC's record of an egress port (HPCC paper 4.1): speed, time stamp, bytes sent, queue.
// HPCC-40: a counter and three registers per port
const HPCC_SPEED_BITS: u64 = 4;
const HPCC_TIME_BITS: u64 = 24;
const HPCC_SENT_BITS: u64 = 20;
const HPCC_QUEUE_BITS: u64 = 16;

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
        if config.int.is_some() {
            found.push(("hpcc", each(&kinds, |kind| hpcc(&kind.ports))));
        }
        found
            .into_iter()
            .map(|(system, switches)| SystemState { system, switches })
            .collect()
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

    // FG-64: windows, credits and numbers count; addresses, VOQs and pauses are registers
    fn floodgate_state(&self, destinations: Option<u64>) -> Option<Vec<SwitchState>> {
        let of = |r: crate::floodgate_resources::FloodgateResources| SwitchState {
            counters: r.windows + r.credit_counters + r.numbers,
            registers: r.window_registers + r.voq_registers + r.pauses,
            bits: 8 * r.bytes(),
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
    let bits: u64 = ports
        .iter()
        .map(|&(rate, _)| {
            // IRC stops at the counting number.
            let number = counting_number(victims, rate, config.max_frame);
            let counter_bits = u64::from(u64::BITS - number.leading_zeros());
            CLOCK_BITS + counter_bits + 1 + pausable
        })
        .sum();
    (count, count * (2 + pausable), bits)
}

// HPCC-40: the 8-byte record of an egress port
fn hpcc(ports: &[(Rate, Time)]) -> Amounts {
    let count = ports.len() as u64;
    let bits = HPCC_SPEED_BITS + HPCC_TIME_BITS + HPCC_SENT_BITS + HPCC_QUEUE_BITS;
    (count, 3 * count, count * bits)
}
