"""``backwater compare``, the older name of ``backwater run --schemes``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

from backwater.commands.common import (
    Force,
    Jobs,
    Json,
    Out,
    Overrides,
    Profile,
    Scenario,
    Seed,
    Threads,
    listed,
    warn,
)
from backwater.commands.declare import App, Option
from backwater.commands.outcome import end, watch


def register(app: App) -> None:
    """Add `compare`."""
    app.add(compare, example="backwater compare scenarios/demo.toml --schemes bfc,hpcc,dcqcn")


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
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    profile: Profile = None,
    threads: Threads = 1,
) -> None:
    """Simulate a scenario with several schemes on the same flows, and report.

    `backwater run --schemes` does the same.
    """
    compare_schemes(scenario, schemes, overrides, seed, out, jobs, as_json, force, profile, threads)


def compare_schemes(
    scenario: Path,
    schemes: str,
    overrides: list[str] | None,
    seed: int | None,
    out: Path | None,
    jobs: int | None,
    as_json: bool,
    force: bool,
    profile: str | None,
    threads: int,
) -> NoReturn:
    """Run a scenario with several schemes, print their table, and exit."""
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
