"""Decides which files may be written into a directory that is not empty.

A run has a key, which is a hash of everything that it depends on. It replaces only results with its
own key. Other files are replaced only if ``force`` is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from backwater._base.files import cannot_write
from backwater.errors import RunError
from backwater.results import HOST, RECORDED_FILES, REPORT, RESULTS, RUN_FILES, STORE, SUMMARY

_ALTERNATIVES = "choose another directory, or replace it with --force (Python: force=True)"
_SHORT_KEY = 8
"""Number of characters of a key in the name of a directory."""


def default_directory(preferred: Path, key: str) -> Path:
    """Return the directory for results of this key if the user names none.

    ``preferred`` is used if it does not exist yet, or if it has results of the same key. Otherwise
    a part of the key is appended to its name. A new directory is created immediately, so that two
    concurrent calls do not use the same one.
    """
    try:
        preferred.parent.mkdir(parents=True, exist_ok=True)
        preferred.mkdir()
    except FileExistsError:
        if _text_of(preferred / SUMMARY, "key") != key:
            return preferred.with_name(f"{preferred.name}-{key[:_SHORT_KEY]}")
    except OSError as error:
        why = f"{preferred}: {cannot_write(error)}"
        raise RunError(why, error.errno) from error
    return preferred


def claim_run(path: Path, key: str, force: bool) -> None:
    """Raise ``RunError`` if a directory contains results with another key than ``key``.

    With ``force`` there is no check. The writer of the run also refuses a directory with files that
    are not results of a run.
    """
    if force:
        return
    if (path / HOST).exists():
        raise RunError(f"{path}: holds what a host on real frames measured; {_ALTERNATIVES}")
    if (path / RESULTS).exists():
        raise RunError(f"{path}: holds results of many runs; {_ALTERNATIVES}")
    if (path / SUMMARY).exists() and _text_of(path / SUMMARY, "key") != key:
        raise RunError(
            f"{path}: holds results with another seed, scenario, option or version; {_ALTERNATIVES}"
        )


def claim_many(path: Path, name: str, force: bool) -> None:
    """Raise ``RunError`` if a directory has other files than results of many runs named ``name``.

    With ``force`` there is no check. The directory is created if it is missing. Runs are stored by
    a key of their contents, so no run of these results is replaced.
    """
    entries = _entries(path)
    if force:
        return
    links = {entry.name for entry in entries if entry.is_symlink() or _is_run(entry)}
    _refuse_foreign("results", path, entries, {RESULTS, REPORT, STORE, *links})
    if links and not (path / RESULTS).exists() and any(not e.is_symlink() for e in entries):
        raise RunError(f"{path}: holds single runs; {_ALTERNATIVES}")
    there = _text_of(path / RESULTS, "name")
    if there is not None and there != name:
        raise RunError(f"{path}: holds results of `{there}`, and this is `{name}`; {_ALTERNATIVES}")


def claim_export(path: Path, files: Sequence[str], force: bool) -> None:
    """Remove the files of an earlier export from a directory, which is created if it is missing.

    Raises ``RunError`` if the directory has other files than ``files``, unless ``force`` is set.
    """
    entries = _entries(path)
    if not force:
        _refuse_foreign("an export", path, entries, files)
    _remove(path, files)


def _refuse_foreign(what: str, path: Path, entries: Iterable[Path], ours: Iterable[str]) -> None:
    """Raise ``RunError`` if a directory has entries whose names are not in ``ours``."""
    kept = set(ours)
    names = sorted(entry.name for entry in entries)
    # Unfinished files have a temporary name.
    foreign = next((n for n in names if n not in kept and not n.endswith(".part")), None)
    if foreign is not None:
        raise RunError(
            f"{path}: is not empty, and `{foreign}` is not a file of {what} of this version; "
            "choose a new directory, delete this one, or write beside it with --force (Python: "
            "force=True)"
        )


def _entries(path: Path) -> list[Path]:
    """Create a directory if it is missing, and return its entries."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        return sorted(path.iterdir())
    except OSError as error:
        why = f"{path}: cannot use the directory: {error.strerror}"
        raise RunError(why, error.errno) from error


def _remove(path: Path, names: Iterable[str]) -> None:
    try:
        for name in names:
            (path / name).unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"{path}: {cannot_write(error)}", error.errno) from error


def _is_run(path: Path) -> bool:
    """Return true if a directory has the files of a run, complete or not, and no others."""
    if not path.is_dir():
        return False
    names = {entry.name.removesuffix(".part") for entry in path.iterdir()}
    return "resolved.toml" in names and names <= {*RUN_FILES, *RECORDED_FILES, "lock"}


def _text_of(path: Path, key: str) -> str | None:
    """Return the text of a key in a JSON file, or ``None``."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, str) else None
