"""Delay breakdown: text for single flows, and sums for the slow flows of a run.

The data are the tables of runs with ``[record] blame = {}`` (`specs/blame.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backwater._base.lazy import pl
from backwater.errors import InputError
from backwater.results.columns import LONG_BYTES, SHORT_BYTES
from backwater.results.files import RunFiles

RECORD = "record.blame={}"
"""The override with which a run records the breakdown."""

_GROUPS = {
    "own transmission": ("#9aa5b1", "nic_sending"),
    "links": ("#cbd2d9", "propagation", "serialisation"),
    "others at the NIC": ("#56b4e9", "nic_turn"),
    "pace": ("#0072b2", "nic_pace"),
    "window": ("#17807e", "nic_window"),
    "receiver's leave": ("#009e73", "nic_receiver"),
    "recovery": ("#8c564b", "nic_recovery", "nic_timeout", "nic_no_link", "link_down"),
    "behind its own": ("#f0dfa0", "nic_pair", "behind_own"),
    "behind others": ("#e6b422", "behind_other", "behind_control"),
    "behind incasts": ("#c98a00", "behind_incast"),
    "PFC": ("#c0392b", "nic_class_pause", "class_pause"),
    "pauses of queues": ("#b5578f", "nic_queue_pause", "queue_pause"),
    "held by destination": ("#6a51a3", "nic_destination_pause", "held"),
    "credits of links": ("#e377c2", "nic_no_room", "no_room"),
    "host": ("#3c4650", "host"),
}
"""Groups of similar parts: the colour in figures, and the parts.

Grey: unavoidable time. Red: PFC. Parts are columns of ``blame`` without their unit.
"""

GROUPS = {name: parts for name, (_, *parts) in _GROUPS.items()}
"""The parts of each group."""

COLOURS = {name: colour for name, (colour, *_) in _GROUPS.items()}
"""The colour of each group in figures."""

LEAST = 0.005
"""Parts with a smaller share of a flow's time are summed up."""

CLASSES = ("short", "medium", "long", "incast")
"""Classes of flows: by size, with incast flows in a class of their own."""

_WORDS = {
    "nic_sending": "its own transmission at the NIC",
    "nic_turn": "other flows had the NIC",
    "nic_pair": "earlier messages of its own queue pair",
    "nic_pace": "its pace (the rate of its control)",
    "nic_window": "its window was full",
    "nic_class_pause": "held by a pause of its class (PFC)",
    "nic_queue_pause": "held by a pause of its queue",
    "nic_destination_pause": "held by a pause of its destination",
    "nic_no_room": "no credits of the link",
    "nic_receiver": "its receiver had not let it go on (credits, grants, pulls)",
    "nic_recovery": "recovery: packets sent again, or waiting for lost ones",
    "nic_timeout": "retransmission timeout (RTO)",
    "nic_no_link": "no link led to its receiver",
    "propagation": "propagation on all links",
    "serialisation": "transmission of the last packet by switches",
    "behind_own": "queued behind its own packets",
    "behind_other": "queued behind other flows",
    "behind_incast": "queued behind an incast",
    "behind_control": "queued behind ACKs and other control",
    "class_pause": "held by a pause of its class (PFC)",
    "queue_pause": "held by a pause of its queue",
    "no_room": "no credits of the link",
    "held": "held back for its destination",
    "link_down": "a link was down",
    "host": "its receiver's host took time",
}

_OWN = ("nic_pair", "nic_pace", "nic_window", "nic_receiver", "nic_recovery", "nic_timeout", "host")
"""Parts that no port causes."""

_NO_WAIT = ("nic_sending", "propagation", "serialisation")
"""Parts that are not waits. They have no rows in ``blame_hops``."""


Slow = dict[str, dict[str, dict[str, Any]]]
"""Rows of :func:`slow`, by class of flows and by name of the run."""


NAMED_LOSSES = 3
"""Maximum number of places of losses in a sentence. The data has all places."""

_LOSSES = "blame_losses.parquet"

_LOST = {
    "buffer": "dropped at {at}, where the buffer was full",
    "egress_threshold": "dropped at {at}, whose queue was at its limit",
    "no_route": "dropped at {at}, which had no route",
    "link": "lost on the link {at}",
    "credit_limit": "dropped at {at}, where credits were at their limit",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets of a flow lost at one port or node: the place, the cause, and their numbers."""

    at: str
    cause: str
    packets: int
    answers: int

    def text(self) -> str:
        """Describe the loss in a message."""
        counts = ((self.packets, "packet"), (self.answers, "answer"))
        lost = [f"{n:,} {word}{'s' if n > 1 else ''}" for n, word in counts if n]
        return f"{' and '.join(lost)} {_LOST[self.cause].format(at=self.at)}"


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a flow's time: its kind, duration and port, and the root port of a pause.

    ``at`` and ``root`` are ports, as ``node -> peer``, or None if the part has none. ``incast`` is
    the number of incast flows to the host behind ``root`` that were in flight at the same time.
    ``lost`` lists the losses of the flow. Only its longest recovery or timeout has this list. It is
    None for all other parts, and if losses were not recorded.
    """

    part: str
    spent_ps: int
    at: str | None
    root: str | None
    incast: int
    lost: tuple[Loss, ...] | None = None

    def words(self) -> str:
        """Return a phrase that describes the part."""
        text = _WORDS[self.part]
        if self.at is not None:
            text += f" at {self.at}"
        if self.root is not None:
            text += ", which is where it begins" if self.root == self.at else ""
            text += f", which goes back to {self.root}" if self.root != self.at else ""
        if self.incast:
            flows = "1 flow" if self.incast == 1 else f"{self.incast} flows"
            text += f", where an incast had {flows} under way"
        if self.lost is not None:
            places = [loss.text() for loss in self.lost[:NAMED_LOSSES]]
            if more := len(self.lost) - len(places):
                places.append(f"others at {more} more {'place' if more == 1 else 'places'}")
            text += f": {', '.join(places) or 'none of its packets was lost'}"
        return text


@dataclass(frozen=True, slots=True)
class Explanation:
    """Delay breakdown of one flow. The reasons are sorted by time, longest first, and add up."""

    flow: int
    bytes: int
    src: str
    dst: str
    incast: bool
    fct_ps: int
    slowdown: float
    reasons: tuple[Reason, ...]

    def data(self) -> dict[str, Any]:
        """Return the explanation as dicts and lists, for JSON."""
        found = asdict(self)
        found["reasons"] = list(found["reasons"])
        for reason in found["reasons"]:
            reason["share"] = reason["spent_ps"] / self.fct_ps
            reason["incast_flows"] = reason.pop("incast")
            if reason["lost"] is None:
                del reason["lost"]
        return found


def is_recorded(run: RunFiles) -> bool:
    """Return true if the run recorded the delay breakdown."""
    return (run.path / "blame.parquet").exists()


def require(run: RunFiles) -> None:
    """Raise :class:`~backwater.errors.InputError` with advice if the run has no breakdown."""
    require_all({run.scheme: run}, run.path)


def require_all(runs: Mapping[str, RunFiles], path: Path) -> None:
    """Raise :class:`~backwater.errors.InputError` if a run in a directory has no breakdown."""
    missing = [run for run in runs.values() if not is_recorded(run)]
    if not missing:
        return
    first = missing[0]
    raise InputError(
        f"{path}: this run has no delay breakdown; record it by\n"
        f"  backwater explain {path} --record\n"
        "which gives the same runs beside these, or when you run a scenario, such as by\n"
        f"  backwater run {first.path / 'resolved.toml'} --set '{RECORD}' -o {again(first)}"
    )


def again(run: RunFiles) -> Path:
    """Return the directory in which the run is repeated to record its delay breakdown."""
    return run.path.with_name(f"{run.path.name}-blame")


def recorded(run: RunFiles) -> RunFiles | None:
    """Return the run that has the breakdown: the run itself, or its repetition.

    Returns None if neither has one. The repetition counts only if its digest is equal.
    """
    if is_recorded(run):
        return run
    beside = RunFiles(again(run)) if (again(run) / "blame.parquet").exists() else None
    return beside if beside and beside.digest == run.digest else None


def words(part: str) -> str:
    """Return a phrase that describes a part of the delay breakdown, such as ``nic_pace``."""
    return _WORDS[part]


def with_class(flows: pl.DataFrame) -> pl.DataFrame:
    """Add the ``size_class`` of each flow, one of :data:`CLASSES`."""
    return flows.with_columns(
        size_class=pl.when("incast")
        .then(pl.lit("incast"))
        .when(pl.col("bytes") <= SHORT_BYTES)
        .then(pl.lit("short"))
        .when(pl.col("bytes") <= LONG_BYTES)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("long"))
    )


def accounts(run: RunFiles) -> pl.DataFrame:
    """Return a row per measured flow: ``id``, ``size_class``, ``slowdown``, ``fct_ps``, and groups.

    The columns of :data:`GROUPS` are in picoseconds and add up to ``fct_ps``.
    """
    require(run)
    flows = with_class(run.measured_flows(["id", "bytes", "incast", "slowdown"]))
    table = run.table("blame")
    # Runs of earlier versions have fewer parts.
    sums = {
        name: pl.sum_horizontal(p for part in parts if (p := f"{part}_ps") in table.columns)
        for name, parts in GROUPS.items()
    }
    return flows.join(table.select("fct_ps", id="flow", **sums), on="id")


def slow(run: RunFiles, percentile: float = 99) -> pl.DataFrame:
    """Return the mean delay breakdown of the slow flows of each class.

    There is one row per ``size_class`` with flows. A flow is slow if its slowdown is at or above
    this percentile of its class. ``flows`` is the number of slow flows. ``slowdown`` and ``fct_ps``
    are their means. The columns of :data:`GROUPS` are in picoseconds and add up to ``fct_ps``.
    """
    table = accounts(run)
    bound = pl.col("slowdown").quantile(percentile / 100, "higher").over("size_class")
    found = (
        table.filter(pl.col("slowdown") >= bound)
        .group_by("size_class")
        .agg(pl.len().alias("flows"), pl.col("slowdown", "fct_ps", *GROUPS).mean())
    )
    return found.sort(pl.col("size_class").cast(pl.Enum(CLASSES)))


def slow_by_class(runs: Mapping[str, RunFiles], percentile: float = 99) -> Slow:
    """Return the rows of :func:`slow` by class and run, without classes that have no flows."""
    tables = {name: slow(run, percentile) for name, run in runs.items()}
    found: Slow = {size_class: {} for size_class in CLASSES}
    for name, table in tables.items():
        for row in table.iter_rows(named=True):
            found[row["size_class"]][name] = row
    return {size_class: rows for size_class, rows in found.items() if rows}


def named(found: Slow) -> list[str]:
    """Return the groups that have at least the share ``LEAST`` of the FCT in some row, in order."""
    rows = [row for by_run in found.values() for row in by_run.values()]
    return [g for g in COLOURS if any(row[g] >= LEAST * row["fct_ps"] for row in rows)]


def pick(
    run: RunFiles,
    flow: int | None = None,
    worst: int | None = None,
    size_class: str | None = None,
    percentile: float | None = None,
    lost: bool = False,
) -> list[int]:
    """Return the numbers of flows to explain.

    ``flow`` selects one flow by its number. Otherwise the flows are selected among the measured
    flows, or among those of a ``size_class``. With ``lost`` they are those that lost packets, or
    waited because a link was down. The result is the ``worst`` flows by slowdown (the
    slowest first), or the flow at a ``percentile``.
    """
    require(run)
    if flow is not None:
        _check_number(run, flow)
        return [flow]
    table = measured = accounts(run).select("id", "size_class", "slowdown")
    if size_class is not None:
        table = table.filter(pl.col("size_class") == size_class)
    if lost:
        table = table.join(_hit(run), on="id", how="semi")
    if not table.height:
        of = f"{size_class} flow" if size_class else "flow"
        of += " that lost packets or waited for a link" if lost else ""
        there = _counts(measured)
        raise InputError(f"{run.path}: no {of} finished within the measured time{there}")
    table = table.sort(["slowdown", "id"], descending=[True, False])
    if percentile is not None:
        place = min(int(table.height * (1 - percentile / 100)), table.height - 1)
        return [int(table["id"][place])]
    return [int(number) for number in table["id"].head(worst or 1).to_list()]


def _hit(run: RunFiles) -> pl.DataFrame:
    """Return the numbers of flows that lost packets, or waited because a link was down."""
    without_link = pl.col("link_down_ps") + pl.col("nic_no_link_ps") > 0
    found = [run.table("blame").filter(without_link).select(id="flow")]
    if (run.path / _LOSSES).exists():
        found.append(run.table("blame_losses").select(id="flow"))
    return pl.concat(found)


def _check_number(run: RunFiles, flow: int) -> None:
    """Raise :class:`~backwater.errors.InputError` if no flow of this number has a breakdown.

    The message lists the numbers of flows, and commands that find a flow.
    """
    number = pl.col("id")
    flows = run.select_flows([pl.col("source").cast(pl.String), number, "received_ps"])
    found = flows.filter(number == flow)["received_ps"].to_list()
    if found and found[0] is not None:
        return
    why = f"flow {flow} has not finished" if found else f"there is no flow {flow}"
    if found and (losses := _losses(run, flow, *_names(run))):
        why += f" ({', '.join(loss.text() for loss in losses[:NAMED_LOSSES])})"
    spans = flows.group_by("source").agg(number.min(), last=number.max(), flows=pl.len())
    lines = [f"{run.path}: {why}. The flows of this run are"]
    for source, first, last, height in spans.sort("id").iter_rows():
        # The messages of a workload do not use all numbers in the range.
        some = "" if height == last - first + 1 else f" ({height:,} of these numbers)"
        lines.append(f"  {source}: {first} to {last}{some}")
    lines.append("To find one:")
    lines.append(f"  backwater explain {run.path} --worst 20   # those with the largest slowdown")
    if (run.path / "collectives.parquet").exists():
        lines.append(f"  backwater collectives {run.path}   # those that made a collective late")
    raise InputError("\n".join(lines))


def _counts(measured: pl.DataFrame) -> str:
    """Return a note with the number of flows of each class that has flows."""
    counts = dict(measured["size_class"].value_counts().iter_rows())
    there = ", ".join(f"{counts[one]:,} {one}" for one in CLASSES if one in counts)
    return f"; there are {there}" if there else ""


def explain(run: RunFiles, numbers: Sequence[int]) -> list[Explanation]:
    """Return the delay breakdown of each flow in ``numbers``, in this order."""
    require(run)
    chosen = pl.col("flow").is_in(list(numbers))
    hops = run.table("blame_hops").filter(chosen)
    whole = {row["flow"]: row for row in run.table("blame").filter(chosen).iter_rows(named=True)}
    flows = run.table("flows").filter(pl.col("id").is_in(list(numbers)))
    name, port = _names(run)
    found = {}
    for row in flows.iter_rows(named=True):
        reasons = [
            Reason(part, spent, None, None, 0)
            for part in _NO_WAIT
            if (spent := whole[row["id"]][f"{part}_ps"])
        ]
        lost = _losses(run, row["id"], name, port)
        reasons += _waits(hops.filter(pl.col("flow") == row["id"]), row, run, port, lost)
        found[row["id"]] = Explanation(
            flow=row["id"],
            bytes=row["bytes"],
            src=name[row["src"]],
            dst=name[row["dst"]],
            incast=row["incast"],
            fct_ps=row["received_ps"] - row["start_ps"],
            slowdown=row["slowdown"],
            reasons=tuple(sorted(reasons, key=lambda r: -r.spent_ps)),
        )
    return [found[number] for number in numbers]


def _names(run: RunFiles) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """Return the names of nodes, and of ports by node and port number, as ``node -> peer``."""
    ports = run.table("ports").select("node", "port", pl.col("name", "peer_name").cast(pl.String))
    name = dict(ports.select("node", "name").unique().iter_rows())
    return name, {(node, at): f"{own} -> {peer}" for node, at, own, peer in ports.iter_rows()}


def _losses(
    run: RunFiles, flow: int, name: dict[int, str], port: dict[tuple[int, int], str]
) -> tuple[Loss, ...] | None:
    """Return the losses of a flow; None if the run is older than the record of losses."""
    if not (run.path / _LOSSES).exists():
        return None
    rows = run.table("blame_losses").filter(pl.col("flow") == flow)
    rows = rows.sort("packets", "answers", descending=True, maintain_order=True)
    return tuple(
        Loss(
            at=name[row["node"]] if row["port"] is None else port[row["node"], row["port"]],
            cause=row["cause"],
            packets=row["packets"],
            answers=row["answers"],
        )
        for row in rows.iter_rows(named=True)
    )


def _waits(
    hops: pl.DataFrame,
    flow: dict[str, Any],
    run: RunFiles,
    port: dict[tuple[int, int], str],
    lost: tuple[Loss, ...] | None,
) -> list[Reason]:
    """Return a reason for each wait of a flow, that is, for each of its rows in ``blame_hops``."""
    reasons = []
    rows = hops.to_dicts()
    repairs = [row for row in rows if row["part"] in ("nic_recovery", "nic_timeout")]
    longest = max(repairs, key=lambda row: row["spent_ps"], default=None)
    for row in rows:
        part = row["part"]
        own = part in _OWN
        root = None if row["root_node"] is None else port[row["root_node"], row["root_port"]]
        incast = 0 if root is None else _incast(run, row["root_peer"], flow)
        at = None if own else port[row["node"], row["port"]]
        repaired = lost if row is longest else None
        reasons.append(Reason(part, row["spent_ps"], at, root, incast, repaired))
    return reasons


def _incast(run: RunFiles, host: int, flow: dict[str, Any]) -> int:
    """Return the number of incast flows to a host that were in flight together with a flow."""
    ends = pl.col("received_ps").fill_null(run.summary["end_ps"])
    meets = (pl.col("start_ps") < flow["received_ps"]) & (ends > flow["start_ps"])
    return run.table("flows").filter(pl.col("incast") & (pl.col("dst") == host) & meets).height
