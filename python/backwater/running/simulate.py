"""Runs simulations: one, or several schemes side by side."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from backwater import _core
from backwater._base.files import write_whole
from backwater.errors import Interrupted, RunError, ScenarioError
from backwater.report.notebook import watched
from backwater.results import COMPARISON, Comparison, Run
from backwater.running.directories import claim_comparison, claim_run, default_directory

# How long the main thread sleeps at most before it looks for Ctrl-C again.
_PATIENCE_S = 0.1

MOST_THREADS = 1024
"""The largest number of threads that is accepted; a run uses no more than there are processors."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    now_ps: int
    """Simulated time."""

    until_ps: int | None
    """When the last flow may start; what is on its way then takes as long as it takes. ``None``:
    flows start only when operations of workloads say so."""

    started: int
    finished: int
    flows: int | None
    """Flows in all, where that is known beforehand."""

    packet_hops: int

    seconds: float
    """Wall-clock time since the run began."""

    moved_ps: int | None = None
    """When anything last arrived or started; ``None``: not known."""

    fullest: tuple[str, int] | None = None
    """The switch whose buffer holds most, and the bytes in it; ``None``: all are empty."""

    operations: tuple[float, int] | None = None
    """Operations of workloads that have ended, and how many there are; of a collective under way
    the part of its steps that is over counts. ``None``: there are no workloads."""

    @property
    def fraction(self) -> float:
        """Part of the work that is done, between 0 and 1: of operations, or of flows.

        Where there are both, the smaller of the two.
        """
        if self.flows:
            return min(self.finished / self.flows, 1.0)
        worked = 1.0
        if self.operations is not None:
            ended, operations = self.operations
            worked = min(ended / operations, 1.0) if operations else 1.0
            if self.until_ps is None:
                return worked
        arrived = min(self.now_ps / self.until_ps, 1.0) if self.until_ps else 1.0
        served = min(self.finished / self.started, 1.0) if self.started else 0.0
        return min(arrived * served, worked)

    @property
    def stalled_ps(self) -> int:
        """For how long nothing has moved though flows are unfinished."""
        waits = self.moved_ps is not None and self.finished < self.started
        return max(self.now_ps - (self.moved_ps or 0), 0) if waits else 0

    @property
    def packet_hops_per_s(self) -> float:
        """Packet-hops per second of wall-clock time."""
        return self.packet_hops / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time left; ``None`` while there is too little to tell."""
        done = self.fraction
        return self.seconds * (1 - done) / done if done > 0.01 else None


SchemeName = TypeVar("SchemeName", str, str | None)
"""The name of a scheme; ``None`` is that of the scenario itself."""

Listener = Callable[[str, Progress], None]
"""Is told the scheme and how far it is. Called from other threads."""


def check(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
) -> list[dict[str, Any]]:
    """Say what is wrong or doubtful in a scenario; an empty list means nothing."""
    return _core.check(str(scenario), list(overrides), seed, scheme, profile)


def schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of a scenario, for editors and other programs.

    It knows all keys, words, units, ranges of numbers, and defaults. What depends on several keys
    or on the network only :func:`check` knows.
    """
    described: dict[str, Any] = json.loads(_core.schema())
    return described


def resolve(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
) -> str:
    """Fill every default in and return the scenario as TOML."""
    return _core.resolve(str(scenario), list(overrides), seed, scheme, profile)[0]


def backpressure_graph(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
    edges: bool = False,
) -> dict[str, Any]:
    """Say which egress ports can hold which others by backpressure, and where that is a circle.

    With ``edges`` all edges are listed, otherwise only those that are removed so that no circle
    is left.
    """
    answer = _core.backpressure_graph(str(scenario), list(overrides), seed, scheme, edges, profile)
    graph: dict[str, Any] = json.loads(answer)
    return graph


def link_epochs(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
) -> list[dict[str, Any]]:
    """Return the states of the links of a scenario during its run, in order of time.

    Each state has the time at which links fail or come back (``at_ps``), the time at which routes
    follow (``routes_ps``, later by ``reconvergence``), the links that are ``down``, the hosts that
    are ``cut_off`` from the largest part of the network, and a ``circle`` of ports that can wait
    for each other with these routes, if there is one.
    """
    answer = _core.link_epochs(str(scenario), list(overrides), seed, scheme, profile)
    epochs: list[dict[str, Any]] = json.loads(answer)
    return epochs


SYSTEMS = {
    "bfc": "bfc",
    "floodgate": "dcqcn+floodgate",
    "spfc": "dcqcn+spfc",
    "hpcc": "hpcc",
}
"""Systems whose state in switches is known, each with a preset that has it."""


def resources(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
    packet_bytes: float | None = None,
    destinations: int | None = None,
) -> dict[str, Any]:
    """Return what the systems of the papers need in the switches of a scenario.

    ``systems`` has BFC, Floodgate, SPFC and HPCC, each with the ``scheme`` whose configuration
    counts (that of the scenario if it has the system, else a preset) and with the counters,
    registers and bits of each kind of switch, also per port. HPCC also has the state of a ``nic``,
    or None with another control that has INT. If a preset cannot be combined with the scenario, the
    system has a ``problem`` and no switches.

    ``packet_bytes`` is the mean size of packets; without it, that of the scenario's traffic, or of
    full packets if it has only workloads. ``destinations`` is the number of hosts for which
    Floodgate has memory; without it, those of the network.
    """
    fits = fitting(scenario, [scheme, *SYSTEMS.values()], overrides, seed, profile)

    def load(chosen: str | None) -> dict[str, Any]:
        answer = _core.resources(
            str(scenario),
            fits[chosen].overrides,
            seed,
            chosen,
            packet_bytes,
            profile,
            destinations,
        )
        loaded: dict[str, Any] = json.loads(answer)
        return loaded

    costs = load(scheme)
    own, own_nic = costs["systems"], costs.pop("nic")
    costs["systems"] = {}
    for system, preset in SYSTEMS.items():
        found: dict[str, Any] = {"scheme": None if system in own else preset, "switches": []}
        nic = own_nic
        try:
            if system in own:
                found["switches"] = own[system]
            else:
                of_preset = load(preset)
                found["switches"], nic = of_preset["systems"][system], of_preset["nic"]
        except ScenarioError as error:
            found["problem"] = str(error)
        if system == "hpcc":
            found["nic"] = nic
        for switch in found["switches"]:
            for what in ("counters", "registers", "bits"):
                switch[f"{what}_per_port"] = switch[what] / switch["ports"]
        costs["systems"][system] = found
    return costs


def thresholds(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    profile: str | None = None,
) -> dict[str, Any]:
    """Say what the thresholds of a scenario come to in its network.

    Each kind of switch says how its buffer is divided, at how many bytes one ingress is paused,
    alone or with all others, and per kind of port its headroom and its ECN thresholds. Sizes are
    in bytes, times in ps, rates in bits per second; what a scheme does not have is None.
    """
    answer = _core.thresholds(str(scenario), list(overrides), seed, scheme, profile)
    found: dict[str, Any] = json.loads(answer)
    return found


def catalogue(what: str) -> list[dict[str, Any]]:
    """List what is built in: ``schemes``, ``workloads`` or ``topologies``."""
    entries: list[dict[str, Any]] = json.loads(_core.catalogue(what))
    return entries


def run(
    scenario: str | Path,
    *,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    listener: Listener | None = None,
    profile: str | None = None,
    threads: int = 1,
    lockstep: Lockstep | None = None,
) -> Run:
    """Simulate a scenario and return what it left in the directory ``out``.

    ``overrides`` are texts such as ``"switch.buffer=24MB"``. ``profile`` names a simulator that
    is imitated, such as ``"ns3"``. At most ``threads`` processors work on it (0: all of
    them), which changes no result. With ``lockstep`` its frames go through the kernel
    (docs/live.md), on one thread. Ctrl-C raises :class:`~backwater.Interrupted`, whose ``result``
    is the part that was computed.

    Without ``out`` the results go to ``out/NAME`` of the scenario's file, or, if that holds other
    results, to ``out/NAME-KEY``, where KEY is a hash of the scenario with its seed and overrides.
    A directory with results of another key is refused, unless ``force`` is given.
    """
    _check_threads(threads, lockstep)
    if scheme is not None:
        _check_overrides([scheme], overrides)
    key = _key(scenario, scheme, overrides, seed, profile, lockstep)
    path = Path(out) if out is not None else default_directory(default_out(scenario, scheme), key)
    claim_run(path, key, force)
    job = _Job(
        str(scenario), scheme, list(overrides), seed, path, force, key, profile, threads, lockstep
    )
    try:
        with watched([scheme or ""], listener) as (told, show):
            outcome = _run_all({scheme or "": job}, 1, told, show)
        for error in outcome.errors.values():
            raise error
    except BaseException:
        if out is None:
            with suppress(OSError):
                path.rmdir()  # The default directory, if nothing was written into it.
        raise
    result = Run(path)
    if outcome.interrupted:
        raise Interrupted(result)
    return result


def compare(
    scenario: str | Path,
    schemes: Sequence[str],
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    listener: Listener | None = None,
    report: bool = True,
    profile: str | None = None,
    threads: int = 1,
    lockstep: Lockstep | None = None,
) -> Comparison:
    """Simulate a scenario with several schemes, all on the very same flows.

    At most ``jobs`` of them run at a time, each on at most ``threads`` processors (0: all); by
    default as many as there are processors for. A scheme that fails does not stop the others: see
    ``failed`` of the result. Every parameter applies to each scheme that has it, such as
    ``scheme.hpcc.eta=0.9`` to HPCC. With ``lockstep`` their frames go through the kernel
    (docs/live.md), one run after the other. Ctrl-C raises :class:`~backwater.Interrupted`, whose
    ``result`` has what was computed. ``out`` and ``force`` are those of :func:`run`.
    """
    _check_names(schemes)
    _check_overrides(schemes, overrides)
    _check_threads(threads, lockstep)
    if lockstep is not None and jobs not in (None, 1):
        raise ScenarioError(f"jobs={jobs}: runs in lockstep go one after the other; leave jobs out")
    fits = fitting(scenario, schemes, overrides, seed, profile)
    concerned = {scheme: fit.overrides for scheme, fit in fits.items()}
    # All mistakes are told before anything is written.
    mistakes: dict[str, ScenarioError] = {}
    keys: dict[str, str] = {}
    for scheme in schemes:
        try:
            keys[scheme] = _key(scenario, scheme, concerned[scheme], seed, profile, lockstep)
        except ScenarioError as error:
            mistakes[scheme] = error
    for scheme, mistake in mistakes.items():
        if len({str(other) for other in mistakes.values()}) == 1 and len(mistakes) == len(schemes):
            raise mistake
        raise ScenarioError(f"with the scheme {scheme}:\n{mistake}", mistake.problems)
    key = _hash(list(keys.items()))
    preferred = default_out(scenario, "compare")
    path = Path(out) if out is not None else default_directory(preferred, key)
    claim_comparison(path, key, keys, force)
    rest = (profile, threads, lockstep)
    made = {
        s: _Job(str(scenario), s, concerned[s], seed, path / s, force, keys[s], *rest)
        for s in schemes
    }
    workers = 1 if lockstep is not None else jobs or runs_at_a_time(threads)
    with watched(schemes, listener) as (told, show):
        outcome = _run_all(made, workers, told, show)
    about = {
        "key": key,
        "scenario": str(scenario),
        "scenario_text": Path(scenario).read_text(encoding="utf-8"),
        "command": _command(scenario, schemes, overrides, seed, profile),
        "schemes": [s for s in schemes if s in outcome.finished],
        "failed": {s: str(e) for s, e in outcome.errors.items()},
        "interrupted": outcome.interrupted,
        "notes": [sentence for fit in fits.values() for sentence in fit.left_out],
    }
    write_whole(path / COMPARISON, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    result = Comparison(path)
    if report and len(result) > 0:
        try:
            result.report()
        except RunError as error:
            kept = f"all runs are kept, and `backwater report {path}` writes it later"
            raise RunError(f"{error}; {kept}", error.errno) from error
    if outcome.interrupted:
        raise Interrupted(result)
    return result


@dataclass(frozen=True, slots=True)
class Fit:
    """The overrides of a comparison or sweep that apply to one of its schemes."""

    overrides: list[str]

    left_out: list[str]
    """A sentence for each override that does not apply."""


def fitting(
    scenario: str | Path,
    schemes: Sequence[SchemeName],
    overrides: Sequence[str],
    seed: int | None = None,
    profile: str | None = None,
) -> dict[SchemeName, Fit]:
    """Return for each scheme the overrides that apply to it.

    A parameter that a scheme does not have is left out for it if another scheme has it. If no
    scheme has it, it stays, and the scenario is refused.
    """
    if len(schemes) == 1 or not any(override.startswith("scheme.") for override in overrides):
        return {scheme: Fit(list(overrides), []) for scheme in schemes}
    idle: dict[SchemeName, dict[str, str]] = {}
    for scheme in schemes:
        problems = check(scenario, scheme=scheme, overrides=overrides, seed=seed, profile=profile)
        useless = {p["key"]: p["message"] for p in problems if p["code"] == "useless-key"}
        idle[scheme] = {
            override: why
            for override in overrides
            for key, why in useless.items()
            if f"{override.partition('=')[0].strip()}.".startswith(f"{key}.")
        }
    nowhere = set.intersection(*(set(found) for found in idle.values()))
    fits: dict[SchemeName, Fit] = {}
    for scheme, found in idle.items():
        left_out = {override: why for override, why in found.items() if override not in nowhere}
        sentences = [
            f"`{override}` does not apply to {scheme or 'the scheme of the scenario'}: {why}"
            for override, why in left_out.items()
        ]
        fits[scheme] = Fit([one for one in overrides if one not in left_out], sentences)
    return fits


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def runs_at_a_time(threads: int) -> int:
    """How many runs keep all processors busy, if each uses ``threads``; 0 stands for all."""
    return max(1, processors() // threads) if threads else 1


def _key(
    scenario: str | Path,
    scheme: str | None,
    overrides: Sequence[str],
    seed: int | None,
    profile: str | None,
    lockstep: Lockstep | None,
) -> str:
    """Return the key of a run: a hash of everything that its result depends on."""
    from backwater.scenario.task import Task

    key = Task(Path(scenario), scheme, tuple(overrides), seed, profile).key
    return key if lockstep is None else _hash([key, lockstep.compare])


def _hash(about: Any) -> str:
    from backwater.scenario.task import hash_bytes

    return hash_bytes(json.dumps(about).encode())


def default_out(scenario: str | Path, suffix: str | None) -> Path:
    """Return the preferred directory of results if the user names none."""
    stem = Path(scenario).stem
    return Path("out") / (f"{stem}-{suffix}" if suffix else stem)


@dataclass(frozen=True)
class Lockstep:
    """How frames go through the kernel. The process is in a user namespace that allows it."""

    compare: bool = False
    """The simulator runs as well, and digests are compared."""

    KEPT = "lockstep.json"
    """Beside the results: how many frames it took, and what the simulator says."""


@dataclass(frozen=True)
class _Job:
    scenario: str
    scheme: str | None
    overrides: list[str]
    seed: int | None
    out: Path
    force: bool
    key: str
    profile: str | None = None
    threads: int = 1
    lockstep: Lockstep | None = None

    def work(self, listener: Callable[[Progress], None] | None, interrupt: _core.Interrupt) -> None:
        began = time.monotonic()

        def progress(
            now_ps: int,
            until_ps: int | None,
            started: int,
            finished: int,
            flows: int | None,
            hops: int,
            moved_ps: int | None = None,
            fullest: tuple[str, int] | None = None,
            operations: tuple[float, int] | None = None,
        ) -> None:
            if listener is not None:
                seconds = time.monotonic() - began
                known = (now_ps, until_ps, started, finished, flows, hops, seconds)
                listener(Progress(*known, moved_ps, fullest, operations))

        tell = progress if listener is not None else None
        what = (self.scenario, self.scheme, self.overrides, self.seed)
        where = (str(self.out), self.force, self.key)
        rest = (tell, interrupt, self.profile)
        if self.lockstep is None:
            said = _core.run(*what, *where, *rest, self.threads)
        else:
            said, kept = _core.run_lockstep(*what, *where, *rest, self.lockstep.compare)
            write_whole(self.out / Lockstep.KEPT, kept + "\n")
        summary = json.loads(said)
        flows, hops = summary["flows"], summary["performance"]["packet_hops"]
        started = None if summary["partial"] else flows["started"]
        end_ps = summary["end_ps"]
        progress(end_ps, end_ps, flows["started"], flows["finished"], started, hops)


@dataclass
class _Outcome:
    finished: set[str]
    errors: dict[str, Exception]
    interrupted: bool


def _run_all(
    jobs: dict[str, _Job], workers: int, listener: Listener | None, show: Callable[[], None]
) -> _Outcome:
    """Run jobs on threads, while this one shows how far they are and waits for them or Ctrl-C."""
    interrupt = _core.Interrupt()
    stopped = threading.Event()
    outcome = _Outcome(set(), {}, False)

    def work(name: str, job: _Job) -> bool:
        if stopped.is_set():
            return False
        tell = None if listener is None else lambda progress: listener(name, progress)
        job.work(tell, interrupt)
        return True

    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="backwater") as pool:
        futures = {pool.submit(work, name, job): name for name, job in jobs.items()}
        pending: set[Future[bool]] = set(futures)
        while pending:
            try:
                _, pending = wait(pending, timeout=_PATIENCE_S, return_when=FIRST_COMPLETED)
                show()
            except KeyboardInterrupt:
                outcome.interrupted = True
                stopped.set()
                interrupt.set()
    for future, name in futures.items():
        error = future.exception()
        if error is None:
            if future.result():
                outcome.finished.add(name)
        elif isinstance(error, Exception):
            outcome.errors[name] = error
        else:
            raise error
    return outcome


def _check_threads(threads: int, lockstep: Lockstep | None) -> None:
    if not 0 <= threads <= MOST_THREADS:
        raise ScenarioError(
            f"{threads} threads: a run can have 1 to {MOST_THREADS}; 0 stands for all processors"
        )
    if lockstep is not None and threads != 1:
        raise ScenarioError(
            f"threads={threads}: a run in lockstep has one thread, because its nodes take turns; "
            "leave threads out"
        )


def _check_overrides(schemes: Sequence[str], overrides: Sequence[str]) -> None:
    """Refuse an override that makes another scheme of one: results would have the wrong name."""
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() == "scheme.preset" or (key.strip() == "scheme" and "preset" in value):
            raise ScenarioError(
                f"error: `{override}` would take the place of the chosen scheme: "
                f"{', '.join(schemes)}\n  = name each scheme once: by --scheme or --schemes, or by "
                "the override"
            )


def _check_names(schemes: Sequence[str]) -> None:
    if not schemes:
        raise ScenarioError("no scheme to compare; name at least one, such as bfc,hpcc")
    for scheme in schemes:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", scheme):
            raise ScenarioError(f"`{scheme}` cannot be the name of a scheme")
        if list(schemes).count(scheme) > 1:
            raise ScenarioError(f"scheme `{scheme}` is named twice")


def _command(
    scenario: str | Path,
    schemes: Sequence[str],
    overrides: Sequence[str],
    seed: int | None,
    profile: str | None = None,
) -> str:
    """Return the command line that repeats a comparison."""
    import shlex

    words = ["backwater", "compare", str(scenario), "--schemes", ",".join(schemes)]
    for override in overrides:
        words += ["--set", override]
    if seed is not None:
        words += ["--seed", str(seed)]
    if profile is not None:
        words += ["--profile", profile]
    return shlex.join(words)
