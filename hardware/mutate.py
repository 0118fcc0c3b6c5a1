"""Changes each circuit in ten places, one at a time, and shows that the tests notice it.

    python hardware/mutate.py [--only TEXT]

Prints a Markdown table with a row for each change: module, line, change, and the test that failed.
The exit status is 1 if a change passed all tests of its module. Places are drawn with a fixed seed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HARDWARE = Path(__file__).resolve().parent
PER_MODULE = 10
LIMIT_S = 1800
"""Seconds after which a changed circuit counts as noticed: it waits for an event for ever."""

# What is replaced by what. `<=` is a comparison only outside of clocked assignments.
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
    "fg_hash": "operations_of_a_floodgate_pipeline",
    "fg_held_table": "operations_of_a_floodgate_pipeline",
    "fg_ingress_pipeline": "operations_of_a_floodgate_pipeline",
    "fg_switch": "floodgate_switch",
    "fg_voq_bitmap": "operations_of_a_floodgate_pipeline",
    "fg_voq_scheduler": "operations_of_a_floodgate_pipeline",
    "fg_vup": "operations_of_a_floodgate_pipeline",
    "fg_window_table": "operations_of_a_floodgate_pipeline",
    "keyed_memory": "operations_of_a_floodgate_pipeline",
    "next_bit": "queues_of_a_bfc_port",
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

EQUIVALENT = {
    "hpcc_int_egress": ("units >= QLEN_MAX",),
    "hpcc_reciprocal": ("far >= key", "nth >> SEGMENT >= 1"),
    "hpcc_window": ("wanted > 45'(most)", "wanted < 45'(least)", "rate >= 42'(line)"),
}
"""Changed comparisons of a module that choose between two equal values, and so change nothing."""

NO_EFFECT = ("unused", "localparam", "function", "for (")
"""Lines without behaviour."""


def places(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, the text and the changed text of each line that can be changed."""
    lines = source.splitlines()
    body = next(nth for nth, line in enumerate(lines) if line.startswith(");"))
    for nth, line in enumerate(lines[body + 1 :], body + 1):
        code = line.partition("//")[0]
        if any(word in line for word in NO_EFFECT) or not code.strip():
            continue
        clocked = re.match(r"\s*(if .*|else .*)?\w+ <= ", code)
        changes = CHANGES if clocked or "for (" in code else (*CHANGES, COMPARISON)
        for pattern, replacement in changes:
            for match in re.finditer(pattern, code):
                changed = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                yield nth, line, changed


def noticed(path: Path, nth: int, changed: str, tests: str) -> str | None:
    """Return the test that fails with a changed line, or None."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "hardware"
        shutil.copytree(HARDWARE, tree, ignore=shutil.ignore_patterns("__pycache__"))
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[nth] = changed
        target = tree / path.relative_to(HARDWARE)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-c", str(HARDWARE / "pytest.ini")]
        command += [str(HARDWARE / "tests"), "-k", tests]
        environment = {**os.environ, "HARDWARE_SOURCES": str(tree)}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        ) as process:
            try:
                printed, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                # The simulator is a child of the tests.
                os.killpg(process.pid, signal.SIGKILL)
                return "does not end"
    if process.returncode == 0:
        return None
    found = re.search(r"^FAILED \S*::(\S+)", printed, re.MULTILINE)
    return found[1] if found else "does not build"


def main() -> None:
    """Change, test, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="part of the name of the modules to change")
    options = parser.parse_args()
    passed = 0
    print("| module | line | change | noticed by |\n|---|---|---|---|", flush=True)
    for path in sorted(HARDWARE.glob("*/*.sv")):
        module = path.stem
        if options.only not in module:
            continue
        found = sorted(
            (nth, line, changed)
            for nth, line, changed in set(places(path.read_text(encoding="utf-8")))
            if not any(same in changed for same in EQUIVALENT.get(module, ()))
        )
        drawn = random.Random(module).sample(found, min(PER_MODULE, len(found)))
        lines = path.read_text(encoding="utf-8").splitlines()
        if test := noticed(path, 0, lines[0], TESTS[module]):
            sys.exit(f"{test}: the tests of {module} fail without a change")
        for nth, line, changed in sorted(drawn):
            test = noticed(path, nth, changed, TESTS[module])
            passed += test is None
            before, after = line.strip().replace("|", "\\|"), changed.strip().replace("|", "\\|")
            row = f"| {module} | {nth + 1} | `{before}` → `{after}` | {test or '**nothing**'} |"
            print(row, flush=True)
    if passed:
        sys.exit(f"{passed} changes passed all tests")


if __name__ == "__main__":
    main()
