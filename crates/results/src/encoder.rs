//! The thread that encodes and writes the tables of a run. The simulation continues in parallel.

use crate::Error;
use crate::names::Names;
use crate::table::TableFile;
use fabric::record::Rows;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Capacity of the channel to the encoder thread, in batches of rows. While the channel is full,
/// the simulation waits.
const CAPACITY: usize = 32;

/// A message to the encoder thread.
enum Message {
    /// Rows of the table with this index.
    Rows(usize, Box<dyn Rows>),
    /// All rows have been sent. The thread completes the files and ends.
    End,
}

/// The encoder thread and the channel to it. If the value is dropped before [`Encoder::finish`],
/// the files stay incomplete under their temporary names.
pub(crate) struct Encoder {
    /// Names of the tables, by index of their file.
    tables: Vec<&'static str>,
    /// Channel to the thread; `None`: the channel is closed.
    sender: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<Vec<String>, Error>>>,
}

impl Encoder {
    /// Starts the encoder thread for these table files.
    pub(crate) fn start(files: Vec<TableFile>, names: Names) -> std::io::Result<Self> {
        let (sender, messages) = sync_channel(CAPACITY);
        let tables = files.iter().map(TableFile::name).collect();
        let thread = std::thread::Builder::new().name("tables".to_owned());
        let thread = thread.spawn(move || encode(files, &names, &messages))?;
        Ok(Self {
            tables,
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    /// Sends rows to the file of their table. Returns false if no file has this table. A returned
    /// error may belong to rows that were sent earlier.
    pub(crate) fn add(&mut self, rows: &dyn Rows) -> Result<bool, Error> {
        let name = rows.table().name;
        let Some(table) = self.tables.iter().position(|table| *table == name) else {
            return Ok(false);
        };
        if !rows.is_empty() {
            self.send(Message::Rows(table, rows.copy()))?;
        }
        Ok(true)
    }

    fn send(&mut self, message: Message) -> Result<(), Error> {
        match self.sender.as_ref().map(|sender| sender.send(message)) {
            Some(Ok(())) => Ok(()),
            // The thread has ended because of an error, which `join` returns.
            _ => self.join().map(drop),
        }
    }

    /// Completes the files and returns their final names.
    pub(crate) fn finish(mut self) -> Result<Vec<String>, Error> {
        self.send(Message::End)?;
        self.join()
    }

    /// Waits until the thread has ended, and returns its result. Later calls return an empty list
    /// of files.
    fn join(&mut self) -> Result<Vec<String>, Error> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // The results are incomplete anyway, so the result of the thread is not needed.
            let _ = thread.join();
        }
    }
}

/// The main function of the thread. Returns the final names of the files, or an empty list if the
/// channel closed without [`Message::End`].
fn encode(
    mut files: Vec<TableFile>,
    names: &Names,
    messages: &Receiver<Message>,
) -> Result<Vec<String>, Error> {
    for message in messages {
        match message {
            Message::Rows(table, rows) => files[table].add(&*rows, names)?,
            Message::End => return files.into_iter().map(|file| file.close(names)).collect(),
        }
    }
    Ok(Vec::new())
}
