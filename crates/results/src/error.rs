//! Errors that occur while results are written.

use std::path::{Path, PathBuf};

/// An error that occurred while results were written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct Error {
    /// The file or directory to which the error belongs.
    pub path: PathBuf,
    /// The action that failed or the condition that is violated, and what the user can do.
    pub message: String,
    /// The error number of the operating system, if the system reported the error.
    pub errno: Option<i32>,
}

impl Error {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            errno: None,
        }
    }

    pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Self {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull => "; free some space or choose another directory",
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                "; choose a directory that you may write to"
            }
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
                "; a file has this name: choose another directory"
            }
            _ => "",
        };
        Self {
            errno: error.raw_os_error(),
            ..Self::new(path, format!("cannot {doing}: {error}{hint}"))
        }
    }

    /// Converts an error of the Parquet writer. If it contains an error of the operating system,
    /// that error is reported.
    pub(crate) fn parquet(path: &Path, error: parquet::errors::ParquetError) -> Self {
        if let parquet::errors::ParquetError::External(inner) = &error
            && let Some(io) = inner.downcast_ref::<std::io::Error>()
        {
            return Self::io(path, "write", io);
        }
        Self::new(path, format!("cannot write: {error}"))
    }
}
