"""Shows on standard error how far runs are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from backwater.units import clock_text, time_text

if TYPE_CHECKING:
    from backwater.simulate import Progress

_LINES_EVERY_S = 10.0

Shown = Callable[[str, "Progress"], None]


@contextmanager
def display(schemes: Sequence[str]) -> Iterator[Shown]:
    """Show bars on a terminal, and a line now and then where there is none."""
    if sys.stderr.isatty():
        with _bars(schemes) as shown:
            yield shown
    else:
        yield _lines()


@contextmanager
def _bars(schemes: Sequence[str]) -> Iterator[Shown]:
    from rich import progress as rich_progress
    from rich.console import Console

    columns = [
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=24),
        rich_progress.TextColumn("{task.percentage:>3.0f}%"),
        rich_progress.TextColumn("{task.fields[facts]}", style="dim"),
    ]
    console = Console(stderr=True)
    with rich_progress.Progress(*columns, console=console, refresh_per_second=8) as bars:
        tasks = {scheme: bars.add_task(scheme, total=1.0, facts="waits") for scheme in schemes}

        def shown(scheme: str, progress: Progress) -> None:
            bars.update(tasks[scheme], completed=progress.fraction, facts=facts(progress))

        yield shown


def _lines() -> Shown:
    told: dict[str, float] = {}

    def shown(scheme: str, progress: Progress) -> None:
        now = time.monotonic()
        if now - told.setdefault(scheme, now) >= _LINES_EVERY_S:
            told[scheme] = now
            print(f"{scheme}: {progress.fraction:.0%}, {facts(progress)}", file=sys.stderr)

    return shown


def facts(progress: Progress) -> str:
    """Say how far a run is: times, flows, speed, and what is left."""
    of = f" of {progress.flows:,}" if progress.flows is not None else ""
    draining = " (drains)" if progress.now_ps > progress.until_ps else ""
    return (
        f"{time_text(progress.now_ps)} of {time_text(progress.until_ps)}{draining}, "
        f"{progress.finished:,}{of} flows, "
        f"{progress.packet_hops_per_s / 1e6:.2f} M packet-hops/s, "
        f"{clock_text(progress.seconds_left)} left"
    )
