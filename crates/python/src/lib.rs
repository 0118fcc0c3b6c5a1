//! The Python interface of Backwater: the private module `backwater._core`.
//!
//! It only converts values. The public interface and its documentation are in the Python package
//! `backwater`.

#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod switch;
mod texts;
#[cfg(target_os = "linux")]
mod wall;

use fabric::backpressure_graph::Edge;
use fabric::engine::Threads;
use fabric::{LinkId, NodeId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use scenario::estimate::{Failure, estimate_file, estimate_scenario};
use scenario::resources::{RECIRCULATED_BYTES, RECIRCULATION_LIMIT};
use scenario::{Changes, LinkEpoch, Options, Problem, RunError, Scenario, ScenarioError};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use traffic::operations::Record;

/// Minimum time between two progress reports to Python.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A flag that stops running simulations, on any thread. They keep the results so far.
#[pyclass(frozen, module = "backwater._core")]
#[derive(Debug, Default)]
struct Interrupt {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Interrupt {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// Returns the scenario with explicit values of all keys, as TOML, and its warnings.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
fn resolve(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    profile: Option<String>,
) -> PyResult<(String, Vec<String>)> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let warnings = scenario.warnings.iter().map(ToString::to_string).collect();
    Ok((scenario.resolved, warnings))
}

/// Returns all errors, or all warnings and notes, of a scenario.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
fn check<'py>(
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
    let problems = match py.detach(|| Scenario::load(&path, &changes)) {
        Ok(scenario) => [scenario.warnings, scenario.notes].concat(),
        Err(error) => error.problems,
    };
    problem_list(py, &problems)
}

/// Estimates a workload file, or the workload of a scenario (`.toml`), on a network of messages.
///
/// Returns a summary as JSON. If requested, it also returns the operations: columns of numbers as
/// little-endian bytes, and the names of the kinds.
#[pyfunction]
#[pyo3(signature = (path, networks, record=false))]
fn estimate<'py>(
    py: Python<'py>,
    path: PathBuf,
    networks: Vec<String>,
    record: bool,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let scenario = match path.extension() {
        Some(ending) if ending == "toml" => Some(load(py, &path, Vec::new(), None, None, None)?),
        _ => None,
    };
    let found = py
        .detach(|| match &scenario {
            Some(scenario) => estimate_scenario(scenario, &networks, record),
            None => estimate_file(&path, &networks, record),
        })
        .map_err(|failure| match failure {
            Failure::Input(error) => raise(py, "ScenarioError", (error.to_string(),)),
            Failure::Run(error) => raise(py, "RunError", (error.to_string(),)),
        })?;
    let columns = PyDict::new(py);
    let all = &found.records;
    let u32s = |value: fn(&Record) -> u32| {
        let bytes: Vec<u8> = all
            .iter()
            .flat_map(|one| value(one).to_le_bytes())
            .collect();
        PyBytes::new(py, &bytes)
    };
    let u64s = |value: fn(&Record) -> u64| {
        let bytes: Vec<u8> = all
            .iter()
            .flat_map(|one| value(one).to_le_bytes())
            .collect();
        PyBytes::new(py, &bytes)
    };
    let mut kinds: Vec<&str> = all.iter().map(|one| one.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let code = |one: &Record| kinds.iter().position(|kind| *kind == one.kind).unwrap_or(0) as u8;
    let codes: Vec<u8> = all.iter().map(code).collect();
    columns.set_item("rank", u32s(|one| one.rank))?;
    columns.set_item("index", u32s(|one| one.index))?;
    columns.set_item("peer", u32s(|one| one.peer.unwrap_or(u32::MAX)))?;
    columns.set_item("bytes", u64s(|one| one.bytes))?;
    columns.set_item("ready_ps", u64s(|one| one.ready_ps))?;
    columns.set_item("start_ps", u64s(|one| one.start_ps))?;
    columns.set_item("end_ps", u64s(|one| one.end_ps))?;
    columns.set_item("kind", PyBytes::new(py, &codes))?;
    columns.set_item("kinds", kinds)?;
    Ok((found.summary.to_string(), columns))
}

/// Returns the JSON Schema of a scenario, as JSON.
#[pyfunction]
fn schema() -> String {
    format!("{:#}", scenario::schema())
}

/// Runs a scenario, writes its results, and returns the summary as JSON.
#[pyfunction]
#[pyo3(signature = (path, scheme, overrides, seed, out_dir, force, key, progress, interrupt, profile=None, threads=1))]
#[expect(
    clippy::too_many_arguments,
    reason = "a flat list keeps the boundary to Python plain"
)]
fn run(
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
    threads: u32,
) -> PyResult<String> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let threads = Threads {
        asked: threads,
        forced: false,
    };
    let setup = RunSetup {
        out_dir,
        force,
        key,
        progress,
        interrupt,
    };
    let summary = setup.run(py, &scenario, threads, |options| scenario.run(options))?;
    Ok(summary.to_json())
}

/// Settings of a run: its output directory and its progress callback.
struct RunSetup<'a> {
    out_dir: PathBuf,
    force: bool,
    key: String,
    progress: Option<Py<PyAny>>,
    interrupt: &'a Interrupt,
}

impl RunSetup<'_> {
    /// Runs a scenario without holding the interpreter.
    fn run<T: Send>(
        self,
        py: Python<'_>,
        scenario: &Scenario,
        threads: Threads,
        run: impl FnOnce(Options<'_>) -> Result<T, RunError> + Send,
    ) -> PyResult<T> {
        let flag = self.interrupt.flag.clone();
        let info = scenario.info();
        let mut reporter = ProgressReporter {
            arrivals_end_ps: info.measure_to_ps,
            names: info.nodes.into_iter().map(|node| node.name).collect(),
            last_report: None,
            progress: self.progress,
            failed: None,
            interrupt: flag.clone(),
        };
        let (out_dir, force, key) = (self.out_dir, self.force, Some(self.key));
        let result = py.detach(|| {
            let mut report = |now: &fabric::record::Progress| reporter.report(now);
            run(Options {
                out_dir,
                force,
                key,
                threads,
                progress: Some(&mut report),
                interrupt: Some(&flag),
            })
        });
        if let Some(error) = reporter.failed {
            return Err(error);
        }
        result.map_err(|error| raise(py, "RunError", (error.to_string(), error.errno())))
    }
}

/// Returns the backpressure graph as JSON, with its edges only if requested.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, edges=false, profile=None))]
fn backpressure_graph(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    edges: bool,
    profile: Option<String>,
) -> PyResult<String> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let graph = &scenario.graph;
    let found = py
        .detach(|| scenario.backpressure_graph())
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
    let elides = scenario.spec.scheme.elides();
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

/// Returns the states of the links during a run, as JSON.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
fn link_epochs(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    profile: Option<String>,
) -> PyResult<String> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let epochs = py.detach(|| scenario.link_epochs());
    let entry = |epoch: &LinkEpoch| {
        json!({
            "at_ps": epoch.at_ps, "routes_ps": epoch.routes_ps, "down": epoch.down,
            "cut_off": epoch.cut_off, "circle": epoch.cycle,
        })
    };
    Ok(Value::Array(epochs.iter().map(entry).collect()).to_string())
}

/// Returns the state that the systems of the papers need in each kind of switch, and the cost of
/// BFC and Floodgate, as JSON.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, packet_bytes=None, profile=None, destinations=None))]
#[allow(clippy::too_many_arguments)] // one argument per option of the command
fn resources(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    packet_bytes: Option<f64>,
    profile: Option<String>,
    destinations: Option<u64>,
) -> PyResult<String> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let mix = scenario.packet_mix();
    let full_bytes = f64::from(scenario.full_packet_bytes());
    let mean_bytes = packet_bytes.unwrap_or(mix.map_or(full_bytes, |mix| mix.mean_bytes));
    if mean_bytes.is_nan() || mean_bytes < 1.0 {
        let message = "packet_bytes: expected at least 1 byte";
        return Err(PyValueError::new_err(message));
    }
    let switches: Vec<Value> = scenario
        .resources(mean_bytes)
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "count": r.count, "ports": r.ports,
                "capacity_bps": r.capacity_bps,
                "table_entries": r.table_entries, "entry_bits": r.entry_bits,
                "table_bytes": r.table_bytes,
                "counters": r.counters, "counter_bytes": r.counter_bytes,
                "hrtt_ps": r.hrtt_ps, "sticky_ps": r.sticky_ps,
                "thresholds": r.thresholds.iter().map(|&(bps, bytes)| {
                    json!({ "rate_bps": bps, "bytes": bytes })
                }).collect::<Vec<_>>(),
                "packets_per_s": r.packets_per_s,
                "recirculated_per_s": r.recirculated_per_s,
                "recirculated_share": r.recirculated_share,
                "fits": r.fits(),
            })
        })
        .collect();
    let answer = json!({
        "packet_bytes": mean_bytes,
        "of_traffic": packet_bytes.is_none() && mix.is_some(),
        "short_share": mix.filter(|_| packet_bytes.is_none()).map(|mix| mix.short_share),
        "header_bytes": RECIRCULATED_BYTES,
        "limit": RECIRCULATION_LIMIT,
        "switches": switches,
        "floodgate": floodgate_resources(&scenario, destinations),
        "systems": switch_states(&scenario, destinations),
        "nic": scenario.nic_state().map(|nic| json!({
            "epsilon": nic.epsilon, "entries": nic.entries, "table_bits": nic.table_bits,
            "flows": nic.flows, "sender_bits": nic.sender_bits,
            "scheduler_bits": nic.scheduler_bits,
        })),
    });
    Ok(answer.to_string())
}

fn switch_states(scenario: &Scenario, destinations: Option<u64>) -> Value {
    let of = |one: &scenario::switch_state::SwitchState| {
        json!({
            "name": one.name, "count": one.count, "ports": one.ports,
            "counters": one.counters, "registers": one.registers, "bits": one.bits,
        })
    };
    let found = scenario.switch_states(destinations);
    let systems = found.iter().map(|state| {
        let switches: Vec<Value> = state.switches.iter().map(of).collect();
        (state.system.to_owned(), json!(switches))
    });
    Value::Object(systems.collect())
}

/// Returns the thresholds in the network of a scenario, as JSON.
#[pyfunction]
#[pyo3(signature = (path, overrides, seed=None, scheme=None, profile=None))]
fn thresholds(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    profile: Option<String>,
) -> PyResult<String> {
    let scenario = load(py, &path, overrides, seed, scheme, profile)?;
    let found = py.detach(|| scenario.thresholds());
    Ok(found.to_json().to_string())
}

/// Returns the ports by which each flow leaves, in the order of the flows' numbers. The result has
/// the end index of each flow (32-bit numbers) and the node and port of each entry (32-bit and
/// 16-bit numbers), all in native byte order. Returns `None` if the packets of a flow take several
/// paths.
#[pyfunction]
fn flow_paths<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Option<PathsAsBytes<'py>>> {
    let scenario = load(py, &path, Vec::new(), None, None, None)?;
    let found = py
        .detach(|| scenario.flow_paths())
        .map_err(|error| raise(py, "RunError", (error.to_string(),)))?;
    Ok(found.map(|paths| {
        let words = |numbers: &mut dyn Iterator<Item = u32>| {
            let bytes: Vec<u8> = numbers.flat_map(u32::to_ne_bytes).collect();
            PyBytes::new(py, &bytes)
        };
        let graph = &scenario.graph;
        let senders = paths.links.iter().map(|&link| graph.sender(link));
        let ports = paths.links.iter().zip(senders.clone());
        let ports = ports.map(|(link, node)| link.port(graph.first_link(node)));
        let ports: Vec<u8> = ports.flat_map(u16::to_ne_bytes).collect();
        (
            words(&mut paths.ends.iter().copied()),
            words(&mut senders.map(NodeId::bits)),
            PyBytes::new(py, &ports),
        )
    }))
}

type PathsAsBytes<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// Returns the resources that Floodgate needs in each kind of switch, or null if the scheme has no
/// Floodgate.
fn floodgate_resources(scenario: &Scenario, destinations: Option<u64>) -> Option<Value> {
    let found = scenario.floodgate_resources(destinations)?;
    let switches: Vec<Value> = found
        .iter()
        .map(|r| {
            json!({
                "name": r.name, "count": r.count,
                "host_ports": r.host_ports, "switch_ports": r.switch_ports,
                "windows": r.windows, "window_bytes": r.window_bits.div_ceil(8),
                "voqs": r.voqs, "voq_bytes": r.voq_bits.div_ceil(8),
                "credit_counters": r.credit_counters, "credit_bytes": r.credit_bits.div_ceil(8),
                "number_bytes": r.number_bits.div_ceil(8), "pause_bytes": r.pause_bits.div_ceil(8),
                "bytes": r.bits().div_ceil(8),
            })
        })
        .collect();
    let all = destinations.unwrap_or_else(|| u64::from(scenario.graph.endpoints()));
    Some(json!({ "destinations": all, "switches": switches }))
}

/// Describes the tables of a run. `record` is an example of a setting that enables recording, or
/// `None` if every run has the tables.
fn table_entries() -> Vec<Value> {
    use fabric::record::table::Format;
    let entry = |table: &fabric::record::Table, record: Option<&str>| {
        let column = |column: fabric::record::table::ColumnInfo| {
            json!({
                "name": column.name,
                "type": column.empty.word(),
                "about": column.about,
            })
        };
        let columns: Vec<Value> = table.columns().into_iter().map(column).collect();
        json!({
            "name": table.name,
            "file": table.file(),
            "about": table.about,
            "record": record,
            "columns": columns,
        })
    };
    let always = fabric::record::tables().map(|table| entry(&table, None));
    let measures = fabric::measure::MEASURES.iter();
    let requested = measures.flat_map(|measure| {
        let tables = (measure.tables)().into_iter();
        let tables = tables.filter(|table| table.format == Format::Columns);
        tables.map(|table| entry(&table, Some(measure.example)))
    });
    let workloads = fabric::record::workload_tables();
    let workloads = workloads.map(|table| entry(&table, Some("[[workload]]")));
    always
        .into_iter()
        .chain(requested)
        .chain(workloads)
        .collect()
}

/// Returns the built-in items of a kind, as JSON.
#[pyfunction]
fn catalogue(what: &str) -> PyResult<String> {
    let list: Vec<Value> = match what {
        "schemes" => scenario::PRESETS.iter().map(scheme_entry).collect(),
        "workloads" => traffic::sizes::all()
            .iter()
            .map(|d| workload_entry(d))
            .collect(),
        "topologies" => scenario::topology::topologies()
            .iter()
            .map(topology_entry)
            .collect(),
        "tables" => table_entries(),
        _ => {
            let message =
                format!("`{what}` is no list; there are schemes, workloads, topologies and tables");
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(Value::Array(list).to_string())
}

/// Reports the progress of a run to a Python callable at intervals.
struct ProgressReporter {
    /// End of the arrivals. The run continues after it for an unknown time. `None` if no flow has a
    /// start time.
    arrivals_end_ps: Option<u64>,
    /// Names of the nodes.
    names: Vec<String>,
    last_report: Option<Instant>,
    progress: Option<Py<PyAny>>,
    failed: Option<PyErr>,
    interrupt: Arc<AtomicBool>,
}

impl ProgressReporter {
    fn report(&mut self, now: &fabric::record::Progress) {
        let Some(callable) = &self.progress else {
            return;
        };
        if self.failed.is_some()
            || self
                .last_report
                .is_some_and(|last| last.elapsed() < PROGRESS_EVERY)
        {
            return;
        }
        self.last_report = Some(Instant::now());
        let until_ps = match self.arrivals_end_ps {
            None if now.operations.is_some() => None,
            end_ps => Some(now.until_ps.min(end_ps.unwrap_or(u64::MAX))),
        };
        let numbers = (
            now.now_ps,
            until_ps,
            now.started,
            now.finished,
            now.flows,
            now.packet_hops,
            now.moved_ps,
            now.fullest
                .map(|(node, bytes)| (self.names[node.index()].as_str(), bytes)),
            now.operations,
        );
        if let Err(error) = Python::attach(|py| callable.call1(py, numbers)) {
            // The callback has failed: end the run, and raise the callback's exception.
            self.failed = Some(error);
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}

fn load(
    py: Python<'_>,
    path: &Path,
    overrides: Vec<String>,
    seed: Option<u64>,
    scheme: Option<String>,
    profile: Option<String>,
) -> PyResult<Scenario> {
    let changes = Changes {
        set: overrides,
        scheme,
        seed,
        profile,
    };
    py.detach(|| Scenario::load(path, &changes))
        .map_err(|error| scenario_error(py, &error))
}

fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    match problem_list(py, &error.problems) {
        Ok(problems) => raise(py, "ScenarioError", (error.to_string(), problems)),
        Err(error) => error,
    }
}

/// Creates an exception of the package. Python defines it, so that users can read its source.
fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let created = py
        .import("backwater.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    match created {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

fn problem_list<'py>(py: Python<'py>, problems: &[Problem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("severity", problem.severity.name())?;
        entry.set_item("code", problem.code.name())?;
        entry.set_item("key", &problem.key)?;
        entry.set_item("message", &problem.message)?;
        entry.set_item("hint", &problem.hint)?;
        entry.set_item(
            "source",
            problem.at.as_ref().map(|at| at.source.name.as_str()),
        )?;
        entry.set_item("line", problem.line())?;
        entry.set_item("column", problem.column())?;
        entry.set_item("text", problem.to_string())?;
        list.append(entry)?;
    }
    Ok(list)
}

fn scheme_entry(preset: &scenario::Preset) -> Value {
    json!({ "name": preset.name, "summary": preset.summary() })
}

fn workload_entry(distribution: &traffic::sizes::Distribution) -> Value {
    json!({
        "name": distribution.full_name(),
        "mean_bytes": distribution.mean(),
        "median_bytes": distribution.quantile(0.5),
        "max_bytes": distribution.max(),
        "points": distribution.points(),
        "interpolation": distribution.interpolation.as_str(),
        "source": distribution.source,
        "note": distribution.note,
    })
}

fn topology_entry((name, summary): &(&str, String)) -> Value {
    json!({ "name": name, "summary": summary })
}

/// The module `backwater._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::{
        Interrupt, backpressure_graph, catalogue, check, estimate, flow_paths, link_epochs,
        resolve, resources, run, schema, thresholds,
    };

    #[pymodule_export]
    use super::texts::{locate_values, parse_quantity};

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::live::{enter_user_namespace, run_lockstep};

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::host::run_host;

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::switch::run_switch;

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Hash of the sources of this build; see `build.rs`.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __sources__: &str = env!("BACKWATER_SOURCES");
}
