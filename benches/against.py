"""Compares the speed of this version with that of an earlier one, run in turn.

    python benches/against.py REVISION [--quick] [--repeats N] [--only TEXT] [-o FOLDER]

The speed of a machine changes within hours, so both builds run each cell one after the other, in
rounds. The cells are those of speed.py, a replay of ns-3 and a training step with collectives. The
table has the ratio of the medians, the smallest and the largest ratio of a round, and whether the
digests are equal. Writes against.json. REVISION is any revision of git. Its build is kept in
target/against.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from runner import ROOT, Cell, build
from speed import QUICK, TARGETS, cells, clock, markdown, measure

FOLDER = ROOT / "target" / "against"
MORE = (
    Cell("hadoop-128", "hpcc", profile="ns3"),
    Cell("training-64", "dcqcn"),
)
"""Cells that are not in the table of speeds."""
HEAD = ("scenario", "scheme", "Mhops/s then", "now", "ratio", "least", "most", "result")


def commit(revision: str) -> str:
    """Return the hash of the commit to which a revision refers; exit if git does not know it."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if told.returncode != 0:
        sys.exit(f"git knows no revision {revision!r}: give a commit, a branch or a tag")
    return told.stdout.strip()


def build_of(name: str) -> Path:
    """Build the bench example of a commit in its own folder; return its path, or exit on errors."""
    tree = FOLDER / name[:12]
    if not tree.exists():
        partial = tree.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "archive", name], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", partial], check=True, input=archive.stdout)
        partial.rename(tree)
    try:
        return build(target=tree / "target", root=tree)
    except subprocess.CalledProcessError:
        sys.exit(f"the bench example of {name[:12]} does not build (see above): take a later one")


def row(cell: Cell, then: list[dict[str, Any]], now: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of a cell: speeds of both builds, their ratio, and equality of the digests."""
    took = clock(cell, then)
    speeds = [[run["hops"] / run[took] / 1e6 for run in told] for told in (then, now)]
    medians = [statistics.median(speed) for speed in speeds]
    return {
        "scenario": cell.scenario,
        "scheme": f"{cell.scheme} {cell.profile}".strip(),
        "then_mhops_per_s": medians[0],
        "now_mhops_per_s": medians[1],
        "ratio": medians[1] / medians[0],
        "by_round": [new / old for old, new in zip(*speeds, strict=True)],
        "same_result": then[0]["digest"] == now[0]["digest"],
    }


def line(told: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a row of the table as text."""
    return (
        told["scenario"],
        told["scheme"],
        f"{told['then_mhops_per_s']:.2f}",
        f"{told['now_mhops_per_s']:.2f}",
        f"{told['ratio']:.2f}",
        f"{min(told['by_round']):.2f}",
        f"{max(told['by_round']):.2f}",
        "same" if told["same_result"] else "another",
    )


def main() -> None:
    """Run all cells with both builds, print the table, and write against.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="an earlier version: a commit, a branch or a tag")
    parser.add_argument("--quick", action="store_true", help="128 hosts only")
    parser.add_argument("--repeats", type=int, default=5, help="rounds (5)")
    parser.add_argument("--only", default="", help="part of 'scenario scheme' that must match")
    parser.add_argument("-o", "--out", type=Path, default=Path("out/bench"), help="folder")
    options = parser.parse_args()
    name = commit(options.revision)
    runs = cells(list(QUICK if options.quick else TARGETS), [1], options.only)
    runs += [cell for cell in MORE if options.only in cell.name]
    if not runs:
        sys.exit(f"no cell has {options.only!r} in 'scenario scheme'")
    told = measure(runs, options.repeats, [build_of(name), build()])
    rows = [row(cell, *by_binary) for cell, by_binary in told.items()]
    print(markdown(HEAD, map(line, rows)))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "against.json"
    text = json.dumps({"revision": name, "rows": rows}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"ratios above 1: this version is faster than {name[:12]}; written to {path}")


if __name__ == "__main__":
    main()
