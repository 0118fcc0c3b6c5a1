"""What simulators found, in words that all of them share, and what a case is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from backwater.results.files import RunFiles

INCAST_PORT = 200
"""The destination port of flows that belong to an incast."""


class FlowKey(NamedTuple):
    """What tells one flow from all others in both simulators."""

    src: int
    dst: int
    sport: int
    dport: int
    bytes: int


class FlowTimes(NamedTuple):
    """When a flow started, how long it took, and how long it takes alone."""

    start_ns: int
    fct_ns: int
    alone_ns: float
    received_ns: int | None = None
    """From its start to its last byte, where that is compared, too."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of the whole network, where a case is compared by these."""

    incasts: frozenset[FlowKey]
    """Flows that belong to an incast; the others arrive by chance."""

    paused_us: dict[int, float] | None
    """Time that PFC held ports, by the tier of their node (0: hosts); ``None``: not known."""

    samples: dict[tuple[int, int], int] | None
    """Bytes in buffers by time and switch; what is not told is 0."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a simulator found."""

    flows: dict[FlowKey, FlowTimes]
    """Those that finished."""

    pauses: int | None
    """PFC pauses heard; ``None`` where nobody wrote them down."""

    buffer: list[int] | None = None
    """Bytes in the buffers, each switch at each sample; ``None`` where nobody wrote them down."""

    edges: tuple[int, ...] | None = None
    """Largest sizes of the bins in which these authors look at flows; ``None``: equal bins."""

    totals: Totals | None = None
    """Where a case is compared by a few numbers of the whole network."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What Backwater found, and how."""

    observed: Observed
    digest: str
    wrong: str | None
    """What its own audit says."""

    warnings: list[str]


class Case(Protocol):
    """One simulation that somebody else has done."""

    @property
    def name(self) -> str:
        """Name, with the folders above it."""

    @property
    def simulator(self) -> str:
        """Whose results these are."""

    @property
    def chance(self) -> bool:
        """Whether theirs is one draw of many, so that it is run here with several seeds."""

    def expected(self) -> Observed:
        """Read what the other simulator found."""

    def measure(self, folder: Path, seed: int) -> Measured:
        """Run it with Backwater, with all files in a folder."""


def complaints(run: RunFiles) -> str | None:
    """Say what a run's own audit found wrong."""
    wrong = [v["message"] for v in run.summary["violations"]]
    if run.summary["ending"] == "stalled":
        wrong.append("nothing can go on any more, and flows are unfinished")
    return "; ".join(wrong) or None
