"""Figures of workloads: activity of ranks over time, and bandwidth of collectives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.analysis import blame, critical
from backwater.plots.charts import Axis, Chart, Line, Panel, Table, View
from backwater.plots.curves import Array, Runs, divided
from backwater.results.files import RunFiles

LANES = 64
"""Maximum number of ranks of a workload that a timeline shows."""

LAST = 16
"""Number of shown ranks that ended last, if not all are shown. The others are evenly spaced."""

BARS = 4000
"""Maximum number of intervals in the timeline of a workload."""

SLICES = (2000, 1000, 500, 250, 125, BARS // LANES)
"""Numbers of equal time slices, tried in this order if a timeline has too many intervals.

Each slice shows the state that takes most of its time.
"""

KINDS = 10
"""Maximum number of kinds of collectives in the figure of bus bandwidth."""

ROWS = 200
"""Maximum number of rows per scheme in the table of bus bandwidths."""

STATES = {"computing": "#3d6fa8", "exposed communication": "#e58a2b", "idle": "#e4e8ed"}
"""States of a rank with their colours (RNK-11: a computing rank counts as computing)."""


def has_ranks(run: RunFiles) -> bool:
    """Return true if a run has a workload."""
    return bool(run.summary.get("workloads"))


def charts(runs: Runs) -> list[Chart]:
    """Return the figures of workloads; an empty list if no run has one."""
    with_ranks = {name: run for name, run in runs.items() if has_ranks(run)}
    return [ranks(with_ranks), bandwidths(with_ranks)] if with_ranks else []


def _with_names(runs: Runs) -> bool:
    """Return true if labels need the name of the workload, because a run has several."""
    return any(len(run.summary["workloads"]) > 1 for run in runs.values())


# --- Ranks over time -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stretches:
    """Time intervals of ranks: lane, begin and end."""

    lane: Array
    start_ps: Array
    end_ps: Array

    def of(self, lane: int) -> tuple[Array, Array]:
        """Return the begins and ends of the intervals of a lane, in order."""
        low, high = np.searchsorted(self.lane, [lane, lane + 1])
        return self.start_ps[low:high], self.end_ps[low:high]


def ranks(runs: Runs) -> Chart:
    """Return the chart of the activity of each rank over time."""
    with_names = _with_names(runs)
    ends = [run.summary["end_ps"] for run in runs.values()]
    x = Axis("time (ms)", unit="ms", start=0, end=max(ends) / 1e9)
    views, rows, left_out = [], [], 0
    for name, run in runs.items():
        for work in run.summary["workloads"]:
            shown = chosen(run, work["name"])
            left_out = max(left_out, work["ranks"] - shown.height)
            lines = [
                Line(state, from_ps / 1e9, lane, until=to_ps / 1e9, words=words, colour=colour)
                for (state, colour), (lane, from_ps, to_ps, words) in zip(
                    STATES.items(), _states(run, work["name"], shown), strict=True
                )
            ]
            numbers = [str(rank) for rank in shown["rank"]]
            y = Axis("rank", ticks=list(enumerate(numbers)))
            label = f"{name}: {work['name']}" if with_names else name
            views.append(View(label, [Panel("", x, y, lines)]))
            rows += [_row(name, row) for row in shown.to_dicts()]
    which = (
        f" Of more than {LANES} ranks it shows the {LAST} that ended last, and {LANES - LAST} "
        "evenly spaced ones of the others; the rest are in ranks.parquet."
        if left_out
        else ""
    )
    return Chart(
        "ranks",
        "What the ranks did",
        "A lane for each rank: computing; exposed communication (it sent, received, or waited for "
        "messages, and did not compute); idle. Where it would be more than "
        f"{BARS} stretches, time is cut into equal parts, and each counts as what most of it "
        f"was.{which}",
        "lanes",
        views,
        "Scheme",
        Table(
            ("scheme", "workload", "rank", "host", "computing", "exposed", "idle", "ended at"),
            rows,
            by_scheme=True,
        ),
        "No rank has done anything.",
    )


def _row(scheme: str, rank: Mapping[str, Any]) -> list[str]:
    spent = [time_text(rank[f"{state}_ps"]) for state in ("computing", "exposed", "idle")]
    ended = "–" if rank["end_ps"] is None else time_text(rank["end_ps"])
    return [scheme, rank["workload"], str(rank["rank"]), str(rank["host"]), *spent, ended]


def chosen(run: RunFiles, workload: str) -> pl.DataFrame:
    """Return the ranks of a workload that a timeline shows.

    These are all ranks, or those that ended last and evenly spaced others. A rank that has not
    ended counts as later than all ranks that have ended.
    """
    mine = run.table("ranks").filter(workload=workload).sort("rank")
    if mine.height <= LANES:
        return mine
    by_end = mine.sort(["end_ps", "rank"], descending=[True, False], nulls_last=False)
    others = by_end[LAST:].sort("rank")
    at = np.linspace(0, others.height - 1, LANES - LAST).round().astype(int)
    return pl.concat([by_end[:LAST], others[at]]).sort("rank")


def _states(
    run: RunFiles, workload: str, shown: pl.DataFrame
) -> Iterator[tuple[Array, Array, Array, list[str]]]:
    """Yield lanes, begins, ends and texts of the intervals of each of :data:`STATES`."""
    lanes = shown.select("rank", lane=pl.int_range(pl.len()))
    done = (
        run.table("operations")
        .filter(workload=workload)
        .join(lanes, on="rank")
        .with_columns(pl.col("start_ps", "end_ps").cast(pl.Int64))
    )
    begin = shown["start_ps"].cast(pl.Int64).to_numpy()
    end = shown["end_ps"].fill_null(run.summary["end_ps"]).cast(pl.Int64).to_numpy()
    whole = Stretches(np.arange(len(begin)), begin, np.maximum(begin, end))
    busy = merged(done)
    computing = merged(done.filter(kind="calc"))
    found = [computing, without(busy, computing), without(whole, busy)]
    for slices in SLICES:
        if sum(len(stretches.lane) for stretches in found) <= BARS:
            break
        found = in_slices(whole, busy, computing, slices)
    messages = done.filter(pl.col("kind") != "calc").sort("lane", "end_ps")
    names, wholes = _group_names(run, workload), _wholes(run, workload)
    for state, stretches in zip(STATES, found, strict=True):
        took = [time_text(ps) for ps in stretches.end_ps - stretches.start_ps]
        if state == "exposed communication":
            took = [
                f"{time}, {which}" if which else time
                for time, which in zip(
                    took, _last_of(messages, stretches, names, wholes), strict=True
                )
            ]
        yield stretches.lane, stretches.start_ps, stretches.end_ps, took


def merged(operations: pl.DataFrame) -> Stretches:
    """Return the intervals that operations cover, by lane. Overlapping intervals are merged."""
    latest = pl.col("end_ps").cum_max().shift(1).over("lane")
    table = (
        operations.filter(pl.col("end_ps") > pl.col("start_ps"))
        .sort("lane", "start_ps")
        .with_columns(is_new=(pl.col("start_ps") > latest).fill_null(True))
        .with_columns(number=pl.col("is_new").cum_sum())
        .group_by("number", maintain_order=True)
        .agg(pl.col("lane").first(), pl.col("start_ps").first(), pl.col("end_ps").max())
    )
    return Stretches(*(table[name].to_numpy() for name in ("lane", "start_ps", "end_ps")))


def without(whole: Stretches, part: Stretches) -> Stretches:
    """Remove intervals from other intervals. Each of ``part`` must lie inside one of ``whole``."""
    found = []
    for lane in np.unique(whole.lane):
        begin, end = whole.of(lane)
        part_begin, part_end = part.of(lane)
        # A remaining interval begins at the begin of a whole one or at the end of a part. It ends
        # at the end of a whole one or at the begin of a part.
        start = np.sort(np.concatenate([begin, part_end]))
        stop = np.sort(np.concatenate([end, part_begin]))
        some = stop > start
        found.append((np.full(some.sum(), lane), start[some], stop[some]))
    if not found:
        nothing = np.array([], dtype=np.int64)
        return Stretches(nothing, nothing, nothing)
    return Stretches(*(np.concatenate(column) for column in zip(*found, strict=True)))


def in_slices(
    whole: Stretches, busy: Stretches, computing: Stretches, slices: int
) -> list[Stretches]:
    """Cut time into equal slices; return, for each of :data:`STATES`, where it takes most time."""
    step_ps = max(-(-int(whole.end_ps.max()) // slices), 1)
    lanes = len(whole.lane)

    def shares(stretches: Stretches) -> Array:
        pieces = divided(stretches.start_ps, stretches.end_ps, slices, step_ps)
        cell = stretches.lane[pieces.row] * slices + pieces.frame
        return np.bincount(cell, pieces.share, lanes * slices).reshape(lanes, slices)

    there, at_work, computes = shares(whole), shares(busy), shares(computing)
    most = np.argmax([computes, at_work - computes, there - at_work], axis=0)
    most[there <= 0] = len(STATES)
    found = []
    for state in range(len(STATES)):
        edges = np.diff((most == state).astype(np.int8), axis=1, prepend=0, append=0)
        lane, first = np.nonzero(edges == 1)
        _, last = np.nonzero(edges == -1)
        begin = np.maximum(first * step_ps, whole.start_ps[lane])
        end = np.minimum(last * step_ps, whole.end_ps[lane])
        found.append(Stretches(lane, begin, end))
    return found


def _last_of(
    messages: pl.DataFrame,
    stretches: Stretches,
    names: Mapping[int, str],
    wholes: Mapping[int, str],
) -> Iterator[str]:
    """Yield the operation that ended last in each interval, or that was in progress at its end."""
    done = Stretches(*(messages[name].to_numpy() for name in ("lane", "start_ps", "end_ps")))
    number = np.full(len(stretches.lane), -1)
    ended = np.zeros(len(stretches.lane), dtype=bool)
    for lane in np.unique(stretches.lane):
        here = stretches.lane == lane
        starts, ends = done.of(lane)
        if not len(ends):
            continue
        behind = np.searchsorted(ends, stretches.end_ps[here], side="right")
        last, coming = (behind - 1).clip(0), behind.clip(max=len(ends) - 1)
        ended[here] = (behind > 0) & (ends[last] > stretches.start_ps[here])
        is_in_progress = (behind < len(ends)) & (starts[coming] < stretches.end_ps[here])
        found = np.where(ended[here], last, np.where(is_in_progress, coming, -1))
        number[here] = np.where(found < 0, -1, found + np.searchsorted(done.lane, lane))
    about = messages[number.clip(0)]
    rows = about.select("kind", "group", "instance", "peer").rows()
    # Runs of earlier versions have no operations that are parts.
    has_parts = "part_of" in about.columns
    parts = about["part_of"].to_list() if has_parts else [None] * about.height
    for at, is_end, row, part in zip(number, ended, rows, parts, strict=True):
        place = "up to the end of" if is_end else "in"
        of = f", part of {wholes[part]}" if part in wholes else ""
        yield "" if at < 0 else f"{place} {_operation(names, *row)}{of}"


def _operation(
    names: Mapping[int, str], kind: str, group: int | None, instance: int | None, peer: int | None
) -> str:
    if instance is not None:
        where = "all ranks" if group is None else names.get(group, f"group {group}")
        return f"{kind} {instance} of {where}"
    link = {"send": "to", "recv": "from"}.get(kind)
    return f"a {kind}" if link is None or peer is None else f"a {kind} {link} rank {peer}"


def _group_names(run: RunFiles, workload: str) -> dict[int, str]:
    """Return the labels of the groups of a workload by number (:func:`critical.group_words`)."""
    table = run.table("collectives").filter(workload=workload)
    groups = table.unique("group").drop_nulls("group")
    return {row["group"]: critical.group_words(row) for row in groups.to_dicts()}


def _wholes(run: RunFiles, workload: str) -> dict[int, str]:
    """Return the labels of collectives that consist of operations of a workload's file."""
    table = run.table("collectives").filter(pl.col("workload").cast(pl.String) == workload)
    if "composed" not in table.columns:
        return {}
    return {
        row["instance"]: f"{row['kind']} {row['instance']} of {critical.group_words(row)}"
        for row in table.filter("composed").to_dicts()
    }


# --- Bus bandwidth ---------------------------------------------------------------------------


_MEASURES = ("mean time", "mean", "lowest", "bound", "of the bound")


def bandwidths(runs: Runs) -> Chart:
    """Return the chart of the mean bus bandwidth of collectives by kind.

    It has the bound that their links set, too.
    """
    with_names = _with_names(runs)
    tables = {name: _by_group(run, with_names) for name, run in runs.items()}
    drawn = {name: _by_family(table) for name, table in tables.items()}
    spent: dict[str, float] = {}
    for families in drawn.values():
        for words, of in families.items():
            spent[words] = max(spent.get(words, 0), of["took_ps"])
    kinds = sorted(spent, key=lambda words: (-spent[words], words))[:KINDS]
    lines = [
        Line(
            name,
            [at for at, words in enumerate(kinds) if words in families],
            [families[words]["bus_bps"] / 1e9 for words in kinds if words in families],
            marks=[_gbps(families[words]["bound_bps"]) for words in kinds if words in families],
        )
        for name, families in drawn.items()
    ]
    x = Axis("collectives", ticks=list(enumerate(kinds)))
    y = Axis("bus bandwidth (Gbps)", unit="Gbps", start=0)
    more = (
        f" Drawn are the {KINDS} kinds that took longest in all; the table has more."
        if len(spent) > KINDS
        else ""
    )
    return Chart(
        "bandwidths",
        "Bus bandwidth of collectives, and what their links allow",
        "Means over all collectives of a kind and size. Groups whose names differ in a number "
        "alone are taken together. The line across a bar is the bound: the bus bandwidth if what "
        "takes longest of the ports of a host, the NICs of a server and the uplinks of a leaf sent "
        f"payload in full frames all the time, whatever the algorithm.{more}{_cut(runs)}",
        "bars",
        [View("", [Panel("", x, y, lines)])] if kinds else [],
        table=Table(
            ("scheme", "collective", "group", "bytes", "number", *_MEASURES),
            [
                _cells(name, row)
                for name, table in tables.items()
                for row in table.head(ROWS).to_dicts()
            ],
            by_scheme=True,
        ),
        nothing="No collective with a bus bandwidth has ended.",
    )


def _cut(runs: Runs) -> str:
    """Return a sentence about runs that ended before their ranks and lack collectives."""
    at_work = [
        f"{work['ranks'] - work['finished']:,} of {work['ranks']:,} of {work['name']} with {name}"
        for name, run in runs.items()
        for work in run.summary["workloads"]
        if work["finished"] < work["ranks"]
    ]
    if not at_work:
        return ""
    return (
        f" Ranks that were at work when their run ended: {'; '.join(at_work)}. Collectives that "
        "they had not ended are not in it."
    )


def _gbps(bps: float | None) -> float | None:
    return None if bps is None else bps / 1e9


def _by_group(run: RunFiles, with_names: bool) -> pl.DataFrame:
    """Return collectives grouped by workload, kind, group and size, the longest total time first.

    ``collective`` is the label in the report: the kind, after the workload's name if required.
    """
    table = run.table("collectives").with_columns(pl.col("workload").cast(pl.String))
    # Runs of earlier versions lack these columns.
    for column, kind in (("bound_bps", pl.Float64), ("group_name", pl.String)):
        if column not in table.columns:
            table = table.with_columns(pl.lit(None, kind).alias(column))
    name = [pl.col("workload"), pl.lit(": "), pl.col("kind")] if with_names else [pl.col("kind")]
    return (
        table.drop_nulls("bus_bps")
        .group_by("workload", "kind", "group", "group_name", "ranks", "bytes", maintain_order=True)
        .agg(
            number=pl.len(),
            took_ps=(pl.col("end_ps") - pl.col("start_ps")).sum(),
            bus_bps=pl.col("bus_bps").mean(),
            lowest_bps=pl.col("bus_bps").min(),
            bound_bps=pl.col("bound_bps").mean(),
        )
        .sort(["took_ps", "workload", "group"], descending=[True, False, False])
        .with_columns(collective=pl.concat_str(name))
    )


def _by_family(groups: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Merge rows of groups whose names differ only in a number at the end; return them by label."""
    name = pl.col("group_name").fill_null("").str.replace(r"[-_ ]?\d+$", "")
    family = (
        pl.when(pl.col("group").is_null())
        .then(pl.lit("all ranks"))
        .when(name == "")
        .then(pl.lit("groups"))
        .otherwise(name)
    )
    number = pl.col("number")
    bounded = number.filter(pl.col("bound_bps").is_not_null()).sum()
    found = (
        groups.with_columns(
            family=family, size=pl.col("bytes").map_elements(bytes_text, return_dtype=pl.String)
        )
        .group_by(
            pl.format("{}, {} ({}), {}", "collective", "family", "ranks", "size").alias("words"),
            maintain_order=True,
        )
        .agg(
            pl.col("took_ps").sum(),
            (pl.col("bus_bps") * number).sum() / number.sum(),
            pl.when(bounded > 0).then((pl.col("bound_bps") * number).sum() / bounded),
        )
    )
    return {row.pop("words"): row for row in found.to_dicts()}


def _cells(scheme: str, row: Mapping[str, Any]) -> list[str]:
    bound = row["bound_bps"]
    return [
        scheme,
        row["collective"],
        f"{critical.group_words(row)} ({row['ranks']})",
        bytes_text(row["bytes"]),
        f"{row['number']:,}",
        time_text(row["took_ps"] / row["number"]),
        *(f"{row[name] / 1e9:.4g} Gbps" for name in ("bus_bps", "lowest_bps")),
        "–" if bound is None else f"{bound / 1e9:.4g} Gbps",
        "–" if bound is None else f"{row['bus_bps'] / bound:.1%}",
    ]


# --- What made collectives late --------------------------------------------------------------

LATE = 3
"""Number of slowest collectives of each scheme whose critical paths are analysed."""

MANY = 500_000
"""Number of flows of a run from which on only the slowest collective is analysed.

A critical path takes seconds for a million flows.
"""

LINKS = 12
"""Number of links, and of sends, that are listed for each scheme."""


@dataclass(frozen=True, slots=True)
class Late:
    """Causes of delay of the slowest collectives."""

    collectives: Table
    """The collectives, and the durations of their critical paths."""
    links: Table
    """Links where the sends of these paths lost time, with the causes, if recorded."""
    sends: Table
    """The sends whose delay beyond their ideal time was largest."""
    unrecorded: list[str]
    """Schemes whose run has no delay breakdown."""


def late(runs: Runs) -> Late | None:
    """Explain the slowest collectives of runs; return None if no collective has ended."""
    collectives, links, sends, unrecorded = [], [], [], []
    for name, run in runs.items():
        if not has_ranks(run):
            continue
        paths = _critical_paths(run)
        for row, path in paths:
            collectives.append([name, *_late_cells(row, path)])
            sends += [[name, *cells] for cells in _late_sends(run, row, path)]
        if not blame.is_recorded(run):
            unrecorded.append(name)
            continue
        links += [
            [
                name,
                row["port"],
                blame.words(row["part"]),
                str(row["sends"]),
                time_text(row["late_ps"]),
            ]
            for row in _late_links(run, [path for _, path in paths])
        ]
    if not collectives:
        return None
    about = ("scheme", "collective", "group", "bytes", "took", "sends of its path")
    return Late(
        Table((*about, "under way", "alone", "before sends", "last"), collectives, by_scheme=True),
        Table(("scheme", "link", "lost to", "sends", "lost"), links, by_scheme=True),
        Table(
            ("scheme", "collective", "flow", "hosts", "ranks", "bytes", "took", "more than alone"),
            sends,
            by_scheme=True,
        ),
        unrecorded,
    )


def _critical_paths(run: RunFiles) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    number = LATE if run.summary["flows"]["started"] < MANY else 1
    slowest = critical.slowest_first(run.table("collectives")).head(number)
    return [(row, critical.critical_path(run, row)) for row in slowest.to_dicts()]


def _late_cells(row: Mapping[str, Any], path: pl.DataFrame) -> list[str]:
    spent = (time_text(sum(path[name].to_list())) for name in ("took_ps", "ideal_ps", "before_ps"))
    return [
        f"{row['kind']} {row['instance']}",
        f"{critical.group_words(row)} ({row['ranks']})",
        bytes_text(row["bytes"]),
        time_text(row["end_ps"] - row["start_ps"]),
        str(path.height),
        *spent,
        f"rank {row['last_rank']}",
    ]


def _late_sends(run: RunFiles, row: Mapping[str, Any], path: pl.DataFrame) -> Iterator[list[str]]:
    ranks = critical.ranks_of(run, row["workload"])
    latest = critical.latest(path, LINKS // LATE)
    for send in latest.filter(latest["late_ps"] > 0).to_dicts():
        yield [
            f"{row['kind']} {row['instance']} of {critical.group_words(row)}",
            str(send["flow"]),
            f"{send['src']} → {send['dst']}",
            f"{ranks.get(send['src'], '–')} → {ranks.get(send['dst'], '–')}",
            bytes_text(send["bytes"]),
            time_text(send["took_ps"]),
            time_text(send["late_ps"]),
        ]


def _late_links(run: RunFiles, paths: list[pl.DataFrame]) -> list[dict[str, Any]]:
    sends = pl.concat(paths).unique("flow") if paths else None
    return [] if sends is None else critical.links(run, sends).head(LINKS).to_dicts()
