//! The thread that encodes and writes the tables of a run, so that the run need not wait for it.

use crate::Error;
use crate::names::Names;
use crate::table::TableFile;
use fabric::record::Rows;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Batches of rows that may wait. A run that is faster than its tables are encoded waits.
const WAITING: usize = 32;

/// What the thread is told.
enum Told {
    /// Rows of a table.
    Rows(usize, Box<dyn Rows>),
    /// There will be no more: the files are completed.
    End,
}

/// The thread, and the way to it. If this is dropped, the files stay incomplete under their temporary names.
pub(crate) struct Encoder {
    /// Names of the tables.
    tables: Vec<&'static str>,
    /// `None`: nothing is told any more.
    to: Option<SyncSender<Told>>,
    thread: Option<JoinHandle<Result<Vec<String>, Error>>>,
}

impl Encoder {
    /// Starts the thread for these files.
    pub(crate) fn start(files: Vec<TableFile>, names: Names) -> std::io::Result<Self> {
        let (to, told) = sync_channel(WAITING);
        let tables = files.iter().map(TableFile::name).collect();
        let thread = std::thread::Builder::new().name("tables".to_owned());
        let thread = thread.spawn(move || encode(files, &names, &told))?;
        Ok(Self {
            tables,
            to: Some(to),
            thread: Some(thread),
        })
    }

    /// Adds rows to their table. Returns whether there is one. An error may be one of rows before.
    pub(crate) fn add(&mut self, rows: &dyn Rows) -> Result<bool, Error> {
        let name = rows.table().name;
        let Some(table) = self.tables.iter().position(|table| *table == name) else {
            return Ok(false);
        };
        if !rows.is_empty() {
            self.tell(Told::Rows(table, rows.copy()))?;
        }
        Ok(true)
    }

    fn tell(&mut self, what: Told) -> Result<(), Error> {
        match self.to.as_ref().map(|to| to.send(what)) {
            Some(Ok(())) => Ok(()),
            // It has given up, and says why.
            _ => self.join().map(drop),
        }
    }

    /// Completes the files and returns their final names.
    pub(crate) fn finish(mut self) -> Result<Vec<String>, Error> {
        self.tell(Told::End)?;
        self.join()
    }

    /// Waits until the thread has ended. What it said is told once.
    fn join(&mut self) -> Result<Vec<String>, Error> {
        self.to = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(said)) => said,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // Nobody asks any more what it has to say.
            let _ = thread.join();
        }
    }
}

/// What the thread does. Returns the final names of the files, none if it was not told to complete them.
fn encode(
    mut files: Vec<TableFile>,
    names: &Names,
    told: &Receiver<Told>,
) -> Result<Vec<String>, Error> {
    for what in told {
        match what {
            Told::Rows(table, rows) => files[table].add(&*rows, names)?,
            Told::End => return files.into_iter().map(|file| file.close(names)).collect(),
        }
    }
    Ok(Vec::new())
}
