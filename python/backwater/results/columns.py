"""The columns of summaries: one vocabulary for tables, sweeps, reports and plots.

Every column has a name such as ``fct.short.p99``, a unit, and a sentence that describes it. Values
are in base units: picoseconds, bytes, bits per second, and shares between 0 and 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from backwater._base.units import bytes_text
from backwater.errors import InputError

Summary = dict[str, Any]
"""The contents of ``summary.json``."""

Unit = Literal["", "ps", "bytes", "bps", "share", "count", "text"]

VERSION = 3
"""Version of the columns. Rows of an index with another version are computed again."""

SHORT_BYTES, LONG_BYTES = 10_000, 1_000_000
"""Short flows have at most the first number of bytes, long flows more than the second."""

BINS = {
    "short": f"short ≤ {bytes_text(SHORT_BYTES)}",
    "medium": "medium",
    "long": f"long > {bytes_text(LONG_BYTES)}",
    "incast": "incast",
}
"""Classes of flows with their labels: by size, with incast flows in a class of their own."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the function that computes its values, and its presentation."""

    name: str
    group: str
    """Heading in tables."""

    label: str
    """Label under the heading, with the unit that is shown."""

    about: str
    unit: Unit
    value: Callable[[Summary], Any]
    better: Literal["", "lower", "higher"] = ""
    aliases: tuple[str, ...] = ()
    """Earlier names."""

    scale: tuple[str, float] | None = None
    """Unit on axes, and the number of base units in it, if it is not that of :data:`_UNITS`."""

    form: Callable[[Any], str] | None = None
    """Text in tables, if it is not that of :data:`_UNITS`."""

    quiet: bool = False
    """Reports omit the column if all its values are zero."""

    absent: float | None = None
    """Value of a finished run whose summary lacks the column."""

    @property
    def shown(self) -> tuple[str, float]:
        """Unit on axes, and the number of base units in one such unit."""
        return self.scale or _UNITS[self.unit][0]

    def text(self, value: Any) -> str:
        """Return a value as text for tables."""
        return (self.form or _UNITS[self.unit][1])(value)

    @property
    def least(self) -> float:
        """Lowest possible value: 1 for a slowdown, 0 for every other column."""
        return 1.0 if self.unit == "" and self.name.startswith("fct.") else 0.0

    @property
    def heading(self) -> str:
        """Name of the column with the unit that is shown, such as ``buffer.max (MB)``."""
        unit = self.shown[0]
        return self.name if unit in ("", "slowdown", "share") else f"{self.name} ({unit})"

    @property
    def phrase(self) -> str:
        """Name of the column in a sentence, such as ``p99 slowdown of short flows``."""
        return self.about.rstrip(".").partition(" (")[0]


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 100 else f"{value:.1f}"


def _megabytes(value: int) -> str:
    return "0" if value == 0 else f"{value / 1e6:.3g}" if value < 1e8 else f"{value / 1e6:,.0f}"


def _milliseconds(value: int) -> str:
    return "0" if value == 0 else f"{value / 1e9:,.3g}" if value < 1e12 else f"{value / 1e9:,.0f}"


def _percent(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value * 100:.1f}" if value >= 0.001 else f"{value * 100:.2g}"


_UNITS: dict[Unit, tuple[tuple[str, float], Callable[[Any], str]]] = {
    "": (("", 1.0), _number),
    "ps": (("ms", 1e9), _milliseconds),
    "bytes": (("MB", 1e6), _megabytes),
    "bps": (("Gbps", 1e9), lambda value: f"{value / 1e9:,.1f}"),
    "share": (("share", 1.0), _percent),
    "count": (("", 1.0), lambda value: f"{value:,}"),
    "text": (("", 1.0), str),
}
"""For each unit, the unit on axes with its number of base units, and the text in tables."""


def _of_bin(bin_name: str, quantity: str, statistic: str) -> Callable[[Summary], float | None]:
    def value(summary: Summary) -> float | None:
        values = summary["fct"][bin_name][quantity]
        return None if values is None else values[statistic]

    return value


def _finished(bin_name: str) -> Callable[[Summary], int | None]:
    """Return a function for the number of finished flows of a bin; None if the bin has no flow."""

    def value(summary: Summary) -> int | None:
        flows = summary["fct"][bin_name]
        return flows["finished"] if flows["finished"] or flows["unfinished"] else None

    return value


_PERCENTILES = {"p50": "Median", "p95": "95th percentile of the", "p99": "99th percentile of the"}


def _slowdown_group(name: str) -> str:
    return f"Slowdown, {BINS[name]}"


def _slowdowns() -> Iterable[Column]:
    for name in BINS:
        flows = f"{name} flows" if name != "incast" else "incast flows"
        group = _slowdown_group(name)
        yield Column(
            f"fct.{name}.flows",
            group,
            "flows",
            f"Number of measured {flows} that finished.",
            "count",
            _finished(name),
            aliases=(f"flows_{name}", f"fct.{name}.finished"),
        )
        for key, words in _PERCENTILES.items():
            yield Column(
                f"fct.{name}.{key}",
                group,
                key,
                f"{words} FCT slowdown of {flows}.",
                "",
                _of_bin(name, "slowdown", key),
                "lower",
                (f"slowdown_{name}_{key}", f"fct.{name}.slowdown.{key}"),
                ("slowdown", 1.0),
            )


def _times() -> Iterable[Column]:
    """Yield the columns of FCTs as times, which the table of results does not show.

    They are in sweeps and data frames.
    """
    for name in BINS:
        for key, words in _PERCENTILES.items():
            yield Column(
                f"fct.{name}.time.{key}",
                "",
                key,
                f"{words} FCT of {name} flows.",
                "ps",
                _of_bin(name, "fct_ps", key),
                "lower",
                (f"fct.{name}.fct_ps.{key}",),
                ("µs", 1e6),
            )


def _of_workloads(
    key: str, worst: Callable[[Iterable[float]], float] = max
) -> Callable[[Summary], float | None]:
    """Return a function for the worst value of all workloads.

    Its value is None if a run has no workload, or if a workload lacks the value.
    """

    def value(summary: Summary) -> float | None:
        values = [workload[key] for workload in summary.get("workloads", [])]
        return worst(values) if values and None not in values else None

    return value


def _within(*path: str) -> Callable[[Summary], Any]:
    """Return a function for a nested value of the summary; None if it is missing."""

    def value(summary: Summary) -> Any:
        found: Any = summary
        for key in path:
            found = None if found is None else found.get(key)
        return found

    return value


def _paused(summary: Summary) -> float | None:
    """Return the fraction of time for which PFC paused the mean port."""
    ports = sum(links["ports"] for links in summary["links"])
    paused = sum(links["paused_fraction"] * links["ports"] for links in summary["links"])
    return paused / ports if ports else None


def _of_links(key: str) -> Callable[[Summary], int | None]:
    """Return a function for the sum of a count over all links; None if there is no such count."""

    def value(summary: Summary) -> int | None:
        counts = [links.get(key) for links in summary["links"]]
        return None if None in counts else sum(counts)

    return value


def audit(summary: Summary) -> str:
    """Return in a word or two how a run ended, such as ``ok``, ``stalled`` or ``2 violated``."""
    if summary["violations"]:
        return f"{len(summary['violations'])} violated"
    if summary["ending"] == "stalled":
        return "stalled"
    if summary.get("deadlocks"):
        return "deadlock"
    if summary["partial"]:
        return "interrupted"
    return "ok"


def _trouble(
    name: str, label: str, about: str, unit: Unit, value: Callable[[Summary], Any], **more: Any
) -> Column:
    """Return a column of losses and pauses. Fewer are better, and reports omit zeros."""
    return Column(name, _PAUSES, label, about, unit, value, "lower", quiet=True, **more)


_WORKLOADS, _PAUSES = "Workloads", "Losses and pauses"
_UTILISATION = "Utilisation of links, as a share of their rates"

COLUMNS: tuple[Column, ...] = (
    Column(
        "workload.time",
        _WORKLOADS,
        "time of all steps (ms)",
        "Time from the start of a workload to the end of its last operation (the slowest of several"
        " workloads).",
        "ps",
        _of_workloads("took_ps"),
        "lower",
        ("workload_took_ps",),
    ),
    Column(
        "workload.collective.max",
        _WORKLOADS,
        "longest collective (ms)",
        "Time of the longest collective.",
        "ps",
        _of_workloads("max_collective_ps"),
        "lower",
        ("workload_max_collective_ps",),
    ),
    Column(
        "workload.collective.mean",
        "",
        "mean collective (ms)",
        "Mean time of a collective.",
        "ps",
        _of_workloads("mean_collective_ps"),
        "lower",
    ),
    Column(
        "workload.bus",
        _WORKLOADS,
        "bus bandwidth, mean (Gbps)",
        "Mean bus bandwidth of the collectives.",
        "bps",
        _of_workloads("mean_bus_bps", min),
        "higher",
        ("workload_mean_bus_bps",),
    ),
    Column(
        "workload.bus.min",
        "",
        "bus bandwidth, lowest (Gbps)",
        "Bus bandwidth of the collective that has the lowest.",
        "bps",
        _of_workloads("min_bus_bps", min),
        "higher",
    ),
    Column(
        "workload.exposed",
        _WORKLOADS,
        "exposed communication, mean (ms)",
        "Exposed communication of the mean rank (time in which it neither computes nor is idle).",
        "ps",
        _of_workloads("mean_exposed_ps"),
        "lower",
        ("workload_mean_exposed_ps",),
    ),
    *_slowdowns(),
    *_times(),
    Column(
        "buffer.p99",
        "Buffer",
        "p99 (MB)",
        "99th percentile of the buffer occupancy of a switch.",
        "bytes",
        _within("buffer", "p99_bytes"),
        "lower",
        ("buffer_p99_bytes", "buffer.p99_bytes"),
    ),
    Column(
        "buffer.max",
        "Buffer",
        "max (MB)",
        "Highest buffer occupancy of a switch.",
        "bytes",
        _within("buffer", "max_bytes"),
        "lower",
        ("buffer_max_bytes", "buffer.max_bytes"),
    ),
    _trouble(
        "pfc.time",
        "PFC pause time, sum over ports (ms)",
        "Time paused by PFC, summed over ports.",
        "ps",
        _within("pfc_paused_ps"),
        aliases=("pfc_paused_ps",),
    ),
    _trouble(
        "pfc.share",
        "PFC pause time, mean of ports (%)",
        "Share of its time for which the mean port was paused by PFC.",
        "share",
        _paused,
        aliases=("pfc_paused_fraction",),
    ),
    _trouble(
        "pfc.pauses",
        "PFC pauses, of a class of a port",
        "Number of PFC pauses of a class of a port.",
        "count",
        _of_links("pauses"),
        aliases=("pfc_pauses",),
    ),
    _trouble(
        "pfc.frames",
        "PFC pause frames, repetitions included",
        "Number of PFC pause frames, repetitions included.",
        "count",
        _of_links("pause_frames"),
        aliases=("pfc_pause_frames",),
    ),
    _trouble(
        "drops",
        "drops",
        "Number of dropped packets.",
        "count",
        _within("drops", "total"),
        aliases=("drops.total",),
    ),
    _trouble(
        "drops.link",
        "drops by links",
        "Number of packets dropped at links that fail or damage frames.",
        "count",
        lambda summary: summary["drops"].get("link") or None,
        absent=0,
    ),
    _trouble(
        "unfinished",
        "unfinished flows",
        "Number of unfinished flows.",
        "count",
        _within("flows", "unfinished"),
        aliases=("flows.unfinished",),
    ),
    Column(
        "core.payload",
        _UTILISATION,
        "core, payload, measured time (%)",
        "Utilisation of the core by payload of flows that finished in the measured time.",
        "share",
        _within("core", "carried"),
        aliases=("core_carried", "core.carried"),
    ),
    Column(
        "core.wire",
        _UTILISATION,
        "core, all bytes, whole run (%)",
        "Utilisation of the core by all bytes of the whole run.",
        "share",
        _within("core", "wire"),
        aliases=("core_wire",),
    ),
    Column(
        "host.wire",
        _UTILISATION,
        "hosts, all bytes, whole run (%)",
        "Utilisation of the links of hosts by all bytes of the whole run.",
        "share",
        _within("host", "wire"),
        aliases=("host_wire",),
    ),
    Column(
        "run.flows",
        "",
        "flows",
        "Number of flows that started.",
        "count",
        _within("flows", "started"),
        aliases=("flows.started",),
    ),
    Column(
        "run.end",
        "Simulation",
        "simulated time (ms)",
        "Simulated time.",
        "ps",
        _within("end_ps"),
        aliases=("end_ps",),
    ),
    Column(
        "run.hops_per_s",
        "Simulation",
        "M packet-hops/s",
        "Packet-hops per second of wall-clock time.",
        "",
        _within("performance", "packet_hops_per_s"),
        aliases=("packet_hops_per_s",),
        form=lambda value: f"{value / 1e6:.2f}",
    ),
    Column(
        "run.seconds",
        "",
        "wall-clock time (s)",
        "Wall-clock time of the run, in seconds.",
        "",
        _within("performance", "wall_seconds"),
        aliases=("performance.wall_seconds",),
    ),
    Column(
        "run.stalled",
        "",
        "stalled",
        "1 if the run came to a standstill, else 0.",
        "count",
        lambda summary: int(summary["ending"] == "stalled"),
        "lower",
        ("stalled",),
        quiet=True,
    ),
    Column(
        "run.warnings",
        "",
        "warnings",
        "Number of warnings.",
        "count",
        lambda summary: len(summary.get("warnings", ())),
        aliases=("warnings",),
        quiet=True,
    ),
    Column("digest", "Simulation", "digest", "Digest of the run.", "text", _within("digest")),
    Column("audit", "Simulation", "audit", "How the run ended.", "text", audit),
)

BY_NAME: dict[str, Column] = {
    name: column for column in COLUMNS for name in (column.name, *column.aliases)
}
"""Columns by their name and by their earlier names."""


COUNTERS = "counters."
"""Prefix of columns for the counters of schemes and network, such as ``counters.timeouts``."""


def column(name: str) -> Column:
    """Return a column by its name or by an earlier one."""
    if name in BY_NAME:
        return BY_NAME[name]
    if not isinstance(name, str):
        raise InputError(f"a column has a name such as 'fct.short.p99', and {name!r} is not a text")
    if name.startswith(COUNTERS):
        return _counter(name)
    raise InputError(f"there is no column `{name}`; {near(name, [one.name for one in COLUMNS])}")


def _counter(name: str) -> Column:
    """Return the column of a counter. Summaries omit some counters that are 0."""
    key = name.removeprefix(COUNTERS)
    about = f"Counter `{key}`."
    return Column(*(name, "", key, about, "count", _within("counters", key)), quiet=True, absent=0)


def near(name: str, there: Collection[str]) -> str:
    """Return a hint with the names that are most similar to a wrong one."""
    group = [one for one in there if one.partition(".")[0] == name.partition(".")[0]]
    similar = difflib.get_close_matches(name, there, 4) or group[:8]
    listed = " or ".join(f"`{one}`" for one in similar)
    return f"did you mean {listed}?" if listed else "backwater.columns() lists all"


def known(names: Collection[str]) -> list[Column]:
    """Return the columns with these names in the order of tables: counters are last."""
    counters = sorted(name for name in names if name.startswith(COUNTERS))
    return [*(one for one in COLUMNS if one.name in names), *map(_counter, counters)]


def row(summary: Summary) -> dict[str, Any]:
    """Return the values of a run by the name of the column, without columns that have no value."""
    found = {one.name: one.value(summary) for one in COLUMNS}
    found |= {f"{COUNTERS}{key}": n for key, n in summary.get("counters", {}).items()}
    return {name: value for name, value in found.items() if value is not None}


def rows_of(summaries: Collection[Summary]) -> list[Column]:
    """Return the columns that have a value in at least one run. A table shows them as rows."""
    return [
        one
        for one in COLUMNS
        if one.group and any(one.value(summary) is not None for summary in summaries)
    ]


def without_flows(summaries: Collection[Summary]) -> str | None:
    """Return a note about classes of flows of which no run has any; ``None`` if there are none."""
    there = {one.group for one in rows_of(summaries)}
    absent = [label for name, label in BINS.items() if _slowdown_group(name) not in there]
    return f"No flow was measured of: {'; '.join(absent)}." if absent else None


def one_seed(summaries: Collection[Summary]) -> str | None:
    """Return a note for a table that compares runs of one seed each; else ``None``."""
    if len(summaries) < 2:
        return None
    seeds = sorted({summary["seed"] for summary in summaries})
    which = f"One seed ({seeds[0]})" if len(seeds) == 1 else "One seed per column"
    return f"{which}: differences can be chance; `--seeds 1-5` compares several seeds."


def text(one: Column, summary: Summary) -> str:
    """Return the text of a cell; a dash if the value is missing."""
    value = one.value(summary)
    return "–" if value is None else one.text(value)
