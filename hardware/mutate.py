"""Changes each circuit in ten places, one at a time, and checks that a test fails.

    python hardware/mutate.py [--only TEXT]

Prints a Markdown row for each change: module, line, change, and the test that failed. A second
table has one row for each module. The exit status is 1 if a change passed all tests of its module.
Places are drawn with a fixed seed. A place whose change does not compile, or changes nothing
(`EQUIVALENT`), is counted and replaced by another one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HARDWARE = Path(__file__).resolve().parent
PER_MODULE = 10
LIMIT_S = 120
"""Processor time of a simulation. The simulator ends then, and its test fails."""
STAGES = (
    {"HARDWARE_EVENTS": "1000", "HARDWARE_EXAMPLES": "15"},
    {"HARDWARE_EVENTS": "5000", "HARDWARE_EXAMPLES": "60"},
)
"""Lengths of the tests. Short tests notice most changes. The others get the long tests."""

# Text and its replacement. `<=` is a comparison only outside of clocked assignments.
CHANGES = (
    (r" < ", " >= "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"!(?=[\w(])", ""),
    (r"~(?=\w)", ""),
    (r"\? ([^()]+) : ([^()]+);", r"? \2 : \1;"),
    (r"1'b0;", "1'b1;"),
    (r"1'b1;", "1'b0;"),
    (r"<= '0;", "<= '1;"),
)
COMPARISON = (r" <= ", " < ")
MORE_CHANGES = (
    (r"^( +\.(?!clk|rst)[a-z]\w*)(\(.*\))?(,?)$", r"\1('0)\3"),
    (r"(assign [^=]+ = )[^;]+;", r"\1'0;"),
    (r"(if \().+(\) )", r"\g<1>1'b0\2"),
    (r"(\w+(?:\[\w+\])?) <= [^;]+;$", r"\1 <= \1;"),
    (r" << ", " >> "),
    (r" >> ", " << "),
    (r" \^ ", " | "),
    (r" & ", " | "),
    (r" \* ", " + "),
    (r"'\(1\)", "'(2)"),
)
"""Further changes, for modules in which `CHANGES` match fewer than ten places.

They set inputs of submodules, results and conditions to constants, let registers keep their value,
and replace more operators.
"""

TESTS = {
    "bfc_drr": "queues_of_a_bfc_port",
    "bfc_egress_port": "queues_of_a_bfc_port",
    "bfc_empty_map": "headers_of_a_bfc_pipeline",
    "bfc_flow_table": "headers_of_a_bfc_pipeline",
    "bfc_gate": "queues_of_a_bfc_port",
    "bfc_ingress_pipeline": "headers_of_a_bfc_pipeline",
    "bfc_pause_counters": "headers_of_a_bfc_pipeline",
    "bfc_pause_generator": "frames_of_a_bfc_pipeline",
    "bfc_pause_threshold": "headers_of_a_bfc_pipeline",
    "bfc_queue_choice": "headers_of_a_bfc_pipeline",
    "bfc_queue_state": "queues_of_a_bfc_port",
    "bfc_switch": "bfc_switch",
    "dynamic_threshold": "decision",
    "hpcc_int_egress": "hpcc_egress and not dataplane",
    "hpcc_links": "hpcc_sender and paper or hpcc_sender_ignores",
    "hpcc_measure": "hpcc_sender and paper",
    "hpcc_reciprocal": "hpcc_table",
    "hpcc_scheduler": "hpcc_scheduler",
    "hpcc_sender": "hpcc_sender and paper",
    "hpcc_window": "hpcc_sender_at or hpcc_sender and paper",
    "fg_emitting_counters": "credits_of_floodgate",
    "fg_held_table": "operations_of_a_floodgate_pipeline",
    "fg_ingress_pipeline": "operations_of_a_floodgate_pipeline",
    "fg_switch": "floodgate_switch",
    "fg_voq_bitmap": "operations_of_a_floodgate_pipeline",
    "fg_voq_scheduler": "operations_of_a_floodgate_pipeline",
    "fg_vup": "operations_of_a_floodgate_pipeline",
    "fg_window_table": "operations_of_a_floodgate_pipeline",
    "hashed_number": "hash_of_a_word",
    "keyed_memory": "operations_of_a_floodgate_pipeline",
    "next_bit": "headers_of_a_bfc_pipeline",
    "pfc_generator": "sends",
    "pfc_ingress": "decision",
    "pfc_pause_timer": "receives or lasts",
    "shared_pool": "buffer_against",
    "spfc_buffer": "buffer_against",
    "spfc_port_state": "state",
    "spfc_rate_counter": "state",
    "spfc_state_holder": "state",
    "spfc_timeout_clock": "state",
}
"""Tests that concern a module, as an expression of pytest."""

EQUAL_VALUES = "at equality both sides have the same value"
EQUIVALENT = {
    "fg_held_table": {"assign listed = 1'b1": "no output depends on it without VUPs"},
    "hpcc_int_egress": {"units >= QLEN_MAX": EQUAL_VALUES},
    "hpcc_reciprocal": {"far >= key": EQUAL_VALUES, "nth >> SEGMENT >= 1": EQUAL_VALUES},
    "hpcc_window": dict.fromkeys(
        ("wanted > 45'(most)", "wanted < 45'(least)", "rate >= 42'(line)"), EQUAL_VALUES
    ),
}
"""Changes of a module that change no output, each with the reason."""

NO_EFFECT = ("unused", "localparam", "function", "for (")
"""Lines without behaviour."""


def places(lines: list[str], changes: tuple[tuple[str, str], ...]) -> Iterator[tuple[int, str]]:
    """Yield the number and the changed text of each line that can be changed."""
    body = next(nth for nth, line in enumerate(lines) if line.startswith(");"))
    for nth, line in enumerate(lines[body + 1 :], body + 1):
        code = line.partition("//")[0].rstrip()
        if any(word in line for word in NO_EFFECT):
            continue
        clocked = re.match(r"\s*(if .*|else .*)?\w+ <= ", code)
        for pattern, replacement in changes if clocked else (*changes, COMPARISON):
            for match in re.finditer(pattern, code):
                changed = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                if changed != code:
                    yield nth, changed


def drawn_places(module: str, lines: list[str]) -> list[tuple[int, str]]:
    """Return changes of a module in a random order, which is always the same."""
    found: set[tuple[int, str]] = set()
    for changes in (CHANGES, MORE_CHANGES):
        if len(found) < PER_MODULE:
            found |= set(places(lines, changes))
    drawn = sorted(found)
    random.Random(module).shuffle(drawn)
    return drawn


def changed_tree(folder: Path, path: Path, nth: int, changed: str) -> Path:
    """Copy the circuits into a folder, with one line changed."""
    tree = folder / "hardware"
    shutil.copytree(HARDWARE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[nth] = changed
    target = tree / path.relative_to(HARDWARE)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tree


def compiles(tree: Path, module: str) -> bool:
    """Return True if the simulator accepts a module."""
    sources = [str(path) for path in sorted(tree.glob("*/*.sv"))]
    command = ["iverilog", "-g2012", "-t", "null", "-s", module, *sources]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def failing_test(tree: Path, tests: str, stages: tuple[dict[str, str], ...] = STAGES) -> str | None:
    """Return the first test that fails with the circuits of a folder, or None."""
    command = ["prlimit", f"--cpu={LIMIT_S}", sys.executable, "-m", "pytest", "-x", "-q"]
    command += ["-c", str(HARDWARE / "pytest.ini"), str(HARDWARE / "tests"), "-k", tests]
    for stage in stages:
        environment = {**os.environ, **stage, "HARDWARE_SHRINK": "0", "HARDWARE_SOURCES": str(tree)}
        ended = subprocess.run(
            command, capture_output=True, text=True, env=environment, check=False
        )
        if ended.returncode != 0:
            found = re.search(r"^FAILED \S*::(\S+)", ended.stdout, re.MULTILINE)
            if found is None:
                sys.exit(f"{' '.join(command)}:\n{ended.stdout}{ended.stderr}")
            return found[1]
    return None


@cache
def check_unchanged(tests: str) -> None:
    """Exit if tests fail with the unchanged circuits."""
    if test := failing_test(HARDWARE, tests, STAGES[-1:]):
        sys.exit(f"{test} fails without a change")


def mutate(path: Path) -> tuple[int, int, int, int]:
    """Test changes of a module, and print a row for each.

    Returns four numbers: tested changes, changes that a test noticed, changes that do not compile,
    and changes without effect.
    """
    module = path.stem
    check_unchanged(TESTS[module])
    lines = path.read_text(encoding="utf-8").splitlines()
    count = noticed = broken = equivalent = 0
    for nth, changed in drawn_places(module, lines):
        if count == PER_MODULE:
            break
        before, after = (text.strip().replace("|", "\\|") for text in (lines[nth], changed))
        same = [why for text, why in EQUIVALENT.get(module, {}).items() if text in changed]
        with tempfile.TemporaryDirectory() as folder:
            tree = changed_tree(Path(folder), path, nth, changed)
            if not compiles(tree, module):
                broken += 1
                continue
            if same:
                equivalent += 1
                result = f"equivalent: {same[0]}"
            else:
                count += 1
                test = failing_test(tree, TESTS[module])
                noticed += test is not None
                result = test or "**nothing**"
        print(f"| {module} | {nth + 1} | `{before}` → `{after}` | {result} |", flush=True)
    return count, noticed, broken, equivalent


def main() -> None:
    """Test changes of all modules, print the tables, and exit with status 1 if one was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression for names of modules")
    options = parser.parse_args()
    print("| module | line | change | noticed by |\n|---|---|---|---|", flush=True)
    rows: dict[str, tuple[int, int, int, int]] = {}
    for path in sorted(HARDWARE.glob("*/*.sv")):
        if re.search(options.only, path.stem):
            rows[path.stem] = mutate(path)
    print("\n| module | changes | noticed | do not compile | equivalent |\n|---|---|---|---|---|")
    for module, numbers in rows.items():
        print(f"| {module} | {' | '.join(map(str, numbers))} |")
    if passed := sum(count - noticed for count, noticed, _, _ in rows.values()):
        sys.exit(f"{passed} changes passed all tests")


if __name__ == "__main__":
    main()
