"""Tables for the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from backwater.commands.common import columns
from backwater.results.columns import one_seed, rows_of, text, without_flows
from backwater.results.files import RunFiles
from backwater.results.ranking import Ranking, rank, sentence
from backwater.results.results import Results

MOST = 6
"""Maximum number of runs of several directories that have a column each."""

TOP = 20
"""Maximum number of combinations of a ranking that are printed."""


def print_results(
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> None:
    """Print a column per run, or a ranking if keys or seeds vary. Texts are never shortened.

    Both are printed for a few runs from several directories.
    """
    asked = minimize is not None or maximize is not None or bool(subject_to)
    alone = not results.keys and len(results.seeds) == 1
    together = results.keys == ["results"] and len(results.points) <= MOST
    if (alone or together) and not asked:
        if runs := results.labelled():
            print_table(runs)
        if alone:
            return
    ranking = rank(results, minimize, maximize, subject_to) if results.rows else None
    if ranking is not None:
        print(sentence(results, ranking))
        _print_ranking(results, ranking)


def _print_ranking(results: Results, ranking: Ranking) -> None:
    scale = ranking.column.shown[1]
    lines = [["", *results.keys, "scheme", ranking.column.heading, "95 % interval", "seeds"]]
    for place, row in enumerate(ranking.rows[:TOP], 1):
        one = row.interval
        between = "–"
        if one.low is not None and one.high is not None:
            between = f"{one.low / scale:.4g} to {one.high / scale:.4g}"
        mean = f"{one.estimate / scale:.4g}"
        cells = [str(place), *map(str, row.values), row.scheme, mean, between, str(one.count)]
        lines.append([*cells, f"breaks {', '.join(row.broken)}"] if row.broken else cells)
    print("\n".join(columns(lines, ">")))
    if len(ranking.rows) > TOP:
        print(f"… and {len(ranking.rows) - TOP:,} more")


def print_columns(results: Results, names: Sequence[str]) -> None:
    """Print a row per run with the columns that `names` lists."""
    chosen = [results.column(name) for name in names]
    lines = [[*results.keys, "scheme", "seed", *(column.heading for column in chosen)]]
    for point in results.points:
        row = results.rows.get(point.key, {})
        values = [row.get(column.name, column.absent if row else None) for column in chosen]
        cells = [
            "–" if value is None else value if isinstance(value, str) else f"{value / scale:,.6g}"
            for value, scale in zip(values, (column.shown[1] for column in chosen), strict=True)
        ]
        lines.append([*map(str, point.values), point.scheme, str(point.seed), *cells])
    print("\n".join(columns(lines, ">")))


def print_table(runs: Mapping[str, RunFiles]) -> None:
    """Print the table of results on standard output. Texts are never shortened."""
    summaries = {name: run.summary for name, run in runs.items()}
    lines, styles = [["", *runs]], [_BOLD]
    for group, rows in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        cells = [
            [f"  {row.label}", *(text(row, summary) for summary in summaries.values())]
            for row in rows
            if row.name != "digest"
        ]
        lines += [[group], *cells]
        styles += [_CYAN, *("" for _ in cells)]
    styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for line, style in zip(columns(lines), styles, strict=True):
        print(f"{style}{line}\x1b[0m" if styled and style else line)
    for note in (one_seed(summaries.values()), without_flows(summaries.values())):
        if note:
            print(note)
    for name, run in runs.items():
        print(f"digest {run.digest}  {name}")


_BOLD, _CYAN = "\x1b[1m", "\x1b[36m"


def print_audit(runs: Mapping[str, RunFiles], printed: Collection[str] = ()) -> None:
    """Print errors and warnings of finished runs on standard error, except those in `printed`."""
    for name, run in runs.items():
        summary = run.summary
        new = [one for one in summary["warnings"] if not one.endswith(tuple(printed))]
        lines = [f"warning: {name}: {one}" for one in new]
        threads = summary["performance"].get("threads", {})
        if threads.get("why"):
            used = f"{threads['used']} of {threads['asked']} threads were used"
            lines.append(f"note: {name}: {used}: {threads['why']}")
        lines += [f"error: {name}: {v['check']}: {v['message']}" for v in summary["violations"]]
        if summary["ending"] == "stalled":
            lines.append(f"error: {name}: nothing can go on any more, and flows are unfinished")
        if summary["ending"] == "deadlock":
            lines.append(f"warning: {name}: it ended with a deadlock, as run.on_deadlock says")
        lines += [f"  {line}" for line in summary["stall"]]
        for line in lines:
            print(line, file=sys.stderr)
