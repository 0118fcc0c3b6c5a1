"""Descriptions of figures, independent of the library that draws them.

:mod:`backwater.plots.drawing` uses matplotlib, and :mod:`backwater.plots.interactive` Bokeh.

A chart has one or several views, of which the reader chooses one. A view has panels side by side,
and a panel has lines. A line has the name of a scheme. A scheme has the same colour and dashes in
all figures.

In a stack a line is a part with its own colour, and the ticks are schemes. In lanes a line is a
state, and ``y`` are the lanes. A table repeats the data of a chart for readers who cannot see it or
have no scripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from backwater.plots.curves import Array

Scale = Literal["linear", "log", "log1p"]
Kind = Literal["line", "step", "bars", "points", "stack", "lanes", "cells"]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with its label, scale and unit.

    Values in ``bytes`` and ``share`` are formatted for people (10 KB, 25 %). Any other unit is
    appended to the number. ``start`` and ``end`` limit the axis; None: the data limit it. ``ticks``
    are values with their labels.
    """

    label: str
    scale: Scale = "linear"
    unit: str = ""
    start: float | None = None
    end: float | None = None
    ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """Values ``y`` at ``x``, in the units of the axes; ``low`` and ``high`` bound a band.

    ``colour`` is the colour of a part of a stack or of a state in lanes. Other lines have the
    colour of their scheme. In lanes a bar goes from ``x`` to ``until``, and ``words`` are its
    texts. In cells ``words`` are the texts, and ``until`` is the shade between 0 and 1. ``marks``
    are reference values for bars.
    """

    name: str
    x: Array | Sequence[float]
    y: Array | Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    colour: str | None = None
    until: Array | Sequence[float] | None = None
    words: Sequence[str] | None = None
    marks: Sequence[float | None] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over common axes."""

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class View:
    """Panels side by side, and the label by which the reader chooses them."""

    label: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Table:
    """Values as text: a head, and rows whose first cell is the label of the row.

    If ``by_scheme`` is set, the first cell of each row is a scheme. The rows are hidden with the
    scheme.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    by_scheme: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its title and caption. Without views the text ``nothing`` is shown.

    In a ``column`` panels are below each other and share the x axis.
    """

    key: str
    title: str
    caption: str
    kind: Kind = "line"
    views: Sequence[View] = ()
    choice: str = "Show"
    table: Table | None = None
    nothing: str = "There is nothing to show."
    column: bool = False

    @property
    def legend(self) -> dict[str, str | None]:
        """Colour of each line by its name; None for a line with the colour of its scheme."""
        every = [line for view in self.views for panel in view.panels for line in panel.lines]
        return {} if self.kind == "cells" else {line.name: line.colour for line in every}


def numbers(values: Array | Sequence[float]) -> list[float]:
    """Round values to five significant digits, which is precise enough for a figure."""
    array = np.asarray(values, dtype=float)
    sizes = np.abs(array)
    digits = np.floor(np.log10(sizes, where=sizes > 0, out=np.zeros_like(array)))
    scale = 10.0 ** (4 - digits)
    rounded = np.round(array * scale) / scale
    return [int(v) if v.is_integer() and abs(v) < 1e15 else float(f"{v:.5g}") for v in rounded]
