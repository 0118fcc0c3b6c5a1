//! Writes the results of a simulation during the run.

use crate::capture::CaptureFiles;
use crate::encoder::Encoder;
use crate::info::RunInfo;
use crate::names::Names;
use crate::summary::Summary;
use crate::table::TableFile;
use crate::tally::Tally;
use crate::{Error, directory};
use fabric::record::table::Format;
use fabric::record::{Outcome, PortRecord, Recorder, Rows, workload_tables};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Number of ports whose rows are converted together. It bounds the memory in networks with many
/// ports.
const PORTS_AT_ONCE: usize = 4096;

/// Writes the results of one run into one directory.
///
/// Memory stays bounded: rows are written in parts, and only the values that the statistics need
/// stay in memory (16 bytes per measured flow, a histogram per switch tier). A separate thread
/// encodes and writes the parts.
///
/// The methods of [`Recorder`] cannot return errors, so the writer keeps the first one. Callers
/// should check [`Writer::error`] regularly and interrupt the run if there is one;
/// [`Writer::finish`] returns it in any case. A writer that is dropped before it has finished
/// removes its temporary files.
pub struct Writer {
    dir: PathBuf,
    began: Instant,
    error: Option<Error>,
    /// Lock that keeps other runs out of the directory.
    _lock: directory::Lock,
    /// Tables of every run and tables that the scenario requests; `None`: the files are complete.
    tables: Option<Encoder>,
    /// Captured frames of links; `None`: the scenario captures no frames.
    capture: Option<CaptureFiles>,
    tally: Tally,
}

impl Writer {
    /// Creates and locks the directory `dir`. If it contains results of an earlier run, they are
    /// replaced when this run finishes. Other files in the directory are an error, unless `force`
    /// is true; then they are kept.
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
        let (mut files, mut capture) = (Vec::new(), None);
        for table in tables {
            match (table.format, &info.record.capture) {
                (Format::Frames { .. }, Some(spec)) => {
                    capture = Some(CaptureFiles::create(dir, table, spec, &info.captured)?);
                }
                _ => files.push(TableFile::create(dir, table)?),
            }
        }
        let tables = Encoder::start(files, Names::new(&info));
        let tables = tables.map_err(|e| Error::io(dir, "start a thread for its tables", &e))?;
        let writer = Self {
            _lock: lock,
            dir: dir.to_owned(),
            began: Instant::now(),
            error: None,
            tables: Some(tables),
            capture,
            tally: Tally::new(info),
        };
        directory::write_text(dir, "resolved.toml", &writer.tally.info.resolved)?;
        Ok(writer)
    }

    /// Returns the first error that occurred while writing. The caller should then interrupt the
    /// run.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Writes the tables of ports and the summary, and gives all files their final names.
    /// `warnings` are the warnings of the run; the summary contains them.
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
        let captured = self.capture.as_ref().and_then(CaptureFiles::warning);
        let warnings: Vec<_> = warnings.iter().cloned().chain(captured).collect();
        let files = self.end()?;
        let wall_seconds = self.began.elapsed().as_secs_f64();
        let summary = self.tally.summary(outcome, &warnings, wall_seconds);
        directory::write_text(&self.dir, directory::SUMMARY, &summary.to_json())?;
        directory::publish(&self.dir, &files, &directory::TEXTS)?;
        Ok(summary)
    }

    /// Adds rows to their table, unless an error has occurred. Stores an error that occurs now.
    fn put(&mut self, rows: &dyn Rows) {
        if self.error.is_none()
            && let Err(error) = self.add(rows)
        {
            self.error = Some(error);
        }
    }

    fn add(&mut self, rows: &dyn Rows) -> Result<(), Error> {
        if let Some(tables) = &mut self.tables
            && tables.add(rows)?
        {
            return Ok(());
        }
        match &mut self.capture {
            Some(capture) if capture.name() == rows.table().name => capture.add(rows),
            _ => Ok(()),
        }
    }

    /// Completes all tables, and returns the final names of their files.
    fn end(&mut self) -> Result<Vec<String>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut files = match self.tables.take() {
            Some(tables) => tables.finish()?,
            None => Vec::new(),
        };
        if let Some(capture) = self.capture.take() {
            files.extend(capture.close()?);
        }
        Ok(files)
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
        // The encoder thread must end before its files are removed.
        self.tables = None;
        // After `finish` no file has a temporary name, so this removes nothing.
        directory::discard(&self.dir);
    }
}
