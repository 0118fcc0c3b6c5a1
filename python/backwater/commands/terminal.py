"""Tables for the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

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

    Few results of several directories have both.
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
    _print_lines(lines)
    if len(ranking.rows) > TOP:
        print(f"… and {len(ranking.rows) - TOP:,} more")


def print_columns(results: Results, names: Sequence[str]) -> None:
    """Print a row per run with these columns."""
    columns = [results.column(name) for name in names]
    lines = [[*results.keys, "scheme", "seed", *(column.heading for column in columns)]]
    for point in results.points:
        row = results.rows.get(point.key, {})
        values = [row.get(column.name, column.absent if row else None) for column in columns]
        cells = [
            "–" if value is None else value if isinstance(value, str) else f"{value / scale:,.6g}"
            for value, scale in zip(values, (column.shown[1] for column in columns), strict=True)
        ]
        lines.append([*map(str, point.values), point.scheme, str(point.seed), *cells])
    _print_lines(lines)


def _print_lines(lines: Sequence[Sequence[str]]) -> None:
    """Print cells in columns that are aligned right. A line may have one more cell than the first.

    That cell is not aligned.
    """
    widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(len(lines[0]))]
    for line in lines:
        print(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, [*widths, 0], strict=False))
        )


def print_table(runs: Mapping[str, RunFiles]) -> None:
    """Print the table of results on standard output. Texts are never shortened."""
    summaries = {name: run.summary for name, run in runs.items()}
    lines: list[list[_Cell]] = [[("", ""), *((name, _BOLD) for name in runs)]]
    for group, rows in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        lines.append([(group, _CYAN)])
        for row in rows:
            if row.name == "digest":
                continue
            cells = [(text(row, summary), "") for summary in summaries.values()]
            lines.append([(f"  {row.label}", ""), *cells])
    widths = [
        max(len(line[column][0]) for line in lines if column < len(line))
        for column in range(len(runs) + 1)
    ]
    styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    for line in lines:
        print("  ".join(_padded(line, widths, styled)).rstrip())
    for note in (one_seed(summaries.values()), without_flows(summaries.values())):
        if note:
            print(note)
    for name, run in runs.items():
        print(f"digest {run.digest}  {name}")


_Cell = tuple[str, str]
"""A text, and the code of its style if it has one."""

_BOLD, _CYAN = "\x1b[1m", "\x1b[36m"


def _padded(line: list[_Cell], widths: list[int], styled: bool) -> Iterator[str]:
    """Pad cells to their widths. The first column is aligned left, the others right."""
    for column, ((words, style), width) in enumerate(zip(line, widths, strict=False)):
        space = " " * (width - len(words))
        shown = f"{style}{words}\x1b[0m" if styled and style else words
        yield space + shown if column else shown + space


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
