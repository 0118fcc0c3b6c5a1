"""The figures that papers of this field always show.

Every function takes runs by scheme and returns a matplotlib figure. A scheme has the same colour
and line in every figure; lines carry their names. Where there is nothing to show, the figure says
so in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater.units import bytes_text

if TYPE_CHECKING:
    from backwater.results import Run

Runs = Mapping[str, "Run"]
Array = np.ndarray[Any, np.dtype[Any]]

INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e4e8ed"


Line = str | tuple[int, tuple[float, ...]]
"""How a line is drawn, as matplotlib takes it: by name, or dashes as an offset and lengths."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a scheme is drawn."""

    colour: str
    line: Line = "-"


# Colours of Okabe and Ito, darkened where they are too faint on white: told apart also by the
# colour-blind, and by their lines in print.
_STYLES = {
    "bfc": Style("#0072b2"),
    "hpcc": Style("#d55e00"),
    "dcqcn": Style("#009e73"),
    "dctcp": Style("#b5578f"),
    "timely": Style("#c98a00"),
    "ideal-fq": Style("#3c4650", (0, (4, 2))),
    "dcqcn+win": Style("#009e73", (0, (1, 1))),
    "timely+win": Style("#c98a00", (0, (1, 1))),
    "pfc": Style("#7f7f7f"),
}
_SPARE = [
    Style("#56b4e9"),
    Style("#8c564b"),
    Style("#6a51a3"),
    Style("#7a9a01"),
    Style("#e377c2"),
    Style("#17807e"),
]


def styles(schemes: Sequence[str]) -> dict[str, Style]:
    """Give every scheme its style; known ones always have the same."""
    spare = sorted(s for s in schemes if s not in _STYLES)
    dashes: list[Line] = ["-", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1))]
    drawn = {
        name: Style(_SPARE[i % len(_SPARE)].colour, dashes[i // len(_SPARE) % len(dashes)])
        for i, name in enumerate(spare)
    }
    return {s: _STYLES.get(s) or drawn[s] for s in schemes}


class Plots:
    """Figures of one or several runs: ``run.plot.slowdown()`` and so on."""

    def __init__(self, runs: Runs) -> None:
        self._runs = dict(runs)

    def slowdown(self) -> Figure:
        """FCT slowdown against flow size: mean, 95th and 99th percentile."""
        return slowdown(self._runs)

    def buffer(self) -> Figure:
        """Distribution of the switches' buffer occupancy."""
        return buffer(self._runs)

    def pauses(self) -> Figure:
        """Fraction of time that PFC paused the links."""
        return pauses(self._runs)

    def active(self) -> Figure:
        """Distribution of the number of active flows at a switch port."""
        return active(self._runs)

    def incast(self) -> Figure:
        """Distribution of the completion times of incast flows."""
        return incast(self._runs)


# --- The figures -----------------------------------------------------------------------------

BINS = 16
"""Size bins of the slowdown figure, with about the same number of flows each."""

ENOUGH = 100
"""Flows of a bin into which the largest flows are split further."""


def slowdown(runs: Runs) -> Figure:
    """FCT slowdown against flow size: mean, 95th and 99th percentile; incast flows excluded."""
    samples = {name: _sizes_and_slowdowns(run) for name, run in runs.items()}
    edges = _equal_count_edges([sizes for sizes, _ in samples.values()])
    if len(edges) < 2:
        return _words("No flow outside an incast finished in the measured time.", height=1.6)
    figure, panels = _figure(3, "FCT slowdown", height=3.7)
    titles = ["average", "95th percentile", "99th percentile"]
    look = styles(list(runs))
    ends: list[list[tuple[float, str, str]]] = [[] for _ in panels]
    highest = 1.0
    for i, (panel, statistic) in enumerate(zip(panels, (np.mean, _p95, _p99), strict=True)):
        for name, (sizes, slowdowns) in samples.items():
            x, y = _binned(sizes, slowdowns, edges, statistic)
            if len(x):
                _draw(panel, x, y, look[name])
                ends[i].append((y[-1], name, look[name].colour))
                highest = max(highest, *y)
    for panel, title, names in zip(panels, titles, ends, strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(title)
        panel.set_xlabel("flow size")
        panel.xaxis.set_major_formatter(FuncFormatter(lambda v, _: bytes_text(v)))
        panel.set_ylim(1, max(2.0, highest * 1.1))
        _plain_log_ticks(panel)
        _name_line_ends(panel, names)
    return figure


def buffer(runs: Runs) -> Figure:
    """Distribution of the switches' buffer occupancy over probes, tiers apart."""
    import polars as pl

    tables = {name: run.measured_queues() for name, run in runs.items()}
    tiers = _in_order(run.summary["tiers"] for run in runs.values())
    seen = {t for table in tables.values() for t in table["tier"].cast(pl.String).unique()}
    tiers = [tier for tier in tiers if tier in seen]
    if not tiers:
        return _words("No buffer was probed in the measured time.", height=1.6)
    figure, panels = _figure(len(tiers), "share of probes with at most this", height=3.4)
    look = styles(list(runs))
    for panel, tier in zip(panels, tiers, strict=True):
        lines = []
        for name, table in tables.items():
            used = table.filter(pl.col("tier").cast(pl.String) == tier)["used_bytes"].to_numpy()
            lines.append((name, *_cdf(used / 1e6)))
        _draw_cdfs(panel, lines, look)
        panel.set_title(f"{tier} switches")
        panel.set_xlabel("buffer occupancy of a switch (MB)")
    return figure


def pauses(runs: Runs) -> Figure:
    """Fraction of port-time during which PFC paused the links, by tier and direction."""
    groups = _in_order(
        ((group["from"], group["to"]) for group in run.summary["links"]) for run in runs.values()
    )
    fraction = {
        name: {(g["from"], g["to"]): g["paused_fraction"] for g in run.summary["links"]}
        for name, run in runs.items()
    }
    if not any(value for by_group in fraction.values() for value in by_group.values()):
        return _words("PFC paused no port in any of these runs.", height=1.6)
    figure, (panel,) = _figure(1, "share of time paused by PFC", height=3.4)
    look = styles(list(runs))
    width = 0.8 / len(runs)
    for i, name in enumerate(runs):
        x = np.arange(len(groups)) + (i - (len(runs) - 1) / 2) * width
        heights = [fraction[name].get(group, 0.0) for group in groups]
        panel.bar(x, heights, width * 0.9, color=look[name].colour)
        for at, height in zip(x, heights, strict=True):
            panel.annotate(
                f"{name}  {_percent(height)}",
                (at, height),
                xytext=(0, 4),
                textcoords="offset points",
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=7.5,
                color=look[name].colour,
            )
    panel.set_xticks(range(len(groups)), [f"{a} → {b}" for a, b in groups])
    panel.tick_params(axis="x", length=0)
    panel.grid(visible=False, axis="x")
    panel.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v * 100:.4g} %"))
    panel.margins(y=0.45)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("links, from the port that has to wait")
    return figure


def active(runs: Runs) -> Figure:
    """Distribution of the number of active flows at a switch port, weighted by time."""
    import polars as pl

    lines = []
    for name, run in runs.items():
        hosts = run.summary["tiers"][0]
        rows = (
            run.active.filter(pl.col("tier").cast(pl.String) != hosts)
            .group_by("active")
            .agg(pl.col("probes").sum())
            .sort("active")
        )
        if rows.height:
            share = rows["probes"].to_numpy().cumsum() / rows["probes"].sum()
            lines.append((name, rows["active"].to_numpy().astype(float), share))
    if not lines:
        return _words("No switch port was probed.", height=1.6)
    figure, (panel,) = _figure(1, "share of probes with at most this", height=3.4)
    panel.set_xscale("symlog", linthresh=1, linscale=0.35)
    _draw_cdfs(panel, lines, styles(list(runs)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("active flows at a switch port (with at least one packet queued)")
    return figure


def incast(runs: Runs) -> Figure:
    """Distribution of the completion times of incast flows."""
    import polars as pl

    lines = []
    for name, run in runs.items():
        flows = run.measured_flows().filter(pl.col("incast"))
        fct = (flows["received_ps"] - flows["start_ps"]).to_numpy() / 1e6
        if len(fct):
            lines.append((name, *_cdf(fct)))
    if not lines:
        return _words("No flow of an incast finished: the scenario has none.", height=1.6)
    figure, (panel,) = _figure(1, "share of incast flows", height=3.4)
    panel.set_xscale("log")
    _draw_cdfs(panel, lines, styles(list(runs)))
    panel.set_xlabel("FCT of an incast flow, to its last byte (µs)")
    _plain_log_ticks(panel, "x")
    return figure


# --- Numbers ---------------------------------------------------------------------------------


def _p95(values: Array) -> float:
    return float(np.quantile(values, 0.95, method="inverted_cdf"))


def _p99(values: Array) -> float:
    return float(np.quantile(values, 0.99, method="inverted_cdf"))


def _sizes_and_slowdowns(run: Run) -> tuple[Array, Array]:
    import polars as pl

    flows = run.measured_flows().filter(~pl.col("incast"))
    return flows["bytes"].to_numpy(), flows["slowdown"].to_numpy()


def _equal_count_edges(samples: Sequence[Array], bins: int = BINS) -> Array:
    """Upper edges of size bins with about equally many flows, the lowest edge in front.

    The same for all schemes. Most flows are small, and papers look at the large ones too: the
    last bin is halved again and again, as long as its parts hold enough flows to speak of a
    percentile. Sizes that are frequent make bins of their own, so there may be fewer bins.
    """
    sizes = np.concatenate(samples) if samples else np.array([])
    if not len(sizes):
        return np.array([])
    flows = len(sizes) / len(samples)
    bins = int(np.clip(flows // 20, 1, bins))
    shares = [*np.arange(1, bins) / bins]
    rest = 1 / bins
    while bins > 1 and rest * flows / 2 >= ENOUGH:
        rest /= 2
        shares.append(1 - rest)
    upper = np.quantile(sizes, [*shares, 1.0], method="inverted_cdf")
    return np.concatenate([[sizes.min() - 1], np.unique(upper)])


def _binned(
    sizes: Array, values: Array, edges: Array, statistic: Any
) -> tuple[list[float], list[float]]:
    """Median size and a statistic of the values, for every bin that holds anything."""
    order = np.argsort(sizes, kind="stable")
    sizes, values = sizes[order], values[order]
    starts = np.searchsorted(sizes, edges, side="right")
    filled = [(a, b) for a, b in pairwise(starts) if b > a]
    return (
        [float(np.median(sizes[a:b])) for a, b in filled],
        [float(statistic(values[a:b])) for a, b in filled],
    )


def _cdf(values: Array, points: int = 600) -> tuple[Array, Array]:
    """Empirical distribution as (value, share at or below it), thinned where values are many."""
    if not len(values):
        return np.array([]), np.array([])
    x, counts = np.unique(values, return_counts=True)
    share = counts.cumsum() / len(values)
    if len(x) > points:
        keep = np.searchsorted(share, np.linspace(0, 1, points), side="left")
        keep = np.unique(np.concatenate([[0], keep.clip(max=len(x) - 1), [len(x) - 1]]))
        x, share = x[keep], share[keep]
    return x, share


def _in_order(lists: Any) -> list[Any]:
    """All different elements of some lists, in the order in which they come up."""
    return list(dict.fromkeys(item for items in lists for item in items))


# --- Drawing ---------------------------------------------------------------------------------


def _figure(panels: int, y_label: str, height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(10.2, height))
    figure.set_layout_engine("constrained", w_pad=0.08)
    axes = [figure.add_subplot(1, panels, 1)]
    axes += [figure.add_subplot(1, panels, i + 1, sharey=axes[0]) for i in range(1, panels)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(MUTED)
        panel.grid(visible=True, color=GRID, linewidth=0.8)
        panel.set_axisbelow(True)
        panel.tick_params(colors=MUTED, labelcolor=INK, labelsize=8.5)
        panel.xaxis.label.set(color=INK, fontsize=9.5)
        panel.yaxis.label.set(color=INK, fontsize=9.5)
        panel.title.set(color=INK, fontsize=10)
    axes[0].set_ylabel(y_label)
    return figure, axes


def _words(sentence: str, height: float) -> Figure:
    figure = Figure(figsize=(10.2, height))
    figure.text(0.5, 0.5, sentence, ha="center", va="center", color=MUTED, fontsize=11)
    return figure


def _draw(panel: Axes, x: Any, y: Any, style: Style, **more: Any) -> None:
    panel.plot(x, y, color=style.colour, linestyle=style.line, linewidth=1.7, **more)


def _draw_cdfs(
    panel: Axes, lines: Sequence[tuple[str, Array, Array]], look: Mapping[str, Style]
) -> None:
    """Draw distributions as steps, each named beside its line. The scale of x is set before."""
    lines = [line for line in lines if len(line[1])]
    for name, x, share in lines:
        _draw(
            panel,
            np.concatenate([[x[0]], x]),
            np.concatenate([[0.0], share]),
            look[name],
            drawstyle="steps-post",
        )
    panel.margins(x=0.08)
    panel.autoscale_view()
    if panel.get_xscale() != "log":
        panel.set_xlim(left=0)
    # Where most of every distribution lies at its first value, the rest is looked at closely.
    first = min((float(share[0]) for _, _, share in lines), default=0.0)
    bottom = 0.5 if first > 0.55 else 0.0
    panel.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    tracks = {name: _track(panel, x, share) for name, x, share in lines}
    _name_tracks(panel, tracks, look)


def _track(panel: Axes, x: Array, share: Array) -> Array:
    """Points along a drawn step line, close together, as fractions of the panel."""
    corners = np.column_stack([np.repeat(x, 2), np.concatenate([[0.0], np.repeat(share, 2)[:-1]])])
    ends = panel.transAxes.inverted().transform(panel.transData.transform(corners))
    way = np.concatenate([[0.0], np.abs(np.diff(ends, axis=0)).sum(axis=1).cumsum()])
    marks = np.arange(0, way[-1] + 0.01, 0.01)
    return np.column_stack([np.interp(marks, way, ends[:, i]) for i in (0, 1)])


def _name_tracks(panel: Axes, tracks: Mapping[str, Array], look: Mapping[str, Style]) -> None:
    """Write every name to the right of its line, where fewest other things are in the way."""
    figure = panel.get_figure(root=True)
    if figure is None or not tracks:
        return
    inches = figure.get_size_inches() * [1 / len(figure.axes), 1]
    height, letter, space = 0.16 / inches[1], 0.075 / inches[0], 0.06 / inches[0]
    lines = np.concatenate(list(tracks.values()))
    names = np.empty((0, 2))
    for name, track in tracks.items():
        width = letter * len(name)
        fits = (track[:, 0] > 0.01) & (track[:, 0] < 0.99 - width - space)
        fits &= (track[:, 1] > 0.06) & (track[:, 1] < 0.95)
        candidates = track[fits] if fits.any() else track[len(track) // 2 :][:1]
        left = candidates[:, 0] + space
        size = (width + space, height * 1.5)
        middles = np.column_stack([left + width / 2, candidates[:, 1]])
        # Names never lie on names, if there is room; and on lines as little as can be. Among
        # good places the upper ones are better: there lines are told apart.
        score = _clearance(middles, lines, size).clip(max=1.0) + 0.02 * candidates[:, 1]
        score[_clearance(middles, names, size) < 1.5] -= 10
        best = int(np.argmax(score))
        at = (left[best], candidates[best, 1])
        text = panel.annotate(
            name,
            at,
            xycoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=look[name].colour,
        )
        text.set_path_effects([patheffects.withStroke(linewidth=3, foreground="white")])
        written = np.column_stack([at[0] + np.linspace(0, width, 12), np.full(12, at[1])])
        names = np.concatenate([names, written])


def _clearance(middles: Array, obstacles: Array, size: tuple[float, float]) -> Array:
    """How far the nearest obstacle is from the middle of a text, in halves of its size."""
    away = np.abs(obstacles[None, :, :] - middles[:, None, :]) / (np.array(size) / 2)
    nearest: Array = away.max(axis=2).min(axis=1, initial=np.inf)
    return nearest


def _name_line_ends(panel: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Name lines at their right ends, pushed apart where they would overlap."""
    if not ends:
        return
    low, high = np.log10(panel.get_ylim())
    gap = 0.058
    placed: list[float] = []
    in_order = sorted(ends)
    for value, _, _ in in_order:
        wish = (np.log10(value) - low) / max(high - low, 1e-9)
        placed.append(max(wish, placed[-1] + gap) if placed else wish)
    excess = max(0.0, placed[-1] - 1.0)
    for i in range(len(placed) - 1, -1, -1):
        limit = placed[i + 1] - gap if i + 1 < len(placed) else placed[i] - excess
        placed[i] = min(placed[i], limit)
    for (_, name, colour), y in zip(in_order, placed, strict=True):
        panel.annotate(
            name,
            (1.01, y),
            xycoords="axes fraction",
            va="center",
            fontsize=8.5,
            color=colour,
            annotation_clip=False,
        )


def _plain_log_ticks(panel: Axes, axis: str = "y") -> None:
    """Numbers instead of powers, and more of them where the axis is short."""
    low, high = panel.get_ylim() if axis == "y" else panel.get_xlim()
    target = panel.yaxis if axis == "y" else panel.xaxis
    if high / max(low, 1e-12) < 100:
        target.set_major_locator(LogLocator(subs=(1, 2, 5)))
    target.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    target.set_minor_formatter(NullFormatter())


def _percent(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value * 100:.2g} %" if value < 0.1 else f"{value * 100:.0f} %"
