"""``backwater run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    Schemes,
    Seed,
    Seeds,
    Threads,
    captured,
    chosen,
    listed,
    refuse_schemes,
    seeds_of,
    warn,
)
from backwater.commands.declare import App, BadParameter
from backwater.commands.outcome import end, watch

if TYPE_CHECKING:
    from backwater.results.results import Results


def register(app: App) -> None:
    """Add `run`."""
    app.add(
        run,
        example="backwater run scenarios/demo.toml --scheme hpcc\n"
        "backwater run scenarios/demo.toml --schemes bfc,hpcc,dcqcn --seeds 1-5",
    )


def run(
    scenario: Scenario,
    scheme: Scheme = None,
    schemes: Schemes = None,
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
    """Simulate a scenario, with one scheme or with several, and with one seed or several."""
    from backwater.running.run import run as simulate

    if scheme is not None and schemes is not None:
        raise BadParameter("--scheme names one preset, --schemes several; give one of them")
    if seed is not None and seeds is not None:
        raise BadParameter("--seed names one seed, --seeds several; give one of them")
    many = schemes is not None or seeds is not None
    if jobs is not None and not many:
        raise BadParameter("--jobs is for several runs: give --schemes or --seeds")
    names = None if schemes is None else listed(schemes, "--schemes")
    numbers = None if seeds is None else seeds_of(seeds)
    given = chosen(scenario, scheme, captured(capture, overrides), seed, profile)
    refuse_schemes(given, names or [])
    printed = warn(given, names or [scheme])
    options: dict[str, Any] = {"jobs": jobs} if many else {}
    result, stopped = watch(
        scenario.stem,
        lambda listener: simulate(
            given,
            schemes=names,
            seeds=numbers,
            out=out,
            force=force,
            listener=listener,
            threads=threads,
            **options,
        ),
    )
    end(result, stopped, summary=_summary(result, many) if as_json else None, printed=printed)


def _summary(result: Results, many: bool) -> dict[str, Any]:
    runs = result.labelled()
    if not many:
        (run,) = runs.values()
        return run.summary
    failed = {
        result.label(point): failure.message
        for point in result.points
        if (failure := result.failed.get(point.key))
    }
    return {"runs": {name: run.summary for name, run in runs.items()}, "failed": failed}
