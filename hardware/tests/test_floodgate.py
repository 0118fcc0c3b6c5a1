"""Simulates the circuits of Floodgate: against their models, and against the dataplane."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import simulator
from simulator import write_trace
from traces import read

simulate = partial(simulator.simulate, module="floodgate_circuits")

# Few destinations and VOQs: VOQs are shared, and all lists wrap around.
SMALL = {
    **{"DESTINATIONS": 12, "DST": 4, "VOQS": 5, "SPLIT": 2, "VOQ": 3, "UNITS": 14},
    **{"PACKETS": 12, "BYTES": 20, "SIZE": 11},
}

PIPELINES = {
    "packets": {},
    "bytes-one-group": {"IN_BYTES": 1, "SPLIT": 0},
    "vup": {"WITH_VUP": 1},
    # The list of drained VOQs wraps around.
    "vup-few": {"WITH_VUP": 1, "DESTINATIONS": 3, "DST": 2},
    # The number of VOQs needs a bit more than a VOQ.
    "four-voqs": {"VOQS": 4, "VOQ": 2, "SPLIT": 0},
    "hashed": {"HASHED": 3},
    "hashed-one-way": {"HASHED": 3, "BOTH_WAYS": 0},
}


# FG-01, FG-03 to FG-06, FG-10, FG-11, FG-13, FG-14, FG-61
@pytest.mark.parametrize("variant", PIPELINES)
def test_operations_of_a_floodgate_pipeline(variant: str, tmp_path: Path) -> None:
    parameters = {**SMALL, **PIPELINES[variant]}
    simulate("fg_ingress_pipeline", "pipeline", tmp_path, parameters)


# FG-06, FG-11, BFC-47
@pytest.mark.parametrize("width", [10, 32])
def test_hash_of_a_word(width: int, tmp_path: Path) -> None:
    parameters = {"WIDTH": width, "INDEX": 20}
    simulate("hashed_number", "hash_of_words", tmp_path, parameters)


# FG-20, FG-23, FG-25, FG-26, FG-60
def test_credits_of_floodgate(tmp_path: Path) -> None:
    parameters = {"PORTS": 3, "PORT": 2, "DESTINATIONS": 5, "DST": 3, "PLACE": 4, "UNITS": 16}
    parameters |= {"BYTES": 12, "TICKS": 3, "MOST": 2}
    simulate("fg_emitting_counters", "emitter", tmp_path, parameters)


# The testbed of 5.2 and Fig. 6: four hosts send to one, and the others send flows by chance.
TESTBED = """\
name = "testbed"
run = { until = "100ms" }

[topology]
kind = "links"
hosts = ["a0", "a1", "b0", "b1", "c0", "c1"]
switches = ["ta", "tb", "tc", "core"]
links = [
    { a = "a0", b = "ta", rate = "10Gbps", delay = "1us" },
    { a = "a1", b = "ta", rate = "10Gbps", delay = "1us" },
    { a = "b0", b = "tb", rate = "10Gbps", delay = "1us" },
    { a = "b1", b = "tb", rate = "10Gbps", delay = "1us" },
    { a = "c0", b = "tc", rate = "10Gbps", delay = "1us" },
    { a = "c1", b = "tc", rate = "10Gbps", delay = "1us" },
    { a = "ta", b = "core", rate = "20Gbps", delay = "1us" },
    { a = "tb", b = "core", rate = "20Gbps", delay = "1us" },
    { a = "tc", b = "core", rate = "20Gbps", delay = "1us" },
]

[[traffic]]
name = "incast"
pattern = "between"
senders = { first = 0, count = 4 }
receivers = [5]
together = true
size = "45KB"
every = "300us"
window = ["0us", "100ms"]

[[traffic]]
name = "others"
pattern = "uniform"
sizes = "web-search@abm"
load = { fraction = 0.5, of = "hosts" }
window = ["0us", "100ms"]

[scheme]
parameters = "floodgate-paper"
"""

FAT_TREE = """\
name = "fat-tree"
topology = { kind = "fat-tree", k = 4, link = { rate = "100Gbps", delay = "1us" } }
run = { until = "100ms" }

[[traffic]]
name = "incast"
pattern = "incast"
degree = 10
total = "400KB"
every = "30us"
window = ["0us", "100ms"]

[[traffic]]
name = "others"
pattern = "uniform"
sizes = "web-search@abm"
load = { fraction = 0.5, of = "hosts" }
window = ["0us", "100ms"]

[scheme]
parameters = "floodgate-paper"
"""

CIRCUIT = ["scheme.floodgate.loss=off", "scheme.floodgate.generator=1us"]
SMALL_WINDOW = ["scheme.floodgate.window=6KB", "scheme.floodgate.interval=5us"]

# The scenario, the switch, whether it forwards up and down, and changes to the scheme.
TRACES = {
    "figure-6": (TESTBED, 0, False, ["scheme.floodgate.window=25KB"]),
    "figure-6-core": (TESTBED, 3, False, ["scheme.floodgate.window=25KB"]),
    "groups": (FAT_TREE, 8, True, [*SMALL_WINDOW, "scheme.floodgate.voqs=6"]),
    "vup": (FAT_TREE, 8, True, [*SMALL_WINDOW, "scheme.floodgate.vup=2us"]),
    "hashed": (FAT_TREE, 8, True, [*SMALL_WINDOW, "scheme.floodgate.table=5"]),
    "delayed": (FAT_TREE, 8, True, [*SMALL_WINDOW, "scheme.floodgate.delay_credit=8KB"]),
}


# FG-01 to FG-06, FG-10, FG-11, FG-13, FG-14, FG-20, FG-21, FG-23, FG-26, FG-60, FG-61
@pytest.mark.parametrize("name", TRACES)
def test_floodgate_switch_against_the_dataplane(name: str, tmp_path: Path) -> None:
    text, switch, has_groups, changes = TRACES[name]
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(text, encoding="utf-8")
    values = [*CIRCUIT, *changes]
    path = write_trace(tmp_path, f"floodgate:{switch}", scenario, "dcqcn+floodgate", values)
    trace = read(path)
    config = trace.config
    assert any(numbers[-1] for numbers in trace.all("packet")), "the scenario fills VOQs"
    assert trace.all("released"), "and empties them"
    assert trace.all("sent"), "and credits leave"
    ticks, rest = divmod(config["interval_ps"], config["generator_ps"])
    parameters = {
        **{name.upper(): config[name] for name in ("ports", "destinations", "voqs")},
        **{"SPLIT": config["voqs"] // 2 if has_groups else 0, "TICKS": ticks + (rest > 0)},
        **{"PORT": 3, "DST": 6, "PLACE": 9, "WITH_VUP": int(config["vup_ps"] > 0)},
        **{"HASHED": config["hashed"]},
    }
    environment = {"HARDWARE_TRACE": str(path)}
    simulate("fg_switch", "switch_trace", tmp_path, parameters, environment)
