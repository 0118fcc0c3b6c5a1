//! Writes a run down while it goes.

use crate::directory;
use crate::followed::Followed;
use crate::info::RunInfo;
use crate::recorded::Recorded;
use crate::summary::{Summary, Tally, direction};
use crate::table::{Names, ROWS_PER_PART, Table, field, name_field};
use crate::{Error, summary};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::DataType::{Boolean, Float64, UInt8, UInt16, UInt32, UInt64, Utf8};
use arrow_schema::Field;
use fabric::record::{
    BufferSample, CauseRecord, DelayBin, FlowRecord, HeldFlowRecord, Outcome, PauseRecord,
    PortRecord, QueueBin, QueueSample, Recorder, RttBin, ThroughputRecord, WaitingRecord,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Writes a run into a directory of its own.
///
/// Memory stays bounded: rows go to disk in parts, and only what the statistics need is kept
/// (16 bytes per measured flow, a histogram per switch tier).
///
/// A [`Recorder`] cannot return errors, so the first one is kept: ask [`Writer::error`] now and
/// then, and stop the run early; [`Writer::finish`] returns it in any case. A writer that is
/// dropped without having finished removes its temporary files.
pub struct Writer {
    dir: PathBuf,
    began: Instant,
    error: Option<Error>,
    /// Nobody else writes here meanwhile.
    _lock: directory::Lock,
    node_names: Names,
    node_tiers: Names,
    source_names: Names,
    flows: Vec<FlowRecord>,
    buffers: Vec<BufferSample>,
    pauses: Vec<PauseRecord>,
    /// `None` once they are closed.
    tables: Option<Tables>,
    /// What the scenario requests besides.
    recorded: Recorded,
    /// Single pauses, where it asks to follow them.
    followed: Followed,
    tally: Tally,
}

struct Tables {
    flows: Table,
    queues: Table,
    pauses: Table,
    ports: Table,
    active: Table,
}

impl Writer {
    /// Opens the directory `dir` for a run. What is there already must be an earlier run (which
    /// is replaced when this one finishes), unless `force` is given.
    pub fn create(dir: &Path, info: RunInfo, force: bool) -> Result<Self, Error> {
        let lock = directory::claim(dir, force)?;
        let writer = Self {
            _lock: lock,
            dir: dir.to_owned(),
            began: Instant::now(),
            error: None,
            node_names: Names::new(info.nodes.iter().map(|n| n.name.as_str())),
            node_tiers: Names::new(info.nodes.iter().map(|n| n.tier.as_str())),
            source_names: Names::new(info.sources.iter().map(String::as_str)),
            flows: Vec::new(),
            buffers: Vec::new(),
            pauses: Vec::new(),
            tables: Some(Tables::create(dir)?),
            recorded: Recorded::create(dir, &info)?,
            followed: Followed::create(dir, &info)?,
            tally: Tally::new(info),
        };
        directory::write_text(dir, "resolved.toml", &writer.tally.info.resolved)?;
        Ok(writer)
    }

    /// What went wrong while writing, if anything did: the run had better be interrupted.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Writes what is left, the port tables and the summary, and gives all files their names.
    /// `warnings` are those that became known during the run.
    pub fn finish(mut self, outcome: &Outcome, warnings: &[String]) -> Result<Summary, Error> {
        self.flush_flows();
        self.flush_buffers();
        self.flush_pauses();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some(mut tables) = self.tables.take() {
            self.write_ports(&mut tables.ports, &outcome.ports)?;
            self.write_active(&mut tables.active, &outcome.ports)?;
            tables.close()?;
        }
        let mut recorded = self.recorded.close(&self.node_names)?;
        recorded.extend(self.followed.close()?);
        let wall_seconds = self.began.elapsed().as_secs_f64();
        let summary = self.tally.summary(outcome, warnings, wall_seconds);
        directory::write_text(&self.dir, "summary.json", &summary.to_json())?;
        directory::publish(&self.dir, &recorded)?;
        Ok(summary)
    }

    fn write_ports(&self, table: &mut Table, ports: &[PortRecord]) -> Result<(), Error> {
        for part in ports.chunks(ROWS_PER_PART) {
            table.write(self.port_columns(part))?;
        }
        Ok(())
    }

    fn write_active(&self, table: &mut Table, ports: &[PortRecord]) -> Result<(), Error> {
        for part in ports.chunks(ROWS_PER_PART / 8) {
            let rows: Vec<(&PortRecord, u32, u64)> = part
                .iter()
                .flat_map(|port| {
                    let seen = port
                        .active_flows
                        .iter()
                        .enumerate()
                        .filter(|(_, probes)| **probes > 0);
                    seen.map(move |(active, &probes)| (port, active as u32, probes))
                })
                .collect();
            table.write(self.active_columns(&rows))?;
        }
        Ok(())
    }

    fn flush_flows(&mut self) {
        let rows = std::mem::take(&mut self.flows);
        if !rows.is_empty() && self.error.is_none() {
            let columns = self.flow_columns(&rows);
            self.put(|tables| tables.flows.write(columns));
        }
    }

    fn flush_buffers(&mut self) {
        let rows = std::mem::take(&mut self.buffers);
        if !rows.is_empty() && self.error.is_none() {
            let columns = self.buffer_columns(&rows);
            self.put(|tables| tables.queues.write(columns));
        }
    }

    fn flush_pauses(&mut self) {
        let rows = std::mem::take(&mut self.pauses);
        if !rows.is_empty() && self.error.is_none() {
            let columns = self.pause_columns(&rows);
            self.put(|tables| tables.pauses.write(columns));
        }
    }

    /// Keeps the first error.
    fn note(&mut self, done: Result<(), Error>) {
        if let Err(error) = done {
            self.error.get_or_insert(error);
        }
    }

    fn put(&mut self, write: impl FnOnce(&mut Tables) -> Result<(), Error>) {
        if let Some(tables) = &mut self.tables
            && let Err(error) = write(tables)
        {
            self.error = Some(error);
        }
    }

    fn flow_columns(&self, rows: &[FlowRecord]) -> Vec<ArrayRef> {
        let flow = rows.iter().map(|r| r.flow);
        let received = |r: &FlowRecord| summary::slowdown(r, r.received_ps, r.ideal_received_ps);
        let acked = |r: &FlowRecord| summary::slowdown(r, r.acked_ps, r.ideal_acked_ps);
        vec![
            Arc::new(UInt32Array::from_iter_values(flow.clone().map(|f| f.id))),
            self.source_names
                .column(flow.clone().map(|f| f.source as usize)),
            Arc::new(UInt32Array::from_iter_values(flow.clone().map(|f| f.src))),
            Arc::new(UInt32Array::from_iter_values(flow.clone().map(|f| f.dst))),
            Arc::new(UInt64Array::from_iter_values(flow.clone().map(|f| f.bytes))),
            Arc::new(UInt8Array::from_iter_values(flow.clone().map(|f| f.class))),
            Arc::new(
                flow.clone()
                    .map(|f| Some(f.incast))
                    .collect::<BooleanArray>(),
            ),
            Arc::new(UInt16Array::from_iter_values(flow.clone().map(|f| f.port))),
            Arc::new(UInt64Array::from_iter_values(flow.map(|f| f.start_ps))),
            Arc::new(rows.iter().map(|r| r.received_ps).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|r| r.acked_ps).collect::<UInt64Array>()),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.ideal_received_ps),
            )),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.ideal_acked_ps),
            )),
            Arc::new(rows.iter().map(received).collect::<Float64Array>()),
            Arc::new(rows.iter().map(acked).collect::<Float64Array>()),
            Arc::new(UInt32Array::from_iter_values(
                rows.iter().map(|r| r.retransmitted),
            )),
            Arc::new(
                rows.iter()
                    .map(|r| Some(summary::is_finished(r)))
                    .collect::<BooleanArray>(),
            ),
        ]
    }

    fn buffer_columns(&self, rows: &[BufferSample]) -> Vec<ArrayRef> {
        vec![
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.at_ps))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.node))),
            self.node_names.column(rows.iter().map(|r| r.node as usize)),
            self.node_tiers.column(rows.iter().map(|r| r.node as usize)),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.used_bytes),
            )),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.max_port_bytes),
            )),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.from_ps),
            )),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.probes))),
        ]
    }

    fn pause_columns(&self, rows: &[PauseRecord]) -> Vec<ArrayRef> {
        vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.node))),
            self.node_names.column(rows.iter().map(|r| r.node as usize)),
            self.node_tiers.column(rows.iter().map(|r| r.node as usize)),
            Arc::new(UInt16Array::from_iter_values(rows.iter().map(|r| r.port))),
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.class))),
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.from_ps),
            )),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.to_ps))),
            Arc::new(rows.iter().map(|r| Some(r.open)).collect::<BooleanArray>()),
            Arc::new(rows.iter().map(|r| r.number).collect::<UInt32Array>()),
        ]
    }

    fn port_columns(&self, rows: &[PortRecord]) -> Vec<ArrayRef> {
        let number = |value: fn(&PortRecord) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
        };
        let mut columns = vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.node))) as ArrayRef,
            self.node_names.column(rows.iter().map(|r| r.node as usize)),
            self.node_tiers.column(rows.iter().map(|r| r.node as usize)),
            Arc::new(UInt16Array::from_iter_values(rows.iter().map(|r| r.port))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.peer))),
            self.node_names.column(rows.iter().map(|r| r.peer as usize)),
            self.node_tiers.column(rows.iter().map(|r| r.peer as usize)),
            self.directions(rows.iter()),
            number(|r| r.rate_bps),
            number(|r| r.delay_ps),
            number(|r| r.tx_packets),
            number(|r| r.tx_bytes),
            number(|r| r.tx_data_bytes),
            number(|r| r.tx_reply_bytes),
            number(|r| r.tx_credit_bytes),
            number(|r| r.marked),
            number(|r| r.max_queue_bytes),
            number(|r| r.max_port_bytes),
            number(|r| r.pauses),
            number(|r| r.resumes),
            number(|r| r.paused_ps),
        ];
        columns.extend((0..summary::DROP_NAMES.len()).map(|cause| {
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|r| r.dropped[cause]),
            )) as ArrayRef
        }));
        columns
    }

    fn active_columns(&self, rows: &[(&PortRecord, u32, u64)]) -> Vec<ArrayRef> {
        vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0.node))),
            self.node_names
                .column(rows.iter().map(|r| r.0.node as usize)),
            self.node_tiers
                .column(rows.iter().map(|r| r.0.node as usize)),
            Arc::new(UInt16Array::from_iter_values(rows.iter().map(|r| r.0.port))),
            self.directions(rows.iter().map(|r| r.0)),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.2))),
        ]
    }

    fn directions<'a>(&self, ports: impl Iterator<Item = &'a PortRecord>) -> ArrayRef {
        let nodes = &self.tally.info.nodes;
        Arc::new(StringArray::from_iter_values(
            ports.map(|p| direction(nodes, p)),
        ))
    }
}

impl Recorder for Writer {
    fn flows(&mut self, records: &[FlowRecord]) {
        for record in records {
            self.tally.flow(record);
            self.flows.push(*record);
            if self.flows.len() == ROWS_PER_PART {
                self.flush_flows();
            }
        }
    }

    fn buffers(&mut self, samples: &[BufferSample]) {
        for sample in samples {
            self.tally.buffer(sample);
            self.buffers.push(*sample);
            if self.buffers.len() == ROWS_PER_PART {
                self.flush_buffers();
            }
        }
    }

    fn pauses(&mut self, records: &[PauseRecord]) {
        for record in records {
            self.pauses.push(*record);
            if self.pauses.len() == ROWS_PER_PART {
                self.flush_pauses();
            }
        }
    }

    fn throughput(&mut self, records: &[ThroughputRecord]) {
        if self.error.is_none() {
            let done = self.recorded.throughput(records);
            self.note(done);
        }
    }

    fn port_queues(&mut self, samples: &[QueueSample]) {
        if self.error.is_none() {
            let done = self.recorded.port_queues(samples, &self.node_names);
            self.note(done);
        }
    }

    fn queue_histogram(&mut self, bins: &[QueueBin]) {
        self.tally.queue_histogram(bins);
        if self.error.is_none() {
            let done = self
                .recorded
                .queue_histogram(bins, &self.node_names, &self.node_tiers);
            self.note(done);
        }
    }

    fn delay_histogram(&mut self, bins: &[DelayBin]) {
        if self.error.is_none() {
            let done = self
                .recorded
                .delay_histogram(bins, &self.node_names, &self.node_tiers);
            self.note(done);
        }
    }

    fn causes(&mut self, records: &[CauseRecord]) {
        if self.error.is_none() {
            let done = self.followed.causes(records, &self.node_names);
            self.note(done);
        }
    }

    fn held_flows(&mut self, records: &[HeldFlowRecord]) {
        if self.error.is_none() {
            let done = self.followed.flows(records, &self.node_names);
            self.note(done);
        }
    }

    fn rtt(&mut self, bins: &[RttBin]) {
        self.tally.rtt(bins);
        if self.error.is_none() {
            let done = self.recorded.rtt(bins);
            self.note(done);
        }
    }

    fn waiting(&mut self, records: &[WaitingRecord]) {
        if self.error.is_none() {
            let done = self
                .recorded
                .waiting(records, &self.node_names, &self.node_tiers);
            self.note(done);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After a finished run there is nothing under these names any more.
        directory::discard(&self.dir);
    }
}

impl Tables {
    fn create(dir: &Path) -> Result<Self, Error> {
        Ok(Self {
            flows: Table::create(dir, "flows.parquet", flow_fields())?,
            queues: Table::create(dir, "queues.parquet", queue_fields())?,
            pauses: Table::create(dir, "pauses.parquet", pause_fields())?,
            ports: Table::create(dir, "ports.parquet", port_fields())?,
            active: Table::create(dir, "active.parquet", active_fields())?,
        })
    }

    fn close(self) -> Result<(), Error> {
        self.flows.close()?;
        self.queues.close()?;
        self.pauses.close()?;
        self.ports.close()?;
        self.active.close()
    }
}

fn flow_fields() -> Vec<Field> {
    vec![
        field("id", UInt32),
        name_field("source"),
        field("src", UInt32),
        field("dst", UInt32),
        field("bytes", UInt64),
        field("class", UInt8),
        field("incast", Boolean),
        field("port", UInt16),
        field("start_ps", UInt64),
        Field::new("received_ps", UInt64, true),
        Field::new("acked_ps", UInt64, true),
        field("ideal_received_ps", UInt64),
        field("ideal_acked_ps", UInt64),
        Field::new("slowdown", Float64, true),
        Field::new("slowdown_acked", Float64, true),
        field("retransmitted", UInt32),
        field("finished", Boolean),
    ]
}

fn queue_fields() -> Vec<Field> {
    vec![
        field("at_ps", UInt64),
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("used_bytes", UInt64),
        field("max_port_bytes", UInt64),
        field("from_ps", UInt64),
        field("probes", UInt64),
    ]
}

fn pause_fields() -> Vec<Field> {
    vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("class", UInt8),
        field("from_ps", UInt64),
        field("to_ps", UInt64),
        field("open", Boolean),
        Field::new("number", UInt32, true),
    ]
}

fn port_fields() -> Vec<Field> {
    let mut fields = vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        name_field("peer_tier"),
        field("direction", Utf8),
        field("rate_bps", UInt64),
        field("delay_ps", UInt64),
        field("tx_packets", UInt64),
        field("tx_bytes", UInt64),
        field("tx_data_bytes", UInt64),
        field("tx_reply_bytes", UInt64),
        field("tx_credit_bytes", UInt64),
        field("marked", UInt64),
        field("max_queue_bytes", UInt64),
        field("max_port_bytes", UInt64),
        field("pauses", UInt64),
        field("resumes", UInt64),
        field("paused_ps", UInt64),
    ];
    fields.extend(
        summary::DROP_NAMES
            .iter()
            .map(|cause| field(&format!("dropped_{cause}"), UInt64)),
    );
    fields
}

fn active_fields() -> Vec<Field> {
    vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("direction", Utf8),
        field("active", UInt32),
        field("probes", UInt64),
    ]
}
