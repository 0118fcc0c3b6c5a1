"""Files that are whole or not there, whatever happens in between."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from backwater._base.files import cannot_write

STORAGE_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
)
"""The place itself cannot take more: trying the next file there is of no use."""


def write_durably(path: Path, text: str) -> None:
    """Write a file so that after a crash it is there whole, or as it was before."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        error.filename = error.filename or str(path)  # A full disk is not said of a file.
        raise


def sync_file(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    sync_file(path)


def explain(error: OSError) -> str:
    """Say where it was, what the system said, and what to do."""
    return (f"{error.filename}: " if error.filename else "") + cannot_write(error)
