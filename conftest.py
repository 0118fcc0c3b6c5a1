"""Fixtures of runs that many tests share. The command makes each run once."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

import backwater
from backwater import cli
from backwater.results.files import RunFiles
from backwater.workloads import Workload
from tools import PATIENCE, Runs

# Examples have no time limit, because tests must not depend on the speed of the machine.
settings.register_profile("backwater", deadline=None)
settings.load_profile("backwater")

COMMAND = Path(sys.executable).with_name("backwater")

TINY = """\
name = "tiny"
seed = 3
topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "background"
pattern = "uniform"
sizes = "web-search@hpcc"
load = { fraction = 0.5, of = "hosts" }
window = ["0us", "400us"]

[[traffic]]
name = "incast"
pattern = "incast"
degree = 5
total = "200KB"
every = "100us"
window = ["0us", "400us"]
"""  # noqa: E501

TRAINED = """\
name = "step"
record = { blame = {} }

[topology]
kind = "rail-optimised"
servers = 2
gpus_per_server = 4
spines = 1
scale_up = { rate = "800Gbps", delay = "500ns" }
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
name = "train"
file = "step.parquet"
"""

Backwater = Callable[..., Result]
Process = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Enable Ctrl-C in this process and in all processes that tests start.

    A shell that starts the suite with `&` makes its children ignore Ctrl-C. Without this fixture
    the tests of Ctrl-C would then wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Main:
    """The command line in the form that click's runner calls."""

    name = "backwater"

    def main(self, args: Sequence[str], **_: object) -> None:
        """Run the command line with these arguments, and exit."""
        sys.argv = [self.name, *args]
        cli.main()


@pytest.fixture(scope="session")
def command() -> Backwater:
    """Return a function that runs the command line in this process and checks its exit code.

    The code `None` stands for any.
    """

    def call(*words: object, cwd: Path | None = None, code: int | None = 0) -> Result:
        runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
        handler = signal.getsignal(signal.SIGTERM)
        with contextlib.chdir(cwd or "."), pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", sys.argv)
            patch.setattr(sys.modules["__main__"], "__package__", "")  # Else it is in usages.
            done = runner.invoke(_Main(), [str(word) for word in words])  # type: ignore[arg-type]
        signal.signal(signal.SIGTERM, handler)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert code is None or done.exit_code == code, done.output
        return done

    return call


@pytest.fixture(scope="session")
def process() -> Process:
    """Return a function that runs the installed command, for tests about its process."""

    def call(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        called = [COMMAND, *map(str, words)]
        return subprocess.run(called, capture_output=True, text=True, timeout=PATIENCE, **options)

    return call


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a scenario that runs very quickly."""
    path = tmp_path_factory.mktemp("scenario") / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a scenario that runs for much longer than any test waits."""
    path = tmp_path_factory.mktemp("scenario") / "long.toml"
    path.write_text(TINY.replace('"400us"', '"5s"'), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return a run of two schemes with a workload of groups, on two servers of four GPUs.

    The run has the delay breakdown.
    """
    folder = tmp_path_factory.mktemp("trained")
    groups = {"tensor-0": range(4), "tensor-1": range(4, 8)}
    groups |= {f"data-{rank}": range(rank, 8, 4) for rank in range(4)}
    work = Workload(8, groups={name: list(ranks) for name, ranks in groups.items()})
    for rank in range(8):
        first = work.calc(rank, 20_000_000)
        inside = f"tensor-{rank // 4}"
        reduced = work.collective(rank, "all-reduce", 400_000, inside, after=[first])
        second = work.calc(rank, 5_000_000 * (1 + rank % 2), after=[reduced])
        across = f"data-{rank % 4}"
        joined = work.collective(rank, "all-reduce", 1_000_000, across, after=[second])
        sizes = [1000 * (1 + (rank + other) % 3) for other in range(8)]
        work.collective(rank, "all-to-allv", to_each=sizes, from_each=sizes, after=[joined])
    work.write(folder / "step.parquet")
    (folder / "step.toml").write_text(TRAINED, encoding="utf-8")
    return Runs(backwater.compare(folder / "step.toml", ["dcqcn", "bfc"], out=folder / "out"))


@pytest.fixture(scope="session")
def compared(
    command: Backwater, tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Result, Path]:
    """Return the output of a comparison of two schemes, and its directory."""
    out = tmp_path_factory.mktemp("compared") / "out"
    return command("compare", tiny, "--schemes", "bfc,dcqcn", "-o", out), out


@pytest.fixture(scope="session")
def comparison(compared: tuple[Result, Path]) -> Runs:
    return Runs(backwater.load(compared[1]))


@pytest.fixture
def bare(comparison: Runs, tmp_path: Path) -> RunFiles:
    """Return a run without events, so that all tables exist and are empty."""
    import json

    path = tmp_path / "bare"
    shutil.copytree(comparison["bfc"].path, path)
    for table in path.glob("*.parquet"):
        frame = pl.read_parquet(comparison["bfc"].path / table.name)
        frame.clear().write_parquet(table)
    summary = json.loads((path / "summary.json").read_text(encoding="utf-8"))
    empty = {"finished": 0, "unfinished": 0, "slowdown": None, "fct_ps": None}
    summary["fct"] = dict.fromkeys(summary["fct"], empty)
    summary["core"] = None
    summary["links"] = []
    (path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return RunFiles(path)


@pytest.fixture
def validated() -> Callable[..., Result]:
    """Return a function that runs ``python -m validation`` in this process."""
    from validation.__main__ import main

    def call(*arguments: str | int | Path) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return call
