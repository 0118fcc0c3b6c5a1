//! Scenarios, and properties that are computed from them without a run.

use std::path::{Path, PathBuf};

use fabric::backpressure_graph::Edge;
use fabric::engine::Threads;
use fabric::{LinkId, NodeId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use scenario::{Changes, LinkEpoch};
use serde_json::{Value, json};

use crate::errors::{problem_list, raise, scenario_error};
use crate::run::{Interrupt, Output, run_detached};

/// A scenario that was read without errors.
#[pyclass(frozen, module = "backwater._core")]
pub struct Scenario(pub scenario::Scenario);

/// Reads a scenario. If it has errors, raises an exception that contains them.
pub fn load(py: Python<'_>, path: &Path, changes: &Changes) -> PyResult<scenario::Scenario> {
    py.detach(|| scenario::Scenario::load(path, changes))
        .map_err(|error| scenario_error(py, &error))
}

/// Returns all errors of a scenario. If there are none, returns its warnings and notes.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
pub fn check<'py>(
    py: Python<'py>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    profile: Option<String>,
) -> PyResult<Bound<'py, PyList>> {
    let changes = Changes {
        set: overrides,
        scheme,
        seed,
        profile,
    };
    let problems = match py.detach(|| scenario::Scenario::load(&path, &changes)) {
        Ok(scenario) => [scenario.warnings, scenario.notes].concat(),
        Err(error) => error.problems,
    };
    problem_list(py, &problems)
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        overrides: Vec<String>,
        seed: Option<u64>,
        scheme: Option<String>,
        profile: Option<String>,
    ) -> PyResult<Self> {
        let changes = Changes {
            set: overrides,
            scheme,
            seed,
            profile,
        };
        load(py, &path, &changes).map(Self)
    }

    /// Returns the scenario with explicit values of all keys, as TOML.
    fn resolved(&self) -> &str {
        &self.0.resolved
    }

    /// Runs the scenario, writes its results, and returns the summary as JSON.
    fn run(
        &self,
        output: Output,
        progress: Option<Py<PyAny>>,
        interrupt: &Interrupt,
        threads: u32,
    ) -> PyResult<String> {
        let threads = Threads {
            asked: threads,
            forced: false,
        };
        let run = |options: scenario::Options<'_>| self.0.run(options);
        let summary = run_detached(&self.0, output, progress, interrupt, threads, run)?;
        Ok(summary.to_json())
    }

    /// Returns the backpressure graph (which port can pause which other port) as JSON. The edges
    /// are included only if requested.
    fn backpressure_graph(&self, py: Python<'_>, edges: bool) -> PyResult<String> {
        let graph = &self.0.graph;
        let found = py
            .detach(|| self.0.backpressure_graph())
            .map_err(|error| raise(py, "RunError", (error.to_string(),)))?;
        let names = |links: &Vec<LinkId>| -> Vec<String> {
            links.iter().map(|&link| graph.port_name(link)).collect()
        };
        let edge = |edge: &Edge| {
            json!({
                "switch": graph.name(graph.switch_node(edge.switch)),
                "held": graph.port_name(edge.held(graph)),
                "holder": graph.port_name(edge.holder(graph)),
            })
        };
        let elides = self.0.spec.scheme.elides();
        let mut answer = json!({
            "nodes": found.nodes,
            "edges": found.edges,
            "circles": found.cycles.iter().map(names).collect::<Vec<_>>(),
            "removed": found.removed.iter().map(edge).collect::<Vec<_>>(),
            "elided": elides && !found.removed.is_empty(),
        });
        if edges {
            answer["edge_list"] = found.all_edges(graph).map(|e| edge(&e)).collect();
        }
        Ok(answer.to_string())
    }

    /// Returns the link changes of a run as JSON: the times of the change and of the new routes,
    /// the links that are down, unreachable hosts, and a possible cycle of pauses.
    fn link_epochs(&self, py: Python<'_>) -> String {
        let epochs = py.detach(|| self.0.link_epochs());
        let entry = |epoch: &LinkEpoch| {
            json!({
                "at_ps": epoch.at_ps, "routes_ps": epoch.routes_ps, "down": epoch.down,
                "cut_off": epoch.cut_off, "circle": epoch.cycle,
            })
        };
        Value::Array(epochs.iter().map(entry).collect()).to_string()
    }

    /// Returns the memory and operations that schemes need in each kind of switch, as JSON.
    #[pyo3(signature = (packet_bytes=None, destinations=None))]
    fn resources(&self, packet_bytes: Option<f64>, destinations: Option<u64>) -> PyResult<String> {
        let found = crate::resources::resources(&self.0, packet_bytes, destinations);
        found.map(|found| found.to_string())
    }

    /// Returns the thresholds (PFC, ECN, …) in the network of the scenario, as JSON.
    fn thresholds(&self, py: Python<'_>) -> String {
        let found = py.detach(|| self.0.thresholds());
        found.to_json().to_string()
    }

    /// Returns the path of each flow, in the order of flow IDs. The result has three arrays in
    /// native byte order: the end index of each flow's path (32 bits), and the node (32 bits) and
    /// egress port (16 bits) of each hop. Returns `None` if the packets of a flow take several
    /// paths.
    fn flow_paths<'py>(&self, py: Python<'py>) -> PyResult<Option<[Bound<'py, PyBytes>; 3]>> {
        let found = py
            .detach(|| self.0.flow_paths())
            .map_err(|error| raise(py, "RunError", (error.to_string(),)))?;
        let Some(paths) = found else { return Ok(None) };
        let bytes = |all: &mut dyn Iterator<Item = u8>| PyBytes::new(py, &all.collect::<Vec<_>>());
        let graph = &self.0.graph;
        let senders = paths.links.iter().map(|&link| graph.sender(link));
        let ports = paths.links.iter().zip(senders.clone());
        let ports = ports.map(|(link, node)| link.port(graph.first_link(node)));
        Ok(Some([
            bytes(&mut paths.ends.iter().copied().flat_map(u32::to_ne_bytes)),
            bytes(&mut senders.map(NodeId::bits).flat_map(u32::to_ne_bytes)),
            bytes(&mut ports.flat_map(u16::to_ne_bytes)),
        ]))
    }
}
