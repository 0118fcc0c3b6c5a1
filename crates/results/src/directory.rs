//! The directory of a run: the lock that keeps other runs out, the temporary names of unfinished
//! files, and the final names of complete ones.

use crate::Error;
use fabric::measure::MEASURES;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Files of a simulation run that are not tables, in the order in which they get their final names.
pub(crate) const TEXTS: [&str; 2] = ["resolved.toml", SUMMARY];

/// Files of a host on real frames that are not tables, in the order in which they get their final
/// names.
pub(crate) const HOST_TEXTS: [&str; 2] = ["resolved.toml", HOST];

/// The last file of a simulation run: a directory that contains it is complete.
pub(crate) const SUMMARY: &str = "summary.json";
/// The last file of a host on real frames: a directory that contains it is complete.
pub(crate) const HOST: &str = "host.json";

/// Returns the file names of all tables that a run may write.
fn tables() -> impl Iterator<Item = String> {
    let optional = MEASURES.iter().flat_map(|measure| (measure.tables)());
    fabric::record::tables()
        .into_iter()
        .chain(fabric::record::workload_tables())
        .chain(optional)
        .flat_map(|table| table.files())
}

/// Files that other commands compute from the results. They are removed when a new run replaces the
/// results.
const DERIVED: [&str; 2] = ["report.html", "lockstep.json"];

/// Suffix of the temporary names.
const TEMPORARY: &str = ".part";

/// The file that a run locks while it writes to the directory.
const LOCK: &str = "lock.part";

/// An exclusive lock on a results directory. It is released when the value is dropped or when the
/// process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A failure is ignored: a lock file that is not locked does not stop other runs.
        let _ = fs::remove_file(&self.path);
    }
}

fn lock(dir: &Path) -> Result<Lock, Error> {
    let path = dir.join(LOCK);
    let file = File::create(&path).map_err(|e| Error::io(&path, "create", &e))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { path, _file: file }),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            dir,
            "another run is writing here; wait for it, or choose another directory".to_owned(),
        )),
        Err(TryLockError::Error(e)) => Err(Error::io(&path, "lock", &e)),
    }
}

/// Returns the path under which a file is written until it is complete.
pub(crate) fn temporary(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{TEMPORARY}"))
}

/// Creates `dir` if it does not exist, and locks it. Returns an error if another run has locked it,
/// or if it contains files that are not results of a run and `force` is false.
pub(crate) fn claim(dir: &Path, force: bool) -> Result<Lock, Error> {
    fs::create_dir_all(dir).map_err(|e| Error::io(dir, "create the directory", &e))?;
    let entries = fs::read_dir(dir).map_err(|e| Error::io(dir, "list the directory", &e))?;
    let mut foreign = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io(dir, "list the directory", &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !is_ours(&name) {
            foreign.push(name);
        }
    }
    foreign.sort();
    match foreign.first() {
        Some(name) if !force => Err(Error::new(
            dir,
            format!(
                "contains `{name}`, which is not a result of a run; \
                 choose an empty or new directory, or write beside it with --force (Python: \
                 force=True)"
            ),
        )),
        _ => lock(dir),
    }
}

/// Returns true if a run, or a command that evaluates runs, writes a file of this name.
fn is_ours(name: &str) -> bool {
    if name == LOCK {
        return true;
    }
    let name = name.strip_suffix(TEMPORARY).unwrap_or(name);
    TEXTS.contains(&name)
        || name == HOST
        || DERIVED.contains(&name)
        || tables().any(|table| table == name)
}

/// Writes a small text file under its temporary name.
pub(crate) fn write_text(dir: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = temporary(dir, name);
    fs::write(&path, text).map_err(|e| Error::io(&path, "write", &e))
}

/// Removes the results of an earlier run and gives these tables and texts their final names.
///
/// The old summary is removed first, and the new summary, the last of the texts, is renamed last.
/// So a directory that contains a summary is complete, and all its files belong to the same run.
pub(crate) fn publish(dir: &Path, written: &[String], texts: &[&str]) -> Result<(), Error> {
    for name in [SUMMARY, HOST] {
        remove_if_there(&dir.join(name))?;
    }
    for name in DERIVED {
        remove_if_there(&dir.join(name))?;
    }
    for name in tables() {
        remove_if_there(&dir.join(name))?;
    }
    for name in written
        .iter()
        .map(String::as_str)
        .chain(texts.iter().copied())
    {
        let to = dir.join(name);
        fs::rename(temporary(dir, name), &to)
            .map_err(|e| Error::io(&to, "rename into place", &e))?;
    }
    Ok(())
}

/// Removes the files that still have temporary names. A writer that did not finish leaves such
/// files.
pub(crate) fn discard(dir: &Path) {
    let texts = TEXTS.into_iter().chain([HOST]);
    for name in tables().chain(texts.map(str::to_owned)) {
        // A failure is ignored: the temporary name shows that the file is incomplete.
        let _ = fs::remove_file(temporary(dir, &name));
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, "remove", &e)),
        _ => Ok(()),
    }
}
