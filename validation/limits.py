"""Compares the results of Backwater and of another simulator, case by case, against limits.

Limits against ns-3:

- 1 flow: FCT within 2 ns.
- Up to 8 flows: each FCT within 0.5 %.
- More flows: median and longest FCT within 2 %, number of pauses within 20 %.
- From 300 flows on: slowdown in size bins of at least 300 flows, p50 within 2 %, p95 within 5 %,
  p99 within 10 %. Single flows are not compared, because one different tie-break changes most
  flows of a loaded network.

Limits against the simulator of BFC's authors:

- Slowdown in the authors' size bins, from 200 flows of a bin on: average within 5 %, p99 within
  15 %.
- Buffers: p99 within 15 %.

Runs of that simulator differ from each other, so only distributions are compared. Backwater runs
such a case with several seeds. The authors' result is one run; its distance is measured from the
range of the seeds. The tail of an incast varies between runs by more than these limits.

Limits against the simulator of Floodgate's authors, for numbers of the whole network that the
paper reports:

- FCT of flows that are not part of an incast: average within 3 %, p99 within 5 %.
- Time that PFC paused the cores, and largest buffer: within 3 %.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from backwater.errors import RunError, ScenarioError
from validation.observed import (
    INCAST_PORT,
    Case,
    FlowKey,
    FlowTimes,
    Measured,
    Observed,
    Totals,
)

SINGLE_NS = 2
FEW, FEW_SHARE = 8, 0.005
MANY_SHARE, PAUSES_SHARE = 0.02, 0.20
BIN = 300
MOST_BINS = 20
PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
EQUAL_BINS: dict[str, float | None] = {"p50": 0.02, "p95": 0.05, "p99": 0.10}
"""Statistics of the slowdown in equal bins, with their limits."""

PART = 200
GIVEN_BINS: dict[str, float | None] = {"avg": 0.05, "p50": None, "p95": None, "p99": 0.15}
"""Statistics of the slowdown in the authors' bins of at least `PART` flows, with their limits."""

BUFFERS: dict[str, float | None] = {
    "p50": None,
    "p90": None,
    "p95": None,
    "p99": 0.15,
    "max": None,
}
"""Statistics of all samples of the switches' buffers."""

WHOLE: dict[str, float | None] = {"avg": 0.03, "p50": None, "p99": 0.05, "max": None}
"""Statistics of the FCT of all flows that are not part of an incast."""

TOTAL = 0.03
"""Limit of the pause time at the cores and of the largest buffer."""


class By(StrEnum):
    """Method of a comparison of two simulators."""

    FLOWS = "flows"
    """Flow by flow, or in equal bins of sizes; both can be equal to the nanosecond."""

    BINS = "bins"
    """In the bins of the authors' figures, because the authors' runs differ from each other."""

    TOTALS = "totals"
    """A few numbers of the whole network."""


@dataclass(frozen=True, slots=True)
class Check:
    """One number of both simulators."""

    what: str
    """``fct``, ``p50``, ``max``, ``pauses``, ``flows``, ``buffer``, .."""

    of: str
    """Part of the case; empty for the whole case."""

    theirs: float
    ours: float
    apart: float
    """Distance as a share of `theirs`, or in ns if the limit is in ns."""

    limit: float | None
    """``None``: the distance is reported but not judged."""

    unit: str = "share"

    spread: tuple[float, float] | None = None
    """Minimum and maximum over our seeds, if there are several; ``ours`` is their median."""

    @property
    def held(self) -> bool:
        """True if the distance is within the limit, or if there is no limit."""
        return self.limit is None or self.apart <= self.limit


@dataclass(frozen=True, slots=True)
class Bin:
    """Slowdowns of flows of similar size, sorted, of both simulators."""

    low: int
    high: int
    middle: int
    theirs: list[float]
    ours: list[float]
    incast: bool = False
    """True: the flows of incasts, of any size."""

    again: tuple[list[float], ...] = ()
    """Our slowdowns of further seeds."""

    @property
    def runs(self) -> tuple[list[float], ...]:
        """Our slowdowns of all seeds."""
        return self.ours, *self.again

    @property
    def name(self) -> str:
        """Unique name of the bin within a case."""
        return f"{self.low} to {self.high} B" + (", incast" if self.incast else "")


@dataclass(slots=True)
class Verdict:
    """Result of a case."""

    name: str
    simulator: str
    flows: int = 0
    exact: int = 0
    """Flows that start and end at the same nanosecond in both."""

    checks: list[Check] = field(default_factory=list)
    bins: list[Bin] = field(default_factory=list)
    statistics: tuple[str, ...] = tuple(EQUAL_BINS)
    """Statistics that are compared in each bin."""

    by: By = By.FLOWS
    """Method of the comparison."""

    seeds: int = 1
    """Number of seeds that Backwater ran."""

    buffers: tuple[list[int], list[int]] | None = None
    """Buffers of all switches at all samples, theirs and those of our first seed, sorted."""

    fcts: tuple[Sequence[int], Sequence[int]] = ((), ())
    """Completion times, theirs and ours, sorted."""

    digest: str | None = None
    warnings: list[str] = field(default_factory=list)
    failed: str | None = None
    """Reason why the case could not be compared."""

    @property
    def held(self) -> bool:
        """True if the case ran and all checks are within their limits."""
        return self.failed is None and all(check.held for check in self.checks)

    @property
    def promised(self) -> bool:
        """True if a check other than the number of flows has a limit."""
        return any(check.limit is not None for check in self.checks if check.what != "flows")

    @property
    def group(self) -> str:
        """Folder that contains the case; cases of one folder form a group."""
        return self.name.rpartition("/")[0] or self.name

    @property
    def label(self) -> str:
        """Unique name of the case within its group."""
        return self.name.rpartition("/")[2]

    def worst(self, what: str) -> Check | None:
        """Return the check of a kind with the largest distance.

        Checks without a limit count only if all checks of this kind have no limit.
        """
        checks = [check for check in self.checks if check.what == what]
        checks = [check for check in checks if check.limit is not None] or checks
        return max(checks, key=lambda check: check.apart, default=None)

    def as_json(self) -> dict[str, Any]:
        """Return all fields for JSON."""
        return {
            "name": self.name,
            "simulator": self.simulator,
            "held": self.held,
            "promised": self.promised,
            "failed": self.failed,
            "flows": self.flows,
            "seeds": self.seeds,
            "exact": self.exact,
            "digest": self.digest,
            "warnings": self.warnings,
            "checks": [{**asdict(check), "held": check.held} for check in self.checks],
        }


SEEDS = 5
"""Number of seeds of a case whose results are random."""


def validate(
    cases: Sequence[Case],
    keep: Path | None = None,
    tell: Callable[[str], None] | None = None,
    seeds: int = SEEDS,
) -> list[Verdict]:
    """Run all cases, compare their results, and return a verdict for each.

    All files of the runs are kept in the folder ``keep``, if it is given. A case whose results are
    random is run with the seeds 1 to ``seeds``, and any other case once. ``tell`` is called with
    the name of each case before it is run.
    """
    if keep is not None:
        return _all(cases, keep, tell, seeds)
    with tempfile.TemporaryDirectory(prefix="backwater-") as folder:
        return _all(cases, Path(folder), tell, seeds)


def _all(
    cases: Sequence[Case], base: Path, tell: Callable[[str], None] | None, seeds: int
) -> list[Verdict]:
    verdicts = []
    for case in cases:
        if tell is not None:
            tell(case.name)
        try:
            expected = case.expected()
            folder = base / case.name
            folder.mkdir(parents=True, exist_ok=True)
            count = seeds if case.chance else 1
            first, *others = [_with_seed(case, folder, seed) for seed in range(1, count + 1)]
        except (ScenarioError, RunError, OSError) as error:
            verdicts.append(Verdict(case.name, case.simulator, failed=str(error)))
            continue
        again = [measured.observed for measured in others]
        verdict = compare(case.name, case.simulator, expected, first.observed, *again)
        verdict.digest, verdict.warnings = first.digest, first.warnings
        wrong = next((run.wrong for run in (first, *others) if run.wrong), None)
        verdict.failed = wrong and f"its own audit: {wrong}"
        verdicts.append(verdict)
    return verdicts


def _with_seed(case: Case, folder: Path, seed: int) -> Measured:
    """Run a case; the first seed is run in its folder, the others below it."""
    inner = folder if seed == 1 else folder / f"seed-{seed}"
    inner.mkdir(exist_ok=True)
    return case.measure(inner, seed)


def compare(
    name: str, simulator: str, expected: Observed, measured: Observed, *again: Observed
) -> Verdict:
    """Compare the results of two simulators for a case; ``again`` are ours with further seeds."""
    if expected.edges is not None:
        return _compare_distributions(name, simulator, expected, (measured, *again))
    if expected.totals is not None and measured.totals is not None:
        sides = expected.totals, measured.totals
        return _compare_totals(name, simulator, (expected.flows, measured.flows), sides)
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
        verdict.checks += [check for one in verdict.bins for check in _of_bin(one, EQUAL_BINS)]
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


def _of_bin(one: Bin, limits: Mapping[str, float | None]) -> list[Check]:
    checks = []
    for what, limit in limits.items():
        ours = [statistic(run, what) for run in one.runs]
        checks.append(_over_seeds(what, one.name, statistic(one.theirs, what), ours, limit))
    return checks


def _over_seeds(
    what: str, of: str, theirs: float, ours: Sequence[float], limit: float | None
) -> Check:
    """Return a check with the distance of `theirs` from the range of `ours` (a value per seed)."""
    low, high = min(ours), max(ours)
    apart = _share(theirs, min(max(theirs, low), high))
    spread = (low, high) if len(ours) > 1 else None
    return Check(what, of, theirs, median(ours), apart, limit, spread=spread)


def _pauses(expected: Observed, measured: Observed, promised: bool) -> list[Check]:
    if expected.pauses is None or measured.pauses is None:
        return []
    a, b = expected.pauses, measured.pauses
    return [Check("pauses", "", a, b, _share(a, b), PAUSES_SHARE if promised else None)]


def _bins(
    keys: Sequence[FlowKey], theirs: Sequence[FlowTimes], ours: Sequence[FlowTimes]
) -> list[Bin]:
    """Split flows, sorted by size, into equal bins of at least `BIN` flows."""
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
        bins.append(Bin(keys[a].bytes, keys[b - 1].bytes, middle, slowdowns[0], slowdowns[1]))
    return bins


def _compare_distributions(
    name: str, simulator: str, expected: Observed, measured: Sequence[Observed]
) -> Verdict:
    """Compare slowdowns in the authors' bins, and buffers (`By.BINS`)."""
    # Skip flows that did not finish in the other simulator.
    both = sorted(
        (key for key in expected.flows if all(key in run.flows for run in measured)),
        key=lambda key: (key.bytes, key),
    )
    verdict = Verdict(
        name,
        simulator,
        flows=len(expected.flows),
        statistics=tuple(GIVEN_BINS),
        by=By.BINS,
        seeds=len(measured),
    )
    missing = len(expected.flows) - len(both)
    finished = len(expected.flows), len(both)
    verdict.checks.append(Check("flows", "finished there only", *finished, missing, 0, "count"))
    if not both:
        verdict.failed = "no flow finished in both simulators"
    ours = [run.flows for run in measured]
    verdict.bins = [
        _part(keys, expected.flows, ours) for keys in _parts(both, expected.edges or ())
    ]
    for one in verdict.bins:
        limits = GIVEN_BINS if len(one.ours) >= PART else dict.fromkeys(GIVEN_BINS)
        verdict.checks += _of_bin(one, limits)
    buffers = [run.buffer for run in measured if run.buffer]
    if expected.buffer and len(buffers) == len(measured):
        verdict.buffers = expected.buffer, buffers[0]
        verdict.checks += _of_buffers(expected.buffer, buffers, promised=len(both) >= PART)
    return verdict


def _compare_totals(
    name: str,
    simulator: str,
    flows: tuple[Mapping[FlowKey, FlowTimes], Mapping[FlowKey, FlowTimes]],
    totals: tuple[Totals, Totals],
) -> Verdict:
    """Compare FCTs of incasts and of all other flows, pauses by tier, and buffers."""
    theirs, ours = flows
    both = sorted(key for key in theirs if key in ours)
    verdict = Verdict(name, simulator, flows=len(theirs), by=By.TOTALS)
    verdict.exact = sum(theirs[key][:2] == ours[key][:2] for key in both)
    missing = len(theirs) - len(both)
    verdict.checks.append(
        Check("flows", "finished there only", len(theirs), len(both), missing, 0, "count")
    )
    if not both:
        verdict.failed = "no flow finished in both simulators"
    for incast in (False, True):
        keys = [key for key in both if (key in totals[0].incasts) == incast]
        sides = [theirs[key] for key in keys], [ours[key] for key in keys]
        if keys:
            verdict.checks += _of_times(*sides, incast)
        if keys and not incast:
            verdict.fcts = sorted(t.fct_ns for t in sides[0]), sorted(o.fct_ns for o in sides[1])
    verdict.checks += _of_pauses(totals[0].paused_us, totals[1].paused_us)
    verdict.checks += _of_samples(verdict, totals[0].samples, totals[1].samples)
    return verdict


def _to_last_byte_ns(times: FlowTimes) -> int:
    assert times.received_ns is not None, "cases with totals have the times of last bytes"
    return times.received_ns


def _of_times(theirs: list[FlowTimes], ours: list[FlowTimes], incast: bool) -> list[Check]:
    """Compare FCTs of the same flows, until the last ACK and until the last byte."""
    checks = []
    whose = "incast" if incast else "other flows"
    ends: dict[str, Callable[[FlowTimes], int]] = {
        "last ACK": lambda times: times.fct_ns,
        "last byte": _to_last_byte_ns,
    }
    for end, duration_ns in ends.items():
        sides = [sorted(duration_ns(times) / 1000 for times in side) for side in (theirs, ours)]
        for what, limit in WHOLE.items():
            a, b = (statistic(side, what) for side in sides)
            said = f"FCT of {whose} to the {end}, us"
            checks.append(Check(what, said, a, b, _share(a, b), None if incast else limit))
    return checks


def _of_pauses(theirs: dict[int, float] | None, ours: dict[int, float] | None) -> list[Check]:
    if theirs is None or ours is None:
        return []
    top = max(theirs)
    return [
        Check("paused", f"{_tier(tier, top)}, us", a, ours[tier], _share(a, ours[tier]), limit)
        for tier, a in sorted(theirs.items())
        for limit in [TOTAL if tier == top else None]
    ]


def _tier(tier: int, top: int) -> str:
    if tier == 0:
        return "hosts"
    return "cores" if tier == top else "ToRs" if tier == 1 else f"tier {tier}"


def _of_samples(
    verdict: Verdict,
    theirs: dict[tuple[int, int], int] | None,
    ours: dict[tuple[int, int], int] | None,
) -> list[Check]:
    """Compare the largest buffer; keep the samples for the figure."""
    if not theirs or ours is None:
        return []
    last = max(at for at, _ in theirs)
    ours = {place: used for place, used in ours.items() if place[0] <= last}
    places = theirs.keys() | ours.keys()
    verdict.buffers = (
        sorted(theirs.get(place, 0) for place in places),
        sorted(ours.get(place, 0) for place in places),
    )
    a, b = (side[-1] for side in verdict.buffers)
    return [Check("buffer", "max in B", a, b, _share(a, b), TOTAL)]


def _parts(keys: Sequence[FlowKey], edges: Sequence[int]) -> list[list[FlowKey]]:
    """Split sorted flows into size bins with inclusive upper edges; drop empty bins.

    The flows of incasts form the last bin.
    """
    parts: list[list[FlowKey]] = [[] for _ in range(len(edges) + 2)]
    for key in keys:
        incast = key.dport == INCAST_PORT
        parts[-1 if incast else bisect_left(edges, key.bytes)].append(key)
    return [part for part in parts if part]


def _part(
    keys: Sequence[FlowKey],
    theirs: Mapping[FlowKey, FlowTimes],
    ours: Sequence[Mapping[FlowKey, FlowTimes]],
) -> Bin:
    """Return the bin of some flows. Slowdowns are not clipped at 1, as the authors compute them."""
    slowdowns = [
        sorted(side[key].fct_ns / theirs[key].alone_ns for key in keys) for side in (theirs, *ours)
    ]
    middle = keys[len(keys) // 2].bytes
    return Bin(
        keys[0].bytes,
        keys[-1].bytes,
        middle,
        slowdowns[0],
        slowdowns[1],
        incast=keys[0].dport == INCAST_PORT,
        again=tuple(slowdowns[2:]),
    )


def _of_buffers(
    theirs: Sequence[int], ours: Sequence[Sequence[int]], promised: bool
) -> list[Check]:
    checks = []
    for what, limit in BUFFERS.items():
        runs = [statistic(run, what) for run in ours]
        limit = limit if promised else None
        checks.append(_over_seeds("buffer", f"{what} in B", statistic(theirs, what), runs, limit))
    return checks


def statistic(ordered: Sequence[float], what: str) -> float:
    """Return ``avg``, ``max`` or a percentile of sorted values."""
    if what == "avg":
        return sum(ordered) / len(ordered)
    return ordered[-1] if what == "max" else percentile(ordered, PERCENTILES[what])


def percentile(ordered: Sequence[float], p: float) -> float:
    """Return a percentile of sorted values as HPCC's analysis scripts compute it."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * p))]


def _share(theirs: float, ours: float) -> float:
    """Return the distance between ours and theirs, as a share of theirs."""
    if theirs == ours:
        return 0.0
    return abs(ours - theirs) / theirs if theirs else float(ours)
