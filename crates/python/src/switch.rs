//! The switch between real interfaces.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use live::switch::classes::Classes;
use live::switch::plan::Choices;
use live::switch::{Setup, keep_raw_sockets_only};
use pyo3::prelude::*;
use serde_json::json;

use crate::{Interrupt, load, raise};

/// How often signals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Forwards frames between interfaces until it is interrupted; `ready` is told the name of the switch and the
/// address of the metrics once all ports are open. Returns what was counted, as JSON.
#[pyfunction]
#[pyo3(signature = (path, scheme, overrides, seed, node, interfaces, classes, lossless, stations, mtu, metrics, ready, interrupt))]
#[expect(
    clippy::too_many_arguments,
    reason = "a flat list keeps the boundary to Python plain"
)]
pub fn run_switch(
    py: Python<'_>,
    path: PathBuf,
    scheme: Option<String>,
    overrides: Vec<String>,
    seed: Option<u64>,
    node: Option<String>,
    interfaces: Vec<String>,
    classes: Option<Vec<u8>>,
    lossless: Option<Vec<u8>>,
    stations: Vec<([u8; 6], u16)>,
    mtu: u16,
    metrics: Option<String>,
    ready: Py<PyAny>,
    interrupt: &Interrupt,
) -> PyResult<String> {
    let failed = |message: String| raise(py, "RunError", (message,));
    let scenario = load(py, &path, overrides, seed, scheme, None)?;
    let plan = scenario
        .build()
        .map_err(|error| failed(error.to_string()))?
        .plan;
    let classes = classes.map_or(Ok(Classes::default()), |given| Classes::new(&given));
    let metrics: Option<SocketAddr> =
        metrics
            .map(|address| address.parse())
            .transpose()
            .map_err(|_| {
                failed("--metrics: expected an address and a port, like 127.0.0.1:9100".to_owned())
            })?;
    let setup = Setup {
        choices: Choices {
            node,
            ports: interfaces.len(),
            classes: classes.map_err(failed)?,
            lossless: lossless.map(|all| {
                all.iter()
                    .fold(0, |bits, priority| bits | 1 << (priority & 7))
            }),
            mtu,
        },
        interfaces,
        stations,
        metrics,
    };
    // Before there is another thread, so that none keeps more rights than this one.
    keep_raw_sockets_only().map_err(failed)?;
    let (stop, asked) = (AtomicBool::new(false), &interrupt.flag);
    let mut told = Ok(());
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let mut tell = |name: &str, address: Option<SocketAddr>| {
                let address = address.map(|address| address.to_string());
                let call = Python::attach(|py| ready.call1(py, (name, address)).map(drop));
                if let Err(error) = call {
                    told = Err(error);
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let (setup, stop) = (&setup, &stop);
            let running = scope.spawn(move || live::switch::run(&plan, setup, stop, &mut tell));
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
    match result {
        Ok(Ok(last)) => Ok(json!(last).to_string()),
        Ok(Err(message)) => Err(raise(py, "RunError", (message,))),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
