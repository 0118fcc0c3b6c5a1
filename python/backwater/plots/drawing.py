"""Draws charts with matplotlib: ``results.plot.slowdown()`` and so on.

A scheme has the same colour and line style in every figure. Lines are labelled with their names. If
there is no data, the figure has a sentence instead. A notebook shows the figure without further
calls.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater._base.units import bytes_text
from backwater.plots import charts, figures
from backwater.plots.charts import Axis, Chart, Panel
from backwater.plots.curves import Array, Runs, Style, styles

__all__ = ["Plots", "draw"]

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
    """Figures of one or several runs: ``results.plot.slowdown()`` and so on.

    ``groups`` has for each run the name of its combination of values and scheme, without the seed.
    """

    def __init__(self, runs: Runs, groups: Mapping[str, str] | None = None) -> None:
        self._runs, self._groups = dict(runs), groups or {}

    def slowdown(self) -> Figure:
        """Plot FCT slowdown against flow size: mean, 95th and 99th percentile.

        The flows of all seeds of a combination are one sample.
        """
        flows = figures.read(self._runs, ["by_size"])
        return draw(figures.slowdown(figures.pooled(flows, self._groups)))

    def buffer(self) -> Figure:
        """Plot the distribution of the switches' buffer occupancy."""
        return draw(figures.buffer(self._runs))

    def pauses(self) -> Figure:
        """Plot the fraction of time for which PFC paused the links."""
        return draw(figures.pauses(self._runs))

    def active(self) -> Figure:
        """Plot the distribution of the number of active flows at a switch port."""
        return draw(figures.active(self._runs))

    def incast(self) -> Figure:
        """Plot the distribution of the completion times of incast flows."""
        return draw(figures.incast(figures.read(self._runs, ["incast_fct_us"])))

    def timeline(self) -> Figure:
        """Plot flows in flight, PFC pauses and the fullest switch of each tier over time."""
        return draw(figures.timeline(self._runs, figures.read(self._runs, ["in_flight"])))

    def blame(self, percentile: float = 99) -> Figure:
        """Plot the delay breakdown of slow flows, by class and scheme (``[record] blame = {}``)."""
        return draw(figures.blame(self._runs, percentile))


# --- Charts ----------------------------------------------------------------------------------


def draw(chart: Chart, view: int = 0) -> Figure:
    """Draw one view of a chart. A chart without views is drawn as its sentence ``nothing``."""
    if not chart.views:
        return _sentence(chart.nothing, height=1.6)
    panels = chart.views[view].panels
    shape = (len(panels), 1) if chart.column else (1, len(panels))
    figure, axes = new_figure(shape, 1.2 + 1.3 * len(panels) if chart.column else 3.6)
    look = styles(list(dict.fromkeys(line.name for panel in panels for line in panel.lines)))
    for i, (place, panel) in enumerate(zip(axes, panels, strict=True)):
        place.set_title(panel.title)
        _dress(place, "x", panel.x)
        _dress(place, "y", panel.y)
        if not chart.column and i and panel.y == panels[0].y:
            place.set_ylabel("")
        if chart.column and i < len(panels) - 1:
            place.set_xlabel("")
        _KINDS[chart.kind](place, panel, look)
        _limit(place, panel, chart.kind)
        if chart.kind == "step":
            _name_steps(place, panel, look)
        elif chart.kind in ("line", "points") and not chart.column:
            ends = [(line.y[-1], line.name) for line in panel.lines if len(line.y)]
            name_line_ends(place, [(y, name, look[name].colour) for y, name in ends])
    if chart.kind in ("bars", "stack", "lanes") or chart.column:
        lines = {line.name: line for panel in panels for line in panel.lines}
        handles = [
            Patch(color=line.colour or look[name].colour, label=name)
            for name, line in lines.items()
        ]
        columns = min(len(handles), 7)
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8)
    return figure


def _dress(place: Axes, which: str, axis: Axis) -> None:
    """Set label, scale, limits and ticks of an axis."""
    target = place.xaxis if which == "x" else place.yaxis
    set_scale = place.set_xscale if which == "x" else place.set_yscale
    target.set_label_text(axis.label)
    if axis.scale == "log1p":
        set_scale("symlog", linthresh=1, linscale=0.35)
    else:
        set_scale(axis.scale)
    if axis.ticks:
        target.set_ticks([at for at, _ in axis.ticks], [label for _, label in axis.ticks])
        if len(axis.ticks) > 4 and which == "x":
            place.tick_params(axis="x", labelrotation=30)
        place.tick_params(axis="x" if which == "x" else "y", length=0)
        return
    target.set_major_formatter(FuncFormatter(lambda value, _: _text(value, axis.unit)))
    target.set_minor_formatter(NullFormatter())


def _limit(place: Axes, panel: Panel, kind: charts.Kind) -> None:
    """Set the limits of both axes. An axis without limits fits its data."""
    if kind in ("lanes", "cells"):
        return
    place.margins(x=0.08 if kind == "step" else 0.04)
    if not panel.x.ticks:
        place.set_xlim(panel.x.start, panel.x.end)
    place.set_ylim(panel.y.start, panel.y.end)
    for axis, which in ((panel.x, "x"), (panel.y, "y")):
        if axis.scale == "log":
            plain_log_ticks(place, which, axis.unit)


def _text(value: float, unit: str) -> str:
    if unit == "bytes":
        return bytes_text(value)
    return f"{100 * value:.4g} %" if unit == "share" else f"{value:g}"


def _draw_lines(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw lines, with the bands between their bounds."""
    for line in panel.lines:
        if not len(line.x):
            continue
        draw_line(place, line.x, line.y, look[line.name])
        if line.low is not None and line.high is not None:
            colour = look[line.name].colour
            place.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)


def _draw_steps(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw distributions as steps."""
    bottom = panel.y.start or 0.0
    for line in panel.lines:
        if len(line.x):
            x, y = np.concatenate([line.x[:1], line.x]), np.concatenate([[bottom], line.y])
            draw_line(place, x, y, look[line.name], drawstyle="steps-post")


def _name_steps(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    lines = [line for line in panel.lines if len(line.x)]
    tracks = {line.name: _track(place, np.asarray(line.x), np.asarray(line.y)) for line in lines}
    _name_tracks(place, tracks, look)


def _draw_bars(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw bars side by side, a colour for each scheme, with intervals and reference values."""
    width = 0.8 / len(panel.lines)
    place.grid(visible=False, axis="x")
    for i, line in enumerate(panel.lines):
        at = np.asarray(line.x) + (i - (len(panel.lines) - 1) / 2) * width
        place.bar(at, line.y, 0.92 * width, color=look[line.name].colour)
        if line.low is not None and line.high is not None:
            place.vlines(at, line.low, line.high, color=INK, linewidth=1.5)
        if line.marks is not None:
            known = [(x, mark) for x, mark in zip(at, line.marks, strict=True) if mark is not None]
            for x, mark in known:
                place.hlines(mark, x - width / 2, x + width / 2, color=INK, linewidth=2.5)


def _draw_stack(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw the parts of bars above each other."""
    place.grid(visible=False, axis="x")
    base = np.zeros(len(panel.x.ticks))
    for line in panel.lines:
        colour = line.colour or look[line.name].colour
        place.bar(line.x, line.y, 0.8, bottom=base, color=colour)
        base += np.asarray(line.y)


def _draw_lanes(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw a lane for each rank, the first at the top, with stretches in the colours of states."""
    place.grid(visible=False, axis="y")
    place.set_ylim(len(panel.y.ticks) - 0.5, -0.5)
    for line in panel.lines:
        if line.until is not None:
            width = np.asarray(line.until) - np.asarray(line.x)
            colour = line.colour or look[line.name].colour
            place.barh(line.y, width, 0.82, left=line.x, color=colour)


def _draw_cells(place: Axes, panel: Panel, look: Mapping[str, Style]) -> None:
    """Draw a heat map with the text of each cell."""
    del look  # Cells do not have the colours of schemes, because their shade shows the value.
    place.grid(visible=False)
    for line in panel.lines:
        if line.until is None or line.words is None:
            continue
        for x, y, shade, label in zip(line.x, line.y, line.until, line.words, strict=True):
            colour = str(0.95 - 0.7 * float(shade))
            place.barh(y, 0.96, 0.96, left=float(x) - 0.48, color=colour)
            ink = "white" if shade > 0.55 else INK
            place.text(float(x), float(y), label, ha="center", va="center", color=ink, fontsize=8)


_KINDS: dict[charts.Kind, Callable[[Axes, Panel, Mapping[str, Style]], None]] = {
    "line": _draw_lines,
    "points": _draw_lines,
    "step": _draw_steps,
    "bars": _draw_bars,
    "stack": _draw_stack,
    "lanes": _draw_lanes,
    "cells": _draw_cells,
}


# --- Parts -----------------------------------------------------------------------------------


def new_figure(shape: tuple[int, int], height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels; ``shape`` is (rows, columns), ``height`` is in inches."""
    figure = Picture(figsize=(10.2, height))
    figure.set_layout_engine("constrained", w_pad=0.08)
    rows, columns = shape
    panels = [figure.add_subplot(rows, columns, i + 1) for i in range(rows * columns)]
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(MUTED)
        panel.grid(visible=True, color=GRID, linewidth=0.8)
        panel.set_axisbelow(True)
        panel.tick_params(colors=MUTED, labelcolor=INK, labelsize=8.5)
        panel.xaxis.label.set(color=INK, fontsize=9.5)
        panel.yaxis.label.set(color=INK, fontsize=9.5)
        panel.title.set(color=INK, fontsize=10)
    return figure, panels


def _sentence(sentence: str, height: float) -> Figure:
    figure = Picture(figsize=(10.2, height))
    figure.text(0.5, 0.5, sentence, ha="center", va="center", color=MUTED, fontsize=11)
    return figure


def draw_line(panel: Axes, x: Any, y: Any, style: Style, **more: Any) -> None:
    """Draw a line; a line with one point is a dot."""
    alone = "o" if len(x) == 1 else ""
    look: dict[str, Any] = {"color": style.colour, "linestyle": style.line, "marker": alone}
    panel.plot(x, y, linewidth=1.7, markersize=4, **look, **more)


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


def name_line_ends(panel: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write the names of lines at their right ends, shifted so that they do not overlap.

    Each entry of ``ends`` is the last value of a line, its name and its colour.
    """
    if not ends:
        return
    right = panel.get_xlim()[1]
    to_panel = panel.transData + panel.transAxes.inverted()
    gap = 0.058
    placed: list[float] = []
    in_order = sorted(ends)
    for value, _, _ in in_order:
        wish = float(to_panel.transform((right, value))[1])
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


def plain_log_ticks(panel: Axes, axis: str = "y", unit: str = "") -> None:
    """Label the ticks with numbers instead of powers, and add ticks to a short axis."""
    low, high = panel.get_ylim() if axis == "y" else panel.get_xlim()
    target = panel.yaxis if axis == "y" else panel.xaxis
    if high / max(low, 1e-12) < 100:
        target.set_major_locator(LogLocator(subs=(1, 2, 5)))
    target.set_major_formatter(FuncFormatter(lambda v, _: _text(v, unit)))
    target.set_minor_formatter(NullFormatter())
