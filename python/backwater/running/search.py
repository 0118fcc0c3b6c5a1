"""Searches for the best values of several parameters, with parallel evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from backwater.errors import RunError
from backwater.results import STORE, columns, statistics
from backwater.results.results import Point
from backwater.results.store import Store
from backwater.running.directories import claim_many
from backwater.running.engine import run_all
from backwater.running.progress import Listener
from backwater.running.run import write_list
from backwater.scenario import Scenario
from backwater.scenario.recommend import Thresholds

Steps = tuple[int, ...]
"""A point: for each parameter the number of doublings from its start."""


VARIED = ("scheme.ecn.kmin", "scheme.ecn.kmax", "scheme.pfc.xoff")
"""The keys that a search changes."""


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
    """Multiply Kmin, Kmax and alpha of thresholds by powers of two, with the steps as exponents."""
    kmin, kmax, alpha = point
    return replace(
        start,
        kmin_bytes=max(1, round(start.kmin_bytes * 2.0**kmin)),
        kmax_bytes=max(1, round(start.kmax_bytes * 2.0**kmax)),
        alpha=start.alpha * 2.0**alpha,
    )


@dataclass(frozen=True)
class Simulations:
    """Simulates points of a search, and keeps the results in the directory ``out``."""

    scenario: Scenario
    start: Thresholds
    seeds: Sequence[int]
    out: Path
    column: columns.Column
    jobs: int | None = None
    listener: Listener | None = None
    rows: dict[Steps, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """For each simulated point, the summary of each seed as a row of columns."""

    listed: list[Point] = field(default_factory=list)
    """The runs of all simulated points."""

    def means(self, points: Sequence[Steps]) -> dict[Steps, float]:
        """Simulate points, and return the mean of ``column`` over the seeds for each.

        The value is infinite for a point with lost packets, with a violated check, or with Kmin
        above Kmax. A seed without a value in this column does not count. This is fair, because all
        points have the same flows at the same seed.

        Raises
        ------
        RunError
            If a run fails, or if no run has the column.

        """
        wanted: dict[Steps, dict[int, Scenario]] = {}
        for point in points:
            values = scaled(self.start, point)
            if values.kmin_bytes <= values.kmax_bytes:
                changed = self.scenario.set([*values.overrides(), 'run.on_loss="warn"'])
                wanted[point] = {seed: changed.set(seed=seed) for seed in self.seeds}
        self._list(wanted)
        outcome = run_all(
            [one for several in wanted.values() for one in several.values()],
            Store(self.out / STORE),
            jobs=self.jobs,
            listener=self.listener,
        )
        if outcome.failed:
            failure = next(iter(outcome.failed.values()))
            raise RunError(f"a run of the search failed: {failure.message}\n  {failure.command}")
        found = dict.fromkeys(points, math.inf)
        for point, several in wanted.items():
            runs = {seed: outcome.runs[one] for seed, one in several.items()}
            rows = self.rows[point] = {s: columns.row(run.summary) for s, run in runs.items()}
            measured = self.by_seed(point)
            if not measured:
                there = {name for row in rows.values() for name in row} - {self.column.name}
                hint = columns.near(self.column.name, sorted(there))
                raise RunError(f"no run has a value of `{self.column.name}` (--minimize); {hint}")
            if all(run.ok and rows[seed]["drops"] == 0 for seed, run in runs.items()):
                found[point] = sum(measured.values()) / len(measured)
        return found

    def _list(self, wanted: Mapping[Steps, Mapping[int, Scenario]]) -> None:
        """Add the runs of points to the list of runs in the directory."""
        name = f"recommend {self.scenario.name}"
        claim_many(self.out, name, force=False)
        for point, several in wanted.items():
            settings = dict(one.split("=", 1) for one in scaled(self.start, point).overrides())
            values = tuple(settings[key] for key in VARIED)
            for seed, one in several.items():
                scheme = one.values["scheme"]["preset"]
                self.listed.append(Point(one.key, values, scheme, seed, one.command))
        about = {"name": name, "store": STORE, "keys": VARIED, "axes": [[key] for key in VARIED]}
        source = {"scenario": self.scenario.source, "scenario_text": self.scenario.text}
        write_list(self.out, about | source, self.listed)

    def by_seed(self, point: Steps, column: columns.Column | None = None) -> dict[int, float]:
        """Return the value of a column at a point for each seed; by default of ``self.column``."""
        column = column or self.column
        values = {s: row.get(column.name, column.absent) for s, row in self.rows[point].items()}
        return {seed: float(value) for seed, value in values.items() if value is not None}

    def decided(self, point: Steps, other: Steps) -> bool:
        """Return true if the seeds show that a point is better than another one.

        This is the case if the 95 % interval of the differences at the same seeds is below zero.
        """
        difference = statistics.paired(self.by_seed(point), self.by_seed(other))
        return difference is not None and difference.excludes_zero and difference.estimate < 0
