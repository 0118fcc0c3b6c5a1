"""Finds the positions of values in a TOML text. The core parses the text."""

from __future__ import annotations

from dataclasses import dataclass

from backwater import _core

Path = tuple[str | int, ...]
"""Keys and indices that lead to a value."""


@dataclass(frozen=True, slots=True)
class Span:
    """Position of a value: character offsets of its key, its start and its end."""

    key: int
    start: int
    end: int


def locate(text: str) -> dict[Path, Span]:
    """Return the position of every value of a valid TOML text."""
    return {path: Span(key, start, end) for path, key, start, end in _core.locate_values(text)}


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
