"""Threads of one run, as users request them."""

import os
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater.results.files import RunFiles
from backwater.results.store import Store
from backwater.running.engine import run_all
from backwater.running.single import processors, runs_at_a_time
from tools import simulated

SCENARIO = """\
name = "leaves"
seed = 3
[topology]
kind = "leaf-spine"
leaves = 8
spines = 4
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }

[[traffic]]
name = "web"
pattern = "uniform"
sizes = "web-search@hpcc"
load = { fraction = 0.4, of = "hosts" }
window = ["0us", "200us"]
"""

several = pytest.mark.skipif(processors() < 2, reason="needs two processors")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "leaves.toml"
    path.write_text(SCENARIO)
    return path


def threads(run: RunFiles) -> dict:
    return run.summary["performance"]["threads"]


# PAR-07
@several
@pytest.mark.parametrize("scheme", ["hpcc", "bfc"])
def test_every_table_is_the_same(scenario, tmp_path, scheme):
    one = simulated(scenario, scheme=scheme, out=tmp_path / "one")
    two = simulated(scenario, scheme=scheme, out=tmp_path / "two", threads=2)
    assert (threads(one)["used"], threads(two)["used"]) == (1, 2)
    assert threads(two)["crossed"] > 100
    for name in ("flows", "ports", "queues", "pauses"):
        tables = [pl.read_parquet(run.path / f"{name}.parquet") for run in (one, two)]
        assert tables[0].equals(tables[1]), name
    summaries = [dict(run.summary, performance=None) for run in (one, two)]
    assert summaries[0] == summaries[1]


def test_a_run_that_needs_one_thread_says_so(command, scenario, tmp_path):
    out = tmp_path / "out"
    keys = ["--set", "scheme.recovery=ideal"]
    said = command("run", scenario, "--scheme", "hpcc", "--threads", "2", "-o", out, *keys)
    used = threads(RunFiles(out))
    assert (used["asked"], used["used"]) == (2, 1)
    assert "1 of 2 threads were used" in said.stderr


def test_a_number_of_threads_that_cannot_be_is_refused(command, scenario, tmp_path):
    for wrong in ("-1", "99999", "two"):
        command("run", scenario, "--threads", wrong, "-o", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


@several
def test_comparisons_and_campaigns_pass_threads_on(scenario, tmp_path):
    compared = backwater.compare(
        scenario, ["hpcc", "dcqcn"], out=tmp_path / "compare", threads=2, report=False
    )
    assert {threads(run)["used"] for run in compared.labelled().values()} == {2}
    task = backwater.Scenario(scenario, scheme="hpcc")
    run = run_all([task], Store(tmp_path / "store"), threads=2).runs[task]
    assert threads(run)["used"] == 2
    assert run.digest == compared["hpcc"].only.digest
    again = run_all([task], Store(tmp_path / "store"))
    assert again.made == 0, "the number of threads is no part of the key"


def test_runs_share_the_processors_out(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    assert [runs_at_a_time(n) for n in (1, 4, 5, 12, 40, 0)] == [12, 3, 2, 1, 1, 1]
