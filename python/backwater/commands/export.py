"""``backwater export``: writes results in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from backwater.commands.common import Force, Json, print_json, say
from backwater.commands.declare import App, Argument, Option


def register(app: App) -> None:
    """Add `export`."""
    exporters = App("export", "Write results in the format of another program.")
    exporters.add(export_ns3, "ns3")
    exporters.add(export_operations, "operations")
    app.add_group(exporters, example="backwater export ns3 out/first -o out/ns3")


def export_ns3(
    run: Annotated[Path, Argument(help="Directory of a run.")],
    out: Annotated[
        Path,
        Option("-o", "--out", metavar="DIR", help="Where the files go.", show_default=False),
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write fct.txt, pfc.txt and qlen.txt as HPCC's ns-3 simulator does."""
    from backwater.importers.ns3.export import export_ns3 as export
    from backwater.results.files import RunFiles

    result = export(RunFiles(run), out, force)
    if as_json:
        return print_json({"files": [*map(str, result.files)], "notes": result.notes})
    for note in result.notes:
        say(f"note: {note}")
    for path in result.files:
        say(f"wrote {path}")


def export_operations(
    run: Annotated[Path, Argument(help="Directory of a run.")],
    out: Annotated[
        Path,
        Option("-o", "--out", metavar="FILE", help="The table, CSV.", show_default=False),
    ],
    force: Annotated[bool, Option("--force", help="Write over FILE.")] = False,
    as_json: Json = False,
) -> None:
    """Write when each operation of a workload started and ended, as CSV."""
    from backwater.importers.operations_csv import export_operations as export
    from backwater.results.files import RunFiles

    count = export(RunFiles(run), out, force)
    if as_json:
        print_json({"files": [str(out)], "operations": count})
    else:
        say(f"wrote {out}: {count} operations")
