"""``backwater show``: the table of existing results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from backwater.commands.declare import App, Argument, Option


def register(app: App) -> None:
    """Add `show`."""
    app.add(show, example="backwater show out/demo")


def show(
    directory: Annotated[Path, Argument(metavar="DIR", help="Of a run, a comparison or a sweep.")],
    as_json: Annotated[bool, Option("--json", help="Print the summaries as JSON.")] = False,
) -> None:
    """Print the table of existing results: a column for each run, or a row for sweeps."""
    from backwater.commands.terminal import print_audit, print_table
    from backwater.results import Comparison, Run, load

    found = load(directory)
    if not isinstance(found, Run | Comparison):
        frame = found.table
        print(json.dumps(frame.to_dicts(), indent=2, default=str) if as_json else _text(frame))
        return
    runs = {found.scheme: found} if isinstance(found, Run) else dict(found.runs)
    if as_json:
        summaries = {name: run.summary for name, run in runs.items()}
        print(json.dumps(summaries, indent=2, ensure_ascii=False))
        return
    print_table(runs)
    print_audit(runs)


def _text(frame: object) -> str:
    import polars as pl

    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_width_chars=200):
        return str(frame)
