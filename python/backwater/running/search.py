"""Searches for the best values of several parameters, with parallel evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from backwater.errors import RunError
from backwater.results import columns
from backwater.results.store import Store
from backwater.running.engine import run_all
from backwater.running.progress import Listener
from backwater.scenario import Scenario
from backwater.scenario.recommend import Thresholds

Steps = tuple[int, ...]
"""A point: for each parameter the number of doublings from its start."""


def search(
    dimensions: int,
    evaluate: Callable[[Sequence[Steps]], Mapping[Steps, float]],
    budget: int,
) -> dict[Steps, float]:
    """Minimise a function of points by moving to the best neighbour until no neighbour is better.

    ``evaluate`` returns the value of each point, which is infinity for an invalid point. At most
    ``budget`` points are evaluated. Returns the value of each point, including the start (zeros).
    """
    at: Steps = (0,) * dimensions
    known: dict[Steps, float] = {}
    wanted = [at]
    while wanted and len(known) < budget:
        known.update(evaluate(wanted[: budget - len(known)]))
        best = min(known, key=lambda point: (known[point], point != at))
        if best == at and len(known) > 1:
            break
        at = best
        neighbours = (
            tuple(step + (sign if i == axis else 0) for i, step in enumerate(at))
            for axis in range(dimensions)
            for sign in (-1, 1)
        )
        wanted = [point for point in neighbours if point not in known]
    return known


def scaled(start: Thresholds, point: Steps) -> Thresholds:
    """Return thresholds whose Kmin, Kmax and alpha are multiplied by powers of two."""
    kmin, kmax, alpha = point
    return replace(
        start,
        kmin_bytes=max(1, round(start.kmin_bytes * 2.0**kmin)),
        kmax_bytes=max(1, round(start.kmax_bytes * 2.0**kmax)),
        alpha=start.alpha * 2.0**alpha,
    )


def simulated(
    scenario: Scenario,
    start: Thresholds,
    seeds: Sequence[int],
    store: Path,
    minimize: str,
    jobs: int | None = None,
    listener: Listener | None = None,
) -> Callable[[Sequence[Steps]], dict[Steps, float]]:
    """Return a function that simulates points and returns the mean of a column over seeds.

    A point with lost packets, with a violated check, or with Kmin above Kmax is infinite.
    A seed without a value in this column does not count: with the same seed all points have the
    same flows.

    Raises
    ------
    RunError
        If a run fails, or if no run has the column.

    """
    column = columns.column(minimize)
    objective = column.name

    def evaluate(points: Sequence[Steps]) -> dict[Steps, float]:
        wanted: dict[Steps, list[Scenario]] = {}
        for point in points:
            values = scaled(start, point)
            if values.kmin_bytes <= values.kmax_bytes:
                changed = scenario.set([*values.overrides(), 'run.on_loss="warn"'])
                wanted[point] = [changed.set(seed=seed) for seed in seeds]
        outcome = run_all(
            [one for several in wanted.values() for one in several],
            Store(store),
            jobs=jobs,
            listener=listener,
        )
        if outcome.failed:
            failure = next(iter(outcome.failed.values()))
            raise RunError(f"a run of the search failed: {failure.message}\n  {failure.command}")
        found = dict.fromkeys(points, math.inf)
        for point, several in wanted.items():
            runs = [outcome.runs[one] for one in several]
            rows = [columns.row(run.summary) for run in runs]
            of_runs = [row.get(objective, column.absent) for row in rows]
            measured = [float(value) for value in of_runs if value is not None]
            if not measured:
                there = sorted({name for row in rows for name in row} - {objective})
                hint = columns.near(minimize, there)
                raise RunError(f"no run has a value of `{minimize}` (--minimize); {hint}")
            if all(run.ok and row["drops"] == 0 for run, row in zip(runs, rows, strict=True)):
                found[point] = sum(measured) / len(measured)
        return found

    return evaluate
