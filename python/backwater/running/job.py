"""The request for a run that a process receives, and its reply.

Both are sent as JSON to a process on this machine, or to a worker of a cluster.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from backwater._base.files import readable
from backwater.errors import InputError
from backwater.scenario import Scenario
from backwater.scenario.scenario import hash_bytes, version, with_names


@dataclass(frozen=True, slots=True)
class Input:
    """A file for the run: its path, or its contents."""

    name: str
    path: str
    digest: str
    content: str | None = None
    """Contents in base64, if the process cannot read ``path``."""

    def bytes(self) -> bytes:
        """Return the contents; raise ``InputError`` if they were changed."""
        if self.content is not None:
            return base64.b64decode(self.content)
        path = Path(self.path)
        with readable(path):
            found = path.read_bytes()
        if hash_bytes(found) != self.digest:
            raise InputError(f"{self.path} was changed since the runs began; start them again")
        return found


@dataclass(frozen=True, slots=True)
class Job:
    """A request for a run."""

    key: str
    scenario: str
    """The resolved scenario. The files that it names are in the same directory."""

    resolved: str
    """The resolved scenario with the original file names, as it is stored with the run."""

    inputs: tuple[Input, ...]
    profile: str | None
    about: dict[str, Any]
    """Data to store with the run."""

    label: str = ""
    """Name in progress reports."""

    work: str = ""
    """Directory for the run while it is made."""

    final: str | None = None
    """Directory of the complete run. ``None``: the run stays in its work directory."""

    partial: str | None = None
    """Directory for the first part of the run if it is interrupted."""

    threads: int = 1
    """Number of processors that the run may use. It does not change the results."""

    def to_json(self) -> str:
        """Return the job as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Job:
        """Return the job from the text that :meth:`to_json` returned."""
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
    """The files of the run, if it was made on another machine."""

    seconds: float = 0.0


def job_of(scenario: Scenario, threads: int = 1, label: str = "") -> Job:
    """Return a job with a copy of the scenario. Later edits of the file do not affect the run."""
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
