"""Style of the panels of a figure: units, axes, legends, and marks for values of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from backwater.plots.curves import Style
from backwater.plots.drawing import GRID, INK, MUTED, plain_log_ticks
from backwater_papers.figure import Mark, Panel
from backwater_papers.quantities import Dimension

_LEGEND_ENTRIES = 15


class Unit:
    """Unit of an axis: its size in base units such as ps, and its name."""

    def __init__(self, scale: float, name: str = "") -> None:
        self.scale, self.name = scale, name

    @classmethod
    def of(cls, dimension: Dimension, largest: float) -> Unit:
        """Choose the unit for values up to `largest`."""
        match dimension:
            case Dimension.TIME:
                if largest >= 1e12:
                    return cls(1e12, "s")
                return cls(1e9, "ms") if largest >= 2e9 else cls(1e6, "µs")
            case Dimension.SIZE:
                if 0 < largest < 1e3:
                    return cls(1, "B")
                return cls(1e6, "MB") if largest >= 2e6 else cls(1e3, "KB")
            case Dimension.RATE:
                return cls(1e9, "Gbps")
            case Dimension.SHARE:
                return cls(0.01, "%")
            case Dimension.NUMBER:
                return cls(1)

    def label(self, text: str) -> str:
        """Append the unit to the label of an axis."""
        return f"{text} ({self.name})" if self.name else text


def prepare(axes: Axes, panel: Panel) -> None:
    """Set scales, grid and colours before a panel is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.grid(visible=True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, labelcolor=INK, labelsize=8)
    axes.xaxis.label.set(color=INK, fontsize=9)
    axes.yaxis.label.set(color=INK, fontsize=9)
    axes.set_title(panel.title, color=INK, fontsize=9.5, loc="left")
    if panel.kind not in ("bars", "parts"):
        axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)


def finish(axes: Axes, panel: Panel) -> None:
    """Set the ticks of the axes after a panel is drawn, and label a panel that has no data."""
    scales = ((axes.xaxis, panel.x_scale), (axes.yaxis, panel.y_scale))
    for axis, scale in scales:
        if scale == "log":
            plain_log_ticks(axes, "x" if axis is axes.xaxis else "y")
        elif axis is axes.yaxis:
            axis.set_major_locator(MaxNLocator(6))
    if not axes.lines and not axes.patches:
        axes.text(0.5, 0.5, "nothing was measured", ha="center", color=MUTED,
                  transform=axes.transAxes)  # fmt: skip


def draw_legends(picture: Picture) -> None:
    """Draw a legend below each panel, or a single one if all panels have the same entries."""
    entries = [(axes, *axes.get_legend_handles_labels()) for axes in picture.axes]
    entries = [entry for entry in entries if 0 < len(entry[2]) <= _LEGEND_ENTRIES]
    look: dict[str, Any] = {"fontsize": 7.5, "frameon": False, "labelcolor": INK}
    looks = {
        tuple(_seen(h, label) for h, label in zip(hs, ls, strict=True)) for _, hs, ls in entries
    }
    if len(looks) == 1:
        _, handles, labels = entries[0]
        grid = picture.axes[0].get_gridspec()
        columns = min(len(labels), 4 * (grid.ncols if grid else 1))
        picture.legend(handles, labels, loc="outside lower center", ncols=columns, **look)
        return
    for axes, handles, labels in entries:
        axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.2),
                    ncols=min(len(labels), 3), **look)  # fmt: skip


def separate(picture: Picture) -> None:
    """Separate the labels of horizontal axes that overlap at the final width of the panels.

    Labels of a logarithmic axis are hidden until the rest fit. Other labels alternate between two
    rows.
    """
    picture.draw_without_rendering()
    crowded = [axes for axes in picture.axes if len(_crowded(axes)) > 0]
    for axes in crowded:
        if axes.get_xscale() == "log":
            while gone := _crowded(axes):
                gone[0].set_visible(False)
        else:
            labels = [label.get_text() for label in axes.get_xticklabels()]
            rows = ["\n" * (i % 2) + label for i, label in enumerate(labels)]
            axes.set_xticks(axes.get_xticks(), rows)


def _crowded(axes: Axes) -> list[Text]:
    """Return the tick labels of the horizontal axis that overlap the label on their left."""
    low, high = sorted(axes.get_xlim())
    labels = [label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    seen = [label for label in labels if label.get_visible() and label.get_text()]
    extents = [(label, label.get_window_extent()) for label in seen]
    return [right for (_, a), (right, b) in pairwise(extents) if b.x0 < a.x1 + 1]


def _seen(handle: object, label: str) -> tuple[str, str]:
    """Return the label and the colour of a legend entry, to compare it with other entries."""
    colour = getattr(handle, "get_color", None) or getattr(handle, "get_facecolor", None)
    return label, str(colour() if colour else handle)


def line_style(style: Style) -> dict[str, Any]:
    """Return the arguments with which matplotlib draws a line in a style."""
    return {"color": style.colour, "linestyle": style.line, "linewidth": 1.4}


def outline() -> list[Any]:
    """Return a white outline, which keeps text readable on bars and lines."""
    return [patheffects.withStroke(linewidth=2, foreground="white", alpha=0.8)]


def draw_marks(axes: Axes, marks: Sequence[Mark], x: Unit | None, y: Unit | None) -> None:
    """Draw values that the paper reports: as a point if x and y are known, else as a line."""
    faint: dict[str, Any] = {"color": MUTED, "alpha": 0.55}
    look: dict[str, Any] = {
        "color": MUTED,
        "fontsize": 7,
        "fontstyle": "italic",
        "path_effects": outline(),
        "zorder": 5,
    }
    for mark in marks:
        text = f"paper: {mark.text}" if mark.text else "paper"
        at_x = mark.x.value / x.scale if mark.x and x else None
        at_y = mark.y.value / y.scale if mark.y and y else None
        if at_x is not None and at_y is not None:
            axes.plot([at_x], [at_y], marker="x", linestyle="none", **faint)
            axes.annotate(
                text,
                (at_x, at_y),
                xytext=(-4, 5),
                textcoords="offset points",
                ha="right",
                **look,
            )
        elif at_y is not None:
            axes.axhline(at_y, linestyle=(0, (4, 3)), linewidth=1, zorder=0.9, **faint)
            axes.annotate(
                text, (1, at_y), xycoords=("axes fraction", "data"), xytext=(-2, 2),
                textcoords="offset points", ha="right", **look,
            )  # fmt: skip
        elif at_x is not None:
            axes.axvline(at_x, linestyle=(0, (4, 3)), linewidth=1, **faint)
            axes.annotate(
                text, (at_x, 0.02), xycoords=("data", "axes fraction"), xytext=(2, 0),
                textcoords="offset points", rotation=90, va="bottom", **look,
            )  # fmt: skip


def from_zero(axes: Axes) -> None:
    """Start the vertical axis at zero, with space above the largest value."""
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.05 * axes.dataLim.y1))


def set_limits(axes: Axes, panel: Panel, x: Unit, y: Unit) -> None:
    """Set the limits that the panel declares."""
    if panel.x_limits:
        axes.set_xlim(panel.x_limits[0] / x.scale, panel.x_limits[1] / x.scale)
    if panel.y_limits:
        axes.set_ylim(panel.y_limits[0] / y.scale, panel.y_limits[1] / y.scale)
