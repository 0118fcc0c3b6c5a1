"""The table of results in a notebook."""

from __future__ import annotations

import html
from itertools import groupby

from backwater.report.document import with_code
from backwater.results.columns import one_seed, rows_of, text, without_flows
from backwater.results.results import Results

_RIGHT = 'style="text-align:right"'
_LEFT = 'style="text-align:left"'

MOST = 12
"""Maximum number of runs with a column each. More runs are shown as a data frame."""


def table(results: Results) -> str:
    """Return the table of results as HTML: a column per run."""
    if len(results.points) > MOST:
        shown: str = results.runs._repr_html_()
        return shown
    runs = results.labelled()
    summaries = {name: run.summary for name, run in runs.items()}
    heads = "".join(f"<th {_RIGHT}>{html.escape(name)}</th>" for name in runs)
    lines = [f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>"]
    for group, rows in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        lines.append(f'<tr><th {_LEFT} colspan="{len(runs) + 1}">{html.escape(group)}</th></tr>')
        for row in rows:
            if row.name == "digest":
                continue
            cells = "".join(
                f"<td {_RIGHT}>{html.escape(text(row, summary))}</td>"
                for summary in summaries.values()
            )
            lines.append(f"<tr><td {_LEFT}>{html.escape(row.label)}</td>{cells}</tr>")
    lines.append("</tbody></table>")
    notes = (one_seed(summaries.values()), without_flows(summaries.values()))
    lines += [f"<p>{with_code(note)}</p>" for note in notes if note]
    for name, run in runs.items():
        lines += [_note(name, violation["message"]) for violation in run.summary["violations"]]
        lines += [_note(name, warning) for warning in run.summary["warnings"]]
    for point in results.points:
        if failure := results.failed.get(point.key):
            lines.append(_note(results.label(point), f"failed: {failure.message}"))
    return "".join(lines)


def _note(name: str, content: str) -> str:
    return f"<p><b>{html.escape(name)}</b>: {html.escape(content)}</p>"
