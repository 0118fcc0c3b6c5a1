//! Tables that a scenario requests besides: throughput, queues, histograms.

use crate::info::RunInfo;
use crate::table::{Names, ROWS_PER_PART, Table, field, name_field};
use crate::{Error, directory};
use arrow_array::{ArrayRef, BooleanArray, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::DataType::{Boolean, UInt16, UInt32, UInt64};
use arrow_schema::Field;
use fabric::record::{DelayBin, QueueBin, QueueSample, RttBin, ThroughputRecord, WaitingRecord};
use std::path::Path;
use std::sync::Arc;

/// One table that there may be, with the rows that wait to be written.
struct Part<T> {
    table: Table,
    rows: Vec<T>,
}

impl<T: Copy> Part<T> {
    /// The table `name`, if it is `wanted`.
    fn create(
        dir: &Path,
        name: &str,
        wanted: bool,
        fields: fn() -> Vec<Field>,
    ) -> Result<Option<Self>, Error> {
        if !wanted {
            return Ok(None);
        }
        let table = Table::create(dir, name, fields())?;
        let rows = Vec::new();
        Ok(Some(Self { table, rows }))
    }

    /// Adds rows; writes those that make a whole part.
    fn add(&mut self, rows: &[T], columns: impl Fn(&[T]) -> Vec<ArrayRef>) -> Result<(), Error> {
        self.rows.extend_from_slice(rows);
        let whole = self.rows.len() / ROWS_PER_PART * ROWS_PER_PART;
        for part in self.rows[..whole].chunks(ROWS_PER_PART) {
            self.table.write(columns(part))?;
        }
        self.rows.drain(..whole);
        Ok(())
    }

    fn close(mut self, columns: impl Fn(&[T]) -> Vec<ArrayRef>) -> Result<(), Error> {
        if !self.rows.is_empty() {
            self.table.write(columns(&self.rows))?;
        }
        self.table.close()
    }
}

/// The tables that the scenario requests.
pub(crate) struct Recorded {
    throughput: Option<Part<ThroughputRecord>>,
    port_queues: Option<Part<QueueSample>>,
    histogram: Option<Table>,
    rtt: Option<Table>,
    waiting: Option<Table>,
    delays: Option<Table>,
}

impl Recorded {
    pub(crate) fn create(dir: &Path, info: &RunInfo) -> Result<Self, Error> {
        let [throughput, port_queues, histogram, rtt, waiting, delays] = directory::RECORDED;
        let spec = &info.record;
        let wants_throughput = spec.throughput_ps.is_some();
        let histogram = spec
            .histogram
            .map(|_| Table::create(dir, histogram, histogram_fields()));
        let rtt = spec.rtt.map(|_| Table::create(dir, rtt, rtt_fields()));
        let waiting = spec
            .waiting_ps
            .map(|_| Table::create(dir, waiting, waiting_fields()));
        let delays = spec
            .delay
            .map(|_| Table::create(dir, delays, delay_fields()));
        Ok(Self {
            throughput: Part::create(dir, throughput, wants_throughput, throughput_fields)?,
            port_queues: Part::create(dir, port_queues, spec.queues.is_some(), queue_fields)?,
            histogram: histogram.transpose()?,
            rtt: rtt.transpose()?,
            waiting: waiting.transpose()?,
            delays: delays.transpose()?,
        })
    }

    pub(crate) fn throughput(&mut self, rows: &[ThroughputRecord]) -> Result<(), Error> {
        match &mut self.throughput {
            Some(part) => part.add(rows, throughput_columns),
            None => Ok(()),
        }
    }

    pub(crate) fn port_queues(&mut self, rows: &[QueueSample], names: &Names) -> Result<(), Error> {
        match &mut self.port_queues {
            Some(part) => part.add(rows, |rows| queue_columns(rows, names)),
            None => Ok(()),
        }
    }

    pub(crate) fn queue_histogram(
        &mut self,
        rows: &[QueueBin],
        names: &Names,
        tiers: &Names,
    ) -> Result<(), Error> {
        let Some(table) = &mut self.histogram else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(histogram_columns(part, names, tiers)))
    }

    pub(crate) fn rtt(&mut self, rows: &[RttBin]) -> Result<(), Error> {
        let Some(table) = &mut self.rtt else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(rtt_columns(part)))
    }

    pub(crate) fn waiting(
        &mut self,
        rows: &[WaitingRecord],
        names: &Names,
        tiers: &Names,
    ) -> Result<(), Error> {
        let Some(table) = &mut self.waiting else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(waiting_columns(part, names, tiers)))
    }

    pub(crate) fn delay_histogram(
        &mut self,
        rows: &[DelayBin],
        names: &Names,
        tiers: &Names,
    ) -> Result<(), Error> {
        let Some(table) = &mut self.delays else {
            return Ok(());
        };
        let mut parts = rows.chunks(ROWS_PER_PART);
        parts.try_for_each(|part| table.write(delay_columns(part, names, tiers)))
    }

    /// Completes all files and gives their names.
    pub(crate) fn close(&mut self, names: &Names) -> Result<Vec<&'static str>, Error> {
        let mut closed = Vec::new();
        let [throughput, port_queues, histogram, rtt, waiting, delays] = directory::RECORDED;
        if let Some(part) = self.throughput.take() {
            part.close(throughput_columns)?;
            closed.push(throughput);
        }
        if let Some(part) = self.port_queues.take() {
            part.close(|rows| queue_columns(rows, names))?;
            closed.push(port_queues);
        }
        for (table, name) in [
            (&mut self.histogram, histogram),
            (&mut self.rtt, rtt),
            (&mut self.waiting, waiting),
            (&mut self.delays, delays),
        ] {
            if let Some(table) = table.take() {
                table.close()?;
                closed.push(name);
            }
        }
        Ok(closed)
    }
}

fn numbers<T>(rows: &[T], value: impl Fn(&T) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
}

fn nodes<T>(rows: &[T], node: impl Fn(&T) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(rows.iter().map(node)))
}

fn ports<T>(rows: &[T], port: impl Fn(&T) -> u16) -> ArrayRef {
    Arc::new(UInt16Array::from_iter_values(rows.iter().map(port)))
}

fn named<T>(rows: &[T], names: &Names, node: impl Fn(&T) -> u32) -> ArrayRef {
    names.column(rows.iter().map(|row| node(row) as usize))
}

fn throughput_fields() -> Vec<Field> {
    vec![
        field("at_ps", UInt64),
        field("flow", UInt32),
        field("bytes", UInt64),
    ]
}

fn throughput_columns(rows: &[ThroughputRecord]) -> Vec<ArrayRef> {
    vec![
        numbers(rows, |r| r.at_ps),
        nodes(rows, |r| r.flow),
        numbers(rows, |r| r.bytes),
    ]
}

fn queue_fields() -> Vec<Field> {
    vec![
        field("at_ps", UInt64),
        field("node", UInt32),
        name_field("name"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        field("bytes", UInt64),
    ]
}

fn queue_columns(rows: &[QueueSample], names: &Names) -> Vec<ArrayRef> {
    vec![
        numbers(rows, |r| r.at_ps),
        nodes(rows, |r| r.node),
        named(rows, names, |r| r.node),
        ports(rows, |r| r.port),
        nodes(rows, |r| r.peer),
        named(rows, names, |r| r.peer),
        numbers(rows, |r| r.bytes),
    ]
}

fn histogram_fields() -> Vec<Field> {
    vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        field("bin_bytes", UInt64),
        field("samples", UInt64),
    ]
}

fn histogram_columns(rows: &[QueueBin], names: &Names, tiers: &Names) -> Vec<ArrayRef> {
    vec![
        nodes(rows, |r| r.node),
        named(rows, names, |r| r.node),
        named(rows, tiers, |r| r.node),
        ports(rows, |r| r.port),
        nodes(rows, |r| r.peer),
        named(rows, names, |r| r.peer),
        numbers(rows, |r| r.bin_bytes),
        numbers(rows, |r| r.samples),
    ]
}

fn rtt_fields() -> Vec<Field> {
    vec![field("bin_ps", UInt64), field("samples", UInt64)]
}

fn rtt_columns(rows: &[RttBin]) -> Vec<ArrayRef> {
    vec![numbers(rows, |r| r.bin_ps), numbers(rows, |r| r.samples)]
}

fn waiting_fields() -> Vec<Field> {
    vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        field("incast", Boolean),
        field("packets", UInt64),
        field("mean_ps", UInt64),
        field("max_ps", UInt64),
    ]
}

fn waiting_columns(rows: &[WaitingRecord], names: &Names, tiers: &Names) -> Vec<ArrayRef> {
    let mean = |r: &WaitingRecord| (r.total_ps / u128::from(r.packets.max(1))) as u64;
    vec![
        nodes(rows, |r| r.node),
        named(rows, names, |r| r.node),
        named(rows, tiers, |r| r.node),
        ports(rows, |r| r.port),
        nodes(rows, |r| r.peer),
        named(rows, names, |r| r.peer),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.incast)))),
        numbers(rows, |r| r.packets),
        numbers(rows, mean),
        numbers(rows, |r| r.max_ps),
    ]
}

fn delay_fields() -> Vec<Field> {
    vec![
        field("node", UInt32),
        name_field("name"),
        name_field("tier"),
        field("port", UInt16),
        field("peer", UInt32),
        name_field("peer_name"),
        field("scheduled", Boolean),
        field("bin_ps", UInt64),
        field("samples", UInt64),
    ]
}

fn delay_columns(rows: &[DelayBin], names: &Names, tiers: &Names) -> Vec<ArrayRef> {
    let scheduled = rows.iter().map(|r| Some(r.scheduled));
    vec![
        nodes(rows, |r| r.node),
        named(rows, names, |r| r.node),
        named(rows, tiers, |r| r.node),
        ports(rows, |r| r.port),
        nodes(rows, |r| r.peer),
        named(rows, names, |r| r.peer),
        Arc::new(BooleanArray::from_iter(scheduled)),
        numbers(rows, |r| r.bin_ps),
        numbers(rows, |r| r.samples),
    ]
}
