"""Text files that are written whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from backwater.errors import RunError


def write_whole(path: Path, text: str, parents: bool = False) -> None:
    """Write a text under a temporary name and rename it, so that no half file has the final name.

    With ``parents`` missing directories are made. Raises ``RunError`` where the file cannot be
    written. A file that must survive a crash of the machine is written by
    :func:`backwater.campaign.files.write_durably`.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise RunError(f"{path}: cannot write: {error.strerror}", error.errno) from error
