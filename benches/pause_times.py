"""Measures the cost of PFC pauses that expire and are repeated.

    python benches/pause_times.py

Runs an incast with pauses that last until they are resumed, and with pauses of several durations.
Prints the table of docs/pfc-quanta.md: the number of PFC frames, their share of the reverse
direction of paused links, and completion times relative to pauses without a duration.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import cast

import backwater
from backwater import Run

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "incast-star.toml"
BASE = ["switch.buffer=3MB", "traffic.incast.size=4MB"]
"""A small buffer, and flows that are long enough to be paused for milliseconds."""
SCHEMES = ("line-rate", "dcqcn")
TIMES = ((65535, 0.5), (4096, 0.5), (256, 0.5), (256, 0.1), (64, 0.5))
HEAD = (
    "scheme",
    "quanta",
    "refresh",
    "pauses",
    "repetitions",
    "share of the reverse direction",
    "mean FCT",
    "p99 FCT",
)


def run(scheme: str, changes: list[str], folder: Path) -> Run:
    """Run the incast with changed values."""
    made = backwater.run(SCENARIO, scheme=scheme, overrides=[*BASE, *changes], out=folder)
    assert made.ok
    return made


def row(scheme: str, what: tuple[str, str], made: Run, base: Run) -> tuple[str, ...]:
    """Return a row of the table: the run ``made``, with completion times relative to ``base``."""
    counted = made.summary["counters"]
    frames = counted["pfc_pauses"] + counted["pfc_resumes"] + counted["pfc_refreshes"]
    ports = made.ports.filter(made.ports["paused_ps"] > 0)
    room = cast("float", (ports["paused_ps"] * (ports["rate_bps"] / 8e12)).sum())
    share = 64 * frames / room if room else 0.0
    times = [one.flows["received_ps"] - one.flows["start_ps"] for one in (made, base)]
    mean = cast("float", times[0].mean()) / cast("float", times[1].mean())
    tail = cast("float", times[0].quantile(0.99)) / cast("float", times[1].quantile(0.99))
    numbers = (f"{counted['pfc_pauses']:,}", f"{counted['pfc_refreshes']:,}", f"{share:.4%}")
    return (scheme, *what, *numbers, f"{mean:.5f}", f"{tail:.5f}")


def main() -> None:
    """Run all schemes and durations of pauses, and print the table."""
    rows = [HEAD, tuple("---" for _ in HEAD)]
    with tempfile.TemporaryDirectory() as name:
        for scheme in SCHEMES:
            folder = Path(name) / scheme
            base = run(scheme, [], folder / "base")
            rows.append(row(scheme, ("until resumed", ""), base, base))
            for quanta, refresh in TIMES:
                changes = [f"scheme.pfc.quanta={quanta}", f"scheme.pfc.refresh={refresh}"]
                changes.append("scheme.pfc.pause=quanta")
                made = run(scheme, changes, folder / f"{quanta}-{refresh}")
                rows.append(row(scheme, (f"{quanta:,}", f"{refresh:.0%}"), made, base))
    sys.stdout.writelines(f"| {' | '.join(cells)} |\n" for cells in rows)


if __name__ == "__main__":
    main()
