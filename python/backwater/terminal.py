"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from backwater.tables import ROWS, best, text

if TYPE_CHECKING:
    from backwater.results import Run


def print_table(runs: Mapping[str, Run]) -> None:
    """Print the table of results on standard output."""
    from rich.console import Console
    from rich.measure import measure_renderables
    from rich.table import Table
    from rich.text import Text

    summaries = {name: run.summary for name, run in runs.items()}
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    for name in runs:
        table.add_column(name, justify="right", no_wrap=True)
    for group, rows in groupby(ROWS, key=lambda row: row.group):
        table.add_row(Text(group, style="cyan"))
        for row in rows:
            if row.key == "digest":
                continue
            winners = best(row, summaries)
            cells = [
                Text(text(row, summary), style="bold" if name in winners else "")
                for name, summary in summaries.items()
            ]
            table.add_row(Text(f"  {row.label}"), *cells)
    # Nothing is cut: where the window is too narrow, lines go on in the next.
    console = Console(highlight=False)
    needed = measure_renderables(console, console.options.update(width=10_000), [table]).maximum
    wide = Console(highlight=False, width=max(needed, min(console.width, 80)))
    wide.print(table, crop=False, soft_wrap=True)
    for name, run in runs.items():
        console.print(f"digest {run.digest}  {name}", soft_wrap=True)


def print_audit(runs: Mapping[str, Run]) -> None:
    """Print on standard error what is wrong or doubtful about finished runs."""
    for name, run in runs.items():
        summary = run.summary
        lines = [f"warning: {name}: {warning}" for warning in summary["warnings"]]
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
