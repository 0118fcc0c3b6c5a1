"""One self-contained page about one or several runs."""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections.abc import Mapping
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import plots
from backwater.errors import RunError
from backwater.files import write_whole
from backwater.tables import ROWS, audit, best, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from backwater.results import Run

_FIGURES = [
    (
        "slowdown",
        plots.slowdown,
        "FCT slowdown against flow size",
        "FCT to the receiver's last byte, divided by the FCT of the same flow alone in the network "
        "(base headers, no INT). Each point stands for a bin of flow sizes with about the same "
        "number of flows, of which the last is split further. Flows of an incast are left out.",
    ),
    (
        "incast",
        plots.incast,
        "Completion of incast flows",
        "From the start of a flow to its last byte at the receiver.",
    ),
    (
        "buffer",
        plots.buffer,
        "Buffer occupancy",
        "Bytes in the shared buffer of a switch, over all probes of the measured time.",
    ),
    (
        "pauses",
        plots.pauses,
        "Time paused by PFC",
        "Share of the run during which ports were held by PFC, by the tier that has to wait and "
        "the tier it sends to.",
    ),
    (
        "active",
        plots.active,
        "Active flows per port",
        "Flows with at least one packet queued at a switch port, over all probes.",
    ),
]


def write_report(
    path: Path, runs: Mapping[str, Run], about: Mapping[str, Any] | None = None
) -> Path:
    """Write the page; ``about`` is what a comparison knows beside its runs."""
    write_whole(path, render(runs, about))
    return path


def render(runs: Mapping[str, Run], about: Mapping[str, Any] | None = None) -> str:
    """Return the page as HTML."""
    if not runs:
        raise RunError("no run to report on")
    first = next(iter(runs.values()))
    sections = [
        _header(first, runs),
        _notices(runs, about or {}),
        _table(runs),
        *(_figure(*figure, runs) for figure in _FIGURES),
        _audit(runs),
        _scenario(first, runs, about or {}),
        _foot(runs),
    ]
    body = "\n".join(section for section in sections if section)
    title = html.escape(f"{first.name}: {', '.join(runs)}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title} · Backwater</title>\n<style>{css()}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _header(first: Run, runs: Mapping[str, Run]) -> str:
    summary = first.summary
    facts = [
        ("schemes" if len(runs) > 1 else "scheme", ", ".join(runs)),
        ("flows", f"{summary['flows']['started']:,}"),
        ("measured time", f"{(summary['measure_to_ps'] - summary['measure_from_ps']) / 1e9:g} ms"),
        ("load", _load(summary)),
        ("seed", str(first.seed)),
        ("version", summary["backwater"]),
    ]
    cells = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in facts
        if value
    )
    return (
        f'<header><p class="brand">Backwater</p><h1>{html.escape(first.name)}</h1>'
        f"<dl>{cells}</dl></header>"
    )


def _load(summary: dict[str, Any]) -> str:
    """Asked and offered load: of the core, or where there is none, of the hosts' links."""
    links = "host" if summary["core"] is None else "core"
    named = {"host": "the hosts' links", "core": "the core"}[links]
    asked = [f"{a['source']} {a['fraction']:.1%}" for a in summary["asked"] if a["of"] == links]
    offered = f"{summary[links]['offered']:.1%} of {named} offered"
    return f"{' + '.join(asked)} asked, {offered}" if asked else offered


def _notices(runs: Mapping[str, Run], about: Mapping[str, Any]) -> str:
    lines = [
        ("bad", f"<b>{html.escape(name)}</b> failed: {html.escape(why)}")
        for name, why in about.get("failed", {}).items()
    ]
    if about.get("interrupted"):
        lines.append(("bad", "The comparison was interrupted: only a part of it is here."))
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
    return f'<section class="notices"><h2>Before you read on</h2><ul>{items}</ul></section>'


def _table(runs: Mapping[str, Run]) -> str:
    summaries = {name: run.summary for name, run in runs.items()}
    look = plots.styles(list(runs))
    heads = "".join(
        f'<th scope="col"><i style="background:{look[name].colour}"></i>{html.escape(name)}</th>'
        for name in runs
    )
    rows = []
    for group, members in groupby(ROWS, key=lambda row: row.group):
        rows.append(
            f'<tr class="group"><th scope="rowgroup" colspan="{len(runs) + 1}">{group}</th></tr>'
        )
        for row in members:
            winners = best(row, summaries)
            cells = "".join(
                _cell(text(row, summary), name in winners) for name, summary in summaries.items()
            )
            kind = " class=digest" if row.key == "digest" else ""
            rows.append(f'<tr{kind}><th scope="row">{html.escape(row.label)}</th>{cells}</tr>')
    return (
        '<section><h2>Results</h2><div class="scroll"><table class="results">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="note">Lowest values are bold, ideals aside. Percentiles are of flows that '
        "finished; MB = 10⁶ bytes. Pause time is summed over all ports. Payload utilisation counts "
        "flows received whole in the measured time; wire utilisation counts every byte of the "
        "whole run.</p>"
        "</section>"
    )


def _cell(content: str, is_best: bool) -> str:
    return f"<td{' class=best' if is_best else ''}>{html.escape(content)}</td>"


def _figure(key: str, draw: Any, title: str, caption: str, runs: Mapping[str, Run]) -> str:
    return (
        f'<figure id="{key}"><h2>{title}</h2>{svg(draw(runs), key)}'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _audit(runs: Mapping[str, Run]) -> str:
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
        '<section><h2>Audit</h2><div class="scroll"><table class="audit"><thead><tr><th>scheme</th>'
        "<th>result</th><th>the run ended</th><th>checks that held</th></tr></thead>"
        f"<tbody>{''.join(items)}</tbody></table></div></section>"
    )


def _scenario(first: Run, runs: Mapping[str, Run], about: Mapping[str, Any]) -> str:
    parts = ["<section><h2>To repeat it</h2>"]
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


def _foot(runs: Mapping[str, Run]) -> str:
    sentences = dict.fromkeys(s for run in runs.values() for s in run.summary["not_modelled"])
    version = html.escape(next(iter(runs.values())).summary["backwater"])
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    left_out = f"<h2>Not modelled</h2><ul>{items}</ul>" if items else ""
    return f"<footer>{left_out}<p>Backwater {version}</p></footer>"


def css() -> str:
    """Return the style of all pages."""
    return (resources.files("backwater") / "report.css").read_text(encoding="utf-8")


def svg(figure: Figure, salt: str) -> str:
    """Return a figure as inline SVG, the same text for the same figure."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    picture = buffer.getvalue()
    picture = picture[picture.index("<svg") :]
    # Identifiers are common to the whole page; each figure gets its own.
    prefix = "f" + hashlib.sha256(salt.encode()).hexdigest()[:6]
    picture = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', picture)
    picture = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}-", picture)
    return re.sub(
        r'<svg ([^>]*?)height="[^"]+"([^>]*?)width="[^"]+"', r"<svg \1\2", picture, count=1
    )
