"""Makes one run in this process."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater import _core
from backwater._base.files import write_whole
from backwater.errors import ScenarioError
from backwater.results.files import RunFiles
from backwater.running.directories import claim_run, default_directory
from backwater.running.progress import Listener, Progress, Status, watched
from backwater.scenario import Scenario
from backwater.scenario.scenario import hash_bytes

# Maximum time that the main thread sleeps before it checks for Ctrl-C again.
_PATIENCE_S = 0.1

MOST_THREADS = 1024
"""The largest accepted number of threads. A run uses at most one thread per processor."""


@dataclass(frozen=True)
class Lockstep:
    """Options for a run whose frames pass through the kernel of the operating system.

    The process must be in a user namespace that allows this.
    """

    compare: bool = False
    """True if the simulator runs as well and the digests are compared."""

    KEPT = "lockstep.json"
    """File beside the results with the number of frames and the digest of the simulator."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def runs_at_a_time(threads: int) -> int:
    """Return how many runs of ``threads`` threads keep all processors busy; 0 threads means all."""
    return max(1, processors() // threads) if threads else 1


def check_threads(threads: int, lockstep: Lockstep | None = None) -> None:
    """Raise ``ScenarioError`` for an invalid number of threads; a run in lockstep needs one."""
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise ScenarioError(f"threads={threads!r}: expected a whole number, 0 for all processors")
    if not 0 <= threads <= MOST_THREADS:
        raise ScenarioError(
            f"{threads} threads: a run can have 1 to {MOST_THREADS}; 0 stands for all processors"
        )
    if lockstep is not None and threads != 1:
        raise ScenarioError(
            f"threads={threads}: a run in lockstep has one thread, because its nodes take turns; "
            "leave threads out"
        )


def default_out(scenario: Scenario, suffix: str | None) -> Path:
    """Return the preferred directory of results, which is used if the user names none."""
    stem = scenario.stem
    return Path("out") / (f"{stem}-{suffix}" if suffix else stem)


def run_one(
    scenario: Scenario,
    *,
    out: str | Path | None = None,
    force: bool = False,
    listener: Listener | None = None,
    threads: int = 1,
    lockstep: Lockstep | None = None,
) -> RunFiles:
    """Simulate a scenario in this process, and return its files, also after Ctrl-C.

    The run is in another thread. This thread calls the listener and waits for Ctrl-C.
    """
    check_threads(threads, lockstep)
    loaded = scenario.loaded()
    key = scenario.key
    if lockstep is not None:
        key = hash_bytes(json.dumps([key, lockstep.compare]).encode())
    preferred = default_out(scenario, scenario.scheme)
    path = Path(out) if out is not None else default_directory(preferred, key)
    claim_run(path, key, force)
    interrupt = _core.Interrupt()
    status = Status(total=1, running={scenario.scheme or "": None})
    failure: list[BaseException] = []
    over = threading.Event()

    def note(progress: Progress) -> None:
        status.running[scenario.scheme or ""] = progress

    def work() -> None:
        try:
            simulate(loaded, path, force, key, note, interrupt, threads, lockstep)
        except BaseException as error:  # The error is raised again in the waiting thread.
            failure.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=work, name="backwater")
    began = time.monotonic()
    try:
        with watched(listener) as shown:
            thread.start()
            try:
                _wait(over, interrupt, lambda: _show(shown, status, began))
            finally:
                interrupt.set()
                over.wait()
        if failure:
            raise failure[0]
    except BaseException:
        if out is None:
            with suppress(OSError):
                path.rmdir()  # Remove the default directory if it is empty.
        raise
    return RunFiles(path)


def _show(listener: Listener | None, status: Status, began: float) -> None:
    if listener is not None and None not in status.running.values():
        status.seconds = time.monotonic() - began
        listener(status)


def _wait(over: threading.Event, interrupt: _core.Interrupt, show: Callable[[], None]) -> None:
    # Thread.join is not used: if Ctrl-C interrupts it, it marks the thread as ended.
    while not over.is_set():
        try:
            over.wait(_PATIENCE_S)
            show()
        except KeyboardInterrupt:
            interrupt.set()


def simulate(
    scenario: _core.Scenario,
    out: Path,
    force: bool,
    key: str,
    listener: Callable[[Progress], None] | None,
    interrupt: _core.Interrupt,
    threads: int = 1,
    lockstep: Lockstep | None = None,
) -> dict[str, Any]:
    """Run the core until the end or until ``interrupt``, and return the summary."""
    began = time.monotonic()

    def progress(*known: Any) -> None:
        """Call the listener with the core's fields of :class:`Progress` and the wall-clock time."""
        if listener is not None:
            fields = [*known[:6], time.monotonic() - began, *known[6:]]
            listener(Progress(*fields))

    output = (str(out), force, key)
    if lockstep is None:
        result = scenario.run(output, progress, interrupt, threads)
    else:
        result, kept = _core.run_lockstep(scenario, output, progress, interrupt, lockstep.compare)
        write_whole(out / Lockstep.KEPT, kept + "\n")
    summary: dict[str, Any] = json.loads(result)
    flows, hops = summary["flows"], summary["performance"]["packet_hops"]
    started = None if summary["partial"] else flows["started"]
    end_ps = summary["end_ps"]
    progress(end_ps, end_ps, flows["started"], flows["finished"], started, hops)
    return summary
