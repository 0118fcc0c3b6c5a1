"""A process that makes runs, one after the other, as it is told on its standard input.

It ends when that is closed, which the system does when its parent dies: nothing goes on that
nobody waits for.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backwater._base import durable as files
from backwater.errors import RunError, ScenarioError
from backwater.results import store
from backwater.running.job import Job

_TELL_EVERY_S = 0.5

Tell = Callable[[dict[str, Any]], None]


def main() -> None:
    """Make runs until there are no more orders."""
    # Ctrl-C goes to all processes of a terminal; the parent decides what becomes of runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nothing that is printed by accident may mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()

    def tell(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer, ensure_ascii=False) + "\n")

    from backwater.running import simulate  # noqa: F401 - loaded before the first run is timed.

    tell({"ready": True})
    while True:
        make(Job.from_json(orders.get()), tell)


def _listen(orders: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


def make(job: Job, tell: Tell) -> None:
    """Make one run, put it where it belongs, and tell how that went."""
    work = Path(job.work)
    began = time.monotonic()
    answer: dict[str, Any]
    try:
        summary = _simulate(job, work, tell)
        if job.final is not None:
            store.commit(work / "run", Path(job.final), job.about)
    except ScenarioError as error:
        answer = {"kind": "error", "message": str(error)}
    except RunError as error:
        trouble = error.errno in files.STORAGE_ERRORS
        answer = {"kind": "storage" if trouble else "error", "message": str(error)}
    except OSError as error:
        answer = {"kind": "storage", "message": files.explain(error)}
    except Exception as error:  # One run's failure is not the end of the others.
        answer = {"kind": "error", "message": f"{type(error).__name__}: {error}"}
    else:
        answer = {"kind": "done", "summary": summary}
    if job.final is not None:
        shutil.rmtree(work, ignore_errors=True)
    tell({"key": job.key, "seconds": time.monotonic() - began, **answer})


def _simulate(job: Job, work: Path, tell: Tell) -> dict[str, Any]:
    from backwater.running import simulate

    work.mkdir(parents=True)
    scenario = work / "scenario.toml"
    scenario.write_text(job.scenario, encoding="utf-8")
    for one in job.inputs:
        (work / one.name).write_bytes(one.bytes())
    told = time.monotonic()

    def listener(_: str, progress: simulate.Progress) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _TELL_EVERY_S:
            told = now
            tell({"key": job.key, "fraction": progress.fraction})

    run = simulate.run(
        scenario, out=work / "run", listener=listener, threads=job.threads, profile=job.profile
    )
    # The words of the scenario as it was requested, and the names of its own files.
    (run.path / "resolved.toml").write_text(job.resolved, encoding="utf-8")
    return run.summary


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
