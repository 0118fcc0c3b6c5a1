"""Places in files, and messages that show them. The core finds the values of a TOML text."""

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
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


@dataclass(frozen=True, slots=True)
class Place:
    """A word of a file. Line and column count from 1."""

    file: str
    line: int
    """0: the place is the file as a whole, or a part of it without lines (see `in_file`)."""
    column: int
    text: str
    """The whole line. For a part without lines, the name of the part."""

    width: int


def in_file(name: str, part: str = "") -> Place:
    """Return a place in a file without lines; ``part`` is a text such as ``byte 12``."""
    return Place(name, 0, 0, part, 0)


def place_at(name: str, text: str, start: int, width: int = 1, first: int = 1) -> Place:
    """Return the place at a character offset of a text, whose first line is number ``first``."""
    line, column = line_column(text, start)
    end = text.find("\n", start)
    whole = text[start - column + 1 : end if end >= 0 else len(text)].rstrip("\r")
    return Place(name, first + line - 1, column, whole, width)


def stated(message: str, place: Place | None) -> str:
    """Return a message. If the place has no line, the file and the part precede the message."""
    if place is None or place.line:
        return message
    return ": ".join(filter(None, (place.file, place.text, message)))


def framed(severity: str, message: str, place: Place | None, hint: str | None) -> str:
    """Return an error, warning or note as text, with the line of the file and a mark below it.

    Without a place, or if the place has no line, only the message and the hint are returned.
    """
    lines = [f"{severity}: {stated(message, place)}"]
    room = " "
    if place is not None and place.line:
        room = " " * len(str(place.line))
        text, column = _window(place)
        lines += [
            f"{room}--> {place.file}:{place.line}:{place.column}",
            f"{room} |",
            f"{place.line} | {text}",
            f"{room} | {' ' * column}{'^' * max(1, min(place.width, len(text) - column))}",
        ]
    if hint:
        lines.append(f"{room} = {hint}")
    return "\n".join(lines)


def _window(place: Place, width: int = 90) -> tuple[str, int]:
    """Return at most ``width`` characters around the word, and the offset of the word in them."""
    at = place.column - 1
    shown = place.text.replace("\t", " ")
    if len(shown) <= width:
        return shown, at
    start = max(0, at - width // 3)
    return shown[start : start + width], at - start
