"""Prints every number of the front page (README.md), and compares it with the text of the page.

``make front-page`` runs it, after the results that it reads: the comparison of ``make demo``, and
the same scenario with five seeds.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import backwater
from backwater import _core
from backwater.running.single import processors

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "scenarios/demo.toml"
SEEDS = ROOT / "scenarios/sweeps/demo-seeds.toml"
LARGEST = ROOT / "benches/scenarios/permutation-8192.toml"
SHORT_P99 = "fct.short.p99"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the front page."""

    label: str
    value: str
    pattern: str
    """Regular expression that finds the number in README.md as its first group."""

    def written(self, text: str) -> list[str]:
        """Return the number as ``text`` has it, for each place where ``pattern`` matches."""
        return [match.group(1) for match in re.finditer(self.pattern, re.sub(r"\s+", " ", text))]


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _count_flows(scenario: str) -> int:
    """Count the flows of a scenario without simulating it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.toml")
        path.write_text(scenario, encoding="utf-8")
        found = _core.Scenario(str(path), []).flow_paths()
    assert found is not None  # Each flow of this scheme has one path.
    return len(found[0]) // 4


def of_files() -> list[Number]:
    """Return the numbers that follow from files of the repository, without simulation."""
    words = {5: "five", 6: "six", 10: "ten"}
    demo, text = _toml(DEMO), DEMO.read_text(encoding="utf-8")
    topology, (background, incast) = demo["topology"], demo["traffic"]
    before, after = text.index("[[traffic]]"), text.index('[[traffic]]\nname = "incast"')
    incasts = _count_flows(text[:before] + text[after:]) // incast["degree"]
    assert background["name"] == "background"
    schemes = (ROOT / "scenarios/demo.schemes").read_text(encoding="utf-8").strip().split(",")
    seeds = _toml(SEEDS)["seeds"]
    several = seeds["to"] - seeds["from"] + 1
    largest = backwater.Scenario(LARGEST).resolved
    hosts = _toml_hosts(tomllib.loads(largest)["topology"])
    return [
        Number("hosts of the demo", str(_toml_hosts(topology)), r"(\d+) hosts, Google"),
        Number("flows of each scheme", f"{_count_flows(text):,}", r"([\d,]+) flows"),
        Number("schemes of the demo", words[len(schemes)], r"slowdown of (\w+) schemes"),
        Number("incasts", words[incasts], r"(\w+) incasts"),
        Number("senders of an incast", str(incast["degree"]), r"incasts of (\d+) senders"),
        Number("seed of the demo", str(demo["seed"]), r"One seed \((\d+)\)"),
        Number("seeds of the range", words[several], r"[Oo]ver (\w+) seeds"),
        Number("hosts of the largest benchmark", str(hosts), r"(\d+) hosts are possible"),
    ]


def _toml_hosts(topology: dict[str, Any]) -> int:
    """Return the number of hosts of a leaf-spine or a fat-tree."""
    match topology["kind"]:
        case "leaf-spine":
            return int(topology["leaves"] * topology["hosts_per_leaf"])
        case "fat-tree":
            return int(topology["k"]) ** 3 // 4
        case other:
            raise ValueError(f"cannot count the hosts of the topology {other}")


def of_results(comparison: Path, campaign: Path) -> list[Number]:
    """Return the numbers that need simulations."""
    compared, seeds = backwater.load(comparison), backwater.load(campaign)
    numbers = []
    for scheme in ("bfc", "hpcc"):
        values = seeds.select(scheme).runs[SHORT_P99].to_list()
        pattern = rf"(\d+ to \d+) with {scheme.upper()}"
        label = f"p99 of flows up to 10 KB over {len(values)} seeds, {scheme}"
        numbers.append(Number(label, f"{min(values):.0f} to {max(values):.0f}", pattern))
    seconds = sum(
        run.summary["performance"]["wall_seconds"] for run in compared.labelled().values()
    )
    label = f"seconds of the comparison on {processors()} processors"
    # It depends on the machine: it is printed, and not compared.
    numbers.append(Number(label, f"{seconds / processors():.0f}", ""))
    return numbers


def main() -> None:
    """Print the numbers, and exit with status 1 if README.md has another value for one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    numbers = [*of_files(), *of_results(Path(sys.argv[1]), Path(sys.argv[2]))]
    failed = False
    for number in numbers:
        written = number.written(text) if number.pattern else [number.value]
        good = bool(written) and set(written) == {number.value}
        failed |= not good
        note = "" if good else f"  README.md has {', '.join(written) or 'no such number'}"
        print(f"{number.label:<50}{number.value}{note}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
