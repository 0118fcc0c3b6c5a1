"""Reads traces of the program `hardware_trace`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# Lines with the state at the end.
STATE = ("level", "pool", "bytes", "counter", "inside", "window", "voq", "end")


@dataclass
class Trace:
    """Configuration, events in order, and the state at the end."""

    config: dict[str, int] = field(default_factory=dict)
    events: list[tuple[str, list[int]]] = field(default_factory=list)
    state: dict[str, list[list[int]]] = field(default_factory=lambda: defaultdict(list))

    def of_ports(self, key: str) -> list[int]:
        """Return a value of the configuration for every port."""
        return [self.config[f"{key}.{port}"] for port in range(self.config["ports"])]

    def all(self, kind: str) -> list[list[int]]:
        """Return the numbers of all events of a kind."""
        return [numbers for name, numbers in self.events if name == kind]


def read(path: Path) -> Trace:
    """Read a trace."""
    trace = Trace()
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, *words = line.split()
        if kind == "config":
            trace.config[words[0]] = int(words[1])
        elif kind in STATE:
            trace.state[kind].append([int(word) for word in words])
        else:
            trace.events.append((kind, [int(word) for word in words]))
    return trace
