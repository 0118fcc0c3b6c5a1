"""Runs scenarios: a single run, several schemes and seeds, or a sweep file."""

from __future__ import annotations

import json
import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backwater._base import durable as files
from backwater._base.deprecated import warn
from backwater.errors import Interrupted, RunError, ScenarioError
from backwater.results import RESULTS, STORE
from backwater.results.files import RunFiles
from backwater.results.results import FORMAT, Point, Results
from backwater.results.store import Store
from backwater.running.child import Limits
from backwater.running.directories import claim_many
from backwater.running.engine import check_options, run_all
from backwater.running.progress import Listener, watched
from backwater.running.single import default_out, run_one, runs_at_a_time
from backwater.scenario import Scenario
from backwater.scenario.scenario import version
from backwater.scenario.sweep import Point as Requested
from backwater.scenario.sweep import Sweep, plain

Given = str | os.PathLike[str] | Mapping[str, Any] | Scenario
"""A scenario, or an argument that :class:`Scenario` accepts."""


def run(
    scenario: Given | Sequence[Given],
    *,
    schemes: Iterable[str] | None = None,
    seeds: Iterable[int] | None = None,
    vary: Mapping[Any, Any] | None = None,
    skip_invalid: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    listener: Listener | None = None,
    threads: int = 1,
    **many: Any,
) -> Results:
    """Simulate a scenario once, or with several schemes, seeds and values of keys.

    A single run is made in this process. Many runs are made in processes of this machine or on a
    Dask cluster, each at most once: runs in the store are not repeated, also after a crash.

    Parameters
    ----------
    scenario
        A :class:`Scenario`, or an argument that it accepts. Each scenario of a list is run. The
        coordinate ``scenario`` distinguishes them.
    schemes
        Presets to compare, all on the same flows. If a scheme lacks a parameter, the parameter is
        left out for this scheme.
    seeds
        Seeds, such as ``range(5)``.
    vary
        Values by key, such as ``{"switch.buffer": ["4MB", "8MB"]}``. All combinations of values
        are run. A tuple of keys has tuples of values, which change together.
    skip_invalid
        Leave invalid combinations out and list them in the report.
    out
        Directory of the results. Default: ``out/NAME`` for one run, ``out/NAME-compare`` for many.
    force
        Write into ``out`` even if it has other files.
    listener
        Called with the :class:`~backwater.Status` of the runs.
    threads
        Processors that one run uses (0: all). They do not change the results.
    **many
        For many runs: ``jobs`` (runs at a time), ``scheduler`` (address or client of a Dask
        cluster), ``store`` (directory of finished runs), ``timeout_s`` and ``memory_bytes`` (limits
        of a run). Further options are ``retry_failed``, ``report`` (False: no report), and
        ``notify`` (called with notes about damaged runs and parameters that were left out).

    Returns
    -------
    Results
        The runs.

    Raises
    ------
    ScenarioError
        If a scenario or an argument is wrong. In this case no run starts.
    RunError
        If a single run fails, or results cannot be written.
    Interrupted
        On Ctrl-C; its ``result`` has what was computed.

    Examples
    --------
    >>> import backwater as bw
    >>> s = bw.Scenario("scenarios/first.toml")
    >>> r = bw.run(s, schemes=["bfc", "hpcc"], seeds=range(3))  # doctest: +SKIP
    >>> r.runs.group_by("scheme").mean()                        # doctest: +SKIP

    """
    scenarios, many = _scenarios(scenario, many)
    unknown = many.keys() - _MANY
    if unknown:
        raise TypeError(f"run() has no argument {', '.join(map(repr, sorted(unknown)))}")
    single = len(scenarios) == 1 and schemes is None and seeds is None and vary is None
    if single and not many:
        found = run_one(scenarios[0], out=out, force=force, listener=listener, threads=threads)
        if found.partial:
            raise Interrupted(Results.of_run(found))
        return Results.of_run(found)
    asked = Sweep.of(scenarios, schemes, seeds, vary, skip_invalid)
    command = _command(scenarios, asked)
    path = Path(out) if out is not None else default_out(scenarios[0], "compare")
    return _run_many(asked, path, command, force, listener, threads, **many)


def compare(scenario: Given, schemes: Sequence[str], **options: Any) -> Results:
    """Simulate a scenario with several schemes: :func:`run` with ``schemes``."""
    return run(scenario, schemes=schemes, **options)


def sweep(
    sweep: str | Path,
    *,
    out: str | Path | None = None,
    force: bool = False,
    listener: Listener | None = None,
    threads: int = 1,
    **many: Any,
) -> Results:
    """Make all runs of a sweep file that are not in its store.

    Parameters
    ----------
    sweep
        A TOML file that names a scenario, schemes, seeds and values of keys.
    out, force, listener, threads, **many
        As in :func:`run`; ``out`` is ``out/NAME`` by default.

    Returns
    -------
    Results
        The runs.

    Raises
    ------
    ScenarioError, RunError, Interrupted
        As in :func:`run`.

    """
    asked = Sweep.read(sweep)
    path = Path(out) if out is not None else _default_of_sweep(Path(sweep))
    command = shlex.join(["backwater", "sweep", str(sweep), "-o", str(path)])
    return _run_many(asked, path, command, force, listener, threads, **many)


_MANY = {
    "jobs",
    "scheduler",
    "store",
    "timeout_s",
    "memory_bytes",
    "retry_failed",
    "report",
    "notify",
}
_OLD = {"scheme", "overrides", "seed", "profile"}


def _scenarios(given: Any, options: dict[str, Any]) -> tuple[list[Scenario], dict[str, Any]]:
    """Return the scenarios of a call and its options, without the options of version 0.1."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    scenarios = [Scenario(one) for one in (given if several else [given])]
    if not scenarios:
        raise ScenarioError("no scenario to run; name at least one")
    if len({one.stem for one in scenarios}) < len(scenarios):
        raise ScenarioError("two of the scenarios have the same file name; rename one")
    old = {name: value for name, value in options.items() if name in _OLD}
    if old:
        warn(f"run({', '.join(old)}=…)", "Scenario(…).set(…)")
        changes = old.pop("overrides", ())
        scenarios = [one.set(changes, **old) for one in scenarios]
    return scenarios, {name: value for name, value in options.items() if name not in _OLD}


def _default_of_sweep(sweep: Path) -> Path:
    return Path("out") / sweep.stem


def _run_many(
    asked: Sweep,
    path: Path,
    command: str,
    force: bool,
    listener: Listener | None,
    threads: int,
    *,
    store: str | Path | None = None,
    notify: Callable[[str], None] | None = None,
    report: bool = True,
    **options: Any,
) -> Results:
    """Run all points that are not stored. The list of runs is written first, the report last."""
    limits = Limits(options.get("timeout_s"), options.get("memory_bytes"))
    # Check before the directory is made.
    check_options(limits, threads, options.get("jobs"), options.get("scheduler"))
    requested = asked.points()
    place = Path(store) if store is not None else path / STORE
    claim_many(path, asked.name, force)
    notes = [*asked.notes]
    _list_requested(path, place, asked, requested, command)
    kept = Store(place)
    before = Results.open(path)
    labels = {point.key: before.label(point) for point in before.points}
    stop: Interrupted | None = None
    try:
        with watched(listener) as shown:
            run_all(
                [point.scenario for point in requested],
                kept,
                listener=shown,
                threads=threads,
                labels=labels,
                **options,
            )
    except Interrupted as interruption:
        stop = interruption
    finally:
        if notify is not None:
            for note in (*notes, *kept.notices):
                notify(note)
    results = Results.open(path)
    _link(results)
    if report and any(results.counts[state] for state in ("done", "partial")):
        try:
            results.report()
        except RunError as error:
            kept_too = f"all runs are kept, and `backwater report {path}` writes it later"
            raise RunError(f"{error}; {kept_too}", error.errno) from error
    if stop is not None:
        raise Interrupted(results)
    return results


def _link(results: Results) -> None:
    """Create a link to each run in the store, with the name of its scheme, for people."""
    labels = {results.label(point): point for point in results.points}
    if results.keys or len(results.seeds) > 1 or len(labels) < len(results.points):
        return
    for label, point in labels.items():
        place, link = results.path_of(point.key), results.path / label
        if place is None or (link.exists() and not link.is_symlink()):
            continue
        with suppress(OSError):  # The file system may lack links. The runs are in the store.
            link.unlink(missing_ok=True)
            link.symlink_to(os.path.relpath(place, results.path), target_is_directory=True)


def _command(scenarios: Sequence[Scenario], asked: Sweep) -> str:
    """Return the command line that repeats the runs, if there is one."""
    more = []
    if asked.schemes != [None]:
        more += ["--schemes", ",".join(map(str, asked.schemes))]
    if asked.seeds != [None]:
        more += ["--seeds", ",".join(map(str, asked.seeds))]
    if asked.axes or len(scenarios) > 1:
        return ""
    return scenarios[0].command_of("run", *more)


def _list_requested(
    path: Path, store: Path, asked: Sweep, requested: list[Requested], command: str
) -> None:
    """Write the list of requested runs into the directory of results ``path``."""
    inside = store.resolve().is_relative_to(path.resolve())
    first = asked.scenarios[0]
    several = len(asked.scenarios) > 1
    points = [
        Point(
            point.scenario.key,
            tuple(plain(value) for value in point.values.values()),
            point.scheme,
            point.seed,
            point.scenario.command,
        )
        for point in requested
    ]
    about = {
        "name": asked.name,
        "command": command,
        "sweep": str(asked.path) if asked.path else None,
        "sweep_text": asked.text,
        "scenario": ", ".join(one.source for one in asked.scenarios),
        "scenario_text": "\n\n".join(one.text for one in asked.scenarios),
        # A directory with its own store can be moved as a whole.
        "store": os.path.relpath(store, path) if inside else str(store.resolve()),
        "notes": list(asked.notes),
        "changes": [*first.overrides],
        "skipped": [
            {"values": {k: plain(v) for k, v in s.values.items()}, "scheme": s.scheme, "why": s.why}
            for s in asked.skipped
        ],
        "keys": asked.keys,
        "axes": [*([["scenario"]] if several else []), *(list(axis.keys) for axis in asked.axes)],
    }
    write_list(path, about, points)


def write_list_of_directories(
    path: Path, scenario: Scenario, runs: Mapping[str, RunFiles]
) -> Results:
    """Write the list of runs that have their own directories, and return their results together."""
    points = [
        Point(str(run.summary["key"]), (), run.scheme, run.seed, path=name)
        for name, run in runs.items()
    ]
    about = {"name": scenario.name, "scenario": scenario.source, "scenario_text": scenario.text}
    write_list(path, about | {"store": STORE, "keys": [], "axes": []}, points)
    return Results.open(path)


def write_list(path: Path, about: Mapping[str, Any], points: Iterable[Point]) -> None:
    """Write the list of the runs of a directory, with facts that apply to all of them."""
    listed = [{k: v for k, v in asdict(point).items() if v is not None} for point in points]
    whole = {"format": FORMAT, "version": version(), **about, "points": listed}
    try:
        files.write_durably(path / RESULTS, json.dumps(whole, ensure_ascii=False) + "\n")
    except OSError as error:
        raise RunError(files.explain(error)) from error


# --- Before a sweep --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a sweep by state, before it is run."""

    runs: int
    """Number of different runs."""

    cached: int
    failed: int
    """Number of runs that failed earlier and are not repeated."""

    commands: tuple[str, ...]
    """The commands that make the remaining runs one by one."""

    seconds: float | None
    """Estimate of their duration; ``None`` if no run is finished."""

    basis: str
    """Basis of the estimate, as text."""

    skipped: int = 0
    """Number of invalid combinations that are left out."""

    @property
    def todo(self) -> int:
        """Number of runs to make."""
        return len(self.commands)


def plan(
    sweep: str | Path,
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    timeout_s: float | None = None,
    memory_bytes: int | None = None,
    retry_failed: bool = False,
    threads: int = 1,
) -> Plan:
    """Return the plan of :func:`sweep` without running it."""
    Limits(timeout_s, memory_bytes).check()
    asked = Sweep.read(sweep)
    points = {point.scenario.key: point for point in asked.points()}
    path = Path(out) if out is not None else _default_of_sweep(Path(sweep))
    place = Store(Path(store) if store is not None else path / STORE)
    there = place.table(points)
    failed = set()
    for key in points.keys() - there.keys():
        failure = None if retry_failed else place.failure(key)
        if failure is not None and failure.stands(timeout_s, memory_bytes):
            failed.add(key)
    todo = [point for key, point in points.items() if key not in there and key not in failed]
    seconds, basis = _estimate(todo, points, there, jobs or runs_at_a_time(threads))
    commands = tuple(point.scenario.command for point in todo)
    return Plan(len(points), len(there), len(failed), commands, seconds, basis, len(asked.skipped))


def _estimate(
    todo: list[Requested],
    points: dict[str, Requested],
    there: dict[str, dict[str, Any]],
    jobs: int,
) -> tuple[float | None, str]:
    """Estimate the time of each run as the mean time of the most similar finished runs."""
    if not todo:
        return 0.0, "there is nothing to run"
    if not there:
        return None, "no run of this sweep is finished yet"
    times: dict[Any, list[float]] = defaultdict(list)
    for key, row in there.items():
        for likeness in _likenesses(points[key]):
            times[likeness].append(row["run.seconds"])
    means = {likeness: sum(found) / len(found) for likeness, found in times.items()}
    seconds = sum(next(means[a] for a in _likenesses(p) if a in means) for p in todo)
    return seconds / min(jobs, len(todo)), f"from {len(there):,} finished runs of this sweep"


def _likenesses(point: Requested) -> list[Any]:
    """Return properties that similar runs share with this one, the most specific first."""
    values = tuple(str(value) for value in point.values.values())
    return [(values, point.scheme), (values,), (point.scheme,), ()]


__all__ = ["Plan", "compare", "plan", "run", "sweep"]
