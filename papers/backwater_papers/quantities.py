"""Numbers with a dimension, as figure files write them and as people read them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from backwater._base import quantity
from backwater._base.units import bytes_text, time_text


class Dimension(Enum):
    """Dimension of a number, with an example of its notation."""

    TIME = "a time such as 20us"
    SIZE = "a size such as 4KB"
    RATE = "a rate such as 10Gbps"
    SHARE = "a share such as 5%"
    NUMBER = "a number"


_OF_KIND = {
    "time": Dimension.TIME,
    "size": Dimension.SIZE,
    "rate": Dimension.RATE,
    "fraction": Dimension.SHARE,
    "number": Dimension.NUMBER,
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the unit of its dimension: ps, bytes, bits per second, or plain."""

    value: float
    dimension: Dimension

    def __str__(self) -> str:
        return text(self.value, self.dimension)


def parse(written: object) -> Quantity | None:
    """Read ``20us``, ``4KB``, ``10Gbps``, ``5%`` or a plain number; else return ``None``."""
    found = quantity.parse(written)
    return Quantity(float(found.value), _OF_KIND[found.kind]) if found else None


def text(value: float, dimension: Dimension) -> str:
    """Write a number (ps, bytes, bit/s, share) with a suitable unit and about three digits."""
    if math.isnan(value):
        return "no data"
    if math.isinf(value):
        return "never" if dimension is Dimension.TIME else "∞"
    if value < 0:
        return "−" + text(-value, dimension)
    match dimension:
        case Dimension.TIME:
            return "0" if value == 0 else time_text(value)
        case Dimension.SIZE:
            return bytes_text(value)
        case Dimension.RATE:
            for unit, scale in (("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3)):
                if value >= scale:
                    return f"{digits(value / scale)} {unit}"
            return f"{digits(value)} bps"
        case Dimension.SHARE:
            return f"{digits(value * 100)} %"
        case Dimension.NUMBER:
            return digits(value)


def digits(value: float) -> str:
    """Write a number with about three significant digits; large numbers have no exponent."""
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
