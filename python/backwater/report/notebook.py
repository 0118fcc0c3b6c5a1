"""How runs show themselves in a notebook: as tables, and while they run as bars."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from backwater.results.tables import best, one_seed, rows_of, text, without_flows
from backwater.running.progress import facts

if TYPE_CHECKING:
    from backwater.results import Run
    from backwater.running.simulate import Listener, Progress

_RIGHT = 'style="text-align:right"'
_LEFT = 'style="text-align:left"'


def table(runs: Mapping[str, Run], failed: Mapping[str, str] | None = None) -> str:
    """Return the table of results as HTML: a column per run, the best of each row in bold."""
    summaries = {name: run.summary for name, run in runs.items()}
    heads = "".join(f"<th {_RIGHT}>{html.escape(name)}</th>" for name in runs)
    lines = [f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>"]
    for group, rows in groupby(rows_of(summaries.values()), key=lambda row: row.group):
        lines.append(f'<tr><th {_LEFT} colspan="{len(runs) + 1}">{html.escape(group)}</th></tr>')
        for row in rows:
            if row.key == "digest":
                continue
            winners = best(row, summaries)
            cells = "".join(
                f"<td {_RIGHT}>{_bold(text(row, summary), name in winners)}</td>"
                for name, summary in summaries.items()
            )
            lines.append(f"<tr><td {_LEFT}>{html.escape(row.label)}</td>{cells}</tr>")
    lines.append("</tbody></table>")
    notes = (one_seed(summaries.values()), without_flows(summaries.values()))
    lines += [f"<p>{html.escape(note)}</p>" for note in notes if note]
    for name, run in runs.items():
        lines += [_note(name, violation["message"]) for violation in run.summary["violations"]]
        lines += [_note(name, warning) for warning in run.summary["warnings"]]
    lines += [_note(name, f"failed: {why}") for name, why in (failed or {}).items()]
    return "".join(lines)


def _bold(words: str, bold: bool) -> str:
    return f"<b>{html.escape(words)}</b>" if bold else html.escape(words)


def _note(name: str, words: str) -> str:
    return f"<p><b>{html.escape(name)}</b>: {html.escape(words)}</p>"


@contextmanager
def watched(
    names: Sequence[str], listener: Listener | None
) -> Iterator[tuple[Listener | None, Callable[[], None]]]:
    """Give the listener of runs, and what the main thread is to call while it waits.

    Without a listener, in a notebook, these are bars that are gone when the runs are finished.
    Listeners are called on other threads, whose output a notebook would lose: they only note how
    far a run is, and the main thread shows it.
    """
    if listener is not None or not _in_notebook():
        yield listener, lambda: None
        return
    from IPython.display import HTML, display

    noted: dict[str, Progress] = {}
    shown = display(HTML(_bars(names, noted)), display_id=True)

    def note(name: str, progress: Progress) -> None:
        noted[name] = progress

    try:
        yield note, lambda: shown.update(HTML(_bars(names, noted)))
    finally:
        shown.update(HTML(""))


def _bars(names: Sequence[str], noted: Mapping[str, Progress]) -> str:
    def bar(name: str) -> str:
        progress = noted.get(name)
        done, words = (progress.fraction, facts(progress)) if progress else (0.0, "waits")
        return (
            f"<tr><td {_LEFT}>{html.escape(name or 'run')}</td>"
            f'<td><progress value="{done:.3f}" max="1"></progress></td>'
            f"<td {_LEFT}>{html.escape(words)}</td></tr>"
        )

    return f"<table>{''.join(bar(name) for name in names)}</table>"


def _in_notebook() -> bool:
    """Whether cells of a notebook are being run, as against a script or a terminal."""
    if "IPython" not in sys.modules:
        return False
    shell: Any = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
