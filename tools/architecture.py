#!/usr/bin/env python3
"""Draw the picture of docs/ARCHITECTURE.md: the crates, and the path of a packet.

python3 tools/architecture.py docs/architecture.svg
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

WIDTH, HEIGHT = 1000, 640
INK, MUTED, LINE = "#20262c", "#5a6570", "#8a96a3"
CRATE, PART, SCHEME = "#eef2f6", "#ffffff", "#fdf3dc"

STEPS = (
    ("route", "which egress"),
    ("place", "which queue, or hold"),
    ("verdict", "accept or drop"),
    ("commit", "state changes"),
    ("enqueue", "or hold, release"),
    ("pick", "next packet"),
    ("mark", "ECN, INT"),
    ("depart", ""),
)


class Box(NamedTuple):
    """A rectangle, from its lower left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> tuple[float, float]:
        """The middle of the left side."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        """The middle of the right side."""
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> tuple[float, float]:
        """The middle of the upper side."""
        return self.x + self.width / 2, self.y + self.height

    @property
    def bottom(self) -> tuple[float, float]:
        """The middle of the lower side."""
        return self.x + self.width / 2, self.y


def box(axes: Axes, place: Box, title: str, about: str = "", colour: str = CRATE) -> Box:
    """Draw a box with a title and, below it, the description ``about``; return its place."""
    axes.add_patch(
        FancyBboxPatch(
            (place.x, place.y),
            place.width,
            place.height,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor=colour,
            edgecolor=LINE,
            linewidth=1,
        )
    )
    middle = place.x + place.width / 2
    top = place.y + place.height - 8
    axes.text(middle, top, title, ha="center", va="top", fontsize=10, color=INK, weight="bold")
    axes.text(middle, top - 18, about, ha="center", va="top", fontsize=8, color=MUTED)
    return place


def arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    lift: float = 5,
    dashed: bool = False,
) -> None:
    """Draw an arrow with a text beside its middle."""
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=10,
            color=MUTED,
            linewidth=1,
            linestyle=(0, (4, 3)) if dashed else "-",
            shrinkA=0,
            shrinkB=0,
        )
    )
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + lift
    align = "bottom" if lift > 0 else "top"
    axes.text(x, y, text, ha="center", va=align, fontsize=8, color=MUTED)


def crates(axes: Axes) -> Box:
    """Draw the crates around the dataplane, and return the box of the crate ``fabric``."""
    scenario = box(
        axes,
        Box(190, 540, 180, 72),
        "scenario",
        "reads, checks, fills in,\nbuilds and runs",
    )
    results = box(axes, Box(600, 540, 180, 72), "results", "tables, summary,\nresolved.toml")
    python = box(
        axes, Box(820, 540, 170, 72), "python/backwater", "command line, plots,\nfigures of papers"
    )
    traffic = box(axes, Box(20, 420, 150, 72), "traffic", "who sends what\nto whom and when")
    fabric = box(
        axes,
        Box(250, 420, 500, 72),
        "fabric",
        "the simulated network: topology, routes, links, threads,\nmeasures, audit",
    )
    kernel = box(axes, Box(830, 420, 160, 72), "kernel", "time, calendar, random\nstreams, digest")
    axes.text(20, 576, "SCENARIO.toml", fontsize=9, color=INK, va="center")
    arrow(axes, (120, 576), scenario.left)
    arrow(axes, results.right, python.left)
    arrow(axes, (280, 540), (280, 492), "")
    arrow(axes, (690, 492), (690, 540), "")
    arrow(axes, traffic.right, fabric.left, "flows")
    arrow(axes, kernel.left, fabric.right, "events")
    return fabric


def dataplane(axes: Axes) -> None:
    """Draw the path of a packet from sender to receiver, and the parts that schemes supply."""
    box(axes, Box(20, 20, 970, 350), "dataplane")
    axes.text(
        505,
        350,
        "state machines that are handed packets and the time: no clock, no files, no threads",
        ha="center",
        va="top",
        fontsize=8,
        color=MUTED,
    )
    sender = box(
        axes,
        Box(40, 190, 150, 110),
        "nic/ sender",
        "which flow sends next:\nclasses, windows, pace",
        PART,
    )
    switch = box(axes, Box(250, 190, 510, 110), "switch/", "", PART)
    receiver = box(
        axes, Box(820, 190, 150, 110), "nic/ receiver", "what came in order,\nACK, NAK, CNP", PART
    )
    width = (switch.width - 20) / len(STEPS)
    for i, (name, about) in enumerate(STEPS):
        x = switch.x + 10 + i * width
        axes.add_patch(
            FancyBboxPatch(
                (x + 2, 206),
                width - 4,
                56,
                boxstyle="round,pad=0,rounding_size=4",
                facecolor=CRATE,
                edgecolor=LINE,
                linewidth=0.8,
            )
        )
        axes.text(x + width / 2, 246, name, ha="center", fontsize=8.5, color=INK)
        lines = (
            about.replace(", ", ",\n").replace("which ", "which\n").replace("accept ", "accept\n")
        )
        lines = lines.replace("state ", "state\n").replace("next ", "next\n")
        axes.text(x + width / 2, 241, lines, ha="center", va="top", fontsize=6.5, color=MUTED)
    arrow(axes, sender.right, switch.left, "link")
    arrow(axes, switch.right, receiver.left, "link")
    axes.plot([895, 895, 115], [300, 316, 316], color=MUTED, linewidth=1)
    arrow(axes, (115, 316), sender.top)
    axes.text(505, 319, "ACK, NAK, CNP", ha="center", va="bottom", fontsize=8, color=MUTED)
    arrow(axes, (250, 215), (190, 215), "pauses,\ncredits", lift=-4, dashed=True)
    control = box(
        axes,
        Box(40, 62, 150, 84),
        "cc/  Control",
        "one per flow: rate and\nwindow, from what\ncomes back",
        SCHEME,
    )
    box(
        axes,
        Box(250, 62, 510, 84),
        "hop/  what neighbours tell and obey",
        "downstream half: what it tells upstream, at which step of a packet\n"
        "upstream half: which queue may send, in switch and NIC alike",
        SCHEME,
    )
    transport = box(
        axes,
        Box(820, 62, 150, 84),
        "transport/",
        "receiver-driven: who may\nsend how much, decided\nby the receiver",
        SCHEME,
    )
    arrow(axes, control.top, (115, 190))
    arrow(axes, (505, 146), (505, 190), "")
    arrow(axes, transport.top, (895, 190))
    axes.text(
        505,
        32,
        "yellow: schemes, each in a file of its own and one line of a list    "
        "packet/ what travels    ns3/ the replay of ns-3",
        ha="center",
        fontsize=8,
        color=MUTED,
    )


def draw() -> str:
    """Return the picture as SVG. The text is the same on every machine."""
    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "backwater", "font.family": "sans-serif"}
    ):
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(0, HEIGHT)
        axes.set_axis_off()
        fabric = crates(axes)
        dataplane(axes)
        arrow(axes, (fabric.bottom[0] - 60, fabric.y), (fabric.bottom[0] - 60, 370), "")
        arrow(axes, (fabric.bottom[0] + 60, 370), (fabric.bottom[0] + 60, fabric.y), "")
        axes.text(
            fabric.bottom[0],
            396,
            "packets, time\nand answers",
            ha="center",
            va="center",
            fontsize=8,
            color=MUTED,
        )
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
