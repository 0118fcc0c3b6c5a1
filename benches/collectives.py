"""Measures the speed of collectives relative to plain flows, in packet-hops per second.

    python benches/collectives.py [--repeats N] [--threads N] [--only TEXT] [-o FOLDER]

A ring all-reduce of 1024 GPUs and an all-to-all of 256 run as workloads and as plain flows. The
variant `flows` has one flow per message, with the same size and hosts, and regular start times. The
variant `volume` has one flow per pair of hosts with all its bytes. Runs alternate. With --threads
the workloads also run with several threads, and must have the same digest. Writes collectives.json.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner import SCENARIOS, build

SCHEMES = ("dcqcn", "hpcc")
EVERY_PS = 2_000_000
"""Time between two flows that replace consecutive messages of a rank in a ring."""

HEAD = (
    *("workload", "scheme", "run as", "threads", "Mhops/s"),
    *("workload over flows", "times as fast", "events/hop"),
)


def ring(ranks: int, size_bytes: int, whole: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield flows that replace a ring all-reduce: source, receiver, bytes, start in ps.

    If ``whole`` is set, there is one flow per pair with all its bytes.
    """
    rounds, part = 2 * (ranks - 1), size_bytes // ranks
    if whole:
        yield from ((rank, (rank + 1) % ranks, rounds * part, 0) for rank in range(ranks))
        return
    for nth in range(rounds):
        yield from ((rank, (rank + 1) % ranks, part, nth * EVERY_PS) for rank in range(ranks))


def all_to_all(ranks: int, size_bytes: int, whole: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield flows that replace a direct all-to-all, in the format of :func:`ring`.

    Each pair has a single message, so ``whole`` has no effect.
    """
    del whole
    for ahead in range(1, ranks):
        yield from ((rank, (rank + ahead) % ranks, size_bytes // ranks, 0) for rank in range(ranks))


WORKLOADS = {
    "ring-1024": (ring, 1024, ("flows", "volume")),
    "all-to-all-256": (all_to_all, 256, ("flows",)),
}


def plain(name: str, kind: str, folder: Path) -> Path:
    """Write the scenario of a workload with plain flows in its place; return its path."""
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    found = re.search(r'size = "(\d+)MB"', text)
    assert found, name
    messages, ranks, _ = WORKLOADS[name]
    with (folder / f"{name}-{kind}.csv").open("w", encoding="utf-8") as file:
        file.write("src,dst,bytes,start\n")
        for src, dst, size, start in messages(ranks, int(found[1]) * 10**6, kind == "volume"):
            file.write(f"{src},{dst},{size},{start}ps\n")
    flows = f'[[traffic]]\nname = "plain"\npattern = "list"\nfile = "{name}-{kind}.csv"\n\n'
    text = re.sub(r"\[\[workload\]\].*?(?=\[scheme\])", flows, text, flags=re.DOTALL)
    path = folder / f"{name}-{kind}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def run(binary: Path, scenario: Path, scheme: str, threads: int = 1) -> dict[str, Any]:
    """Run a scenario with the bench example and return the cost that it prints."""
    command = [str(binary), str(scenario), scheme, f"--threads={threads}"]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    cost: dict[str, Any] = json.loads(told.stdout)
    return cost


def rows(
    name: str, scheme: str, asked: argparse.Namespace, binary: Path
) -> Iterator[dict[str, Any]]:
    """Run a workload and its plain flows alternately; yield a row of medians for each."""
    with tempfile.TemporaryDirectory() as at:
        ways = {("workload", 1): SCENARIOS / f"{name}.toml"}
        ways |= {(kind, 1): plain(name, kind, Path(at)) for kind in WORKLOADS[name][2]}
        if asked.threads > 1:
            ways["workload", asked.threads] = SCENARIOS / f"{name}.toml"
        told: dict[tuple[str, int], list[dict[str, Any]]] = {way: [] for way in ways}
        for _ in range(asked.repeats):
            for (kind, threads), path in ways.items():
                told[kind, threads].append(run(binary, path, scheme, threads))
    same = [cost for (kind, _), costs in told.items() if kind == "workload" for cost in costs]
    digests = {cost["digest"] for cost in same}
    assert len(digests) == 1, f"{name}: equal runs gave {digests}"
    speed: dict[tuple[str, int], float] = {}
    wall_s: dict[tuple[str, int], float] = {}
    for (kind, threads), costs in told.items():
        clock = "loop_s" if threads > 1 or costs[0]["loop_cpu_s"] is None else "loop_cpu_s"
        seconds = statistics.median(cost[clock] for cost in costs)
        wall_s[kind, threads] = statistics.median(cost["loop_s"] for cost in costs)
        speed[kind, threads] = costs[0]["hops"] / seconds / 1e6
        yield {
            "workload": name,
            "scheme": scheme,
            "run_as": kind,
            "threads": threads,
            "hops": costs[0]["hops"],
            "flows": costs[0]["flows"],
            "mhops_per_s": speed[kind, threads],
            "events_per_hop": costs[0]["events"] / costs[0]["hops"],
            "wall_s": wall_s[kind, threads],
            "of_plain": speed["workload", 1] / speed[kind, threads] if kind != "workload" else None,
            "times_as_fast": wall_s["workload", 1] / wall_s[kind, threads] if threads > 1 else None,
            "digest": costs[0]["digest"],
        }


def line(row: dict[str, Any]) -> str:
    """Format a row of the table."""
    cells = (
        *(row["workload"], row["scheme"], row["run_as"], str(row["threads"])),
        f"{row['mhops_per_s']:.2f}",
        f"{row['of_plain']:.2f}" if row["of_plain"] else "",
        f"{row['times_as_fast']:.2f}" if row["times_as_fast"] else "",
        f"{row['events_per_hop']:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all workloads, print the table, and write collectives.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--threads", type=int, default=1, help="also with this many threads")
    parser.add_argument("--only", default="", help="part of 'workload scheme' that must match")
    parser.add_argument("-o", "--out", type=Path, default=Path("out/bench"), help="folder")
    asked = parser.parse_args()
    binary = build()
    print(f"| {' | '.join(HEAD)} |\n| {' | '.join('---' for _ in HEAD)} |")
    found = []
    for name in WORKLOADS:
        for scheme in SCHEMES:
            if asked.only in f"{name} {scheme}":
                for row in rows(name, scheme, asked, binary):
                    found.append(row)
                    print(line(row), flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=2)
    (asked.out / "collectives.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
