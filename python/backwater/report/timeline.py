"""Exports a run as a trace for Perfetto, in the JSON of Chrome's trace events.

Each node is a process. A host has its flows, each from its start to its last byte at the receiver.
Overlapping flows are in separate lanes. A port that PFC paused has a thread of pauses. A switch has
a counter of its buffer. Port queues and link utilisation are counters, if they were recorded. Ranks
and collectives of workloads are processes too.

Times in the file (`ts`, `dur`) are microseconds. Perfetto keeps nanoseconds.
"""

from __future__ import annotations

import gzip
import heapq
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backwater._base.files import whole
from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.analysis.critical import group_words
from backwater.errors import InputError
from backwater.results.files import RunFiles

LIMIT = 500_000
"""Default limit for the number of events. Perfetto opens such a trace within seconds."""

Event = dict[str, Any]

_SHOWN = (
    *("index", "peer", "instance", "part_of"),
    *("bytes", "ranks", "last_rank", "bus_bps", "bound_bps"),
)
"""Columns that Perfetto shows when an operation or a collective is selected."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Written:
    """Facts about a written trace."""

    path: Path
    events: int
    cut_ps: int | None
    """End of the trace if the limit of events cut it; None: the trace is complete."""


@dataclass(frozen=True)
class _Part:
    """A table whose rows begin at a time, and the function that turns them into events."""

    table: pl.DataFrame
    begin: str
    events: Callable[[pl.DataFrame], Iterator[Event]]


def write(
    run: RunFiles,
    path: Path,
    window: tuple[int | None, int | None] = (None, None),
    limit: int = LIMIT,
) -> Written:
    """Write the trace of a run to ``path``, which is compressed if the name ends in ``.gz``.

    The trace has the events that begin within ``window`` (begin and end in ps). If these are more
    than ``limit`` events, the trace ends earlier. Raises ``InputError`` if the window is empty, and
    ``RunError`` if the file cannot be written.
    """
    end_ps = int(run.summary["end_ps"])
    low = window[0] or 0
    high = end_ps + 1 if window[1] is None else min(window[1], end_ps + 1)
    if low >= high:
        raise InputError(
            f"nothing is between {time_text(low)} and {time_text(window[1] or end_ps)}: "
            f"the run goes from 0 to {time_text(end_ps)}"
        )
    if limit < 1:
        raise InputError(f"a trace of {limit} events holds nothing; use at least 1")
    tracks = _Tracks(run)
    parts = [_within(part, low, high) for part in _parts(run, tracks)]
    cut = _cut(parts, limit)
    if cut is not None:
        parts = [_within(part, low, cut) for part in parts]
    events = 0
    with _opened(path) as file:
        file.write('{"displayTimeUnit":"ns","otherData":')
        about = {"scenario": run.name, "scheme": run.scheme, "digest": run.digest}
        file.write(_ENCODE(about) + ',"traceEvents":[\n')
        for part in parts:
            for event in part.events(part.table):
                file.write(_ENCODE(event) + ",\n")
                events += 1
        file.write(",\n".join(map(_ENCODE, tracks.names())) + "\n]}\n")
    return Written(path, events, cut)


def _within(part: _Part, low: int, high: int) -> _Part:
    begin = pl.col(part.begin)
    return _Part(part.table.filter((begin >= low) & (begin < high)), part.begin, part.events)


def _cut(parts: list[_Part], limit: int) -> int | None:
    """Return the time from which events exceed the limit; None if all fit."""
    if sum(part.table.height for part in parts) <= limit:
        return None
    begins = pl.concat([part.table[part.begin].cast(pl.UInt64) for part in parts]).sort()
    # The events at the first time are always written, even if they exceed the limit.
    return max(int(begins[limit]), int(begins[0]) + 1)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a text file that gets its final name when it is complete; compress it for ``.gz``."""
    with whole(path) as part:
        if path.suffix == ".gz":
            # Without a name and a time in the header, equal runs give equal files.
            with (
                open(part, "wb") as raw,
                gzip.GzipFile("", "wb", 3, raw, mtime=0) as packed,
                io.TextIOWrapper(packed, encoding="utf-8") as text,
            ):
                yield text
        else:
            with open(part, "w", encoding="utf-8") as text:
                yield text


# --- Tracks: processes and their threads -------------------------------------------------------

_PORTS, _RANKS, _COLLECTIVES = 100_000, 2_000_000_000, 2_100_000_000


@dataclass
class _Tracks:
    """Numbers and names of processes and threads, which are added on first use."""

    run: RunFiles
    _named: dict[tuple[int, int | None], list[Event]] = field(default_factory=dict)

    def process(self, pid: int, name: str) -> int:
        """Name a process. Processes are sorted by number."""
        self._name(pid, None, "process", name, pid)
        return pid

    def thread(self, pid: int, tid: int, name: str) -> int:
        """Name a thread of a process. Threads are sorted by number."""
        self._name(pid, tid, "thread", name, tid)
        return tid

    def _name(self, pid: int, tid: int | None, kind: str, name: str, order: int) -> None:
        if (pid, tid) not in self._named:
            at = {"ph": "M", "pid": pid} | ({} if tid is None else {"tid": tid})
            self._named[pid, tid] = [
                {**at, "name": f"{kind}_name", "args": {"name": name}},
                {**at, "name": f"{kind}_sort_index", "args": {"sort_index": order}},
            ]

    def names(self) -> Iterator[Event]:
        """Yield the events that name processes and threads."""
        for events in self._named.values():
            yield from events


class _Lanes:
    """Assigns intervals, which arrive in order of their begin, to lanes without overlap."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._busy: list[tuple[int, int]] = []
        self._lanes = 0

    def take(self, begin: int, end: int) -> int:
        """Return the lowest lane that is free from ``begin`` on."""
        while self._busy and self._busy[0][0] <= begin:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane = self._lanes
            self._lanes += 1
        heapq.heappush(self._busy, (end, lane))
        return lane


def _slice(pid: int, tid: int, name: str, begin: int, end: int, args: Event) -> Event:
    times = {"ts": begin / 1e6, "dur": (end - begin) / 1e6}
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, **times, "args": args}


def _counter(pid: int, name: str, at: int, value: float, unit: str = "bytes") -> Event:
    return {"ph": "C", "pid": pid, "name": name, "ts": at / 1e6, "args": {unit: value}}


# --- What a run left, table by table -----------------------------------------------------------


def _parts(run: RunFiles, tracks: _Tracks) -> Iterator[_Part]:
    yield _operations(run, tracks, "operations")
    yield _operations(run, tracks, "collectives")
    yield _flows(run, tracks)
    yield _pauses(run, tracks)
    yield _buffers(run, tracks)
    yield _queues(run, tracks)
    yield _utilisation(run, tracks)


def _empty() -> _Part:
    """Return an empty part for a table that was not recorded."""
    return _Part(pl.DataFrame(schema={"at_ps": pl.UInt64}), "at_ps", lambda _: iter(()))


def _flows(run: RunFiles, tracks: _Tracks) -> _Part:
    end_ps = run.summary["end_ps"]
    names = dict(
        zip(run.table("ports")["node"].to_list(), run.table("ports")["name"].to_list(), strict=True)
    )

    def events(table: pl.DataFrame) -> Iterator[Event]:
        lanes: dict[int, _Lanes] = {}
        for row in table.sort("start_ps", "id").iter_rows(named=True):
            begin, end = row["start_ps"], row["received_ps"]
            args = {
                "flow": row["id"],
                "traffic": row["source"],
                "bytes": row["bytes"],
                "slowdown": row["slowdown"],
                "retransmitted": row["retransmitted"],
            }
            if end is None:
                end, args["unfinished"] = max(end_ps, begin), True
            src = row["src"]
            pid = tracks.process(src + 1, names.get(src, f"host {src}"))
            lane = lanes.setdefault(src, _Lanes()).take(begin, end)
            tid = tracks.thread(pid, lane + 1, f"flows, lane {lane + 1}")
            to = names.get(row["dst"], f"host {row['dst']}")
            yield _slice(pid, tid, f"→ {to} {bytes_text(row['bytes'])}", begin, end, args)

    columns = ["id", "source", "src", "dst", "bytes", "start_ps", "received_ps", "slowdown"]
    return _Part(run.table("flows").select(*columns, "retransmitted"), "start_ps", events)


def _pauses(run: RunFiles, tracks: _Tracks) -> _Part:
    ports = {
        (row["node"], row["port"]): (row["name"], row["peer_name"])
        for row in run.table("ports")
        .select("node", "port", "name", "peer_name")
        .iter_rows(named=True)
    }
    keys = ["node", "port", "class", "number"]
    table = run.table("pauses")
    if (run.path / "pause_causes.parquet").exists():
        causes = run.table("pause_causes").select(
            "root_name", "root_peer_name", "depth", "class", "number", node="peer", port="peer_port"
        )
        table = table.join(causes, on=keys, how="left", maintain_order="left")

    def events(table: pl.DataFrame) -> Iterator[Event]:
        for row in table.iter_rows(named=True):
            name, peer = ports[row["node"], row["port"]]
            pid = tracks.process(row["node"] + 1, name)
            tid = _PORTS + row["port"] * 8 + row["class"]
            tracks.thread(pid, tid, f"→ {peer}: paused, class {row['class']}")
            args: Event = {"open": True} if row["open"] else {}
            words = "paused by PFC"
            if row.get("root_name") is not None:
                words = f"paused for {row['root_name']} → {row['root_peer_name']}"
                args["depth"] = row["depth"]
            yield _slice(pid, tid, words, row["from_ps"], row["to_ps"], args)

    return _Part(table, "from_ps", events)


def _buffers(run: RunFiles, tracks: _Tracks) -> _Part:
    table = run.table("queues").sort("node", "at_ps")
    # A value holds until the next one. Several probes of an empty network share a row.
    changed = (pl.col("used_bytes") != pl.col("used_bytes").shift(1).over("node")).fill_null(True)
    table = table.filter(changed)
    began = "from_ps" if "from_ps" in table.columns else "at_ps"

    def events(table: pl.DataFrame) -> Iterator[Event]:
        for row in table.iter_rows(named=True):
            pid = tracks.process(row["node"] + 1, row["name"])
            yield _counter(pid, "buffer", row[began], row["used_bytes"])

    return _Part(table, began, events)


def _queues(run: RunFiles, tracks: _Tracks) -> _Part:
    """Return the counters of port queues; an empty part if they were not recorded."""

    def events(table: pl.DataFrame) -> Iterator[Event]:
        for row in table.iter_rows(named=True):
            pid = tracks.process(row["node"] + 1, row["name"])
            yield _counter(pid, f"queue → {row['peer_name']}", row["at_ps"], row["bytes"])

    if (run.path / "port_queues.parquet").exists():
        return _Part(run.table("port_queues"), "at_ps", events)
    return _empty()


def _utilisation(run: RunFiles, tracks: _Tracks) -> _Part:
    """Return the counters of link utilisation; an empty part if it was not recorded.

    Intervals without a row in the table are idle.
    """

    def events(table: pl.DataFrame) -> Iterator[Event]:
        for row in table.iter_rows(named=True):
            pid = tracks.process(row["node"] + 1, row["name"])
            name = f"link → {row['peer_name']}"
            yield _counter(pid, name, row["from_ps"], round(100 * row["share"], 2), "%")

    if not (run.path / "utilisation.parquet").exists():
        return _empty()
    every = run.interval_ps("utilisation")
    link = ["node", "name", "port", "peer_name"]
    busy = run.table("utilisation").select(
        *link, "at_ps", from_ps=pl.col("at_ps") - every, share=pl.col("busy_ps") / every
    )
    last = pl.col("at_ps") != pl.col("from_ps").shift(-1).over("node", "port", order_by="at_ps")
    idle = busy.filter(last.fill_null(True)).with_columns(from_ps="at_ps", share=pl.lit(0.0))
    return _Part(pl.concat([busy, idle]).sort("node", "port", "from_ps"), "from_ps", events)


def _operations(run: RunFiles, tracks: _Tracks, name: str) -> _Part:
    """Return the operations of ranks, or the collectives of groups; empty without a workload.

    ``name`` is the table: ``operations`` or ``collectives``.
    """
    path = run.path / f"{name}.parquet"
    owner, first = ("rank", _RANKS) if name == "operations" else ("group", _COLLECTIVES)

    def events(table: pl.DataFrame) -> Iterator[Event]:
        lanes: dict[tuple[int, int], _Lanes] = {}
        workloads: dict[str, int] = {}
        for row in table.sort("start_ps", maintain_order=True).iter_rows(named=True):
            number = workloads.setdefault(str(row["workload"]), len(workloads))
            pid = tracks.process(first + number, f"{row['workload']}: {name}")
            of = -1 if row[owner] is None else int(row[owner])
            lane = lanes.setdefault((number, of), _Lanes()).take(row["start_ps"], row["end_ps"])
            words = f"rank {of}" if owner == "rank" else group_words(row)
            if lane:
                words += f", lane {lane + 1}"
            tid = tracks.thread(pid, (of + 1) * 1000 + lane + 1, words)
            args = {key: row[key] for key in _SHOWN if row.get(key) is not None}
            yield _slice(pid, tid, row["kind"], row["start_ps"], row["end_ps"], args)

    if not path.exists():
        return _empty()
    return _Part(run.table(name), "start_ps", events)
