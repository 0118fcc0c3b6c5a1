"""Measures how much faster one run is with several threads.

    python benches/threads.py [--threads N] [--repeats N] [SCENARIO[:SCHEME[:KEY=VALUE,...]] ...]

Runs with one thread and with several alternate, because the speed of a machine changes from minute
to minute. The printed ratio is that of the median times. All digests of a case must be equal.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from cases import Case

SCENARIOS = Path(__file__).parent / "scenarios"
DEFAULT = (
    f"{SCENARIOS}/permutation-1024.toml:hpcc",
    f"{SCENARIOS}/permutation-8192.toml:hpcc:run.until=60us",
    f"{SCENARIOS}/hadoop-128.toml:hpcc",
    f"{SCENARIOS}/incast-128.toml:hpcc",
)


def main() -> None:
    """Measure each case and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=DEFAULT)
    asked = parser.parse_args()
    for case in map(Case.parse, asked.cases):
        print(measure(case, asked.threads, asked.repeats), flush=True)


def measure(case: Case, threads: int, repeats: int) -> str:
    """Run a case alternately with one thread and with several; return the line to print."""
    seconds: dict[int, list[float]] = {1: [], threads: []}
    digests = set()
    used: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for count, taken in seconds.items():
                summary = case.run(Path(folder) / "run", count)
                digests.add(summary["digest"])
                taken.append(summary["performance"]["loop_seconds"])
                used = summary["performance"]["threads"]
    assert len(digests) == 1, f"{case}: {digests}"
    one, many = (statistics.median(taken) for taken in seconds.values())
    words = f"{used['windows_together']} windows together, {used['windows_alone']} alone"
    why = f" ({used['why']})" if used["why"] else ""
    return (
        f"{case.name}: {one:.2f} s with 1 thread, {many:.2f} s with {used['used']}{why}: "
        f"{one / many:.2f} times as fast; {words}; digest {digests.pop()}"
    )


if __name__ == "__main__":
    main()
