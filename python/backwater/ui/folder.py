"""What a directory of results holds, and what may be read of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from backwater.errors import InputError
from backwater.results import CAMPAIGN, COMPARISON, SUMMARY, Run, run_files

DEPTH = 5
"""Directories below the first one that are searched."""

MOST = 2000
"""Runs, comparisons and campaigns that are listed."""

_NAME = re.compile(r"[^\W_][\w.+=-]*")
"""A directory of a new run."""

Kind = Literal["run", "comparison", "campaign"]


class Refused(Exception):
    """A request that is not served, with the status of the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that can be shown: where it is, from the directory that is served, and what."""

    path: str
    kind: Kind


class Folder:
    """A directory and all that is below it; nothing else can be had through it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not self.root.is_dir():
            raise InputError(f"{root}: no directory to serve")

    def place(self, name: str) -> Path:
        """Return a path below the directory; links that lead out of it are refused too."""
        if "\0" in name:
            raise Refused(400, "a name with a zero byte")
        path = (self.root / name).resolve()
        if path != self.root and not path.is_relative_to(self.root):
            raise Refused(403, f"`{name}` is outside of the directory that is served")
        return path

    def entries(self) -> list[Entry]:
        """List runs, comparisons (whose runs are listed too) and campaigns, by their paths."""
        found = []
        for entry in self._search(self.root, 0):
            found.append(entry)
            if len(found) == MOST:
                break
        return sorted(found, key=lambda entry: entry.path)

    def _search(self, at: Path, depth: int) -> Iterator[Entry]:
        kinds: dict[str, Kind] = {SUMMARY: "run", COMPARISON: "comparison", CAMPAIGN: "campaign"}
        try:
            with os.scandir(at) as listed:
                items = sorted(listed, key=lambda item: item.name)
        except OSError:
            return  # Not ours to read, or gone by now.
        names = {item.name for item in items if item.is_file(follow_symlinks=False)}
        here = [kind for name, kind in kinds.items() if name in names]
        for kind in here:
            yield Entry(str(at.relative_to(self.root)), kind)
        # The runs of a campaign are in its store, by keys that say nothing to people.
        if depth < DEPTH and "campaign" not in here and "run" not in here:
            for item in items:
                if item.is_dir(follow_symlinks=False) and not item.name.startswith("."):
                    yield from self._search(Path(item.path), depth + 1)

    def run(self, name: str) -> Run:
        """Open a run below the directory."""
        path = self.place(name)
        if not (path / SUMMARY).is_file():
            raise Refused(404, f"`{name}` is no run")
        return Run(path)

    def file(self, name: str) -> Path:
        """Return a file that a run left; other files are not given out."""
        path = self.place(name)
        of = path.parent
        if not (of / SUMMARY).is_file() or path.name not in run_files(of):
            raise Refused(404, f"`{name}` is no file of a run")
        return path

    def free(self, name: str) -> Path:
        """Return the place of a new run, where nothing is yet."""
        if not all(_NAME.fullmatch(part) for part in name.split("/")):
            raise Refused(
                400,
                f"`{name}` cannot be the name of a new run: use letters, digits, `-`, `_`, `+`, "
                "`=` and `.`, not in front, and `/` between directories",
            )
        path = self.place(name)
        if path.exists():
            raise Refused(409, f"`{name}` is there already")
        inside = path.parent
        while inside != self.root:
            if any((inside / file).exists() for file in (SUMMARY, COMPARISON, CAMPAIGN)):
                raise Refused(400, f"`{name}` would lie inside of other results")
            inside = inside.parent
        return path


def facts(run: Run) -> dict[str, Any]:
    """Return what the list shows of a run."""
    from backwater.results.tables import ROWS, audit, text

    shown = ("slowdown_short_p99", "slowdown_long_p99", "buffer_p99_bytes", "pfc_paused_ps")
    rows = {row.key: row for row in ROWS}
    return {
        "scenario": run.name,
        "scheme": run.scheme,
        "seed": str(run.seed),
        "state": audit(run.summary),
        "flows": f"{run.summary['flows']['started']:,}",
        **{key: text(rows[key], run.summary) for key in shown},
    }
