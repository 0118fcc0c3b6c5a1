"""Finished runs, each under its key.

::

    DIR/runs/ab/abcdef…/     a run, and ``stored.json``: its key, its command, and its files' hashes
    DIR/failures/ab….json    why a run failed, and the command that repeats it
    DIR/partial/abcdef…/     the first part of a run that Ctrl-C interrupted
    DIR/index.jsonl          a cache with one line per run, which makes listing fast
    DIR/work/…/              runs in progress

A run is renamed into ``runs`` after all its files are on the disk. Therefore every run with a final
name is complete. If two processes make the same run, the second one discards its copy. The store
holds no lock while runs are made, and does not depend on clocks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backwater._base import durable as files
from backwater._base.files import readable
from backwater.errors import RunError
from backwater.results import RUN_FILES, columns
from backwater.results.files import RunFiles, run_files
from backwater.scenario.scenario import hash_file

STORED = "stored.json"
RUNS, FAILURES, PARTIAL, INDEX, WORK = "runs", "failures", "partial", "index.jsonl", "work"
_DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run could not be made, and the command that repeats it."""

    kind: str
    """``error``, ``crash``, ``timeout`` or ``memory``."""

    message: str
    command: str
    """The command line that repeats it."""

    seed: int | None = None
    timeout_s: float | None = None
    memory_bytes: int | None = None
    """The limits under which it failed."""

    def stands(self, timeout_s: float | None, memory_bytes: int | None) -> bool:
        """Return true if a new attempt would fail, too.

        A new attempt may succeed only if the run broke a limit that is wider now.
        """
        if self.kind == "timeout" and self.timeout_s is not None:
            return timeout_s is not None and timeout_s <= self.timeout_s
        if self.kind == "memory" and self.memory_bytes is not None:
            return memory_bytes is not None and memory_bytes <= self.memory_bytes
        return True


class Store:
    """A directory of finished runs. Several processes may use one at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.notices: list[str] = []
        """Messages for the user about damaged runs."""

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def path_of(self, key: str) -> Path:
        """Return the directory of the run with this key, which need not exist."""
        return self.path / RUNS / key[:2] / key

    def get(self, key: str) -> RunFiles | None:
        """Return a finished run, or ``None``.

        If the files of a run were changed, the run is renamed to a name with ``.damaged`` and
        counts as missing.
        """
        path = self.path_of(key)
        if not path.is_dir():
            return None
        trouble = damage(path)
        if trouble is None:
            try:
                return RunFiles(path)
            except RunError as error:
                trouble = str(error)
        self._set_aside(path, trouble)
        return None

    def keys(self) -> set[str]:
        """Return the keys of all runs that have a directory here."""
        found: set[str] = set()
        with readable(kind=RunError), contextlib.suppress(FileNotFoundError):
            for part in os.scandir(self.path / RUNS):
                found |= {e.name for e in os.scandir(part.path) if "." not in e.name}
        return found

    def failure(self, key: str) -> Failure | None:
        """Return why the run with this key failed at the last attempt, or ``None``."""
        try:
            return Failure(**json.loads(self._failure_path(key).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            return None  # The file is not readable, so the run is tried again.

    def keep_failure(self, key: str, failure: Failure) -> None:
        """Record why a run failed."""
        path = self._failure_path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_durably(path, json.dumps(asdict(failure), indent=2, ensure_ascii=False) + "\n")

    def partial(self, key: str) -> RunFiles | None:
        """Return the first part of an interrupted run, or ``None``."""
        path = self.path / PARTIAL / key
        try:
            return RunFiles(path) if path.is_dir() else None
        except RunError:
            return None

    def forget(self, key: str) -> None:
        """Delete a recorded failure and a partial run, because the run is finished now."""
        self._failure_path(key).unlink(missing_ok=True)
        shutil.rmtree(self.path / PARTIAL / key, ignore_errors=True)

    def table(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the columns of finished runs (:mod:`backwater.results.columns`), by key.

        They come from the index, or from the run itself if the index lacks it.
        """
        there = self.keys()
        known = self._read_index()
        found = {}
        missing = []
        for key in dict.fromkeys(keys):
            if key not in there:
                continue
            row = known.get(key)
            if row is None and (run := self.get(key)) is not None:
                row = columns.row(run.summary)
                missing.append((key, row))
            if row is not None:
                found[key] = row
        with contextlib.suppress(OSError):  # The store may be read-only.
            self.note(missing)
        return found

    def note(self, rows: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Append finished runs to the index."""
        lines = [
            json.dumps({"key": key, "columns": columns.VERSION, "row": row}) + "\n"
            for key, row in rows
        ]
        if not lines:
            return
        handle = os.open(self.path / INDEX, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            # An incomplete line of a killed process must not corrupt the next one. Each writer
            # appends its lines by one call, so lines of several writers do not mix.
            end = os.lseek(handle, 0, os.SEEK_END)
            torn = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
            os.write(handle, ("\n" * torn + "".join(lines)).encode())
        finally:
            os.close(handle)

    def _read_index(self) -> dict[str, dict[str, Any]]:
        rows = {}
        lines: list[bytes] = []
        with readable(kind=RunError), contextlib.suppress(FileNotFoundError):
            lines = (self.path / INDEX).read_bytes().split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError):  # Skip damaged lines.
                entry = json.loads(line)
                if entry["columns"] == columns.VERSION:
                    rows[entry["key"]] = entry["row"]
        return rows

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """Create a work directory for runs, and remove those of campaigns that have ended."""
        try:
            for folder in (RUNS, WORK, PARTIAL):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            sweep_away(self.path / WORK)
            session = Session(self)
        except OSError as error:
            raise RunError(files.explain(error), error.errno) from error
        try:
            yield session
        finally:
            session.close()

    def _failure_path(self, key: str) -> Path:
        return self.path / FAILURES / f"{key}.json"

    def _set_aside(self, path: Path, trouble: str) -> None:
        for number in range(1, 1000):
            aside = path.with_name(f"{path.name}.{_DAMAGED}-{number}")
            if aside.exists():
                continue
            try:
                path.rename(aside)
            except FileNotFoundError:
                return  # Another campaign has already renamed it.
            except OSError as error:
                raise RunError(
                    f"{path}: damaged ({trouble}), and cannot be set aside: {error.strerror}",
                    error.errno,
                ) from error
            self.notices.append(f"{path}: damaged ({trouble}); set aside as {aside.name}")
            return


class Session:
    """The work directory of one campaign, that is, of one call that makes many runs.

    A lock shows that the campaign is running. The system releases the lock when the process ends,
    however it ends. So no process id, host name or clock is needed.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.path = store.path / WORK / f"new-{_random(6)}"
        self.path.mkdir()
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Other campaigns skip names that start with `new-`, because such directories may lack a
        # lock.
        named = self.path.with_name(self.path.name.removeprefix("new-"))
        self.path = self.path.rename(named)

    def place(self, key: str) -> Path:
        """Return a new directory name for a run in progress."""
        return self.path / f"{key[:12]}-{_random(4)}"

    def close(self) -> None:
        """Remove the directory and release the lock."""
        _remove(self.path)
        os.close(self._lock)


def sweep_away(work: Path) -> None:
    """Remove the work directories of campaigns that were killed."""
    for entry in work.iterdir():
        if entry.name.startswith("new-"):
            continue
        try:
            handle = os.open(entry / "lock", os.O_RDWR)
        except FileNotFoundError:
            _remove(entry)
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(entry)
        except BlockingIOError:
            pass  # The campaign is running.
        finally:
            os.close(handle)


def _random(count: int) -> str:
    """Return random bytes in hexadecimal, for names."""
    return os.urandom(count).hex()


def _remove(path: Path) -> None:
    """Rename a work directory, so that its workers cannot write to it, and remove it."""
    trash = path.with_name(f"trash-{_random(6)}")
    with contextlib.suppress(OSError):
        path.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)


def commit(made: Path, final: Path, about: dict[str, Any]) -> None:
    """Rename a run to its final name, after all its files are on the disk."""
    entries = {}
    for name in run_files(made):
        path = made / name
        files.sync(path)
        stat = path.stat()
        entries[name] = {
            "bytes": stat.st_size,
            "modified_ns": stat.st_mtime_ns,
            "hash": hash_file(path),
        }
    stored = {**about, "files": entries}
    (made / STORED).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    files.sync(made / STORED)
    files.sync(made)
    if not final.parent.is_dir():
        final.parent.mkdir(parents=True, exist_ok=True)
        files.sync(final.parent.parent)
    try:
        made.rename(final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        _same(made, final)
    files.sync(final.parent)


def keep_partial(made: Path, final: Path) -> None:
    """Store the first part of an interrupted run, replacing an earlier one."""
    shutil.rmtree(final, ignore_errors=True)
    made.rename(final)


def _same(made: Path, final: Path) -> None:
    """Raise ``RunError`` if the run that another campaign stored differs from this one."""
    ours, theirs = (RunFiles(path) for path in (made, final))
    if ours.digest != theirs.digest:
        raise RunError(
            f"{final}: was made twice with different results (digests {theirs.digest} and "
            f"{ours.digest}); this is a bug of the simulator, please report it"
        )


def damage(path: Path) -> str | None:
    """Return how a stored run differs from what was written; ``None`` if it does not.

    Sizes and times of the files are compared. The contents are compared if a time differs.
    """
    name = STORED
    with readable(kind=RunError):
        try:
            entries = json.loads((path / STORED).read_text(encoding="utf-8"))["files"]
            for name in dict.fromkeys((*RUN_FILES, *entries)):
                entry, stat = entries[name], (path / name).stat()
                if stat.st_size != entry["bytes"]:
                    return f"{name} has {stat.st_size:,} bytes and not {entry['bytes']:,}"
                touched = stat.st_mtime_ns != entry["modified_ns"]
                if touched and hash_file(path / name) != entry["hash"]:
                    return f"the contents of {name} were changed"
        except FileNotFoundError:
            return f"{name} is missing"
        except (ValueError, KeyError, TypeError):
            return f"{STORED} cannot be read"
    return None
