"""Shows on standard error how far a campaign is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from backwater._base.units import duration_text

if TYPE_CHECKING:
    from backwater.running.runner import Listener, Status

_LINES_EVERY_S = 10.0


@contextmanager
def display(name: str) -> Iterator[Listener]:
    """Show a bar on a terminal, and a line now and then where there is none."""
    if sys.stderr.isatty():
        with _bar(name) as shown:
            yield shown
    else:
        yield _lines(name)


@contextmanager
def _bar(name: str) -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[facts]}", style="dim"),
    ]
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=8) as bars:
        task = bars.add_task(name, total=1.0, facts="begins")

        def shown(status: Status) -> None:
            bars.update(task, completed=_fraction(status), facts=facts(status))

        yield shown


def _lines(name: str) -> Listener:
    told = time.monotonic()

    def shown(status: Status) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _LINES_EVERY_S:
            told = now
            print(f"{name}: {_fraction(status):.0%}, {facts(status)}", file=sys.stderr)

    return shown


def _fraction(status: Status) -> float:
    made = status.there + status.done + status.failed + sum(status.running.values())
    return made / status.total if status.total else 1.0


def facts(status: Status) -> str:
    """Say how far a campaign is."""
    words = [f"{status.there + status.done:,} of {status.total:,} runs"]
    if status.failed:
        words.append(f"{status.failed:,} failed")
    words.append(f"{len(status.running)} at work")
    if (left := status.seconds_left) is not None:
        words.append(f"{duration_text(left)} left")
    return ", ".join(words)
