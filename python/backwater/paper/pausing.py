"""Numbers about PFC's pauses: how often, how long, and what a port held when it was paused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from backwater.paper.figure import Source
from backwater.paper.samples import Lines, Samples, of_ports, recorded, window_of

if TYPE_CHECKING:
    import polars

    from backwater.results import Run


def _held(source: Source, run: Run) -> polars.DataFrame:
    """Pauses of the chosen ports: those that had to wait."""
    import polars as pl

    table = run.pauses
    if source.tiers:
        table = table.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    return of_ports(source, run, table) if source.ports else table


def pauses(source: Source, run: Run) -> Samples:
    """How long ports had to wait, pause by pause, within the window."""
    low, high = window_of(source, run)
    table = _held(source, run)
    begin = np.maximum(table["from_ps"].to_numpy().astype(float), low)
    end = np.minimum(table["to_ps"].to_numpy().astype(float), high)
    return Samples((end - begin)[end > begin])


def paused(source: Source, run: Run) -> Samples:
    """Measure the share of the ports' time that they had to wait."""
    import polars as pl

    low, high = window_of(source, run)
    ports = run.ports.select("node", "port", "tier")
    if source.tiers:
        ports = ports.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    if source.ports:
        ports = of_ports(source, run, ports)
    time = ports.height * (high - low)
    return Samples(np.array([pauses(source, run).values.sum() / time if time else 0.0]))


def pause_rate(source: Source, run: Run) -> Lines:
    """PAUSEs per millisecond that reached the ports, all together, over time."""
    low, high = source.window or (0.0, float(run.summary["end_ps"]))
    wide = source.bin_ps or high - low
    bins = max(math.ceil((high - low) / wide), 1)
    edges = np.minimum(low + np.arange(bins + 1) * wide, high)
    begin = _held(source, run)["from_ps"].to_numpy().astype(float)
    place = ((begin[(begin >= low) & (begin < high)] - low) / wide).astype(int)
    per_ms = np.maximum(np.diff(edges), 1.0) / 1e9
    return Lines(edges[1:], {"": np.bincount(place, minlength=bins) / per_ms})


def pause_levels(source: Source, run: Run) -> Samples:
    """Bytes that an ingress held at each moment that it was paused."""
    import polars as pl

    table = recorded(run, "pause_causes")
    held = table.select("at_ps", "held_bytes", node="peer", port="peer_port")
    held = of_ports(source, run, held)
    if source.window:
        held = held.filter(pl.col("at_ps").is_between(*source.window))
    return Samples(held["held_bytes"].to_numpy().astype(float))
