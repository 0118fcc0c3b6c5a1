"""Judges what a paper says by what came out here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Protocol

from backwater.paper.figure import GROUP, Bound, Claim, Figure, Pick, Selection
from backwater.paper.measures import Value
from backwater.paper.quantities import Dimension, Quantity, text

HOLDS, DIFFERS = "holds", "differs"


class Values(Protocol):
    """Knows the value of a measure where each axis is at one point."""

    def value(self, pick: Pick) -> Value:
        """Return the value over all seeds and of each seed."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, what came out, and whether it holds."""

    text: str
    place: str
    paper: str
    expected: str
    ours: str
    verdict: str
    seeds: int
    seeds_that_hold: int
    cause: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, to be written as JSON."""
        return asdict(self)


def judge(claim: Claim, figure: Figure, values: Values) -> Verdict:
    """Compare a claim with what was measured. With several points, it must hold for each."""
    told: list[str] = []
    whole = True
    by_seed: list[bool] = []
    for pick in single(claim.value):
        value = values.value(pick)
        over = _other(claim.over, pick, values)
        bounds = [_bound(bound, pick, values) for bound in claim.bounds]
        divisor = over.value if over else None
        whole &= _holds(claim, value.value, divisor, [b.value for b in bounds if b])
        for seed in range(len(value.by_seed)):
            others = [b.by_seed[seed % len(b.by_seed)] for b in bounds if b]
            divisor = over.by_seed[seed % len(over.by_seed)] if over else None
            holds = _holds(claim, value.by_seed[seed], divisor, others)
            if seed < len(by_seed):
                by_seed[seed] &= holds
            else:
                by_seed.append(holds)
        told.append(_told(claim, pick, value, over, bounds))
    return Verdict(
        text=claim.text,
        place=claim.place,
        paper=claim.paper,
        expected=claim.expected,
        ours="; ".join(told),
        verdict=HOLDS if whole else DIFFERS,
        seeds=len(by_seed),
        seeds_that_hold=sum(by_seed),
        cause=claim.cause,
    )


def single(pick: Pick) -> Iterator[Pick]:
    """Each combination of the selected points alone."""
    names = list(pick.select)
    for labels in product(*pick.select.values()):
        yield Pick(pick.measure, {n: (label,) for n, label in zip(names, labels, strict=True)})


def _other(than: Quantity | Pick | None, pick: Pick, values: Values) -> Value | None:
    """Return what a value is compared with, at the point at which the value is."""
    if than is None:
        return None
    if isinstance(than, Quantity):
        return Value(than.value, (than.value,))
    return values.value(Pick(than.measure, _at(than.select, pick.select)))


def _bound(bound: Bound, pick: Pick, values: Values) -> Value | None:
    """Return what a value, or a ratio, is compared with: a number, or the like elsewhere."""
    than = _other(bound.than, pick, values)
    if bound.over is None or than is None:
        return than
    over = _other(bound.over, pick, values)
    assert over is not None
    others = over.by_seed
    by_seed = (ratio(v, others[i % len(others)]) for i, v in enumerate(than.by_seed))
    return Value(ratio(than.value, over.value), tuple(by_seed))


def _at(select: Selection, point: Selection) -> Mapping[str, tuple[str, ...]]:
    return {
        axis: point[axis] if len(labels) > 1 and axis in point else labels
        for axis, labels in select.items()
    }


def _holds(claim: Claim, value: float, over: float | None, bounds: Sequence[float]) -> bool:
    found = ratio(value, over) if over is not None else value
    return not math.isnan(found) and all(
        _meets(bound, found, than) for bound, than in zip(claim.bounds, bounds, strict=True)
    )


def _meets(bound: Bound, value: float, than: float) -> bool:
    if math.isnan(than):
        return False
    if bound.low:
        return value > than if bound.strict else value >= than
    return value < than if bound.strict else value <= than


def ratio(value: float, over: float) -> float:
    """How many times as large; nothing over nothing is not a number."""
    if over:
        return value / over
    return math.inf if value > 0 else math.nan


def _told(
    claim: Claim, pick: Pick, value: Value, over: Value | None, bounds: Sequence[Value | None]
) -> str:
    """Ours in words: the case where there are several, the value, its spread over seeds."""
    dimension = pick.measure.dimension
    words = text(value.value, dimension)
    if over is not None:
        found = ratio(value.value, over.value)
        words = f"{words} / {text(over.value, dimension)} = {text(found, Dimension.NUMBER)}"
        dimension = Dimension.NUMBER
    elif len(value.by_seed) > 1:
        low, high = min(value.by_seed), max(value.by_seed)
        if text(low, dimension) != text(high, dimension):
            words += f" (seeds {text(low, dimension)} to {text(high, dimension)})"
    others = [
        text(other.value, dimension)
        for bound, other in zip(claim.bounds, bounds, strict=True)
        if isinstance(bound.than, Pick) and other is not None
    ]
    if others:
        words += f" against {' and '.join(others)}"
    several = [
        pick.select[axis][0]
        for axis, labels in claim.value.select.items()
        if len(labels) > 1 and axis != GROUP
    ]
    return f"{', '.join(several)}: {words}" if several else words
