//! Runs one switch of a scenario on real network interfaces.

use std::net::SocketAddr;

use live::switch::Setup;
use live::switch::classes::Classes;
use live::switch::plan::Choices;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::raise;
use crate::run::Interrupt;
use crate::scenarios::Scenario;
use crate::wall::run_until_interrupted;

/// Configuration of a switch that runs in real time, as a Python dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SwitchSetup {
    /// Name of the switch in the scenario; required if the scenario has several switches.
    node: Option<String>,
    interfaces: Vec<String>,
    /// Traffic class of each priority (PCP) of a frame.
    classes: Option<Vec<u8>>,
    /// Priorities (PCP) with PFC.
    lossless: Option<Vec<u8>>,
    /// MAC addresses of hosts, each with the index of the switch's interface that leads to the
    /// host.
    stations: Vec<([u8; 6], u16)>,
    mtu: u16,
    /// Network address at which the switch serves its counters.
    metrics: Option<String>,
}

/// Forwards frames between interfaces until the run is interrupted. When all ports are open, calls
/// `ready` with the name of the switch, the names of the neighbours by port, and the address of the
/// metrics. Returns the counters as JSON.
#[pyfunction]
pub fn run_switch(
    py: Python<'_>,
    scenario: &Scenario,
    setup: SwitchSetup,
    ready: Py<PyAny>,
    interrupt: &Interrupt,
) -> PyResult<String> {
    let failed = |message: &str| raise(py, "RunError", (message,));
    let plan = scenario
        .0
        .build()
        .map_err(|error| failed(&error.to_string()))?
        .plan;
    let classes = setup
        .classes
        .map_or(Ok(Classes::default()), |given| Classes::new(&given));
    let metrics: Option<SocketAddr> = setup
        .metrics
        .map(|address| address.parse())
        .transpose()
        .map_err(|_| failed("--metrics: expected an address and a port, like 127.0.0.1:9100"))?;
    let node = setup.node;
    let setup = Setup {
        choices: Choices {
            classes: classes.map_err(|error| failed(&error.to_string()))?,
            lossless: setup.lossless.map(|all| {
                all.iter()
                    .fold(0, |bits, priority| bits | 1 << (priority & 7))
            }),
            mtu: setup.mtu,
        },
        interfaces: setup.interfaces,
        stations: setup.stations,
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
