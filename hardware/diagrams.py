"""Draws the diagrams of the pages in docs/hardware.

    python hardware/diagrams.py

A block diagram comes from `PAGES`. A timing diagram comes from a file of WaveDrom,
docs/hardware/NAME-timing.json. Both become SVG files beside the pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import wavedrom

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "hardware"
WIDTH, HEIGHT, GAP, TOP = 150, 62, 46, 48
"""Size of a block, gap between two blocks, and space above the first row, in pixels."""


@dataclass(frozen=True)
class Block:
    """A block at a column and a row of a diagram. Blocks that are not circuits here are dashed."""

    column: float
    row: float
    lines: tuple[str, ...]
    is_outside: bool = False

    @property
    def x(self) -> float:
        """Return the x coordinate of the left side, in pixels."""
        return GAP + self.column * (WIDTH + GAP)

    @property
    def y(self) -> float:
        """Return the y coordinate of the upper side, in pixels."""
        return TOP + self.row * (HEIGHT + GAP)

    def svg(self, title: str) -> str:
        """Return the block as SVG: a rectangle with a title and lines of text."""
        dash = ' stroke-dasharray="5 4"' if self.is_outside else ""
        fill = "#ffffff" if self.is_outside else "#eef2f6"
        parts = [
            f'<rect x="{self.x}" y="{self.y}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
            f'fill="{fill}" stroke="#5a6570"{dash}/>'
        ]
        texts = (title, *self.lines)
        start = self.y + HEIGHT / 2 - 8 * (len(texts) - 1) + 4
        for nth, text in enumerate(texts):
            weight = ' font-weight="bold"' if nth == 0 else ""
            parts.append(
                f'<text x="{self.x + WIDTH / 2}" y="{start + 16 * nth}" text-anchor="middle"'
                f"{weight}>{escape(text)}</text>"
            )
        return "\n".join(parts)


@dataclass(frozen=True)
class Arrow:
    """An arrow between two blocks. With `above` it passes above the blocks of its row."""

    start: str
    end: str
    label: str = ""
    above: bool = False


@dataclass(frozen=True)
class Page:
    """The block diagram of a page."""

    blocks: dict[str, Block]
    arrows: tuple[Arrow, ...]

    def points(self, arrow: Arrow) -> list[tuple[float, float]]:
        """Return the corners of an arrow, in pixels."""
        start, end = self.blocks[arrow.start], self.blocks[arrow.end]
        if arrow.above:
            top = start.y - 16
            first, last = start.x + WIDTH / 2, end.x + WIDTH / 2
            return [(first, start.y), (first, top), (last, top), (last, end.y)]
        if start.row == end.row:
            forward = start.column < end.column
            first = start.x + WIDTH if forward else start.x
            last = end.x if forward else end.x + WIDTH
            return [(first, start.y + HEIGHT / 2), (last, end.y + HEIGHT / 2)]
        down = start.row < end.row
        first = start.y + HEIGHT if down else start.y
        last = end.y if down else end.y + HEIGHT
        return [(start.x + WIDTH / 2, first), (end.x + WIDTH / 2, last)]

    def svg(self) -> str:
        """Return the diagram as SVG."""
        width = max(block.x for block in self.blocks.values()) + WIDTH + GAP
        height = max(block.y for block in self.blocks.values()) + HEIGHT + GAP / 2
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            'font-family="sans-serif" font-size="12">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" '
            'fill="#20262c"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        ]
        for arrow in self.arrows:
            points = self.points(arrow)
            line = " ".join(f"{x},{y}" for x, y in points)
            parts.append(
                f'<polyline points="{line}" fill="none" stroke="#20262c" marker-end="url(#tip)"/>'
            )
            (x0, y0), (x1, y1) = points[len(points) // 2 - 1 : len(points) // 2 + 1]
            x, y, anchor = (x0 + x1) / 2, (y0 + y1) / 2 - 5, "middle"
            if y0 != y1:
                # Beside the line, on the right.
                x, y, anchor = x + 10, y + (20 if (x1 - x0) * (y1 - y0) < 0 else 0), "start"
            label = escape(arrow.label)
            parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{label}</text>')
        parts += [block.svg(title) for title, block in self.blocks.items()]
        return "\n".join((*parts, "</svg>", ""))


PAGES = {
    "spfc": Page(
        blocks={
            "oscillator": Block(0, 0, ("pulses",), is_outside=True),
            "spfc_timeout_clock": Block(1, 0, ("TC",)),
            "spfc_state_holder": Block(2, 0, ("SH: victim or normal",)),
            "pfc_ingress": Block(3, 0, ("PFC decision",)),
            "port": Block(4, 0, ("sends frames",), is_outside=True),
            "egress queues": Block(0, 1, ("packets that leave",), is_outside=True),
            "spfc_rate_counter": Block(1, 1, ("IRC",)),
            "dynamic_threshold": Block(3, 1, ("normal threshold",)),
            "shared_pool": Block(4, 1, ("level of the pool",)),
        },
        arrows=(
            Arrow("oscillator", "spfc_timeout_clock", "pulse"),
            Arrow("spfc_timeout_clock", "spfc_state_holder"),
            Arrow("spfc_timeout_clock", "spfc_rate_counter", "expired"),
            Arrow("egress queues", "spfc_rate_counter", "size"),
            Arrow("spfc_rate_counter", "spfc_state_holder", "reached"),
            Arrow("spfc_state_holder", "pfc_ingress", "victim"),
            Arrow("pfc_ingress", "spfc_state_holder", "pause, resume", above=True),
            Arrow("dynamic_threshold", "pfc_ingress"),
            Arrow("shared_pool", "dynamic_threshold", "used"),
            Arrow("pfc_ingress", "port", "XOFF"),
        ),
    ),
    "pfc": Page(
        blocks={
            "switch": Block(0, 0, ("packets arrive, leave",), is_outside=True),
            "pfc_ingress": Block(1, 0, ("accept? XOFF, XON",)),
            "pfc_generator": Block(2, 0, ("frames, repetitions",)),
            "MAC, transmit": Block(3, 0, ("of this port",), is_outside=True),
            "shared_pool": Block(0, 1, ("level of the pool",)),
            "dynamic_threshold": Block(1, 1, ("α · free pool",)),
            "pfc_pause_timer": Block(2, 1, ("a timer per priority",)),
            "MAC, receive": Block(3, 1, ("of this port",), is_outside=True),
            "egress scheduler": Block(2, 2, ("of this port",), is_outside=True),
        },
        arrows=(
            Arrow("switch", "pfc_ingress", "size"),
            Arrow("pfc_ingress", "pfc_generator", "XOFF"),
            Arrow("pfc_generator", "MAC, transmit", "frame"),
            Arrow("pfc_ingress", "shared_pool", "add, free"),
            Arrow("shared_pool", "dynamic_threshold", "used"),
            Arrow("dynamic_threshold", "pfc_ingress"),
            Arrow("MAC, receive", "pfc_pause_timer", "frame"),
            Arrow("pfc_pause_timer", "egress scheduler", "paused"),
        ),
    ),
    "bfc": Page(
        blocks={
            "parser": Block(0, 0, ("accepted packets",), is_outside=True),
            "bfc_flow_table": Block(1, 0, ("queue, packets, time",)),
            "bfc_queue_choice": Block(2, 0, ("an empty queue",)),
            "bfc_pause_threshold": Block(3, 0, ("over?",)),
            "bfc_pause_counters": Block(4, 0, ("per upstream queue",)),
            "bfc_pause_generator": Block(5, 0, ("frames, bitmaps",)),
            "bfc_empty_map": Block(2, 1, ("read at intervals",)),
            "hashed_number": Block(1, 1, ("or by a hash",)),
            "bfc_queue_state": Block(3, 1, ("lengths, active",)),
            "bfc_drr": Block(3, 2, ("round of queues",)),
            "bfc_gate": Block(4, 2, ("paused queues",)),
            "neighbour": Block(5, 2, ("downstream",), is_outside=True),
            "packet buffer": Block(2, 2, ("packets",), is_outside=True),
        },
        arrows=(
            Arrow("parser", "bfc_flow_table", "header"),
            Arrow("bfc_flow_table", "bfc_queue_choice"),
            Arrow("bfc_queue_choice", "bfc_pause_threshold", "queue"),
            Arrow("bfc_pause_threshold", "bfc_pause_counters", "over"),
            Arrow("bfc_pause_counters", "bfc_pause_generator"),
            Arrow("bfc_empty_map", "bfc_queue_choice", "map"),
            Arrow("hashed_number", "bfc_queue_choice"),
            Arrow("bfc_queue_state", "bfc_empty_map", "empty"),
            Arrow("bfc_queue_state", "bfc_pause_threshold", "length"),
            Arrow("bfc_queue_state", "bfc_drr", "open"),
            Arrow("neighbour", "bfc_gate", "frames"),
            Arrow("bfc_gate", "bfc_queue_state", "paused"),
            Arrow("bfc_drr", "packet buffer", "send"),
        ),
    ),
    "floodgate": Page(
        blocks={
            "parser": Block(0, 0, ("packets, credits",), is_outside=True),
            "fg_window_table": Block(1, 0, ("units in flight",)),
            "fg_held_table": Block(2, 0, ("VOQ of destination",)),
            "fg_voq_bitmap": Block(3, 0, ("free VOQs",)),
            "fg_voq_scheduler": Block(1, 1, ("VOQs in turn",)),
            "fg_vup": Block(2, 1, ("empty VOQs",)),
            "hashed_number": Block(3, 1, ("if none is free",)),
            "packet buffer": Block(0, 1, ("VOQs",), is_outside=True),
            "egress": Block(0, 2, ("packets that left",), is_outside=True),
            "fg_emitting_counters": Block(1, 2, ("credits to return",)),
            "upstream": Block(2, 2, ("credit frames",), is_outside=True),
        },
        arrows=(
            Arrow("parser", "fg_window_table"),
            Arrow("fg_window_table", "fg_held_table", "room"),
            Arrow("fg_held_table", "fg_voq_bitmap", "take"),
            Arrow("hashed_number", "fg_voq_bitmap"),
            Arrow("fg_voq_scheduler", "fg_window_table", "try"),
            Arrow("fg_voq_scheduler", "packet buffer", "release"),
            Arrow("fg_held_table", "fg_vup", "empty"),
            Arrow("fg_held_table", "fg_voq_scheduler", "ready"),
            Arrow("egress", "fg_emitting_counters", "earn"),
            Arrow("fg_emitting_counters", "upstream"),
        ),
    ),
    "hpcc": Page(
        blocks={
            "receive pipe": Block(0, 0, ("parses ACKs",), is_outside=True),
            "hpcc_links": Block(1, 0, ("records of links",)),
            "hpcc_measure": Block(2, 0, ("u', U",)),
            "hpcc_window": Block(3, 0, ("W, W^c, R",)),
            "hpcc_scheduler": Block(4, 0, ("credits, windows",)),
            "transmit pipe": Block(5, 0, ("builds packets",), is_outside=True),
            "hpcc_reciprocal": Block(2.5, 1, ("table of 1/n", "two ports")),
            "egress queues": Block(0, 2, ("of a switch's port",), is_outside=True),
            "hpcc_int_egress": Block(1, 2, ("txBytes", "adds a record")),
            "MAC": Block(2, 2, ("of the port",), is_outside=True),
        },
        arrows=(
            Arrow("receive pipe", "hpcc_links", "INT"),
            Arrow("hpcc_links", "hpcc_measure", "Δ"),
            Arrow("hpcc_measure", "hpcc_window", "U"),
            Arrow("hpcc_window", "hpcc_scheduler", "W, R"),
            Arrow("hpcc_scheduler", "transmit pipe", "send"),
            Arrow("receive pipe", "hpcc_scheduler", "ACK, NAK", above=True),
            Arrow("hpcc_reciprocal", "hpcc_measure", "1/Δts"),
            Arrow("hpcc_reciprocal", "hpcc_window", "η/U"),
            Arrow("egress queues", "hpcc_int_egress", "qLen"),
            Arrow("hpcc_int_egress", "MAC"),
        ),
    ),
}


def drawings() -> dict[str, str]:
    """Return the names and contents of all diagrams."""
    found = {f"{name}.svg": page.svg() for name, page in PAGES.items()}
    for source in sorted(FOLDER.glob("*-timing.json")):
        drawing = wavedrom.render(source.read_text(encoding="utf-8"))
        found[source.with_suffix(".svg").name] = drawing.tostring() + "\n"
    return found


def main() -> None:
    """Write the diagrams of all pages."""
    for name, content in drawings().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
