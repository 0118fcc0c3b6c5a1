"""Pauses as tables: rates per port, trees of causes, and victim flows."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import backwater
from backwater.analysis import pauses
from backwater.results.columns import COLUMNS
from backwater.results.files import RunFiles
from tools import simulated

UNIT = """\
name = "unit"
topology = { kind = "star", hosts = 8, link = { rate = "100Gbps", delay = "1us" } }

[switch]
buffer = "1MB"

[[traffic]]
name = "long"
pattern = "list"
flows = [
    { src = 0, dst = 6, bytes = "2MB" },
    { src = 0, dst = 7, bytes = "500KB" },
]

[[traffic]]
name = "burst"
pattern = "between"
senders = { first = 1, count = 5 }
receivers = [7]
together = true
size = "200KB"
start = "20us"

[scheme]
preset = "line-rate"
pfc.xoff = 0.25
"""
RECORD = "\n[record]\npauses = { flows = true }\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """Incast at host 7, with a flow from host 0 that goes elsewhere."""
    folder = tmp_path_factory.mktemp("pauses")
    (folder / "unit.toml").write_text(UNIT + RECORD)
    return simulated(folder / "unit.toml", out=folder / "out")


def test_rates_count_pauses_and_resumes_of_each_port(run):
    table = pauses.rates(run)
    assert set(table["port"]) == {f"host{h}->switch0" for h in range(6)}
    counters = run.summary["counters"]
    assert table["pauses"].sum() == counters["pfc_pauses"] > 10
    assert table["resumes"].sum() == counters["pfc_resumes"] == counters["pfc_pauses"]
    assert table["pause_frames"].to_list() == table["pauses"].to_list()
    assert table["held_ps"].sum() == run.summary["pfc_paused_ps"]
    per_ms = table["pauses"] / (run.summary["end_ps"] / 1e9)
    assert np.allclose(table["pauses_per_ms"], per_ms)
    ports = run.table("ports").filter(pl.col("pauses") > 0)
    assert ports["resumes"].sum() == ports["pauses"].sum() == table["pauses"].sum()


def test_frames_that_repeat_a_pause_are_counted_apart(tmp_path, command):
    """QNT-13: transitions and frames, in tables, the summary, and what commands print."""
    (tmp_path / "unit.toml").write_text(UNIT)
    quanta = ['scheme.pfc={ xoff = 0.25, pause = "quanta", quanta = 60, refresh = 0.5 }']
    timed = simulated(tmp_path / "unit.toml", quanta, out=tmp_path / "out")
    counters = timed.summary["counters"]
    assert counters["pfc_refreshes"] > 0
    assert timed.table("ports")["pauses"].sum() == counters["pfc_pauses"]
    frames = counters["pfc_pauses"] + counters["pfc_refreshes"]
    assert timed.table("ports")["pause_frames"].sum() == frames
    assert sum(links["pause_frames"] for links in timed.summary["links"]) == frames
    shown = {row.name: row.value(timed.summary) for row in COLUMNS}
    assert (shown["pfc.pauses"], shown["pfc.frames"]) == (counters["pfc_pauses"], frames)
    said = command("pauses", str(timed.path)).stdout
    assert f"{counters['pfc_pauses']} pauses ({frames} frames with XOFF) at " in said
    assert "pause_frames" not in pauses.rates(timed, (0, 1e9)).columns


def test_every_table_has_the_class_of_the_scenario(tmp_path):
    """SW-03: class 7 of the traffic is class 7 in each table that has a class."""
    record = RECORD + 'ingress = { every = "10us", ports = "switches" }\n'
    text = UNIT.replace('name = "burst"', 'name = "burst"\nclass = 7')
    text = text.replace('"1MB"', '"3MB"').replace('"200KB"', '"800KB"')
    (tmp_path / "unit.toml").write_text(text + record)
    of_class = simulated(tmp_path / "unit.toml", out=tmp_path / "out")
    tables = {"flows": 0, "pauses": 0, "pause_causes": 0, "port_ingress": 0}
    for name in tables:
        classes = of_class.table(name)["class"]
        assert set(classes) <= set(range(8)), name
        assert 7 in set(classes), name
    # The flows of the burst are the only ones of their class, and pauses of it stop no others.
    paused = of_class.table("pauses").filter(pl.col("class") == 7).select("name", "class").unique()
    senders = of_class.table("flows").filter(pl.col("class") == 7)["src"]
    assert set(paused["name"]) <= {f"host{host}" for host in senders}


def test_a_window_cuts_pauses_at_its_edges(run):
    whole = pauses.rates(run)
    middle = run.summary["end_ps"] // 2
    parts = [pauses.rates(run, w) for w in ((0, middle), (middle, run.summary["end_ps"]))]
    assert sum(part["held_ps"].sum() for part in parts) == pytest.approx(whole["held_ps"].sum())
    assert sum(part["pauses"].sum() for part in parts) == whole["pauses"].sum()


def test_one_switch_makes_trees_of_depth_one(run):
    table = pauses.trees(run)
    assert table.height == run.table("pause_causes").height
    assert set(table["congested_port"]) == {"switch0->host7"}
    assert set(table["depth"]) == {1}
    # Eight host ports send to the switch; a tree of one pause holds one of them, all of its time.
    assert set(table["suppressed_peak"]) == set(table["suppressed_mean"]) == {1 / 8}


def test_the_victim_is_named(run):
    table = pauses.victims(run)
    (row,) = table.iter_rows(named=True)
    assert (row["flow"], row["src"], row["dst"], row["worst"]) == (0, 0, 6, "switch0->host7")
    assert row["pauses"] > 0
    assert row["held_ps"] > 0


# SPFC-43
def test_a_tree_suppresses_what_its_pauses_hold_at_once():
    """A root that holds one port, and below it two that overlap for a while."""
    causes = [
        # node, port paused through, peer and its port, number, egress, parent, depth, at
        (9, 0, 1, 0, 1, 5, None, 1, 10),
        (1, 3, 2, 0, 1, 0, 1, 2, 20),
        (1, 4, 3, 0, 1, 0, 1, 2, 30),
    ]
    names = ["node", "port", "peer", "peer_port", "number", "egress", "parent", "depth", "at_ps"]
    table = pl.DataFrame(causes, schema=names, orient="row").with_columns(
        pl.lit(2).alias("class"),
        pl.lit("s9").alias("root_name"),
        pl.lit("h5").alias("root_peer_name"),
    )
    held = [(1, 0, 1, 15, 55), (2, 0, 1, 25, 45), (3, 0, 1, 35, 55)]
    effects = pl.DataFrame(
        [(n, p, 2, k, a, b) for n, p, k, a, b in held],
        schema=["node", "port", "class", "number", "from_ps", "to_ps"],
        orient="row",
    )
    ports = pl.DataFrame(
        {
            "node": [1, 2, 3, 9],
            "port": [0, 0, 0, 5],
            "rate_bps": [400, 100, 100, 100],
            "peer_tier": ["switch", "switch", "switch", "host"],
        }
    )
    tables = {"pause_causes": table, "pauses": effects, "ports": ports}
    fake: Any = SimpleNamespace(
        path=Path("fake"), table=tables.__getitem__, summary={"tiers": ["host", "switch"]}
    )
    (row,) = pauses.trees(fake).iter_rows(named=True)
    assert (row["congested_port"], row["pauses"], row["depth"], row["ports"]) == ("s9->h5", 3, 2, 3)
    assert (row["from_ps"], row["to_ps"]) == (10, 55)
    assert row["suppressed_peak"] == 1.0
    assert row["suppressed_mean"] == pytest.approx((400 * 40 + 100 * 20 + 100 * 20) / 40 / 600)


def test_the_command_shows_ports_trees_and_victims(run, command, tmp_path):
    shown = command("pauses", str(run.path)).stdout
    assert "host0->switch0" in shown
    assert "trees" in shown
    assert "1 victim flows" in shown
    told = json.loads(command("pauses", str(run.path), "--json").stdout)
    assert {name: len(rows) for name, rows in told.items()} == {
        "ports": 6,
        "trees": run.table("pause_causes").height,
        "victims": 1,
    }
    (tmp_path / "plain.toml").write_text(UNIT)
    plain = simulated(tmp_path / "plain.toml", out=tmp_path / "out")
    assert plain.digest == run.digest
    assert "Not recorded" not in shown
    hint = command("pauses", str(plain.path)).stdout
    assert "Not recorded: which pause caused which (trees), and which flows" in hint
    *_, line = hint.splitlines()
    assert line.startswith("  backwater run ")
    command(*shlex.split(line)[1:])
    full = RunFiles(shlex.split(line)[-1])
    assert full.digest == plain.digest
    assert command("pauses", str(full.path)).stdout == shown
    trees = simulated(
        tmp_path / "plain.toml", ["record.pauses={flows=false}"], out=tmp_path / "trees"
    )
    hint = command("pauses", str(trees.path)).stdout
    assert "trees (" in hint
    assert "Not recorded: which flows were paused although" in hint
    with pytest.raises(backwater.RunError, match="pause_causes was not recorded"):
        pauses.trees(plain)
