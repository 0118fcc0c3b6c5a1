"""Numbers about PFC pauses: their rate, their length, and the buffered bytes that caused them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from backwater_papers.figure import Source
from backwater_papers.samples import Lines, Samples, of_ports, recorded, steps, window_of

if TYPE_CHECKING:
    import polars

    from backwater.results.files import RunFiles


def _pauses_of(source: Source, run: RunFiles) -> polars.DataFrame:
    """Return the pauses of the chosen ports, that is, of the paused (upstream) ports."""
    import polars as pl

    table = run.table("pauses")
    if source.tiers:
        table = table.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    return of_ports(source, run, table) if source.ports else table


def pauses(source: Source, run: RunFiles) -> Samples:
    """Return the duration of each pause, in ps. Only the part within the window counts."""
    low, high = window_of(source, run)
    table = _pauses_of(source, run)
    begin = np.maximum(table["from_ps"].to_numpy().astype(float), low)
    end = np.minimum(table["to_ps"].to_numpy().astype(float), high)
    return Samples((end - begin)[end > begin])


def paused(source: Source, run: RunFiles) -> Samples:
    """Return the share of the window during which the chosen ports were paused (mean of ports)."""
    import polars as pl

    low, high = window_of(source, run)
    ports = run.table("ports").select("node", "port", "tier")
    if source.tiers:
        ports = ports.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    if source.ports:
        ports = of_ports(source, run, ports)
    time = ports.height * (high - low)
    return Samples(np.array([pauses(source, run).values.sum() / time if time else 0.0]))


def pause_rate(source: Source, run: RunFiles) -> Lines:
    """Return the PAUSE frames per millisecond that all chosen ports received, over time."""
    low, high = source.window or (0.0, float(run.summary["end_ps"]))
    wide = source.bin_ps or high - low
    bins = max(math.ceil((high - low) / wide), 1)
    edges = np.minimum(low + np.arange(bins + 1) * wide, high)
    begin = _pauses_of(source, run)["from_ps"].to_numpy().astype(float)
    place = ((begin[(begin >= low) & (begin < high)] - low) / wide).astype(int)
    per_ms = np.maximum(np.diff(edges), 1.0) / 1e9
    return Lines(edges[1:], {"": np.bincount(place, minlength=bins) / per_ms})


def pause_frames(source: Source, run: RunFiles) -> Samples:
    """Return the number of PAUSE frames that each port received, repetitions included."""
    import polars as pl

    ports = run.table("ports").select("node", "port", "tier", "pause_frames")
    if source.tiers:
        ports = ports.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    if source.ports:
        ports = of_ports(source, run, ports)
    return Samples(ports["pause_frames"].to_numpy().astype(float))


def pause_levels(source: Source, run: RunFiles) -> Samples:
    """Return the buffered bytes of an ingress port at each pause frame that it sent."""
    import polars as pl

    table = recorded(run, "pause_causes")
    held = table.select("at_ps", "held_bytes", node="peer", port="peer_port")
    held = of_ports(source, run, held)
    if source.window:
        held = held.filter(pl.col("at_ps").is_between(*source.window))
    return Samples(held["held_bytes"].to_numpy().astype(float))


def ingress(source: Source, run: RunFiles) -> Lines:
    """Sample the buffered bytes of ingress ports and, if requested, their PFC threshold."""
    columns = {"bytes": "bytes"}
    if source.threshold:
        columns["threshold_bytes"] = "X_off"
    return _ingress(source, run, columns)


def ingress_threshold(source: Source, run: RunFiles) -> Lines:
    """Sample the PFC threshold of ingress ports, in bytes."""
    return _ingress(source, run, {"threshold_bytes": ""})


def _ingress(source: Source, run: RunFiles, columns: dict[str, str]) -> Lines:
    import polars as pl

    table = of_ports(source, run, recorded(run, "port_ingress"))
    if table["class"].n_unique() > 1:
        named = pl.col("port_name") + pl.format(" class {}", pl.col("class"))
        table = table.with_columns(port_name=named)
    return steps(source, run, table, "ingress", columns)


def paused_cycles(source: Source, run: RunFiles) -> Samples:
    """Return when PFC first paused all ports of a cycle for at least `lasting_ps`, in ps.

    A run without such a cycle has no sample. In a cycle each port sends to the node of the next
    port. The two directions of one link are not part of the same cycle. If the run ended in a
    deadlock, the pauses that were active at its end count as endless.
    """
    import polars as pl

    ends = run.table("ports").select("node", "port", pl.col("peer"))
    held = run.table("pauses").join(ends, on=["node", "port"], how="inner")
    if run.summary["ending"] == "deadlock":
        for_ever = pl.when("open").then(pl.lit(2**63 - 1)).otherwise(pl.col("to_ps"))
        held = held.with_columns(to_ps=for_ever.cast(pl.UInt64))
    lasting = int(source.lasting_ps)
    held = held.filter(pl.col("to_ps") - pl.col("from_ps") >= lasting)
    begin, end = held["from_ps"].to_numpy(), held["to_ps"].to_numpy()
    links = list(zip(held["node"].to_list(), held["peer"].to_list(), strict=True))
    for at in np.unique(begin):
        together = np.flatnonzero((begin <= at) & (end >= at + lasting))
        if _closes({links[i] for i in together}):
            return Samples(np.array([float(at)]))
    return Samples(np.empty(0))


def _closes(links: set[tuple[int, int]]) -> bool:
    """Return true if some of the directed links form a cycle of at least three nodes."""
    while links:
        left = {(a, b) for a, b in links if any(c == b and d != a for c, d in links)}
        if left == links:
            return True
        links = left
    return False
