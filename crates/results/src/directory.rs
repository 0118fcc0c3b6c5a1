//! The directory of a run: who may write there, and how a file gets its final name.

use crate::Error;
use fabric::measure::MEASURES;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Files of a run that are no tables, `summary.json` last.
pub(crate) const TEXTS: [&str; 2] = ["resolved.toml", SUMMARY];

/// The same of a host on real frames.
pub(crate) const HOST_TEXTS: [&str; 2] = ["resolved.toml", HOST];

/// Comes last: a directory with one of these files is whole.
pub(crate) const SUMMARY: &str = "summary.json";
pub(crate) const HOST: &str = "host.json";

/// Files of all tables that a run may write.
fn tables() -> impl Iterator<Item = String> {
    let optional = MEASURES.iter().flat_map(|measure| (measure.tables)());
    fabric::record::tables()
        .into_iter()
        .chain(fabric::record::workload_tables())
        .chain(optional)
        .flat_map(|table| table.files())
}

/// Made from a run afterwards; stale once the run is replaced.
const DERIVED: [&str; 2] = ["report.html", "lockstep.json"];

const TEMPORARY: &str = ".part";

/// Held while a run writes.
const LOCK: &str = "lock.part";

/// The right to write into a directory; ends when it is dropped, or with the process.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and an empty lock file that no run holds does
        // no harm.
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

/// Name under which a file is written until it is whole.
pub(crate) fn temporary(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{TEMPORARY}"))
}

/// Makes sure that `dir` exists and holds nothing, or an earlier run, or that `force` is given; and
/// that no other run writes there.
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
                "holds something else than an earlier run (`{name}`); \
                 choose an empty or new directory, or use --force to write beside it"
            ),
        )),
        _ => lock(dir),
    }
}

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

/// Gives these tables and texts their final names. The old summary goes first and the new one, the last of the
/// texts, comes last: a directory with a summary is whole, and nothing in it is of another run.
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

/// Removes what an unfinished run left under temporary names; for a writer that is given up.
pub(crate) fn discard(dir: &Path) {
    let texts = TEXTS.into_iter().chain([HOST]);
    for name in tables().chain(texts.map(str::to_owned)) {
        // Nothing can be done about a failure here, and the name says that the file is not whole.
        let _ = fs::remove_file(temporary(dir, &name));
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, "remove", &e)),
        _ => Ok(()),
    }
}
