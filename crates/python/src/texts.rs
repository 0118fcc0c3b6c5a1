//! Positions of values in TOML texts, and quantities with units, for Python.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use scenario::locate::{self, Step};

/// Returns the position of each value of a TOML text: its path of keys and indices, the start of
/// its key, and start and end of the value, in characters.
#[pyfunction]
pub fn locate_values<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for found in locate::locate(text) {
        let steps = found.path.into_iter().map(|step| match step {
            Step::Key(key) => Ok(key.into_pyobject(py)?.into_any()),
            Step::Index(index) => Ok(index.into_pyobject(py)?.into_any()),
        });
        let path = PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
        list.append((path, found.key.start, found.value.start, found.value.end))?;
    }
    Ok(list)
}

/// Parses a quantity with a unit. Returns the kind of quantity, the value in the base unit, the
/// unit, and the size of this unit in base units; `None` if the text is not a quantity.
#[pyfunction]
pub fn parse_quantity(text: &str) -> Option<(&'static str, u64, String, u64)> {
    let found = locate::quantity(text)?;
    Some((found.kind, found.value, found.unit, found.scale))
}
