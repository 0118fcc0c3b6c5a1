//! A switch that runs on the wall clock: the dataplane's switch on real network interfaces
//! (`specs/wall-clock.md`, docs/switch.md).
//!
//! `node.rs` contains the switch without sockets and clock. [`wall`](crate::wall) adds both.

pub mod classes;
pub mod counters;
mod marks;
mod metrics;
pub mod node;
pub mod plan;
mod snapshot;
pub mod stations;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use wire::ethernet::Mac;

use crate::Error;
use crate::wall::{Driver, open_ports};
use metrics::Metrics;
use node::Node;
use plan::{Choices, SwitchDescription, switch_plan};
pub use snapshot::{PortState, QueueOf, Snapshot};

/// Interfaces and options of a switch.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Traffic classes, lossless priorities and frame size.
    pub choices: Choices,
    /// Names of the network interfaces, in the order of the ports.
    pub interfaces: Vec<String>,
    /// Stations with a fixed port: MAC address and port index.
    pub stations: Vec<(Mac, u16)>,
    /// Address of the HTTP server for metrics, if any.
    pub metrics: Option<SocketAddr>,
}

/// Callback when all ports are open: name of the switch, names of the neighbours by port, and
/// address of the metrics server.
pub type Ready<'a> = dyn FnMut(&str, &[String], Option<SocketAddr>) + 'a;

/// Runs a switch until `stop` is set. Calls `ready` once. Returns the final state.
///
/// # Errors
/// The switch cannot run with these choices, or the system rejects an operation.
pub fn run(
    description: SwitchDescription,
    setup: &Setup,
    stop: &AtomicBool,
    ready: &mut Ready<'_>,
) -> Result<Snapshot, Error> {
    description.node.check_interfaces(setup.interfaces.len())?;
    let plan = switch_plan(description, &setup.choices)?;
    let (name, peers) = (plan.node.name.clone(), plan.node.neighbours.clone());
    let (sockets, own) = open_ports(&setup.interfaces)?;
    let metrics = setup.metrics.map(Metrics::open).transpose()?;
    let mut node = Node::new(plan, &own);
    for &(station, port) in &setup.stations {
        node.give_station(station, port);
    }
    ready(&name, &peers, metrics.as_ref().map(Metrics::address));
    let mut driver = Driver::new(node, sockets);
    driver.run(stop, &mut |driver| {
        if let Some(metrics) = &metrics {
            metrics.show(snapshot(&name, driver));
        }
        Ok(true)
    })?;
    Ok(snapshot(&name, &mut driver))
}

fn snapshot(name: &str, driver: &mut Driver<Node>) -> Snapshot {
    let now = driver.clock.now();
    Snapshot::of(name, now, &driver.machine, &mut driver.sockets)
}
