//! Runs a host between real interfaces.

use std::path::PathBuf;
use std::time::Duration;

use live::host::Setup;
use live::plan::{Results, run_host as run_host_of};
use pyo3::prelude::*;
use serde_json::json;

use crate::wall::run_until_interrupted;
use crate::{Interrupt, load, raise};

/// Sends the flows of a host and replies to others until it is done or interrupted. Calls `ready`
/// once all ports are open, with the name of the host and the names of the neighbours by port.
/// Returns the counters as JSON, and the error that ended the run early, if any.
#[pyfunction]
#[pyo3(signature = (path, scheme, overrides, seed, node, interfaces, peers, listen, seconds, out_dir, force, ready, interrupt))]
#[expect(
    clippy::too_many_arguments,
    reason = "a flat list keeps the boundary to Python plain"
)]
pub fn run_host(
    py: Python<'_>,
    path: PathBuf,
    scheme: Option<String>,
    overrides: Vec<String>,
    seed: Option<u64>,
    node: String,
    interfaces: Vec<String>,
    peers: Vec<(String, [u8; 6])>,
    listen: bool,
    seconds: Option<f64>,
    out_dir: PathBuf,
    force: bool,
    ready: Py<PyAny>,
    interrupt: &Interrupt,
) -> PyResult<(String, Option<String>)> {
    let scenario = load(py, &path, overrides, seed, scheme, None)?;
    let plan = scenario
        .build()
        .map_err(|error| raise(py, "RunError", (error.to_string(),)))?
        .plan;
    let setup = Setup {
        interfaces,
        peers,
        listen,
        stop_after: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    let results = Results {
        out_dir,
        force,
        resolved: scenario.info().resolved,
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
