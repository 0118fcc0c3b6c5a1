"""Measures what a recording costs: the time of a run with it over that without.

    python benches/recording.py [--set KEY=VALUE] [--repeats N] [SCENARIO[:SCHEME[:KEY=VALUE]] ...]

The default is the account of where the time of flows goes, `record.blame={}`. Runs are made with
and without it in turn, from the start of a run until its tables are written. Told are the time by
the clock, which is the run's, as its tables are encoded by a thread beside it, and that of the
processor, which both threads take: the ratio of the medians, with the least and the most of the
pairs. Digests have to be the same. The clock means something where a core is free for the thread.
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
    """Measure, and print a line for each case."""
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
    """Make a run in turn without and with a recording, and say what it costs."""
    without: list[Times] = []
    recorded: list[Times] = []
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        case.run(Path(folder) / "run", also=[recording])  # What is read once is read here.
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
    """Seconds by the clock, and of the processor."""

    clock: float
    processor: float


def _compared(word: str, without: list[float], recorded: list[float]) -> str:
    off, on = statistics.median(without), statistics.median(recorded)
    pairs = [b / a for a, b in zip(without, recorded, strict=True)]
    return f"{word} {on / off:.2f} ({min(pairs):.2f} to {max(pairs):.2f}), {off:.3f} to {on:.3f} s"


if __name__ == "__main__":
    main()
