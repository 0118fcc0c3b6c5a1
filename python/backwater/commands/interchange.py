"""Commands that read, write and compare with what other simulators' users have."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from backwater.commands import workload_imports
from backwater.commands.common import FAILED, Force, say
from backwater.commands.declare import App, Argument, Exit, Option


def register(app: App) -> None:
    """Add `import`, `export` and `validate`."""
    importers = App("import", "Turn inputs of another simulator into a scenario.")
    importers.add(import_ns3, "ns3")
    workload_imports.register(importers)
    app.add_command(importers)
    exporters = App("export", "Write results as another simulator does.")
    exporters.add(export_ns3, "ns3")
    exporters.add(export_operations, "operations")
    app.add_command(exporters)
    app.add(validate)


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
    from backwater.interchange import importing

    if out is None:
        out = Path(f"{importing.scenario_name(config.resolve().parent.name)}.toml")
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
    from backwater.interchange.exporting import export_ns3 as export
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
    from backwater.interchange.operations_csv import export_operations as export
    from backwater.results import Run

    count = export(Run(run), out, force)
    say(f"wrote {out}: {count} operations")


def validate(
    folder: Annotated[
        Path,
        Argument(
            metavar="DIR",
            help="A case (config.txt and fct.txt of an ns-3 run, or flows_fct.csv of the simulator "
            "of BFC's or of Floodgate's authors), or a folder with cases.",
        ),
    ],
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Where validation.json and the figures go.",
            show_default="out/validate-DIR",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        Option(metavar="OUT", help="Keep each case's scenario, run and export here."),
    ] = None,
    markdown: Annotated[
        Path | None,
        Option(metavar="FILE", help="Also write a page with the table and the figures."),
    ] = None,
    seeds: Annotated[
        int,
        Option(
            min=1,
            metavar="N",
            help="Runs of a case in which chance has a part: those of BFC's authors.",
        ),
    ] = 5,
    as_json: Annotated[bool, Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Run cases of another simulator and say how far the results are apart."""
    from backwater.interchange import cases, verdicts
    from backwater.interchange.validate import validate as compare

    found = compare(cases.find(folder), keep, lambda name: say(f"running {name}"), seeds)
    place = out or Path("out") / f"validate-{folder.resolve().name}"
    written = verdicts.write_results(place, found)
    if markdown is not None:
        command = f"backwater validate DIR --markdown {markdown.name}"
        written += verdicts.write_markdown(markdown, found, command)
    if as_json:
        print((place / "validation.json").read_text(encoding="utf-8"), end="")
    else:
        verdicts.print_verdicts(found)
    for verdict in found:
        for reason in verdicts.broken(verdict):
            say(f"error: {verdict.name}: {reason}")
    for path in written:
        say(f"wrote {path}")
    if not all(verdict.held for verdict in found):
        raise Exit(FAILED)
