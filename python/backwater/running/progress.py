"""Progress of runs, and its display in a terminal or a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from backwater._base.units import bytes_text, clock_text, duration_text, time_text

_LINES_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of one run."""

    now_ps: int
    """Simulated time."""

    until_ps: int | None
    """Time when the last flow may start. Flows in flight at that time may take longer.

    ``None``: flows start only when operations of workloads start them.
    """

    started: int
    finished: int
    flows: int | None
    """Number of all flows, if it is known before the run."""

    packet_hops: int

    seconds: float
    """Wall-clock time since the run began."""

    moved_ps: int | None = None
    """Time when the last packet arrived or the last flow started; ``None`` if unknown."""

    fullest: tuple[str, int] | None = None
    """The switch with the most bytes in its buffer, and these bytes. ``None``: all are empty."""

    operations: tuple[float, int] | None = None
    """Number of finished operations of workloads, and number of all operations.

    A collective in progress counts by the share of its steps that have ended. ``None``: there are
    no workloads.
    """

    @property
    def fraction(self) -> float:
        """Fraction of the work that is done, between 0 and 1, by operations or by flows.

        If the run has both, the smaller fraction is used.
        """
        if self.flows:
            return min(self.finished / self.flows, 1.0)
        worked = 1.0
        if self.operations is not None:
            ended, operations = self.operations
            worked = min(ended / operations, 1.0) if operations else 1.0
            if self.until_ps is None:
                return worked
        arrived = min(self.now_ps / self.until_ps, 1.0) if self.until_ps else 1.0
        served = min(self.finished / self.started, 1.0) if self.started else 0.0
        return min(arrived * served, worked)

    @property
    def stalled_ps(self) -> int:
        """Time for which no packet has moved although flows are unfinished."""
        waits = self.moved_ps is not None and self.finished < self.started
        return max(self.now_ps - (self.moved_ps or 0), 0) if waits else 0

    @property
    def packet_hops_per_s(self) -> float:
        """Packet-hops per second of wall-clock time."""
        return self.packet_hops / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time left; ``None`` if too little is known."""
        done = self.fraction
        return self.seconds * (1 - done) / done if done > 0.01 else None


@dataclass(slots=True)
class Status:
    """Progress of all runs. Equal runs count once."""

    total: int
    cached: int = 0
    """Number of runs that were stored before."""

    done: int = 0
    """Number of runs that finished now."""

    failed: int = 0
    running: dict[str, Progress | None] = field(default_factory=dict)
    """Progress of the runs in progress, by label; ``None`` before the first report."""

    waiting: list[str] = field(default_factory=list)
    """Labels of runs that have not started, if there are few."""

    seconds: float = 0.0
    """Wall-clock time since the first run began."""

    @property
    def left(self) -> int:
        """Number of runs that have neither finished nor failed."""
        return self.total - self.cached - self.done - self.failed

    @property
    def fraction(self) -> float:
        """Fraction of all runs that is done, between 0 and 1."""
        if not self.total:
            return 1.0
        return (self.cached + self.done + self.failed + self._begun) / self.total

    @property
    def _begun(self) -> float:
        return sum(one.fraction for one in self.running.values() if one is not None)

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time left; ``None`` if too little is known."""
        made = self.done + self.failed + self._begun
        return self.seconds * ((self.left - self._begun) / made) if made > 0.01 else None


Listener = Callable[[Status], None]
"""Receives the state of the runs about ten times a second, on the thread that called ``run``."""

FEW = 12
"""Maximum number of runs for which each run has its own bar."""


@contextmanager
def display(name: str) -> Iterator[Listener]:
    """Yield a listener that shows bars on a terminal, or else prints a line every ten seconds."""
    if sys.stderr.isatty():
        with _bars(name) as shown:
            yield shown
    else:
        yield _lines(name)


@contextmanager
def watched(listener: Listener | None) -> Iterator[Listener | None]:
    """Yield the listener. If it is None in a notebook, yield a listener that shows bars."""
    if listener is not None or not _in_notebook():
        yield listener
        return
    from IPython.display import HTML, display

    shown = display(HTML(""), display_id=True)
    try:
        yield lambda status: shown.update(HTML(_html_bars(status)))
    finally:
        shown.update(HTML(""))


_WIDTHS = {"time": 26, "left": 14, "rate": 17, "trouble": 20, "fullest": 22, "work": 26}
"""Characters of the columns, with the spaces between them. The least important column is last."""

STALL_PS = 100_000_000
"""A run counts as stalled if no packet has moved for this simulated time: 100 µs."""


@contextmanager
def _bars(name: str) -> Iterator[Listener]:
    from rich import progress as rich_progress
    from rich.console import Console

    console = Console(stderr=True)
    room = max(console.width - len(name) - 22, 0)
    fields = list(_WIDTHS)
    kept = [one for i, one in enumerate(fields) if sum(_WIDTHS[n] for n in fields[: i + 1]) < room]
    columns = [
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(bar_width=14),
        rich_progress.TextColumn("{task.percentage:>3.0f}%"),
        *(
            rich_progress.TextColumn(
                f"{{task.fields[{one}]:<{_WIDTHS[one] - 2}}}",
                style="bold red" if one == "trouble" else "dim",
            )
            for one in kept
        ),
    ]
    empty: dict[str, Any] = dict.fromkeys(fields, "")
    with rich_progress.Progress(*columns, console=console, refresh_per_second=8) as bars:
        tasks: dict[str, Any] = {}

        def shown(status: Status) -> None:
            if status.total > FEW:
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=1.0, **empty)
                bars.update(tasks[name], completed=status.fraction, time=facts_of_all(status))
                return
            for label in (*status.running, *status.waiting):
                if label not in tasks:
                    tasks[label] = bars.add_task(label or name, total=1.0, **empty)
            for label, task in tasks.items():
                if label in status.waiting:
                    bars.update(task, time="waits")
                elif (progress := status.running.get(label)) is not None:
                    words: dict[str, Any] = _fields(progress)
                    bars.update(task, completed=progress.fraction, **words)
                elif label not in status.running:
                    bars.update(task, completed=1.0)

        yield shown


def _lines(name: str) -> Listener:
    told = time.monotonic()

    def shown(status: Status) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < _LINES_EVERY_S:
            return
        told = now
        if status.total > FEW:
            print(f"{name}: {status.fraction:.0%}, {facts_of_all(status)}", file=sys.stderr)
            return
        for label, progress in status.running.items():
            if progress is not None:
                line = f"{label or name}: {progress.fraction:.0%}, {facts(progress)}"
                print(line, file=sys.stderr)

    return shown


def _html_bars(status: Status) -> str:
    def bar(label: str, done: float, words: str) -> str:
        left = 'style="text-align:left"'
        return (
            f"<tr><td {left}>{html.escape(label)}</td>"
            f'<td><progress value="{done:.3f}" max="1"></progress></td>'
            f"<td {left}>{html.escape(words)}</td></tr>"
        )

    rows = [bar("all runs", status.fraction, facts_of_all(status))] if status.total > 1 else []
    if status.total <= FEW:
        for label, progress in status.running.items():
            done, words = (progress.fraction, facts(progress)) if progress else (0.0, "starts")
            rows.append(bar(label or "run", done, words))
        rows += [bar(label, 0.0, "waits") for label in status.waiting]
    return f"<table>{''.join(rows)}</table>"


def _fields(progress: Progress) -> dict[str, str]:
    """Return the progress of a run as the text of each column."""
    of = f" of {progress.flows:,}" if progress.flows is not None else ""
    until_ps = progress.until_ps
    clock = time_text(progress.now_ps)
    work = f"{progress.finished:,}{of} flows"
    # The end of the last operation is not known before the run.
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


def facts(progress: Progress) -> str:
    """Return the progress of a run: time, flows or operations, speed, time left, and stalls."""
    said = _fields(progress)
    rate = said["rate"].replace("hops", "packet-hops")
    words = [said["time"], said["work"], rate, said["left"], said["trouble"]]
    return ", ".join(word for word in words if word)


def facts_of_all(status: Status) -> str:
    """Return the progress of all runs as text."""
    words = [f"{status.cached + status.done:,} of {status.total:,} runs"]
    if status.failed:
        words.append(f"{status.failed:,} failed")
    words.append(f"{len(status.running)} in progress")
    if (left := status.seconds_left) is not None:
        words.append(f"{duration_text(left)} left")
    return ", ".join(words)


def _in_notebook() -> bool:
    """Return true if this code runs in the cells of a notebook, not in a script or a terminal."""
    if "IPython" not in sys.modules:
        return False
    shell: Any = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
