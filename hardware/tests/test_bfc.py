"""Simulates the circuits of BFC: against their models, and against the dataplane."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import simulator
from simulator import write_trace
from traces import read

simulate = partial(simulator.simulate, module="bfc_circuits")

# Small tables and narrow counters: all of them reach their limits, and times wrap around.
SMALL = {
    **{"PORTS": 4, "PORT": 2, "INGRESSES": 2, "INGRESS": 1, "QUEUES": 4, "QUEUE": 2, "COUNT": 3},
    **{"PER_PORT": 8, "INDEX": 5, "UPSTREAM": 4, "NAMED": 2, "KEY": 3, "ROWS": 2, "ROW": 1},
    **{"TABLE_QUEUE": 3, "TABLE_SIZE": 2, "TIME": 5, "COUNTER": 2, "SIZE": 12, "BYTES": 20},
}

PIPELINES = {
    "sampled": {"START": 2},
    "exact": {"SAMPLED_MAP": 0},
    "options": {"PAUSED_ELIGIBLE": 1, "FIRST_EXEMPT": 0},
    "stochastic": {"STOCHASTIC": 1},
}


# BFC-01 to BFC-09, BFC-32, BFC-35, BFC-38, BFC-40, BFC-47
@pytest.mark.parametrize("variant", PIPELINES)
def test_headers_of_a_bfc_pipeline(variant: str, tmp_path: Path) -> None:
    parameters = {**SMALL, **PIPELINES[variant]}
    simulate("bfc_ingress_pipeline", "pipeline", tmp_path, parameters)


# BFC-02, BFC-09, BFC-10, BFC-12, BFC-30, BFC-31
@pytest.mark.parametrize("queues", [4, 5])
def test_queues_of_a_bfc_port(queues: int, tmp_path: Path) -> None:
    parameters = {"QUEUES": queues, "QUEUE": 3, "NAMED": 4, "COUNT": 3, "PIPELINES": 2}
    parameters |= {"QUANTUM": 600, "SIZE": 12, "BYTES": 20}
    simulate("bfc_egress_port", "egress", tmp_path, parameters)


# BFC-05, BFC-06, BFC-14, BFC-30
def test_frames_of_a_bfc_pipeline(tmp_path: Path) -> None:
    parameters = {"PORTS": 3, "PORT": 2, "UPSTREAM": 5, "QUEUE": 3, "DEPTH": 2}
    simulate("bfc_pause_generator", "frames", tmp_path, parameters)


# Fig. 6 of the paper; host g1 sends to r1, and g2 and g3 compete for the link to r2 (Fig. 7).
FIGURE = """\
name = "figure"
run = { until = "100ms" }

[topology]
kind = "links"
hosts = ["g1", "g2", "g3", "r1", "r2"]
switches = ["s1", "s2", "s3"]
links = [
    { a = "g1", b = "s1", rate = "100Gbps", delay = "1us" },
    { a = "g2", b = "s1", rate = "100Gbps", delay = "1us" },
    { a = "g3", b = "s3", rate = "100Gbps", delay = "1us" },
    { a = "s1", b = "s2", rate = "100Gbps", delay = "1us" },
    { a = "s3", b = "s2", rate = "100Gbps", delay = "1us" },
    { a = "s2", b = "r1", rate = "40Gbps", delay = "1us" },
    { a = "s2", b = "r2", rate = "100Gbps", delay = "1us" },
]

[[traffic]]
name = "groups"
pattern = "list"
flows = [
    { src = 0, dst = 3, bytes = "1GB" },
    { src = 1, dst = 4, bytes = "1GB" },
    { src = 2, dst = 4, bytes = "1GB" },
]

[scheme]
parameters = "bfc-paper"
"""

INCAST = """\
name = "incast"
topology = { kind = "star", hosts = 12, link = { rate = "100Gbps", delay = "1us" } }
run = { until = "100ms" }

[[traffic]]
name = "incast"
pattern = "incast"
degree = 30
with_replacement = true
total = "200KB"
every = "60us"
window = ["0us", "100ms"]

[[traffic]]
name = "background"
pattern = "uniform"
sizes = "google-allrpc@bfc"
load = { fraction = 0.4, of = "hosts" }
window = ["0us", "100ms"]

[scheme]
parameters = "bfc-paper"
"""

SMALL_TABLE = ["scheme.dynamic.table=20", "scheme.nic.queues=64"]
PIPELINED = ["scheme.queues=5", "scheme.dynamic.pipelines=4", "scheme.dynamic.bitmap=1us"]
BITMAPS = ["scheme.bfc.tell=edges+bitmap", "scheme.bfc.bitmap=10us"]

# The scenario, the switch, and changes to the scheme.
TRACES = {
    "figure-7": (FIGURE, 1, ["scheme.queues=16", *SMALL_TABLE]),
    "figure-7-upstream": (FIGURE, 0, ["scheme.queues=16", *SMALL_TABLE]),
    "figure-7-bitmaps": (FIGURE, 0, ["scheme.queues=16", *SMALL_TABLE, *BITMAPS]),
    # Pause frames are lost, and the next bitmap repairs it.
    "figure-7-lossy": (FIGURE, 0, ["scheme.queues=16", *SMALL_TABLE, *BITMAPS]),
    "incast": (INCAST, 0, ["scheme.queues=9", *SMALL_TABLE]),
    "incast-stochastic": (
        INCAST,
        0,
        ["scheme.queues=9", *SMALL_TABLE, "scheme.dynamic.assign=hash"],
    ),
    "incast-pipelines": (INCAST, 0, [*PIPELINED, *SMALL_TABLE, *BITMAPS]),
}


# BFC-01 to BFC-10, BFC-12, BFC-30, BFC-31, BFC-38, BFC-47
@pytest.mark.parametrize("name", TRACES)
def test_bfc_switch_against_the_dataplane(name: str, tmp_path: Path) -> None:
    text, switch, changes = TRACES[name]
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(text, encoding="utf-8")
    is_lossy = name == "figure-7-lossy"
    kind = "bfc-lossy" if is_lossy else "bfc"
    path = write_trace(tmp_path, f"{kind}:{switch}", scenario, "bfc", changes)
    trace = read(path)
    assert bool(trace.all("lost")) == is_lossy, "the link loses pause frames"
    assert any(numbers[-1] for numbers in trace.all("enqueue")), "the scenario pauses"
    assert any(numbers[-1] for numbers in trace.all("dequeue")), "and resumes"
    config = trace.config
    parameters = {
        **{name.upper(): config[name] for name in ("ports", "pipelines", "queues", "per_port")},
        **{"QUANTUM": config["quantum"], "SAMPLED_MAP": int(config["map_ps"] > 0)},
        **{"STOCHASTIC": config["stochastic"]},
        **{"PORT": 4, "INGRESS": 4, "QUEUE": 4, "COUNT": 5, "INDEX": 12},
        **{"UPSTREAM": 80, "NAMED": 7, "KEY": 11, "TIME": 48, "BYTES": 26},
    }
    environment = {"HARDWARE_TRACE": str(path)}
    simulate("bfc_switch", "switch_trace", tmp_path, parameters, environment)
