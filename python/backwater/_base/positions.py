"""Finds the positions of values in a TOML text.

``tomllib`` does not return positions. This scanner reads a text that ``tomllib`` has accepted.
Therefore it needs to find only the ends of values, and does not check them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Keys and indices that lead to a value."""

_SPACE = " \t"
_BLANK = " \t\r\n"
_BARE_END = " \t\r\n.=]},#"


@dataclass(frozen=True, slots=True)
class Span:
    """Position of a value: character offsets of its key, its start and its end."""

    key: int
    start: int
    end: int


def locate(text: str) -> dict[Path, Span]:
    """Return the position of every value of a valid TOML text.

    A table that has no header of its own has no position.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.found


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, Span] = {}
        self.arrays: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        self._skip_blank()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip_blank()

    def _header(self) -> Path:
        start = self.at
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        path = self._within_arrays(self._key())
        self.at = self.text.index("]", self.at) + (2 if many else 1)
        if many:
            index = self.arrays.get(path, -1) + 1
            self.arrays[path] = index
            path = (*path, index)
        self.found[path] = Span(start, start, self.at)
        return path

    def _within_arrays(self, keys: list[str]) -> Path:
        """Return the path of a key, with the last element of each array of tables on it."""
        path: Path = ()
        for place, key in enumerate(keys):
            path = (*path, key)
            if path in self.arrays and place < len(keys) - 1:
                path = (*path, self.arrays[path])
        return path

    def _pair(self, table: Path) -> None:
        key = self.at
        path = (*table, *self._key())
        self.at = self.text.index("=", self.at) + 1
        self._skip(_SPACE)
        self._value(path, key)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            parts.append(self._key_part())
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _key_part(self) -> str:
        start = self.at
        if self.text[start] in "\"'":
            self._string()
            return str(tomllib.loads(f"k = {self.text[start : self.at]}")["k"])
        while self.text[self.at] not in _BARE_END:
            self.at += 1
        return self.text[start : self.at]

    def _value(self, path: Path, key: int) -> None:
        start = self.at
        first = self.text[start]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        else:
            self._scalar()
        self.found[path] = Span(key, start, self.at)

    def _scalar(self) -> None:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ",]}#\r\n":
            self.at += 1
        self.at = start + len(self.text[start : self.at].rstrip())

    def _string(self) -> None:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            self._long_string(quote)
            return
        self.at += 1
        while self.text[self.at] != quote:
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += 1

    def _long_string(self, quote: str) -> None:
        self.at += 3
        while not self.text.startswith(quote * 3, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += 3
        # Up to two quotes may precede the three quotes that end the string.
        while self.text.startswith(quote, self.at):
            self.at += 1

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip_blank()
            if self.text[self.at] == "]":
                break
            self._value((*path, index), self.at)
            index += 1
            self._comma()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        while True:
            self._skip_blank()
            if self.text[self.at] == "}":
                break
            self._pair(path)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        self._skip_blank()
        if self.text[self.at] == ",":
            self.at += 1

    def _skip_blank(self) -> None:
        """Skip white space, ends of lines, and comments."""
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text) or self.text[self.at] != "#":
                return
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def _skip(self, characters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1
