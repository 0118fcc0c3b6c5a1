//! Nodes on the wall clock, which run until they are interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use live::wall::{SocketKind, keep_raw_sockets_only, keep_what_opens};
use pyo3::prelude::*;

use crate::{Interrupt, raise};

/// How often signals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The kind of socket that an option names.
pub fn socket_kind(py: Python<'_>, name: &str) -> PyResult<SocketKind> {
    match name {
        "packet" => Ok(SocketKind::Packet),
        "xdp" => Ok(SocketKind::Xdp),
        _ => Err(raise(
            py,
            "RunError",
            (format!(
                "there is no socket {name:?}: expected packet or xdp"
            ),),
        )),
    }
}

/// Gives up rights that are not needed for sockets of a kind, and lets `run` go on in a thread of its own until it
/// ends or the first argument says that it is to stop; it opens the sockets. By the second `run` tells Python
/// something; an error of that stops it, too.
pub fn run_until_interrupted<R: Send, T>(
    py: Python<'_>,
    interrupt: &Interrupt,
    kind: SocketKind,
    ready: impl Fn(Python<'_>, T) -> PyResult<()> + Send + Sync,
    run: impl FnOnce(&AtomicBool, &mut dyn FnMut(T)) -> Result<R, String> + Send,
) -> PyResult<R> {
    let failed = |message: String| raise(py, "RunError", (message,));
    // Before there is another thread, so that none keeps more rights than this one.
    keep_what_opens(kind).map_err(failed)?;
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
            // What opens sockets the other thread has by now.
            let kept = keep_raw_sockets_only();
            stop.fetch_or(kept.is_err(), Ordering::Relaxed);
            while !running.is_finished() {
                std::thread::sleep(LOOK_EVERY);
                let signalled = Python::attach(|py| py.check_signals()).is_err();
                if signalled || asked.load(Ordering::Relaxed) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            (kept, running.join())
        })
    });
    told?;
    let (kept, result) = ended;
    kept.map_err(failed)?;
    match result {
        Ok(ran) => ran.map_err(failed),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
