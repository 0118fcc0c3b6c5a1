"""The table of results, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

Summary = dict[str, Any]
"""What ``summary.json`` says."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    group: str
    label: str
    key: str
    value: Callable[[Summary], Any]
    text: Callable[[Any], str]
    lower_is_better: bool = False


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


def _count(value: int) -> str:
    return f"{value:,}"


def _gigabits(value: float) -> str:
    return f"{value / 1e9:,.1f}"


def _millions(value: float) -> str:
    return f"{value / 1e6:.2f}"


def _slowdown(bin_name: str, statistic: str) -> Callable[[Summary], float | None]:
    def value(summary: Summary) -> float | None:
        slowdown = summary["fct"][bin_name]["slowdown"]
        return None if slowdown is None else slowdown[statistic]

    return value


_BINS = {
    "short": "short ≤ 10 KB",
    "medium": "medium",
    "long": "long > 1 MB",
    "incast": "incast",
}


def _finished(bin_name: str) -> Callable[[Summary], int | None]:
    """Return how many flows the percentiles of a bin are of; nothing where it has no flow."""

    def value(summary: Summary) -> int | None:
        flows = summary["fct"][bin_name]
        return flows["finished"] if flows["finished"] or flows["unfinished"] else None

    return value


def _slowdown_rows() -> list[Row]:
    return [
        row
        for name, label in _BINS.items()
        for row in (
            Row(_slowdowns_of(label), "flows", f"flows_{name}", _finished(name), _count),
            *(
                Row(
                    _slowdowns_of(label),
                    statistic,
                    f"slowdown_{name}_{statistic}",
                    _slowdown(name, statistic),
                    _number,
                    lower_is_better=True,
                )
                for statistic in ("p50", "p95", "p99")
            ),
        )
    ]


def _slowdowns_of(bin_label: str) -> str:
    """Return what the group of the rows of a bin is called."""
    return f"Slowdown, {bin_label}"


def _of_workloads(
    key: str, worst: Callable[[Iterable[float]], float] = max
) -> Callable[[Summary], float | None]:
    """Return the worst value of all workloads; nothing where one has none, or there are none."""

    def value(summary: Summary) -> float | None:
        values = [workload[key] for workload in summary.get("workloads", [])]
        return worst(values) if values and None not in values else None

    return value


def _core_wire(summary: Summary) -> float | None:
    return None if summary["core"] is None else summary["core"]["wire"]


def _core_payload(summary: Summary) -> float | None:
    return None if summary["core"] is None else summary["core"]["carried"]


def _paused(summary: Summary) -> float | None:
    """Return the share of its time for which the mean port was paused by PFC."""
    ports = sum(links["ports"] for links in summary["links"])
    paused = sum(links["paused_fraction"] * links["ports"] for links in summary["links"])
    return paused / ports if ports else None


def _of_links(key: str) -> Callable[[Summary], int | None]:
    """Return what sums a count over all links; None in a summary that is older than the count."""

    def value(summary: Summary) -> int | None:
        counts = [links.get(key) for links in summary["links"]]
        return None if None in counts else sum(counts)

    return value


_WORKLOADS = "Workloads"
_UTILISATION = "Utilisation of links, as a share of their rates"

ROWS: list[Row] = [
    *_slowdown_rows(),
    Row(
        "Buffer",
        "p99 (MB)",
        "buffer_p99_bytes",
        lambda s: s["buffer"]["p99_bytes"],
        _megabytes,
        lower_is_better=True,
    ),
    Row(
        "Buffer",
        "max (MB)",
        "buffer_max_bytes",
        lambda s: s["buffer"]["max_bytes"],
        _megabytes,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "PFC pause time, sum over ports (ms)",
        "pfc_paused_ps",
        lambda s: s["pfc_paused_ps"],
        _milliseconds,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "PFC pause time, mean of ports (%)",
        "pfc_paused_fraction",
        _paused,
        _percent,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "PFC pauses, of a class of a port",
        "pfc_pauses",
        _of_links("pauses"),
        _count,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "PFC pause frames, repetitions included",
        "pfc_pause_frames",
        _of_links("pause_frames"),
        _count,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "drops",
        "drops",
        lambda s: s["drops"]["total"],
        _count,
        lower_is_better=True,
    ),
    Row(
        "Losses and pauses",
        "unfinished flows",
        "unfinished",
        lambda s: s["flows"]["unfinished"],
        _count,
        lower_is_better=True,
    ),
    Row(
        _WORKLOADS,
        "time of all steps (ms)",
        "workload_took_ps",
        _of_workloads("took_ps"),
        _milliseconds,
        lower_is_better=True,
    ),
    Row(
        _WORKLOADS,
        "longest collective (ms)",
        "workload_max_collective_ps",
        _of_workloads("max_collective_ps"),
        _milliseconds,
        lower_is_better=True,
    ),
    Row(
        _WORKLOADS,
        "bus bandwidth, mean (Gbps)",
        "workload_mean_bus_bps",
        _of_workloads("mean_bus_bps", min),
        _gigabits,
    ),
    Row(
        _WORKLOADS,
        "exposed communication, mean (ms)",
        "workload_mean_exposed_ps",
        _of_workloads("mean_exposed_ps"),
        _milliseconds,
        lower_is_better=True,
    ),
    Row(
        _UTILISATION,
        "core, payload, measured time (%)",
        "core_carried",
        _core_payload,
        _percent,
    ),
    Row(_UTILISATION, "core, all bytes, whole run (%)", "core_wire", _core_wire, _percent),
    Row(
        _UTILISATION,
        "hosts, all bytes, whole run (%)",
        "host_wire",
        lambda s: s["host"]["wire"],
        _percent,
    ),
    Row(
        "Simulation",
        "simulated time (ms)",
        "end_ps",
        lambda s: s["end_ps"],
        _milliseconds,
    ),
    Row(
        "Simulation",
        "M packet-hops/s",
        "packet_hops_per_s",
        lambda s: s["performance"]["packet_hops_per_s"],
        _millions,
    ),
    Row("Simulation", "digest", "digest", lambda s: s["digest"], str),
    Row(
        "Simulation",
        "audit",
        "audit",
        lambda s: audit(s),
        str,
    ),
]


def audit(summary: Summary) -> str:
    """Say in a word or two how a run ended."""
    if summary["violations"]:
        return f"{len(summary['violations'])} violated"
    if summary["ending"] == "stalled":
        return "stalled"
    if summary.get("deadlocks"):
        return "deadlock"
    if summary["partial"]:
        return "interrupted"
    return "ok"


def rows_of(summaries: Collection[Summary]) -> list[Row]:
    """Return the rows of a table of these runs: those that have a value in one of them."""
    return [row for row in ROWS if any(row.value(summary) is not None for summary in summaries)]


def without_flows(summaries: Collection[Summary]) -> str | None:
    """Say which groups of flows have no rows, because no run has such a flow."""
    there = {row.group for row in rows_of(summaries)}
    absent = [label for label in _BINS.values() if _slowdowns_of(label) not in there]
    return f"No flow was measured of: {'; '.join(absent)}." if absent else None


def one_seed(summaries: Collection[Summary]) -> str | None:
    """Return a sentence for a table that compares runs of one seed each; else ``None``."""
    if len(summaries) < 2:
        return None
    seeds = sorted({summary["seed"] for summary in summaries})
    which = f"One seed ({seeds[0]})" if len(seeds) == 1 else "One seed per column"
    return f"{which}: differences can be chance; `backwater sweep` compares several seeds."


def text(row: Row, summary: Summary) -> str:
    """Write one cell; a dash where there is nothing to say."""
    value = row.value(summary)
    return "–" if value is None else row.text(value)


def best(row: Row, summaries: dict[str, Summary]) -> set[str]:
    """Tell which schemes have the lowest value of a row; none where all are alike.

    Ideals cannot be built, so they do not compete.
    """
    values = {
        name: value
        for name, summary in summaries.items()
        if not name.startswith("ideal") and (value := row.value(summary)) is not None
    }
    if not row.lower_is_better or len(set(values.values())) < 2:
        return set()
    lowest = min(values.values())
    return {name for name, value in values.items() if value == lowest}
