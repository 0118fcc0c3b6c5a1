"""Judges the claims of a paper by the results of the runs.

One rule applies to all claims. The interval of a result contains the middle 95 % of its bootstrap
samples over the seeds (:mod:`backwater_papers.bootstrap`). The claim *holds* if the interval is
inside the bounds. It *differs* if the interval is outside. Otherwise it is *inconclusive*. A random
result with fewer than five seeds is always inconclusive. A deterministic result has one run, whose
value decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from backwater_papers.bootstrap import LEVEL, Value, constant
from backwater_papers.figure import GROUP, Bound, Claim, CurvePoint, Figure, Pick, Selection
from backwater_papers.quantities import Dimension, Quantity, text
from backwater_papers.samples import Array

HOLDS, DIFFERS, INCONCLUSIVE = "holds", "differs", "inconclusive"

LEAST_SEEDS = 5
"""A random result with fewer seeds is inconclusive."""


class Values(Protocol):
    """Source of the values of measures, such as the runs of a figure."""

    def value(self, pick: Pick, seeds: int | None = None) -> Value:
        """Return the value of a measure over the first ``seeds`` seeds, or over all seeds."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """The result of a claim at one combination of points of the axes (a scheme at a load)."""

    at: str
    """Labels of the points, if the claim is about several points; otherwise empty."""

    ours: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, its results, and whether it holds."""

    text: str
    place: str
    paper: str
    expected: str
    verdict: str
    cases: tuple[Case, ...]
    seeds: int
    source: str
    was: str
    cause: str
    curve: CurvePoint | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, to be written as JSON."""
        return asdict(self)


def judge(claim: Claim, figure: Figure, values: Values) -> Verdict:
    """Compare a claim with the results. With several points, it must hold for each."""
    cases, seeds = [], []
    for pick in single(claim.value):
        ours, bounds = _compared(claim, pick, values)
        seeds.append(ours.value.seeds)
        enough = seeds[-1] >= LEAST_SEEDS or not _has_chance(claim, figure)
        verdict = _judged(claim.bounds, ours.value, [than.value for than in bounds])
        cases.append(
            Case(
                _points(claim, pick),
                _result_text(claim, pick, ours, bounds),
                verdict if enough else INCONCLUSIVE,
            )
        )
    return Verdict(
        text=claim.text,
        place=claim.place,
        paper=claim.paper,
        expected=claim.expected,
        verdict=worst([case.verdict for case in cases]),
        cases=tuple(cases),
        seeds=min(seeds),
        source=claim.source,
        was=claim.was,
        cause=claim.cause,
        curve=claim.curve,
    )


def single(pick: Pick) -> Iterator[Pick]:
    """Yield each combination of the selected points as a selection of its own."""
    names = list(pick.select)
    for labels in product(*pick.select.values()):
        yield Pick(pick.measure, {n: (label,) for n, label in zip(names, labels, strict=True)})


def worst(verdicts: Sequence[str]) -> str:
    """Return the verdict of a claim from the verdicts at its points. It must hold at all points."""
    for verdict in (DIFFERS, INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return HOLDS


def _sides(claim: Claim) -> Iterator[Quantity | Pick | None]:
    """Yield everything that a claim divides its value by or compares it with.

    The order is the divisor of the value, then each bound followed by the divisor of the bound.
    ``None`` means that there is no divisor.
    """
    yield claim.over
    for bound in claim.bounds:
        yield bound.than
        yield bound.over


def _has_chance(claim: Claim, figure: Figure) -> bool:
    """Return true if the result of some run that a claim compares depends on its seed."""
    picks = [side for side in (claim.value, *_sides(claim)) if isinstance(side, Pick)]
    return any(figure.group(p.select).chance for p in picks if not p.measure.formula)


# --- One point -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a comparison: a value, or a ratio of two values."""

    above: Value
    below: Value | None

    @property
    def value(self) -> Value:
        return self.above.over(self.below) if self.below else self.above


def _compared(claim: Claim, pick: Pick, values: Values) -> tuple[_Side, list[_Side]]:
    """Return a claim's value at one point and its bounds, over the seeds that all of them have."""
    sides = [pick, *(_there(side, pick) for side in _sides(claim))]
    counts = {values.value(side).seeds for side in sides if isinstance(side, Pick)}
    seeds = min(counts - {1}, default=1)

    def of(side: Quantity | Pick | None) -> Value | None:
        if side is None:
            return None
        return constant(side.value) if isinstance(side, Quantity) else values.value(side, seeds)

    found = [of(side) for side in sides]
    pairs = [_Side(of, over) for of, over in zip(found[::2], found[1::2], strict=True) if of]
    return pairs[0], pairs[1:]


def _there(side: Quantity | Pick | None, at: Pick) -> Quantity | Pick | None:
    """Return a side of a comparison at one point.

    On each axis on which the side has several points, it gets the point that ``at`` has.
    """
    if not isinstance(side, Pick):
        return side
    select: Mapping[str, tuple[str, ...]] = {
        axis: at.select[axis] if len(labels) > 1 and axis in at.select else labels
        for axis, labels in side.select.items()
    }
    return Pick(side.measure, select)


def _judged(bounds: Sequence[Bound], ours: Value, thans: Sequence[Value]) -> str:
    """Judge one point by all bounds.

    The interval is on the right side of a bound if 97.5 % of the samples are.
    """
    if math.isnan(ours.value):
        return DIFFERS
    outside = (1 - LEVEL) / 2
    shares = [
        float(np.mean(_meets(bound, ours.drawn, than.drawn)))
        for bound, than in zip(bounds, thans, strict=True)
    ]
    if min(shares) >= 1 - outside:
        return HOLDS
    return DIFFERS if min(shares) <= outside else INCONCLUSIVE


def _meets(bound: Bound, ours: Array, than: Array) -> Array:
    """Return true for each bootstrap sample that meets a bound; NaN does not meet any bound."""
    if bound.low:
        return np.asarray(ours > than if bound.strict else ours >= than)
    return np.asarray(ours < than if bound.strict else ours <= than)


# --- Texts -----------------------------------------------------------------------------------


def _points(claim: Claim, pick: Pick) -> str:
    """Return, as text, the label of ``pick`` on each axis on which the claim has several points."""
    several: Selection = claim.value.select
    return ", ".join(
        pick.select[axis][0]
        for axis, labels in several.items()
        if len(labels) > 1 and axis != GROUP
    )


def _result_text(claim: Claim, pick: Pick, ours: _Side, bounds: Sequence[_Side]) -> str:
    """Return our value, its interval, and the values that it is compared with."""
    dimension = pick.measure.dimension
    found = text(ours.above.value, dimension)
    if ours.below is not None:
        found += f" / {text(ours.below.value, dimension)}"
        dimension = Dimension.NUMBER
        found += f" = {text(ours.value.value, dimension)}"
    low, high = (text(end, dimension) for end in ours.value.interval())
    if low != high:
        found += f" [{low}, {high}]"
    others = [
        text(than.value.value, dimension)
        for bound, than in zip(claim.bounds, bounds, strict=True)
        if isinstance(bound.than, Pick)
    ]
    return f"{found} against {' and '.join(others)}" if others else found
