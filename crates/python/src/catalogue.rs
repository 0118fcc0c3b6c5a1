//! Lists of built-in items: schemes, flow sizes, topologies, tables of results.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Returns the built-in items of a kind, as JSON.
#[pyfunction]
pub fn catalogue(what: &str) -> PyResult<String> {
    let list: Vec<Value> = match what {
        "schemes" => scenario::PRESETS.iter().map(scheme_entry).collect(),
        "workloads" => traffic::sizes::all()
            .iter()
            .map(|d| workload_entry(d))
            .collect(),
        "topologies" => scenario::topology::topologies()
            .iter()
            .map(topology_entry)
            .collect(),
        "tables" => table_entries(),
        _ => {
            let message =
                format!("`{what}` is no list; there are schemes, workloads, topologies and tables");
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(Value::Array(list).to_string())
}

/// Describes tables of a run. `record` is an example of a setting that enables these tables, or
/// `None` if every run writes them.
fn table_entries() -> Vec<Value> {
    use fabric::record::table::Format;
    let entry = |table: &fabric::record::Table, record: Option<&str>| {
        let column = |column: fabric::record::table::ColumnInfo| {
            json!({
                "name": column.name,
                "type": column.empty.word(),
                "about": column.about,
            })
        };
        let columns: Vec<Value> = table.columns().into_iter().map(column).collect();
        json!({
            "name": table.name,
            "file": table.file(),
            "about": table.about,
            "record": record,
            "columns": columns,
        })
    };
    let always = fabric::record::tables().map(|table| entry(&table, None));
    let measures = fabric::measure::MEASURES.iter();
    let requested = measures.flat_map(|measure| {
        let tables = (measure.tables)().into_iter();
        let tables = tables.filter(|table| table.format == Format::Columns);
        tables.map(|table| entry(&table, Some(measure.example)))
    });
    let workloads = fabric::record::workload_tables();
    let workloads = workloads.map(|table| entry(&table, Some("[[workload]]")));
    always
        .into_iter()
        .chain(requested)
        .chain(workloads)
        .collect()
}

fn scheme_entry(preset: &scenario::Preset) -> Value {
    json!({ "name": preset.name, "summary": preset.summary() })
}

fn workload_entry(distribution: &traffic::sizes::Distribution) -> Value {
    json!({
        "name": distribution.full_name(),
        "mean_bytes": distribution.mean(),
        "median_bytes": distribution.quantile(0.5),
        "max_bytes": distribution.max(),
        "points": distribution.points(),
        "interpolation": distribution.interpolation.as_str(),
        "source": distribution.source,
        "note": distribution.note,
    })
}

fn topology_entry((name, summary): &(&str, String)) -> Value {
    json!({ "name": name, "summary": summary })
}
