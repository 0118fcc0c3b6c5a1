"""Draws the panels of a figure: our results in colour, published values in grey or dotted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from backwater._base.units import bytes_text
from backwater.analysis.blame import COLOURS
from backwater.plots.curves import Line, Style, styles
from backwater.plots.drawing import INK, MUTED
from backwater_papers.bootstrap import quantile
from backwater_papers.figure import (
    Axis,
    Group,
    Measure,
    Panel,
    Pick,
    Selection,
    Size,
    Statistic,
)
from backwater_papers.measures import evaluate
from backwater_papers.panel_style import (
    Unit,
    draw_legends,
    draw_marks,
    finish,
    from_zero,
    line_style,
    outline,
    prepare,
    separate,
    set_limits,
)
from backwater_papers.quantities import Dimension, digits
from backwater_papers.samples import Array, Samples

if TYPE_CHECKING:
    from backwater_papers.reproduce import Results

_WIDTH, _HEIGHT = 5.1, 3.4
LABELS = {
    "slowdown": "FCT slowdown",
    "slowdown-acked": "FCT slowdown",
    "fct": "flow completion time",
    "fct-acked": "flow completion time, to the ACK",
    "rtt": "round-trip time",
    "queue": "queue length",
    "queue-samples": "queue length",
    "queueing": "time that packets wait at a port",
    "control-share": "share of control bytes",
    "buffer": "buffer occupancy of a switch",
    "throughput": "throughput",
    "active-flows": "active flows of a port",
    "in-progress": "flows in progress",
    "fair-share-change": "change of the fair share",
    "utilisation": "utilisation",
    "idle": "share of time idle",
    "delay": "delay beyond the FCT of the flow alone",
    "pauses": "duration of a pause",
    "paused": "share of time paused by PFC",
    "pause-rate": "PAUSEs per ms",
    "pause-level": "bytes of an ingress at a PAUSE",
    "goodput": "throughput of a flow",
    "wire": "bytes on the links per byte of payload",
    "pause-frames": "PAUSE frames of a port",
    "port-buffer": "most bytes that waited for a port",
    "port-queue": "most bytes queued at a port",
    "queuing-time": "time that packets wait at a port",
    "sent": "share of the bandwidth",
    "buffer-course": "buffer occupancy of a switch",
    "summary": "number",
    "ingress": "bytes of an ingress",
    "ingress-threshold": "threshold of an ingress",
    "deadlocks": "time of the first deadlock",
    "paused-cycles": "time of the first cycle of pauses",
    "blame": "time of flows",
    "collective": "time of a collective",
    "bus-bandwidth": "bus bandwidth",
}
_PALETTE = ("#d55e00", "#0072b2", "#009e73", "#b5578f", "#c98a00", "#3c4650", "#56b4e9", "#8c564b")


def draw(results: Results) -> Picture:
    """Draw all panels of a figure."""
    figure = results.figure
    columns = min(figure.columns, len(figure.panels))
    rows = math.ceil(len(figure.panels) / columns)
    picture = Picture(figsize=(_WIDTH * columns, _HEIGHT * rows + 0.5))
    picture.set_layout_engine("constrained", w_pad=0.1, h_pad=0.08)
    title = f"{figure.title}  ({figure.place})"
    if results.size is Size.QUICK:
        title += "  — quick: reduced size, not representative"
    picture.suptitle(title, color=INK, fontsize=11, x=0.01, ha="left")
    for i, panel in enumerate(figure.panels):
        axes = picture.add_subplot(rows, columns, i + 1)
        prepare(axes, panel)
        _DRAWERS[panel.kind](axes, panel, results)
        finish(axes, panel)
    draw_legends(picture)
    separate(picture)
    return picture


# --- The kinds of panels ---------------------------------------------------------------------


def _cdf(axes: Axes, panel: Panel, results: Results) -> None:
    assert panel.source is not None
    largest = _largest(panel, results) if panel.x_scale == "linear" else 0.0
    unit = Unit.of(panel.source.dimension, largest)
    for label, select, style in _lines(panel, results):
        samples = results.data.samples(panel.source, results.runs(select))
        x, share = _distribution(samples)
        if len(x):
            axes.step(x / unit.scale, share, where="post", label=label, **line_style(style))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(panel.x_label or unit.label(LABELS[panel.source.of]))
    axes.set_ylabel(panel.y_label or "share with at most this")
    _published(axes, panel, results, unit, Unit(1))
    draw_marks(axes, panel.marks, unit, None)
    set_limits(axes, panel, unit, Unit(1))


def _by_size(axes: Axes, panel: Panel, results: Results) -> None:
    assert panel.source is not None
    assert panel.statistic is not None
    unit = Unit.of(panel.source.dimension, 0)
    lines = [
        (label, results.data.samples(panel.source, results.runs(select)), style)
        for label, select, style in _lines(panel, results)
    ]
    given = bool(panel.edges)
    edges = (
        np.array([0, *panel.edges])
        if given
        else _equal_count_edges([samples for _, samples, _ in lines], panel.bins)
    )
    for label, samples, style in lines:
        sizes = samples.sizes if samples.sizes is not None else np.empty(0)
        heights = []
        for low, high in pairwise(edges):
            inside = (sizes > low) & (sizes <= high)
            heights.append(evaluate(panel.statistic, Samples(samples.values[inside])))
        y = np.array(heights) / unit.scale
        x = edges[1:] if given else np.arange(len(heights))
        axes.plot(x, y, label=label, marker="o", markersize=3, **line_style(style))
    ticks = range(0, max(len(edges) - 1, 0), max(1, (len(edges) - 1) // 6))
    places = [edges[i + 1] if given else i for i in ticks]
    if given:
        axes.set_xscale("log")
        axes.minorticks_off()
        _published(axes, panel, results, Unit(1), unit)
    axes.set_xticks(places, [bytes_text(edges[i + 1]) for i in ticks])
    steps = "flow size, up to" if given else "flow size, up to (equally many flows per step)"
    axes.set_xlabel(panel.x_label or steps)
    statistic = "" if panel.y_label else f", {panel.statistic.name}"
    axes.set_ylabel(unit.label(panel.y_label or LABELS[panel.source.of]) + statistic)
    draw_marks(axes, panel.marks, Unit(1), unit)
    if not axes.lines or panel.y_scale == "linear":
        from_zero(axes)
    set_limits(axes, panel, Unit(1), unit)


def _series(axes: Axes, panel: Panel, results: Results) -> None:
    assert panel.source is not None
    unit = Unit.of(panel.source.dimension, _largest(panel, results))
    drawn: list[tuple[str, Style, Array, Array]] = []
    for label, select, style in _lines(panel, results):
        for run in results.runs(select)[:1]:
            lines = results.data.lines(panel.source, run)
            several = len(lines.values) > 1
            for i, (name, values) in enumerate(lines.values.items()):
                look = Style(_PALETTE[i % len(_PALETTE)]) if several and not panel.by else style
                title = " ".join(part for part in (label, name if several else "") if part)
                drawn.append((title, look, lines.times_ps, values))
    clock = Unit.of(Dimension.TIME, max((t[-1] for _, _, t, _ in drawn if len(t)), default=0.0))
    for title, look, times, values in drawn:
        axes.plot(times / clock.scale, values / unit.scale, label=title or None, **line_style(look))
    axes.set_xlabel(panel.x_label or clock.label("time"))
    axes.set_ylabel(unit.label(panel.y_label or LABELS[panel.source.of]))
    axes.set_xlim(left=0)
    draw_marks(axes, panel.marks, clock, unit)
    from_zero(axes)
    set_limits(axes, panel, clock, unit)


def _bars(axes: Axes, panel: Panel, results: Results) -> None:
    group = results.figure.group(panel.select)
    places = _points(group, panel, panel.x) or [("", panel.select)]
    unit = Unit.of(panel.measures[0].dimension, 0)
    bars: list[tuple[str, Style, list[float]]] = []
    for label, select, style in _lines(panel, results):
        for i, measure in enumerate(panel.measures):
            heights = [
                results.value(Pick(measure, {**select, **place})).value for _, place in places
            ]
            several = len(panel.measures) > 1
            look = Style(_PALETTE[i % len(_PALETTE)]) if several and not panel.by else style
            title = " ".join(x for x in (label, _spoken(measure) if several else "") if x)
            bars.append((title, look, heights))
    width = 0.8 / max(len(bars), 1)
    positive = [y for _, _, heights in bars for y in heights if y > 0]
    # On a logarithmic scale choose the unit for the smallest bar, so that its label has digits.
    choice = min if panel.y_scale == "log" else max
    unit = Unit.of(panel.measures[0].dimension, choice(positive, default=0.0))
    # Five digits are wider than one bar of a dozen.
    small = max(positive, default=0.0) >= 10_000 * unit.scale
    for i, (title, look, heights) in enumerate(bars):
        x = np.arange(len(places)) + (i - (len(bars) - 1) / 2) * width
        y = np.array(heights) / unit.scale
        # Bars are hatched where other panels have dotted lines.
        hatch = "" if look.line == "-" else "////"
        name = title or None if panel.x else None
        axes.bar(x, y, width * 0.92, color=look.colour, hatch=hatch, edgecolor="white", label=name)
        for at, height in zip(x, y, strict=True):
            axes.annotate(
                "–" if math.isnan(height) else digits(height),
                (at, 0 if math.isnan(height) else height),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=5.5 if small else 7,
                color=MUTED,
                path_effects=outline(),
                zorder=5,
            )
    if panel.x:
        axes.set_xticks(range(len(places)), _broken([label for label, _ in places]))
    else:
        middles = (np.arange(len(bars)) - (len(bars) - 1) / 2) * width
        size = 6.5 if len(bars) > 6 else None
        axes.set_xticks(middles, _broken([title for title, _, _ in bars]), fontsize=size)
    axes.tick_params(axis="x", length=0)
    if len(places) > 8:
        axes.tick_params(axis="x", labelsize=6)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.15)
    if all(not height > 0 for _, _, heights in bars for height in heights):
        axes.set_ylim(0, 1)
    axes.set_xlabel(panel.x_label or "")
    axes.set_ylabel(unit.label(panel.y_label or _measured(panel.measures)))
    if panel.marks:  # Leave space for the labels of the marks beside the bars.
        left, right = axes.get_xlim()
        axes.set_xlim(left, right + 0.3 * (right - left))
    draw_marks(axes, panel.marks, None, unit)
    set_limits(axes, panel, Unit(1), unit)


def _parts(axes: Axes, panel: Panel, results: Results) -> None:
    assert panel.source is not None
    group = results.figure.group(panel.select)
    places = _points(group, panel, panel.x)
    found: dict[str, Array] = {}
    for part in COLOURS:
        source = replace(panel.source, part=part)
        samples = [
            results.data.samples(source, results.runs({**panel.select, **place}))
            for _, place in places
        ]
        found[part] = np.array([evaluate(Statistic("mean"), one) for one in samples])
    whole = np.sum(list(found.values()), axis=0)
    unit = Unit.of(Dimension.TIME, float(np.nanmax(whole)))
    bottom = np.zeros(len(places))
    for part, heights in found.items():
        shown = np.nan_to_num(heights) / unit.scale
        # Omit parts from the legend if they are too small to see.
        seen = (np.nan_to_num(heights) >= 0.005 * np.nan_to_num(whole, nan=1.0)).any()
        named = part if seen and shown.any() else None
        axes.bar(range(len(places)), shown, 0.7, bottom, color=COLOURS[part], label=named)
        bottom += shown
    axes.set_xticks(range(len(places)), _broken([label for label, _ in places]))
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(unit.label(panel.y_label or "mean time of a flow"))
    draw_marks(axes, panel.marks, None, unit)
    set_limits(axes, panel, Unit(1), unit)


def _broken(labels: list[str]) -> list[str]:
    """Break labels at spaces and after + if they would overlap on one line."""
    room = 48 // max(len(labels), 1)
    if all(len(label) <= room for label in labels):
        return labels
    apart = [
        wrap(label.replace("+", "+ "), max(room, 6), break_long_words=False) for label in labels
    ]
    return ["\n".join(line.replace("+ ", "+") for line in lines) for lines in apart]


def _over_axis(axes: Axes, panel: Panel, results: Results) -> None:
    axis = _axis(results.figure.group(panel.select), panel.x)
    assert axis is not None
    points = [
        point
        for point in axis.points
        if panel.x not in panel.select or point.label in panel.select[axis.name]
    ]
    across = np.array([point.number for point in points], dtype=float)
    unit_x = Unit.of(axis.dimension or Dimension.NUMBER, float(across.max()))
    found: list[tuple[str, Style, Array]] = []
    for label, select, style in _lines(panel, results):
        for measure in panel.measures:
            heights = [
                results.value(Pick(measure, {**select, axis.name: (point.label,)})).value
                for point in points
            ]
            title = label or (_spoken(measure) if len(panel.measures) > 1 else "")
            found.append((title, style, np.array(heights)))
    largest = max((float(np.nanmax(y)) for _, _, y in found if not np.isnan(y).all()), default=0.0)
    unit = Unit.of(panel.measures[0].dimension, largest)
    for i, (title, style, y) in enumerate(found):
        look = style if panel.by or len(found) == 1 else Style(_PALETTE[i % len(_PALETTE)])
        axes.plot(
            across / unit_x.scale, y / unit.scale, label=title or None, marker="o",
            markersize=4, **line_style(look),
        )  # fmt: skip
    if len(points) <= 8:
        axes.set_xticks(across / unit_x.scale)
    axes.set_xlabel(panel.x_label or unit_x.label(axis.name))
    axes.set_ylabel(unit.label(panel.y_label or _measured(panel.measures)))
    _published(axes, panel, results, unit_x, unit)
    for i, formula in enumerate(panel.formulas):
        places = _spread(panel.x_scale, float(across.min()), float(across.max()))
        axes.plot(
            places / unit_x.scale, formula.at(places) / unit.scale, label=formula.label,
            color=INK, linestyle=_DASHES[i % len(_DASHES)], linewidth=1,
        )  # fmt: skip
    draw_marks(axes, panel.marks, unit_x, unit)
    if panel.y_scale == "linear":
        from_zero(axes)
    set_limits(axes, panel, unit_x, unit)


def _curves(axes: Axes, panel: Panel, _: Results) -> None:
    assert panel.x_limits
    low, high = panel.x_limits
    places = _spread(panel.x_scale, low, high)
    across = Unit.of(panel.formulas[0].x, high)
    unit = Unit.of(panel.formulas[0].y, 1)
    for i, formula in enumerate(panel.formulas):
        look = line_style(Style(_PALETTE[i % len(_PALETTE)]))
        values = formula.at(places)
        axes.plot(places / across.scale, values / unit.scale, label=formula.label, **look)
    axes.set_xlabel(panel.x_label or across.label("x"))
    axes.set_ylabel(unit.label(panel.y_label or ""))
    draw_marks(axes, panel.marks, across, unit)
    from_zero(axes)
    set_limits(axes, panel, across, unit)


def _spread(scale: str, low: float, high: float) -> Array:
    return np.geomspace(low, high, 200) if scale == "log" else np.linspace(low, high, 200)


def _published(axes: Axes, panel: Panel, results: Results, x: Unit, y: Unit) -> None:
    """Draw curves of the paper faintly, each in the colour of our corresponding line."""
    axis = _axis(results.figure.group(panel.select), panel.by) if panel.published else None
    looks = _looks(axis) if axis else {}
    for curve in panel.published:
        style = looks.get(curve.point or "", Style(MUTED))
        axes.plot(
            np.array(curve.x) / x.scale, np.array(curve.y) / y.scale, color=style.colour,
            linestyle=(0, (1, 1.5)), marker=".", markersize=4, linewidth=1, alpha=0.55,
            label=curve.text or None,
        )  # fmt: skip
    if panel.published:
        axes.plot([], [], color=MUTED, linestyle=(0, (1, 1.5)), marker=".", alpha=0.7,
                  label=f"published ({panel.published_from})")  # fmt: skip


_DASHES = ((0, (4, 2)), (0, (1, 1)), (0, (4, 2, 1, 2)))

_DRAWERS: dict[str, Callable[[Axes, Panel, Results], None]] = {
    "cdf": _cdf,
    "by-size": _by_size,
    "series": _series,
    "bars": _bars,
    "lines": _over_axis,
    "curves": _curves,
    "parts": _parts,
}


# --- Lines and their data --------------------------------------------------------------------


def _lines(panel: Panel, results: Results) -> list[tuple[str, Selection, Style]]:
    """Return the lines of a panel: label, selection of runs, and style."""
    group = results.figure.group(panel.select)
    axis = _axis(group, panel.by)
    if axis is None:
        return [("", panel.select, Style(_PALETTE[0]))]
    looks = _looks(axis)
    return [
        (label, {**panel.select, **select}, looks[label])
        for label, select in _points(group, panel, panel.by)
    ]


def _points(group: Group, panel: Panel, name: str | None) -> list[tuple[str, Selection]]:
    axis = _axis(group, name)
    if axis is None:
        return []
    labels = panel.select.get(axis.name, axis.labels())
    return [(label, {axis.name: (label,)}) for label in labels]


def _axis(group: Group, name: str | None) -> Axis | None:
    return None if name is None else group.axis(name)


def _looks(axis: Axis) -> dict[str, Style]:
    """Return the style of each point. Schemes have the same style in all figures."""
    schemes = [point.scheme for point in axis.points]
    if None not in schemes and len(set(schemes)) == len(schemes):
        known = styles([scheme for scheme in schemes if scheme is not None])
        return {point.label: known[point.scheme or ""] for point in axis.points}
    dashes: tuple[Line, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)))
    return {
        label: Style(_PALETTE[i % len(_PALETTE)], dashes[i // len(_PALETTE) % len(dashes)])
        for i, label in enumerate(axis.labels())
    }


def _largest(panel: Panel, results: Results) -> float:
    """Return the largest 99.9th percentile among the lines of a panel.

    The unit of the panel's axis is chosen for this value.
    """
    assert panel.source is not None
    found = [0.0]
    for _, select, _ in _lines(panel, results):
        samples = results.data.samples(panel.source, results.runs(select))
        if len(samples.values):
            weights = np.ones(len(samples.values)) if samples.weights is None else samples.weights
            found.append(quantile(samples.values, weights, 0.999))
    return max(found)


def _distribution(samples: Samples, points: int = 800) -> tuple[Array, Array]:
    """Return values and the share at or below each, thinned if there are many."""
    if not len(samples.values):
        return np.empty(0), np.empty(0)
    weights = np.ones(len(samples.values)) if samples.weights is None else samples.weights
    order = np.argsort(samples.values, kind="stable")
    x, share = samples.values[order], np.cumsum(weights[order]) / weights.sum()
    if len(x) > points:
        keep = np.searchsorted(share, np.linspace(0, 1, points), side="left").clip(max=len(x) - 1)
        keep = np.unique(np.concatenate([[0], keep, [len(x) - 1]]))
        x, share = x[keep], share[keep]
    return np.concatenate([x[:1], x]), np.concatenate([[0.0], share])


def _equal_count_edges(lines: Sequence[Samples], bins: int) -> Array:
    """Return edges of size bins with about equally many flows, the same for all lines."""
    sizes = [samples.sizes for samples in lines if samples.sizes is not None]
    together = np.concatenate(sizes) if sizes else np.empty(0)
    if not len(together):
        return np.empty(0)
    bins = int(np.clip(len(together) // len(sizes) // 10, 1, bins))
    upper = np.quantile(together, np.arange(1, bins + 1) / bins, method="inverted_cdf")
    return np.concatenate([[0], np.unique(upper)])


def _spoken(measure: Measure) -> str:
    return measure.name.replace("_", " ").replace("-", " ")


def _measured(measures: Sequence[Measure]) -> str:
    """Return the label of an axis: the name of its measure, or the kind of data of several."""
    if len(measures) == 1:
        return _spoken(measures[0])
    of = {"" if m.over or m.formula else m.source.of for m in measures}
    return LABELS.get(of.pop(), "") if len(of) == 1 else ""
