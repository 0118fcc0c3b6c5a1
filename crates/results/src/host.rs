//! Writes the results of one host on real network interfaces: its flows and its counters.

use std::path::{Path, PathBuf};

use fabric::record::Rows;

use crate::info::RunInfo;
use crate::names::Names;
use crate::table::TableFile;
use crate::{Error, directory};

/// The results of one host, in one directory.
#[derive(Debug)]
pub struct HostFiles {
    dir: PathBuf,
    /// Lock that keeps other runs out of the directory.
    _lock: directory::Lock,
}

impl HostFiles {
    /// Creates and locks the directory as [`Writer::create`](crate::Writer::create) does.
    ///
    /// # Errors
    /// The directory contains other files and `force` is false; another run has locked it; or it
    /// cannot be written.
    pub fn create(dir: &Path, force: bool) -> Result<Self, Error> {
        let lock = directory::claim(dir, force)?;
        Ok(Self {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Writes the resolved scenario, the table of flows, and `host.json` with the text `host`, and
    /// gives them their final names.
    ///
    /// # Errors A file cannot be written. Then the new `host.json` does not get its final name.
    pub fn finish(self, resolved: &str, flows: &dyn Rows, host: &str) -> Result<(), Error> {
        let names = Names::new(&RunInfo::default());
        let mut table = TableFile::create(&self.dir, flows.table())?;
        table.add(flows, &names)?;
        let file = table.close(&names)?;
        directory::write_text(&self.dir, "resolved.toml", resolved)?;
        directory::write_text(&self.dir, directory::HOST, host)?;
        directory::publish(&self.dir, &[file], &directory::HOST_TEXTS)
    }
}

impl Drop for HostFiles {
    fn drop(&mut self) {
        // After `finish` no file has a temporary name, so this removes nothing.
        directory::discard(&self.dir);
    }
}
