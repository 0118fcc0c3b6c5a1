"""How far Backwater and another simulator are apart, case by case, and whether that is too far.

The limits: a single flow to 2 ns; up to 8 flows each within 0.5 %; more flows the median and the
longest completion time within 2 % and the number of pauses within 20 %; from 300 flows on the
slowdown in size bins of at least 300 flows, p50 within 2 %, p95 within 5 %, p99 within 10 %. In a
loaded network a tie decided otherwise changes most flows, so flows cannot be compared one by one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from backwater.errors import RunError, ScenarioError
from backwater.interchange.cases import Case, FlowKey, FlowTimes, Observed

SINGLE_NS = 2
FEW, FEW_SHARE = 8, 0.005
MANY_SHARE, PAUSES_SHARE = 0.02, 0.20
BIN = 300
MOST_BINS = 20
PERCENTILES = {"p50": (0.50, 0.02), "p95": (0.95, 0.05), "p99": (0.99, 0.10)}


@dataclass(frozen=True, slots=True)
class Check:
    """One number of both simulators."""

    what: str
    """``fct``, ``p50``, ``max``, ``pauses``, ``flows``, .."""

    of: str
    """Of which part of the case; empty for the whole."""

    theirs: float
    ours: float
    apart: float
    """Share of theirs, or ns where the limit is in ns."""

    limit: float | None
    """``None``: told, but no promise."""

    unit: str = "share"

    @property
    def held(self) -> bool:
        """Whether the two are close enough."""
        return self.limit is None or self.apart <= self.limit


@dataclass(frozen=True, slots=True)
class Bin:
    """Slowdowns of flows of similar size, sorted, of both simulators."""

    low: int
    high: int
    middle: int
    theirs: list[float]
    ours: list[float]


@dataclass(slots=True)
class Verdict:
    """What came out of a case."""

    name: str
    simulator: str
    flows: int = 0
    exact: int = 0
    """Flows that start and end at the same nanosecond in both."""

    checks: list[Check] = field(default_factory=list)
    bins: list[Bin] = field(default_factory=list)
    fcts: tuple[list[int], list[int]] = ((), ())  # type: ignore[assignment]
    """Completion times, theirs and ours, sorted."""

    digest: str | None = None
    warnings: list[str] = field(default_factory=list)
    failed: str | None = None
    """Why it could not be compared."""

    @property
    def held(self) -> bool:
        """Whether every limit was kept."""
        return self.failed is None and all(check.held for check in self.checks)

    @property
    def group(self) -> str:
        """What several cases share: the folder above."""
        return self.name.rpartition("/")[0] or self.name

    @property
    def label(self) -> str:
        """What tells a case from the others of its group."""
        return self.name.rpartition("/")[2]

    def worst(self, what: str) -> Check | None:
        """Return the check of a kind that comes nearest to its limit, or breaks it most."""
        checks = [check for check in self.checks if check.what == what]
        return max(checks, key=lambda check: check.apart, default=None)

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            "name": self.name,
            "simulator": self.simulator,
            "held": self.held,
            "failed": self.failed,
            "flows": self.flows,
            "exact": self.exact,
            "digest": self.digest,
            "warnings": self.warnings,
            "checks": [{**asdict(check), "held": check.held} for check in self.checks],
        }


def validate(
    cases: Sequence[Case], keep: Path | None = None, tell: Callable[[str], None] | None = None
) -> list[Verdict]:
    """Run all cases and compare; what they need and leave stays in the folder ``keep``."""
    if keep is not None:
        return _all(cases, keep, tell)
    with tempfile.TemporaryDirectory(prefix="backwater-") as folder:
        return _all(cases, Path(folder), tell)


def _all(cases: Sequence[Case], base: Path, tell: Callable[[str], None] | None) -> list[Verdict]:
    verdicts = []
    for case in cases:
        if tell is not None:
            tell(case.name)
        try:
            expected = case.expected()
            folder = base / case.name
            folder.mkdir(parents=True, exist_ok=True)
            measured = case.measure(folder)
        except (ScenarioError, RunError, OSError) as error:
            verdicts.append(Verdict(case.name, case.simulator, failed=str(error)))
            continue
        verdict = compare(case.name, case.simulator, expected, measured.observed)
        verdict.digest, verdict.warnings = measured.digest, measured.warnings
        verdict.failed = measured.wrong and f"its own audit: {measured.wrong}"
        verdicts.append(verdict)
    return verdicts


def compare(name: str, simulator: str, expected: Observed, measured: Observed) -> Verdict:
    """Compare what two simulators found in one case."""
    common = sorted(
        (key for key in expected.flows if key in measured.flows), key=lambda key: (key.bytes, key)
    )
    theirs = [expected.flows[key] for key in common]
    ours = [measured.flows[key] for key in common]
    verdict = Verdict(name, simulator, flows=len(expected.flows))
    verdict.exact = sum(a[:2] == b[:2] for a, b in zip(theirs, ours, strict=True))
    verdict.fcts = sorted(t.fct_ns for t in theirs), sorted(o.fct_ns for o in ours)
    only = len(expected.flows) + len(measured.flows) - 2 * len(common)
    finished = len(expected.flows), len(measured.flows)
    verdict.checks.append(Check("flows", "finished in one only", *finished, only, 0, "count"))
    if not common:
        verdict.failed = "no flow finished in both simulators"
    elif len(expected.flows) == 1:
        verdict.checks += _single(theirs[0], ours[0])
    elif len(expected.flows) <= FEW:
        verdict.checks += [_each(*one) for one in zip(common, theirs, ours, strict=True)]
    elif len(common) < BIN:
        verdict.checks += _many(*verdict.fcts)
    else:
        verdict.bins = _bins(common, theirs, ours)
        verdict.checks += [check for one in verdict.bins for check in _of_bin(one)]
    verdict.checks += _pauses(expected, measured, promised=FEW < len(expected.flows) < BIN)
    return verdict


def _single(theirs: FlowTimes, ours: FlowTimes) -> list[Check]:
    apart = abs(ours.fct_ns - theirs.fct_ns)
    return [Check("fct", "", theirs.fct_ns, ours.fct_ns, apart, SINGLE_NS, "ns")]


def _each(key: FlowKey, theirs: FlowTimes, ours: FlowTimes) -> Check:
    of = f"{key.src} to {key.dst}, port {key.sport}"
    apart = _share(theirs.fct_ns, ours.fct_ns)
    return Check("fct", of, theirs.fct_ns, ours.fct_ns, apart, FEW_SHARE)


def _many(theirs: Sequence[int], ours: Sequence[int]) -> list[Check]:
    pairs = {"p50": (percentile(theirs, 0.5), percentile(ours, 0.5)), "max": (theirs[-1], ours[-1])}
    return [Check(what, "", a, b, _share(a, b), MANY_SHARE) for what, (a, b) in pairs.items()]


def _of_bin(one: Bin) -> list[Check]:
    checks = []
    for what, (p, limit) in PERCENTILES.items():
        a, b = percentile(one.theirs, p), percentile(one.ours, p)
        checks.append(Check(what, f"{one.low} to {one.high} B", a, b, _share(a, b), limit))
    return checks


def _pauses(expected: Observed, measured: Observed, promised: bool) -> list[Check]:
    if expected.pauses is None or measured.pauses is None:
        return []
    a, b = expected.pauses, measured.pauses
    return [Check("pauses", "", a, b, _share(a, b), PAUSES_SHARE if promised else None)]


def _bins(
    keys: Sequence[FlowKey], theirs: Sequence[FlowTimes], ours: Sequence[FlowTimes]
) -> list[Bin]:
    """Part flows, sorted by size, into equal bins of at least `BIN`."""
    count = min(MOST_BINS, len(keys) // BIN)
    edges = [i * len(keys) // count for i in range(count + 1)]
    bins = []
    for a, b in pairwise(edges):
        alone = [t.alone_ns for t in theirs[a:b]]
        slowdowns = [
            sorted(max(1.0, t.fct_ns / s) for t, s in zip(times[a:b], alone, strict=True))
            for times in (theirs, ours)
        ]
        middle = keys[(a + b) // 2].bytes
        bins.append(Bin(keys[a].bytes, keys[b - 1].bytes, middle, *slowdowns))
    return bins


def percentile(ordered: Sequence[float], p: float) -> float:
    """Return a percentile of sorted values as HPCC's analysis scripts take it."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * p))]


def _share(theirs: float, ours: float) -> float:
    """How far ours is from theirs, as a share of theirs."""
    if theirs == ours:
        return 0.0
    return abs(ours - theirs) / theirs if theirs else float(ours)
