//! The directory of a run: who may write there, and how a file gets its final name.

use crate::Error;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Files that a run writes, `summary.json` last.
pub(crate) const FILES: [&str; 7] = [
    "resolved.toml",
    "flows.parquet",
    "ports.parquet",
    "queues.parquet",
    "active.parquet",
    "pauses.parquet",
    "summary.json",
];

/// Files that a run writes only where its scenario requests them.
pub(crate) const RECORDED: [&str; 6] = [
    "throughput.parquet",
    "port_queues.parquet",
    "queue_histogram.parquet",
    "rtt.parquet",
    "waiting.parquet",
    "delay_histogram.parquet",
];

/// The same, where it asks to follow single pauses.
pub(crate) const FOLLOWED: [&str; 2] = ["pause_causes.parquet", "held_flows.parquet"];

/// Made from a run afterwards; stale once the run is replaced.
const DERIVED: [&str; 1] = ["report.html"];

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
        // Nothing can be done about a failure here, and an empty lock file that nobody holds does
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
/// that nobody else writes there.
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
    FILES.contains(&name)
        || RECORDED.contains(&name)
        || FOLLOWED.contains(&name)
        || DERIVED.contains(&name)
}

/// Writes a small text file under its temporary name.
pub(crate) fn write_text(dir: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = temporary(dir, name);
    fs::write(&path, text).map_err(|e| Error::io(&path, "write", &e))
}

/// Gives all files their final names, those of `recorded` too. The old summary goes first and the
/// new one comes last: a directory with a summary is whole, and nothing in it is of another run.
pub(crate) fn publish(dir: &Path, recorded: &[&str]) -> Result<(), Error> {
    let optional = RECORDED.iter().chain(&FOLLOWED);
    for name in ["summary.json"].iter().chain(&DERIVED).chain(optional) {
        remove_if_there(&dir.join(name))?;
    }
    for name in recorded.iter().copied().chain(FILES) {
        let to = dir.join(name);
        fs::rename(temporary(dir, name), &to)
            .map_err(|e| Error::io(&to, "rename into place", &e))?;
    }
    Ok(())
}

/// Removes what an unfinished run left under temporary names; for a writer that is given up.
pub(crate) fn discard(dir: &Path) {
    for name in FILES.into_iter().chain(RECORDED).chain(FOLLOWED) {
        // Nothing can be done about a failure here, and the name says that the file is not whole.
        let _ = fs::remove_file(temporary(dir, name));
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, "remove", &e)),
        _ => Ok(()),
    }
}
