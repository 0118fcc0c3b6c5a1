"""PFC pauses: rates per port, trees of causes, and victim flows.

Rates are in every run. Trees need ``[record] pauses`` in the scenario, and victims need ``flows =
true`` there (``specs/spfc.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from backwater._base.lazy import pl
from backwater.errors import InputError
from backwater.results.files import RunFiles

RECORD = "record.pauses.flows=true"
"""The override with which a run records both trees and victims."""

FRAMES = ("pause_frames", "resume_frames")
"""Columns of ports with the number of received PFC frames.

Results of earlier versions lack them.
"""

Held = tuple[int, int, int, int]
"""Key of a pause: the paused node, port and class, and the number of the pause of this class."""


def has_trees(run: RunFiles) -> bool:
    """Return true if the run recorded which pause caused which."""
    return (run.path / "pause_causes.parquet").exists()


def has_victims(run: RunFiles) -> bool:
    """Return true if the run recorded which flows were paused."""
    return (run.path / "held_flows.parquet").exists()


def rates(run: RunFiles, window: tuple[float, float] | None = None) -> pl.DataFrame:
    """Return a row per port that PFC paused: pauses, resumes and their rates, and the time paused.

    ``port`` is the paused sending port, such as ``h0->s0``. The node behind the arrow sent the
    frames. ``pauses`` and ``resumes`` count how often a class of the port was paused and resumed.
    ``pause_frames`` and ``resume_frames`` count received frames, including repetitions. They cover
    the whole run, and are left out with a window.

    With a window in picoseconds only pauses that begin, and resumes that occur, in it count. Time
    outside the window does not count.
    """
    low, high = window or (0.0, float(run.summary["end_ps"]))
    span_ms = max(high - low, 1.0) / 1e9
    within = [pl.col(c).cast(pl.Float64).is_between(low, high) for c in ("from_ps", "to_ps")]
    begin, end = pl.col("from_ps").cast(pl.Float64), pl.col("to_ps").cast(pl.Float64)
    held = (end.clip(low, high) - begin.clip(low, high)).sum()
    counted = (
        run.table("pauses")
        .group_by("node", "port")
        .agg(
            within[0].sum().alias("pauses"),
            (within[1] & ~pl.col("open")).sum().alias("resumes"),
            held.alias("held_ps"),
        )
    )
    frames = [] if window else [c for c in FRAMES if c in run.table("ports").columns]
    named = counted.join(
        run.table("ports").select("node", "port", "name", "peer_name", "tier", *frames),
        on=["node", "port"],
    )
    arrow = pl.col("name").cast(pl.String) + "->" + pl.col("peer_name").cast(pl.String)
    return named.sort("node", "port").select(
        arrow.alias("port"),
        "tier",
        "pauses",
        "resumes",
        *frames,
        (pl.col("pauses") / span_ms).alias("pauses_per_ms"),
        (pl.col("resumes") / span_ms).alias("resumes_per_ms"),
        "held_ps",
        (pl.col("held_ps") / (high - low if high > low else 1.0)).alias("held_share"),
    )


@dataclass
class _Tree:
    """A root pause and all pauses that it caused."""

    congested: str
    from_ps: int
    members: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Paused node and port, begin and end, of each pause that took effect."""

    pauses: int = 0
    depth: int = 0


def trees(run: RunFiles) -> pl.DataFrame:
    """Return a row per tree of pauses: its root, its depth, and the rate that it suppressed.

    The suppressed rate is the sum of the rates of ports that are paused at the same time. It is
    divided by the rates of all ports that send to switches. ``suppressed_peak`` is the maximum, and
    ``suppressed_mean`` is the mean from the first to the last moment.
    """
    effects = _effects(run)
    found: dict[Held, _Tree] = {}
    roots: list[_Tree] = []
    for row in run.table("pause_causes").sort("at_ps", maintain_order=True).iter_rows(named=True):
        key = (row["peer"], row["peer_port"], row["class"], row["number"])
        parent = (row["node"], row["egress"], row["class"], row["parent"])
        tree = found.get(parent) if row["parent"] is not None else None
        if tree is None:
            tree = _Tree(f"{row['root_name']}->{row['root_peer_name']}", row["at_ps"])
            roots.append(tree)
        found[key] = tree
        tree.pauses += 1
        tree.depth = max(tree.depth, row["depth"])
        if key in effects:
            tree.members.append((*key[:2], *effects[key]))
    ports = run.table("ports")
    rate = {(a, b): bps for a, b, bps in ports.select("node", "port", "rate_bps").iter_rows()}
    to_switches = pl.col("peer_tier").cast(pl.String) != run.summary["tiers"][0]
    total = int(ports.filter(to_switches)["rate_bps"].sum())
    rows = [_tree_row(tree, rate, total) for tree in roots]
    return pl.DataFrame(rows, schema=_TREE_SCHEMA)


_TREE_SCHEMA = {
    "congested_port": str,
    "from_ps": int,
    "to_ps": int,
    "pauses": int,
    "depth": int,
    "ports": int,
    "suppressed_peak": float,
    "suppressed_mean": float,
}


def _tree_row(tree: _Tree, rate: dict[tuple[int, int], int], total: int) -> dict[str, Any]:
    peak, mean = _suppressed(tree, rate)
    return {
        "congested_port": tree.congested,
        "from_ps": tree.from_ps,
        "to_ps": max((m[3] for m in tree.members), default=tree.from_ps),
        "pauses": tree.pauses,
        "depth": tree.depth,
        "ports": len({m[:2] for m in tree.members}),
        "suppressed_peak": peak / total if total else 0.0,
        "suppressed_mean": mean / total if total else 0.0,
    }


def _suppressed(tree: _Tree, rate: dict[tuple[int, int], int]) -> tuple[float, float]:
    """Return the maximum and the mean, over time, of the summed rate of paused ports, in bps."""
    # SPFC-43: suppressed rate of a tree, by a sweep over time
    steps = sorted(
        step
        for node, port, begin, end in tree.members
        for step in ((begin, rate[node, port]), (end, -rate[node, port]))
    )
    peak = max(accumulate(change for _, change in steps), default=0)
    area = sum(rate[node, port] * (end - begin) for node, port, begin, end in tree.members)
    span = steps[-1][0] - steps[0][0] if steps else 0
    return float(peak), area / span if span else 0.0


def _effects(run: RunFiles) -> dict[Held, tuple[int, int]]:
    """Return the begin and end of each pause, in ps.

    Raises :class:`~backwater.errors.InputError` if the run is of a version without pause numbers.
    """
    table = run.table("pauses")
    if "number" not in table.columns:
        raise InputError(f"{run.path}: pauses have no numbers; repeat the run")
    columns = table.select("node", "port", "class", "number", "from_ps", "to_ps")
    return {row[:4]: (row[4], row[5]) for row in columns.iter_rows()}


def victims(run: RunFiles) -> pl.DataFrame:
    """Return a row per flow that was paused although it does not cross the congested port.

    ``held_ps`` is the paused time, and ``pauses`` is the number of pauses. ``congested_ports`` is
    the number of different ports that caused them. ``worst`` is the one that paused the flow
    longest.
    """
    to = pl.col("root_name").cast(pl.String) + "->" + pl.col("root_peer_name").cast(pl.String)
    held = run.table("held_flows").filter("victim").with_columns(to.alias("root"))
    longest = pl.col("root").sort_by("held_ps", descending=True).first()
    flows = held.group_by("flow").agg(
        pl.col("pauses").sum(),
        pl.col("held_ps").sum(),
        pl.col("root").n_unique().alias("congested_ports"),
        longest.alias("worst"),
    )
    about = run.table("flows").select(
        pl.col("id").alias("flow"), "source", "src", "dst", "bytes", "slowdown"
    )
    return flows.join(about, on="flow").sort(["held_ps", "flow"], descending=[True, False])
