//! Writes a run down while it goes.

use crate::capture::CaptureFiles;
use crate::info::RunInfo;
use crate::names::Names;
use crate::summary::{Summary, Tally};
use crate::table::TableFile;
use crate::{Error, directory};
use fabric::record::table::Format;
use fabric::record::{Outcome, PortRecord, Recorder, Rows, Table, workload_tables};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Ports whose rows are made at once.
const PORTS_AT_ONCE: usize = 4096;

/// Writes a run into a directory of its own.
///
/// Memory stays bounded: rows go to disk in parts, and only what the statistics need is kept
/// (16 bytes per measured flow, a histogram per switch tier).
///
/// A [`Recorder`] cannot return errors, so the first one is kept: check [`Writer::error`] now and
/// then, and stop the run early; [`Writer::finish`] returns it in any case. A writer that is
/// dropped without having finished removes its temporary files.
pub struct Writer {
    dir: PathBuf,
    began: Instant,
    error: Option<Error>,
    /// No other run writes here meanwhile.
    _lock: directory::Lock,
    names: Names,
    /// The tables of every run and those that the scenario requests besides; empty once they are closed.
    tables: Vec<Sink>,
    tally: Tally,
}

impl Writer {
    /// Opens the directory `dir` for a run. What is there already must be an earlier run (which
    /// is replaced when this one finishes), unless `force` is given.
    pub fn create(dir: &Path, info: RunInfo, force: bool) -> Result<Self, Error> {
        let lock = directory::claim(dir, force)?;
        let tables = fabric::record::tables()
            .into_iter()
            .chain(info.record.tables())
            .chain(
                workload_tables()
                    .into_iter()
                    .filter(|_| !info.workloads.is_empty()),
            );
        let tables = tables.map(|table| Sink::create(dir, table, &info));
        let writer = Self {
            _lock: lock,
            dir: dir.to_owned(),
            began: Instant::now(),
            error: None,
            names: Names::new(&info),
            tables: tables.collect::<Result<_, _>>()?,
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
        for ports in outcome.ports.chunks(PORTS_AT_ONCE) {
            self.put(&ports.to_vec());
            self.put(
                &ports
                    .iter()
                    .flat_map(PortRecord::active)
                    .collect::<Vec<_>>(),
            );
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut files = Vec::new();
        let mut warnings = warnings.to_vec();
        for table in self.tables.drain(..) {
            warnings.extend(table.warning());
            files.extend(table.close(&self.names)?);
        }
        let wall_seconds = self.began.elapsed().as_secs_f64();
        let summary = self.tally.summary(outcome, &warnings, wall_seconds);
        directory::write_text(&self.dir, directory::SUMMARY, &summary.to_json())?;
        directory::publish(&self.dir, &files, &directory::TEXTS)?;
        Ok(summary)
    }

    /// Adds rows to their table; keeps the first error.
    fn put(&mut self, rows: &dyn Rows) {
        let name = rows.table().name;
        if self.error.is_none()
            && let Some(table) = self.tables.iter_mut().find(|table| table.name() == name)
            && let Err(error) = table.add(rows, &self.names)
        {
            self.error = Some(error);
        }
    }
}

/// The file of a table, or the files.
enum Sink {
    Columns(Box<TableFile>),
    Frames(Box<CaptureFiles>),
}

impl Sink {
    fn create(dir: &Path, table: Table, info: &RunInfo) -> Result<Self, Error> {
        match (table.format, &info.record.capture) {
            (Format::Frames { .. }, Some(spec)) => {
                let files = CaptureFiles::create(dir, table, spec, &info.captured)?;
                Ok(Self::Frames(Box::new(files)))
            }
            _ => Ok(Self::Columns(Box::new(TableFile::create(dir, table)?))),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Columns(file) => file.name(),
            Self::Frames(files) => files.name(),
        }
    }

    fn add(&mut self, rows: &dyn Rows, names: &Names) -> Result<(), Error> {
        match self {
            Self::Columns(file) => file.add(rows, names),
            Self::Frames(files) => files.add(rows),
        }
    }

    fn warning(&self) -> Option<String> {
        match self {
            Self::Columns(_) => None,
            Self::Frames(files) => files.warning(),
        }
    }

    /// Completes the files and returns their final names.
    fn close(self, names: &Names) -> Result<Vec<String>, Error> {
        match self {
            Self::Columns(file) => file.close(names).map(|name| vec![name]),
            Self::Frames(files) => files.close(),
        }
    }
}

impl Recorder for Writer {
    fn rows(&mut self, rows: &dyn Rows) {
        self.tally.rows(rows);
        self.put(rows);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After a finished run there is nothing under these names any more.
        directory::discard(&self.dir);
    }
}
