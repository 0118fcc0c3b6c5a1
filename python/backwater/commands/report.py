"""``backwater report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from backwater.commands.declare import App, Argument, Option
from backwater.commands.kinds import Kind, kind_of


def register(app: App) -> None:
    """Add `report`."""
    app.add(report, example="backwater report out/demo")


def report(
    directory: Annotated[
        Path,
        Argument(metavar="DIR", help="Of a run, a comparison or a campaign, or above several."),
    ],
    as_json: Annotated[bool, Option("--json", help="Print the path as JSON.")] = False,
) -> None:
    """Write the report of results and print its path.

    If DIR is not a result itself but contains several, the report is DIR/index.html: a list of
    them with their main numbers and links to their reports.
    """
    from backwater.report.index import write_index
    from backwater.results import load

    is_result = kind_of(directory) is not Kind.DIRECTORY
    path = load(directory).report() if is_result else write_index(directory)
    print(json.dumps({"report": str(path)}) if as_json else path)
