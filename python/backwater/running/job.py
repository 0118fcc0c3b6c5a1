"""What the process that makes a run is given, and what it answers.

Both travel as JSON: to a process on this machine, or to a worker of a cluster.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from backwater.errors import InputError
from backwater.scenario import Scenario
from backwater.scenario.scenario import hash_bytes, version, with_names


@dataclass(frozen=True, slots=True)
class Input:
    """A file for the run: where it lies, or what is in it."""

    name: str
    path: str
    digest: str
    content: str | None = None
    """In base64, where the process cannot read ``path``."""

    def bytes(self) -> bytes:
        """Return its contents; raises where they are not what they were."""
        if self.content is not None:
            return base64.b64decode(self.content)
        try:
            found = Path(self.path).read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read: {error.strerror}", error.errno
            ) from error
        if hash_bytes(found) != self.digest:
            raise InputError(f"{self.path} was changed since the runs began; start them again")
        return found


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be made."""

    key: str
    scenario: str
    """The resolved scenario; the files that it names lie beside it."""

    resolved: str
    """The same as it is kept with the run, with the files' own names."""

    inputs: tuple[Input, ...]
    profile: str | None
    about: dict[str, Any]
    """What is noted beside the run."""

    label: str = ""
    """How progress names it."""

    work: str = ""
    """Directory for the run while it is made."""

    final: str | None = None
    """Where it goes when it is whole; ``None`` leaves it where it is."""

    partial: str | None = None
    """Where its first part goes if it is interrupted."""

    threads: int = 1
    """Processors that it may use; no result depends on that."""

    def to_json(self) -> str:
        """Write as one line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Job:
        """Read what :meth:`to_json` wrote."""
        values = json.loads(line)
        values["inputs"] = tuple(Input(**one) for one in values["inputs"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Reply:
    """How a run ended."""

    key: str
    kind: str
    """``done``, ``partial``, or the kind of a failure."""

    message: str = ""
    summary: dict[str, Any] | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    """The files of the run, where they were made on another machine."""

    seconds: float = 0.0


def job_of(scenario: Scenario, threads: int = 1, label: str = "") -> Job:
    """Freeze a scenario: later edits of its files do not reach the run."""
    names = {file.where: f"input-{number}" for number, file in enumerate(scenario.files)}
    about = {
        "key": scenario.key,
        "version": version(),
        "scenario": scenario.source,
        "scheme": scenario.scheme,
        "seed": scenario.seed,
        "profile": scenario.profile,
        "overrides": list(scenario.overrides),
        "command": scenario.command,
    }
    return Job(
        key=scenario.key,
        scenario=with_names(scenario.resolved, names),
        resolved=scenario.resolved,
        inputs=tuple(Input(names[f.where], str(f.path), f.digest) for f in scenario.files),
        profile=scenario.profile,
        about=about,
        label=label,
        threads=threads,
    )
