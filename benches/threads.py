"""Measures what several threads gain for one run.

    python benches/threads.py [--threads N] [--repeats N] [SCENARIO[:SCHEME[:KEY=VALUE,...]] ...]

Each run is made with one thread and with several in turn, as the machine changes its speed from
minute to minute; the ratio is that of the medians. Digests have to be the same.
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
    """Measure, and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=DEFAULT)
    asked = parser.parse_args()
    for case in map(Case.parse, asked.cases):
        print(measure(case, asked.threads, asked.repeats), flush=True)


def measure(case: Case, threads: int, repeats: int) -> str:
    """Make a run in turn with one thread and with several, and say what came of it."""
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
