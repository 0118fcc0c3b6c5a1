"""What the tests of campaigns share: a run of a few milliseconds, and how runs are compared."""

from __future__ import annotations

from pathlib import Path

import backwater
from backwater.results.files import RunFiles
from backwater.running.engine import Outcome

SHORT_S = 5.0
"""A limit in seconds that a short run keeps on a busy machine and an endless run does not."""

SHORT = """\
name = "short"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "web"
pattern = "permutation"
size = "2KB"
"""


def short(folder: Path) -> Path:
    """Write a scenario that runs for a millisecond or two."""
    path = folder / "short.toml"
    path.write_text(SHORT, encoding="utf-8")
    return path


def tasks(scenario: Path, seeds: int) -> list[backwater.Scenario]:
    """Return the scenario with each of the seeds 0, 1, …."""
    return [backwater.Scenario(scenario, seed=seed) for seed in range(seeds)]


def substance(run: RunFiles) -> tuple[str, str, list[dict[str, object]]]:
    """What a run says, wherever and whenever it was made."""
    return run.digest, run.resolved, run.table("flows").to_dicts()


def by_seed(outcome: Outcome) -> dict[int | None, tuple[str, str, list[dict[str, object]]]]:
    """What all runs of an outcome say."""
    return {task.seed: substance(run) for task, run in outcome.runs.items()}
