"""What the tests of campaigns share: a run of a few milliseconds, and how runs are compared."""

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


def endless(folder: Path) -> Path:
    """Write a scenario that runs for much longer than any test waits."""
    path = folder / "endless.toml"
    text = SHORT.replace("permutation", "uniform")
    every = 'size = "1MB"\nevery = "5us"\nwindow = ["0us", "20s"]'
    path.write_text(text.replace('size = "2KB"', every), encoding="utf-8")
    return path


def listed(folder: Path, flows: str = "0,1,1000,0us", name: str = "f") -> Path:
    """Write a scenario that reads its flows from a file."""
    (folder / f"{name}.csv").write_text(f"src,dst,bytes,start\n{flows}\n")
    path = folder / "listed.toml"
    text = SHORT.replace("permutation", "list").replace('size = "2KB"', f'file = "{name}.csv"')
    path.write_text(text, encoding="utf-8")
    return path


def tasks(scenario: Path, seeds: int) -> list[backwater.Scenario]:
    """Return the scenario with each of the seeds 0, 1, …."""
    return [backwater.Scenario(scenario, seed=seed) for seed in range(seeds)]


def substance(run: RunFiles) -> tuple[str, str, list[dict[str, object]]]:
    """Return the contents of a run that do not depend on when and where it was made."""
    return run.digest, run.resolved, run.table("flows").to_dicts()


def by_seed(outcome: Outcome) -> dict[int | None, tuple[str, str, list[dict[str, object]]]]:
    """Return the contents of all runs of an outcome."""
    return {task.seed: substance(run) for task, run in outcome.runs.items()}
