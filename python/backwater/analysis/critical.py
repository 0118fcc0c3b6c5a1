"""Critical paths: the sends and links that delayed a collective or a whole workload.

A path goes back from the event that ended last. Each step goes to the latest event that the current
one waited for. The path begins at a rank that waited only for its own start.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from backwater import workloads
from backwater._base.lazy import pl
from backwater._base.units import some_text
from backwater.analysis import blame
from backwater.errors import InputError
from backwater.results.files import RunFiles

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
"""Columns of a path.

They are the message as a flow, its hosts, and the times when it was sent and received. Further
columns are its duration, its duration without other traffic, and the time from the sender's last
dependency to the send.
"""

STEPS = ("rank", "index", "kind", "peer", "bytes", "instance", "start_ps", "end_ps", "spent_ps")
"""Columns of the path of a workload: operations, and their share of the whole time."""

_ALONE = ("nic_sending", "propagation", "serialisation")
"""Parts of a flow's time that it also has without other traffic."""


def chosen(
    run: RunFiles,
    workload: str | None = None,
    instance: int | None = None,
    group: str | None = None,
    kind: str | None = None,
) -> pl.DataFrame:
    """Return the rows of collectives, filtered by workload, number, group and kind.

    ``group`` is the group's name, its number, or ``all`` for all ranks. Raises
    :class:`~backwater.errors.InputError` if no such collective has ended.
    """
    table = run.table("collectives")
    if workload is not None:
        names = run.table("ranks")["workload"].cast(str).unique(maintain_order=True).to_list()
        if workload not in names:
            raise InputError(
                f"{run.path}: there is no workload {workload}; there are {', '.join(names)}"
            )
        table = table.filter(workload=workload)
    if group is not None:
        groups = (group_words(row) for row in table.unique("group", maintain_order=True).to_dicts())
        wanted = _of_group(table, group)
        table = _kept(run, table, wanted, f"of the group {group}", "there are", groups)
    if kind is not None:
        kinds = table["kind"].cast(pl.String)
        there = kinds.unique().sort()
        table = _kept(run, table, kinds == kind, f"of the kind {kind}", "there are", there)
    if instance is not None:
        number = pl.col("instance") == instance
        last = [str(table["instance"].max())]
        words = f"with the number {instance}"
        table = _kept(run, table, number, words, "numbers are 0 to", last)
    return table


_NAMED = 12
"""Maximum number of groups and kinds in a message."""


def _kept(
    run: RunFiles,
    table: pl.DataFrame,
    wanted: pl.Expr | pl.Series,
    words: str,
    there_are: str,
    there: Iterable[str],
) -> pl.DataFrame:
    kept = table.filter(wanted)
    if not kept.height:
        names = list(there) if table.height else []
        known = f"; {there_are} {some_text(names, _NAMED)}" if names else ""
        raise InputError(f"{run.path}: no collective {words} has ended{known}")
    return kept


def _of_group(table: pl.DataFrame, group: str) -> pl.Expr:
    """Return a filter for the collectives of a group, given by its name or number."""
    if group == "all":
        return pl.col("group").is_null()
    if "group_name" in table.columns:
        named = pl.col("group_name").cast(pl.String) == group
        if table.select(named.any()).item():
            return named
    return pl.col("group") == int(group) if group.isdecimal() else pl.lit(False)


def slowest_first(table: pl.DataFrame) -> pl.DataFrame:
    """Return collectives sorted by duration, the longest first."""
    took = pl.col("end_ps") - pl.col("start_ps")
    return table.sort(took, descending=True, maintain_order=True)


def longest(table: pl.DataFrame) -> dict[str, Any] | None:
    """Return the row of the longest collective; None if the table is empty."""
    first = slowest_first(table).head(1)
    return first.row(0, named=True) if first.height else None


def ranks_of(run: RunFiles, workload: str) -> dict[int, int]:
    """Return the rank of each host in a workload. A host may also have ranks of other workloads."""
    return dict(run.table("ranks").filter(workload=workload).select("host", "rank").iter_rows())


def group_words(collective: Mapping[str, Any]) -> str:
    """Return the label of the ranks of a collective: the name of their group, or all ranks."""
    if collective["group"] is None:
        return "all ranks"
    # Tables of earlier versions have no names.
    name = collective.get("group_name")
    return f"group {collective['group'] if name is None else name}"


def messages(run: RunFiles, workload: str) -> pl.DataFrame:
    """Return the messages of a workload as flows, with the columns that critical paths need."""
    about = ["id", "src", "dst", "bytes"]
    times = ["start_ps", "received_ps", "ideal_received_ps", "acked_ps"]
    return run.select_flows([*about, *times], pl.col("source") == workload)


def critical_path(
    run: RunFiles, collective: dict[str, Any], sent: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the messages on the critical path of a collective, first to last.

    The last message is the one that the last rank of the collective received. If the collective
    ended with an ACK, it is the message that this rank sent. ``collective`` is a row of the table
    ``collectives``. ``sent`` is :func:`messages` of its workload, which saves time for many paths.
    Raises :class:`~backwater.errors.InputError` if the run has no such workload.
    """
    last = run.table("ranks").filter(workload=collective["workload"], rank=collective["last_rank"])
    if not last.height:
        raise InputError(f"{run.path}: there is no workload {collective['workload']}")
    begin, end = collective["start_ps"], collective["end_ps"]
    starts = dict(_parts(run, collective).select("host", "start_ps").iter_rows())
    members = list(starts)
    ends = pl.col("src").is_in(members), pl.col("dst").is_in(members)
    # With PXN, other ranks of a server forward messages.
    among = (
        ends[0] | ends[1]
        if _declared(run.resolved, collective["workload"]).get("pxn")
        else ends[0] & ends[1]
    )
    if sent is None:
        sent = messages(run, collective["workload"])
    wanted = among & (pl.col("start_ps") >= begin) & (pl.col("received_ps") <= end)
    arrived: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    kept = sent.filter(wanted).sort(["received_ps", "id"])
    for row in kept.drop("acked_ps").iter_rows():
        arrived[row[2]].append(row)
    host, until = last["host"][0], end
    path: list[list[Any]] = []
    # The collective may have ended with an ACK, half a round trip after the message arrived.
    own = kept.filter(src=host, acked_ps=end).sort("start_ps").head(1)
    if own.height:
        flow, src, dst, size, start, received, ideal, _ = own.row(0)
        path.append([flow, src, dst, size, start, received, received - start, ideal, 0])
        until = start
    while True:
        there = arrived[host]
        at = bisect_right(there, until, key=lambda row: row[5])
        arrival = there[at - 1][5] if at else 0
        start = starts.get(host, begin)
        if start > until:  # The rank forwards a message before it starts its own part.
            start = 0
        if path:
            path[-1][-1] = until - max(arrival, start)
        if not at or (path and arrival <= start):
            break
        flow, src, dst, size, start, received, ideal = there[at - 1]
        path.append([flow, src, dst, size, start, received, received - start, ideal, 0])
        host, until = src, start
    return pl.DataFrame(path[::-1], schema=dict.fromkeys(COLUMNS, pl.Int64), orient="row")


def latest(path: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return the messages of a path with the largest delay, the largest first.

    ``late_ps`` is the duration beyond the duration without other traffic. At most ``count``
    messages are returned.
    """
    late_ps = pl.col("took_ps").cast(pl.Int64) - pl.col("ideal_ps").cast(pl.Int64)
    by_delay = path.with_columns(late_ps=late_ps).sort(
        ["late_ps", "flow"], descending=[True, False]
    )
    return by_delay.head(count)


@cache
def _declared(resolved: str, workload: str) -> dict[str, Any]:
    """Return the table ``[[workload]]`` with a name in a resolved scenario, or an empty dict."""
    workloads = tomllib.loads(resolved).get("workload", [])
    return next((found for found in workloads if found["name"] == workload), {})


def _parts(run: RunFiles, collective: dict[str, Any]) -> pl.DataFrame:
    """Return the operations that form a collective, one per rank.

    Their kinds may differ if ranks count collectives in the order of their starts. If a file
    composes the collective of several operations, the first operation of each rank is returned.
    """
    mine = run.table("operations").filter(workload=collective["workload"])
    if collective.get("composed"):
        parts = mine.filter(part_of=collective["instance"])
        return parts.sort("start_ps", "index").unique("rank", keep="first", maintain_order=True)
    same = pl.col("group").eq_missing(pl.lit(collective["group"], pl.UInt32))
    return mine.filter(same, instance=collective["instance"])


def links(run: RunFiles, sends: pl.DataFrame) -> pl.DataFrame:
    """Return where the messages of a path lost time, the largest loss first.

    There is one row per port and part of the delay breakdown. ``port`` is ``node -> peer``, and
    ``part`` is as in ``run.blame``. ``sends`` is the number of messages that lost time there, and
    ``late_ps`` is the sum of this time. Parts that a message has without other traffic are left
    out. Raises :class:`~backwater.errors.InputError` if the run has no breakdown (``[record]
    blame``).
    """
    blame.require(run)
    return (
        run.table("blame_hops")
        .with_columns(pl.col("part").cast(pl.String))
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


def _ports(run: RunFiles) -> pl.DataFrame:
    ends = [pl.col(end).cast(pl.String) for end in ("name", "peer_name")]
    return run.table("ports").select(
        "node", "port", pl.concat_str(ends, separator=" -> ").alias("port_name")
    )


def behind_own(run: RunFiles, sends: pl.DataFrame) -> dict[int, int]:
    """Return by flow how long, in ps, a message waited for earlier ones of its queue pair."""
    blame.require(run)
    mine = _queued(run).filter(pl.col("flow").is_in(sends["flow"].cast(pl.UInt32).to_list()))
    return dict(mine.iter_rows())


def _queued(run: RunFiles) -> pl.DataFrame:
    """Return the time of each message behind earlier messages of its queue pair, if it waited."""
    waits = run.table("blame_hops").filter(pl.col("part").cast(pl.String) == "nic_pair")
    return waits.select("flow", queued_ps="spent_ps")


def shared(run: RunFiles, sends: pl.DataFrame) -> pl.DataFrame:
    """Return, for each message, the link that it shared with the most bytes of other flows.

    There is one row per message whose path met other flows: ``flow`` and ``port`` (``node ->
    peer``). ``others`` is the number of flows in flight on that link at the same time, and
    ``bytes`` is the sum of their sizes. Links of hosts are included. A message is in flight from
    its turn in its queue pair on, and messages of its own queue pair do not count. The paths need
    ``[record] blame``.
    """
    blame.require(run)
    numbers = sends["flow"].cast(pl.UInt32)
    paths = run.table("blame_hops").select("flow", "node", "port").unique()
    own = paths.filter(pl.col("flow").is_in(numbers.to_list()))
    about = ["id", "src", "dst", "bytes", "start_ps", "received_ps"]
    flows = run.select_flows(about).rename({"id": "flow"})
    times = flows.join(_queued(run), on="flow", how="left")
    times = times.with_columns(pl.col("queued_ps").fill_null(0))
    times = times.with_columns(begin_ps=pl.col("start_ps") + pl.col("queued_ps"))
    same_hosts = (pl.col("src") == pl.col("src_other")) & (pl.col("dst") == pl.col("dst_other"))
    is_first = pl.col("begin_ps") < pl.col("begin_ps_other")
    later_ps = pl.when(is_first).then("queued_ps_other").otherwise("queued_ps")
    others = paths.join(own.select("node", "port").unique(), on=["node", "port"], how="semi")
    return (
        own.join(times, on="flow")
        .join(others.join(times, on="flow"), on=["node", "port"], suffix="_other")
        .filter(
            (pl.col("flow") != pl.col("flow_other"))
            & (pl.col("begin_ps_other") < pl.col("received_ps"))
            & (pl.col("received_ps_other") > pl.col("begin_ps"))
            & ~(same_hosts & (later_ps > 0))
        )
        .group_by("flow", "node", "port")
        .agg(others=pl.len(), bytes=pl.col("bytes_other").sum())
        .join(_ports(run), on=["node", "port"])
        .sort(["flow", "bytes", "port_name"], descending=[False, True, False])
        .unique("flow", keep="first", maintain_order=True)
        .select("flow", pl.col("port_name").alias("port"), "others", "bytes")
    )


def repeats(run: RunFiles, workload: str) -> pl.DataFrame | None:
    """Return the times of a workload's repeats, or of the passes of its file.

    There is one row per ``repeat`` (from 0) in which at least one operation has ended.
    ``operations`` is the number of ended operations of all ranks, and ``whole`` is true if all have
    ended. ``start_ps`` and ``end_ps`` are the first start and the last end of an operation.

    ``took_ps`` is the time since the end of the previous repeat, or since the workload's start.
    Repeats overlap if ranks differ in their progress.

    The number of repeats is ``repeats`` in the scenario, or ``passes`` in the ``source`` of the
    file. None is returned if there is one repeat, or if the number is unknown.
    """
    lengths = _repeat_lengths(run, workload)
    if lengths is None:
        return None
    start_ps = run.table("ranks").filter(workload=workload)["start_ps"].min()
    # Time when this repeat and all previous ones have ended.
    over_ps = pl.col("end_ps").cum_max()
    return (
        _with_repeats(run.table("operations").filter(workload=workload), lengths)
        .group_by("repeat")
        .agg(
            pl.len().alias("operations"),
            (pl.len() == sum(lengths.values())).alias("whole"),
            pl.col("start_ps").min(),
            pl.col("end_ps").max(),
        )
        .sort("repeat")
        .with_columns(took_ps=over_ps - over_ps.shift(fill_value=start_ps))
    )


def of_repeat(run: RunFiles, collectives: pl.DataFrame, repeat: int) -> pl.DataFrame:
    """Return the given collectives that belong to one repeat of their workload, in their order."""
    numbered: set[tuple[str, int | None, int]] = set()
    composed: set[tuple[str, int | None]] = set()
    for name in run.table("ranks")["workload"].cast(str).unique(maintain_order=True):
        if lengths := _repeat_lengths(run, name):
            mine = run.table("operations").filter(workload=name)
            parts = _with_repeats(mine, lengths).filter(repeat=repeat).to_dicts()
            numbered |= {(name, part["group"], part["instance"]) for part in parts}
            composed |= {(name, part.get("part_of")) for part in parts}
    wanted = [
        (row["workload"], row["instance"]) in composed
        if row.get("composed")
        else (row["workload"], row["group"], row["instance"]) in numbered
        for row in collectives.iter_rows(named=True)
    ]
    return collectives.filter(wanted)


def _repeat_lengths(run: RunFiles, workload: str) -> dict[int, int] | None:
    """Return the number of operations per repeat for each rank with operations.

    None is returned if there is at most one repeat, or if the operations of a rank are not a
    multiple of the number of repeats.
    """
    declared = _declared(run.resolved, workload)
    count = declared.get("repeats") or _passes(declared.get("file"))
    if not count or count < 2:
        return None
    ranks = run.table("ranks").filter(workload=workload).select("rank", "operations")
    numbers = {rank: number for rank, number in ranks.iter_rows() if number}
    if not numbers or any(number % count for number in numbers.values()):
        return None
    return {rank: number // count for rank, number in numbers.items()}


def _with_repeats(operations: pl.DataFrame, lengths: Mapping[int, int]) -> pl.DataFrame:
    """Add the column ``repeat`` to the operations of a workload."""
    length = pl.col("rank").replace_strict(lengths, return_dtype=pl.UInt32)
    return operations.with_columns(repeat=pl.col("index") // length)


def _passes(path: str | None) -> int | None:
    """Return how often ranks execute the operations of a file; None if this is unknown."""
    if path is None:
        return None
    try:
        passes = workloads.header(path).get("source", {}).get("passes")
    except InputError:  # The file was removed after the run.
        return None
    return passes if isinstance(passes, int) else None


def steps(run: RunFiles, workload: str, repeat: int | None = None) -> pl.DataFrame:
    """Return the operations on the critical path of a workload, first to last.

    ``spent_ps`` of all rows adds up to the time from the workload's start to the last end. The time
    of an operation begins with its own start, with two exceptions. The time of a receive that
    waited begins with the start of its send. The time of a collective begins with the start of the
    rank where its critical path begins.

    If ``repeat`` is given, only the operations of this repeat are returned. Raises
    :class:`~backwater.errors.InputError` if no operation of the workload or repeat has ended.
    """
    mine = run.table("operations").filter(workload=workload)
    if not mine.height:
        raise InputError(f"{run.path}: no operation of a workload {workload} has ended")
    place = {key: at for at, key in enumerate(mine.select("rank", "index").iter_rows())}
    last = mine.with_row_index("at").sort(
        ["end_ps", "rank", "index"], descending=[True, False, False]
    )
    lengths: Mapping[int, int] = {}
    if repeat is not None:
        found = _repeat_lengths(run, workload)
        if found is None:
            raise InputError(f"{run.path}: the workload {workload} has no repeats to choose from")
        lengths = found
        last = _with_repeats(last, lengths).filter(pl.col("repeat") == repeat)
        if not last.height:
            raise InputError(f"{run.path}: nothing of repeat {repeat} of {workload} has ended")
    at: int | None = last["at"][0]
    until = last["end_ps"][0]
    sent = messages(run, workload)
    path: list[tuple[Any, ...]] = []
    while at is not None:
        row = mine.row(at, named=True)
        if repeat is not None and row["index"] // lengths[row["rank"]] < repeat:
            break
        first = _first(run, mine, row, place, sent)
        at = place.get((first["rank"], first["released_by"]))
        began = min(first["start_ps"], until)
        if at is None:  # The rank waited only for the start of the workload.
            ranks = run.table("ranks").filter(workload=workload, rank=first["rank"])
            began = ranks["start_ps"][0]
        path.append((*(row[name] for name in STEPS[:-1]), until - began))
        until = began
    types = dict.fromkeys(STEPS, pl.Int64) | {"kind": pl.String()}
    return pl.DataFrame(path[::-1], schema=types, orient="row")


def _first(
    run: RunFiles,
    mine: pl.DataFrame,
    row: dict[str, Any],
    place: dict[tuple[int, int], int],
    sent: pl.DataFrame,
) -> dict[str, Any]:
    """Return the operation at whose start the time of ``row`` on a critical path begins.

    For a receive that waited, it is the send. For a collective, it is the part of the rank where
    the critical path of the collective begins. Otherwise it is ``row`` itself.
    """
    if row["instance"] is not None:
        begin_ps = _parts(run, row)["start_ps"].min()
        whole = row | {"last_rank": row["rank"], "start_ps": begin_ps}
        sends = critical_path(run, whole, sent)
        if sends.height:
            parts = _parts(run, row).filter(host=sends["src"][0])
            if parts.height:
                return parts.sort("start_ps", descending=True).row(0, named=True)
    elif row["kind"] == "recv" and row["end_ps"] > row["start_ps"]:
        sender = place.get((row["ended_by_rank"], row["ended_by_index"]))
        if sender is not None:
            return mine.row(sender, named=True)
    return row
