"""``backwater show``: the table of existing results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from backwater.commands.common import Json, Ranked, listed, print_json
from backwater.commands.declare import App, Argument, Option
from backwater.commands.outcome import MOST


def register(app: App) -> None:
    """Add `show`."""
    app.add(
        show,
        example="backwater show out/demo\n"
        "backwater show out/sweep --minimize fct.short.p99 --subject-to pfc.time=0\n"
        "backwater show out/sweep --columns fct.short.p99,counters.timeouts",
    )


def show(
    directories: Annotated[
        list[Path], Argument(metavar="DIR…", help="Of a run, a comparison or a sweep, or several.")
    ],
    ranked: Ranked,
    columns: Annotated[
        str | None,
        Option("--columns", metavar="A,B,…", help="Print only these, such as counters.timeouts."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the table of existing results: a column for each run, or a ranking of many.

    With --columns it prints a row for each run. backwater.columns() lists the names.
    """
    from backwater.commands.terminal import print_audit, print_columns, print_results
    from backwater.results.results import load

    found = load(*directories)
    alone = not found.keys and len(found.seeds) == 1 and len(found.points) <= MOST
    if as_json:
        summaries = {name: run.summary for name, run in found.labelled().items()} if alone else None
        rows = summaries if alone else found.runs.to_dicts()
        return print_json(rows)
    if columns is not None:
        return print_columns(found, listed(columns, "--columns"))
    print_results(found, **ranked.options())
    if alone:
        print_audit(found.labelled())
