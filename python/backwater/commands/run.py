"""``backwater run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.commands.common import (
    Capture,
    Making,
    Profiled,
    Schemes,
    Seeds,
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
    given: Profiled,
    *,
    schemes: Schemes = None,
    seeds: Seeds = None,
    capture: Capture = None,
    making: Making,
) -> None:
    """Simulate a scenario, with one scheme or with several, and with one seed or several."""
    from backwater.running.run import run as simulate

    if given.scheme is not None and schemes is not None:
        raise BadParameter("--scheme names one preset, --schemes several; give one of them")
    if given.seed is not None and seeds is not None:
        raise BadParameter("--seed names one seed, --seeds several; give one of them")
    many = schemes is not None or seeds is not None
    if making.jobs is not None and not many:
        raise BadParameter("--jobs is for several runs: give --schemes or --seeds")
    names = None if schemes is None else listed(schemes, "--schemes")
    numbers = None if seeds is None else seeds_of(seeds)
    scenario = given.load(capture)
    refuse_schemes(scenario, names or [])
    printed = warn(scenario, names or [given.scheme])
    options: dict[str, Any] = {"jobs": making.jobs} if many else {}
    result, stopped = watch(
        given.scenario.stem,
        lambda listener: simulate(
            scenario,
            schemes=names,
            seeds=numbers,
            out=making.out,
            force=making.force,
            listener=listener,
            threads=making.threads,
            **options,
        ),
    )
    summary = _summary(result, many) if making.as_json else None
    end(result, stopped, summary=summary, printed=printed)


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
