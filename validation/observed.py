"""Common types for the results of simulators, and the interface of a case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from backwater.results.files import RunFiles

INCAST_PORT = 200
"""The destination port of flows that belong to an incast."""


class FlowKey(NamedTuple):
    """Identity of a flow, the same in both simulators."""

    src: int
    dst: int
    sport: int
    dport: int
    bytes: int


class FlowTimes(NamedTuple):
    """Start of a flow, its completion time, and its completion time in an empty network."""

    start_ns: int
    fct_ns: int
    alone_ns: float
    received_ns: int | None = None
    """Time from its start to its last byte, if that is compared too."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of the whole network, for cases that are compared by them."""

    incasts: frozenset[FlowKey]
    """Flows that belong to an incast; the other flows arrive at random."""

    paused_us: dict[int, float] | None
    """Time that PFC paused ports, by the tier of their node (0: hosts); ``None``: unknown."""

    samples: dict[tuple[int, int], int] | None
    """Bytes in buffers by time and switch; missing samples are 0."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Results of one simulator."""

    flows: dict[FlowKey, FlowTimes]
    """Flows that finished."""

    pauses: int | None
    """Number of PFC pauses received; ``None`` if they were not recorded."""

    buffer: list[int] | None = None
    """Bytes in the buffer of each switch at each sample; ``None`` if they were not recorded."""

    edges: tuple[int, ...] | None = None
    """Upper edges of the size bins that the authors use; ``None``: equal bins."""

    totals: Totals | None = None
    """Numbers of the whole network, if the case is compared by them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of Backwater, with the identity of the run."""

    observed: Observed
    digest: str
    wrong: str | None
    """Error that the audit of the run reported, if any."""

    warnings: list[str]


class Case(Protocol):
    """One simulation whose results come from another simulator."""

    @property
    def name(self) -> str:
        """Name, with the folders above it."""

    @property
    def simulator(self) -> str:
        """Name of the other simulator."""

    @property
    def chance(self) -> bool:
        """True if the other simulator's result is random; Backwater then runs several seeds."""

    def expected(self) -> Observed:
        """Read the results of the other simulator."""

    def measure(self, folder: Path, seed: int) -> Measured:
        """Run the case with Backwater and a seed, with all files in ``folder``."""


def complaints(run: RunFiles) -> str | None:
    """Describe the violations that the audit of a run reported, if any."""
    wrong = [v["message"] for v in run.summary["violations"]]
    if run.summary["ending"] == "stalled":
        wrong.append("nothing can go on any more, and flows are unfinished")
    return "; ".join(wrong) or None
