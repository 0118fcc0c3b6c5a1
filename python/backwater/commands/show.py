"""``backwater show``: the table of existing results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from backwater.commands.common import Maximize, Minimize, SubjectTo
from backwater.commands.declare import App, Argument, Option
from backwater.commands.outcome import MOST


def register(app: App) -> None:
    """Add `show`."""
    app.add(
        show,
        example="backwater show out/demo\n"
        "backwater show out/sweep --minimize fct.short.p99 --subject-to pfc.time=0",
    )


def show(
    directories: Annotated[
        list[Path], Argument(metavar="DIR…", help="Of a run, a comparison or a sweep, or several.")
    ],
    minimize: Minimize = None,
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    as_json: Annotated[bool, Option("--json", help="Print the runs as JSON.")] = False,
) -> None:
    """Print the table of existing results: a column for each run, or a ranking of many."""
    from backwater.commands.terminal import print_audit, print_results
    from backwater.results.results import load

    found = load(*directories)
    alone = not found.keys and len(found.seeds) == 1 and len(found.points) <= MOST
    if as_json:
        summaries = {name: run.summary for name, run in found.labelled().items()} if alone else None
        rows = summaries if alone else found.runs.to_dicts()
        print(json.dumps(rows, indent=2, ensure_ascii=False, default=str))
        return
    print_results(found, minimize, maximize, subject_to or [])
    if alone:
        print_audit(found.labelled())
