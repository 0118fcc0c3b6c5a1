//! Nodes on the wall clock, which run until they are interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use live::wall::keep_raw_sockets_only;
use pyo3::prelude::*;

use crate::{Interrupt, raise};

/// How often signals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Drops capabilities that are not needed, and calls `run` in a thread of its own until it returns, or until a signal
/// or `interrupt` sets its first argument. `run` calls its second argument to pass a value to `ready`, which is called
/// with the interpreter attached; an error of `ready` stops the run, too.
pub fn run_until_interrupted<R: Send, T>(
    py: Python<'_>,
    interrupt: &Interrupt,
    ready: impl Fn(Python<'_>, T) -> PyResult<()> + Send + Sync,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(T)) -> Result<R, live::Error> + Send,
) -> PyResult<R> {
    let failed = |error: live::Error| raise(py, "RunError", (error.to_string(),));
    // WSW-42: before the thread starts, which inherits the capabilities of this one.
    keep_raw_sockets_only().map_err(failed)?;
    let (stop, asked) = (AtomicBool::new(false), &interrupt.flag);
    let mut told = Ok(());
    let ended = py.detach(|| {
        std::thread::scope(|scope| {
            let stop = &stop;
            let mut tell = |what: T| {
                if let Err(error) = Python::attach(|py| ready(py, what)) {
                    told = Err(error);
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let running = scope.spawn(move || run(stop, &mut tell));
            while !running.is_finished() {
                std::thread::sleep(LOOK_EVERY);
                let signalled = Python::attach(|py| py.check_signals()).is_err();
                if signalled || asked.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            running.join()
        })
    });
    told?;
    match ended {
        Ok(ran) => ran.map_err(failed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
