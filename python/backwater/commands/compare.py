"""``backwater compare``, the older name of ``backwater run --schemes``."""

from __future__ import annotations

from typing import Annotated

from backwater.commands.common import (
    Capture,
    Force,
    Jobs,
    Json,
    Out,
    Overrides,
    Profile,
    Scenario,
    Seed,
    Seeds,
    Threads,
)
from backwater.commands.declare import App, Option
from backwater.commands.run import run


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
    seeds: Seeds = None,
    out: Out = None,
    jobs: Jobs = None,
    as_json: Json = False,
    force: Force = False,
    profile: Profile = None,
    threads: Threads = 1,
    capture: Capture = None,
) -> None:
    """Simulate a scenario with several schemes on the same flows, and report.

    `backwater run --schemes` does the same.
    """
    run(
        scenario,
        schemes=schemes,
        overrides=overrides,
        seed=seed,
        seeds=seeds,
        out=out,
        jobs=jobs,
        as_json=as_json,
        force=force,
        profile=profile,
        threads=threads,
        capture=capture,
    )
