"""A process that makes runs, seen by its parent: starts it, watches its limits, replaces it."""

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

from backwater.errors import RunError
from backwater.running.job import Job, Reply
from backwater.running.progress import Progress

_LOOK_EVERY_S = 0.05
"""How often memory is looked at."""

ORDER = ("-m", "backwater.running.worker")
"""What the interpreter of a process is told to run."""

_START_S = 60.0
"""A process that is not ready by then never will be."""

_GRACE_S = 20.0
"""An interrupted run has this time to write its first part."""

STOP = b"stop\n"
"""The order that ends the run in progress early, so that its first part is kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take."""

    timeout_s: float | None = None
    memory_bytes: int | None = None

    def check(self) -> None:
        """Refuse what cannot be watched here."""
        if self.memory_bytes is not None and not Path("/proc/self/statm").exists():
            raise RunError("a limit of memory needs Linux: leave it out on this system")


class Stopped(Exception):
    """All runs were stopped in the middle of this one."""


def _never() -> bool:
    return False


class Child:
    """A process for runs. It lives through many of them; a run that breaks it gets a new one."""

    def __init__(
        self,
        limits: Limits,
        stopped: Callable[[], bool] = _never,
        interrupted: Callable[[], bool] = _never,
    ) -> None:
        """Start no process yet. ``stopped`` ends a run, ``interrupted`` keeps its first part."""
        self._limits = limits
        self._stopped = stopped
        self._interrupted = interrupted
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def execute(self, job: Job, tell: Callable[[Progress], None] | None = None) -> Reply:
        """Make a run.

        Raises :class:`Stopped` if all runs were stopped meanwhile, and ``RunError`` if no process
        can be started, which is not a fault of the run.
        """
        try:
            process = self._ready()
        except OSError as error:
            raise RunError(
                f"no process for runs can be started: {error.strerror}", error.errno
            ) from error
        began = time.monotonic()
        asked: float | None = None
        try:
            _write(process, (job.to_json() + "\n").encode())
            while True:
                for answer in self._answers(process):
                    if "kind" in answer:
                        return Reply(**answer)
                    if tell is not None:
                        tell(Progress(**answer["progress"]))
                if self._interrupted() and asked is None:
                    asked = time.monotonic()
                    _write(process, STOP)
                if asked is not None and time.monotonic() - asked > _GRACE_S:
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
        """End the process at once, with what it does."""
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
        # A fresh interpreter and no fork: the caller may have threads, and need not guard its
        # main module. A process group of its own keeps Ctrl-C of the terminal away from it.
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
        """Wait a moment for answers; raises ``EOFError`` when there will be none any more."""
        if self._stopped():
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
        timeout_s, memory_bytes = self._limits.timeout_s, self._limits.memory_bytes
        if timeout_s is not None and time.monotonic() - began > timeout_s:
            return "timeout", f"took longer than {timeout_s:g} s"
        if memory_bytes is not None:
            used = resident_bytes(process.pid)
            if used > memory_bytes:
                from backwater._base.units import bytes_text

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
    """Memory that a process holds; 0 when it is gone.

    What is resident is looked at, and not address space (``RLIMIT_AS``), of which allocators and
    threads reserve a lot that is never touched: that is what the machine has to find.
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
    """Where this interpreter found the package, so that the other one finds the same."""
    import backwater

    home = str(Path(backwater.__file__).resolve().parents[1])
    given = os.environ.get("PYTHONPATH")
    return [home, given] if given else [home]
