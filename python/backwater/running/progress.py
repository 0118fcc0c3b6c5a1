"""Shows on standard error how far runs are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from backwater._base.units import bytes_text, clock_text, time_text

if TYPE_CHECKING:
    from backwater.running.simulate import Progress

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

    console = Console(stderr=True)
    # The least needed stands last, and is left out where the window has no room for it.
    fields = ("time", "left", "rate", "trouble", "fullest", "work")
    room = max(console.width - max(map(len, schemes), default=0) - 22, 0)
    kept = [
        name for i, name in enumerate(fields) if sum(_WIDTHS[n] for n in fields[: i + 1]) < room
    ]
    columns = [
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=14),
        rich_progress.TextColumn("{task.percentage:>3.0f}%"),
        *(
            rich_progress.TextColumn(
                f"{{task.fields[{name}]:<{_WIDTHS[name] - 2}}}",
                style="bold red" if name == "trouble" else "dim",
            )
            for name in kept
        ),
    ]
    waiting: dict[str, Any] = dict.fromkeys(fields, "") | {"time": "waits"}
    with rich_progress.Progress(*columns, console=console, refresh_per_second=8) as bars:
        tasks = {scheme: bars.add_task(scheme, total=1.0, **waiting) for scheme in schemes}

        def shown(scheme: str, progress: Progress) -> None:
            words: dict[str, Any] = _fields(progress)
            bars.update(tasks[scheme], completed=progress.fraction, **words)

        yield shown


_WIDTHS = {"time": 26, "left": 14, "rate": 17, "trouble": 20, "fullest": 22, "work": 26}
"""Characters that the columns take, with the spaces between them."""

STALL_PS = 100_000_000
"""From this simulated time on without any arrival a run is said to stall: 100 µs."""


def _fields(progress: Progress) -> dict[str, str]:
    """Say how far a run is, in the words of each column."""
    of = f" of {progress.flows:,}" if progress.flows is not None else ""
    until_ps = progress.until_ps
    clock = time_text(progress.now_ps)
    work = f"{progress.finished:,}{of} flows"
    # Nobody knows beforehand when the last operation ends.
    if progress.operations is not None:
        ended, operations = progress.operations
        work = f"{int(ended):,} of {operations:,} operations"
    elif until_ps is not None:
        clock += f" of {time_text(until_ps)}{' (drains)' if progress.now_ps > until_ps else ''}"
    stalled = progress.stalled_ps >= STALL_PS
    fullest = progress.fullest
    return {
        "time": clock,
        "left": f"{clock_text(progress.seconds_left)} left",
        "rate": f"{progress.packet_hops_per_s / 1e6:.2f} M hops/s",
        "trouble": f"stalls for {time_text(progress.stalled_ps)}" if stalled else "",
        "fullest": f"{fullest[0]} holds {bytes_text(fullest[1])}" if fullest else "",
        "work": work,
    }


def _lines() -> Shown:
    told: dict[str, float] = {}

    def shown(scheme: str, progress: Progress) -> None:
        now = time.monotonic()
        if now - told.setdefault(scheme, now) >= _LINES_EVERY_S:
            told[scheme] = now
            print(f"{scheme}: {progress.fraction:.0%}, {facts(progress)}", file=sys.stderr)

    return shown


def facts(progress: Progress) -> str:
    """Say how far a run is: times, flows or operations, speed, time left, whether it stalls."""
    said = _fields(progress)
    rate = said["rate"].replace("hops", "packet-hops")
    words = [said["time"], said["work"], rate, said["left"], said["trouble"]]
    return ", ".join(word for word in words if word)
