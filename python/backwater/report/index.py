"""The page that lists the results below a directory."""

from __future__ import annotations

import html
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
    head = "".join(f'<th scope="col">{html.escape(label)}</th>' for label in heads)
    body = "\n".join(_row(folder, path, kind) for path, kind in found[:MOST])
    cut = f"<p>The first {MOST:,} of {len(found):,} results.</p>" if len(found) > MOST else ""
    table = (
        f'<div class="scroll"><table class="words"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    title = f"Results in {folder.resolve().name}"
    sections = [f"<h1>{html.escape(title)}</h1>", cut, table]
    write_whole(folder / INDEX, document(title, sections, [], []))
    return folder / INDEX


def _search(at: Path, depth: int) -> Iterator[tuple[Path, str]]:
    """Return the results below a directory, without the runs in a store."""
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


def _row(folder: Path, path: Path, kind: str) -> str:
    name = path.relative_to(folder).as_posix()
    place = html.escape(name)
    if (path / REPORT).is_file():
        place = f'<a href="{quote(name)}/{REPORT}">{place}</a>'
    cells = [kind, *(_facts(path) if kind == "run" else [""] * (5 + len(_COLUMNS)))]
    return f"<tr><td>{place}</td>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"


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
