"""The command line.

Exit codes: 0 all is well; 1 a run failed or violated a check, or its results cannot be written;
2 the input is wrong or not there; 130 Ctrl-C.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Annotated, Any

import click

from backwater.commands import (
    breakdown,
    campaign,
    collectives,
    estimates,
    explain,
    graph,
    host,
    init,
    interchange,
    links,
    live,
    spfc,
    switch,
    timeline,
    wire,
)
from backwater.commands.common import (
    BAD_INPUT,
    FAILED,
    GOOD,
    Capture,
    Force,
    Json,
    Out,
    Overrides,
    Profile,
    Scenario,
    Scheme,
    Seed,
    Threads,
    captured,
    listed,
    say,
    warn,
)
from backwater.commands.declare import App, Argument, Exit, Option
from backwater.commands.outcome import end, watch
from backwater.errors import InputError, RunError, ScenarioError

ELSEWHERE = {
    "paper": "It is part of the package backwater-papers, which is not installed.",
    "validate": "It was removed; a source checkout has it: python -m validation DIR",
    "ui": "It was removed; `backwater report DIR` writes a page that lists the results in DIR.",
}
"""Commands that this package does not contain, each with its place."""


class _Backwater(App):
    """The command line: the commands of this package, then those of installed plug-ins.

    A plug-in is an entry point of the group ``backwater.commands`` that loads a click command.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), *sorted(_plugins().names)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        found = super().get_command(context, name)
        if found is None and name in _plugins().names:
            loaded = _plugins()[name].load()
            assert isinstance(loaded, click.Command), f"plug-in {name} is not a click command"
            return loaded
        return found

    def hint(self, context: click.Context, name: str) -> str:
        return ELSEWHERE.get(name) or super().hint(context, name)


@cache
def _plugins() -> EntryPoints:
    return entry_points(group="backwater.commands")


app = _Backwater(
    "backwater", "Simulate flow control and congestion control in lossless data-centre networks."
)


class Catalogue(StrEnum):
    """What can be listed."""

    SCHEMES = "schemes"
    WORKLOADS = "workloads"
    TOPOLOGIES = "topologies"


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from backwater._core import __version__

        print(f"backwater {__version__}")
        raise Exit


app.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Print the version.",
        show_default=False,
    )
)


@app.add
def run(
    scenario: Scenario,
    scheme: Scheme = None,
    overrides: Overrides = None,
    seed: Seed = None,
    out: Out = None,
    as_json: Json = False,
    force: Force = False,
    profile: Profile = None,
    threads: Threads = 1,
    capture: Capture = None,
) -> None:
    """Simulate a scenario with one scheme."""
    from backwater.running import simulate

    overrides = captured(capture, overrides)
    told = warn(scenario, overrides, seed, [scheme], profile)
    result, stopped = watch(
        [scheme or scenario.stem],
        lambda listener: simulate.run(
            scenario,
            scheme=scheme,
            overrides=overrides or [],
            seed=seed,
            out=out,
            force=force,
            listener=listener,
            profile=profile,
            threads=threads,
        ),
    )
    end(result, stopped, summary=result.summary if as_json else None, told=told)


@app.add
def compare(
    scenario: Scenario,
    schemes: Annotated[
        str,
        Option(
            "--schemes",
            metavar="A,B,…",
            help="Presets to compare, such as bfc,hpcc,dcqcn (`backwater list schemes`).",
            missing="Such as --schemes bfc,hpcc,dcqcn; `backwater list schemes` has all.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    seed: Seed = None,
    out: Out = None,
    jobs: Annotated[
        int | None,
        Option("--jobs", min=1, help="Runs at a time.", show_default="processors / threads"),
    ] = None,
    as_json: Json = False,
    force: Force = False,
    profile: Profile = None,
    threads: Threads = 1,
) -> None:
    """Simulate a scenario with several schemes, all on the same flows, and report."""
    from backwater.running import simulate

    names = listed(schemes, "--schemes")
    told = warn(scenario, overrides, seed, list(names), profile)
    result, stopped = watch(
        names,
        lambda listener: simulate.compare(
            scenario,
            names,
            overrides=overrides or [],
            seed=seed,
            jobs=jobs,
            out=out,
            force=force,
            listener=listener,
            profile=profile,
            threads=threads,
        ),
    )
    summaries = {name: one.summary for name, one in result.items()}
    summary = {"runs": summaries, "failed": result.failed} if as_json else None
    end(result, stopped, summary=summary, told=told)


@app.add
def check(
    scenario: Scenario,
    scheme: Scheme = None,
    overrides: Overrides = None,
    seed: Seed = None,
    resolved: Annotated[
        bool, Option("--resolved", help="Print every value, defaults included.")
    ] = False,
    explain: Annotated[
        bool,
        Option("--explain", help="Say what each threshold means for this fabric, with formulas."),
    ] = False,
    profile: Profile = None,
    as_json: Annotated[
        bool, Option("--json", help="Print the messages as JSON, each with its code.")
    ] = False,
) -> None:
    """Check a scenario for errors and warnings."""
    from backwater.running import simulate

    problems = simulate.check(
        scenario, scheme=scheme, overrides=overrides or [], seed=seed, profile=profile
    )
    errors = sum(problem["severity"] == "error" for problem in problems)
    if as_json:
        print(json.dumps(problems, indent=2))
        raise Exit(BAD_INPUT if errors else GOOD)
    for problem in problems:
        say(problem["text"] + "\n")
    if errors:
        raise Exit(BAD_INPUT)
    if resolved:
        text = simulate.resolve(
            scenario, scheme=scheme, overrides=overrides or [], seed=seed, profile=profile
        )
        print(text, end="")
    if explain:
        _explain(scenario, scheme, overrides, seed, profile)
    if not (resolved or explain):
        count = len(problems)
        warnings = f", {count} warning{'s' if count > 1 else ''}" if count else ""
        print(f"{scenario}: ok{warnings}")


def _explain(
    scenario: Path,
    scheme: str | None,
    overrides: list[str] | None,
    seed: int | None,
    profile: str | None,
) -> None:
    from backwater.running import simulate
    from backwater.scenario import thresholds

    facts = simulate.thresholds(
        scenario, scheme=scheme, overrides=overrides or [], seed=seed, profile=profile
    )
    costs = simulate.resources(
        scenario,
        scheme=scheme,
        overrides=overrides or [],
        seed=seed,
        profile=profile,
        packet_bytes=facts["frame_bytes"],
    )
    print("\n".join(thresholds.lines(facts, costs)))


@app.add
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    from backwater.running import simulate

    print(json.dumps(simulate.schema(), indent=2, ensure_ascii=False))


def list_(
    what: Annotated[Catalogue, Argument(help="What to list.")],
    as_json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what is built in."""
    from backwater.running import simulate

    entries = simulate.catalogue(what.value)
    if as_json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    lines = [(entry["name"], _described(entry)) for entry in entries]
    width = max((len(name) for name, _ in lines), default=0)
    for name, words in lines:
        print(f"{name:<{width}}  {words}".rstrip())


def _described(entry: dict[str, Any]) -> str:
    if "mean_bytes" not in entry:
        return str(entry["summary"])
    from backwater._base.units import bytes_text

    sizes = (f"{part} {bytes_text(entry[f'{part}_bytes'])}" for part in ("mean", "median", "max"))
    return ", ".join(sizes)


app.add(list_, "list")

init.register(app)
breakdown.register(app)
campaign.register(app)
collectives.register(app)
estimates.register(app)
explain.register(app)
graph.register(app)
host.register(app)
interchange.register(app)
links.register(app)
live.register(app)
spfc.register(app)
switch.register(app)
timeline.register(app)
wire.register(app)


def main() -> None:
    """Run the command line and exit."""
    # Batch systems say SIGTERM where a person presses Ctrl-C: what was computed is kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.stdout is None:  # The shell closed it (`>&-`): nobody wants to read.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        app()
        sys.stdout.flush()
    except ScenarioError as error:
        text = str(error)
        marked = any(line.startswith("error: ") for line in text.splitlines())
        say(text if marked else f"error: {text}")
        sys.exit(BAD_INPUT)
    except RunError as error:
        say(f"error: {error}")
        sys.exit(BAD_INPUT if isinstance(error, InputError) else FAILED)
    except UnicodeEncodeError as error:
        say(f"error: an argument is not valid UTF-8 ({error.reason}): {error.object!r}")
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        _drop_output()
        sys.exit(FAILED)
    except OSError as error:
        say(f"error: cannot write to standard output: {error.strerror}")
        _drop_output()
        sys.exit(FAILED)


def _drop_output() -> None:
    """Let nothing more be written to standard output, also not at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
