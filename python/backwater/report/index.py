"""The page that lists the results below a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from backwater._base.files import write_whole
from backwater.errors import InputError
from backwater.report.document import document
from backwater.results import REPORT, RESULTS, SUMMARY
from backwater.results.columns import audit, column, text
from backwater.results.files import RunFiles

INDEX = "index.html"

DEPTH = 5
"""Number of directory levels that are searched."""

MOST = 2000
"""Maximum number of results that the page lists."""

_COLUMNS = ("workload.time", "fct.short.p99", "fct.long.p99", "buffer.p99", "pfc.time")
_KINDS = {RESULTS: "many runs", SUMMARY: "run"}


def write_index(folder: Path) -> Path:
    """Write ``index.html`` with a row for each result below a directory, and return its path.

    A run has its main numbers, and a result that has a report links to it. Raises ``InputError`` if
    there is no result.
    """
    found = sorted(_search(folder, 0))
    if not found:
        raise InputError(f"{folder}: there is no result at most {DEPTH} directories below it")
    labels = [column(name).label for name in _COLUMNS]
    heads = ["result", "kind", "scenario", "scheme", "seed", "state", "flows", *labels]
    rows = [_row(folder, path, kind) for path, kind in found[:MOST]]
    title = f"Results in {folder.resolve().name}"
    text = document("index.html", title, heads=heads, rows=rows, count=len(found))
    write_whole(folder / INDEX, text)
    return folder / INDEX


def _search(at: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """Yield path and kind of each result below a directory, without the runs in a store."""
    try:
        items = sorted(os.scandir(at), key=lambda item: item.name)
    except OSError:
        return
    names = {item.name for item in items if item.is_file(follow_symlinks=False)}
    kind = next((kind for name, kind in _KINDS.items() if name in names), None)
    if kind:
        yield at, kind
    if depth < DEPTH and kind is None:
        for item in items:
            if item.is_dir(follow_symlinks=False) and not item.name.startswith("."):
                yield from _search(Path(item.path), depth + 1)


def _row(folder: Path, path: Path, kind: str) -> tuple[str, str, list[str]]:
    """Return the name of a result, the address of its report if there is one, and its cells."""
    name = path.relative_to(folder).as_posix()
    link = f"{quote(name)}/{REPORT}" if (path / REPORT).is_file() else ""
    return name, link, [kind, *(_facts(path) if kind == "run" else [""] * (5 + len(_COLUMNS)))]


def _facts(path: Path) -> list[str]:
    run = RunFiles(path)
    return [
        run.name,
        run.scheme,
        str(run.seed),
        audit(run.summary),
        f"{run.summary['flows']['started']:,}",
        *(text(column(name), run.summary) for name in _COLUMNS),
    ]
