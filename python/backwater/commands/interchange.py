"""Commands that read, write and compare with what other simulators' users have."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from backwater.commands.common import FAILED, Force, say


def _family(about: str) -> typer.Typer:
    """Return an empty family of commands that looks like the top level."""
    return typer.Typer(
        help=about,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def register(app: typer.Typer) -> None:
    """Add `import`, `export` and `validate`."""
    importers = _family("Turn inputs of another simulator into a scenario.")
    importers.callback()(_import)
    importers.command("ns3")(import_ns3)
    app.add_typer(importers, name="import")
    exporters = _family("Write results as another simulator does.")
    exporters.callback()(_export)
    exporters.command("ns3")(export_ns3)
    app.add_typer(exporters, name="export")
    app.command("validate")(validate)


def _import() -> None:
    """Turn inputs of another simulator into a scenario."""


def _export() -> None:
    """Write results as another simulator does."""


def import_ns3(
    config: Annotated[
        Path, typer.Argument(help="config.txt of HPCC's ns-3 simulator.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="The scenario.", show_default="NAME.toml"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over FILE even if no import made it.")
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
    say(f"run it as ns-3 would with: backwater run {shlex.quote(str(out))} --profile ns3")


def export_ns3(
    run: Annotated[Path, typer.Argument(help="Directory of a run.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Where the files go.", show_default=False),
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


def validate(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A case (config.txt and fct.txt of an ns-3 run, or flows_fct.csv of the simulator "
            "of BFC's or of Floodgate's authors), or a folder with cases.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Where validation.json and the figures go.",
            show_default="out/validate-DIR",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Keep each case's scenario, run and export here."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a page with the table and the figures."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Run cases of another simulator and say how far the results are apart."""
    from backwater.interchange import cases, verdicts
    from backwater.interchange.validate import validate as compare

    found = compare(cases.find(folder), keep, lambda name: say(f"running {name}"))
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
        raise typer.Exit(FAILED)
