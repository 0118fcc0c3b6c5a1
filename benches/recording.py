"""Measures the cost of a recording: the time of a run with it, relative to that without it.

    python benches/recording.py [--set KEY=VALUE] [--repeats N] [SCENARIO[:SCHEME[:KEY=VALUE]] ...]

The default recording is the delay breakdown of flows, `record.blame={}`. Runs with and without it
alternate. Times are from the start of a run until its tables are written. The printed ratios are
those of wall-clock time and of processor time. Each is the ratio of the medians, with the smallest
and the largest ratio of a pair. A second thread encodes the tables: processor time includes both
threads, and wall-clock time is meaningful only if a core is free for the second. All digests must
be equal.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from cases import Case

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
DEFAULT = tuple(
    f"{SCENARIOS}/{scenario}.toml:{scheme}:run.until={until}"
    for scenario, schemes, until in (
        ("demo", ("hpcc", "bfc", "dcqcn"), "500us"),
        ("hpcc-clos", ("hpcc", "bfc", "dcqcn"), "500us"),
        ("hpcc-pod", ("hpcc", "bfc", "dcqcn"), "3ms"),
    )
    for scheme in schemes
)


def main() -> None:
    """Measure each case, and print a line with its ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default="record.blame={}", metavar="KEY=VALUE")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("cases", nargs="*", default=DEFAULT)
    asked = parser.parse_args()
    for case in map(Case.parse, asked.cases):
        print(measure(case, asked.set, asked.repeats), flush=True)


def measure(case: Case, recording: str, repeats: int) -> str:
    """Run a case alternately without and with a recording; return the line to print."""
    without: list[Times] = []
    recorded: list[Times] = []
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        case.run(Path(folder) / "run", also=[recording])  # not measured: it fills caches
        for _ in range(repeats):
            for also, taken in (([], without), ([recording], recorded)):
                began = Times(time.perf_counter(), time.process_time())
                summary = case.run(Path(folder) / "run", also=also)
                ended = Times(time.perf_counter(), time.process_time())
                taken.append(Times(ended.clock - began.clock, ended.processor - began.processor))
                digests.add(summary["digest"])
    assert len(digests) == 1, f"{case}: {digests}"
    told = [
        _compared(word, [getattr(t, word) for t in without], [getattr(t, word) for t in recorded])
        for word in Times._fields
    ]
    return f"{case.name}, {recording}: " + "; ".join(told)


class Times(NamedTuple):
    """Wall-clock time and processor time of a run, in seconds."""

    clock: float
    processor: float


def _compared(word: str, without: list[float], recorded: list[float]) -> str:
    off, on = statistics.median(without), statistics.median(recorded)
    pairs = [b / a for a, b in zip(without, recorded, strict=True)]
    return f"{word} {on / off:.2f} ({min(pairs):.2f} to {max(pairs):.2f}), {off:.3f} to {on:.3f} s"


if __name__ == "__main__":
    main()
