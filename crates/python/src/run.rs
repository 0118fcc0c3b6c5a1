//! Runs of the simulator: their output and their progress.

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

/// A flag that stops all running simulations, on any thread. Their results so far are kept.
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

/// Output of a run, as a tuple.
#[derive(FromPyObject)]
pub struct Output(
    /// Directory of the results.
    PathBuf,
    /// True if the directory may contain other files.
    bool,
    /// Hash of all inputs.
    String,
);

/// Runs a scenario without holding the interpreter.
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

/// Reports the progress of a run to a Python callable at intervals.
struct ProgressReporter {
    /// End of the time in which flows start, ps. The run continues after it for an unknown time.
    /// `None`: no flow has a start time.
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
            // The callback has failed: end the run, and raise the exception of the callback.
            self.failed = Some(error);
            self.interrupt.store(true, Ordering::Relaxed);
        }
    }
}
