"""Simulates the circuits of HPCC: against their models, and against the dataplane."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

import simulator
from simulator import EVENTS, ROOT, write_trace

simulate = partial(simulator.simulate, module="hpcc_circuits")


# HPCC-01, HPCC-02, HPCC-03, HPCC-24, HPCC-30
@pytest.mark.parametrize(
    "parameters", [{}, {"QLEN_BITS": 17, "UNIT_SHIFT": 2}, {"HOPS": 3}], ids=["paper", "code", "3"]
)
def test_hpcc_egress(parameters: Mapping[str, int], tmp_path: Path) -> None:
    simulate("hpcc_int_egress", "egress", tmp_path, parameters)


# HPCC-35, HPCC-41
@pytest.mark.parametrize("ppm", [10_000, 20_000])
def test_hpcc_table(ppm: int, tmp_path: Path) -> None:
    simulate("hpcc_reciprocal", "table", tmp_path, {"EPSILON_PPM": ppm})


# HPCC-05 to HPCC-21, HPCC-30, HPCC-41
@pytest.mark.parametrize(
    "parameters",
    [{}, {"QLEN_BITS": 17, "SPEEDS": 7, "EPSILON_PPM": 20_000}],
    ids=["paper", "code"],
)
def test_hpcc_sender(parameters: Mapping[str, int], tmp_path: Path) -> None:
    simulate("hpcc_sender", "sender", tmp_path, {"FLOWS": 5, **parameters})


# HPCC-04, HPCC-24
def test_hpcc_sender_ignores_records_that_do_not_fit(tmp_path: Path) -> None:
    simulate("hpcc_sender", "records_that_do_not_count", tmp_path, {"FLOWS": 2})


# HPCC-16, HPCC-17
def test_hpcc_sender_at_the_target(tmp_path: Path) -> None:
    simulate("hpcc_sender", "utilisation_at_the_target", tmp_path, {"FLOWS": 2})


# HPCC-06, HPCC-07
@pytest.mark.parametrize("parameters", [{"FLOWS": 3, "MTU": 100}, {"FLOWS": 8, "CYCLE_NS": 40}])
def test_hpcc_scheduler(parameters: Mapping[str, int], tmp_path: Path) -> None:
    simulate("hpcc_scheduler", "scheduler", tmp_path, parameters)


# HPCC-07
def test_hpcc_scheduler_keeps_the_rates_of_fifty_flows(tmp_path: Path) -> None:
    simulate("hpcc_scheduler", "rates_of_fifty_flows", tmp_path)


INCAST = ROOT / "papers/backwater_papers/figures/hpcc/scenarios/incast-7.toml"
"""Fig. 9c and 9d."""

TREE = """\
name = "tree"
topology = { kind = "fat-tree", k = 4, link = { rate = "100Gbps", delay = "1us" } }
run = { until = "100ms" }

# Paths of one, three and five switches. Host 0 receives an incast.
[[traffic]]
name = "incast"
pattern = "list"
flows = [
    { src = 1, dst = 0, bytes = "1GB" },
    { src = 2, dst = 0, bytes = "1GB" },
    { src = 4, dst = 0, bytes = "1GB", start = "20us" },
    { src = 8, dst = 0, bytes = "400KB", start = "40us" },
    { src = 15, dst = 0, bytes = "300KB", start = "60us" },
    { src = 0, dst = 12, bytes = "1GB" },
    { src = 5, dst = 12, bytes = "1GB", start = "30us" },
]

[scheme]
preset = "hpcc"
base_rtt = "14us"
"""

FIXED = ["scheme.hpcc.arithmetic=fixed", "scheme.hpcc.division=table", "scheme.int.format=wire"]


def tree(folder: Path) -> Path:
    """Write the scenario of a fat-tree and return its file."""
    path = folder / "tree.toml"
    path.write_text(TREE, encoding="utf-8")
    return path


# HPCC-41: Fig. 9c, paths of one to five switches, and packets over changing paths.
@pytest.mark.parametrize("name", ["incast", "tree", "spray"])
def test_hpcc_sender_against_the_dataplane(name: str, tmp_path: Path) -> None:
    values = [*FIXED, "scheme.path=packet"] if name == "spray" else FIXED
    scenario = INCAST if name == "incast" else tree(tmp_path)
    if name == "incast":
        values = [*values, "scheme.base_rtt=9us"]
    path = write_trace(tmp_path, "hpcc", scenario, "hpcc", values)
    environment = {"HARDWARE_TRACE": str(path)}
    simulate("hpcc_sender", "sender_trace", tmp_path, {"FLOWS": 8}, environment)


# HPCC-01, HPCC-02, HPCC-03, HPCC-30
def test_hpcc_egress_against_the_dataplane(tmp_path: Path) -> None:
    exact = ["scheme.int.format=exact"]
    path = write_trace(tmp_path, "hpcc", tree(tmp_path), "hpcc", exact, EVENTS // 2)
    environment = {"HARDWARE_TRACE": str(path), "HARDWARE_HOSTS": "16"}
    simulate("hpcc_int_egress", "egress_trace", tmp_path, {}, environment)
