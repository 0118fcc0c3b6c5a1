//! Runs nodes in real time until they are interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use live::wall::keep_raw_sockets_only;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::run::Interrupt;

/// Time between two checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Drops capabilities that are not needed, calls `run` in a new thread, and waits until it returns.
/// A signal or `interrupt` sets the first argument of `run`, a flag that stops it. `run` passes a
/// value to `ready` by calling its second argument. `ready` is a Python function; its exception
/// stops the run.
pub fn run_until_interrupted<R: Send, T>(
    py: Python<'_>,
    interrupt: &Interrupt,
    ready: impl Fn(Python<'_>, T) -> PyResult<()> + Send + Sync,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(T)) -> Result<R, live::Error> + Send,
) -> PyResult<R> {
    let failed = |error: live::Error| raise(py, "RunError", (error.to_string(),));
    // WSW-42: drop capabilities before the thread starts, because it inherits them
    keep_raw_sockets_only().map_err(failed)?;
    let (stop, interrupted) = (AtomicBool::new(false), &interrupt.flag);
    let mut reported = Ok(());
    let ended = py.detach(|| {
        std::thread::scope(|scope| {
            let stop = &stop;
            let mut report = |value: T| {
                if let Err(error) = Python::attach(|py| ready(py, value)) {
                    reported = Err(error);
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let running = scope.spawn(move || run(stop, &mut report));
            while !running.is_finished() {
                std::thread::sleep(SIGNAL_INTERVAL);
                let signalled = Python::attach(|py| py.check_signals()).is_err();
                if signalled || interrupted.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            running.join()
        })
    });
    reported?;
    match ended {
        Ok(ran) => ran.map_err(failed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
