//! The dataplane's NIC between real interfaces, on the wall clock: a host that sends a list of flows, answers, and
//! measures (`specs/wall-clock-host.md`, docs/host.md).
//!
//! `node.rs` is the host with its frames; it has no sockets and no clock. [`wall`](crate::wall) has both.

pub mod counters;
pub mod flows;
pub mod node;
pub mod plan;
mod snapshot;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dataplane::units::{NS, Time};
use fabric::engine::Plan;
use results::HostFiles;

use crate::wall::{Driver, open_ports};
use node::Node;
use plan::{Choices, host_plan};
pub use snapshot::{PortState, Snapshot, Totals, Unfinished};

/// What a host is to be, beside its scenario.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The host of the scenario, and its peers.
    pub choices: Choices,
    /// Names of the interfaces, in the order of its ports.
    pub interfaces: Vec<String>,
    /// It goes on when its own flows have finished.
    pub listen: bool,
    /// It stops after this time at the latest.
    pub stop_after: Option<Duration>,
    /// Where results go.
    pub out_dir: PathBuf,
    /// Write there whatever is there already.
    pub force: bool,
    /// The scenario with every value filled in.
    pub resolved: String,
}

/// How a host ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What it measured and counted, as it stands in its files.
    pub last: Snapshot,
    /// Why it could not go on; its results are written all the same.
    pub broken: Option<String>,
}

/// Called once when all ports are open, with the name of the host and the names of the neighbours by port.
pub type Ready<'a> = dyn FnMut(&str, &[String]) + 'a;

/// Sends the flows of a host and answers others until it is done or is to stop, and writes what it measured.
/// `ready` is called once.
///
/// # Errors
/// The scenario has no such host, the system refuses something, or results cannot be written: in words.
// HST-30
pub fn run(
    plan: Plan,
    setup: &Setup,
    stop: &AtomicBool,
    ready: &mut Ready<'_>,
) -> Result<Ended, String> {
    let plan = host_plan(plan, &setup.choices)?;
    let written = |error: results::Error| error.to_string();
    let files = HostFiles::create(&setup.out_dir, setup.force).map_err(written)?;
    let (sockets, addresses) = open_ports(&setup.interfaces)?;
    let (name, names, peers) = (plan.name.clone(), plan.names.clone(), plan.peers.clone());
    let node = Node::new(plan, &addresses, this_start());
    let sends = node.flows().next_ps().is_some();
    ready(&name, &peers);
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
    let last = Snapshot::of((&name, &names), now, &driver.machine, &mut driver.sockets);
    let said = serde_json::to_string_pretty(&last).map_err(|error| error.to_string())?;
    let flows = driver.machine.flows().begun().to_vec();
    files
        .finish(&setup.resolved, &flows, &said)
        .map_err(written)?;
    Ok(Ended {
        last,
        broken: ran.err(),
    })
}

/// A number that differs between two starts of the program.
// HST-04
fn this_start() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |time| time.as_nanos() as u64);
    (nanoseconds / 1000) as u32
}

/// Whether the host can go on with its interfaces.
// HST-22
fn check_ports(driver: &Driver<Node>) -> Result<(), String> {
    for socket in &driver.sockets {
        let name = socket.name();
        if socket.is_gone() {
            return Err(format!("interface {name} is gone"));
        }
        if socket.too_long() > 0 {
            let longest = driver.machine.counters().largest_bytes;
            return Err(format!(
                "{name} takes no frame of {longest} bytes: give it a larger MTU (`ip link set {name} mtu {}`), or \
                 set a smaller mtu in the scenario",
                longest.saturating_sub(14)
            ));
        }
    }
    Ok(())
}
