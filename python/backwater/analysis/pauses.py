"""What PFC did: how often each port was paused, what paused what, and which flows were victims.

Rates need nothing; trees need ``[record] pauses`` in the scenario, victims need there
``flows = true`` (``specs/spfc.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError

if TYPE_CHECKING:
    import polars

    from backwater.results.files import RunFiles

RECORD = "record.pauses.flows=true"
"""What makes a run record both, as an override."""

FRAMES = ("pause_frames", "resume_frames")
"""Columns of ports with the frames of PFC that arrived; results of earlier versions lack them."""

Held = tuple[int, int, int, int]
"""A pause: the node and port that it holds, the class, and its number among those of these."""


def has_trees(run: RunFiles) -> bool:
    """Say whether the run recorded which pause caused which."""
    return (run.path / "pause_causes.parquet").exists()


def has_victims(run: RunFiles) -> bool:
    """Say whether it also recorded which flows pauses held."""
    return (run.path / "held_flows.parquet").exists()


def rates(run: RunFiles, window: tuple[float, float] | None = None) -> polars.DataFrame:
    """Return a row per port that PFC paused: pauses, resumes and their rates, and the time paused.

    ``port`` is the sending port that had to wait, such as ``h0->s0``; the node behind the arrow
    sent the frames. ``pauses`` and ``resumes`` count the times that a class of the port became
    paused, or was paused no longer. ``pause_frames`` and ``resume_frames`` count the frames that
    arrived, repetitions included; they are of the whole run, and left out with a window. With a
    window in picoseconds only pauses that begin (resumes: end) in it count, and time is cut at its
    edges.
    """
    import polars as pl

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
    """A root pause and all that follow from it."""

    congested: str
    from_ps: int
    members: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Held node and port, from and to, of each pause that took effect."""

    pauses: int = 0
    depth: int = 0


def trees(run: RunFiles) -> polars.DataFrame:
    """Return a row per tree of pauses: where it began, how far it went, what it suppressed.

    ``suppressed_peak`` and ``suppressed_mean`` are rates of the ports held at once over those of
    all ports that send to switches: the largest, and the mean from the first to the last moment.
    """
    import polars as pl

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
    rate = _port_rates(run)
    total = _capacity(run)
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
    """Largest and mean sum of the rates of the ports that a tree holds, by a sweep over time."""
    # SPFC-43
    steps = sorted(
        step
        for node, port, begin, end in tree.members
        for step in ((begin, rate[node, port]), (end, -rate[node, port]))
    )
    held = peak = 0
    area, last = 0.0, steps[0][0] if steps else 0
    for at, change in steps:
        area += held * (at - last)
        held, last = held + change, at
        peak = max(peak, held)
    span = last - steps[0][0] if steps else 0
    return float(peak), area / span if span else 0.0


def _effects(run: RunFiles) -> dict[Held, tuple[int, int]]:
    """From when to when each pause held its port."""
    table = run.table("pauses")
    if "number" not in table.columns:
        raise InputError(f"{run.path}: pauses have no numbers; repeat the run")
    columns = table.select("node", "port", "class", "number", "from_ps", "to_ps")
    return {row[:4]: (row[4], row[5]) for row in columns.iter_rows()}


def _port_rates(run: RunFiles) -> dict[tuple[int, int], int]:
    return {
        (node, port): bps
        for node, port, bps in run.table("ports").select("node", "port", "rate_bps").iter_rows()
    }


def _capacity(run: RunFiles) -> int:
    """Rates of all ports that send to switches."""
    import polars as pl

    hosts = run.summary["tiers"][0]
    return int(
        run.table("ports").filter(pl.col("peer_tier").cast(pl.String) != hosts)["rate_bps"].sum()
    )


def victims(run: RunFiles) -> polars.DataFrame:
    """Return a row per flow that pauses held though it does not go to their congested port.

    ``held_ps`` is for how long, ``pauses`` for how many, ``congested_ports`` how many different
    ports were to blame, ``worst`` the one that held it longest.
    """
    import polars as pl

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
