"""Critical paths: which sends, on which links, made a collective or a whole workload late.

A path goes back from what ended last, always over what was waited for last, up to a rank that had
nothing to wait for but its own start.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from functools import cache
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

STEPS = ("rank", "index", "kind", "peer", "bytes", "instance", "start_ps", "end_ps", "spent_ps")
"""Columns of the path of a workload: operations, and how much of the whole time is theirs."""

_ALONE = ("nic_sending", "propagation", "serialisation")
"""Parts of a flow's time that it has alone in the network, too."""


def slowest(run: Run) -> dict[str, Any] | None:
    """Return the row of the collective that took longest; nothing where none has ended."""
    return chosen(run, None, None)


def chosen(run: Run, workload: str | None, instance: int | None) -> dict[str, Any] | None:
    """Return the row of a collective: the slowest one, of a workload or with an instance number.

    Raises :class:`~backwater.errors.RunError` where there is no such workload or instance.
    """
    import polars as pl

    table = run.collectives
    if workload is not None:
        table = table.filter(pl.col("workload").cast(pl.String) == workload)
        if not table.height and workload not in run.ranks["workload"].cast(pl.String):
            raise RunError(f"{run.path}: there is no workload {workload}")
    if instance is not None:
        table = table.filter(pl.col("instance") == instance)
        if not table.height:
            raise RunError(f"{run.path}: no collective with the number {instance} has ended")
    took = pl.col("end_ps") - pl.col("start_ps")
    longest = table.sort(took, descending=True, maintain_order=True).head(1)
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
    starts = dict(_parts(run, collective).select("host", "start_ps").iter_rows())
    members = list(starts)
    ends = pl.col("src").is_in(members), pl.col("dst").is_in(members)
    # With PXN other ranks of a server pass messages on.
    among = (
        ends[0] | ends[1]
        if _has_relays(run.resolved, collective["workload"])
        else ends[0] & ends[1]
    )
    wanted = (
        (pl.col("source") == collective["workload"])
        & among
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
        arrival = there[at - 1][5] if at else 0
        start = starts.get(host, begin)
        if start > until:  # It passes a message on, and starts its own part later.
            start = 0
        if path:
            path[-1][-1] = until - max(arrival, start)
        if not at or (path and arrival <= start):
            break
        flow, src, dst, size, start, received, ideal = there[at - 1]
        path.append([flow, src, dst, size, start, received, received - start, ideal, 0])
        host, until = src, start
    return pl.DataFrame(path[::-1], schema=dict.fromkeys(COLUMNS, pl.UInt64), orient="row")


@cache
def _has_relays(resolved: str, workload: str) -> bool:
    """Whether ranks of a workload send over others of their server, whose NIC is on the rail."""
    workloads = tomllib.loads(resolved).get("workload", [])
    return any(found["name"] == workload and found["pxn"] for found in workloads)


def _parts(run: Run, collective: dict[str, Any]) -> polars.DataFrame:
    """Return the operations of ranks that are a collective, by its number in its group.

    Their kinds may differ, where ranks count as they start them.
    """
    import polars as pl

    same = pl.col("group").eq_missing(pl.lit(collective["group"], pl.UInt32))
    return run.operations.filter(
        (pl.col("workload") == collective["workload"])
        & (pl.col("instance") == collective["instance"])
        & same
    )


def links(run: Run, sends: polars.DataFrame) -> polars.DataFrame:
    """Return where the messages of a path lost time, the worst first.

    A row per port and part of the account of flows: ``port`` (``node -> peer``), ``part`` (as in
    ``run.blame``), ``sends`` (how many messages lost time there) and ``late_ps``, the sum. What a
    message takes alone in the network is left out. Raises
    :class:`~backwater.errors.RunError` where the run has no account (``[record] blame``).
    """
    import polars as pl

    from backwater import blame

    blame.require(run)
    return (
        run.blame_hops.with_columns(pl.col("part").cast(pl.String))
        .filter(
            pl.col("flow").is_in(sends["flow"].cast(pl.UInt32).to_list())
            & ~pl.col("part").is_in(_ALONE)
            & (pl.col("spent_ps") > 0)
        )
        .group_by("node", "port", "part")
        .agg(sends=pl.col("flow").n_unique(), late_ps=pl.col("spent_ps").sum())
        .join(_ports(run), on=["node", "port"])
        .sort(["late_ps", "port_name", "part"], descending=[True, False, False])
        .select(pl.col("port_name").alias("port"), "part", "sends", "late_ps")
    )


def _ports(run: Run) -> polars.DataFrame:
    import polars as pl

    ends = [pl.col(end).cast(pl.String) for end in ("name", "peer_name")]
    return run.ports.select(
        "node", "port", pl.concat_str(ends, separator=" -> ").alias("port_name")
    )


def shared(run: Run, sends: polars.DataFrame) -> polars.DataFrame:
    """Return the link of each message that most bytes of other flows shared with it.

    A row per message whose path met other flows: ``flow``, ``port`` (``node -> peer``), ``others``
    (flows that were under way by that link while the message was) and ``bytes``, their sizes. The
    hosts' own links are among them. Needs ``[record] blame``, which has the paths.
    """
    import polars as pl

    from backwater import blame

    blame.require(run)
    numbers = sends["flow"].cast(pl.UInt32)
    paths = run.blame_hops.select("flow", "node", "port").unique()
    own = paths.filter(pl.col("flow").is_in(numbers.to_list()))
    times = run.flows.select(pl.col("id").alias("flow"), "bytes", "start_ps", "received_ps")
    others = paths.join(own.select("node", "port").unique(), on=["node", "port"], how="semi")
    met = (
        own.join(times, on="flow")
        .join(others.join(times, on="flow"), on=["node", "port"], suffix="_other")
        .filter(
            (pl.col("flow") != pl.col("flow_other"))
            & (pl.col("start_ps_other") < pl.col("received_ps"))
            & (pl.col("received_ps_other") > pl.col("start_ps"))
        )
        .group_by("flow", "node", "port")
        .agg(others=pl.len(), bytes=pl.col("bytes_other").sum())
        .join(_ports(run), on=["node", "port"])
        .sort(["flow", "bytes", "port_name"], descending=[False, True, False])
    )
    return met.group_by("flow", maintain_order=True).agg(
        port=pl.col("port_name").first(),
        others=pl.col("others").first(),
        bytes=pl.col("bytes").first(),
    )


def steps(run: Run, workload: str) -> polars.DataFrame:
    """Return the operations that followed each other up to the end of a workload, first to last.

    ``spent_ps`` of all rows adds up to the time from the workload's start to the last end. A
    receive that waited accounts for the time from the start of its send on, a collective from the
    start of the rank at which its own critical path begins; others from their own start on. Raises
    :class:`~backwater.errors.RunError` where nothing of such a workload has ended.
    """
    import polars as pl

    mine = run.operations.filter(pl.col("workload").cast(pl.String) == workload)
    if not mine.height:
        raise RunError(f"{run.path}: no operation of a workload {workload} has ended")
    place = {key: at for at, key in enumerate(mine.select("rank", "index").iter_rows())}
    last = mine.with_row_index("at").sort(
        ["end_ps", "rank", "index"], descending=[True, False, False]
    )
    at: int | None = last["at"][0]
    until = last["end_ps"][0]
    path: list[tuple[Any, ...]] = []
    while at is not None:
        row = mine.row(at, named=True)
        first = _first(run, mine, row, place)
        at = place.get((first["rank"], first["released_by"]))
        began = min(first["start_ps"], until) if at is not None else _start(run, first)
        path.append((*(row[name] for name in STEPS[:-1]), until - began))
        until = began
    types = dict.fromkeys(STEPS, pl.UInt64) | {"kind": pl.String()}
    return pl.DataFrame(path[::-1], schema=types, orient="row")


def _first(
    run: Run, mine: polars.DataFrame, row: dict[str, Any], place: dict[tuple[int, int], int]
) -> dict[str, Any]:
    """Return the operation with which the time begins that one accounts for."""
    if row["instance"] is not None:
        sends = critical_path(run, row | {"last_rank": row["rank"]} | _begin(run, row))
        if sends.height:
            parts = _parts(run, row).filter(host=sends["src"][0])
            if parts.height:
                return parts.sort("start_ps", descending=True).row(0, named=True)
    elif row["kind"] == "recv" and row["end_ps"] > row["start_ps"]:
        sender = place.get((row["ended_by_rank"], row["ended_by_index"]))
        if sender is not None:
            return mine.row(sender, named=True)
    return row


def _begin(run: Run, row: dict[str, Any]) -> dict[str, Any]:
    """Return when the first rank started the collective that an operation is part of."""
    return {"start_ps": _parts(run, row)["start_ps"].min()}


def _start(run: Run, row: dict[str, Any]) -> int:
    """Return when the workload of an operation started."""
    ranks = run.ranks.filter(workload=row["workload"], rank=row["rank"])
    return int(ranks["start_ps"][0])
