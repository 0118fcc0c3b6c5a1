"""Checks the memory and the processor time of commands against limits.

    python benches/limits.py [NAME ...]

Each check runs a command of the product in its own process. Times are processor seconds, user and
system, of all threads together, because wall-clock time also depends on the load of the machine.
This includes the limits of the first minute (help, the first run, the demo's report). The exit
status is 1 if a command exceeds a limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from backwater.workloads import Workload

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
SHIPPED = Path(__file__).resolve().parents[1] / "scenarios"
BACKWATER = Path(sys.executable).with_name("backwater")
INPUT = "INPUT"


@dataclass(frozen=True)
class Limit:
    """A command, with limits of its memory and its processor time."""

    name: str
    arguments: tuple[str, ...]
    most_bytes: float = float("inf")
    most_s: float = float("inf")
    tries: int = 1
    """Number of runs. The fastest one counts, because a busy machine makes the others slower."""
    write: Callable[[Path], object] | None = None
    """Writes the input file, whose path replaces INPUT; ``None``: the command needs no file."""

    def command(self, folder: Path) -> list[str]:
        """Return the command line. Its input and its results are in ``folder``."""
        path = folder / "input"
        arguments = [argument.replace(INPUT, str(path)) for argument in self.arguments]
        command = [str(BACKWATER), *arguments]
        if self.write is not None:
            # A separate process writes the input, because the peak memory of this process would
            # count for the command that it starts.
            writer = get_context("spawn").Process(target=self.write, args=(path,))
            writer.start()
            writer.join()
            if writer.exitcode != 0:
                sys.exit(f"{self.name}: what the command reads could not be written")
        runs = self.arguments[0] == "run" and "--help" not in self.arguments
        return [*command, "-o", str(folder / "run")] if runs else command


def operations_in_turn(path: Path) -> None:
    """Write a million operations of 8 ranks, of which few can begin before others have ended."""
    work = Workload(8)
    for rank in range(8):
        last: list[int] = []
        for tag in range(62_500):
            work.send(rank, (rank + 1) % 8, 1000, tag=tag, after=last)
            last = [work.recv(rank, (rank - 1) % 8, 1000, tag=tag, after=last)]
    work.write(path)


def operations_at_once(path: Path) -> None:
    """Write a million operations of 8 ranks that all wait for the first of their rank."""
    work = Workload(8)
    for rank in range(8):
        first = work.calc(rank, 10**9)
        for _ in range(125_000):
            work.calc(rank, 1000, after=[first], resource=0)
    work.write(path)


def operations_that_end_at_once(path: Path) -> None:
    """Write a million operations of 8 ranks that all take the same time."""
    work = Workload(8)
    for rank in range(8):
        for _ in range(125_000):
            work.calc(rank, 1000)
    work.write(path)


def demo(path: Path) -> None:
    """Run the comparison of `make demo`, which takes a minute of processor time."""
    scenario, schemes = str(SHIPPED / "demo.toml"), SHIPPED / "demo.schemes"
    command = [str(BACKWATER), "compare", scenario, "-o", str(path)]
    command += ["--schemes", schemes.read_text(encoding="utf-8").strip()]
    subprocess.run(command, check=True, capture_output=True)


def _run(scenario: str, *arguments: str) -> tuple[str, ...]:
    return ("run", str(SCENARIOS / f"{scenario}.toml"), *arguments)


def _ready(scenario: str, scheme: str) -> tuple[str, ...]:
    """Return the arguments of a run of 1 us, which measures the setup."""
    return _run(scenario, "--scheme", scheme, "--set", "run.until=1us")


LIMITS = (
    Limit("help", ("--help",), most_s=0.1, tries=9),
    Limit("help of run", ("run", "--help"), most_s=0.15, tries=9),
    Limit("the first run", ("run", str(SHIPPED / "first.toml")), most_s=0.3, tries=9),
    Limit("the demo's report", ("report", INPUT), 0.4e9, 1.5, tries=3, write=demo),
    Limit("8192 hosts ready, HPCC", _ready("permutation-8192", "hpcc"), 1e9, 3),
    Limit("8192 hosts ready, BFC", _ready("permutation-8192", "bfc"), 1e9, 3),
    Limit("100 000 hosts built, HPCC", _ready("permutation-101306", "hpcc"), 4e9, 20),
    Limit("100 000 hosts built, BFC", _ready("permutation-101306", "bfc"), 4e9, 20),
    Limit("a million flows, DCQCN", _run("million-flows", "--scheme", "dcqcn"), 500e6),
    Limit("a million flows, BFC", _run("million-flows", "--scheme", "bfc"), 500e6),
    Limit("a million operations in turn", ("estimate", INPUT), 50e6, write=operations_in_turn),
    # The limit allows 200 bytes per operation, and the memory of the program itself.
    Limit("a million operations at once", ("estimate", INPUT), 230e6, write=operations_at_once),
    # The limit allows about 50 more bytes per operation that has ended and is not yet on the disk.
    Limit(
        "a million operations that end at once, with packets",
        ("run", str(HERE / "operations.toml"), "--set", f'workload.0.file="{INPUT}"'),
        300e6,
        write=operations_that_end_at_once,
    ),
    Limit("8192 hosts, HPCC", _run("permutation-8192", "--scheme", "hpcc"), 1e9),
    Limit("8192 hosts, BFC", _run("permutation-8192", "--scheme", "bfc"), 1e9),
)


def main() -> int:
    """Run all checks, or those that the arguments name."""
    wanted = [limit for limit in LIMITS if not sys.argv[1:] or limit.name in sys.argv[1:]]
    unknown = set(sys.argv[1:]) - {limit.name for limit in LIMITS}
    if unknown:
        print(f"no such check: {', '.join(sorted(unknown))}", file=sys.stderr)
        print(f"there are: {', '.join(limit.name for limit in LIMITS)}", file=sys.stderr)
        return 2
    return max([check(limit) for limit in wanted], default=0)


def check(limit: Limit) -> int:
    """Run a check; return 1 if it exceeds a limit or its command fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = limit.command(Path(folder))
        tries = [spend(command) for _ in range(limit.tries)]
    status, seconds, resident = min(tries, key=lambda took: took[1])
    too_much = seconds > limit.most_s or resident > limit.most_bytes or status not in (0, 1)
    words = "TOO MUCH" if too_much else "ok"
    most = [f"{limit.most_s:g} s"] if limit.most_s < float("inf") else []
    most += [f"{limit.most_bytes / 1e6:g} MB"] if limit.most_bytes < float("inf") else []
    took = f"{seconds:.2f} s, {resident / 1e6:.0f} MB"
    print(f"{limit.name}: {took} (at most {', '.join(most)}) {words}", flush=True)
    return int(too_much)


def spend(
    command: list[str], told: Path = Path(os.devnull), folder: Path = Path()
) -> tuple[int, float, int]:
    """Run a command; return its exit status, processor seconds, and peak memory in bytes.

    The command runs in ``folder``. Its output goes to the file ``told``.
    """
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        printed = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    seconds = usage.ru_utime + usage.ru_stime
    return os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
