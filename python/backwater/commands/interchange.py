"""Commands that read inputs of other simulators and write results in their formats."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from backwater.commands import workload_imports
from backwater.commands.common import Force, say
from backwater.commands.declare import App, Argument, Option


def register(app: App) -> None:
    """Add `import` and `export`."""
    importers = App("import", "Turn inputs of another simulator into a scenario.")
    importers.add(import_ns3, "ns3")
    workload_imports.register(importers)
    app.add_command(importers)
    exporters = App("export", "Write results as another simulator does.")
    exporters.add(export_ns3, "ns3")
    exporters.add(export_operations, "operations")
    app.add_command(exporters)


def import_ns3(
    config: Annotated[Path, Argument(help="config.txt of HPCC's ns-3 simulator.")],
    out: Annotated[
        Path | None,
        Option("-o", "--out", metavar="FILE", help="The scenario.", show_default="NAME.toml"),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Write over FILE even if no import made it.")
    ] = False,
) -> None:
    """Make a scenario of config.txt and the topology and flows that it names."""
    from backwater.importers.common.output import scenario_name
    from backwater.importers.ns3 import scenario as importing

    if out is None:
        out = Path(f"{scenario_name(config.resolve().parent.name)}.toml")
    result = importing.write(config, out, force)
    for problem in result.warnings:
        say(problem["text"] + "\n")
    say(f"scenario: {out}")
    run = f"backwater run {shlex.quote(str(out))}"
    say(f"run it as ns-3 would with: {run} --profile ns3" if result.profile else f"run it: {run}")


def export_ns3(
    run: Annotated[Path, Argument(help="Directory of a run.")],
    out: Annotated[
        Path,
        Option("-o", "--out", metavar="DIR", help="Where the files go.", show_default=False),
    ],
    force: Force = False,
) -> None:
    """Write fct.txt, pfc.txt and qlen.txt as HPCC's ns-3 simulator does."""
    from backwater.importers.ns3.export import export_ns3 as export
    from backwater.results import Run

    result = export(Run(run), out, force)
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
) -> None:
    """Write when each operation of a workload started and ended, as CSV."""
    from backwater.importers.operations_csv import export_operations as export
    from backwater.results import Run

    count = export(Run(run), out, force)
    say(f"wrote {out}: {count} operations")
