"""The standard figures of this field's papers.

Every function takes runs by scheme and returns a matplotlib figure. A scheme has the same colour
and line style in every figure. Lines are labelled with their names. If there is no data, the figure
has a sentence instead. A notebook shows the figure without further calls.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater._base.units import bytes_text
from backwater.plots import curves
from backwater.plots.curves import STATISTICS, Array, Runs, Style, styles

__all__ = ["Plots", "Style", "styles"]

INK = "#1f2933"
MUTED = "#6b7785"
GRID = "#e4e8ed"


class Picture(Figure):
    """A figure that a notebook displays without further calls."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=100)
        return file.getvalue()


class Plots:
    """Figures of one or several runs: ``run.plot.slowdown()`` and so on."""

    def __init__(self, runs: Runs) -> None:
        self._runs = dict(runs)

    def slowdown(self) -> Figure:
        """Plot FCT slowdown against flow size: mean, 95th and 99th percentile."""
        return slowdown(self._runs)

    def buffer(self) -> Figure:
        """Plot the distribution of the switches' buffer occupancy."""
        return buffer(self._runs)

    def pauses(self) -> Figure:
        """Plot the fraction of time for which PFC paused the links."""
        return pauses(self._runs)

    def active(self) -> Figure:
        """Plot the distribution of the number of active flows at a switch port."""
        return active(self._runs)

    def incast(self) -> Figure:
        """Plot the distribution of the completion times of incast flows."""
        return incast(self._runs)

    def blame(self, percentile: float = 99) -> Figure:
        """Plot the delay breakdown of slow flows, by class and scheme (``[record] blame = {}``)."""
        return blame(self._runs, percentile)


# --- The figures -----------------------------------------------------------------------------


def slowdown(runs: Runs) -> Figure:
    """Plot FCT slowdown against flow size: mean, 95th and 99th percentile, without incast flows."""
    import polars as pl

    flows = {
        name: run.measured_flows(["bytes", *run.flow_ends], ~pl.col("incast"))
        for name, run in runs.items()
    }
    ordered = {
        name: curves.by_size(table["bytes"].to_numpy(), table["slowdown"].to_numpy())
        for name, table in flows.items()
    }
    edges = curves.equal_count_edges(list(ordered.values()))
    if len(edges) < 2:
        return _sentence("No flow outside an incast finished in the measured time.", height=1.6)
    titles = ["average", "95th percentile", "99th percentile"]
    figure, panels = _figure(len(titles), "FCT slowdown", height=3.7)
    look = styles(list(runs))
    ends: list[list[tuple[float, str, str]]] = [[] for _ in panels]
    highest = 1.0
    for name, sample in ordered.items():
        bins = curves.in_bins(sample, edges)
        x = [size for size, _ in bins]
        for panel, title, names in zip(panels, titles, ends, strict=True):
            y = [STATISTICS[title](values) for _, values in bins]
            if y:
                _draw(panel, x, y, look[name])
                names.append((y[-1], name, look[name].colour))
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
    """Plot the distribution of the switches' buffer occupancy over probes, for each tier."""
    samples = curves.buffer_samples(runs)
    if not samples:
        return _sentence("No buffer was probed in the measured time.", height=1.6)
    figure, panels = _figure(len(samples), "share of probes with at most this", height=3.4)
    look = styles(list(runs))
    for panel, (tier, by_run) in zip(panels, samples.items(), strict=True):
        lines = [(name, *curves.cdf(values / 1e6)) for name, values in by_run.items()]
        _draw_cdfs(panel, lines, look)
        panel.set_title(f"{curves.switch_of(tier)}es")
        panel.set_xlabel("buffer occupancy of a switch (MB)")
    return figure


def pauses(runs: Runs) -> Figure:
    """Plot the fraction of port-time for which PFC paused the links, by tier and direction."""
    groups, fraction = curves.pause_groups(runs)
    if not any(value for by_group in fraction.values() for value in by_group.values()):
        return _sentence("PFC paused no port in any of these runs.", height=1.6)
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
    """Plot the distribution of the number of active flows at a switch port, weighted by time."""
    lines = [(name, *curves.active_flows(run)) for name, run in runs.items()]
    lines = [line for line in lines if len(line[1])]
    if not lines:
        return _sentence("No switch port was probed.", height=1.6)
    figure, (panel,) = _figure(1, "share of probes with at most this", height=3.4)
    panel.set_xscale("symlog", linthresh=1, linscale=0.35)
    _draw_cdfs(panel, lines, styles(list(runs)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("active flows at a switch port (with at least one packet queued)")
    return figure


def incast(runs: Runs) -> Figure:
    """Plot the distribution of the completion times of incast flows."""
    import polars as pl

    lines = []
    for name, run in runs.items():
        flows = run.measured_flows(["start_ps", *run.flow_ends], pl.col("incast"))
        fct = (flows["ended_ps"] - flows["start_ps"]).to_numpy() / 1e6
        if len(fct):
            lines.append((name, *curves.cdf(fct)))
    if not lines:
        words = "No flow of an incast finished in the measured time, or the scenario has none."
        return _sentence(words, height=1.6)
    figure, (panel,) = _figure(1, "share of incast flows", height=3.4)
    panel.set_xscale("log")
    _draw_cdfs(panel, lines, styles(list(runs)))
    ended = curves.until(run.fct_until for run in runs.values())
    panel.set_xlabel(f"FCT of an incast flow, {ended} (µs)")
    _plain_log_ticks(panel, "x")
    return figure


def blame(runs: Runs, percentile: float = 99) -> Figure:
    """Plot the mean delay breakdown of the slow flows of each class, from this percentile on."""
    from backwater.analysis.blame import COLOURS, is_recorded, named, slow_by_class

    recorded = {name: run for name, run in runs.items() if is_recorded(run)}
    found = slow_by_class(recorded, percentile)
    if not found:
        return _sentence("No run recorded where time went: add [record] blame = {}.", height=1.6)
    figure, panels = _figure(len(found), "", height=1.5 + 0.34 * len(recorded))
    for panel, (size_class, rows) in zip(panels, found.items(), strict=True):
        for place, row in ((place, rows.get(name)) for place, name in enumerate(recorded)):
            left = 0.0
            for group, colour in COLOURS.items():
                width = row[group] / 1e6 if row else 0.0
                panel.barh(place, width, left=left, height=0.72, color=colour)
                left += width
        panel.set_title(f"{size_class} flows")
        panel.set_xlabel("time of slow flows (µs)")
        panel.grid(visible=False, axis="y")
        panel.margins(x=0.02)
    panels[0].set_yticks(range(len(recorded)), list(recorded))
    panels[0].invert_yaxis()
    for panel in panels:
        panel.tick_params(axis="y", length=0, labelleft=panel is panels[0])
    order = named(found)
    figure.legend(
        handles=[Patch(color=COLOURS[group], label=group) for group in order],
        loc="outside lower center",
        ncols=min(len(order), 7),
        frameon=False,
        fontsize=8,
    )
    return figure


# --- Drawing ---------------------------------------------------------------------------------


def _figure(panels: int, y_label: str, height: float) -> tuple[Figure, list[Axes]]:
    figure = Picture(figsize=(10.2, height))
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


def _sentence(sentence: str, height: float) -> Figure:
    figure = Picture(figsize=(10.2, height))
    figure.text(0.5, 0.5, sentence, ha="center", va="center", color=MUTED, fontsize=11)
    return figure


def _draw(panel: Axes, x: Any, y: Any, style: Style, **more: Any) -> None:
    alone = "o" if len(x) == 1 else ""  # A line through one point would be invisible.
    look: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "marker": alone}
    panel.plot(x, y, linewidth=1.7, markersize=4, **look, **more)


def _draw_cdfs(
    panel: Axes, lines: Sequence[tuple[str, Array, Array]], look: Mapping[str, Style]
) -> None:
    """Draw distributions as steps, each with its name. The caller sets the scale of x before."""
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
    # If most of every distribution is at its first value, show only the upper half.
    first = min((float(share[0]) for _, _, share in lines), default=0.0)
    bottom = 0.5 if first > 0.55 else 0.0
    panel.set_ylim(bottom, 1 + 0.02 * (1 - bottom))
    tracks = {name: _track(panel, x, share) for name, x, share in lines}
    _name_tracks(panel, tracks, look)


def _track(panel: Axes, x: Array, share: Array) -> Array:
    """Return closely spaced points along a drawn step line, as fractions of the panel."""
    corners = np.column_stack([np.repeat(x, 2), np.concatenate([[0.0], np.repeat(share, 2)[:-1]])])
    ends = panel.transAxes.inverted().transform(panel.transData.transform(corners))
    length = np.concatenate([[0.0], np.abs(np.diff(ends, axis=0)).sum(axis=1).cumsum()])
    marks = np.arange(0, length[-1] + 0.01, 0.01)
    return np.column_stack([np.interp(marks, length, ends[:, i]) for i in (0, 1)])


def _name_tracks(panel: Axes, tracks: Mapping[str, Array], look: Mapping[str, Style]) -> None:
    """Write each name to the right of its line, at the place with the fewest obstacles."""
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
        # Names do not overlap other names if there is room, and overlap lines as little as
        # possible. Higher places are preferred, because the lines are farther apart there.
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
    """Return the distance from the middle of a text to the nearest obstacle, in half text sizes."""
    away = np.abs(obstacles[None, :, :] - middles[:, None, :]) / (np.array(size) / 2)
    nearest: Array = away.max(axis=2).min(axis=1, initial=np.inf)
    return nearest


def _name_line_ends(panel: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write names of lines at their right ends, shifted so that they do not overlap."""
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
    """Label the ticks with numbers instead of powers, and add ticks to a short axis."""
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
