"""Builds the figures of pages with Bokeh, from the same charts as :mod:`backwater.plots.drawing`.

A page embeds each view of a chart with ``Bokeh.embed.embed_item``. Each drawn element has the name
of its scheme, so that the page can hide all elements of a scheme. A tooltip lists the values of all
lines at the pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, Literal

import bokeh
import numpy as np
from bokeh.core.serialization import Serializer
from bokeh.layouts import column, row
from bokeh.models import Axis as AxisModel
from bokeh.models import (
    CDSView,
    ColumnDataSource,
    CrosshairTool,
    DataRange1d,
    FactorRange,
    FixedTicker,
    HBar,
    HoverTool,
    NoOverlap,
    NumeralTickFormatter,
    Range,
    Range1d,
    Rect,
    Scatter,
    Segment,
    Step,
    Text,
    VArea,
    VBar,
)
from bokeh.models import Line as LineGlyph
from bokeh.models.annotations import Title
from bokeh.models.renderers import GlyphRenderer
from bokeh.models.ui import UIElement
from bokeh.palettes import Blues9
from bokeh.plotting import figure
from bokeh.transform import linear_cmap

from backwater._base.units import bytes_text, number_text
from backwater.plots.charts import Axis, Chart, Line, Panel, View, numbers
from backwater.plots.curves import Array, Style

INK, MUTED, GRID = "#1f2933", "#9aa5b1", "#dfe4ea"

NARROW = 240
"""Minimum width of a panel in pixels. Panels that do not fit side by side are below each other."""

LETTERS = 34
"""Number of letters that fit below or above a narrow panel."""

SHORT = 40
"""Number of values from which a column of the page is stored as an array instead of a list."""

STOPS = 100
"""Maximum number of places along a line at which the tooltip has values."""

_FONT: dict[str, Any] = {"text_font": "system-ui, sans-serif", "text_font_style": "normal"}
_TITLE: dict[str, Any] = {**_FONT, "text_font_size": "12px", "align": "center", "text_color": INK}
_AXIS: dict[str, Any] = {
    **{f"axis_label_{name}": value for name, value in _FONT.items()},
    **{f"major_label_{name}": value for name, value in _FONT.items()},
    "axis_label_text_color": INK,
    "axis_label_text_font_size": "12px",
    "axis_line_color": MUTED,
    "major_label_text_color": "#3e4c59",
    "major_tick_line_color": MUTED,
    "minor_tick_line_color": None,
}
_PLOT: dict[str, Any] = {
    "background_fill_color": None,
    "border_fill_color": None,
    "outline_line_color": None,
    "min_border_right": 12,
    "min_width": NARROW,
    "sizing_mode": "stretch_width",
    "output_backend": "svg",
}


def items(chart: Chart, look: Mapping[str, Style]) -> list[dict[str, Any]]:
    """Return each view of a chart as an item that BokehJS embeds, like ``bokeh.embed.json_item``.

    That function takes twice the time, because it adds the models to a document for a moment.
    """
    found = []
    for view in chart.views:
        root = _renumbered(Serializer(deferred=False).encode(_view(chart, view, look)), {})
        document = {"version": bokeh.__version__, "title": chart.title, "roots": [root]}
        found.append({"target_id": None, "root_id": root["id"], "doc": document})
    return found


def _renumbered(value: Any, numbered: dict[str, str]) -> Any:
    """Replace the identifiers of Bokeh models by consecutive ones, so that equal pages are equal.

    Bokeh's own identifiers depend on the models that the process built before.
    """
    if isinstance(value, dict):
        return {
            key: numbered.setdefault(part, f"m{len(numbered)}")
            if key == "id"
            else _renumbered(part, numbered)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_renumbered(part, numbered) for part in value]
    return value


def _view(chart: Chart, view: View, look: Mapping[str, Style]) -> UIElement:
    """Return the panels of a view. Panels in a column show the same part of the x axis."""
    plots = [_Plot(chart, panel, look).plot for panel in view.panels]
    if not chart.column:
        return row(plots, sizing_mode="stretch_width", styles={"flex-wrap": "wrap"})
    for plot in plots[:-1]:
        plot.x_range = plots[-1].x_range
        plot.xaxis.visible = False
        plot.height = 150
    plots[-1].height = 190
    return column(plots, sizing_mode="stretch_width")


class _Plot:
    """A panel as a Bokeh plot. The data of all its lines are columns of one source."""

    def __init__(self, chart: Chart, panel: Panel, look: Mapping[str, Style]) -> None:
        self.kind, self.panel, self.look = chart.kind, panel, look
        self.lines = [line for line in panel.lines if len(line.x)]
        self.columns: dict[str, Sequence[Any] | Array] = {}
        self.source, self.view = ColumnDataSource(), CDSView()
        along = "x" if chart.column else ""
        self.plot = figure(
            title=Title(text=fill(panel.title, LETTERS), **_TITLE) if panel.title else None,
            height=90 + max(12 * len(panel.y.ticks), 80) if self.kind == "lanes" else 300,
            x_axis_type="log" if panel.x.scale == "log" else "auto",
            y_axis_type="log" if panel.y.scale == "log" else "auto",
            x_range=self._x_range(),
            y_range=self._y_range(),
            tools=f"{along}pan,{along}box_zoom,reset,save",
            active_drag=f"{along}box_zoom",
            **_PLOT,
        )
        self.plot.grid.grid_line_color = GRID
        self.plot.toolbar.update(autohide=True, logo=None)
        _dress(self.plot.xaxis[0], panel.x, self.kind == "stack")
        _dress(self.plot.yaxis[0], panel.y)
        draw = {"bars": self._bars, "stack": self._stack}
        draw |= {"lanes": self._lanes, "cells": self._cells}
        if self.lines:
            draw.get(self.kind, self._curves)()
        most = max(map(len, self.columns.values()), default=0)
        self.source.data = {name: _padded(v, most) for name, v in self.columns.items()}

    def _x_range(self) -> Range:
        if self.kind == "stack":
            # The page removes hidden schemes from a range of this name.
            return FactorRange(factors=[name for _, name in self.panel.x.ticks], name="schemes")
        return _fitting(self.panel.x)

    def _y_range(self) -> Range:
        if self.kind == "lanes":  # The first lane is at the top.
            return Range1d(start=len(self.panel.y.ticks) - 0.5, end=-0.5)
        return _fitting(self.panel.y)

    def _add(self, glyph: Any, name: str | None = None) -> GlyphRenderer[Any]:
        return self.plot.add_glyph(self.source, glyph, name=name, view=self.view)

    def _colour(self, line: Line) -> str:
        return line.colour or self.look[line.name].colour

    def _curves(self) -> None:
        """Draw lines or steps, with the bands between their bounds."""
        for i, line in enumerate(self.lines):
            x, y, colour = self._at_x(line.x), np.asarray(line.y), self._colour(line)
            dash = [round(1.8 * part) for part in self.look[line.name].dash]
            stroke: dict[str, Any] = {"line_color": colour, "line_width": 1.8, "line_dash": dash}
            at: dict[str, Any] = {"x": f"x{i}", "y": f"y{i}"}
            if line.low is not None and line.high is not None:
                self._add_bounds(i, line, x, colour)
                area = VArea(x=f"x{i}", y1=f"low{i}", y2=f"high{i}", fill_color=colour)
                area.fill_alpha = 0.16
                self._add(area, line.name)
            if self.kind == "step":
                x, y = np.append(x[:1], x), np.append(self.panel.y.start or 0.0, y)
                self._add(Step(**at, mode="after", **stroke), line.name)
            else:
                self._add(LineGlyph(**at, **stroke), line.name)
            if self.kind == "points" or len(line.x) == 1:
                # A line through one point is invisible.
                dot: dict[str, Any] = {"fill_color": colour, "line_color": colour}
                self._add(Scatter(**at, size=5, **dot), line.name)
            self.columns |= {f"x{i}": x, f"y{i}": y}
        self._read_out(self._add(LineGlyph(x="x", y="y", line_alpha=0)))
        self.plot.add_tools(CrosshairTool(dimensions="height", line_color=MUTED, visible=False))

    def _add_bounds(self, i: int, line: Line, x: Array, colour: str) -> None:
        low, high = line.low or (), line.high or ()
        self.columns |= {f"low{i}": low, f"high{i}": high, f"x{i}": x}
        ends: dict[str, Any] = {"x0": f"x{i}", "x1": f"x{i}", "y0": f"low{i}", "y1": f"high{i}"}
        self._add(Segment(**ends, line_color=colour, line_width=1.5), line.name)

    def _bars(self) -> None:
        """Draw bars side by side, a colour for each scheme."""
        self.plot.xgrid.grid_line_color = None
        width = 0.8 / max(len(self.lines), 1)
        for i, line in enumerate(self.lines):
            x = np.asarray(line.x) + (i - (len(self.lines) - 1) / 2) * width
            self.columns |= {f"x{i}": x, f"top{i}": line.y}
            bar = VBar(x=f"x{i}", top=f"top{i}", width=0.92 * width, line_color=None)
            bar.fill_color = self._colour(line)
            self._add(bar, line.name)
            if line.low is not None:
                self._add_bounds(i, line, x, INK)
            if line.marks is not None:
                marks = [np.nan if mark is None else mark for mark in line.marks]
                self.columns |= {f"m{i}": marks, f"l{i}": x - width / 2, f"r{i}": x + width / 2}
                at: dict[str, Any] = {"x0": f"l{i}", "x1": f"r{i}", "y0": f"m{i}", "y1": f"m{i}"}
                self._add(Segment(**at, line_color=INK, line_width=2.5), line.name)
        self._read_out(self._add(VBar(x="x", top="y", width=1, fill_alpha=0, line_alpha=0)))

    def _stack(self) -> None:
        """Draw a bar for each scheme, whose parts are above each other."""
        self.plot.xgrid.grid_line_color = None
        names = [name for _, name in self.panel.x.ticks]
        tops = np.cumsum([line.y for line in self.lines], axis=0)
        bottoms = tops - np.array([line.y for line in self.lines])
        self.columns |= {"scheme": names * len(self.lines), "top": tops.ravel()}
        self.columns |= {"bottom": bottoms.ravel()}
        self.columns["colour"] = [self._colour(line) for line in self.lines for _ in names]
        part = VBar(x="scheme", top="top", bottom="bottom", width=0.8, line_color=None)
        part.fill_color = "colour"
        self._add(part)
        self._read_out(self._add(VBar(x="x", top="y", width=1, fill_alpha=0, line_alpha=0)))

    def _read_out(self, shown: GlyphRenderer[Any]) -> None:
        """Add a tooltip with the value of each line at the pointer. ``shown`` is transparent."""
        every = np.unique(np.concatenate([np.asarray(line.x, float) for line in self.lines]))
        stops = every[:: -(-len(every) // STOPS)]
        ticks = dict(self.panel.x.ticks)
        places = [ticks.get(stop, _text(stop, self.panel.x.unit)) for stop in stops]
        highest = max(max(line.y) for line in self.lines)
        tooltips = [(self.panel.x.label.split(" (")[0], "@at")]
        self.columns |= {
            "x": places if self.kind == "stack" else self._at_x(stops),
            "y": np.full(len(stops), highest),
            "at": places,
        }
        if self.kind == "stack":
            sums = np.array([line.y for line in self.lines]).sum(axis=0)
            self.columns |= {"y": sums, "all": [_text(v, self.panel.y.unit) for v in sums]}
            tooltips.append(("together", "@all"))
        for i, line in enumerate(self.lines):
            texts = [self._value(line, j) for j in _indices(line, stops, self.kind)]
            self.columns[f"value{i}"] = texts
            tooltips.append((line.name, f"@value{i}"))
        self._add_tooltips(tooltips, shown, "vline")

    def _add_tooltips(
        self,
        tooltips: Sequence[tuple[str, str]],
        shown: GlyphRenderer[Any],
        mode: Literal["mouse", "vline"],
    ) -> None:
        # The page removes the lines about hidden schemes, and takes all lines from the tags.
        self.plot.add_tools(
            HoverTool(
                renderers=[shown],
                tooltips=list(tooltips),
                tags=list(tooltips),
                mode=mode,
                point_policy="follow_mouse",
                visible=False,
            )
        )

    def _value(self, line: Line, at: int) -> str:
        """Return a value as text, with its interval or its reference value."""
        unit = self.panel.y.unit
        if at < 0:
            return _text(0, unit) if self.kind == "step" else "–"
        text = _text(line.y[at], unit)
        if line.low is not None and line.high is not None:
            text += f" [{_text(line.low[at], unit)}, {_text(line.high[at], unit)}]"
        mark = line.marks[at] if line.marks is not None else None
        if mark is not None:
            text += f" of {_text(mark, unit)} ({_text(line.y[at] / mark, 'share')})"
        return text

    def _at_x(self, values: Any) -> Array:
        """Convert values to positions on the x axis: log(1 + x) with the scale ``log1p``.

        The conversion is made here because Bokeh has no logarithmic scale that contains 0.
        """
        array = np.asarray(values, dtype=float)
        return np.log1p(array) if self.panel.x.scale == "log1p" else array

    def _lanes(self) -> None:
        """Draw a lane for each rank, with intervals in the colours of states."""
        self.plot.ygrid.grid_line_color = None
        labels = dict(self.panel.y.ticks)
        for i, line in enumerate(self.lines):
            until = line.until if line.until is not None else ()
            self.columns |= {f"y{i}": line.y, f"from{i}": line.x, f"to{i}": until}
            self.columns[f"lane{i}"] = [labels[lane] for lane in line.y]
            self.columns[f"text{i}"] = line.words or ()
            ends: dict[str, Any] = {"y": f"y{i}", "left": f"from{i}", "right": f"to{i}"}
            bar = HBar(**ends, height=0.82, fill_color=self._colour(line), line_color=None)
            time = f"@from{i}{{0.[0000]}} to @to{i}{{0.[0000]}} {self.panel.x.unit}"
            found = [(self.panel.y.label, f"@lane{i}"), (line.name, f"@text{i}"), ("time", time)]
            self._add_tooltips(found, self._add(bar), "mouse")

    def _cells(self) -> None:
        """Draw a heat map, with the text of each cell if it fits."""
        self.plot.grid.grid_line_color = None
        for line in self.lines:
            shade, words = np.asarray(line.until), list(line.words or ())
            across, up = dict(self.panel.x.ticks), dict(self.panel.y.ticks)
            self.columns |= {"x": line.x, "y": line.y, "shade": shade, "text": words}
            self.columns["across"] = [across[at] for at in line.x]
            self.columns["up"] = [up[at] for at in line.y]
            self.columns["ink"] = ["white" if dark else INK for dark in shade > 0.55]
            colour = linear_cmap("shade", Blues9[::-1], 0, 1)
            at: dict[str, Any] = {"x": "x", "y": "y"}
            cell = Rect(**at, width=0.96, height=0.96, fill_color=colour, line_color=None)
            found = [(self.panel.x.label, "@across"), (self.panel.y.label, "@up")]
            shown = self._add(cell, line.name)
            self._add_tooltips([*found, (line.name, "@text")], shown, "mouse")
            if len(across) * 7 * max(map(len, words)) < NARROW - 40 and len(up) <= 24:
                text = Text(**at, text="text", text_color="ink", text_font_size="11px")
                text.text_align, text.text_baseline = "center", "middle"
                self._add(text, line.name)


def _fitting(axis: Axis) -> DataRange1d:
    """Return a range that fits the data where the axis has no limits."""
    ends = {"start": axis.start, "end": axis.end}
    known: dict[str, Any] = {name: end for name, end in ends.items() if end is not None}
    return DataRange1d(range_padding=0.06, **known)


def _dress(model: AxisModel, axis: Axis, is_named: bool = False) -> None:
    """Set the label of an axis, and its ticks unless they are the names of a range."""
    model.update(axis_label=fill(axis.label, LETTERS), **_AXIS)
    labels = [label for _, label in axis.ticks]
    if axis.scale == "log1p":
        at = [0, *(digit * 10**power for power in range(10) for digit in (1, 2, 5))]
        labels, places = [number_text(v) for v in at], [float(np.log1p(v)) for v in at]
    else:
        places = [float(at) for at, _ in axis.ticks]
    if sum(map(len, labels)) + len(labels) > LETTERS and axis.scale != "log1p":
        model.major_label_orientation = 0.6
    else:
        model.major_label_policy = NoOverlap()
    if is_named:
        return
    if places:
        model.ticker = FixedTicker(ticks=places)
        model.major_label_overrides = dict(zip(places, labels, strict=True))
    else:
        form = {"bytes": "0.[00] d", "share": "0.[00] %"}.get(axis.unit, "0,0.[000000]")
        model.formatter = NumeralTickFormatter(format=form)


def _padded(values: Sequence[Any] | Array, length: int) -> Sequence[Any] | Array:
    """Extend a column to a length. Numbers become single precision, which suffices for a figure."""
    if len(values) and isinstance(values[0], str):
        return [*values, *[""] * (length - len(values))]
    array = np.asarray(values, dtype=float)
    array = np.pad(array, (0, length - len(array)), constant_values=np.nan)
    return numbers(array) if length < SHORT else array.astype(np.float32)


def _indices(line: Line, stops: Array, kind: str) -> Array:
    """Return the index of the value of a line that a tooltip shows at each stop; -1 for none.

    For steps it is the last value at or before the stop, for bars the one at the stop, and for
    other lines the nearest one.
    """
    x = np.asarray(line.x, dtype=float)
    if kind == "step":
        found: Array = np.searchsorted(x, stops, side="right") - 1
        return found
    away = np.abs(stops[:, None] - x[None, :])
    if kind in ("bars", "stack"):
        return np.where(away.min(axis=1) > 0, -1, away.argmin(axis=1))
    nearest: Array = away.argmin(axis=1)
    return nearest


def _text(value: float, unit: str) -> str:
    """Return a number with three digits and its unit."""
    if unit == "share":
        return f"{number_text(100 * value)} %"
    return bytes_text(value) if unit == "bytes" else f"{number_text(value)} {unit}".rstrip()
