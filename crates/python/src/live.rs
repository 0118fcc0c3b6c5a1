//! Runs scenarios in lockstep: nodes exchange real frames over virtual interfaces.

use fabric::engine::Threads;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::raise;
use crate::run::{Interrupt, Output, run_detached};
use crate::scenarios::Scenario;

/// Moves this process, which must have a single thread, into a user namespace in which it may
/// create network namespaces.
#[pyfunction]
pub fn enter_user_namespace(py: Python<'_>) -> PyResult<()> {
    live::enter_user_namespace().map_err(|error| raise(py, "RunError", (error.to_string(),)))
}

/// Runs a scenario in lockstep and writes its results. Returns the summary and statistics of the
/// run, both as JSON. If `compare` is true, the simulator runs the same scenario. If the digests
/// differ, the statistics contain the first frame that differs.
#[pyfunction]
pub fn run_lockstep(
    py: Python<'_>,
    scenario: &Scenario,
    output: Output,
    progress: Option<Py<PyAny>>,
    interrupt: &Interrupt,
    compare: bool,
) -> PyResult<(String, String)> {
    let scenario = &scenario.0;
    let run = |options: scenario::Options<'_>| live::run(scenario, options);
    let report = run_detached(scenario, output, progress, interrupt, Threads::ONE, run)?;
    let compared = py.detach(|| match compare && !report.summary.partial {
        true => live::compare(scenario, &report.summary.digest).map(Some),
        false => Ok(None),
    });
    let compared = compared.map_err(|error| raise(py, "RunError", (error.to_string(),)))?;
    let answer = json!({
        "nodes": report.nodes,
        "frames": report.frames,
        "bytes": report.bytes,
        "rounds": report.rounds,
        "seconds": report.seconds,
        "digest": report.summary.digest,
        "simulator": compared.as_ref().map(|compared| json!({
            "digest": compared.digest,
            "difference": compared.difference.as_ref().map(ToString::to_string),
        })),
    });
    Ok((report.summary.to_json(), format!("{answer:#}")))
}
