"""Runs scenarios with the installed package, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import backwater


@dataclass(frozen=True)
class Case:
    """A run that is repeated: a scenario with a scheme and overrides."""

    scenario: Path
    scheme: str | None
    overrides: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Case:
        """Parse a case such as ``SCENARIO:SCHEME:KEY=VALUE,...``; scheme and keys are optional."""
        scenario, _, rest = text.partition(":")
        scheme, _, overrides = rest.partition(":")
        return cls(Path(scenario), scheme or None, tuple(filter(None, overrides.split(","))))

    @property
    def name(self) -> str:
        """Label in tables: scenario and scheme."""
        return f"{self.scenario.stem} {self.scheme or ''}".strip()

    def run(self, folder: Path, threads: int = 1, also: Sequence[str] = ()) -> dict[str, Any]:
        """Run the case with the additional overrides ``also``, and return its summary."""
        scenario = backwater.Scenario(self.scenario, [*self.overrides, *also], scheme=self.scheme)
        run = backwater.run(
            scenario,
            out=folder,
            force=True,
            threads=threads,
        )
        return run.only.summary
