"""Helpers of many tests: programs that `.ci/tools` lists, and the longest time to wait."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.results.files import RunFiles
from backwater.results.results import Results

ROOT = Path(__file__).resolve().parents[2]

PATIENCE = 600
"""Seconds to wait for an event that must happen. Only a fault makes a test wait so long."""


def absent(name: str) -> None:
    """Skip the test for want of something, or fail where nothing may be skipped."""
    why = f"{name} is not installed (.ci/tools and requirements.txt list what tests need)"
    if os.environ.get("BACKWATER_NO_SKIP") == "1":
        pytest.fail(why)
    pytest.skip(why)


def program(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    absent(names[0])
    raise AssertionError


class Runs(dict[str, RunFiles]):
    """The runs of a comparison by scheme, and the results that they are of."""

    def __init__(self, results: Results) -> None:
        super().__init__(results.labelled())
        self.results, self.path = results, results.path


def simulated(
    scenario: Path,
    overrides: Iterable[str] = (),
    *,
    scheme: str | None = None,
    seed: int | None = None,
    profile: str | None = None,
    **options: Any,
) -> RunFiles:
    """Run a scenario with changes once, and return its files."""
    changed = backwater.Scenario(scenario, overrides, scheme=scheme, seed=seed, profile=profile)
    return backwater.run(changed, **options).only
