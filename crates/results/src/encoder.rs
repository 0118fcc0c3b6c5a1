//! The thread that encodes and writes the tables of a run, so that the run need not wait for it.

use crate::Error;
use crate::names::Names;
use crate::table::TableFile;
use fabric::record::table::Values;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Parts of tables that may wait: some megabytes. A run that makes more waits.
const WAITING: usize = 32;

/// What the thread is told.
enum Told {
    /// The values of some rows of a table.
    Part {
        table: usize,
        rows: usize,
        values: Vec<Values>,
    },
    /// There will be no more: the files are completed.
    End,
}

/// The thread, and the way to it. If this is dropped, the files stay incomplete under their temporary names.
pub(crate) struct Encoder {
    /// `None`: the thread has been told that nothing comes any more.
    to: Option<SyncSender<Told>>,
    /// Columns that have been encoded, by table, to be filled again.
    emptied: Receiver<(usize, Vec<Values>)>,
    spare: Vec<Vec<Vec<Values>>>,
    thread: Option<JoinHandle<Result<Vec<String>, Error>>>,
}

impl Encoder {
    /// Starts the thread for these files.
    pub(crate) fn start(files: Vec<TableFile>, names: Names) -> std::io::Result<Self> {
        let (to, told) = sync_channel(WAITING);
        let (give_back, emptied) = channel();
        let spare = files.iter().map(|_| Vec::new()).collect();
        let work = move || encode(files, &names, &told, |of| drop(give_back.send(of)));
        let builder = std::thread::Builder::new().name("tables".to_owned());
        Ok(Self {
            to: Some(to),
            emptied,
            spare,
            thread: Some(builder.spawn(work)?),
        })
    }

    /// Hands over the values of some rows of a table. Other columns of their types come in their place, empty.
    pub(crate) fn put(
        &mut self,
        table: usize,
        rows: usize,
        values: &mut Vec<Values>,
    ) -> Result<(), Error> {
        for (of, columns) in self.emptied.try_iter() {
            self.spare[of].push(columns);
        }
        let fresh = || values.iter().map(Values::same_type).collect();
        let fresh = self.spare[table].pop().unwrap_or_else(fresh);
        let values = std::mem::replace(values, fresh);
        self.tell(Told::Part {
            table,
            rows,
            values,
        })
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
    give_back: impl Fn((usize, Vec<Values>)),
) -> Result<Vec<String>, Error> {
    for what in told {
        match what {
            Told::Part {
                table,
                rows,
                mut values,
            } => {
                files[table].put(rows, &values, names)?;
                values.iter_mut().for_each(Values::clear);
                give_back((table, values));
            }
            Told::End => return files.into_iter().map(TableFile::close).collect(),
        }
    }
    Ok(Vec::new())
}
