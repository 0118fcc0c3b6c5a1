"""Simulations that a command starts: shown while they go on, and told about when they are over."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from backwater.commands.common import FAILED, GOOD, STOPPED, say, shown
from backwater.commands.declare import Exit
from backwater.errors import Interrupted

if TYPE_CHECKING:
    from backwater.results import Comparison, Run
    from backwater.running.simulate import Listener

Result = TypeVar("Result", bound="Run | Comparison")


def watch(names: Sequence[str], simulate: Callable[[Listener], Result]) -> tuple[Result, bool]:
    """Show how far runs are, one of each name; return what they left, and whether it was Ctrl-C."""
    from backwater.running.progress import display

    try:
        with display(names) as tell:
            if len(names) > 1:
                return simulate(tell), False
            return simulate(lambda _, progress: tell(names[0], progress)), False
    except Interrupted as stop:
        return cast(Result, stop.result), True


def end(
    result: Run | Comparison,
    stopped: bool,
    *,
    summary: Any = None,
    details: Sequence[str] = (),
    good: bool = True,
    told: Collection[str] = (),
) -> NoReturn:
    """Print what came of runs, as JSON where there is a `summary`, and leave with an exit code.

    `good` says of them what they do not know themselves; `told` are warnings that are printed
    already.
    """
    from backwater.commands.terminal import print_audit, print_table
    from backwater.results import REPORT, Run

    runs = {result.scheme: result} if isinstance(result, Run) else result.runs
    failed = {} if isinstance(result, Run) else result.failed
    if summary is not None:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    elif runs:
        print_table(runs)
        for line in details:
            print(line)
    print_audit(runs, told)
    for name, why in failed.items():
        say(f"error: {name} failed: {why}")
    if isinstance(result, Run):
        say(f"results: {shown(result)}")
    elif runs:
        say(f"report: {shown(result)}/{REPORT}")
    if stopped:
        say(f"Interrupted. What was computed is in {shown(result)}.")
        raise Exit(STOPPED)
    raise Exit(GOOD if good and result.ok else FAILED)
