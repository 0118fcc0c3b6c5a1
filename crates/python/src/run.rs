//! Runs the simulator: output directory, progress and interruption.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fabric::engine::Threads;
use pyo3::prelude::*;
use scenario::{Options, RunError, Scenario};

use crate::errors::raise;

/// Minimum time between two progress reports to Python.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A flag that stops all running simulations, on any thread. Results up to that time are kept.
#[pyclass(frozen, module = "backwater._core")]
#[derive(Debug, Default)]
pub struct Interrupt {
    pub flag: Arc<AtomicBool>,
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

/// Output of a run, as a Python tuple.
#[derive(FromPyObject)]
pub struct Output(
    /// Directory of the results.
    PathBuf,
    /// True if the directory may contain files that are not results of a run.
    bool,
    /// Hash of all inputs of the run.
    String,
);

/// Runs a scenario without blocking the Python interpreter.
pub fn run_detached<T: Send>(
    scenario: &Scenario,
    output: Output,
    progress: Option<Py<PyAny>>,
    interrupt: &Interrupt,
    threads: Threads,
    run: impl FnOnce(Options<'_>) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let flag = interrupt.flag.clone();
    let info = scenario.info();
    let mut reporter = ProgressReporter {
        arrivals_end_ps: info.measure_to_ps,
        names: info.nodes.into_iter().map(|node| node.name).collect(),
        last_report: None,
        progress,
        failed: None,
        interrupt: flag.clone(),
    };
    let Output(out_dir, force, key) = output;
    Python::attach(|py| {
        let result = py.detach(|| {
            let mut report = |now: &fabric::record::Progress| reporter.report(now);
            run(Options {
                out_dir,
                force,
                key: Some(key),
                threads,
                progress: Some(&mut report),
                interrupt: Some(&flag),
            })
        });
        if let Some(error) = reporter.failed {
            return Err(error);
        }
        result.map_err(|error| raise(py, "RunError", (error.to_string(), error.errno())))
    })
}

/// Reports the progress of a run to a Python function at intervals.
struct ProgressReporter {
    /// Time before which flows start, ps. After this time the run continues until its flows have
    /// finished. `None`: no flow has a start time.
    arrivals_end_ps: Option<u64>,
    /// Names of the nodes, by node ID.
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
            // The Python function has failed: end the run, and raise its exception.
            self.failed = Some(error);
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}
