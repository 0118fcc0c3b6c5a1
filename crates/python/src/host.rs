//! Runs one host of a scenario on real network interfaces.

use std::path::PathBuf;
use std::time::Duration;

use live::host::Setup;
use live::plan::{Results, run_host as run_host_of};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::raise;
use crate::run::Interrupt;
use crate::scenarios::Scenario;
use crate::wall::run_until_interrupted;

/// Configuration of a host that runs in real time, as a Python dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct HostSetup {
    /// Name of the host in the scenario.
    node: String,
    interfaces: Vec<String>,
    /// Names and MAC addresses of other hosts.
    peers: Vec<(String, [u8; 6])>,
    /// True if the host runs until it is interrupted, even if its flows have finished.
    listen: bool,
    /// Maximum duration, in seconds.
    seconds: Option<f64>,
    out_dir: PathBuf,
    force: bool,
}

/// Sends the flows of a host and replies to other hosts, until the flows have finished or the run
/// is interrupted. When all ports are open, calls `ready` with the name of the host and the names
/// of the neighbours by port. Returns the counters as JSON, and the error that ended the run early,
/// if any.
#[pyfunction]
pub fn run_host(
    py: Python<'_>,
    scenario: &Scenario,
    setup: HostSetup,
    ready: Py<PyAny>,
    interrupt: &Interrupt,
) -> PyResult<(String, Option<String>)> {
    let scenario = &scenario.0;
    let plan = scenario
        .build()
        .map_err(|error| raise(py, "RunError", (error.to_string(),)))?
        .plan;
    let results = Results {
        out_dir: setup.out_dir,
        force: setup.force,
        resolved: scenario.info().resolved,
    };
    let node = setup.node;
    let setup = Setup {
        interfaces: setup.interfaces,
        peers: setup.peers,
        listen: setup.listen,
        stop_after: setup
            .seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    let ready = |py: Python<'_>, values: (String, Vec<String>)| ready.call1(py, values).map(drop);
    let ended = run_until_interrupted(py, interrupt, ready, move |stop, report| {
        let mut report = |name: &str, peers: &[String]| {
            report((name.to_owned(), peers.to_vec()));
        };
        run_host_of(plan, &node, &setup, &results, stop, &mut report)
    })?;
    let broken = ended.broken.map(|error| error.to_string());
    Ok((json!(ended.last).to_string(), broken))
}
