//! The Python interface of Backwater: the private module `backwater._core`.
//!
//! The crate only converts values. The public interface and its documentation are in the Python
//! package `backwater`.

mod catalogue;
mod errors;
mod estimate;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod live;
mod resources;
mod run;
mod scenarios;
#[cfg(target_os = "linux")]
mod switch;
mod texts;
#[cfg(target_os = "linux")]
mod wall;

use pyo3::prelude::*;

/// Returns the JSON Schema of scenarios, as text.
#[pyfunction]
fn schema() -> String {
    format!("{:#}", scenario::schema())
}

/// The module `backwater._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::schema;

    #[pymodule_export]
    use super::catalogue::catalogue;

    #[pymodule_export]
    use super::estimate::estimate;

    #[pymodule_export]
    use super::run::Interrupt;

    #[pymodule_export]
    use super::scenarios::{Scenario, check};

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
