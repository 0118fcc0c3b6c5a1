"""Formats quantities and lists of names for people."""

from __future__ import annotations

from collections.abc import Sequence

ALMOST = 0.9995
"""Smallest share of a unit that is shown in this unit, so that 999.9 KB are shown as 1 MB."""


def number_text(value: float) -> str:
    """Write a number with at most three digits, or whole: ``1.25``, ``125``, ``1,250``."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def some_text(names: Sequence[str], most: int) -> str:
    """List at most ``most`` names, and count the others: ``a, b and 3 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def bytes_text(value: float) -> str:
    """Write a size with its decimal unit and at most three digits, such as ``10 KB``."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= ALMOST * scale:
            return f"{number_text(value / scale)} {unit}"
    return f"{number_text(value)} B"


def time_text(ps: float) -> str:
    """Write a time with its unit and at most three digits, such as ``1.25 ms``."""
    for unit, scale in (("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)):
        if ps >= ALMOST * scale or ps == 0:
            return f"{number_text(ps / scale)} {unit}"
    return f"{number_text(ps)} ps"


def clock_text(seconds: float | None) -> str:
    """Write a remaining time as ``m:ss``; ``–`` if it is unknown."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def duration_text(seconds: float) -> str:
    """Write a remaining time for people: ``45 s``, ``12 min`` or ``3 h 20 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours / 24:.1f} days"
