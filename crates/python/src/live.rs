//! Runs scenarios in lockstep on real frames.

use std::path::PathBuf;

use fabric::engine::Threads;
use pyo3::prelude::*;
use serde_json::json;

use crate::{Interrupt, RunSetup, load, raise};

/// Moves this process, which must have one thread, into a user namespace in which it may create
/// network namespaces.
#[pyfunction]
pub fn enter_user_namespace(py: Python<'_>) -> PyResult<()> {
    live::enter_user_namespace().map_err(|error| raise(py, "RunError", (error.to_string(),)))
}

/// Runs a scenario in lockstep and writes its results. Returns the summary and statistics of the
/// run, both as JSON. With `compare` the simulator runs the same scenario. If the digests differ,
/// the result has the first different frame.
#[pyfunction]
#[pyo3(signature = (path, scheme, overrides, seed, out_dir, force, key, progress, interrupt, profile=None, compare=false))]
#[expect(
    clippy::too_many_arguments,
    reason = "a flat list keeps the boundary to Python plain"
)]
pub fn run_lockstep(
    py: Python<'_>,
    path: PathBuf,
    scheme: Option<String>,
    overrides: Vec<String>,
    seed: Option<u64>,
    out_dir: PathBuf,
    force: bool,
    key: String,
    progress: Option<Py<PyAny>>,
    interrupt: &Interrupt,
    profile: Option<String>,
    compare: bool,
) -> PyResult<(String, String)> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let setup = RunSetup {
        out_dir,
        force,
        key,
        progress,
        interrupt,
    };
    let report = setup.run(py, &scenario, Threads::ONE, |options| {
        live::run(&scenario, options)
    })?;
    let compared = py.detach(|| match compare && !report.summary.partial {
        true => live::compare(&scenario, &report.summary.digest).map(Some),
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
