"""The table of results in a notebook."""

from __future__ import annotations

from backwater.report.document import filled
from backwater.report.run import table as table_of
from backwater.results.columns import text
from backwater.results.results import Results

MOST = 12
"""Maximum number of runs with a column each. More runs are shown as a data frame."""


def table(results: Results) -> str:
    """Return the table of results as HTML: a column per run."""
    if len(results.points) > MOST:
        shown: str = results.runs._repr_html_()
        return shown
    runs = results.labelled()
    remarks = []
    for name, run in runs.items():
        remarks += [(name, violation["message"]) for violation in run.summary["violations"]]
        remarks += [(name, warning) for warning in run.summary["warnings"]]
    for point in results.points:
        if failure := results.failed.get(point.key):
            remarks.append((results.label(point), f"failed: {failure.message}"))
    groups, notes = table_of(runs)
    return filled(
        "notebook.html", runs=runs, groups=groups, notes=notes, text=text, remarks=remarks
    )
