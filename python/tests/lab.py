"""Network namespaces of a test, in a user namespace of its own: no privileges are needed.

AF_XDP needs those of the machine: a lab with such sockets has no user namespace.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tools import absent, program

PACKET, XDP = "packet", "xdp"
both = pytest.mark.parametrize("socket", [PACKET, XDP])
"""For tests of what holds with either kind of socket."""

_BPF = 1 << 39
"""CAP_BPF among the capabilities of a process."""


def _may_load_programs() -> bool:
    """Whether this user may put programs at interfaces: root outside of user namespaces."""
    status = Path("/proc/self/status").read_text()
    held = next(line for line in status.splitlines() if line.startswith("CapEff"))
    users = Path("/proc/self/uid_map").read_text().split()
    return bool(int(held.split()[1], 16) & _BPF) and users[2] == "4294967295"


class Lab:
    """Namespaces that a script makes, and what runs in them."""

    def __init__(self, folder: Path, script: str, socket: str = PACKET) -> None:
        self.folder, self.socket = folder, socket
        if socket == XDP and not _may_load_programs():
            absent("AF_XDP for this user: root, with CAP_BPF, outside of user namespaces")
        own_users = socket == PACKET
        self.children: list[subprocess.Popen[str]] = []
        script = f"set -e\nmount -t tmpfs none /run\n{script}\necho ready\nexec sleep 600\n"
        words = [program("unshare"), "-Urnm" if own_users else "-nm"]
        words += ["--kill-child", "sh", "-c", script]
        self.holder = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "ready\n":
            absent("a system that allows user namespaces, with iproute2")
        into = ["nsenter", "-t", str(self.holder.pid), *(["-U"] if own_users else []), "-m", "-n"]
        self.inside = [*into, "--preserve-credentials"]

    def close(self) -> None:
        """End everything."""
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
        self.holder.kill()
        for child in (*self.children, self.holder):
            child.wait()
            for pipe in (child.stdout, child.stderr):
                if pipe is not None:
                    pipe.close()

    def at(self, name: str | None) -> list[str]:
        """What goes before a command in a namespace; `None`: in that of the lab itself."""
        if name is None:
            return self.inside
        return [*self.inside, "nsenter", f"--net=/run/netns/{name}"]

    def call(self, *words: str, at: str | None = None) -> str:
        """What a command says that runs to its end."""
        done = subprocess.run(
            [*self.at(at), *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, *words: str, at: str | None = None) -> subprocess.Popen[str]:
        """Start a command that the lab ends."""
        child = subprocess.Popen(
            [*self.at(at), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.children.append(child)
        return child
