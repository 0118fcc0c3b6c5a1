"""Runs that were started from the browser: processes of their own, which can be stopped."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backwater.ui.folder import Refused

AT_ONCE = 4
"""Runs that may be under way at a time."""

_LAST_WORDS = 12
_PATIENCE_S = 10


@dataclass
class Job:
    """A run under way, or what became of it."""

    number: int
    name: str
    process: subprocess.Popen[str]
    began: float = field(default_factory=time.monotonic)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_WORDS))
    stopped: bool = False

    @property
    def state(self) -> str:
        """Say in a word how it is."""
        code = self.process.poll()
        if code is None:
            return "stopping" if self.stopped else "running"
        if self.stopped:
            return "stopped"
        return "done" if code == 0 else "failed"

    def words(self) -> str:
        """Return the last line that it said, or all of the last ones where it failed."""
        lines = list(self.said)
        return "\n".join(lines) if self.state == "failed" else (lines or [""])[-1]


class Jobs:
    """All runs that were started."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Job]:
        with self._lock:
            return iter(list(self._jobs))

    def start(
        self, name: str, scenario: Path, out: Path, changes: Sequence[str], seed: int | None
    ) -> Job:
        """Run a scenario with changed keys into a new directory."""
        with self._lock:
            if sum(job.process.poll() is None for job in self._jobs) >= AT_ONCE:
                raise Refused(409, f"{AT_ONCE} runs are under way; stop one or wait")
            command = [sys.executable, "-m", "backwater", "run", str(scenario), "-o", str(out)]
            command += [f"--set={change}" for change in changes]
            if seed is not None:
                command.append(f"--seed={seed}")
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for the server, which then stops its runs.
            )
            job = Job(next(self._numbers), name, process)
            self._jobs.append(job)
        threading.Thread(target=_listen, args=(job,), daemon=True).start()
        return job

    def stop(self, number: int) -> None:
        """End a run; what it computed is kept."""
        with self._lock:
            found = [job for job in self._jobs if job.number == number]
        if not found:
            raise Refused(404, f"there is no run {number}")
        _end(found[0])

    def close(self) -> None:
        """End all of them, and wait until they have written what they computed."""
        running = [job for job in self if job.process.poll() is None]
        for job in running:
            _end(job)
        for job in running:
            try:
                job.process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                job.process.kill()


def _listen(job: Job) -> None:
    assert job.process.stderr is not None
    with job.process.stderr as lines:
        for line in lines:
            if line.strip():
                job.said.append(line.rstrip())
    job.process.wait()


def _end(job: Job) -> None:
    if job.process.poll() is None:
        job.stopped = True
        job.process.terminate()
