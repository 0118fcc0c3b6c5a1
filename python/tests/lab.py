"""Network namespaces of a test, in a user namespace of its own: no privileges are needed."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tools import PATIENCE, absent, program


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait until a condition holds, however busy the machine is."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen within {PATIENCE} s"
        time.sleep(0.1)


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    """Wait until a process prints a line with this text."""
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"the process ended without the line {text!r}")


class Lab:
    """Namespaces that a script creates, and the processes that run in them."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.children: list[subprocess.Popen[str]] = []
        script = f"set -e\nmount -t tmpfs none /run\n{script}\necho ready\nexec sleep infinity\n"
        words = [program("unshare"), "-Urnm", "--kill-child", "sh", "-c", script]
        self.holder = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if self.holder.stdout.readline() != "ready\n":
            absent("a system that allows user namespaces, with iproute2")
        into = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "-n"]
        self.inside = [*into, "--preserve-credentials"]

    def close(self) -> None:
        """End everything."""
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
        self.holder.kill()
        for child in (*self.children, self.holder):
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()

    def at(self, name: str | None) -> list[str]:
        """Return what goes before a command in a namespace; `None` is that of the lab itself."""
        if name is None:
            return self.inside
        return [*self.inside, "nsenter", f"--net=/run/netns/{name}"]

    def call(self, *words: str, at: str | None = None) -> str:
        """Run a command to its end, and return its output."""
        done = subprocess.run(
            [*self.at(at), *words], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, *words: str, at: str | None = None) -> subprocess.Popen[str]:
        """Start a command that the lab ends."""
        child = subprocess.Popen(
            [*self.at(at), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.children.append(child)
        return child
