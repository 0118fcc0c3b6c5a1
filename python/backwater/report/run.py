"""One self-contained page about one or several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from backwater._base.units import bytes_text, time_text
from backwater.analysis.pauses import has_trees
from backwater.errors import RunError
from backwater.plots import figures
from backwater.plots.charts import Table
from backwater.plots.curves import until
from backwater.report import facts, network, workloads
from backwater.report.document import document, simplifications
from backwater.results.columns import Column, audit, one_seed, rows_of, text, without_flows
from backwater.results.files import RunFiles
from backwater.results.ranking import rank, sentence
from backwater.results.results import Results

PORTS = 10
"""Number of ports of each scheme that the page lists, by each of two measures."""


def render(results: Results) -> str:
    """Return the page about one or several runs as HTML; raise ``RunError`` if none is finished."""
    runs = results.labelled()
    if not runs:
        raise RunError(f"{results.path}: no run is finished, so there is nothing to report on")
    first = next(iter(runs.values()))
    flows = figures.read(runs)
    every = [*workloads.charts(runs), *figures.charts(runs, flows)]
    picture = network.gather(runs)
    ranking = rank(results)
    groups, notes = table(runs)
    return document(
        "run.html",
        f"{first.name}: {', '.join(runs)}",
        list(runs),
        [chart for chart in every if chart.views],
        picture,
        runs=runs,
        about=results.about,
        facts=_facts(runs, results),
        answer=sentence(results, ranking) if ranking else "",
        notices=_notices(runs, results),
        groups=groups,
        notes=notes,
        text=text,
        audit=audit,
        unrecorded=_unrecorded(runs, picture),
        late=workloads.late(runs),
        slowest=_slowest(flows),
        ports=_ports(runs),
        simplifications=simplifications(
            {name: [run.summary["not_modelled"]] for name, run in runs.items()}
        ),
        **{"LATE": workloads.LATE, "MANY": workloads.MANY},
        **{"SLOWEST": figures.SLOWEST, "PORTS": PORTS},
    )


def table(runs: Mapping[str, RunFiles]) -> tuple[list[tuple[str, list[Column]]], list[str]]:
    """Return the rows of the table of results in their groups, and the notes below the table."""
    summaries = [run.summary for run in runs.values()]
    groups = groupby(rows_of(summaries), key=lambda row: row.group)
    notes = (one_seed(summaries), without_flows(summaries))
    return [(group, list(rows)) for group, rows in groups], [note for note in notes if note]


def _facts(runs: Mapping[str, RunFiles], results: Results) -> list[tuple[str, str]]:
    """Return label and text of each fact in the head of the page; ranges where runs differ."""
    summaries = [run.summary for run in runs.values()]
    measured_ms = [(one["measure_to_ps"] - one["measure_from_ps"]) / 1e9 for one in summaries]
    return [
        ("schemes" if len(runs) > 1 else "scheme", ", ".join(runs)),
        ("flows", _range((one["flows"]["started"] for one in summaries), "{:,}")),
        ("measured time", _range(measured_ms, "{:g} ms")),
        ("load", _load(summaries)),
        ("time of a flow", until(run.fct_until for run in runs.values())),
        ("seed", facts.seeds(results.seeds)),
        *facts.of_runs(runs.values(), results),
        ("version", ", ".join(dict.fromkeys(one["backwater"] for one in summaries))),
    ]


def _range(values: Iterable[float], form: str) -> str:
    """Return the lowest and the highest value as text, or one of them if the texts are equal."""
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(form.format(one) for one in (ordered[0], ordered[-1])))


def _load(summaries: Sequence[dict[str, Any]]) -> str:
    """Return the requested and the offered load of the core, or of host links without a core."""
    first = summaries[0]
    links = "host" if first["core"] is None else "core"
    named = {"host": "the hosts' links", "core": "the core"}[links]
    asked = [f"{a['source']} {a['fraction']:.1%}" for a in first["asked"] if a["of"] == links]
    offered = f"{_range((one[links]['offered'] for one in summaries), '{:.1%}')} of {named} offered"
    return f"requested {' + '.join(asked)}; {offered}" if asked else offered


def _notices(runs: Mapping[str, RunFiles], results: Results) -> list[tuple[str, str, str]]:
    """Return warnings: their kind, the runs that they are about, and the rest of the sentence."""
    lines = [
        ("bad", results.label(point), f" failed: {failure.message}")
        for point in results.points
        if (failure := results.failed.get(point.key))
    ]
    if missing := results.counts["missing"]:
        lines.append(("bad", "", f"{missing} runs are missing: the results are not complete."))
    lines += [("doubt", "", note) for note in results.about.get("notes", [])]
    by_text: dict[str, list[str]] = {}
    for name, run in runs.items():
        if run.partial:
            at = run.summary["end_ps"] / 1e9
            lines.append(("bad", name, f" was interrupted at {at:.3g} ms."))
        for warning in run.summary["warnings"]:
            by_text.setdefault(warning, []).append(name)
    for warning, names in by_text.items():
        alike = len(names) == len(runs)
        lines.append(("doubt", "" if alike else ", ".join(names), ": " * (not alike) + warning))
    return lines


def _unrecorded(
    runs: Mapping[str, RunFiles], picture: Mapping[str, Any] | None
) -> list[tuple[str, str, list[str]]]:
    """Return what the picture of the network lacks, how to record it, and the runs without it."""
    if picture is None:
        return []
    drawn = picture["runs"]
    still = [name for name in runs if not drawn[name]["used_over_time"]]
    treeless = [name for name in runs if drawn[name]["paused"] and not has_trees(runs[name])]
    return [
        ("Pause trees", "pauses = { flows = false }", treeless),
        ("Utilisation over time", 'utilisation = { every = "10us" }', still),
    ]


def _slowest(flows: Mapping[str, figures.Flows]) -> Table:
    """Return the table of the flows with the largest slowdown, for each scheme."""
    rows = [
        [
            name,
            str(flow["id"]),
            str(flow["source"]),
            f"{flow['src']} → {flow['dst']}",
            bytes_text(flow["bytes"]),
            time_text(flow["start_ps"]),
            time_text(flow["ended_ps"] - flow["start_ps"]),
            f"{flow['slowdown']:.4g}",
        ]
        for name, one in flows.items()
        for flow in one.slowest
    ]
    head = ("scheme", "flow", "traffic", "hosts", "size", "start", "FCT", "slowdown")
    return Table(head, rows, by_scheme=True)


def _ports(runs: Mapping[str, RunFiles]) -> Table:
    """Return the table of the ports that were paused longest or had the longest queue.

    It has such ports for each scheme.
    """
    rows = []
    for name, run in runs.items():
        ports = run.table("ports")
        chosen = {
            (row["name"], row["peer_name"]): row
            for key in ("paused_ps", "max_queue_bytes")
            for row in ports.top_k(PORTS, by=key).sort(key, descending=True).to_dicts()
            if row[key]
        }
        seconds = run.summary["end_ps"] / 1e12
        for (node, peer), row in chosen.items():
            # TOP-27: the bytes of a frame count from the start of its transmission
            used = min(8 * row["tx_bytes"] / (row["rate_bps"] * seconds), 1.0)
            rows.append(
                [
                    name,
                    f"{node} → {peer}",
                    f"{used:.1%}",
                    bytes_text(row["max_queue_bytes"]),
                    str(row["pauses"]),
                    str(row.get("pause_frames", "")),
                    time_text(row["paused_ps"]),
                    str(row["marked"]),
                    str(sum(v for k, v in row.items() if k.startswith("dropped_"))),
                ]
            )
    head = (
        *("scheme", "port", "busy", "longest queue"),
        *("pauses", "pause frames", "paused", "marked", "dropped"),
    )
    return Table(head, rows, by_scheme=True)
