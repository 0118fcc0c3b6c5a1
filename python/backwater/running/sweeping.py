"""Runs the sweep that a file describes."""

from __future__ import annotations

import json
import os
import shlex
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater._base import durable as files
from backwater.errors import Interrupted, RunError
from backwater.results import CAMPAIGN, STORE
from backwater.results.dataset import FORMAT, Campaign
from backwater.results.store import Store
from backwater.running.child import Limits
from backwater.running.directories import claim_campaign
from backwater.running.runner import Listener, run_tasks
from backwater.running.simulate import runs_at_a_time
from backwater.scenario.sweep import Point, Sweep, plain
from backwater.scenario.task import version


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep would do."""

    runs: int
    """Different runs."""

    there: int
    failed: int
    """Failed before, and are not tried again."""

    commands: tuple[str, ...]
    """The runs that would be made, each as the command that makes it by itself."""

    seconds: float | None
    """Estimate of the time for the others; ``None`` where nothing is known."""

    basis: str
    """What the estimate rests on."""

    @property
    def todo(self) -> int:
        """Runs that would be made."""
        return len(self.commands)


def sweep(
    sweep: str | Path,
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    scheduler: Any = None,
    timeout_s: float | None = None,
    memory_bytes: int | None = None,
    retry_failed: bool = False,
    force: bool = False,
    listener: Listener | None = None,
    notify: Callable[[str], None] | None = None,
    report: bool = True,
    threads: int = 1,
) -> Campaign:
    """Make all runs of a sweep that are not there yet, and return them as a campaign.

    Runs are kept in ``store``, by default inside of ``out``; several campaigns may share one. See
    :func:`backwater.running.runner.run_tasks` for the rest. Ctrl-C raises
    :class:`~backwater.Interrupted`, whose ``result`` is the campaign as far as it came.
    ``notify`` is told of runs that were found damaged, set aside, and made again.
    """
    asked = Sweep(sweep)
    points = asked.points()
    path = Path(out) if out is not None else default_out(asked.path)
    place = Path(store) if store is not None else path / STORE
    claim_campaign(path, asked.name, force)
    if notify is not None:
        for note in asked.left_out:
            notify(note)
    _write_plan(path, place, asked, points)
    stop: Interrupted | None = None
    kept = Store(place)
    try:
        run_tasks(
            [point.task for point in points],
            kept,
            jobs=jobs,
            scheduler=scheduler,
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            retry_failed=retry_failed,
            listener=listener,
            threads=threads,
        )
    except Interrupted as interruption:
        stop = interruption
    finally:
        # Runs that were found damaged: the user may want to know why.
        if notify is not None:
            for notice in kept.notices:
                notify(notice)
    campaign = Campaign(path)
    if stop is not None:
        raise Interrupted(campaign)
    if report and campaign.facts:
        campaign.report()
    return campaign


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
    """Say what :func:`sweep` would do, without doing it."""
    Limits(timeout_s, memory_bytes).check()
    asked = Sweep(sweep)
    points = {point.task.key: point for point in asked.points()}
    path = Path(out) if out is not None else default_out(asked.path)
    place = Store(Path(store) if store is not None else path / STORE)
    there = place.table(points)
    failed = set()
    for key in points.keys() - there.keys():
        failure = None if retry_failed else place.failure(key)
        if failure is not None and failure.stands(timeout_s, memory_bytes):
            failed.add(key)
    todo = [point for key, point in points.items() if key not in there and key not in failed]
    seconds, basis = _estimate(todo, points, there, jobs or runs_at_a_time(threads))
    commands = tuple(point.task.command for point in todo)
    return Plan(len(points), len(there), len(failed), commands, seconds, basis)


def default_out(sweep: Path) -> Path:
    """Where a campaign goes that is not told where to go."""
    return Path("out") / sweep.stem


def _estimate(
    todo: list[Point], points: dict[str, Point], there: dict[str, dict[str, Any]], jobs: int
) -> tuple[float | None, str]:
    """Take for each run the mean time of those like it, the most alike that are there."""
    if not todo:
        return 0.0, "nothing is to be made"
    if not there:
        return None, "no run of this sweep is finished yet"
    times: dict[Any, list[float]] = defaultdict(list)
    for key, facts in there.items():
        for likeness in _likenesses(points[key]):
            times[likeness].append(facts["performance.wall_seconds"])
    means = {likeness: sum(found) / len(found) for likeness, found in times.items()}
    seconds = sum(next(means[a] for a in _likenesses(p) if a in means) for p in todo)
    return seconds / min(jobs, len(todo)), f"from {len(there):,} finished runs of this sweep"


def _likenesses(point: Point) -> list[Any]:
    """Say what other runs may have in common with this one, the closest first."""
    values = tuple(str(value) for value in point.values.values())
    return [(values, point.scheme), (values,), (point.scheme,), ()]


def _write_plan(path: Path, store: Path, asked: Sweep, points: list[Point]) -> None:
    inside = store.resolve().is_relative_to(path.resolve())
    about = {
        "format": FORMAT,
        "version": version(),
        "name": asked.name,
        "command": shlex.join(["backwater", "sweep", str(asked.path), "-o", str(path)]),
        "sweep": str(asked.path),
        "sweep_text": asked.text,
        "scenario": str(asked.scenario),
        "scenario_text": asked.scenario.read_text(encoding="utf-8"),
        # A campaign with a store of its own can be moved as one directory.
        "store": os.path.relpath(store, path) if inside else str(store.resolve()),
        "notes": list(asked.left_out),
        "keys": asked.keys,
        "axes": [list(axis.keys) for axis in asked.axes],
        "points": [
            {
                "key": point.task.key,
                "values": [plain(value) for value in point.values.values()],
                "scheme": point.scheme,
                "seed": point.seed,
                "command": point.task.command,
            }
            for point in points
        ],
    }
    try:
        files.write_durably(path / CAMPAIGN, json.dumps(about, ensure_ascii=False) + "\n")
    except OSError as error:
        raise RunError(files.explain(error)) from error
