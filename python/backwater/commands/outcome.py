"""Shows the progress of runs that a command starts, and reports their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from backwater.commands.common import FAILED, GOOD, STOPPED, print_json, say, shown
from backwater.commands.declare import Exit
from backwater.errors import Interrupted

if TYPE_CHECKING:
    from backwater.results.results import Results
    from backwater.running.progress import Listener


def watch(name: str, simulate: Callable[[Listener], Results]) -> tuple[Results, bool]:
    """Call `simulate` and show its progress; return its results, and true if Ctrl-C ended it."""
    from backwater.running.progress import display

    try:
        with display(name) as listener:
            return simulate(listener), False
    except Interrupted as stop:
        found: Results = stop.result
        return found, True


def end(
    result: Results,
    stopped: bool,
    *,
    summary: Any = None,
    details: Sequence[str] = (),
    good: bool = True,
    printed: Collection[str] = (),
) -> NoReturn:
    """Print the results as a table, or `summary` as JSON if it is given, and exit.

    `good` is false if the caller found an error. `printed` are warnings that were printed before.
    """
    from backwater.commands.terminal import print_audit, print_results
    from backwater.results import REPORT

    if summary is not None:
        print_json(summary)
    else:
        print_results(result)
        for line in details:
            print(line)
    if len(result.points) <= MOST:
        print_audit(result.labelled(), printed)
    for point in result.points:
        if failure := result.failed.get(point.key):
            say(f"error: {result.label(point) or point.scheme} failed: {failure.message}")
    report = result.path / REPORT
    several = len(result.points) > 1
    say(f"report: {report}" if several and report.is_file() else f"results: {shown(result)}")
    if stopped:
        say(f"Interrupted. The finished part is in {shown(result)}.")
        raise Exit(STOPPED)
    raise Exit(GOOD if good and result.ok else FAILED)


MOST = 12
"""Maximum number of runs whose warnings are printed."""
