//! A host that runs on the wall clock: a NIC of the dataplane on real network interfaces. It sends
//! a list of flows, replies to other hosts, and measures (`specs/wall-clock-host.md`,
//! docs/host.md).
//!
//! `node.rs` contains the host without sockets and clock. [`wall`](crate::wall) adds both.

pub mod counters;
pub mod description;
pub mod flows;
pub mod node;
mod snapshot;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dataplane::units::{NS, Time};
use wire::ethernet::Mac;

use crate::Error;
use crate::wall::{Driver, open_ports};
use description::HostDescription;
use flows::OwnFlow;
use node::Node;
pub use snapshot::{PortState, Snapshot, Totals, Unfinished};

/// Interfaces and options of a host.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Names of the network interfaces, in the order of the ports.
    pub interfaces: Vec<String>,
    /// Names and MAC addresses of other hosts.
    pub peers: Vec<(String, Mac)>,
    /// True if the host continues after its own flows have finished, to reply to other hosts.
    pub listen: bool,
    /// Maximum duration of the run.
    pub stop_after: Option<Duration>,
}

impl Setup {
    /// Checks the setup for a host, and sets the MAC addresses of the peers.
    ///
    /// # Errors
    /// A peer is unknown, or the interfaces do not match the ports.
    pub(crate) fn apply(&self, description: &mut HostDescription) -> Result<(), Error> {
        description.node.check_interfaces(self.interfaces.len())?;
        for (peer, address) in &self.peers {
            description.set_address(peer, *address)?;
        }
        Ok(())
    }
}

/// Result of a run of a host.
#[derive(Debug)]
pub struct Ended {
    /// Measurements and counters at the end.
    pub last: Snapshot,
    /// The flows that the host has started.
    pub flows: Vec<OwnFlow>,
    /// The error that ended the run early, if there was one.
    pub broken: Option<Error>,
}

/// Callback when all ports are open: name of the host, and names of the neighbours by port.
pub type Ready<'a> = dyn FnMut(&str, &[String]) + 'a;

/// Runs a host until its flows have finished or `stop` is set. It sends its own flows and replies
/// to other hosts. Calls `ready` once.
///
/// # Errors
/// A peer is unknown, the interfaces do not match the ports, or the system rejects an operation.
pub fn run(
    mut description: HostDescription,
    setup: &Setup,
    stop: &AtomicBool,
    ready: &mut Ready<'_>,
) -> Result<Ended, Error> {
    setup.apply(&mut description)?;
    let (sockets, addresses) = open_ports(&setup.interfaces)?;
    let (name, names) = (description.node.name.clone(), description.names.clone());
    ready(&name, &description.node.neighbours);
    let node = Node::new(description, &addresses, this_start());
    let sends = node.flows().next_ps().is_some();
    let mut driver = Driver::new(node, sockets);
    let stop_ps = setup
        .stop_after
        .map(|time| (time.as_nanos() as Time).saturating_mul(NS));
    let ran = driver.run(stop, &mut |driver| {
        check_ports(driver)?;
        let over = stop_ps.is_some_and(|at| driver.clock.now() >= at);
        let done = sends && !setup.listen && driver.machine.flows().are_done();
        Ok(!over && !done)
    });
    let now = driver.clock.now();
    Ok(Ended {
        last: Snapshot::of((&name, &names), now, &driver.machine, &mut driver.sockets),
        flows: driver.machine.flows().started().to_vec(),
        broken: ran.err(),
    })
}

/// Returns a number that differs between two starts of the program.
// HST-04: flow IDs differ between starts
fn this_start() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |time| time.as_nanos() as u64);
    (nanoseconds / 1000) as u32
}

/// Returns an error if an interface disappeared, or if its MTU is too small.
// HST-22: errors of interfaces
fn check_ports(driver: &Driver<Node>) -> Result<(), Error> {
    for socket in &driver.sockets {
        let interface = || socket.name().to_owned();
        if socket.is_gone() {
            return Err(Error::Gone {
                interface: interface(),
            });
        }
        if socket.too_long() > 0 {
            return Err(Error::TooLong {
                interface: interface(),
                bytes: driver.machine.counters().largest_bytes,
            });
        }
    }
    Ok(())
}
