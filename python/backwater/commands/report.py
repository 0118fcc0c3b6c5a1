"""``backwater report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from backwater.commands.common import Json, Ranked, print_json
from backwater.commands.declare import App, Argument, BadParameter, Option
from backwater.commands.kinds import Kind, kind_of


def register(app: App) -> None:
    """Add `report`."""
    app.add(
        report,
        example="backwater report out/demo\n"
        "backwater report out/sweep --minimize fct.short.p99 --subject-to pfc.time=0\n"
        "backwater report out/rails out/fat-tree -o fabrics.html",
    )


def report(
    directories: Annotated[
        list[Path],
        Argument(metavar="DIR…", help="Of a run, a comparison or a sweep, or above several."),
    ],
    ranked: Ranked,
    out: Annotated[
        Path | None,
        Option("-o", "--out", metavar="FILE", help="The page.", show_default="DIR/report.html"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of results and print its path.

    Several results are compared in one report. If DIR is not a result itself but contains several,
    the report is DIR/index.html: a list of them with their main numbers and links to their reports.
    """
    from backwater.report.index import write_index
    from backwater.results.results import load

    if len(directories) > 1 and out is None:
        raise BadParameter("several directories have no common one: name the page by -o FILE")
    if len(directories) == 1 and kind_of(directories[0]) is Kind.DIRECTORY:
        path = write_index(directories[0])
    else:
        path = load(*directories).report(out, **ranked.options())
    if as_json:
        return print_json({"report": str(path)})
    print(path)
