//! Runs a switch between real interfaces.

use std::net::SocketAddr;
use std::path::PathBuf;

use live::switch::Setup;
use live::switch::classes::Classes;
use live::switch::plan::Choices;
use pyo3::prelude::*;
use serde_json::json;

use crate::wall::run_until_interrupted;
use crate::{Interrupt, load, raise};

/// Forwards frames between interfaces until it is interrupted. Calls `ready` once all ports are
/// open, with the name of the switch, the names of the neighbours by port, and the address of the
/// metrics. Returns the counters as JSON.
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
    let failed = |message: &str| raise(py, "RunError", (message,));
    let scenario = load(py, &path, overrides, seed, scheme, None)?;
    let plan = scenario
        .build()
        .map_err(|error| failed(&error.to_string()))?
        .plan;
    let classes = classes.map_or(Ok(Classes::default()), |given| Classes::new(&given));
    let metrics: Option<SocketAddr> = metrics
        .map(|address| address.parse())
        .transpose()
        .map_err(|_| failed("--metrics: expected an address and a port, like 127.0.0.1:9100"))?;
    let setup = Setup {
        choices: Choices {
            classes: classes.map_err(|error| failed(&error.to_string()))?,
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
    let ready = |py: Python<'_>, values: (String, Vec<String>, Option<String>)| {
        ready.call1(py, values).map(drop)
    };
    let last = run_until_interrupted(py, interrupt, ready, move |stop, report| {
        let mut report = |name: &str, peers: &[String], address: Option<SocketAddr>| {
            let address = address.map(|address| address.to_string());
            report((name.to_owned(), peers.to_vec(), address));
        };
        let description = live::plan::switch_of(&plan, node.as_deref())?;
        live::switch::run(description, &setup, stop, &mut report)
    })?;
    Ok(json!(last).to_string())
}
