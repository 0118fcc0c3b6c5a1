"""Reads traces of a buffer, which the program `hardware_trace` writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """A packet that arrives at the switch or leaves it, and what the dataplane decided."""

    at_ps: int
    port: int
    size: int
    enters: bool
    dropped: bool
    xoff: bool
    xon: bool


@dataclass
class Trace:
    """Configuration, steps, and the state at the end."""

    config: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    held: dict[int, int] = field(default_factory=dict)
    victims: dict[int, bool] = field(default_factory=dict)
    pool_used: int = 0
    end_ps: int = 0
    frames: list[tuple[int, int, int]] = field(default_factory=list)
    """Pause frames that arrive at hosts: time, host, quanta."""
    pauses: list[tuple[int, int, bool]] = field(default_factory=list)
    """When a host is paused or resumed: time, host, paused."""

    def of_ports(self, key: str) -> list[int]:
        """Return a value of the configuration for every port."""
        return [self.config[f"{key}.{port}"] for port in range(self.config["ports"])]


def read(path: Path) -> Trace:
    """Read a trace."""
    trace = Trace()
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, *words = line.split()
        if kind == "config":
            trace.config[words[0]] = int(words[1])
        elif kind in ("enqueue", "dequeue"):
            at_ps, port, size = map(int, words[:3])
            said = set(words[3:])
            step = Step(
                at_ps, port, size, kind == "enqueue", "drop" in said, "xoff" in said, "xon" in said
            )
            trace.steps.append(step)
        elif kind == "level":
            port, held, victim = map(int, words)
            trace.held[port], trace.victims[port] = held, bool(victim)
        elif kind == "pool":
            trace.pool_used = int(words[0])
        elif kind == "end":
            trace.end_ps = int(words[0])
        elif kind == "frame":
            trace.frames.append((int(words[0]), int(words[1]), int(words[2])))
        elif kind == "paused":
            trace.pauses.append((int(words[0]), int(words[1]), words[2] == "1"))
        else:
            raise ValueError(f"{path}: unknown line {line!r}")
    return trace
