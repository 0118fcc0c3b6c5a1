"""Writes values of scenarios as TOML text, for importers."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal


def names(numbers: Iterable[object]) -> str:
    """Write a list of names."""
    return "[" + ", ".join(f'"{n}"' for n in numbers) + "]"


def rate(bps: int) -> str:
    """Write a rate, in the largest unit that is exact."""
    for unit, scale in (("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3)):
        if bps and bps % scale == 0:
            return f"{bps // scale}{unit}"
    return f"{bps}bps"


def time(ps: int) -> str:
    """Write a time, in the largest unit that is exact."""
    for unit, scale in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps % scale == 0:
            return f"{ps // scale}{unit}"
    return f"{ps}ps"


def number(value: Decimal) -> str:
    """Write a number without an exponent."""
    text = f"{value:f}"
    return text if "." in text else f"{text}.0"


def boolean(value: bool) -> str:
    """Write a truth value."""
    return "true" if value else "false"


def quoted(text: str) -> str:
    """Write a text, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04X}" for c in escaped) + '"'


def one_line(text: str) -> str:
    """Write text into a comment."""
    return "".join(c if c.isprintable() else "?" for c in text)
