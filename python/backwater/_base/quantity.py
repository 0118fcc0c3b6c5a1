"""Numbers with units, which the core parses as in scenarios, and steps between two of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from backwater import _core

_BASE = {"rate": "bps", "time": "ps", "size": "B"}
"""Base units of the kinds that have units."""

_PERCENT = re.compile(r"\s*([+-]?\d+(?:\.\d*)?)\s*%\s*")
_DIGITS = 6
"""Number of significant digits to which intermediate values of a logarithmic range are rounded."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit in which it was written; the unit is empty if it had none."""

    value: Fraction
    """Value in the base unit: bps, ps, B, or a plain number."""

    kind: str
    unit: str
    scale: Fraction = Fraction(1)
    """Number of base units in the written unit."""


def parse(value: object) -> Quantity | None:
    """Parse a number or a text with a unit; return ``None`` if it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal):
        return Quantity(Fraction(str(value)), "number", "")
    if not isinstance(value, str):
        return None
    if match := _PERCENT.fullmatch(value):
        percent = Fraction(1, 100)
        return Quantity(Fraction(match[1]) * percent, "fraction", "%", percent)
    found = _core.parse_quantity(value)
    if found is None:
        return None
    kind, whole, unit, scale = found
    return Quantity(Fraction(whole), kind, unit, Fraction(scale))


def number(value: object) -> float | None:
    """Convert a number or a text with a unit to its base unit; return ``None`` for other values."""
    quantity = parse(value)
    return None if quantity is None else float(quantity.value)


def by_steps(first: Quantity, last: Quantity, steps: int, log: bool) -> list[object]:
    """Return ``steps`` values from ``first`` to ``last``, both included, evenly or log-spaced."""
    if steps == 1:
        return [written(first.value, first)]
    values = []
    for i in range(steps):
        part = Fraction(i, steps - 1)
        if i in (0, steps - 1):
            value = last.value if i else first.value
        elif log:
            exact = float(first.value) * float(last.value / first.value) ** float(part)
            value = Fraction(f"{exact / float(first.scale):.{_DIGITS - 1}e}") * first.scale
        else:
            value = first.value + part * (last.value - first.value)
        values.append(written(_whole(value, first, last), first))
    return list(dict.fromkeys(values))


def by_distance(first: Quantity, last: Quantity, distance: Quantity) -> list[object]:
    """Return values from ``first`` on at a fixed distance, and ``last`` if a step reaches it."""
    count = int((last.value - first.value) / distance.value)
    return [written(first.value + i * distance.value, first) for i in range(count + 1)]


def _whole(value: Fraction, first: Quantity, last: Quantity) -> Fraction:
    """Round a value of a range if only integers are allowed; otherwise return it unchanged.

    Rates (bit/s), times (ps) and sizes (bytes) are integers. Plain numbers are integers if both
    ends of the range are.
    """
    counts = first.kind == "number" and first.value.denominator == last.value.denominator == 1
    return Fraction(round(value)) if counts or first.kind in _BASE else value


def written(value: Fraction, like: Quantity) -> object:
    """Write a value in the unit of ``like``, or in the base unit if it has too many decimals."""
    if not like.unit:
        return int(value) if value.denominator == 1 else float(value)
    inside = value / like.scale
    text = decimal(inside)
    if text is not None and len(text.partition(".")[2]) <= _DIGITS - 2:
        return f"{text}{like.unit}"
    if like.unit == "%":
        return float(value)
    return f"{int(value)}{_BASE[like.kind]}"


def decimal(value: Fraction) -> str | None:
    """Write a fraction as a decimal; return ``None`` if it has infinitely many digits."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return None
    text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
