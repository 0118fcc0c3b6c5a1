"""Writes Python values as TOML, and rates and times with their units."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml(value: Any) -> str:
    """Return a value as TOML on one line; raise ``TypeError`` for a type that TOML lacks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | PurePath):
        # JSON and TOML differ in one character that TOML escapes.
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(one) for one in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if hasattr(value, "item"):  # A number of NumPy.
        return toml(value.item())
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"a {type(value).__name__}")


def document(values: Mapping[str, Any]) -> str:
    """Return a TOML document with one line for each top-level key."""
    return "".join(f"{_key(key)} = {toml(value)}\n" for key, value in values.items())


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r}, which is not a text")
    return key if _BARE.fullmatch(key) else toml(key)


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


def number(value: Decimal) -> Decimal:
    """Return a number with at least one decimal, which is written as a float."""
    text = f"{value:f}"
    return Decimal(text if "." in text else f"{text}.0")


def one_line(text: str) -> str:
    """Return a text that fits into a one-line comment: unprintable characters become ``?``."""
    return "".join(c if c.isprintable() else "?" for c in text)
