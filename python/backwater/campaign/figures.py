"""Lines over a swept key, with bands of 95 % over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from backwater import plots
from backwater.campaign import quantity, statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from backwater.campaign.dataset import Campaign

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

    def estimate(self, values: Sequence[float]) -> statistics.Interval | None:
        """Return the mean over seeds, in the unit shown."""
        if self.share:
            return statistics.proportion(sum(map(bool, values)), len(values))
        return statistics.mean([value / self.scale for value in values])


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


def over(campaign: Campaign, metric: Metric, along: Along) -> tuple[Figure, int]:
    """Draw a metric over one axis; a panel per choice of the others. Tell how many are left out."""
    values = campaign.values(metric.column)
    others = [i for i in range(len(campaign.keys)) if i not in along.indices]
    rests = list(dict.fromkeys(tuple(row.values[i] for i in others) for row in campaign.rows))
    drawn = rests[:MAX_PANELS]
    label = metric.unit or (
        "share" if metric.share else "slowdown" if "slow" in metric.column else ""
    )
    figure, panels = plots._figure(len(drawn), label or "mean over seeds", height=3.5)
    look = plots.styles(campaign.schemes)
    heights: list[float] = []
    for panel, rest in zip(panels, drawn, strict=True):
        for scheme in campaign.schemes:
            groups = [
                values.get((_joined(along, step, others, rest), scheme), {}) for step in along.steps
            ]
            found = [metric.estimate(list(group.values())) for group in groups]
            heights += _line(panel, along.positions, found, look[scheme], scheme)
        title = ", ".join(f"{campaign.keys[i]} = {v}" for i, v in zip(others, rest, strict=True))
        panel.set_title(title)
        _x_axis(panel, along)
    if heights and min(heights) > 0 and max(heights) / min(heights) > _LOG_Y:
        panels[0].set_yscale("log")
        plots._plain_log_ticks(panels[0])
    else:
        panels[0].set_ylim(bottom=min(0, *heights) if heights else 0)
    handles, names = panels[0].get_legend_handles_labels()
    if len(names) > 1:
        figure.legend(
            handles, names, loc="outside upper center", ncols=8, frameon=False, fontsize=8.5
        )
    return figure, len(rests) - len(drawn)


def side_by_side(campaign: Campaign, metric: Metric) -> Figure:
    """Draw a metric where nothing but schemes and seeds was swept."""
    figure, (panel,) = plots._figure(1, metric.label, height=3.2)
    look = plots.styles(campaign.schemes)
    values = campaign.values(metric.column)
    for at, scheme in enumerate(campaign.schemes):
        groups = [by_seed for (_, name), by_seed in values.items() if name == scheme]
        found = [metric.estimate(list(group.values())) for group in groups]
        _line(panel, [float(at)] * len(found), found, look[scheme], scheme)
    panel.set_xticks(range(len(campaign.schemes)), campaign.schemes)
    panel.set_xlim(-0.5, len(campaign.schemes) - 0.5)
    panel.set_ylim(bottom=0)
    return figure


def _joined(
    along: Along, step: tuple[Any, ...], others: list[int], rest: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Put the values of all keys together again, in their order."""
    placed = dict(zip(along.indices, step, strict=True)) | dict(zip(others, rest, strict=True))
    return tuple(placed[i] for i in sorted(placed))


def _line(
    panel: Axes,
    x: list[float],
    found: Sequence[statistics.Interval | None],
    style: plots.Style,
    name: str,
) -> list[float]:
    points = sorted((at, one) for at, one in zip(x, found, strict=True) if one is not None)
    if not points:
        return []
    at = [p for p, _ in points]
    middle = [one.estimate for _, one in points]
    low = [one.estimate if one.low is None else one.low for _, one in points]
    high = [one.estimate if one.high is None else one.high for _, one in points]
    plots._draw(panel, at, middle, style, marker="o", markersize=3.5, label=name)
    panel.fill_between(at, low, high, color=style.colour, alpha=0.16, linewidth=0)
    below = [m - lo for m, lo in zip(middle, low, strict=True)]
    above = [hi - m for m, hi in zip(middle, high, strict=True)]
    panel.errorbar(
        at, middle, yerr=[below, above], fmt="none", ecolor=style.colour, elinewidth=0.9, capsize=2
    )
    return [*middle, *high, *(v for v in low if v > 0)]


def _x_axis(panel: Axes, along: Along) -> None:
    at = along.positions
    if min(at) > 0 and max(at) / min(at) >= _LOG_X:
        panel.set_xscale("log")
        panel.minorticks_off()
    keep = range(0, len(at), -(-len(at) // _TICKS))
    labels = [", ".join(str(v) for v in along.steps[i]) for i in keep]
    crowded = sum(map(len, labels)) > 45
    panel.set_xticks(
        [at[i] for i in keep],
        labels,
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
    )
    panel.set_xlabel(along.label)


def every(campaign: Campaign) -> list[tuple[Metric, Along | None]]:
    """Return which figures a report has."""
    along: list[Along | None] = [*axes(campaign)] or [None]
    return list(product(shown(campaign), along))
