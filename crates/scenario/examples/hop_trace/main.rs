//! Writes what BFC or Floodgate at one switch receives and decides, for the circuits in `hardware/`.
//!
//! `cargo run --release -p backwater-scenario --example hop_trace -- SCENARIO SCHEME SWITCH EVENTS [KEY=VALUE]...`
//!
//! Hosts and switches are the state machines of the simulator; this program only carries packets between them.
//! It stops after EVENTS data packets have arrived at the switch with the number SWITCH or have left it. The
//! output has these lines, with times in ps and sizes in bytes. Queues are numbered from 0, except in frames,
//! which have the numbers of the neighbour.
//!
//! | line | meaning |
//! |---|---|
//! | `config KEY VALUE` | the configuration of the switch |
//! | `config SYSTEM.counters.PORTS VALUE`, also `registers` and `bits` | state of a switch with PORTS ports, as `backwater resources` counts it |
//! | `timer TIME TICK` | the timer of the switch; `TICK` 1: it sent its bitmaps |
//!
//! With BFC:
//!
//! | line | meaning |
//! |---|---|
//! | `enqueue TIME INGRESS EGRESS HASH UPSTREAM SIZE RANDOM QUEUE OVER PAUSE` | a data packet that came from the queue UPSTREAM joins QUEUE; RANDOM was drawn for it |
//! | `dequeue TIME INGRESS EGRESS HASH UPSTREAM SIZE QUEUE OVER RESUME` | it leaves |
//! | `pause TIME PORT QUEUE ON`, `bitmap TIME PORT QUEUE...` | a frame of the downstream neighbour arrives |
//! | `sent TIME PORT QUEUE ON`, `bits TIME PORT QUEUE...` | a frame to the upstream neighbour leaves |
//! | `bytes PORT QUEUE BYTES`, `counter INGRESS UPSTREAM COUNT`, `inside INGRESS EGRESS HASH` | state at the end: queues, pause counters, packets |
//!
//! With Floodgate:
//!
//! | line | meaning |
//! |---|---|
//! | `packet TIME DST BELOW LAST_HOP SIZE HELD` | a data packet arrives; it passes, or is put into a VOQ |
//! | `credit TIME PORT [DST UNITS]...` | a frame of credits arrives from the next hop |
//! | `released TIME DST` | because of the line before, a packet leaves its VOQ |
//! | `earn TIME INGRESS DST SIZE` | a packet leaves that came from a switch |
//! | `sent TIME PORT [DST UNITS]...` | a frame of credits leaves |
//! | `window UNITS`, `voq DST VOQ PACKETS` | state at the end: sum of all in flight, VOQs |
#![allow(clippy::print_stdout)]

mod bfc;
mod floodgate;
mod network;

use std::error::Error;
use std::path::Path;

use dataplane::hop::HopConfig;
use fabric::engine::SingleHost;
use scenario::{Changes, Scenario};

use bfc::BfcTrace;
use floodgate::FloodgateTrace;
use network::Network;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which scenario?")?;
    let scheme = arguments.next().ok_or("which scheme?")?;
    let switch: u32 = arguments.next().ok_or("which switch?")?.parse()?;
    let events = arguments.next().ok_or("how many events?")?.parse()?;
    let changes = Changes {
        scheme: Some(scheme),
        set: arguments.collect(),
        ..Changes::default()
    };
    let scenario = Scenario::load(Path::new(&path), &changes).map_err(|e| e.to_string())?;
    for state in scenario.switch_states(None) {
        for kind in state.switches {
            let (system, ports) = (state.system, kind.ports);
            println!("config {system}.counters.{ports} {}", kind.counters);
            println!("config {system}.registers.{ports} {}", kind.registers);
            println!("config {system}.bits.{ports} {}", kind.bits);
        }
    }
    let mut plan = scenario.build()?.plan;
    if switch >= plan.graph.switches() {
        return Err(format!("the network has {} switches", plan.graph.switches()).into());
    }
    let mut host = SingleHost::new(&plan);
    let mut network = Network::new(&plan, &host, switch);
    let node = plan.graph.hosts() + switch;
    if matches!(plan.switch.hop, HopConfig::Floodgate(_)) {
        let mut trace = FloodgateTrace::new(&plan, node)?;
        network.run(&mut host, &mut plan.feed, &mut trace, events);
        trace.print_state(network.switch(), &network.arena)?;
    } else {
        let mut trace = BfcTrace::new(&plan, node)?;
        network.run(&mut host, &mut plan.feed, &mut trace, events);
        trace.print_state(network.switch(), &network.arena)?;
    }
    println!("end {}", network.now());
    Ok(())
}
