//! Tables of single pauses, where a scenario asks to follow them: why each was sent, and which flows
//! waited.

use crate::info::RunInfo;
use crate::table::{Names, ROWS_PER_PART, Table, field, name_field};
use crate::{Error, directory};
use arrow_array::{ArrayRef, BooleanArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::DataType::{Boolean, UInt8, UInt16, UInt32, UInt64};
use arrow_schema::Field;
use fabric::record::{CauseRecord, HeldFlowRecord};
use std::path::Path;
use std::sync::Arc;

/// Both tables; the second only where flows are named.
pub(crate) struct Followed {
    causes: Option<Table>,
    flows: Option<Table>,
}

impl Followed {
    pub(crate) fn create(dir: &Path, info: &RunInfo) -> Result<Self, Error> {
        let [causes, flows] = directory::FOLLOWED;
        let spec = info.record.pauses;
        let create = |wanted: bool, name: &str, fields: fn() -> Vec<Field>| {
            wanted
                .then(|| Table::create(dir, name, fields()))
                .transpose()
        };
        Ok(Self {
            causes: create(spec.is_some(), causes, cause_fields)?,
            flows: create(spec.is_some_and(|spec| spec.flows), flows, flow_fields)?,
        })
    }

    pub(crate) fn causes(&mut self, rows: &[CauseRecord], names: &Names) -> Result<(), Error> {
        let Some(table) = &mut self.causes else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(cause_columns(part, names)))
    }

    pub(crate) fn flows(&mut self, rows: &[HeldFlowRecord], names: &Names) -> Result<(), Error> {
        let Some(table) = &mut self.flows else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(flow_columns(part, names)))
    }

    /// Completes the files and gives their names.
    pub(crate) fn close(&mut self) -> Result<Vec<&'static str>, Error> {
        let mut closed = Vec::new();
        let tables = [&mut self.causes, &mut self.flows];
        for (table, name) in tables.into_iter().zip(directory::FOLLOWED) {
            if let Some(table) = table.take() {
                table.close()?;
                closed.push(name);
            }
        }
        Ok(closed)
    }
}

fn long<T>(rows: &[T], value: impl Fn(&T) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
}

fn node<T>(rows: &[T], value: impl Fn(&T) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(rows.iter().map(value)))
}

fn port<T>(rows: &[T], value: impl Fn(&T) -> u16) -> ArrayRef {
    Arc::new(UInt16Array::from_iter_values(rows.iter().map(value)))
}

fn flag<T>(rows: &[T], value: impl Fn(&T) -> bool) -> ArrayRef {
    Arc::new(
        rows.iter()
            .map(|row| Some(value(row)))
            .collect::<BooleanArray>(),
    )
}

fn name<T>(rows: &[T], names: &Names, value: impl Fn(&T) -> u32) -> ArrayRef {
    names.column(rows.iter().map(|row| value(row) as usize))
}

fn cause_fields() -> Vec<Field> {
    vec![
        field("at_ps", UInt64),
        field("node", UInt32),
        name_field("name"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        field("peer_port", UInt16),
        field("class", UInt8),
        field("number", UInt32),
        field("held_bytes", UInt64),
        field("threshold_bytes", UInt64),
        field("pool_bytes", UInt64),
        field("victim", Boolean),
        field("egress", UInt16),
        name_field("egress_name"),
        field("egress_bytes", UInt64),
        Field::new("parent", UInt32, true),
        field("depth", UInt16),
        field("root_node", UInt32),
        name_field("root_name"),
        field("root_port", UInt16),
        name_field("root_peer_name"),
    ]
}

fn cause_columns(rows: &[CauseRecord], names: &Names) -> Vec<ArrayRef> {
    vec![
        long(rows, |r| r.at_ps),
        node(rows, |r| r.node),
        name(rows, names, |r| r.node),
        port(rows, |r| r.port),
        node(rows, |r| r.peer),
        name(rows, names, |r| r.peer),
        port(rows, |r| r.peer_port),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.class))),
        node(rows, |r| r.number),
        long(rows, |r| r.held_bytes),
        long(rows, |r| r.threshold_bytes),
        long(rows, |r| r.pool_bytes),
        flag(rows, |r| r.victim),
        port(rows, |r| r.egress),
        name(rows, names, |r| r.egress_peer),
        long(rows, |r| r.egress_bytes),
        Arc::new(rows.iter().map(|r| r.parent).collect::<UInt32Array>()),
        port(rows, |r| r.depth),
        node(rows, |r| r.root_node),
        name(rows, names, |r| r.root_node),
        port(rows, |r| r.root_port),
        name(rows, names, |r| r.root_peer),
    ]
}

fn flow_fields() -> Vec<Field> {
    vec![
        field("flow", UInt32),
        field("node", UInt32),
        name_field("name"),
        field("port", UInt16),
        name_field("peer_name"),
        field("root_node", UInt32),
        name_field("root_name"),
        field("root_port", UInt16),
        name_field("root_peer_name"),
        field("pauses", UInt64),
        field("held_ps", UInt64),
        field("victim", Boolean),
    ]
}

fn flow_columns(rows: &[HeldFlowRecord], names: &Names) -> Vec<ArrayRef> {
    vec![
        node(rows, |r| r.flow),
        node(rows, |r| r.node),
        name(rows, names, |r| r.node),
        port(rows, |r| r.port),
        name(rows, names, |r| r.peer),
        node(rows, |r| r.root_node),
        name(rows, names, |r| r.root_node),
        port(rows, |r| r.root_port),
        name(rows, names, |r| r.root_peer),
        long(rows, |r| r.pauses),
        long(rows, |r| r.held_ps),
        flag(rows, |r| r.victim),
    ]
}
