"""The HTML report, tables in notebooks, and timelines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater._base.files import write_whole
from backwater.results.results import Results

MOST_RUNS = 12
"""Maximum number of runs that a page shows one by one, if they differ by their scheme alone."""


def write_report(
    path: Path,
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> Path:
    """Write the report about results to ``path``: details of a few runs, or a ranking of many."""
    text = render(results, minimize, maximize, subject_to)
    write_whole(path, text)
    return path


def render(
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> str:
    """Return the report about results as HTML."""
    from backwater.report import run, sweep

    asked = minimize is not None or maximize is not None or bool(subject_to)
    alike = not results.keys and len(results.seeds) == 1
    if alike and len(results.points) <= MOST_RUNS and not asked:
        return run.render(results)
    return sweep.render(results, minimize, maximize, subject_to)
