"""Measures how HPCC in fixed point differs from HPCC in real numbers, and prints a Markdown table.

    python hardware/hpcc_error.py

The run is the incast of HPCC, Fig. 9c and 9d: seven flows of 500 KB join a long one. Each row is a
run of the dataplane with its own arithmetic. The error of a window is the error of one ACK, because
the window in real numbers is computed from the same state before the ACK. Queue lengths come from
the telemetry.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

HARDWARE = Path(__file__).resolve().parent
sys.path.insert(0, str(HARDWARE / "tests"))

from simulator import ROOT, trace_program  # noqa: E402

SCENARIO = ROOT / "papers/backwater_papers/figures/hpcc/scenarios/incast-7.toml"
WIRE = ["scheme.base_rtt=9us", "scheme.int.format=wire"]
TABLE = [*WIRE, "scheme.hpcc.division=table"]
FIXED = [*TABLE, "scheme.hpcc.arithmetic=fixed"]
RUNS = {
    "real numbers": WIRE,
    "real numbers, table with ε = 1 %": TABLE,
    "fixed point, ε = 1 %": FIXED,
    "fixed point, ε = 0.5 %": [*FIXED, "scheme.hpcc.epsilon=0.5%"],
    "fixed point, ε = 0.1 %": [*FIXED, "scheme.hpcc.epsilon=0.1%"],
}
END_PS = 4 * 10**9
"""End of the run, in ps."""
JOIN_PS = 10**9
"""Start of the seven flows, in ps."""
BYTES = 500_000


@dataclass
class Measured:
    """Measurements at all ACKs of a trace."""

    errors: list[float]
    """Error of the window at each ACK, as a share of the window in real numbers."""
    queues: list[tuple[int, int]]
    """Time (ps) and bytes of the queue, as ACKs report it."""
    ends_ps: list[int]
    """Time of each of the seven flows from its start to its last ACK, in ps."""


def measure(program: Path, values: list[str]) -> Measured:
    """Run the dataplane with changes to the scheme (`values`), and read its trace."""
    command = [str(program), "hpcc", str(SCENARIO), "hpcc", "40000", *values]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measured = Measured([], [], [])
    for line in text.splitlines():
        kind, *words = line.split()
        if kind != "ack" or int(words[0]) > END_PS:
            continue
        at_ps, flow, seq, _, window = map(int, words[:5])
        real, record = float(words[6]), int(words[7][4:20], 16)
        measured.errors.append(abs(window / 64 / real - 1))
        measured.queues.append((at_ps, (record & 0xFFFF) * 80))
        if flow > 0 and seq == BYTES:
            measured.ends_ps.append(at_ps - JOIN_PS)
    return measured


def main() -> None:
    """Run the dataplane with each arithmetic, and print the table of errors and queues."""
    program = trace_program()
    columns = ("arithmetic", "mean error of W", "99th percentile", "largest error")
    columns += ("largest queue", "mean queue after 2 ms", "mean time of the seven flows")
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for name, values in RUNS.items():
        found = measure(program, values)
        queue = max(bytes_ for _, bytes_ in found.queues)
        later = mean(bytes_ for at_ps, bytes_ in found.queues if at_ps >= 2 * JOIN_PS)
        percentile = quantiles(found.errors, n=100)[98]
        shown = (mean(found.errors), percentile, max(found.errors))
        errors = " | ".join(f"{error:.3%}" for error in shown)
        ends = f"{mean(found.ends_ps) / 1e6:.1f} µs" if len(found.ends_ps) == 7 else "not finished"
        print(f"| {name} | {errors} | {queue / 1000:.1f} KB | {later:.0f} B | {ends} |", flush=True)


if __name__ == "__main__":
    main()
