"""Measures how fast the simulator is: packet-hops per second of four workloads with four schemes.

    python benches/speed.py [--quick] [--repeats N] [--threads 1,2] [--only TEXT] [--add]
                            [--guided] [-o FOLDER]

Each run is a process of its own, with results and audit on. Repeats are interleaved, so that a slow
hour of the machine slows all cells alike. The table has medians. Times with one thread are
processor time of the event loop's thread. Times with several threads are wall-clock times. The
column `speed-up` compares N threads with one. The column `runs at once` compares N simultaneous
runs of one thread with one run, which is the limit of the processors. With --guided each cell also
runs with the build of guided.py. Writes performance.json and performance.png.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import guided
from runner import PRESETS, Cell, build

# Goal and floor of each cell in millions of packet-hops per second, by one thread.
TARGETS: dict[str, dict[str, tuple[float, float]]] = {
    "hadoop-128": {
        "hpcc": (10, 8),
        "dcqcn": (10, 8),
        "bfc": (8, 6),
        "dcqcn+floodgate": (7, 5),
    },
    "incast-128": {
        "hpcc": (12, 10),
        "dcqcn": (12, 10),
        "bfc": (9, 7),
        "dcqcn+floodgate": (9, 6),
    },
    "permutation-1024": {
        "hpcc": (8, 6.5),
        "dcqcn": (8, 6.5),
        "bfc": (6, 4.5),
        "dcqcn+floodgate": (5, 4),
    },
    "permutation-8192": {
        "hpcc": (5, 3.5),
        "dcqcn": (5, 3.5),
        "bfc": (4, 2.5),
        "dcqcn+floodgate": (3, 2),
    },
}
QUICK = ("hadoop-128", "incast-128")
# Speed of other simulators on a similar machine, one core, in millions of packet-hops per second.
ANCHORS = {
    "hadoop-128": {"ns-3 of HPCC": 0.81, "authors' BFC": 0.05},
    "incast-128": {"htsim, HPCC": 1.5},
    "permutation-1024": {"htsim, RoCE": 0.6},
    "permutation-8192": {"Days, one core": 0.56},
}


def cells(scenarios: list[str], threads: list[int], only: str) -> list[Cell]:
    """Return the cells of one round, without schemes whose preset this version lacks."""
    pairs = [(name, scheme) for name in scenarios for scheme in TARGETS[name]]
    known = [(n, s) for n, s in pairs if (PRESETS / f"{s}.toml").exists() and only in f"{n} {s}"]
    return [Cell(name, scheme, count) for name, scheme in known for count in threads]


def measure(
    runs: list[Cell], repeats: int, binaries: list[Path]
) -> dict[Cell, list[list[dict[str, Any]]]]:
    """Run every cell ``repeats`` times with each binary; return the costs by cell and binary."""
    told: dict[Cell, list[list[dict[str, Any]]]] = {cell: [[] for _ in binaries] for cell in runs}
    for nth in range(repeats):
        for cell in runs:
            for binary, mine in zip(binaries, told[cell], strict=True):
                mine.append(cell.run(binary))
                if cell.threads > 1:
                    mine[-1]["copies_s"] = cell.run_copies(binary)
            print(f"\rround {nth + 1} of {repeats}: {cell.name}    ", end="")
    print()
    return told


def clock(cell: Cell, told: list[dict[str, Any]]) -> str:
    """Return the key of the time that counts: processor time of a thread, or wall-clock time."""
    return "loop_s" if cell.threads > 1 or told[0]["loop_cpu_s"] is None else "loop_cpu_s"


def summary(cell: Cell, by_binary: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the row of a cell with the medians of its runs."""
    digests = {run["digest"] for told in by_binary for run in told}
    assert len(digests) == 1, f"{cell}: equal runs gave {digests}"
    told, *with_guide = by_binary
    took = clock(cell, told)
    seconds, *guided_s = (statistics.median(run[took] for run in told) for told in by_binary)
    hops, events = told[0]["hops"], told[0]["events"]
    goal, floor = TARGETS[cell.scenario][cell.scheme]
    return {
        "scenario": cell.scenario,
        "scheme": cell.scheme,
        "threads": cell.threads,
        "digest": told[0]["digest"],
        "hops": hops,
        "mhops_per_s": hops / seconds / 1e6,
        "ns_per_hop": seconds / hops * 1e9,
        "events_per_hop": events / hops,
        "wall_s": statistics.median(run["loop_s"] for run in told),
        "copies_s": statistics.median(run.get("copies_s", run["loop_s"]) for run in told),
        "ready_s": statistics.median(run["ready_s"] for run in told),
        "peak_mb": max(run["peak_bytes"] or 0 for run in told) / 1e6,
        "spread": [hops / run[took] / 1e6 for run in told],
        "guided_mhops_per_s": hops / guided_s[0] / 1e6 if guided_s else None,
        "guided_spread": [hops / run[took] / 1e6 for told in with_guide for run in told],
        "goal": goal,
        "floor": floor,
    }


def scaling(rows: list[dict[str, Any]]) -> None:
    """Add to each row the gain of its threads, and of as many simultaneous runs."""
    alone = {(r["scenario"], r["scheme"]): r for r in rows if r["threads"] == 1}
    for row in rows:
        one = alone.get((row["scenario"], row["scheme"]))
        row["speedup"] = one["wall_s"] / row["wall_s"] if one else None
        row["at_once"] = row["threads"] * one["wall_s"] / row["copies_s"] if one else None
        if one:
            assert row["digest"] == one["digest"], f"{row['scenario']}: threads changed the result"


def merged(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return new rows and earlier rows of other cells, in the order of the table."""
    old = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    by_cell = {(r["scenario"], r["scheme"], r["threads"]): r for r in [*old, *rows]}
    order = [(name, scheme) for name in TARGETS for scheme in TARGETS[name]]
    return sorted(
        by_cell.values(), key=lambda r: (order.index((r["scenario"], r["scheme"])), r["threads"])
    )


HEAD = (
    *("scenario", "scheme", "threads", "Mhops/s", "guided", "floor", "goal"),
    *("ns/hop", "events/hop", "MB", "ready s", "speed-up", "runs at once"),
)


def line(row: dict[str, Any]) -> tuple[str, ...]:
    """Format a row of the table."""
    one = row["threads"] == 1
    gain = (None, None) if one else (row.get("speedup"), row.get("at_once"))
    return (
        row["scenario"],
        row["scheme"],
        str(row["threads"]),
        f"{row['mhops_per_s']:.2f}",
        f"{row['guided_mhops_per_s']:.2f}" if row.get("guided_mhops_per_s") else "",
        f"{row['floor']:g}" if one else "",
        f"{row['goal']:g}" if one else "",
        f"{row['ns_per_hop']:.0f}",
        f"{row['events_per_hop']:.2f}",
        f"{row['peak_mb']:.0f}",
        f"{row['ready_s']:.2f}",
        *(f"{times:.2f}" if times else "" for times in gain),
    )


def markdown(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *lines]
    return "\n".join(f"| {' | '.join(columns)} |" for columns in lines)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of all rows in Markdown."""
    return markdown(HEAD, map(line, rows))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw bars of all cells with one thread, their floors, and speeds of other simulators."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import patheffects, pyplot

    rows = [row for row in rows if row["threads"] == 1]
    names = list(dict.fromkeys(row["scenario"] for row in rows))
    figure, panels = pyplot.subplots(
        1, len(names), figsize=(3.2 * len(names), 3.6), sharey=True, squeeze=False
    )
    for panel, name in zip(panels[0], names, strict=True):
        mine = [row for row in rows if row["scenario"] == name]
        for at, row in enumerate(mine):
            if row.get("guided_mhops_per_s"):
                panel.bar(at, row["guided_mhops_per_s"], color="lightsteelblue", width=0.7)
            low, high = min(row["spread"]), max(row["spread"])
            panel.bar(at, row["mhops_per_s"], color="tab:blue", width=0.7)
            panel.plot([at, at], [low, high], color="black", linewidth=1)
            panel.plot([at - 0.35, at + 0.35], [row["floor"]] * 2, color="tab:red", linewidth=2)
        for label, value in ANCHORS[name].items():
            panel.axhline(value, color="gray", linestyle=":", linewidth=1)
            text = panel.annotate(label, (-0.4, value), fontsize=7, color="dimgray", va="bottom")
            text.set_path_effects([patheffects.withStroke(linewidth=2, foreground="white")])
        panel.set_title(name, fontsize=10)
        labels = [row["scheme"].replace("+", "+\n") for row in mine]
        panel.set_xticks(range(len(mine)), labels, fontsize=8)
    panels[0][0].set_ylabel("million packet-hops per second, one core")
    legend = "bars: median; pale: guided build; red: floor; dotted: other simulators"
    figure.suptitle(legend, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run all cells, print the table, and write performance.json and performance.png."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="128 hosts only, one round")
    parser.add_argument("--repeats", type=int, help="rounds (3; with --quick 1)")
    parser.add_argument("--threads", default="1", help="numbers of threads, with commas")
    parser.add_argument("--only", default="", help="part of 'scenario scheme' that must match")
    parser.add_argument("--guided", action="store_true", help="also with the build of guided.py")
    parser.add_argument("-o", "--out", type=Path, default=Path("out/bench"), help="folder")
    parser.add_argument(
        "--add", action="store_true", help="keep what the folder says of cells not measured now"
    )
    options = parser.parse_args()
    scenarios = list(QUICK if options.quick else TARGETS)
    threads = [int(count) for count in options.threads.split(",")]
    runs = cells(scenarios, threads, options.only)
    binaries = [build(), guided.guided()] if options.guided else [build()]
    told = measure(runs, options.repeats or (1 if options.quick else 3), binaries)
    rows = [summary(cell, by_binary) for cell, by_binary in told.items()]
    scaling(rows)
    if options.add:
        rows = merged(options.out / "performance.json", rows)
    print(table(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()}
    text = json.dumps({"where": machine, "rows": rows}, indent=1)
    (options.out / "performance.json").write_text(text + "\n", encoding="utf-8")
    draw(rows, options.out / "performance.png")
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
