"""Formulas of the papers: analytic curves that a figure file can refer to and draw.

The description of each formula gives its place in the paper. Figures mark a number that comes from
a formula, because it is not a measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater_papers import spfc
from backwater_papers.quantities import Dimension

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A formula whose arguments do not have values yet."""

    about: str
    x: Dimension
    y: Dimension
    texts: tuple[str, ...]
    """Arguments that are texts."""

    numbers: tuple[str, ...]
    """Arguments that are numbers."""

    evaluate: Callable[[Mapping[str, Any], Array], Array]


@dataclass(frozen=True, slots=True)
class Formula:
    """A curve: a formula with its arguments."""

    name: str
    kind: str
    arguments: tuple[tuple[str, str | float], ...]
    label: str

    @property
    def x(self) -> Dimension:
        """Dimension of the formula's argument, which is on the horizontal axis."""
        return KINDS[self.kind].x

    @property
    def y(self) -> Dimension:
        """Dimension of the formula's values."""
        return KINDS[self.kind].y

    def at(self, x: Sequence[float] | Array) -> Array:
        """Return the values of the formula at `x`."""
        import numpy as np

        return KINDS[self.kind].evaluate(dict(self.arguments), np.asarray(x, dtype=float))


def workload_points(name: str) -> tuple[list[tuple[float, float]], str] | None:
    """Return points (bytes, share of flows) and interpolation of a built-in workload, or None."""
    from backwater.scenario import catalogue

    for entry in catalogue("workloads"):
        if entry["name"] == name:
            return [(size, share) for size, share in entry["points"]], entry["interpolation"]
    return None


def bytes_below(points: Sequence[tuple[float, float]], interpolation: str, size: Array) -> Array:
    """Return the share of all bytes that belong to flows of at most this size."""
    from itertools import pairwise

    import numpy as np

    first, share = points[0]
    below = np.where(size >= first, first * share, 0.0)
    total = first * share
    for (low, start), (high, end) in pairwise(points):
        flows = end - start
        if interpolation == "step" or high == low:
            total += flows * high
            below += np.where(size >= high, flows * high, 0.0)
            continue
        total += flows * (low + high) / 2
        upto = np.clip(size, low, high)
        below += flows * (upto**2 - low**2) / (2 * (high - low))
    shares: Array = below / total
    return shares


def empty_share(threshold: float, ratio: Array) -> Array:
    """Return the share of time that a flow has no packets, Eq. 4 of the BFC paper, App. C.

    ``threshold`` is the pause threshold in HRTT · µ. ``ratio`` is the arrival rate over the drain
    rate.
    """
    shares: Array = (ratio - 1) / (threshold * ratio + ratio**2 - 1)
    return shares


def worst_empty_share(threshold: Array) -> Array:
    """Return the largest `empty_share` over all ratios, Eq. 5 of the BFC paper, App. C."""
    return 1 / ((threshold**0.5 + 1) ** 2 + 1)


def _bytes_below(given: Mapping[str, Any], size: Array) -> Array:
    found = workload_points(given["workload"])
    if found is None:
        raise ValueError(f"there is no workload {given['workload']}")
    return bytes_below(*found, size)


KINDS = {
    "bytes-below": Kind(
        "share of the bytes in flows of at most this size",
        Dimension.SIZE,
        Dimension.SHARE,
        ("workload",),
        (),
        _bytes_below,
    ),
    "empty-share": Kind(
        "BFC, Eq. 4: share of time without packets, over the ratio of arrival to drain",
        Dimension.NUMBER,
        Dimension.SHARE,
        (),
        ("threshold",),
        lambda given, ratio: empty_share(given["threshold"], ratio),
    ),
    "worst-empty-share": Kind(
        "BFC, Eq. 5: the same at the worst ratio, over the threshold in hop BDP",
        Dimension.NUMBER,
        Dimension.SHARE,
        (),
        (),
        lambda _, threshold: worst_empty_share(threshold),
    ),
    "spfc-least-k": Kind(
        "SPFC, Eq. 8: least K that sees the victim port, over the number of burst ports",
        Dimension.NUMBER,
        Dimension.NUMBER,
        (),
        ("epsilon",),
        lambda given, bursts: spfc.least_k(bursts, given["epsilon"]),
    ),
    "spfc-largest-k": Kind(
        "SPFC, Eq. 8: largest K that sees burst ports, over their number",
        Dimension.NUMBER,
        Dimension.NUMBER,
        (),
        (),
        lambda _, bursts: spfc.largest_k(bursts),
    ),
    "spfc-covered": Kind(
        "SPFC, IV-C: largest congested share of a victim port that K sees, over the burst ports",
        Dimension.NUMBER,
        Dimension.SHARE,
        (),
        ("k",),
        lambda given, bursts: spfc.covered_epsilon(given["k"], bursts),
    ),
    "constant": Kind(
        "a constant, to compare with",
        Dimension.NUMBER,
        Dimension.NUMBER,
        (),
        ("value",),
        lambda given, x: given["value"] + 0 * x,
    ),
}
"""All formulas by name."""
