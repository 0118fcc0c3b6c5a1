"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backwater.errors import RunError

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
    """Write a text as :func:`whole` does; with ``parents`` missing directories are made.

    A file that must survive a crash of the machine is written by
    :func:`backwater._base.durable.write_durably`.
    """
    with whole(path, parents) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def whole(path: Path, parents: bool = False) -> Iterator[Path]:
    """Give a temporary name to write to, and rename it, so that no half file has the final name.

    Of a symbolic link the file that it leads to is written, and what is no plain file, such as a
    pipe or ``/dev/stdout``, is written as it stands. Raises ``RunError`` where that fails.
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


def cannot_write(error: OSError) -> str:
    """Say what the system said, and what to do."""
    hint = _HINTS.get(error.errno or 0)
    return f"cannot write: {error.strerror}" + (f"; {hint}" if hint else "")
