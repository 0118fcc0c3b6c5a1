"""The backpressure graph and the resource report, as a user sees them."""

import json
from pathlib import Path

import polars
import pytest

RING = """\
name = "ring"
[topology]
kind = "links"
hosts = 5
switches = 5
links = [
"""
TRAFFIC = """\
]
[[traffic]]
name = "all"
pattern = "all-to-all"
size = "100KB"
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five switches in a ring, a host at each."""
    pairs = [(f"h{i}", f"s{i}") for i in range(5)] + [
        (f"s{i}", f"s{(i + 1) % 5}") for i in range(5)
    ]
    links = [f'{{ a = "{a}", b = "{b}", rate = "100Gbps", delay = "1us" }},\n' for a, b in pairs]
    path = tmp_path_factory.mktemp("ring") / "ring.toml"
    path.write_text(RING + "".join(links) + TRAFFIC, encoding="utf-8")
    return path


# BFC-50, BFC-52
def test_a_leaf_spine_has_no_circle(command, tiny):
    done = command("graph", tiny)
    assert "no cycle" in done.stdout
    assert "16 egress ports" in done.stdout  # 2 leaves of 4 + 2, 2 spines of 2


# BFC-51
def test_a_ring_shows_its_circles_and_the_pairs_left_out(command, ring):
    done = command("graph", ring)
    assert "2 set(s)" in done.stdout
    assert "s0->s1" in done.stdout
    assert "2 pair(s)" in done.stdout
    assert "BFC leaves them out" in done.stdout
    off = command("graph", ring, "--set", "scheme.bfc.elide=off")
    assert "it can deadlock" in off.stdout


def test_the_graph_in_the_language_of_graphviz(command, ring):
    found = json.loads(command("graph", ring, "--json").stdout)
    dot = command("graph", ring, "--dot").stdout
    assert dot.startswith("digraph")
    assert dot.count(" -> ") == found["edges"] == len(found["edge_list"])
    assert dot.count("dashed") == 2
    # Five ports in each direction, each held by the next.
    assert dot.count("[color=red];") == 10 + 8


SYSTEMS = {"bfc", "floodgate", "spfc", "hpcc"}
ONE_SWITCH = """
name = "s"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }
[[workload]]
name = "w"
collective = "all-reduce"
size = "1MB"
"""


@pytest.mark.parametrize(
    "scheme",
    ["bfc", "dcqcn", "dcqcn+floodgate", "timely+spfc", "hpcc", "swift", "ndp", "line-rate"],
)
@pytest.mark.parametrize("name", ["traffic", "workload"])
def test_every_scenario_has_the_state_of_all_systems(command, tiny, tmp_path, scheme, name):
    path = tiny
    if name == "workload":
        path = tmp_path / "s.toml"
        path.write_text(ONE_SWITCH, encoding="utf-8")
    done = command("resources", path, "--scheme", scheme, "--json")
    systems = json.loads(done.stdout)["systems"]
    assert systems.keys() == SYSTEMS
    for found in systems.values():
        assert "problem" not in found
        for switch in found["switches"]:
            # Floodgate has no windows for the hosts of a single switch, but VOQs.
            assert switch["counters"] + switch["registers"] > 0
            assert switch["bits"] >= switch["counters"] + switch["registers"]
            assert switch["bits_per_port"] == switch["bits"] / switch["ports"]
    command("resources", path, "--scheme", scheme)


# BFC-54, FG-64, SPFC-45, HPCC-40
def test_the_state_of_a_port(command, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(ONE_SWITCH, encoding="utf-8")
    words = ("resources", path, "--destinations", 1000, "--json")
    systems = json.loads(command(*words).stdout)["systems"]
    assert {name: found["scheme"] for name, found in systems.items()} == {
        "bfc": None,
        "floodgate": "dcqcn+floodgate",
        "spfc": "dcqcn+spfc",
        "hpcc": "hpcc",
    }

    def per_port(system: str) -> tuple[float, float, float]:
        [switch] = systems[system]["switches"]
        assert (switch["ports"], switch["count"]) == (4, 1)
        return tuple(switch[f"{what}_per_port"] for what in ("counters", "registers", "bits"))

    # 20 bits of txBytes in units of 128 bytes, and 7 bits below one unit.
    assert per_port("hpcc") == (1, 0, 27)
    nic = systems["hpcc"]["nic"]
    assert (nic["epsilon"], nic["entries"], nic["flows"]) == (0.01, 1117, 50)
    assert "1,117 reciprocals for an error of 1.0%, 10.4 KB" in command(*words[:-1]).stdout
    # 100 entries for each of 32 queues: packets; queue and time. A pause counter for each queue of
    # the neighbour, here a NIC with 1024.
    assert per_port("bfc") == (3200 + 1024, 2 * 3200, 3200 * (8 + 16 + 16) + 1024 * 16)
    assert per_port("spfc")[:2] == (1, 3)
    # In 17 us 212,500 bytes leave at 100 Gbps; a fifth are 41 packets, which 6 bits can count.
    own = ("--scheme", "dcqcn+spfc", "--set", "scheme.spfc.interval=17us")
    [switch] = json.loads(command(*words, *own).stdout)["systems"]["spfc"]["switches"]
    assert switch["bits_per_port"] == 16 + 6 + 1 + 1
    # A key of one system does not keep the others from being counted.
    of_bfc = ("--scheme", "bfc", "--set", "scheme.bfc.threshold=2")
    changed = json.loads(command(*words, *of_bfc).stdout)["systems"]
    assert not any("problem" in found for found in changed.values())
    [switch] = systems["floodgate"]["switches"]
    # 996 far destinations: a window, a VOQ (a flag and 7 bits), packets and bytes there. 100 VOQs:
    # a number of destinations (11 bits) and a bit of the scheduler.
    assert switch["counters"] == 3 * 996 + 100
    assert switch["registers"] == 996
    assert switch["bits"] == 996 * (32 + 1 + 7 + 16 + 24) + 100 * (11 + 1)


def test_a_workload_has_full_packets_unless_told(command, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(ONE_SWITCH, encoding="utf-8")
    full = json.loads(command("resources", path, "--json").stdout)
    assert (full["packet_bytes"], full["of_traffic"]) == (1048, False)
    assert "full ones" in command("resources", path).stdout
    small = json.loads(command("resources", path, "--packet", 500, "--json").stdout)
    assert small["packet_bytes"] == 500
    command("resources", path, "--packet", "nan", code=2)


# BFC-16, BFC-53
def test_the_costs_of_a_switch_are_those_of_the_paper(command, tiny):
    cost = json.loads(command("resources", tiny, "--packet", 500, "--json").stdout)
    leaf = cost["switches"][0]
    assert leaf["table_entries"] == 100 * 32 * 6
    assert leaf["table_bytes"] == 5 * leaf["table_entries"]
    assert leaf["thresholds"] == [{"rate_bps": 100_000_000_000, "bytes": 25_000}]
    assert (leaf["hrtt_ps"], leaf["sticky_ps"]) == (2_000_000, 4_000_000)
    # 64 of 500 bytes are a little above the limit, half of them below.
    assert leaf["recirculated_share"] == pytest.approx(0.128)
    assert not leaf["fits"]
    half = command("resources", tiny, "--packet", 500, "--set", "scheme.bfc.sampling=0.5")
    assert "6.4% of the capacity" in half.stdout
    assert ": fits" in half.stdout


# BFCC-04, BFCC-05, BFCC-08
def test_both_take_a_profile(command, tiny):
    words = ("--profile", "nsdi22-code", "--json")
    leaf = json.loads(command("resources", tiny, "--packet", 500, *words).stdout)["switches"][0]
    assert leaf["table_entries"] == 7200 * 6
    assert leaf["sticky_ps"] == 6_000_000
    assert leaf["thresholds"] == [{"rate_bps": 100_000_000_000, "bytes": 37_500}]
    assert json.loads(command("graph", tiny, *words).stdout)["nodes"] == 16
    wrong = command("graph", tiny, "--profile", "ns4", code=2)
    assert "ns4" in wrong.stderr


# BFC-53
def test_packets_are_those_of_the_traffic(command, ring):
    # 100 KB are a hundred full packets.
    cost = json.loads(command("resources", ring, "--json").stdout)
    assert cost["packet_bytes"] == pytest.approx(1048)
    assert cost["short_share"] == 0


# FG-62
def test_what_floodgate_takes_of_each_kind_of_switch(command, tiny):
    words = ("resources", tiny, "--scheme", "dcqcn+floodgate", "--destinations", 100_000)
    cost = json.loads(command(*words, "--json").stdout)["floodgate"]
    assert cost["destinations"] == 100_000
    leaf = cost["switches"][0]
    assert leaf["windows"] == 100_000 - leaf["host_ports"]
    assert leaf["window_bytes"] == 4 * leaf["windows"]
    parts = ("window_bytes", "voq_bytes", "credit_bytes", "number_bytes", "pause_bytes")
    assert leaf["bytes"] == sum(leaf[part] for part in parts)
    text = command(*words).stdout
    assert "for 100,000 destinations" in text
    assert f"VOQs            100, {leaf['voq_bytes'] // 1000} KB" in text
    plain = json.loads(command("resources", tiny, "--packet", 500, "--json").stdout)
    assert plain["floodgate"] is None


# FG-63, FG-70
def test_a_run_counts_what_floodgate_did_and_what_it_took(command, tiny, tmp_path):
    out = tmp_path / "out"
    command("run", tiny, "--scheme", "dcqcn+floodgate-ideal", "-o", out)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    counters = summary["counters"]
    assert "credits" in summary["checks"]
    assert counters["floodgate_credit_frames"] > 0
    ports = polars.read_parquet(out / "ports.parquet")
    assert ports["tx_credit_bytes"].sum() == counters["floodgate_credit_bytes"]
    assert ports["tx_reply_bytes"].sum() > 0
    assert (ports["max_port_bytes"] >= ports["max_queue_bytes"]).all()
