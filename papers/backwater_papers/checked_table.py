"""Access to the tables of a figure file, with checks of keys and types."""

from __future__ import annotations

import difflib
import pathlib
from collections.abc import Iterable
from typing import Any

from backwater._base.positions import Path, line_column, locate
from backwater.errors import ScenarioError
from backwater_papers.quantities import Dimension, Quantity, parse


class FigureError(ScenarioError):
    """A figure file that cannot be used."""


class File:
    """A figure file, valid TOML, and the place of each of its keys."""

    def __init__(self, path: pathlib.Path, text: str) -> None:
        self.path = path
        self._text = text
        self._spans = locate(text)

    def fail(self, path: Path, message: str) -> FigureError:
        """Return an error about a value, with the line of the innermost key that is written."""
        written = (path[:length] for length in range(len(path), 0, -1))
        span = next((self._spans[part] for part in written if part in self._spans), None)
        line = f":{line_column(self._text, span.key)[0]}" if span else ""
        key = ".".join(str(part) for part in path if isinstance(part, str))
        named = f"`{key}`: " if key else ""
        return FigureError(f"error: {self.path}{line}: {named}{message}")


class Table:
    """A table of the figure file whose methods check the type of each value.

    Each method takes a key. It raises :class:`FigureError` if the value has another type; the
    error gives file, line, key and the expected type. ``close`` refuses keys that were not read.
    """

    def __init__(self, raw: dict[str, Any], file: File, path: Path = ()) -> None:
        self.raw, self.file, self.path = raw, file, path
        self.read: set[str] = set()

    def __contains__(self, key: str) -> bool:
        self.read.add(key)
        return key in self.raw

    def fail(self, key: str | None, message: str) -> FigureError:
        """Return an error about a key, or about the table itself."""
        return self.file.fail(self.path if key is None else (*self.path, key), message)

    def get(self, key: str) -> Any:
        """Return a value of any kind, or ``None``."""
        self.read.add(key)
        return self.raw.get(key)

    def need(self, key: str, expected: str) -> Any:
        """Return a value of any kind; raise an error if the key is missing."""
        if key not in self:
            raise self.fail(None, f"the key `{key}` is missing: {expected}")
        return self.raw[key]

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default a missing key is an error."""
        value = self.need(key, "a text") if default is None else self.get(key)
        if value is None:
            return default or ""
        if not isinstance(value, str):
            raise self.fail(key, f"expected a text, found {value!r}")
        return value.strip()

    def optional(self, key: str) -> str | None:
        """Return a text, or ``None``."""
        return self.text(key) if key in self else None

    def one_of(self, key: str, words: Iterable[str], default: str | None = None) -> str:
        """Return a text that is one of some words."""
        value, words = self.text(key, default), list(words)
        if value not in words:
            raise self.fail(key, f"`{value}` is none of {', '.join(words)}.{nearest(value, words)}")
        return value

    def items(self, key: str) -> list[Any]:
        """Return a list, or an empty list if the key is missing."""
        value = self.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(key, f"expected a list, found {value!r}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts. A single text needs no brackets."""
        value = self.get(key)
        values = [value] if isinstance(value, str) else self.items(key)
        for each in values:
            if not isinstance(each, str):
                raise self.fail(key, f"expected texts, found {each!r}")
        return tuple(values)

    def whole(self, key: str, default: int, low: int = 0) -> int:
        """Return a whole number of at least ``low``."""
        value = self.raw[key] if key in self else default
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise self.fail(key, f"expected a whole number of at least {low}, found {value!r}")
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean, or false if the key is missing."""
        value = self.raw[key] if key in self else False
        if not isinstance(value, bool):
            raise self.fail(key, f"expected true or false, found {value!r}")
        return value

    def quantity(self, key: str, dimension: Dimension) -> float:
        """Return a quantity as a number in the unit of ``dimension``, such as ps or bytes."""
        return self.quantity_of(key, self.need(key, dimension.value), dimension).value

    def quantity_of(self, key: str, written: object, dimension: Dimension | None) -> Quantity:
        """Return a written value as a quantity; a dimension of ``None`` allows any dimension."""
        found = parse(written)
        if found is None:
            expected = dimension.value if dimension else "a number or a quantity such as 20us"
            raise self.fail(key, f"expected {expected}, found {written!r}")
        if dimension is not None and found.dimension is not dimension:
            raise self.fail(key, f"expected {dimension.value}, found {written!r}")
        return found

    def range(self, key: str, dimension: Dimension | None) -> tuple[float, float] | None:
        """Return two quantities, the first at most as large as the second, or ``None``."""
        if key not in self:
            return None
        ends = self.items(key)
        expected = dimension.value if dimension else "a number or a quantity"
        if len(ends) != 2:
            raise self.fail(key, f"expected a list of two, from and to, each {expected}")
        low, high = (self.quantity_of(key, end, dimension).value for end in ends)
        if low > high:
            raise self.fail(key, f"{ends[0]!r} is more than {ends[1]!r}")
        return low, high

    def table(self, key: str) -> Table:
        """Return a table, or an empty table if the key is missing."""
        value = self.raw[key] if key in self else {}
        if not isinstance(value, dict):
            raise self.fail(key, f"expected a table, found {value!r}")
        return Table(value, self.file, (*self.path, key))

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables."""
        found = []
        for i, value in enumerate(self.items(key)):
            path = (*self.path, key, i)
            if not isinstance(value, dict):
                raise self.file.fail(path, f"expected tables, found {value!r}")
            found.append(Table(value, self.file, path))
        return found

    def close(self) -> None:
        """Refuse unknown keys: those that were not read."""
        for key in self.raw:
            if key not in self.read:
                raise self.fail(key, f"unknown key.{nearest(key, self.read - set(self.raw))}")


def nearest(word: str, words: Iterable[str]) -> str:
    """Return a hint with the closest known word, or an empty text if no word is close."""
    near = difflib.get_close_matches(word, sorted(words), 1)
    return f" Did you mean `{near[0]}`?" if near else ""
