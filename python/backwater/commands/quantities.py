"""Options with units. A bare number has the unit that the option had in version 0.1."""

from __future__ import annotations

from collections.abc import Callable

from backwater.commands.declare import BadParameter

_LONG = {"min": "60s", "m": "60s", "h": "3600s"}
"""Units of time that options accept and scenarios do not."""


def in_units(kind: str, unit: str, example: str, least: float = 0) -> Callable[[str], float]:
    """Return a parser for the text of an option. It returns a `time` in ps or a `size` in bytes.

    ``unit`` is the unit of a bare number. If it is empty, a unit is required. For any other text,
    and for values of at most ``least``, the parser raises ``BadParameter`` with ``example``.
    """
    from backwater._base import quantity

    def parse(text: str) -> float:
        written = text.strip()
        number = written.rstrip("abcdefghijklmnopqrstuvwxyzµABCDEFGHIJKLMNOPQRSTUVWXYZ ")
        suffix = written[len(number) :].strip() or unit
        scale = 1
        if kind == "time" and suffix in _LONG:
            scale, suffix = int(_LONG[suffix][:-1]), "s"
        given = quantity.parse(f"{number}{suffix}") if suffix else None
        value = None if given is None or given.kind != kind else float(given.value * scale)
        if value is None or value < 0 or value <= least:
            raise BadParameter(f"`{text}`: expected a number with its unit, such as {example}")
        return value

    return parse


def seconds(text: str) -> float:
    """Parse a duration with its unit, and return seconds."""
    return in_units("time", "", "90s, 10min or 2h")(text) / 1e12


def size_bytes(text: str) -> int:
    """Parse a size with its unit, and return bytes."""
    return int(in_units("size", "", "4GB or 512MiB")(text))
