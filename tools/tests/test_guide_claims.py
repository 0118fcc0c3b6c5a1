"""Statements of documents about schemes and about this project agree with runs and commands."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import backwater
from backwater.results import columns
from tools import simulated

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide/tutorial-engineer.md"
ROWS = {
    "slowdown of short flows, p50": "fct.short.p50",
    "slowdown of short flows, p99": "fct.short.p99",
    "slowdown of long flows, p50": "fct.long.p50",
    "slowdown in incasts, p99": "fct.incast.p99",
    "PFC pause time, sum": "pfc.time",
    "PFC pause time, mean": "pfc.share",
    "largest buffer": "buffer.max",
}


def rows_of_the_guide() -> list[list[str]]:
    lines = [line for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the scenario of the guide into a file, and return the file."""
    found = re.search(r"```toml\n(name = \"fabric\".*?)```", GUIDE.read_text(), re.DOTALL)
    path = tmp_path_factory.mktemp("guide") / "fabric.toml"
    path.write_text(found[1])
    return path


def test_the_table_of_the_guide_is_that_of_its_command(fabric: Path) -> None:
    head, _, *rows = rows_of_the_guide()
    schemes = head[1:]
    assert f"--schemes {','.join(schemes)}\n" in GUIDE.read_text()
    out = fabric.with_name("out")
    compared = backwater.compare(fabric, schemes, out=out, report=False).labelled()
    by_key = {row.name: row for row in columns.COLUMNS}
    checked = 0
    for label, *cells in rows:
        key = next((key for start, key in ROWS.items() if label.startswith(start)), None)
        if key is None:
            continue
        checked += 1
        found = [columns.text(by_key[key], run.summary) for run in compared.values()]
        assert cells == found, label
        if flows := re.search(r"p\d+ of ([\d,]+)", label):
            count = by_key[f"{key.rpartition('.')[0]}.flows"]
            assert {columns.text(count, run.summary) for run in compared.values()} == {flows[1]}
    assert checked == len(ROWS)

    # The difference is the effect of the threshold alone. SPFC has no effect.
    threshold = simulated(
        fabric, ["scheme.pfc.xoff=2"], scheme="dcqcn", out=out.with_name("threshold")
    )
    assert compared["dcqcn+dt"].digest == compared["dcqcn+spfc"].digest == threshold.digest
    assert compared["dcqcn"].digest != threshold.digest


def test_the_guide_states_what_selective_pfc_changes(fabric: Path) -> None:
    schemes = ["dcqcn+dt", "dcqcn+spfc"]
    compared = backwater.compare(
        backwater.Scenario(fabric, ["switch.buffer=600KB"]), schemes, out=fabric.with_name("small")
    ).labelled()
    assert compared["dcqcn+spfc"].summary["counters"]["spfc_spared"] > 0
    text = re.sub(r"\s+", " ", GUIDE.read_text())
    written = re.search(r"for ([\d.]+) ms with `dcqcn\+dt` and for ([\d.]+) ms", text)
    paused = [compared[scheme].summary["pfc_paused_ps"] / 1e9 for scheme in schemes]
    assert [f"{ms:.2f}" for ms in paused] == list(written.groups())


def test_the_front_page_has_the_numbers_that_its_command_prints() -> None:
    page = runpy.run_path(str(ROOT / "tools/front_page.py"))
    text = (ROOT / "README.md").read_text()
    for number in page["of_files"]():
        written = number.written(text)
        assert written, number.label
        assert set(written) == {number.value}, number.label
