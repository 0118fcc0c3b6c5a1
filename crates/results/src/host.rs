//! What one host on real frames leaves behind: its flows, and what it counted.

use std::path::{Path, PathBuf};

use fabric::record::Rows;

use crate::info::RunInfo;
use crate::names::Names;
use crate::table::TableFile;
use crate::{Error, directory};

/// The files of a host, in a directory of their own.
#[derive(Debug)]
pub struct HostFiles {
    dir: PathBuf,
    /// No other run writes here meanwhile.
    _lock: directory::Lock,
}

impl HostFiles {
    /// Opens the directory, as [`Writer::create`](crate::Writer::create) does.
    ///
    /// # Errors
    /// It holds something else, or cannot be written.
    pub fn create(dir: &Path, force: bool) -> Result<Self, Error> {
        let lock = directory::claim(dir, force)?;
        Ok(Self {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Writes the scenario with every value, the table of flows, and `host.json`, which comes last.
    ///
    /// # Errors
    /// One of them cannot be written; then none has its name.
    pub fn finish(self, resolved: &str, flows: &dyn Rows, said: &str) -> Result<(), Error> {
        let names = Names::new(&RunInfo::default());
        let mut table = TableFile::create(&self.dir, flows.table())?;
        table.add(flows, &names)?;
        let file = table.close(&names)?;
        directory::write_text(&self.dir, "resolved.toml", resolved)?;
        directory::write_text(&self.dir, directory::HOST, said)?;
        directory::publish(&self.dir, &[file], &directory::HOST_TEXTS)
    }
}

impl Drop for HostFiles {
    fn drop(&mut self) {
        // After a finished run there is nothing under these names any more.
        directory::discard(&self.dir);
    }
}
