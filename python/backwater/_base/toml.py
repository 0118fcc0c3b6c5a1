"""Writes values as TOML."""

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
