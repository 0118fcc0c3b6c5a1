"""Pieces of Markdown."""

from __future__ import annotations

import textwrap

_WIDTH = 120
"""Characters of a line."""


def paragraph(text: str, indent: str = "") -> list[str]:
    """Return the lines of a paragraph; those after the first are indented."""
    return textwrap.wrap(
        " ".join(text.split()),
        width=_WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def cell(text: str) -> str:
    """Return a text on one line with escaped pipes, for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
