"""Lines over a swept key, with bands of 95 % over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from backwater._base import quantity
from backwater.report.charts import Axis, Line, Panel, Scale
from backwater.results import facts, statistics

if TYPE_CHECKING:
    from backwater.results.dataset import Campaign

MAX_PANELS = 4
_TICKS = 9
_LOG_X, _LOG_Y = 20, 30
"""Ratio of the largest to the least value from which on a scale is logarithmic."""

Estimate = Callable[[Sequence[float]], statistics.Interval | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """A column that the report shows."""

    column: str
    title: str
    unit: str
    scale: float = 1.0
    """Units of the column in the unit shown."""

    share: bool = False
    """It says yes or no of each run."""

    @property
    def label(self) -> str:
        """What is written at the y axis."""
        if self.share:
            return "share of runs"
        return "slowdown" if "slowdown" in self.column else self.unit or "mean over seeds"

    @property
    def written(self) -> str:
        """How a value is written: its unit, as an axis takes it."""
        return "share" if self.share else self.unit

    def estimate(self, values: Sequence[float]) -> statistics.Interval | None:
        """Return the mean over seeds, in the unit shown."""
        if self.share:
            return statistics.proportion(sum(map(bool, values)), len(values))
        least = facts.least(self.column) / self.scale
        return statistics.mean([value / self.scale for value in values], least=least)


METRICS = [
    Metric("fct.short.slowdown.p99", "Slowdown of short flows (≤ 10 KB), 99th percentile", ""),
    Metric("fct.medium.slowdown.p99", "Slowdown of medium flows, 99th percentile", ""),
    Metric("fct.long.slowdown.p50", "Slowdown of long flows (> 1 MB), median", ""),
    Metric("fct.long.slowdown.p99", "Slowdown of long flows (> 1 MB), 99th percentile", ""),
    Metric("fct.incast.fct_ps.p99", "FCT of incast flows, 99th percentile", "µs", 1e6),
    Metric("buffer.p99_bytes", "Buffer occupancy of a switch, 99th percentile", "MB", 1e6),
    Metric("pfc_paused_ps", "Time paused by PFC, summed over ports", "ms", 1e9),
    Metric("drops.total", "Packets dropped", ""),
    Metric("flows.unfinished", "Unfinished flows", ""),
    Metric("core.carried", "Payload carried by the core, of its capacity", ""),
    Metric("stalled", "Share of runs that came to a standstill", "", share=True),
]
_QUIET = {"pfc_paused_ps", "drops.total", "flows.unfinished", "stalled"}
"""Shown only where something happened."""


def shown(campaign: Campaign) -> list[Metric]:
    """Choose the metrics about which these runs say anything."""
    return [m for m in METRICS if _speaks(campaign, m)]


def _speaks(campaign: Campaign, metric: Metric) -> bool:
    values = [one[metric.column] for one in campaign.facts.values() if metric.column in one]
    return any(values) if metric.column in _QUIET else bool(values)


@dataclass(frozen=True, slots=True)
class Along:
    """The swept keys that lie along the x axis: one, or several that change together."""

    indices: tuple[int, ...]
    label: str
    steps: tuple[tuple[Any, ...], ...]

    @property
    def positions(self) -> list[float]:
        """Where the steps lie: as numbers, or side by side where they are words."""
        numbers = [quantity.number(step[0]) for step in self.steps]
        if None in numbers or len(set(numbers)) < len(numbers):
            return [float(i) for i in range(len(self.steps))]
        return [number for number in numbers if number is not None]


def axes(campaign: Campaign) -> list[Along]:
    """Return the axes of a campaign that have more than one step."""
    found = []
    for keys in campaign.about["axes"]:
        indices = tuple(campaign.keys.index(key) for key in keys)
        steps = tuple(dict.fromkeys(tuple(row.values[i] for i in indices) for row in campaign.rows))
        if len(steps) > 1:
            found.append(Along(indices, ", ".join(keys), steps))
    return found


def over(campaign: Campaign, metric: Metric, along: Along) -> tuple[list[Panel], int]:
    """Show a metric over one axis; a panel per choice of the others. Tell how many are left out."""
    values = campaign.values(metric.column)
    others = [i for i in range(len(campaign.keys)) if i not in along.indices]
    rests = list(dict.fromkeys(tuple(row.values[i] for i in others) for row in campaign.rows))
    panels = []
    for rest in rests[:MAX_PANELS]:
        lines = []
        for scheme in campaign.schemes:
            groups = [
                values.get((_joined(along, step, others, rest), scheme), {}) for step in along.steps
            ]
            found = [metric.estimate(list(group.values())) for group in groups]
            lines.append(_line(along.positions, found, scheme))
        title = ", ".join(f"{campaign.keys[i]} = {v}" for i, v in zip(others, rest, strict=True))
        panels.append(Panel(title, _x_axis(along), Axis(metric.label, unit=metric.written), lines))
    return _common_heights(panels), len(rests) - len(panels)


def side_by_side(campaign: Campaign, metric: Metric) -> list[Panel]:
    """Show a metric where nothing but schemes and seeds was swept."""
    values = campaign.values(metric.column)
    lines = []
    for at, scheme in enumerate(campaign.schemes):
        groups = [by_seed for (_, name), by_seed in values.items() if name == scheme]
        found = [metric.estimate(list(group.values())) for group in groups]
        lines.append(_line([float(at)] * len(found), found, scheme))
    last = len(campaign.schemes) - 0.5
    x = Axis("scheme", start=-0.5, end=last, ticks=list(enumerate(campaign.schemes)))
    return [Panel("", x, Axis(metric.label, unit=metric.written, start=0), lines)]


def _joined(
    along: Along, step: tuple[Any, ...], others: list[int], rest: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Put the values of all keys together again, in their order."""
    placed = dict(zip(along.indices, step, strict=True)) | dict(zip(others, rest, strict=True))
    return tuple(placed[i] for i in sorted(placed))


def _line(x: Sequence[float], found: Sequence[statistics.Interval | None], name: str) -> Line:
    points = sorted((at, one) for at, one in zip(x, found, strict=True) if one is not None)
    middle = [one.estimate for _, one in points]
    low = [one.estimate if one.low is None else one.low for _, one in points]
    high = [one.estimate if one.high is None else one.high for _, one in points]
    return Line(name, [at for at, _ in points], middle, low, high)


def _common_heights(panels: list[Panel]) -> list[Panel]:
    """Give all panels the same y axis: logarithmic where values differ much, else from 0 on."""
    lines = [line for panel in panels for line in panel.lines]
    middles = [value for line in lines for value in line.y]
    if not middles:
        return panels
    lowest = min(value for line in lines for value in line.low or line.y)
    highest = max(value for line in lines for value in line.high or line.y)
    scale: Scale = "linear"
    start, end = min(0.0, lowest), 1.05 * max(highest, 0.0) or 1.0
    if min(middles) > 0 and max(middles) / min(middles) > _LOG_Y:
        # What a band has below all means is cut off.
        scale, start, end = "log", min(middles) / 1.5, 1.1 * highest
        lines = [replace(line, low=[max(v, start) for v in line.low or ()]) for line in lines]
        cut = iter(lines)
        panels = [replace(panel, lines=[next(cut) for _ in panel.lines]) for panel in panels]
    return [replace(p, y=replace(p.y, scale=scale, start=start, end=end)) for p in panels]


def _x_axis(along: Along) -> Axis:
    at = along.positions
    keep = range(0, len(at), -(-len(at) // _TICKS))
    ticks = [(at[i], ", ".join(str(v) for v in along.steps[i])) for i in keep]
    scale: Scale = "log" if min(at) > 0 and max(at) / min(at) >= _LOG_X else "linear"
    return Axis(along.label, scale, ticks=ticks)


def every(campaign: Campaign) -> list[tuple[Metric, Along | None]]:
    """Return which figures a report has."""
    along: list[Along | None] = [*axes(campaign)] or [None]
    return list(product(shown(campaign), along))
