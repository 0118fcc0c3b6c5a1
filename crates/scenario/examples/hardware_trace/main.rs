//! Writes the inputs and decisions of simulated hosts and switches, as test vectors for the
//! circuits in `hardware/`.
//!
//! `cargo run --release -p backwater-scenario --example hardware_trace -- KIND SCENARIO SCHEME EVENTS [KEY=VALUE]...`
//!
//! | KIND | the trace | an event |
//! |---|---|---|
//! | `buffer` | the lossless buffer of the only switch | a data packet arrives at the switch or leaves it |
//! | `hpcc` | senders and switches of HPCC | a sender receives an ACK |
//! | `bfc:SWITCH` | BFC at the switch with this number | a data packet arrives at the switch or leaves it |
//! | `bfc-lossy:SWITCH` | the same; one pause or resume in three that arrive is lost | the same |
//! | `floodgate:SWITCH` | Floodgate at the switch with this number | the same |
//!
//! Hosts and switches are the state machines of the simulator. This program only carries packets
//! between them. It stops after EVENTS events. The module of each kind describes the lines that it
//! prints. In all traces, a line `config KEY VALUE...` has the configuration. The keys
//! `SYSTEM.counters.NAME`, `SYSTEM.registers.NAME` and `SYSTEM.bits.NAME` have the state of the kind of
//! switch whose first one is NAME, and `nic.*` the state of HPCC in a NIC, as `backwater resources` counts
//! them.
#![allow(clippy::print_stdout)]

mod bfc;
mod buffer;
mod floodgate;
mod hpcc;
mod network;

use std::error::Error;
use std::path::Path;

use fabric::engine::{Plan, SingleHost};
use scenario::{Changes, Scenario};

use bfc::BfcTrace;
use buffer::BufferTrace;
use floodgate::FloodgateTrace;
use hpcc::HpccTrace;
use network::{Network, Trace};

/// Creates the trace of a kind, and prints its configuration.
fn create(kind: &str, switch: Option<u32>, plan: &Plan) -> Result<Box<dyn Trace>, String> {
    let graph = &plan.graph;
    if switch.is_some_and(|switch| switch >= graph.switches()) {
        return Err(format!("the network has {} switches", graph.switches()));
    }
    let node = switch.map(|switch| graph.hosts() + switch);
    Ok(match (kind, node) {
        ("buffer", None) => Box::new(BufferTrace::new(plan)?),
        ("hpcc", None) => Box::new(HpccTrace::new(plan)?),
        ("bfc", Some(node)) => Box::new(BfcTrace::new(plan, node, 0)?),
        ("bfc-lossy", Some(node)) => Box::new(BfcTrace::new(plan, node, 3)?),
        ("floodgate", Some(node)) => Box::new(FloodgateTrace::new(plan, node)?),
        _ => {
            return Err(
                "KIND is buffer, hpcc, bfc:SWITCH, bfc-lossy:SWITCH or floodgate:SWITCH".to_owned(),
            );
        }
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().ok_or("which kind of trace?")?;
    let path = arguments.next().ok_or("which scenario?")?;
    let scheme = arguments.next().ok_or("which scheme?")?;
    let events = arguments.next().ok_or("how many events?")?.parse()?;
    let (kind, switch) = match kind.split_once(':') {
        Some((kind, switch)) => {
            let number = switch.parse();
            (
                kind,
                Some(number.map_err(|_| format!("{kind}:SWITCH: {switch:?} is not a number"))?),
            )
        }
        None => (kind.as_str(), None),
    };
    let changes = Changes {
        scheme: Some(scheme),
        set: arguments.collect(),
        ..Changes::default()
    };
    let scenario = Scenario::load(Path::new(&path), &changes).map_err(|e| e.to_string())?;
    print_resources(&scenario);
    let mut plan = scenario.build()?.plan;
    let mut trace = create(kind, switch, &plan)?;
    let mut host = SingleHost::new(&plan);
    let mut network = Network::new(&plan, &host);
    network.run(&mut host, &mut plan.feed, trace.as_mut(), events)?;
    if trace.events() < events {
        let found = trace.events();
        return Err(format!("the scenario ends after {found} of {events} events").into());
    }
    trace.print_state(&network)?;
    Ok(())
}

/// Prints the state (registers and bits) of each kind of switch, as `backwater resources` counts
/// it.
fn print_resources(scenario: &Scenario) {
    for state in scenario.switch_states(None) {
        for kind in state.switches {
            let (system, name) = (state.system, kind.name);
            println!("config {system}.counters.{name} {}", kind.counters);
            println!("config {system}.registers.{name} {}", kind.registers);
            println!("config {system}.bits.{name} {}", kind.bits);
        }
    }
    if let Some(nic) = scenario.nic_state() {
        println!("config nic.table {}", nic.table_bits);
        println!("config nic.flows {}", nic.flows);
        println!("config nic.sender {}", nic.sender_bits);
        println!("config nic.scheduler {}", nic.scheduler_bits);
    }
}
