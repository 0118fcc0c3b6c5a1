"""Writes files that are complete or absent after a crash."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from backwater._base.files import cannot_write

STORAGE_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
)
"""Errors of the file system itself. Writing another file there would also fail."""


def write_durably(path: Path, text: str) -> None:
    """Write a file so that a crash leaves either the old or the new content."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        # The system reports a full disk without a file name.
        error.filename = error.filename or str(path)
        raise


def sync(path: Path) -> None:
    """Wait until the contents of a file, or the names in a directory, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explain(error: OSError) -> str:
    """Return a message with the file, the system's error, and advice."""
    return (f"{error.filename}: " if error.filename else "") + cannot_write(error)
