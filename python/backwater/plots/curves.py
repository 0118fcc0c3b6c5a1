"""Data of the figures of runs: size bins, distributions, time series, styles.

Figures of matplotlib (:mod:`backwater.plots.figures`) and of pages (:mod:`backwater.report`) show
the same data in the same colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from backwater._base.lazy import pl
from backwater.results.files import RunFiles

Array = np.ndarray[Any, np.dtype[Any]]
Runs = Mapping[str, RunFiles]

_UNTIL = {"received": "to its last byte at the receiver", "acked": "until its last ACK is back"}


def until(ends: Iterable[str]) -> str:
    """Return the event that ends a flow, as text, from the ``fct_until`` of the runs."""
    return " or ".join(dict.fromkeys(_UNTIL[end] for end in ends))


Line = str | tuple[int, tuple[float, ...]]
"""Line style for matplotlib: a name, or dashes as an offset and lengths."""


@dataclass(frozen=True, slots=True)
class Style:
    """Colour and line style of a scheme."""

    colour: str
    line: Line = "-"

    @property
    def dash(self) -> list[float]:
        """Lengths of dashes and gaps in multiples of the line width; empty for a solid line."""
        return [] if isinstance(self.line, str) else list(self.line[1])


# Colours of Okabe and Ito, darker where they are too faint on white. They differ also for colour-
# blind readers. The line styles differ in print.
_STYLES = {
    "bfc": Style("#0072b2"),
    "hpcc": Style("#d55e00"),
    "dcqcn": Style("#009e73"),
    "dctcp": Style("#b5578f"),
    "timely": Style("#c98a00"),
    "ideal-fq": Style("#3c4650", (0, (4, 2))),
    "dcqcn+win": Style("#009e73", (0, (1, 1))),
    "timely+win": Style("#c98a00", (0, (1, 1))),
    "pfc": Style("#7f7f7f"),
}
_SPARE = [
    Style("#56b4e9"),
    Style("#8c564b"),
    Style("#6a51a3"),
    Style("#7a9a01"),
    Style("#e377c2"),
    Style("#17807e"),
]


def styles(schemes: Sequence[str]) -> dict[str, Style]:
    """Return a style for every scheme. Known schemes always have the same style."""
    spare = sorted(s for s in schemes if s not in _STYLES)
    dashes: list[Line] = ["-", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1))]
    drawn = {
        name: Style(_SPARE[i % len(_SPARE)].colour, dashes[i // len(_SPARE) % len(dashes)])
        for i, name in enumerate(spare)
    }
    return {s: _STYLES.get(s) or drawn[s] for s in schemes}


# --- Slowdown against flow size --------------------------------------------------------------

BINS = 16
"""Number of size bins of the slowdown figure, with about the same number of flows each."""

ENOUGH = 100
"""Minimum number of flows in a bin when the largest flows are split further."""


@dataclass(frozen=True, slots=True)
class BySize:
    """Values of flows, such as their slowdowns, in the order of the flows' sizes."""

    sizes: Array
    values: Array


def by_size(sizes: Array, values: Array) -> BySize:
    """Sort flows by size once, for all later divisions by size.

    The values must not be negative.
    """
    if values.dtype == np.float32 and sizes.dtype == np.uint64 and not (sizes >> 32).any():
        # Sorting numbers is faster than sorting indices. The bits of non-negative floats have the
        # order of the floats.
        keys = sizes << 32 | values.view(np.uint32)
        keys.sort()
        return BySize(keys >> 32, keys.astype(np.uint32).view(np.float32))
    order = np.argsort(sizes)
    return BySize(sizes[order], values[order])


def equal_count_edges(samples: Sequence[BySize], bins: int = BINS) -> Array:
    """Return the edges of size bins with about equally many flows, with the lowest edge first.

    All schemes have the same bins. Most flows are small, but papers also show the large ones.
    Therefore the last bin is halved repeatedly, as long as its parts have enough flows for a
    percentile. A frequent size has its own bin, so there may be fewer bins.
    """
    counted = [_counted(sample.sizes) for sample in samples]
    sizes, first = np.unique(
        np.concatenate([values for values, _ in counted]) if counted else np.array([]),
        return_inverse=True,
    )
    if not len(sizes):
        return np.array([])
    counts = np.bincount(first, weights=np.concatenate([numbers for _, numbers in counted]))
    flows = counts.sum() / len(samples)
    bins = int(np.clip(flows // 20, 1, bins))
    shares = [*np.arange(1, bins) / bins]
    rest = 1 / bins
    while bins > 1 and rest * flows / 2 >= ENOUGH:
        rest /= 2
        shares.append(1 - rest)
    # The smallest size such that at least this share of all flows is not larger.
    wanted = np.array([*shares, 1.0]) * counts.sum() * (1 - 1e-12)
    upper = sizes[np.searchsorted(counts.cumsum(), wanted, side="left")]
    return np.concatenate([[float(sizes[0]) - 1], np.unique(upper)])


def _counted(ordered: Array) -> tuple[Array, Array]:
    """Return the distinct values of a sorted array, and their counts."""
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return ordered[starts], np.diff(starts, append=len(ordered))


def in_bins(flows: BySize, edges: Array) -> list[tuple[float, Array]]:
    """Return the median size and the values of every non-empty bin, for :data:`STATISTICS`."""
    inner = np.searchsorted(flows.sizes, edges[1:-1], side="right")
    return [
        (_middle(flows.sizes[a:b]), _ranked(flows.values[a:b]))
        for a, b in pairwise([0, *inner, len(flows.sizes)])
        if b > a
    ]


def _middle(ordered: Array) -> float:
    """Return the median of sorted values."""
    return float(ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2)


def nearest_rank(share: float) -> Callable[[Array], float]:
    """Return a function that computes a quantile of sorted values by nearest rank."""
    return lambda ordered: float(ordered[_rank(share, len(ordered))])


def _rank(share: float, number: int) -> int:
    return max(int(np.ceil(share * number - 1e-9)) - 1, 0)


_QUANTILES = {
    "median": 0.5,
    "95th percentile": 0.95,
    "99th percentile": 0.99,
    "99.9th percentile": 0.999,
}

STATISTICS: dict[str, Callable[[Array], float]] = {
    "average": lambda values: float(np.mean(values)),
    **{words: nearest_rank(share) for words, share in _QUANTILES.items()},
}
"""Statistics by their label in figures, for values that are sorted or come from bins."""


def _ranked(values: Array) -> Array:
    """Return the values with all quantiles at their sorted positions (faster than sorting)."""
    return np.partition(values, [_rank(share, len(values)) for share in _QUANTILES.values()])


# --- Time ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pieces:
    """Intervals, cut at the ends of frames of equal length.

    A piece belongs to the interval ``row`` and to one ``frame``. ``share`` is the fraction of the
    frame that it covers.
    """

    row: Array
    frame: Array
    share: Array


def divided(start: Array, end: Array, frames: int, frame_ps: int) -> Pieces:
    """Cut intervals at the ends of frames. Parts after the last frame are left out."""
    first, last = start // frame_ps, np.maximum(end - 1, start) // frame_ps
    spans = last - first + 1
    row = np.repeat(np.arange(len(start)), spans)
    frame = first[row] + np.arange(len(row)) - np.repeat(spans.cumsum() - spans, spans)
    row, frame = row[frame < frames], frame[frame < frames]
    low, high = frame * frame_ps, (frame + 1) * frame_ps
    within = np.minimum(end[row], high) - np.maximum(start[row], low)
    return Pieces(row, frame, within / frame_ps)


# --- Distributions ---------------------------------------------------------------------------


def cdf(values: Array, points: int = 600) -> tuple[Array, Array]:
    """Return the empirical distribution as (values, shares at or below them), thinned if long."""
    if not len(values):
        return np.array([]), np.array([])
    x, counts = np.unique(values, return_counts=True)
    return thinned(x, counts.cumsum() / len(values), points)


def thinned(x: Array, share: Array, points: int) -> tuple[Array, Array]:
    """Keep about ``points`` points of a distribution, including the first and the last."""
    if len(x) > points:
        keep = np.searchsorted(share, np.linspace(0, 1, points), side="left")
        keep = np.unique(np.concatenate([[0], keep.clip(max=len(x) - 1), [len(x) - 1]]))
        x, share = x[keep], share[keep]
    return x, share


def active_flows(run: RunFiles) -> tuple[Array, Array]:
    """Return the distribution of the number of active flows at a switch port.

    It covers all switch ports and all probes.
    """
    hosts = run.summary["tiers"][0]
    rows = (
        run.table("active")
        .filter(pl.col("tier").cast(pl.String) != hosts)
        .group_by("active")
        .agg(pl.col("probes").sum())
        .sort("active")
    )
    if not rows.height:
        return np.array([]), np.array([])
    share = rows["probes"].to_numpy().cumsum() / rows["probes"].sum()
    return rows["active"].to_numpy().astype(float), share


def buffer_samples(runs: Runs) -> dict[str, dict[str, Array]]:
    """Return the buffer occupancy of switches in bytes, by tier from the hosts up, and by run.

    It covers all probes of the measured time. Tiers without such probes are left out.
    """
    found = {
        name: {
            str(tier): table["used_bytes"].to_numpy()
            for (tier,), table in run.measured_queues()
            .select(pl.col("tier").cast(pl.String), "used_bytes")
            .partition_by("tier", as_dict=True)
            .items()
        }
        for name, run in runs.items()
    }
    none = np.array([], dtype=np.uint64)
    return {
        tier: {name: tiers.get(tier, none) for name, tiers in found.items()}
        for tier in in_order(run.summary["tiers"] for run in runs.values())
        if any(tier in tiers for tiers in found.values())
    }


def switch_of(tier: str) -> str:
    """Return the name for a switch of a tier: ``leaf switch``, or ``switch`` in a star.

    Tiers of a list of links have numbers, so the name is ``tier 1 switch``.
    """
    name = tier.removeprefix("switch")
    if name.endswith("switch"):
        return name
    return f"{f'tier {name}' if name.isdecimal() else name} switch".lstrip()


def pause_groups(runs: Runs) -> tuple[list[tuple[str, str]], dict[str, dict[Any, float]]]:
    """Return the groups of links, and the share of time that PFC paused them, by run and group.

    A group is the pair of tiers that its links connect.
    """
    groups = in_order(
        ((group["from"], group["to"]) for group in run.summary["links"]) for run in runs.values()
    )
    shares = {
        name: {(g["from"], g["to"]): g["paused_fraction"] for g in run.summary["links"]}
        for name, run in runs.items()
    }
    return groups, shares


def in_order(lists: Any) -> list[Any]:
    """Return the distinct elements of some lists, in the order of their first occurrence."""
    return list(dict.fromkeys(item for items in lists for item in items))
