"""A process that makes runs, one after the other, as its standard input requests.

The process ends when its standard input is closed. The system closes it when the parent dies.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from backwater import _core
from backwater._base import durable as files
from backwater.errors import RunError, ScenarioError
from backwater.results import SUMMARY, store
from backwater.running.child import STOP
from backwater.running.job import Job
from backwater.running.progress import Progress
from backwater.running.single import simulate
from backwater.scenario import Scenario

_REPORT_EVERY_S = 0.5

Report = Callable[[dict[str, Any]], None]


def main() -> None:
    """Make runs until standard input ends."""
    # Ctrl-C reaches all processes of a terminal. Only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output carries the answers, so other output goes to standard error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()

    def report(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer, ensure_ascii=False) + "\n")

    report({"ready": True})
    while True:
        make(Job.from_json(orders.get()), report)


_interrupt = _core.Interrupt()


def _listen(orders: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        if line.encode() == STOP:
            _interrupt.set()
        else:
            orders.put(line)
    os._exit(0)


def make(job: Job, report: Report) -> None:
    """Make one run, move it to its directory, and report the result."""
    work = Path(job.work)
    began = time.monotonic()
    answer: dict[str, Any]
    try:
        summary = _simulate(job, work, report)
        if summary["partial"]:
            if job.partial is not None:
                store.keep_partial(work / "run", Path(job.partial))
        elif job.final is not None:
            store.commit(work / "run", Path(job.final), job.about)
    except ScenarioError as error:
        answer = {"kind": "error", "message": str(error)}
    except RunError as error:
        trouble = error.errno in files.STORAGE_ERRORS
        answer = {"kind": "storage" if trouble else "error", "message": str(error)}
    except OSError as error:
        answer = {"kind": "storage", "message": files.explain(error)}
    except Exception as error:  # An error in one run must not end the process.
        answer = {"kind": "error", "message": f"{type(error).__name__}: {error}"}
    else:
        kind = "partial" if summary["partial"] else "done"
        answer = {"kind": kind, "summary": summary}
    if job.final is not None:
        shutil.rmtree(work, ignore_errors=True)
    report({"key": job.key, "seconds": time.monotonic() - began, **answer})


def _simulate(job: Job, work: Path, report: Report) -> dict[str, Any]:
    work.mkdir(parents=True)
    path = work / "scenario.toml"
    path.write_text(job.scenario, encoding="utf-8")
    for one in job.inputs:
        (work / one.name).write_bytes(one.bytes())
    reported_at = -math.inf
    last: Progress | None = None

    def listener(progress: Progress) -> None:
        nonlocal reported_at, last
        last = progress
        now = time.monotonic()
        if now - reported_at >= _REPORT_EVERY_S:
            reported_at = now
            report({"key": job.key, "progress": asdict(progress)})

    scenario = Scenario(path, profile=job.profile).loaded()
    made = work / "run"
    summary = simulate(scenario, made, False, job.key, listener, _interrupt, job.threads)
    if last is not None:
        report({"key": job.key, "progress": asdict(last)})
    # Write the scenario as it was requested, with its original file names.
    (made / "resolved.toml").write_text(job.resolved, encoding="utf-8")
    # Positions in the temporary scenario are of no use to the user.
    place = re.compile(rf"^{re.escape(str(path))}:\d+:\d+: ")
    warnings = [place.sub("", warning) for warning in summary["warnings"]]
    if warnings != summary["warnings"]:
        summary["warnings"] = warnings
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        (made / SUMMARY).write_text(text, encoding="utf-8")
    return summary


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
