"""Runs scenarios with the release build of the bench example, one process for each run."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "benches" / "scenarios"
PRESETS = ROOT / "crates" / "scenario" / "presets"


def surroundings(flags: str, target: Path | None) -> dict[str, str]:
    """Return the environment of a build with these compiler flags and this target folder."""
    environment = dict(os.environ)
    if flags:
        environment["RUSTFLAGS"] = f"{environment.get('RUSTFLAGS', '')} {flags}".strip()
    if target:
        environment["CARGO_TARGET_DIR"] = str(target)
    return environment


def build(
    flags: str = "", target: Path | None = None, root: Path = ROOT, debug: bool = False
) -> Path:
    """Build the bench example in release mode, or in debug mode, and return its path.

    `flags` are for the compiler, `target` is Cargo's target folder, and `root` is the folder of the
    sources.
    """
    command = ["cargo", "build", "--locked", "-p", "backwater-scenario"]
    command += ["--example", "bench", "--message-format", "json-render-diagnostics"]
    command += [] if debug else ["--release"]
    told = subprocess.run(
        command,
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=surroundings(flags, target),
    )
    messages = [json.loads(line) for line in told.stdout.splitlines()]
    made = [m["executable"] for m in messages if m.get("executable")]
    return Path(made[-1])


@dataclass(frozen=True, order=True)
class Cell:
    """One run: a scenario with a scheme, overrides, and the profile of a replay."""

    scenario: str
    scheme: str
    threads: int = 1
    set: tuple[str, ...] = ()
    profile: str = ""

    @property
    def name(self) -> str:
        """Label in tables: scenario, scheme and profile."""
        return f"{self.scenario} {self.scheme} {self.profile}".strip()

    @property
    def arguments(self) -> list[str]:
        """Arguments of the bench example."""
        path = SCENARIOS / f"{self.scenario}.toml"
        threads = [] if self.threads == 1 else [f"--threads={self.threads}"]
        profile = [f"--profile={self.profile}"] if self.profile else []
        return [str(path), self.scheme, *threads, *profile, *self.set]

    def run(self, binary: Path) -> dict[str, Any]:
        """Run the cell with the bench example and return the cost that it prints."""
        command = [str(binary), *self.arguments]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        cost: dict[str, Any] = json.loads(told.stdout)
        return cost

    def run_copies(self, binary: Path) -> float:
        """Run `threads` copies at once, one thread each; return the longest time in seconds."""
        command = [str(binary), *replace(self, threads=1).arguments]
        copies = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for _ in range(self.threads)
        ]
        told = [copy.communicate()[0] for copy in copies]
        if any(copy.returncode for copy in copies):
            raise RuntimeError(f"one of {self.threads} runs at once failed: {command}")
        return max(float(json.loads(text)["loop_s"]) for text in told)
