//! Estimates the completion time of workloads without packets.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scenario::estimate::{Failure, estimate_file, estimate_scenario};
use traffic::operations::Record;

use crate::errors::raise;
use crate::scenarios::Scenario;

/// Where the workload of an estimate is.
#[derive(FromPyObject)]
pub enum Given<'py> {
    /// A scenario with one workload.
    Scenario(PyRef<'py, Scenario>),
    /// A workload file.
    File(PathBuf),
}

/// Estimates a workload file, or the workload of a scenario, with a model of messages instead of
/// packets.
///
/// Returns a summary as JSON. If requested, it also returns the operations: columns of numbers as
/// little-endian bytes, and the names of the kinds of operations.
#[pyfunction]
#[pyo3(signature = (given, networks, record=false))]
pub fn estimate<'py>(
    py: Python<'py>,
    given: Given<'py>,
    networks: Vec<String>,
    record: bool,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let found = match &given {
        Given::Scenario(scenario) => {
            let scenario = &scenario.0;
            py.detach(|| estimate_scenario(scenario, &networks, record))
        }
        Given::File(path) => py.detach(|| estimate_file(path, &networks, record)),
    };
    let found = found.map_err(|failure| match failure {
        Failure::Input(error) => raise(py, "ScenarioError", (error.to_string(),)),
        Failure::Run(error) => raise(py, "RunError", (error.to_string(),)),
    })?;
    let columns = PyDict::new(py);
    let all = &found.records;
    let bytes = |all: &mut dyn Iterator<Item = u8>| PyBytes::new(py, &all.collect::<Vec<_>>());
    let u32s =
        |value: fn(&Record) -> u32| bytes(&mut all.iter().flat_map(|one| value(one).to_le_bytes()));
    let u64s =
        |value: fn(&Record) -> u64| bytes(&mut all.iter().flat_map(|one| value(one).to_le_bytes()));
    let mut kinds: Vec<&str> = all.iter().map(|one| one.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let code = |one: &Record| kinds.iter().position(|kind| *kind == one.kind).unwrap_or(0) as u8;
    columns.set_item("rank", u32s(|one| one.rank))?;
    columns.set_item("index", u32s(|one| one.index))?;
    columns.set_item("peer", u32s(|one| one.peer.unwrap_or(u32::MAX)))?;
    columns.set_item("bytes", u64s(|one| one.bytes))?;
    columns.set_item("ready_ps", u64s(|one| one.ready_ps))?;
    columns.set_item("start_ps", u64s(|one| one.start_ps))?;
    columns.set_item("end_ps", u64s(|one| one.end_ps))?;
    columns.set_item("kind", bytes(&mut all.iter().map(code)))?;
    columns.set_item("kinds", kinds)?;
    Ok((found.summary.to_string(), columns))
}
