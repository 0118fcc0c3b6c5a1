"""Traces for Perfetto: units, nesting, names, and what does not fit."""

import gzip
import json
import shutil
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from backwater.report import timeline
from backwater.results.files import RunFiles
from conftest import TINY, Backwater

Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(command: Backwater, tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """A run with pauses, whose causes and queues were recorded."""
    path = tmp_path_factory.mktemp("timeline")
    (path / "scenario.toml").write_text(
        TINY.replace('"200KB"', '"20MB"') + '[switch]\nbuffer = "1MB"\n'
        '[record]\npauses = { flows = false }\nqueues = { every = "10us", ports = "switches" }\n'
        'utilisation = { every = "10us" }\n'
    )
    command("run", path / "scenario.toml", "--scheme", "dcqcn", "-o", path / "out")
    return RunFiles(path / "out")


def events_of(path: Path) -> Events:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    content = json.loads(text)
    assert content["displayTimeUnit"] == "ns"
    found: Events = content["traceEvents"]
    return found


@pytest.fixture(scope="module")
def events(run: RunFiles, tmp_path_factory: pytest.TempPathFactory) -> Events:
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    written = timeline.write(run, path)
    found = events_of(path)
    assert written.events == sum(event["ph"] != "M" for event in found)
    assert written.cut_ps is None
    return found


def slices(events: Events, name: str) -> Events:
    return [e for e in events if e["ph"] == "X" and e["name"].startswith(name)]


def test_every_flow_is_a_slice_in_microseconds(events, run):
    drawn = {e["args"]["flow"]: e for e in slices(events, "→ ")}
    assert len(drawn) == run.table("flows").height
    for row in run.table("flows").iter_rows(named=True):
        event = drawn[row["id"]]
        assert event["pid"] == row["src"] + 1
        assert event["ts"] == row["start_ps"] / 1e6
        assert event["dur"] == (row["received_ps"] - row["start_ps"]) / 1e6
        assert event["args"]["bytes"] == row["bytes"]


def test_slices_of_a_thread_follow_each_other(events):
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["dur"]))
    assert len(threads) > 10
    for members in threads.values():
        for (ts, dur), (following, _) in pairwise(sorted(members)):
            assert ts + dur <= following * (1 + 1e-12)


def test_every_pause_is_there_with_its_congested_port(events, run):
    drawn = slices(events, "paused")
    assert len(drawn) == run.table("pauses").height > 0
    spent = sum(event["dur"] for event in drawn)
    held = run.table("pauses").select((pl.col("to_ps") - pl.col("from_ps")).sum()).item()
    assert spent == pytest.approx(held / 1e6)
    roots = set(run.table("pause_causes")["root_name"].cast(pl.String))
    named = [e for e in drawn if e["name"].startswith("paused for ")]
    assert {e["name"].split()[2] for e in named} <= roots
    assert named


def test_buffers_and_queues_are_counters(events, run):
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C" and "bytes" in event["args"]:
            counters[event["pid"], event["name"]].append((event["ts"], event["args"]["bytes"]))
    for node, rows in run.table("queues").group_by("node"):
        told = counters[int(str(node[0])) + 1, "buffer"]
        assert max(b for _, b in told) == rows["used_bytes"].max()
        assert [at for at, _ in told] == sorted(at for at, _ in told)
    assert sum(name.startswith("queue → ") for _, name in counters) > 4


def test_utilisation_is_a_counter_that_falls_to_zero(events, run):
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C" and event["name"].startswith("link → "):
            counters[event["pid"], event["name"]].append((event["ts"], event["args"]["%"]))
    assert len(counters) == run.table("utilisation").select("node", "port").n_unique()
    for samples in counters.values():
        assert samples == sorted(samples)
        assert len({at for at, _ in samples}) == len(samples)
        # An interval that goes on behind the end of the run is the last value.
        assert samples[-1][1] == 0 or (samples[-1][0] + 10) * 1e6 > run.summary["end_ps"]
        # Between two values above 0 there is no gap.
        assert all(b - a == 10 for (a, share), (b, _) in pairwise(samples) if share)
    busy_us = sum(share / 100 * 10 for samples in counters.values() for _, share in samples)
    assert busy_us == pytest.approx(run.table("utilisation")["busy_ps"].sum() / 1e6, rel=1e-3)


def test_all_that_is_used_has_a_name(events):
    named = {(e["pid"], e.get("tid")) for e in events if e["name"].endswith("_name")}
    for event in events:
        assert (event["pid"], None) in named
        if event["ph"] == "X":
            assert (event["pid"], event["tid"]) in named
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert {"host0", "leaf0", "spine0"} <= names


def test_what_does_not_fit_is_said(run, command, tmp_path, events):
    done = command("timeline", run.path, "--limit", "300", "-o", "short.json.gz", cwd=tmp_path)
    assert "note: the trace ends at" in done.stderr
    assert done.stdout.strip() == "short.json.gz"
    found = [e for e in events_of(tmp_path / "short.json.gz") if e["ph"] != "M"]
    assert 0 < len(found) <= 300
    last = max(e["ts"] for e in found)
    # Everything that begins before the cut is there.
    assert len(found) == sum(e["ph"] != "M" and e["ts"] <= last for e in events)


def test_a_window_is_a_part(run, command, tmp_path):
    window = ("--from", "100us", "--to", "0.2ms")
    command("timeline", run.path, *window, cwd=tmp_path)
    found = events_of(tmp_path / "tiny-dcqcn.trace.json.gz")
    assert all(100 <= e["ts"] < 200 for e in found if e["ph"] != "M")
    assert any(e["ph"] == "X" for e in found)
    for bad in (("--from", "5"), ("--to", "5KB"), ("--from", "1s")):
        refused = command("timeline", run.path, *bad, cwd=tmp_path, code=2)
    assert "the run goes from 0 to" in refused.stderr


def test_flows_that_have_not_ended_go_to_the_end_of_the_run(run, tmp_path):
    path = tmp_path / "cut"
    shutil.copytree(run.path, path)
    late = (
        pl.when(pl.col("id") == run.table("flows")["id"][0])
        .then(None)
        .otherwise(pl.col("received_ps"))
    )
    run.table("flows").with_columns(late.alias("received_ps")).write_parquet(path / "flows.parquet")
    cut = RunFiles(path)
    timeline.write(cut, tmp_path / "trace.json")
    (open_,) = [
        e for e in events_of(tmp_path / "trace.json") if e.get("args", {}).get("unfinished")
    ]
    assert open_["ts"] + open_["dur"] == pytest.approx(cut.summary["end_ps"] / 1e6)


def test_ranks_and_collectives_are_there_where_a_run_has_them(trained, tmp_path):
    run = trained["dcqcn"]
    timeline.write(run, tmp_path / "trace.json")
    found = events_of(tmp_path / "trace.json")
    names = {
        (e["pid"], e.get("tid")): e["args"]["name"] for e in found if e["name"].endswith("_name")
    }
    assert {"train: operations", "train: collectives", "rank 0", "rank 7"} <= {*names.values()}
    assert {"all ranks", "group tensor-0", "group data-3"} <= {*names.values()}
    lanes = {e["pid"]: names[e["pid"], None] for e in found if e["ph"] == "X"}
    at = {name: pid for pid, name in lanes.items()}
    calc = [e for e in slices(found, "calc") if e["pid"] == at["train: operations"]]
    assert sum(e["dur"] for e in calc) == run.table("ranks")["computing_ps"].sum() / 1e6
    drawn = [e for e in found if e["ph"] == "X" and e["pid"] == at["train: collectives"]]
    table = run.table("collectives")
    assert len(drawn) == table.height
    lasted = (table["end_ps"] - table["start_ps"]).sum() / 1e6
    assert sum(e["dur"] for e in drawn) == pytest.approx(lasted)


def test_several_runs_and_bad_places_are_refused(comparison, command, tmp_path):
    command("timeline", comparison.path, code=2)
    missing = tmp_path / "none" / "trace.json"
    done = command("timeline", comparison["bfc"].path, "-o", missing, code=1)
    assert "cannot write" in done.stderr
