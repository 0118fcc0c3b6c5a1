"""Counts the instructions of the event loop in fixed scenarios with callgrind.

    python benches/instructions.py            count, and compare with the record
    python benches/instructions.py --record   count, and replace the record

Counts do not depend on the load of the machine. They differ by a few per mille between compilers
and processors. More than two per cent above the record in a cell is an error (exit status 1).
instructions.json has the record: a row for each cell, and the revision that was counted.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from runner import ROOT, Cell, build

RECORD = Path(__file__).with_suffix(".json")
TOLERANCE = 0.02
CELLS = (
    Cell("hadoop-128", "hpcc", set=('traffic.hadoop.window=["0us", "200us"]',)),
    Cell("incast-128", "bfc", set=("traffic.incast.total=20MB",)),
    Cell("hadoop-128", "hpcc", set=('traffic.hadoop.window=["0us", "200us"]',), profile="ns3"),
    Cell("training-64", "dcqcn", set=("workload.step.repeats=1",)),
)


def count(cell: Cell, binary: Path) -> dict[str, Any]:
    """Count the instructions of the event loop, in total and per packet-hop."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += ["--collect-atstart=no", "--toggle-collect=bench::event_loop*"]
        command += [str(binary), *cell.arguments]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    run = json.loads(told.stdout)
    instructions = int(total[1]) if total else 0
    assert instructions > 0, "callgrind saw no event loop"
    return {
        "scenario": cell.scenario,
        "scheme": cell.scheme,
        "profile": cell.profile,
        "set": list(cell.set),
        "digest": run["digest"],
        "hops": run["hops"],
        "instructions": instructions,
        "per_hop": round(instructions / run["hops"], 1),
    }


def revision() -> str:
    """Return the revision of git that was counted; a mark shows changes that are not committed."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return found.stdout.strip()


def compare(now: list[dict[str, Any]], record: dict[str, Any]) -> bool:
    """Print the counts and the recorded counts; return true if all cells are within the limit."""
    good = True
    for cell, new, old in zip(CELLS, now, record["rows"], strict=True):
        growth = new["per_hop"] / old["per_hop"] - 1
        good &= growth <= TOLERANCE
        recorded = f"recorded {old['per_hop']:.1f} ({growth:+.1%})"
        print(f"{cell.name:24} {new['per_hop']:8.1f} per hop, {recorded}")
    total, before = (sum(row["instructions"] for row in rows) for rows in (now, record["rows"]))
    print(f"total: {total / before - 1:+.1%} against {record['revision']}")
    return good


def main() -> int:
    """Count, then record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="replace the record")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is missing: install it to count instructions", file=sys.stderr)
        return 2
    binary = build()
    rows = [count(cell, binary) for cell in CELLS]
    if options.record or not RECORD.exists():
        record = {"revision": revision(), "rows": rows}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        for cell, row in zip(CELLS, rows, strict=True):
            print(f"{cell.name}: {row['per_hop']} instructions per hop")
        return 0
    return 0 if compare(rows, json.loads(RECORD.read_text(encoding="utf-8"))) else 1


if __name__ == "__main__":
    sys.exit(main())
