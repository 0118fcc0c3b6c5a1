"""The page about many runs: a summary, a ranking, figures over each axis, and all values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from backwater._base import quantity
from backwater.errors import RunError
from backwater.plots.charts import Axis, Chart, Line, Panel, Scale, View
from backwater.report import facts
from backwater.report.document import document, simplifications
from backwater.results import statistics
from backwater.results.columns import Column, column
from backwater.results.ranking import Ranked, Ranking, rank, sentence
from backwater.results.results import Group, Results

METRICS = (
    *("workload.time", "workload.bus", "workload.exposed", "workload.collective.max"),
    *("fct.short.p99", "fct.medium.p99", "fct.long.p50", "fct.long.p99", "fct.incast.time.p99"),
    *("buffer.p99", "pfc.time", "drops", "unfinished", "core.wire", "run.stalled"),
)
"""Columns with figures and tables, if they have values."""

MAX_ROWS, MAX_FAILURES, TOP = 200, 50, 20
MAX_PANELS = 4
_TICKS = 9
_LOG_X, _LOG_Y = 20, 30
"""A scale is logarithmic if the ratio of its largest to its smallest value exceeds this limit."""


def render(
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> str:
    """Return the page about many runs as HTML; raise ``RunError`` if none has finished."""
    if not results.rows:
        raise RunError(f"{results.path}: no run is finished, so there is nothing to report on")
    ranking = rank(results, minimize, maximize, subject_to)
    metrics = _metrics(results, ranking)
    return document(
        "sweep.html",
        results.name,
        results.schemes,
        _figures(results, metrics),
        results=results,
        facts=_facts(results),
        ranking=ranking,
        answer=sentence(results, ranking) if ranking else "",
        **_ranked(results, ranking),
        notices=_notices(results),
        skipped=_skipped(results),
        tables=_tables(results, metrics),
        simplifications=_simplifications(results),
        TOP=TOP,
        MAX_ROWS=MAX_ROWS,
    )


def _metrics(results: Results, ranking: Ranking | None) -> list[Column]:
    """Return the columns to show: the objective first, then those with values."""
    found = [ranking.column] if ranking else []
    for one in map(column, METRICS):
        values = [row[one.name] for row in results.rows.values() if one.name in row]
        if (any(values) if one.quiet else values) and one not in found:
            found.append(one)
    return found


# --- The first screen ------------------------------------------------------------------------


def _facts(results: Results) -> list[tuple[str, str]]:
    firsts = {p.scheme: p.key for p in reversed(results.points) if p.key in results.rows}
    counts = results.counts
    several = {"scenario", "results"} & set(results.keys)
    return [
        ("runs", f"{counts['done']:,} of {sum(counts.values()):,}"),
        ("schemes", ", ".join(results.schemes)),
        ("varied", ", ".join(results.keys) or "schemes and seeds"),
        ("seeds", facts.seeds(results.seeds)),
        *([] if several else facts.of_runs(map(results.files, firsts.values()), results)),
    ]


def _ranked(results: Results, ranking: Ranking | None) -> dict[str, Any]:
    """Return the head and the rows of the ranking: the scheme, true for a winner, and the cells."""
    if ranking is None:
        return {}
    several = len(results.schemes) > 1
    named = ["scheme"] if several else []
    heads = ["", ranking.column.heading, *results.keys, *named, "seeds"]
    rows = []
    for place, row in enumerate(ranking.rows[:TOP]):
        estimate, schemes = _estimated(ranking.column, row), [row.scheme] if several else []
        cells = [estimate, *map(str, row.values), *schemes, str(row.interval.count)]
        if ranking.constraints:
            cells.append(", ".join(row.broken) or "nothing")
        rows.append((row.scheme, place == 0 and ranking.decided and not row.broken, cells))
    return {"heads": [*heads, "breaks"] if ranking.constraints else heads, "rows": rows}


def _estimated(one: Column, row: Ranked) -> str:
    scale, found = one.shown[1], row.interval
    low, high = (None if end is None else end / scale for end in (found.low, found.high))
    cell = Cell(statistics.Interval(found.estimate / scale, low, high, found.count))
    return f"{cell.text} {cell.between}".rstrip()


def _notices(results: Results) -> list[tuple[str, str, str]]:
    """Return a notice per failed or violated run, or about missing runs: kind, text, command."""
    failed = list(results.failed.values())
    lines = [(one.kind, f": {one.message}", one.command) for one in failed[:MAX_FAILURES]]
    if len(failed) > MAX_FAILURES:
        lines.append(("", f"… and {len(failed) - MAX_FAILURES:,} more runs failed.", ""))
    violated = results.violated[:MAX_FAILURES]
    lines += [("", "A check was violated: ", point.command) for point in violated]
    if missing := results.counts["missing"] + results.counts["partial"]:
        lines.append(("", f"{missing:,} runs are missing: the results are not complete.", ""))
    return lines


def _skipped(results: Results) -> list[str]:
    found = []
    for one in results.about.get("skipped", ())[:MAX_ROWS]:
        values = [f"{key} = {value}" for key, value in one["values"].items()]
        what = ", ".join([*values, *filter(None, [one["scheme"]])])
        found.append(f"{what}: {one['why']}")
    return found


# --- Figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Along:
    """An axis of the sweep: one key, or several that change together."""

    indices: tuple[int, ...]
    label: str
    steps: tuple[Group, ...]

    @property
    def numbers(self) -> list[float] | None:
        """The steps as numbers in base units; ``None`` if they are categories."""
        found = [quantity.number(step[0]) for step in self.steps]
        if None in found or len(set(found)) < len(found):
            return None
        return [number for number in found if number is not None]

    @property
    def positions(self) -> list[float]:
        """Positions of the steps on the axis."""
        return self.numbers or [float(i) for i in range(len(self.steps))]

    def text(self, step: Group) -> str:
        """Return the label of a step."""
        return ", ".join(map(str, step))


def _axes(results: Results) -> list[Along]:
    """Return the axes that have more than one step."""
    found = []
    for keys in results.about["axes"]:
        indices = tuple(results.keys.index(key) for key in keys)
        steps = tuple(dict.fromkeys(tuple(values[i] for i in indices) for values in results.groups))
        if len(steps) > 1:
            found.append(Along(indices, ", ".join(keys), steps))
    return found


def _figures(results: Results, metrics: Sequence[Column]) -> list[Chart]:
    """Return one figure per axis, with a view per metric. Two numeric axes have a heat map."""
    axes = _axes(results)
    if not axes:
        views = [View(_title(one), _side_by_side(results, one)) for one in metrics]
        return [_chart("schemes", "The schemes side by side", "points", views, "")]
    drawn = []
    numeric = [axis for axis in axes if axis.numbers]
    if len(numeric) >= 2:
        views, left_out = [], 0
        for one in metrics:
            panels, left_out = _heat(results, one, numeric[0], numeric[1])
            views.append(View(_title(one), panels))
        title = f"{numeric[0].label} and {numeric[1].label}"
        drawn.append(_chart("heat", title, "cells", views, _left_out(left_out)))
        axes = [axis for axis in axes if axis not in numeric[:2]]
    for axis in axes:
        views, left_out = [], 0
        for one in metrics:
            panels, left_out = _over(results, one, axis)
            views.append(View(_title(one), panels))
        kind = "points" if axis.numbers else "bars"
        key = f"over-{axis.label.replace(', ', '-')}"
        drawn.append(_chart(key, f"Over {axis.label}", kind, views, _left_out(left_out)))
    return drawn


def _left_out(count: int) -> str:
    return f" {count} more combinations of the other keys are in the tables below." if count else ""


def _chart(key: str, title: str, kind: Any, views: list[View], more: str) -> Chart:
    caption = "Mean over seeds; bars and bands are 95 % intervals." + more
    if kind == "cells":
        caption = "Mean over seeds; dark cells have high values, light cells low ones." + more
    return Chart(key, title, caption, kind, views, choice="Show")


def _title(one: Column) -> str:
    unit = one.shown[0]
    shown = f" ({unit})" if unit not in ("", "slowdown", "share") else ""
    return f"{one.phrase}{shown}"


def _estimate(one: Column, by_seed: dict[int, float]) -> statistics.Interval | None:
    values = list(by_seed.values())
    if one.name == "run.stalled":
        return statistics.proportion(sum(map(bool, values)), len(values))
    scale = one.shown[1]
    return statistics.mean([value / scale for value in values], least=one.least / scale)


def _y_axis(one: Column) -> Axis:
    unit = one.shown[0]
    if one.name == "run.stalled":
        return Axis("share of runs", unit="share")
    return Axis(unit or "mean over seeds", unit="" if unit == "slowdown" else unit)


def _rests(results: Results, indices: Sequence[int]) -> list[dict[int, Any]]:
    """Return all combinations of values of the keys outside ``indices``.

    Each combination maps the index of a key to its value.
    """
    others = [i for i in range(len(results.keys)) if i not in indices]
    rests = dict.fromkeys(tuple(values[i] for i in others) for values in results.groups)
    return [dict(zip(others, rest, strict=True)) for rest in rests]


def _group(placed: dict[int, Any]) -> Group:
    return tuple(placed[i] for i in sorted(placed))


def _named(results: Results, rest: dict[int, Any]) -> str:
    return ", ".join(f"{results.keys[i]} = {value}" for i, value in rest.items())


def _over(results: Results, one: Column, along: Along) -> tuple[list[Panel], int]:
    """Return a panel per combination of the other keys, and the number of omitted combinations."""
    values = results.values(one.name)
    rests = _rests(results, along.indices)
    at = along.positions
    panels = []
    for rest in rests[:MAX_PANELS]:
        lines = []
        for scheme in results.schemes:
            found = []
            for step in along.steps:
                placed = rest | dict(zip(along.indices, step, strict=True))
                found.append(_estimate(one, values.get((_group(placed), scheme), {})))
            lines.append(_line(at, found, scheme))
        panels.append(Panel(_named(results, rest), _x_axis(along), _y_axis(one), lines))
    return _common_heights(panels, bars=along.numbers is None), len(rests) - len(panels)


def _heat(results: Results, one: Column, across: Along, up: Along) -> tuple[list[Panel], int]:
    """Return a heat map per scheme and combination of other keys, and the number left out."""
    values = results.values(one.name)
    rests = _rests(results, (*across.indices, *up.indices))
    cells: list[tuple[str, str, list[tuple[int, int, float]]]] = []
    for rest in rests:
        for scheme in results.schemes:
            found = []
            for x, step in enumerate(across.steps):
                for y, other in enumerate(up.steps):
                    placed = rest | dict(zip(across.indices, step, strict=True))
                    placed |= dict(zip(up.indices, other, strict=True))
                    mean = _estimate(one, values.get((_group(placed), scheme), {}))
                    if mean is not None:
                        found.append((x, y, mean.estimate))
            title = ", ".join(filter(None, (scheme, _named(results, rest))))
            cells.append((scheme, title, found))
    shown = cells[:MAX_PANELS]
    every = [value for _, _, found in shown for _, _, value in found]
    panels = []
    for scheme, title, found in shown:
        line = Line(
            scheme,
            [x for x, _, _ in found],
            [y for _, y, _ in found],
            words=[_short(value, one) for _, _, value in found],
            until=[_shade(value, every) for _, _, value in found],
        )
        panels.append(Panel(title, _places(across), _places(up), [line]))
    return panels, len(cells) - len(shown)


def _short(value: float, one: Column) -> str:
    if one.shown[0] == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _shade(value: float, every: Sequence[float]) -> float:
    """Return the place of a value between the lowest (0) and the highest (1).

    The scale is logarithmic if the values differ by more than a factor of 3.
    """
    low, high = min(every), max(every)
    if high == low:
        return 0.0
    if low > 0 and high / low > 3:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _places(along: Along) -> Axis:
    ticks = [(float(i), along.text(step)) for i, step in enumerate(along.steps)]
    return Axis(along.label, start=-0.5, end=len(along.steps) - 0.5, ticks=ticks)


def _side_by_side(results: Results, one: Column) -> list[Panel]:
    """Return a panel with one point per scheme, for results that vary only schemes and seeds."""
    values = results.values(one.name)
    lines = []
    for at, scheme in enumerate(results.schemes):
        groups = [by_seed for (_, name), by_seed in values.items() if name == scheme]
        found = [_estimate(one, group) for group in groups]
        lines.append(_line([float(at)] * len(found), found, scheme))
    last = len(results.schemes) - 0.5
    x = Axis("scheme", start=-0.5, end=last, ticks=list(enumerate(results.schemes)))
    return [Panel("", x, replace(_y_axis(one), start=0), lines)]


def _line(x: Sequence[float], found: Sequence[statistics.Interval | None], name: str) -> Line:
    points = sorted((at, one) for at, one in zip(x, found, strict=True) if one is not None)
    middle = [one.estimate for _, one in points]
    low = [one.estimate if one.low is None else one.low for _, one in points]
    high = [one.estimate if one.high is None else one.high for _, one in points]
    return Line(name, [at for at, _ in points], middle, low, high)


def _common_heights(panels: list[Panel], bars: bool) -> list[Panel]:
    """Give all panels the same y axis: logarithmic if values differ much, else starting at 0."""
    lines = [line for panel in panels for line in panel.lines]
    middles = [value for line in lines for value in line.y]
    if not middles:
        return panels
    lowest = min(value for line in lines for value in line.low or line.y)
    highest = max(value for line in lines for value in line.high or line.y)
    scale: Scale = "linear"
    start, end = min(0.0, lowest), 1.05 * max(highest, 0.0) or 1.0
    if not bars and min(middles) > 0 and max(middles) / min(middles) > _LOG_Y:
        # A band may extend below all means. The axis does not show this part.
        scale, start, end = "log", min(middles) / 1.5, 1.1 * highest
        lines = [replace(line, low=[max(v, start) for v in line.low or ()]) for line in lines]
        cut = iter(lines)
        panels = [replace(panel, lines=[next(cut) for _ in panel.lines]) for panel in panels]
    return [replace(p, y=replace(p.y, scale=scale, start=start, end=end)) for p in panels]


def _x_axis(along: Along) -> Axis:
    at = along.positions
    keep = range(0, len(at), -(-len(at) // _TICKS))
    ticks = [(at[i], along.text(along.steps[i])) for i in keep]
    numeric = along.numbers is not None
    scale: Scale = "linear"
    if numeric and min(at) > 0 and max(at) / min(at) >= _LOG_X:
        scale = "log"
    return Axis(along.label, scale, ticks=ticks)


# --- All values ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """An estimate with its interval, as text."""

    interval: statistics.Interval | None
    signed: bool = False
    """True for a difference, which is bold if its interval excludes zero."""

    @property
    def sure(self) -> bool:
        """True for a difference whose interval excludes zero."""
        return self.signed and self.interval is not None and self.interval.excludes_zero

    @property
    def text(self) -> str:
        """The estimate; a dash if there is none."""
        one = self.interval
        return (
            "–" if one is None else f"{one.estimate:+.4g}" if self.signed else f"{one.estimate:.4g}"
        )

    @property
    def between(self) -> str:
        """The interval; empty if there is none."""
        one = self.interval
        if one is None or one.low is None or one.high is None:
            return ""
        return f"[{one.low:.4g}, {one.high:.4g}]"


def _tables(results: Results, metrics: Sequence[Column]) -> list[dict[str, Any]]:
    """Return a table of means for each metric, then a table of differences to the first scheme.

    The differences are left out if there is only one scheme.
    """
    baseline, *others = results.schemes
    means = [_table(results, one, results.schemes, "mean over seeds") for one in metrics]
    what = f"difference to {baseline} at the same seed"
    return means + [_table(results, one, others, what, baseline) for one in metrics if others]


def _table(
    results: Results, metric: Column, schemes: list[str], what: str, baseline: str | None = None
) -> dict[str, Any]:
    """Return a row for each combination of values: means, or differences to a baseline."""
    groups = results.values(metric.name)
    scale = metric.shown[1]

    def scaled(values: Group, scheme: str) -> dict[int, float]:
        found = groups.get((values, scheme), {})
        return {seed: value / scale for seed, value in found.items()}

    def cell(values: Group, scheme: str) -> Cell:
        if baseline is None:
            return Cell(_estimate(metric, groups.get((values, scheme), {})))
        return Cell(statistics.paired(scaled(values, scheme), scaled(values, baseline)), True)

    rows = [(v, [(name, cell(v, name)) for name in schemes]) for v in results.groups[:MAX_ROWS]]
    title, differs = _title(metric), baseline is not None
    return {"title": title, "what": what, "schemes": schemes, "rows": rows, "differs": differs}


def _simplifications(results: Results) -> list[tuple[str, str]]:
    """Return the simplifications of the runs. One run of each combination and scheme is read."""
    first = {(p.scheme, p.values): p.key for p in reversed(results.points) if p.key in results.rows}
    by_scheme: dict[str, list[list[str]]] = {}
    order = results.schemes
    for (scheme, _), key in sorted(first.items(), key=lambda one: order.index(one[0][0])):
        by_scheme.setdefault(scheme, []).append(results.files(key).summary["not_modelled"])
    return simplifications(by_scheme)
