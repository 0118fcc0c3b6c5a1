"""Judges the claims of a paper by the results of the runs.

A claim about a random quantity is judged by a confidence interval: Student's, at 95 %, over the
values of the seeds. The claim *holds* if the whole interval meets the bound. It *differs* if no
part of the interval meets it. Otherwise the sign test decides if there are six seeds or more.
If the sign test does not decide, the claim is *inconclusive*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Protocol

from backwater.results import statistics
from backwater_papers.figure import GROUP, Bound, Claim, CurvePoint, Figure, Pick, Selection
from backwater_papers.measures import Value
from backwater_papers.quantities import Dimension, Quantity, text

HOLDS, DIFFERS, INCONCLUSIVE = "holds", "differs", "inconclusive"

_FOR_SIGNS = 6
"""With fewer seeds chance puts all on one side of a bound in more than 5 % (sign test)."""


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
    seeds_asked: int
    source: str
    numeric: bool
    general: bool
    """What it says of one scheme is true of every other one of the figure as well."""

    was: str
    why: str
    cause: str
    because: str
    curve: CurvePoint | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, to be written as JSON."""
        return asdict(self)


def judge(claim: Claim, figure: Figure, values: Values) -> Verdict:
    """Compare a claim with what was measured. With several points, it must hold for each."""
    results: list[str] = []
    verdicts: list[str] = []
    by_seed: list[bool] = []
    for pick in single(claim.value):
        ours, bounds = _compared(claim, pick, values)
        verdicts.append(_judged(claim, ours, bounds))
        for seed, found in enumerate(ours.by_seed):
            holds = not math.isnan(found) and all(
                _meets(bound, found, other.by_seed[seed])
                for bound, other in zip(claim.bounds, bounds, strict=True)
            )
            if seed < len(by_seed):
                by_seed[seed] &= holds
            else:
                by_seed.append(holds)
        results.append(_result_text(claim, pick, ours, bounds))
    return Verdict(
        text=claim.text,
        place=claim.place,
        paper=claim.paper,
        expected=claim.expected,
        ours="; ".join(results),
        verdict=_worst(verdicts),
        seeds=len(by_seed),
        seeds_that_hold=sum(by_seed),
        seeds_asked=_asked(claim, figure),
        source=claim.source,
        numeric=claim.numeric,
        general=_is_general(claim, figure, values),
        was=claim.was,
        why=claim.why,
        cause=claim.cause,
        because=claim.because,
        curve=claim.curve,
    )


def single(pick: Pick) -> Iterator[Pick]:
    """Each combination of the selected points alone."""
    names = list(pick.select)
    for labels in product(*pick.select.values()):
        yield Pick(pick.measure, {n: (label,) for n, label in zip(names, labels, strict=True)})


def _sides(claim: Claim) -> Iterator[Quantity | Pick | None]:
    """Yield what divides the value of a claim, and of each bound what it is and what divides it."""
    yield claim.over
    for bound in claim.bounds:
        yield bound.than
        yield bound.over


def _asked(claim: Claim, figure: Figure) -> int:
    """Return the largest number of seeds that a group compared by a claim needs."""
    picks = [side for side in (claim.value, *_sides(claim)) if isinstance(side, Pick)]
    runs = (figure.group(pick.select) for pick in picks if not pick.measure.formula)
    return max((group.seeds_asked for group in runs), default=1)


def _worst(verdicts: Sequence[str]) -> str:
    for verdict in (DIFFERS, INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return HOLDS


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a comparison: a value, or a ratio of two values."""

    of: Value
    over: Value | None

    @property
    def value(self) -> float:
        """Over all seeds."""
        return ratio(self.of.value, self.over.value) if self.over else self.of.value

    @property
    def by_seed(self) -> Sequence[float]:
        """Value of each seed."""
        if self.over is None:
            return self.of.by_seed
        return [ratio(v, o) for v, o in zip(self.of.by_seed, self.over.by_seed, strict=True)]

    @property
    def around_mean(self) -> Sequence[float]:
        """Numbers, one per seed, whose mean is judged.

        For a ratio their mean is the ratio of the means, linearised (the ratio estimator of
        surveys). The mean of the ratios of single seeds would not do: it would change if numerator
        and denominator were exchanged.
        """
        each = self.by_seed
        if self.over is None or not all(map(math.isfinite, each)):
            return each
        mean = math.fsum(self.over.by_seed) / len(each)
        found = math.fsum(self.of.by_seed) / len(each) / mean
        pairs = zip(self.of.by_seed, self.over.by_seed, strict=True)
        return [found + (v - found * o) / mean for v, o in pairs]


def _compared(claim: Claim, pick: Pick, values: Values) -> tuple[_Side, list[_Side]]:
    """Return a value and its bounds, restricted to the seeds that all of them have.

    A deterministic value has one seed only; it is repeated for each seed of the others.
    """
    others = [_other(side, pick, values) for side in _sides(claim)]
    value = values.value(pick)
    counts = {len(found.by_seed) for found in (value, *others) if found} - {1}
    seeds = min(counts, default=1)
    over, *limits = [found and _of_seeds(found, seeds) for found in others]
    bounds = []
    for than, than_over in zip(limits[::2], limits[1::2], strict=True):
        assert than is not None
        bounds.append(_Side(than, than_over))
    return _Side(_of_seeds(value, seeds), over), bounds


def _other(than: Quantity | Pick | None, pick: Pick, values: Values) -> Value | None:
    """Return what a value is compared with, at the point at which the value is."""
    if than is None:
        return None
    if isinstance(than, Quantity):
        return Value(than.value, (than.value,))
    return values.value(Pick(than.measure, _at(than.select, pick.select)))


def _of_seeds(value: Value, seeds: int) -> Value:
    """Restrict a value to its first seeds; the value becomes their mean if seeds are dropped."""
    if len(value.by_seed) == 1:
        return Value(value.value, value.by_seed * seeds)
    each = value.by_seed[:seeds]
    return value if each == value.by_seed else Value(math.fsum(each) / seeds, each)


def _at(select: Selection, point: Selection) -> Mapping[str, tuple[str, ...]]:
    return {
        axis: point[axis] if len(labels) > 1 and axis in point else labels
        for axis, labels in select.items()
    }


# --- One point -------------------------------------------------------------------------------


def _judged(claim: Claim, ours: _Side, bounds: Sequence[_Side]) -> str:
    """Judge one point by all bounds."""
    if math.isnan(ours.value):
        return DIFFERS
    return _worst(
        [_by_interval(bound, ours, than) for bound, than in zip(claim.bounds, bounds, strict=True)]
    )


def _by_interval(bound: Bound, ours: _Side, than: _Side) -> str:
    """Judge one bound. A value is compared with another of the same seed."""
    each = ours.by_seed
    if len(each) < 2:
        return HOLDS if _meets(bound, ours.value, than.value) else DIFFERS
    if ours.over and not all(map(math.isfinite, each)):
        # Fieller's test: compare v with c·o instead of v/o with c, because o is 0 in some seeds.
        triples = zip(ours.of.by_seed, ours.over.by_seed, than.by_seed, strict=True)
        apart = [v - o * c for v, o, c in triples]
    else:
        apart = [v - o for v, o in zip(ours.around_mean, than.around_mean, strict=True)]
    meets = [_meets(bound, v, o) for v, o in zip(each, than.by_seed, strict=True)]
    if not all(map(math.isfinite, apart)):
        # The mean is infinite or undefined if an event is missing in some seeds: use the median.
        return _by_median(sum(meets), len(meets))
    interval = statistics.mean(apart)
    assert interval is not None and interval.low is not None and interval.high is not None
    # A percentile over the flows of all seeds can differ from the mean of the seeds' percentiles.
    overall = _meets(bound, ours.value, than.value)
    answers = {overall} | {_meets(bound, end, 0.0) for end in (interval.low, interval.high)}
    found = HOLDS if overall else DIFFERS
    if len(answers) == 1:
        return found
    # A few seeds with very large values widen the interval on both sides, so use the sign test.
    # It ignores ties.
    signs = [met for met, v, o in zip(meets, each, than.by_seed, strict=True) if v != o]
    decided = len(signs) >= _FOR_SIGNS and all(map(math.isfinite, each))
    return found if decided and _by_median(sum(signs), len(signs)) == found else INCONCLUSIVE


def _by_median(meeting: int, seeds: int) -> str:
    """Judge by the median of the seeds (sign test).

    The claim holds if all seeds meet the bound, or if the confidence interval of the share of
    seeds that meet it is above one half.
    """
    if meeting in (0, seeds):
        return HOLDS if meeting else DIFFERS
    share = statistics.proportion(meeting, seeds)
    assert share is not None and share.low is not None and share.high is not None
    if share.low < 0.5 < share.high:
        return INCONCLUSIVE
    return HOLDS if share.low >= 0.5 else DIFFERS


def _meets(bound: Bound, value: float, than: float) -> bool:
    if math.isnan(value) or math.isnan(than):
        return False
    if bound.low:
        return value > than if bound.strict else value >= than
    return value < than if bound.strict else value <= than


def ratio(value: float, over: float) -> float:
    """Return ``value / over``; 0 / 0 is NaN, and a positive number over 0 is infinite."""
    if over:
        return value / over
    return math.inf if value > 0 else math.nan


# --- Claims that do not separate the schemes --------------------------------------------------


def _is_general(claim: Claim, figure: Figure, values: Values) -> bool:
    """Return true if a claim of one scheme against a number holds for all other schemes too."""
    if claim.alike or claim.curve or claim.value.measure.formula or isinstance(claim.over, Pick):
        return False
    if any(isinstance(bound.than, Pick) for bound in claim.bounds):
        return False
    for axis in figure.group(claim.value.select).axes:
        others = [p.label for p in axis.points if p.label not in claim.value.select[axis.name]]
        schemes = {point.scheme for point in axis.points}
        if None in schemes or len(schemes) < 2 or not others:
            continue
        select = {**claim.value.select, axis.name: tuple(others)}
        elsewhere = single(Pick(claim.value.measure, select))
        return all(_judged(claim, *_compared(claim, pick, values)) == HOLDS for pick in elsewhere)
    return False


# --- Words -----------------------------------------------------------------------------------


def _result_text(claim: Claim, pick: Pick, ours: _Side, bounds: Sequence[_Side]) -> str:
    """Ours in words: the case where there are several, the value, its spread over seeds."""
    dimension = pick.measure.dimension
    words = text(ours.of.value, dimension)
    if ours.over is not None:
        words += f" / {text(ours.over.value, dimension)}"
        dimension = Dimension.NUMBER
        words += f" = {text(ours.value, dimension)}"
    words += _spread(ours.by_seed, dimension)
    others = [
        text(other.value, dimension)
        for bound, other in zip(claim.bounds, bounds, strict=True)
        if isinstance(bound.than, Pick)
    ]
    if others:
        words += f" against {' and '.join(others)}"
    several = [
        pick.select[axis][0]
        for axis, labels in claim.value.select.items()
        if len(labels) > 1 and axis != GROUP
    ]
    return f"{', '.join(several)}: {words}" if several else words


def _spread(by_seed: Sequence[float], dimension: Dimension) -> str:
    """Say between what the single seeds lie, where they differ."""
    if len(by_seed) < 2:
        return ""
    low, high = text(min(by_seed), dimension), text(max(by_seed), dimension)
    return f" (seeds {low} to {high})" if low != high else ""


def without_seeds(ours: str) -> str:
    """Leave out of what came out between what the single seeds lie."""
    return re.sub(r" \(seeds [^)]*\)", "", ours)
