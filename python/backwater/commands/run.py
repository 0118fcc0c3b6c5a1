"""``backwater run``."""

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
    Scheme,
    Seed,
    Threads,
    captured,
    warn,
)
from backwater.commands.compare import compare_schemes
from backwater.commands.declare import App, BadParameter, Option
from backwater.commands.outcome import end, watch


def register(app: App) -> None:
    """Add `run`."""
    app.add(
        run,
        example="backwater run scenarios/demo.toml --scheme hpcc\n"
        "backwater run scenarios/demo.toml --schemes bfc,hpcc,dcqcn",
    )


def run(
    scenario: Scenario,
    scheme: Scheme = None,
    schemes: Annotated[
        str | None,
        Option(
            "--schemes",
            metavar="A,B,…",
            help="Compare these presets on the same flows, and write a report.",
        ),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    out: Out = None,
    as_json: Json = False,
    force: Force = False,
    profile: Profile = None,
    threads: Threads = 1,
    capture: Capture = None,
    jobs: Jobs = None,
) -> None:
    """Simulate a scenario with one scheme, or compare several."""
    from backwater.running import simulate

    overrides = captured(capture, overrides)
    if schemes is not None:
        if scheme is not None:
            raise BadParameter("--scheme names one preset, --schemes several; give one of them")
        compare_schemes(
            scenario, schemes, overrides, seed, out, jobs, as_json, force, profile, threads
        )
    if jobs is not None:
        raise BadParameter("--jobs is for several runs: give --schemes")
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
