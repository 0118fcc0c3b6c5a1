"""Counts the instructions of the event loop in two fixed scenarios with callgrind.

    python benches/instructions.py            count, and compare with what is recorded
    python benches/instructions.py --record   count, and record

The counts do not depend on what else the machine does, so a regression is seen where times only
jump about. They differ by a few per mille between compilers and processors; more than two per cent
above the record is an error (exit status 1).
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

from runner import Cell, build

RECORD = Path(__file__).with_suffix(".json")
TOLERANCE = 0.02
CELLS = (
    Cell("hadoop-128", "hpcc", set=('traffic.hadoop.window=["0us", "200us"]',)),
    Cell("incast-128", "bfc", set=("traffic.incast.total=20MB",)),
)


def count(cell: Cell, binary: Path) -> dict[str, Any]:
    """Instructions of the event loop, in all and per packet-hop."""
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
        "set": list(cell.set),
        "digest": run["digest"],
        "hops": run["hops"],
        "instructions": instructions,
        "per_hop": round(instructions / run["hops"], 1),
    }


def compare(now: list[dict[str, Any]], then: list[dict[str, Any]]) -> bool:
    """Print both, and say whether none has grown too much."""
    good = True
    for new, old in zip(now, then, strict=True):
        growth = new["per_hop"] / old["per_hop"] - 1
        good &= growth <= TOLERANCE
        name = f"{new['scenario']} {new['scheme']}"
        recorded = f"recorded {old['per_hop']:.1f} ({growth:+.1%})"
        print(f"{name:24} {new['per_hop']:8.1f} per hop, {recorded}")
    return good


def main() -> int:
    """Count, then record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write what was counted down")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is missing: install it to count instructions", file=sys.stderr)
        return 2
    binary = build()
    counted = [count(cell, binary) for cell in CELLS]
    if options.record or not RECORD.exists():
        RECORD.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
        for row in counted:
            print(f"{row['scenario']} {row['scheme']}: {row['per_hop']} instructions per hop")
        return 0
    return 0 if compare(counted, json.loads(RECORD.read_text(encoding="utf-8"))) else 1


if __name__ == "__main__":
    sys.exit(main())
