"""Flows by class and ports by role, against a network in which each is known."""

import json
import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from backwater.analysis import breakdown
from backwater.results.files import RunFiles
from tools import simulated

# PFC pauses at little: the incast to host 0 holds the spine's port to the first ToR, and so the
# ports of the senders' ToRs to the spine.
CROWDED = """\
name = "crowded"
topology = { kind = "leaf-spine", leaves = 4, spines = 1, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "incast"
pattern = "list"
flows = [
    { src = 4, dst = 0, bytes = "1MB", start = "0us", port = 200 },
    { src = 5, dst = 0, bytes = "1MB", start = "0us", port = 200 },
    { src = 8, dst = 0, bytes = "1MB", start = "0us", port = 200 },
]

[[traffic]]
name = "known"
pattern = "list"
flows = [
    { src = 12, dst = 1, bytes = "10KB", start = "50us" },
    { src = 6, dst = 13, bytes = "10KB", start = "50us" },
    { src = 14, dst = 15, bytes = "10KB", start = "50us" },
    { src = 7, dst = 13, bytes = "10KB", start = "900us" },
]

[record]
waiting = {}

[scheme]
preset = "dcqcn"
control = "line-rate"
signal = "none"
pfc.xoff = "20KB"
"""  # noqa: E501

FAT = """\
name = "fat"
topology = { kind = "fat-tree", k = 4, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "t"
pattern = "uniform"
load = { fraction = 0.2, of = "hosts" }
size = "20KB"
window = ["0us", "50us"]

[scheme]
preset = "dcqcn"
"""


def made(folder: Path, text: str) -> RunFiles:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return simulated(path, out=folder / "run", force=True)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """A run in which each class of flows has members that are known."""
    return made(tmp_path_factory.mktemp("crowded"), CROWDED)


@pytest.fixture(scope="module")
def fat(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """A run on a network with three tiers of switches."""
    return made(tmp_path_factory.mktemp("fat"), FAT)


def test_each_flow_has_the_class_that_it_was_made_for(crowded):
    assert crowded.table("pauses").height > 0
    table = crowded.table("flows").join(breakdown.flow_classes(crowded), on="id")
    found = {
        (src, dst): name for src, dst, name in table.select("src", "dst", "flow_class").iter_rows()
    }
    assert found == {
        (4, 0): "incast",
        (5, 0): "incast",
        (8, 0): "incast",
        (12, 1): "victim-of-incast",
        (6, 13): "victim-of-pfc",
        (14, 15): "other",
        (7, 13): "other",  # when the incast was over
    }


def test_a_naive_search_finds_the_same_victims(crowded):
    paths = breakdown.flow_paths(crowded)
    held = set()
    for id_, node, port in paths.iter_rows():
        (flow,) = crowded.table("flows").filter(pl.col("id") == id_).iter_rows(named=True)
        for pause in crowded.table("pauses").iter_rows(named=True):
            here = (pause["node"], pause["port"]) == (node, port)
            if (
                here
                and pause["from_ps"] < flow["received_ps"]
                and flow["start_ps"] < pause["to_ps"]
            ):
                held.add(id_)
    assert breakdown.held_flows(crowded) == sorted(held)
    assert 0 < len(held) < crowded.table("flows").height


def test_paths_lead_from_host_to_host(fat):
    paths = breakdown.flow_paths(fat)
    ends = fat.table("ports").select("node", "port", "peer")
    for (id_,), path in paths.join(ends, on=["node", "port"], how="left").group_by(
        "id", maintain_order=True
    ):
        (flow,) = fat.table("flows").filter(pl.col("id") == id_).iter_rows(named=True)
        assert path["node"][0] == flow["src"]
        assert path["peer"][-1] == flow["dst"]
        assert path["peer"][:-1].to_list() == path["node"][1:].to_list()
        assert path.height in (2, 4, 6)


def test_roles_of_three_tiers(fat):
    roles = breakdown.port_roles(fat)
    assert Counter(roles["role"]) == dict.fromkeys(breakdown.ROLES, 16)
    names = fat.table("ports").join(roles, on=["node", "port"]).select("tier", "role").unique()
    tiers = names.with_columns(pl.col("tier").cast(pl.String)).group_by("tier").len()
    assert sorted(tiers["len"].to_list()) == [1, 2, 2]


# PRE-242
def test_times_by_class_end_as_the_scenario_says(crowded, tmp_path):
    acked = RunFiles(shutil.copytree(crowded.path, tmp_path / "acked"))
    acked.summary["fct_until"] = "acked"
    for run, column in ((crowded, "received_ps"), (acked, "acked_ps")):
        flows = run.table("flows").join(breakdown.flow_classes(run), on="id")
        flows = flows.filter(flow_class="victim-of-incast")
        found = breakdown.by_class(run).filter(flow_class="victim-of-incast")
        assert found["mean_fct_ps"][0] == (flows[column] - flows["start_ps"]).mean()


def test_tables_by_class_and_role(crowded):
    flows = breakdown.by_class(crowded)
    assert flows["flow_class"].to_list() == list(breakdown.CLASSES)
    assert flows["flows"].to_list() == [3, 1, 1, 2]
    ports = breakdown.by_role(crowded)
    assert ports["role"].to_list() == ["tor-up", "core", "tor-down"]
    assert ports["ports"].to_list() == [4, 4, 16]
    # PFC lets 20 KB per ingress stand in front of the first ToR, and passes the rest back.
    most = dict(zip(ports["role"], ports["max_bytes"], strict=True))
    assert most["tor-up"] > most["core"] > 20_000 > most["tor-down"] > 0
    wait = dict(zip(ports["role"], ports["mean_wait_ps"], strict=True))
    waiting = crowded.table("waiting").filter(~pl.col("incast"))
    assert waiting["packets"].sum() == 10 * (3 + 3 + 1 + 3)
    assert wait["core"] > 0


def test_waiting_needs_its_table(fat):
    assert "mean_wait_ps" not in breakdown.by_role(fat).columns


def test_the_command(crowded, fat, command, tmp_path):
    done = command("breakdown", crowded.path)
    assert "victim-of-pfc 1" in " ".join(done.stdout.split())
    assert "mean wait" in done.stdout
    assert "mean slowdown" in done.stdout
    assert "[record] waiting" in command("breakdown", fat.path).stdout
    found = json.loads(command("breakdown", crowded.path, "--json").stdout)
    assert [row["flows"] for row in found["flows"]] == [3, 1, 1, 2]
    assert [row["role"] for row in found["ports"]] == ["tor-up", "core", "tor-down"]
    assert "no finished run here" in command("breakdown", tmp_path, code=2).stderr
