"""Tables for the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from backwater.results.tables import best, one_seed, rows_of, text, without_flows

if TYPE_CHECKING:
    from backwater.results import Run


def print_table(runs: Mapping[str, Run]) -> None:
    """Print the table of results on standard output; nothing of it is cut."""
    summaries = {name: run.summary for name, run in runs.items()}
    lines: list[list[_Cell]] = [[("", ""), *((name, _BOLD) for name in runs)]]
    for group, rows in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        lines.append([(group, _CYAN)])
        for row in rows:
            if row.key == "digest":
                continue
            winners = best(row, summaries)
            cells = [
                (text(row, summary), _BOLD if name in winners else "")
                for name, summary in summaries.items()
            ]
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
"""A text and the code of its style, if any."""

_BOLD, _CYAN = "\x1b[1m", "\x1b[36m"


def _padded(line: list[_Cell], widths: list[int], styled: bool) -> Iterator[str]:
    """Give the cells at their widths: the first begins at the left, the others end at the right."""
    for column, ((words, style), width) in enumerate(zip(line, widths, strict=False)):
        space = " " * (width - len(words))
        shown = f"{style}{words}\x1b[0m" if styled and style else words
        yield space + shown if column else shown + space


def print_audit(runs: Mapping[str, Run], told: Collection[str] = ()) -> None:
    """Print on standard error what is wrong or doubtful about finished runs, but what is `told`."""
    for name, run in runs.items():
        summary = run.summary
        lines = [f"warning: {name}: {new}" for new in summary["warnings"] if new not in told]
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
