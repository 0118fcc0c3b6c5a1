"""Ranks combinations of values and schemes by an objective, with a statistical comparison."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from backwater._base import quantity
from backwater.errors import InputError
from backwater.results import statistics
from backwater.results.columns import COLUMNS, Column
from backwater.results.results import Group, Results

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_CONSTRAINT = re.compile(r"\s*([\w.]+)\s*(<=|>=|=|<|>)\s*(.+?)\s*")

OBJECTIVES = ("workload.time", "fct.short.p99", "fct.medium.p99", "fct.long.p99", "buffer.p99")
"""Default objectives. The first of these columns that has values is used."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound on a column, such as ``pfc.time=0``."""

    text: str
    column: Column
    sign: str
    bound: float

    def holds(self, value: float | None) -> bool:
        """Return true if a value is within the bound. A missing value is not."""
        return value is not None and _COMPARE[self.sign](value, self.bound)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A combination of values and scheme with its place in the ranking."""

    values: Group
    scheme: str
    by_seed: dict[int, float]
    interval: statistics.Interval
    broken: tuple[str, ...] = ()
    """Constraints that some of its runs violate. Such combinations are ranked last."""

    ideal: bool = False
    """True for a scheme that cannot be built. It is ranked after the others."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """All combinations, the best first."""

    column: Column
    higher: bool
    constraints: tuple[Constraint, ...]
    rows: list[Ranked]
    decided: bool
    """True if the seeds decide the winner.

    This is the case if its interval of differences to each other combination excludes zero.
    """

    wins: int
    """Number of seeds at which the first combination is best."""


def constraints(results: Results, texts: Iterable[str]) -> tuple[Constraint, ...]:
    """Read constraints such as ``pfc.time=0`` or ``buffer.max<=8MB``."""
    if isinstance(texts, str):
        texts = [texts]
    found = []
    for text in texts:
        match = _CONSTRAINT.fullmatch(text)
        bound = quantity.number(match[3]) if match else None
        if (
            match is not None
            and bound is None
            and re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", match[3])
        ):
            bound = float(match[3])
        if match is None or bound is None:
            raise InputError(
                f"`{text}`: expected a column, a sign and a bound, such as pfc.time=0 or "
                "buffer.max<=8MB"
            )
        found.append(Constraint(text, results.column(match[1]), match[2], bound))
    return tuple(found)


def objective(results: Results) -> Column | None:
    """Return the first default objective that has values; ``None`` if there is none."""
    there = {name for row in results.rows.values() for name in row}
    return next((one for name in OBJECTIVES for one in COLUMNS if one.name == name in there), None)


def rank(
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> Ranking | None:
    """Rank all combinations of values and schemes; return ``None`` if fewer than two have a value.

    By default the first of :data:`OBJECTIVES` with values is minimised. ``subject_to`` are bounds.
    """
    if minimize is not None and maximize is not None:
        raise InputError("minimize and maximize exclude each other; name one column")
    name = minimize if minimize is not None else maximize
    column = results.column(name) if name is not None else objective(results)
    if column is None:
        return None
    bounds = constraints(results, subject_to)
    limits = [(bound, results.values(bound.column.name)) for bound in bounds]
    ideal = {scheme: results.is_ideal(scheme) for scheme in results.schemes}
    rows = []
    for (values, scheme), by_seed in results.values(column.name).items():
        interval = statistics.mean(list(by_seed.values()), least=column.least)
        if interval is None:
            continue
        broken = tuple(
            bound.text
            for bound, found in limits
            if not all(bound.holds(found[values, scheme].get(seed)) for seed in by_seed)
        )
        rows.append(Ranked(values, scheme, dict(by_seed), interval, broken, ideal[scheme]))
    if len(rows) < 2:
        return None
    higher = maximize is not None
    sign = -1 if higher else 1
    rows.sort(key=lambda row: (bool(row.broken), row.ideal, sign * row.interval.estimate))
    rivals = _rivals(rows)
    wins = sum(
        all(sign * value < sign * row.by_seed.get(seed, sign * float("inf")) for row in rivals)
        for seed, value in rows[0].by_seed.items()
    )
    decided = bool(rivals) and all(_differs(rows[0], row) for row in rivals)
    return Ranking(column, higher, bounds, rows, decided, wins)


def _rivals(rows: list[Ranked]) -> list[Ranked]:
    """Return the rows to compare with the first: they satisfy the bounds and can be built."""
    return [row for row in rows[1:] if not row.broken and not row.ideal]


def _differs(first: Ranked, other: Ranked) -> bool:
    """Return true if the 95 % interval of the difference at the same seeds excludes zero."""
    difference = statistics.paired(first.by_seed, other.by_seed)
    return difference is not None and difference.excludes_zero


def sentence(results: Results, ranking: Ranking) -> str:
    """Return the result as a sentence: the best combination, the second best, and the seeds won."""
    column, first = ranking.column, ranking.rows[0]
    phrase = column.phrase[0].lower() + column.phrase[1:]
    if first.broken:
        return f"No combination satisfies {' and '.join(c.text for c in ranking.constraints)}."
    rivals = _rivals(ranking.rows)
    if not rivals:
        among = " and satisfies " + " and ".join(c.text for c in ranking.constraints)
        which = f"combination that can be built{among if ranking.constraints else ''}"
        name, value = _name(results, first), _value(column, first)
        return f"{name} is the only {which}: {phrase} {value}."
    second = rivals[0]
    what = "highest" if ranking.higher else "lowest"
    condition = ""
    if ranking.constraints:
        condition = f" among those with {' and '.join(c.text for c in ranking.constraints)}"
    if first.interval.estimate == second.interval.estimate:
        equal = [r for r in (first, *rivals) if r.interval.estimate == first.interval.estimate]
        if len(equal) == len(ranking.rows):
            return f"All combinations have the same {phrase}: {_value(column, first)}."
        names = " and ".join(_name(results, row) for row in equal[:3])
        more = f" and {len(equal) - 3} more" if len(equal) > 3 else ""
        same = f"the same: {_value(column, first)}"
        return f"{names}{more} have the {what} {phrase}{condition}, {same}."
    name = _name(results, first)
    against = f"{_value(column, first)} against {_value(column, second)} ({_name(results, second)})"
    seeds = len(first.by_seed)
    without = [str(seed) for seed in results.seeds if seed not in first.by_seed]
    missing = f" Seed {', '.join(without)} has no value." if without else ""
    if seeds == 1:
        (seed,) = first.by_seed
        return (
            f"With one seed ({seed}), {name} has the {what} {phrase}{condition}: {against}. "
            f"One seed does not show whether that is chance.{missing}"
        )
    if ranking.decided:
        return (
            f"{name} has the {what} {phrase}{condition} in {ranking.wins} of {seeds} seeds: "
            f"{against}, means over seeds.{missing}"
        )
    return (
        f"{name} has the {what} mean {phrase}{condition}: {against}. The seeds do not decide it: "
        f"it is best in {ranking.wins} of {seeds}, and an interval of differences contains zero."
        f"{missing}"
    )


def _value(column: Column, row: Ranked) -> str:
    unit, scale = column.shown
    value = row.interval.estimate / scale
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if unit == "share":
        return f"{100 * row.interval.estimate:.3g} %"
    return text if unit in ("", "slowdown") else f"{text} {unit}"


def _name(results: Results, row: Ranked) -> str:
    parts = [row.scheme] if len(results.schemes) > 1 or not results.keys else []
    parts += [
        str(value) if key in ("scenario", "results") else f"{key} = {value}"
        for key, value in zip(results.keys, row.values, strict=True)
    ]
    return ", ".join(parts)
