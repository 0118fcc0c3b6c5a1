"""The critical path of a collective: which sends made it late.

A first version: from the rank that ended last it goes back, message by message, always over the
one that arrived last before the next one was sent, up to a rank that had nothing to wait for but
its own start.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from backwater.errors import RunError

if TYPE_CHECKING:
    import polars

    from backwater.results import Run

COLUMNS = (
    "flow",
    "src",
    "dst",
    "bytes",
    "start_ps",
    "received_ps",
    "took_ps",
    "ideal_ps",
    "before_ps",
)
"""Columns of a path: the message as a flow, its hosts, when it was sent and had arrived, how long
that took and would take alone, and how long the sender had what it waited for before it sent."""


def slowest(run: Run) -> dict[str, Any] | None:
    """Return the row of the collective that took longest; nothing where none has ended."""
    import polars as pl

    took = pl.col("end_ps") - pl.col("start_ps")
    longest = run.collectives.sort(took, descending=True, maintain_order=True).head(1)
    return longest.row(0, named=True) if longest.height else None


def critical_path(run: Run, collective: dict[str, Any]) -> polars.DataFrame:
    """Return the messages that followed each other up to the end of a collective, first to last.

    ``collective`` is a row of ``run.collectives``. Raises :class:`~backwater.errors.RunError` where
    the run has no such workload.
    """
    import polars as pl

    ranks = run.ranks.filter(pl.col("workload") == collective["workload"])
    last = ranks.filter(pl.col("rank") == collective["last_rank"])
    if not last.height:
        raise RunError(f"{run.path}: there is no workload {collective['workload']}")
    begin, end = collective["start_ps"], collective["end_ps"]
    same = pl.col("group").eq_missing(pl.lit(collective["group"], pl.UInt32))
    parts = run.operations.filter(
        (pl.col("workload") == collective["workload"])
        & (pl.col("kind") == collective["kind"])
        & (pl.col("instance") == collective["instance"])
        & same
    )
    starts = dict(parts.select("host", "start_ps").iter_rows())
    wanted = (
        (pl.col("source") == collective["workload"])
        & (pl.col("start_ps") >= begin)
        & (pl.col("received_ps") <= end)
    )
    fields = ["id", "src", "dst", "bytes", "start_ps", "received_ps", "ideal_received_ps"]
    arrived: dict[int, list[tuple[Any, ...]]] = {}
    for row in run.flows.filter(wanted).sort(["received_ps", "id"]).select(fields).iter_rows():
        arrived.setdefault(row[2], []).append(row)
    host, until = last["host"][0], end
    path: list[list[Any]] = []
    while True:
        there = arrived.get(host, [])
        at = bisect_right(there, until, key=lambda row: row[5])
        start = starts.get(host, begin)
        had = max(there[at - 1][5], start) if at else start
        if path:
            path[-1][-1] = until - had
        if not at or (path and had == start):
            break
        flow, src, dst, size, start, received, ideal = there[at - 1]
        path.append([flow, src, dst, size, start, received, received - start, ideal, 0])
        host, until = src, start
    return pl.DataFrame(path[::-1], schema=dict.fromkeys(COLUMNS, pl.UInt64), orient="row")
