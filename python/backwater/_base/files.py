"""Writes files completely or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backwater.errors import InputError, RunError

_HINTS = {
    errno.ENOSPC: "free some space or choose another directory",
    errno.EDQUOT: "free some space or choose another directory",
    errno.EROFS: "choose a directory that you may write to",
    errno.EACCES: "choose a directory that you may write to",
    errno.EPERM: "choose a directory that you may write to",
    errno.ENOENT: "make its directory first, or name another",
    errno.EISDIR: "name a file in it",
}


def write_whole(path: Path, text: str, parents: bool = False) -> None:
    """Write a text to a file, completely or not at all (see :func:`whole`).

    With ``parents`` missing directories are created. Raises ``RunError`` if writing fails.
    A file that must survive a crash of the machine needs
    :func:`backwater._base.durable.write_durably` instead.
    """
    with whole(path, parents) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def whole(path: Path, parents: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it afterwards.

    So a file with the final name is always complete. If the path is a symbolic link, its target is
    replaced. If it is not a regular file, such as a pipe or ``/dev/stdout``, it is written
    directly. Raises ``RunError`` if writing fails.
    """
    part: Path | None = None
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() or not path.exists():
            target = Path(os.path.realpath(path))
            part = target.with_name(f"{target.name}.part")
            yield part
            part.replace(target)
        else:
            yield path
    except OSError as error:
        raise RunError(f"{path}: {cannot_write(error)}", error.errno) from error
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)


@contextmanager
def readable(path: Path | None = None, kind: type[RunError] = InputError) -> Iterator[None]:
    """Convert an ``OSError`` of the body to an error of class ``kind`` that names the file.

    The file is ``path``, or by default the file name in the ``OSError``.
    """
    try:
        yield
    except OSError as error:
        why = f"{path or error.filename}: cannot be read: {error.strerror}"
        raise kind(why, error.errno) from error


def cannot_write(error: OSError) -> str:
    """Return a message with the system's error and advice."""
    hint = _HINTS.get(error.errno or 0)
    return f"cannot write: {error.strerror}" + (f"; {hint}" if hint else "")
