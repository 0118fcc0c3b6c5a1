//! Exceptions of the package `backwater`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use scenario::{Problem, ScenarioError};

/// Creates the Python exception for a scenario with errors.
pub fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyErr {
    match problem_list(py, &error.problems) {
        Ok(problems) => raise(py, "ScenarioError", (error.to_string(), problems)),
        Err(error) => error,
    }
}

/// Creates an exception of a class that the Python package defines. The class is defined in Python,
/// so that users can read its source.
pub fn raise<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl pyo3::call::PyCallArgs<'py>,
) -> PyErr {
    let created = py
        .import("backwater.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    match created {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns errors, warnings and notes as dicts.
pub fn problem_list<'py>(py: Python<'py>, problems: &[Problem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let entry = PyDict::new(py);
        entry.set_item("severity", problem.severity.name())?;
        entry.set_item("code", problem.code.name())?;
        entry.set_item("key", &problem.key)?;
        entry.set_item("message", &problem.message)?;
        entry.set_item("hint", &problem.hint)?;
        entry.set_item(
            "source",
            problem.at.as_ref().map(|at| at.source.name.as_str()),
        )?;
        entry.set_item("line", problem.line())?;
        entry.set_item("column", problem.column())?;
        entry.set_item("text", problem.to_string())?;
        list.append(entry)?;
    }
    Ok(list)
}
