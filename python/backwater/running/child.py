"""Starts a process for runs, supervises its limits, and restarts it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater._base.units import bytes_text
from backwater.errors import RunError, ScenarioError
from backwater.running.job import Job, Reply
from backwater.running.progress import Progress

_LOOK_EVERY_S = 0.05
"""Interval between two checks of the memory, in seconds."""

ORDER = ("-m", "backwater.running.worker")
"""Arguments of the Python interpreter that becomes a process for runs."""

_START_S = 60.0
"""Timeout for the start of a process."""

_GRACE_S = 20.0
"""Time that an interrupted run has to write its first part."""

STOP = b"stop\n"
"""The order that ends the run in progress early, so that its first part is stored."""


def check_positive(name: str, given: Any, kinds: Any) -> None:
    """Raise ``ScenarioError`` unless an argument is None or a number of type ``kinds`` above 0."""
    if given is not None and (
        not isinstance(given, kinds) or isinstance(given, bool) or not given > 0
    ):
        whole = "whole " if kinds is int else ""
        raise ScenarioError(f"{name}={given!r}: expected a {whole}number above 0")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    timeout_s: float | None = None
    memory_bytes: int | None = None

    def check(self) -> None:
        """Raise an error if a limit is not above 0, or if this system cannot enforce it."""
        check_positive("timeout_s", self.timeout_s, int | float)
        check_positive("memory_bytes", self.memory_bytes, int | float)
        if self.memory_bytes is not None and not Path("/proc/self/statm").exists():
            raise RunError("a limit of memory needs Linux: leave it out on this system")


class Stopped(Exception):
    """Raised if all runs were stopped while a run was in progress."""


def _never() -> bool:
    return False


@dataclass
class Child:
    """A process for runs. It executes one run after the other, and is replaced after a crash.

    A run ends if ``stopped`` returns true. If ``interrupted`` returns true, it also writes its
    first part.
    """

    limits: Limits
    stopped: Callable[[], bool] = _never
    interrupted: Callable[[], bool] = _never
    _process: subprocess.Popen[bytes] | None = None
    _rest: bytes = b""

    def execute(self, job: Job, report: Callable[[Progress], None] | None = None) -> Reply:
        """Execute a run in the process and return its reply. ``report`` receives its progress.

        Raises :class:`Stopped` if all runs were stopped in the meantime. Raises ``RunError`` if no
        process can be started, which is not an error of the run.
        """
        try:
            process = self._ready()
        except OSError as error:
            raise RunError(
                f"no process for runs can be started: {error.strerror}", error.errno
            ) from error
        began = time.monotonic()
        stop_sent_at: float | None = None
        try:
            _write(process, (job.to_json() + "\n").encode())
            while True:
                for answer in self._answers(process):
                    if "kind" in answer:
                        return Reply(**answer)
                    if report is not None:
                        report(Progress(**answer["progress"]))
                if self.interrupted() and stop_sent_at is None:
                    stop_sent_at = time.monotonic()
                    _write(process, STOP)
                if stop_sent_at is not None and time.monotonic() - stop_sent_at > _GRACE_S:
                    raise Stopped
                if broken := self._broken_limit(process, began):
                    self.kill()
                    return Reply(job.key, *broken, seconds=time.monotonic() - began)
        except (BrokenPipeError, EOFError):
            return Reply(job.key, *self._epitaph(process), seconds=time.monotonic() - began)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the process and the run in progress."""
        process, self._process, self._rest = self._process, None, b""
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.kill()
        # A new interpreter is used instead of a fork, because the caller may have threads and need
        # not guard its main module. Its own process group protects it from Ctrl-C of the terminal.
        self._process = process = subprocess.Popen(
            [sys.executable, *ORDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_search_path())},
        )
        deadline = time.monotonic() + _START_S
        try:
            while not self._answers(process):
                if time.monotonic() > deadline:
                    raise OSError(0, "it does not answer")
        except EOFError:
            process.wait()
            status = process.returncode
            self.kill()
            raise OSError(0, f"it ends at once with status {status}") from None
        except BaseException:
            self.kill()
            raise
        return process

    def _answers(self, process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
        """Wait briefly for answers; raise ``EOFError`` after the last one."""
        if self.stopped():
            raise Stopped
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], _LOOK_EVERY_S)[0]:
            return []
        received = os.read(process.stdout.fileno(), 1 << 16)
        if not received:
            raise EOFError
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [json.loads(line) for line in lines]

    def _broken_limit(
        self, process: subprocess.Popen[bytes], began: float
    ) -> tuple[str, str] | None:
        timeout_s, memory_bytes = self.limits.timeout_s, self.limits.memory_bytes
        if timeout_s is not None and time.monotonic() - began > timeout_s:
            return "timeout", f"took longer than {timeout_s:g} s"
        if memory_bytes is not None:
            used = resident_bytes(process.pid)
            if used > memory_bytes:
                return (
                    "memory",
                    f"took {bytes_text(used)} of memory, and {bytes_text(memory_bytes)} were "
                    "allowed",
                )
        return None

    def _epitaph(self, process: subprocess.Popen[bytes]) -> tuple[str, str]:
        process.wait()
        status = process.returncode
        self.kill()
        if status >= 0:
            return "crash", f"its process ended with status {status}"
        name = signal.Signals(-status).name
        doubt = " (the system does this when memory runs out)" if name == "SIGKILL" else ""
        return "crash", f"its process was ended by {name}{doubt}"


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if the process has ended.

    The address space (``RLIMIT_AS``) is not used, because allocators and threads reserve much more
    of it than they use.
    """
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _write(process: subprocess.Popen[bytes], order: bytes) -> None:
    assert process.stdin is not None
    view = memoryview(order)
    while view:
        view = view[process.stdin.write(view) :]


def _search_path() -> list[str]:
    """Return the search path with which another interpreter finds the same package."""
    import backwater

    home = str(Path(backwater.__file__).resolve().parents[1])
    given = os.environ.get("PYTHONPATH")
    return [home, given] if given else [home]
