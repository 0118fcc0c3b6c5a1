"""``python -m validation DIR``: runs cases of another simulator and compares the results."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from backwater.errors import RunError
from validation import cases, verdicts
from validation.limits import validate

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="DIR", type=_PATH)
@click.option(
    "-o",
    "--out",
    metavar="OUT",
    type=_PATH,
    help="Directory of validation.json and the figures (default: out/validate-DIR).",
)
@click.option(
    "--keep", metavar="OUT", type=_PATH, help="Keep the scenario, run and export of each case here."
)
@click.option(
    "--markdown", metavar="FILE", type=_PATH, help="Also write a page with table and figures."
)
@click.option(
    "--seeds",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Runs of each case that depends on chance.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def main(
    folder: Path,
    out: Path | None,
    keep: Path | None,
    markdown: Path | None,
    seeds: int,
    as_json: bool,
) -> None:
    """Run cases of another simulator and report how far the results differ.

    DIR is a case, or a folder with cases: config.txt and fct.txt of an ns-3 run, or flows_fct.csv
    of the simulator of BFC's or of Floodgate's authors. The exit status is 1 if a limit is broken
    and 2 if a case cannot be read.
    """
    try:
        found = validate(cases.find(folder), keep, lambda name: _say(f"running {name}"), seeds)
        place = out or Path("out") / f"validate-{folder.resolve().name}"
        written = verdicts.write_results(place, found)
        if markdown is not None:
            command = f"python -m validation DIR --markdown {markdown.name}"
            written += verdicts.write_markdown(markdown, found, command)
    except RunError as error:
        _say(f"error: {error}")
        sys.exit(2)
    if as_json:
        click.echo((place / "validation.json").read_text(encoding="utf-8"), nl=False)
    else:
        verdicts.print_verdicts(found)
    for verdict in found:
        for reason in verdicts.broken(verdict):
            _say(f"error: {verdict.name}: {reason}")
    for path in written:
        _say(f"wrote {path}")
    sys.exit(0 if all(verdict.held for verdict in found) else 1)


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
