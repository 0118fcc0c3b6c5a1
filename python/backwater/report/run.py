"""One self-contained page about one or several runs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from backwater._base.units import bytes_text, time_text
from backwater.analysis.pauses import has_trees
from backwater.errors import RunError
from backwater.plots import figures
from backwater.plots.charts import Table
from backwater.plots.curves import styles, until
from backwater.report import facts, network, workloads
from backwater.report.charts import chart_html, table_html
from backwater.report.document import document, header, not_modelled, with_code
from backwater.results.columns import audit, one_seed, rows_of, text, without_flows
from backwater.results.files import RunFiles
from backwater.results.ranking import rank, sentence
from backwater.results.results import Results

PORTS = 10
"""Number of ports of each scheme that the page lists, by each of two measures."""


def render(results: Results) -> str:
    """Return the page as HTML."""
    runs = results.labelled()
    if not runs:
        raise RunError(f"{results.path}: no run is finished, so there is nothing to report on")
    first = next(iter(runs.values()))
    flows = figures.read(runs)
    all_charts = [*workloads.charts(runs), *figures.charts(runs, flows)]
    drawn = [chart for chart in all_charts if chart.views]
    picture = network.gather(runs)
    sections = [
        _header(first, runs, results),
        _answer(results),
        _notices(runs, results),
        _table(runs),
        *(chart_html(chart) for chart in drawn),
        _network(runs, picture),
        _late_collectives(runs),
        _slowest(flows),
        _ports(runs),
        _audit(runs),
        _scenario(runs, results.about),
        _foot(runs),
    ]
    title = f"{first.name}: {', '.join(runs)}"
    return document(title, sections, list(runs), drawn, picture)


def _header(first: RunFiles, runs: Mapping[str, RunFiles], results: Results) -> str:
    summary = first.summary
    lines = [
        ("schemes" if len(runs) > 1 else "scheme", ", ".join(runs)),
        ("flows", f"{summary['flows']['started']:,}"),
        ("measured time", f"{(summary['measure_to_ps'] - summary['measure_from_ps']) / 1e9:g} ms"),
        ("load", _load(summary)),
        ("time of a flow", until(run.fct_until for run in runs.values())),
        ("seed", str(first.seed)),
        *facts.of_run(first, results),
        ("version", summary["backwater"]),
    ]
    return header("Backwater", first.name, lines)


def _load(summary: dict[str, Any]) -> str:
    """Return the requested and the offered load of the core, or of host links without a core."""
    links = "host" if summary["core"] is None else "core"
    named = {"host": "the hosts' links", "core": "the core"}[links]
    asked = [f"{a['source']} {a['fraction']:.1%}" for a in summary["asked"] if a["of"] == links]
    offered = f"{summary[links]['offered']:.1%} of {named} offered"
    return f"requested {' + '.join(asked)}; {offered}" if asked else offered


def _answer(results: Results) -> str:
    """Return the summary sentence of the page if several schemes are compared."""
    ranking = rank(results)
    if ranking is None:
        return ""
    return f'<section id="answer"><p>{html.escape(sentence(results, ranking))}</p></section>'


def _notices(runs: Mapping[str, RunFiles], results: Results) -> str:
    lines = [
        ("bad", f"<b>{html.escape(results.label(p))}</b> failed: {html.escape(failure.message)}")
        for p in results.points
        if (failure := results.failed.get(p.key))
    ]
    if missing := results.counts["missing"]:
        lines.append(("bad", f"{missing} runs are missing: the results are not complete."))
    lines += [("doubt", html.escape(note)) for note in results.about.get("notes", [])]
    for name, run in runs.items():
        if run.partial:
            at = run.summary["end_ps"] / 1e9
            lines.append(("bad", f"<b>{html.escape(name)}</b> was interrupted at {at:.3g} ms."))
    by_text: dict[str, list[str]] = {}
    for name, run in runs.items():
        for warning in run.summary["warnings"]:
            by_text.setdefault(warning, []).append(name)
    for warning, names in by_text.items():
        who = "" if len(names) == len(runs) else f"<b>{html.escape(', '.join(names))}</b>: "
        lines.append(("doubt", who + html.escape(warning)))
    if not lines:
        return ""
    items = "".join(f'<li class="{kind}">{line}</li>' for kind, line in lines)
    return f'<section class="notices"><h2>Warnings</h2><ul>{items}</ul></section>'


def _table(runs: Mapping[str, RunFiles]) -> str:
    summaries = {name: run.summary for name, run in runs.items()}
    look = styles(list(runs))
    heads = "".join(
        f'<th scope="col" data-scheme="{html.escape(name)}">'
        f'<i style="background:{look[name].colour}"></i>{html.escape(name)}</th>'
        for name in runs
    )
    rows = []
    for group, members in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        rows.append(
            f'<tr class="group"><th scope="rowgroup" colspan="{len(runs) + 1}">'
            f"<span>{group}</span></th></tr>"
        )
        for row in members:
            cells = "".join(_cell(name, text(row, summary)) for name, summary in summaries.items())
            kind = " class=digest" if row.name == "digest" else ""
            rows.append(f'<tr{kind}><th scope="row">{html.escape(row.label)}</th>{cells}</tr>')
    by_row = " by-row" if len(runs) > 1 else ""
    how = "A click on the name of a row puts the schemes in its order. " if by_row else ""
    notes = (one_seed(summaries.values()), without_flows(summaries.values()))
    beside = "".join(f"{with_code(note)} " for note in notes if note)
    return (
        '<section id="results"><h2>Results</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Results">'
        f'<table class="results{by_row}">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="note">{beside}{how}Percentiles are '
        "of the flows that finished. The row above them has the number of these flows. MB = 10⁶ "
        "bytes. Payload utilisation counts flows that started and were received whole in the "
        "measured time, in one direction. Total utilisation counts all bytes of the whole run in "
        "both directions.</p>"
        "</section>"
    )


def _cell(scheme: str, content: str) -> str:
    return f'<td data-scheme="{html.escape(scheme)}">{html.escape(content)}</td>'


def _network(runs: Mapping[str, RunFiles], picture: Mapping[str, Any] | None) -> str:
    if picture is None:
        return ""
    schemes = "".join(f"<option>{html.escape(name)}</option>" for name in runs)
    drawn = picture["runs"]
    still = [name for name in runs if not drawn[name]["used_over_time"]]
    treeless = [name for name in runs if drawn[name]["paused"] and not has_trees(runs[name])]
    unrecorded = (
        _unrecorded("Pause trees", "pauses = { flows = false }", treeless, runs),
        _unrecorded("Utilisation over time", 'utilisation = { every = "10us" }', still, runs),
    )
    return (
        '<figure id="network"><h2>The network over time</h2><div class="controls">'
        f'<label>Scheme <select name="scheme" autocomplete="off">{schemes}</select></label>'
        '<label>Links <select name="shows" autocomplete="off">'
        '<option value="paused"></option><option value="trees"></option>'
        '<option value="used"></option></select></label>'
        '<button type="button" class="play">Play</button>'
        '<label class="slider">Time <input type="range" name="time" min="0" '
        f'max="{picture["frames"] - 1}" value="0" autocomplete="off"></label>'
        '<output class="time"></output></div><div class="picture"></div>'
        '<p class="told" aria-live="polite"></p>'
        "<figcaption>Each square is a switch: the redder it is, the more bytes its buffer held in "
        'this part of the run, up to the most of this scheme, <span class="most"></span>. Each '
        "link has two lines, one for each direction; the thicker and redder it is, the longer it "
        "was paused, or the busier it was. In pause trees a colour stands for a congested port."
        f"{''.join(unrecorded)}</figcaption></figure>"
    )


def _unrecorded(what: str, key: str, names: Sequence[str], runs: Mapping[str, RunFiles]) -> str:
    """Return a sentence about runs without a record, and how to record it."""
    if not names:
        return ""
    of = "" if len(names) == len(runs) else f" of {html.escape(', '.join(names))}"
    are = "are" if what.endswith("s") else "is"
    return (
        f" {what}{of} {are} not recorded: it takes <code>{html.escape(key)}</code> under "
        "<code>[record]</code> of the scenario."
    )


def _late_collectives(runs: Mapping[str, RunFiles]) -> str:
    """List the causes of delay of the slowest collectives of each scheme."""
    late = workloads.late(runs)
    if late is None:
        return ""
    links = ""
    if late.links.rows:
        links = (
            "<h3>Links on which the sends of these paths lost time</h3>"
            f"{table_html(late.links, 'Links that made collectives late')}"
        )
    elif not late.unrecorded:
        links = '<p class="note">No send of these paths lost time at a link.</p>'
    sends = ""
    if late.sends.rows:
        sends = (
            "<h3>Sends of these paths that took longest beyond what they take alone</h3>"
            f"{table_html(late.sends, 'Sends that made collectives late')}"
        )
    schemes = html.escape(", ".join(late.unrecorded))
    unrecorded = (
        f'<p class="note">On which links sends lost time is not recorded of {schemes}: it needs '
        "<code>blame = {}</code> under <code>[record]</code> of the scenario, or <code>backwater "
        "collectives RUN --record</code>.</p>"
        if late.unrecorded
        else ""
    )
    return (
        '<section id="late"><h2>What made the slowest collectives late</h2><p class="note">The '
        f"{workloads.LATE} collectives of each scheme that took longest (where there are "
        f"{workloads.MANY:,} flows or more, the slowest alone), and their critical paths: "
        "the sends that followed each other up to the end of the last rank. Under way is how long "
        "these were on their way, alone how long they take where nothing else sends, before sends "
        "the time between the last message that a rank waited for and its own send. All: "
        "<code>backwater collectives RUN</code>.</p>"
        f"{table_html(late.collectives, 'The slowest collectives')}{links}{sends}{unrecorded}"
        "</section>"
    )


def _slowest(flows: Mapping[str, figures.Flows]) -> str:
    """List the flows with the largest slowdown of each scheme."""
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
    if not rows:
        return ""
    head = ("scheme", "flow", "traffic", "hosts", "size", "start", "FCT", "slowdown")
    return (
        f'<section id="slowest"><h2>The slowest flows</h2><p class="note">The {figures.SLOWEST} '
        "flows of each scheme with the largest FCT slowdown, incasts included. What they waited "
        "for: <code>backwater explain RUN --worst 25 --record</code>.</p>"
        f"{table_html(Table(head, rows, by_scheme=True), 'The slowest flows')}</section>"
    )


def _ports(runs: Mapping[str, RunFiles]) -> str:
    """List the ports of each scheme that were paused longest or had the longest queue."""
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
    if not rows:
        return ""
    head = (
        *("scheme", "port", "busy", "longest queue"),
        *("pauses", "pause frames", "paused", "marked", "dropped"),
    )
    return (
        '<section id="ports"><h2>The busiest ports</h2><p class="note">The ports of each scheme '
        f"that PFC held longest, and those with the longest queue, {PORTS} each. The other ones "
        "are in <code>ports.parquet</code>.</p>"
        f"{table_html(Table(head, rows, by_scheme=True), 'The busiest ports')}</section>"
    )


def _audit(runs: Mapping[str, RunFiles]) -> str:
    items = []
    for name, run in runs.items():
        summary = run.summary
        bad = [
            f"<b>{html.escape(v['check'])}</b>: {html.escape(v['message'])}"
            for v in summary["violations"]
        ]
        bad += [html.escape(line) for line in summary["stall"]]
        held = ", ".join(html.escape(check) for check in summary["checks"]) or "none"
        details = "".join(f"<li>{line}</li>" for line in bad)
        state = "good" if run.ok else "bad"
        items.append(
            f'<tr><th scope="row">{html.escape(name)}</th>'
            f'<td class="{state}">{html.escape(audit(summary))}</td>'
            f"<td>{html.escape(summary['ending'])}</td><td>{held}"
            f"{f'<ul>{details}</ul>' if details else ''}</td></tr>"
        )
    return (
        '<section id="audit"><h2>Audit</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Audit">'
        '<table class="audit"><thead><tr><th>scheme</th>'
        "<th>result</th><th>the run ended</th><th>checks that held</th></tr></thead>"
        f"<tbody>{''.join(items)}</tbody></table></div></section>"
    )


def _scenario(runs: Mapping[str, RunFiles], about: Mapping[str, Any]) -> str:
    parts = ['<section id="repeat"><h2>Reproduce</h2>']
    if command := about.get("command"):
        parts.append(f"<pre><code>{html.escape(command)}</code></pre>")
    if given := about.get("scenario_text"):
        name = html.escape(str(about.get("scenario", "scenario")))
        parts.append(
            f"<details><summary>The scenario, <code>{name}</code></summary>"
            f"<pre>{html.escape(given)}</pre></details>"
        )
    for name, run in runs.items():
        parts.append(
            f"<details><summary>Every value of <code>{html.escape(name)}</code>, defaults "
            f"included</summary><pre>{html.escape(run.resolved)}</pre></details>"
        )
    return "".join(parts) + "</section>"


def _foot(runs: Mapping[str, RunFiles]) -> str:
    version = html.escape(next(iter(runs.values())).summary["backwater"])
    left_out = not_modelled({name: [run.summary["not_modelled"]] for name, run in runs.items()})
    return f"<footer>{left_out}<p>Backwater {version}</p></footer>"
