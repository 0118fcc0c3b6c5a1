"""Inputs of ns-3 read, and what is wrong with them said."""

import csv
import gzip
import io
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from backwater.errors import ScenarioError
from backwater.importers.common.source import Findings, Words, rate_bps, read_bytes, time_ps
from backwater.importers.ns3 import topology as ns3_topology
from backwater.importers.ns3.dialects import FOREIGN
from backwater.importers.ns3.scenario import MARK, Imported, import_ns3, scenario_name, write
from backwater.importers.ns3.topology import Dialect
from tools import simulated

CONFIG = """\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
SIMULATOR_STOP_TIME 2.11
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.20
BUFFER_SIZE 12
QLEN_MON_START 2000000000
QLEN_MON_END 2000010000
"""

TOPOLOGY = """\
5 2 4
3 4
0 3 100Gbps 1000ns 0.000000
1 3 100Gbps 0.001ms 0
3 4 100Gbps 2us 0
2 4 25Gbps 1us 0
"""

FLOWS = """\
3
0 2 3 100 500000 2.000000686
1 2 3 200 1000 2.0000010005
0 2 3 100 1 2.000002
"""


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Path]:
    """Write ns-3's files and return the configuration."""

    def make(config: str = CONFIG, topology: str = TOPOLOGY, flows: str = FLOWS) -> Path:
        for name, text in (("config", config), ("topology", topology), ("flow", flows)):
            (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        return tmp_path / "config.txt"

    return make


def imported(config: Path) -> Imported:
    return import_ns3(config, "x", "x.flows.csv")


def changed(text: str, **keys: str) -> str:
    lines = []
    for line in text.splitlines():
        key = line.split(" ")[0]
        value = keys.pop(key, None)
        lines.append(line if value is None else f"{key} {value}".rstrip() if value else "")
    return "\n".join(lines + [f"{k} {v}" for k, v in keys.items()]) + "\n"


# --- What becomes what -----------------------------------------------------------------------


def test_network_flows_and_times(case):
    result = imported(case())
    assert result.warnings == []
    assert result.scenario.startswith(MARK)
    scenario = tomllib.loads(result.scenario)
    topology = scenario["topology"]
    assert (topology["kind"], topology["hosts"]) == ("links", ["0", "1", "2"])
    assert topology["switches"] == ["3", "4"]
    assert [(k["a"], k["b"], k["rate"], k["delay"]) for k in topology["links"]] == [
        ("0", "3", "100Gbps", "1us"),
        ("1", "3", "100Gbps", "1us"),
        ("3", "4", "100Gbps", "2us"),
        ("2", "4", "25Gbps", "1us"),
    ]
    assert scenario["switch"] == {"buffer": "12MiB"}
    assert scenario["run"] == {"epoch": "2s", "until": "110ms"}
    histogram = scenario["record"]["histogram"]
    # From 2 s to 2.00001 s, both sampled.
    assert histogram == {"every": "100ns", "bin": "1KB", "window": ["0s", "10100ns"]}
    flows = list(csv.DictReader(io.StringIO(result.flows)))
    assert [(f["src"], f["dst"], f["bytes"], f["start"], f["port"]) for f in flows] == [
        ("0", "2", "500000", "686ns", "100"),
        ("1", "2", "1000", "1000500ps", "200"),
        ("0", "2", "1", "2us", "100"),
    ]


def scheme(case: Callable[..., Path], **keys: str) -> dict[str, Any]:
    return tomllib.loads(imported(case(changed(CONFIG, **keys))).scenario)["scheme"]


WINDOW = {"HAS_WIN": "1", "VAR_WIN": "1"}


def test_dcqcn(case):
    got = scheme(case)
    assert got["preset"] == "dcqcn"
    assert (got["mtu"], got["recovery"], "base_rtt" in got) == ("1000B", "go-back-n", False)
    times = {"alpha_timer": "1us", "decrease_interval": "4us", "increase_timer": "300us"}
    rates = {"ai": "20Mbps", "hai": "200Mbps", "min_rate": "1Gbps"}
    others = {"g": 0.00390625, "fast_recovery": 1, "clamp_target": False}
    assert got["dcqcn"] == times | rates | others
    assert got["ecn"]["profiles"] == [
        {"rate": "25Gbps", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2},
        {"rate": "100Gbps", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.2},
    ]
    assert scheme(case, **WINDOW)["preset"] == "dcqcn+win"
    fixed = scheme(case, HAS_WIN="1", VAR_WIN="0")
    assert (fixed["preset"], fixed["dcqcn"]["window"]) == ("dcqcn+win", "bdp")
    assert scheme(case, GLOBAL_T="0")["base_rtt"] == "ns3-pair"
    assert scheme(case, ACK_HIGH_PRIO="1")["ack"] == {"pausable": False}
    assert got["ack"] == {"pausable": True}
    assert scheme(case, ALPHA_RESUME_INTERVAL="0.5")["dcqcn"]["alpha_timer"] == "500ns"


def test_hpcc(case):
    got = scheme(case, CC_MODE="3", **WINDOW, RATE_AI="50Mb/s")
    assert got["preset"] == "hpcc"
    hpcc = got["hpcc"]
    assert (hpcc["eta"], hpcc["max_stage"], hpcc["reaction"]) == (0.95, 0, "combined")
    assert (hpcc["min_rate"], hpcc["wai"]) == ("1Gbps", "50Mbps")
    assert got["int"] == {"format": "wire", "multiplier": 4}
    assert "ecn" not in got
    slow = scheme(case, CC_MODE="3", **WINDOW, FAST_REACT="0")
    assert slow["hpcc"]["reaction"] == "per-rtt"
    sampled = scheme(case, CC_MODE="3", **WINDOW, SAMPLE_FEEDBACK="1")
    assert sampled["hpcc"] == {**hpcc, "sample_feedback": True, "wai": "20Mbps"}


def test_timely_and_dctcp(case):
    got = scheme(case, CC_MODE="7")
    assert got["preset"] == "timely"
    assert got["timely"] == {"ai": "20Mbps", "hai": "200Mbps", "min_rate": "1Gbps"}
    assert scheme(case, CC_MODE="7", **WINDOW)["preset"] == "timely+win"
    got = scheme(case, CC_MODE="8", **WINDOW, EWMA_GAIN="0.0625")
    assert got["preset"] == "dctcp"
    assert got["dctcp"] == {"g": 0.0625, "ai": "615Mbps", "min_rate": "1Gbps"}
    assert len(got["ecn"]["profiles"]) == 2
    assert scheme(case, CC_MODE="8")["dctcp"]["window"] is False


def test_hosts_keep_their_numbers(case):
    topology = "4 2 3\n0 1\n2 0 10Gbps 1us 0\n0 1 10Gbps 1us 0\n1 3 10Gbps 1us 0\n"
    maps = {
        f"{key}_MAP": f"1 10000000000 {v}" for key, v in (("KMAX", 9), ("KMIN", 9), ("PMAX", 1))
    }
    result = imported(case(changed(CONFIG, **maps), topology, "1\n3 2 3 100 5 0.0125\n"))
    scenario = tomllib.loads(result.scenario)
    assert scenario["topology"]["hosts"] == ["2", "3"]
    assert scenario["run"]["epoch"] == "12ms"
    assert result.flows.splitlines()[1] == "1,0,5,500us,100"


def test_loss_on_links(case):
    lossy = TOPOLOGY.replace("0.001ms 0\n", "0.001ms 1e-3\n")
    result = imported(case(topology=lossy))
    links = tomllib.loads(result.scenario)["topology"]["links"]
    assert [link.get("loss") for link in links] == [None, 0.001, None, None]
    assert "get lost" in result.warnings[0]["message"]
    everywhere = imported(case(changed(CONFIG, ERROR_RATE_PER_LINK="0.01"), lossy))
    links = tomllib.loads(everywhere.scenario)["topology"]["links"]
    assert [link.get("loss") for link in links] == [0.01, 0.001, 0.01, 0.01]


def test_own_defaults_of_ns3_are_told(case):
    result = imported(case(changed(CONFIG, MIN_RATE="", BUFFER_SIZE="")))
    assert tomllib.loads(result.scenario)["switch"]["buffer"] == "16MiB"
    (warning,) = result.warnings
    assert "MIN_RATE = 100000000, BUFFER_SIZE = 16" in warning["message"]


def test_files_are_found_from_where_ns3_is_started(tmp_path, monkeypatch):
    mix = tmp_path / "simulation" / "mix"
    mix.mkdir(parents=True)
    (mix / "topology.txt").write_text(TOPOLOGY, encoding="utf-8")
    (mix / "flow.txt").write_text(FLOWS, encoding="utf-8")
    text = changed(CONFIG, TOPOLOGY_FILE="mix/topology.txt", FLOW_FILE="mix/flow.txt")
    (mix / "config.txt").write_text(text, encoding="utf-8")
    assert len(imported(mix / "config.txt").flows.splitlines()) == 4
    monkeypatch.chdir(mix.parent)
    assert len(imported(Path("mix/config.txt")).flows.splitlines()) == 4


def test_an_imported_scenario_is_not_written_over_another(case, tmp_path, command):
    config, out = case(), tmp_path / "mine.toml"
    out.write_text('name = "mine"\n', encoding="utf-8")
    done = command("import", "ns3", config, "-o", out, code=1)
    assert "use --force" in done.stderr
    assert out.read_text(encoding="utf-8") == 'name = "mine"\n'
    command("import", "ns3", config, "-o", out, "--force")
    command("import", "ns3", config, "-o", out)
    assert sorted(p.name for p in tmp_path.glob("mine*")) == ["mine.flows.csv", "mine.toml"]


def test_words_of_ns3():
    rates = {"50Mb/s": 50_000_000, "2.5Gbps": 2_500_000_000, "1000": 1000, "1MB/s": 8_000_000}
    assert {word: rate_bps(word) for word in rates} == rates
    assert rate_bps("8Kib/s") == 8192
    times = {"1000ns": 10**6, "0.001ms": 10**6, "2us": 2 * 10**6, "1": 10**12}
    assert {word: time_ps(word) for word in times} == times
    for nonsense in ("", "Gbps", "1Gb", "-1Gbps", "1e9999Gbps", "٣Gbps", "nan", "1_0Gbps"):
        assert rate_bps(nonsense) is None
        assert time_ps(nonsense) is None
    assert scenario_name("a b/ü") == "a-b"
    assert scenario_name("..") == "imported"


def test_everything_that_is_wrong_is_told_at_once(case):
    keys = {"L2_ACK_INTERVAL": "", "RATE_AI": "", "EWMA_GAIN": "much", "KMIN_MAP": "0"}
    config = case(changed(CONFIG, **keys, MIN_RATE="1Gbpz", L2_ACK_INTERVALL="1"))
    with pytest.raises(ScenarioError) as caught:
        imported(config)
    told = [(problem["severity"], problem["message"]) for problem in caught.value.problems]
    words = ("`much`", "`1Gbpz`", "L2_ACK_INTERVAL is", "RATE_AI", "KMIN_MAP", "KMIN_MAP")
    for (severity, message), word in zip(told, (*words, "L2_ACK_INTERVALL"), strict=True):
        assert word in message
        assert severity == ("warning" if word == "L2_ACK_INTERVALL" else "error")
    hints = "".join(problem["hint"] or "" for problem in caught.value.problems)
    assert "write `L2_ACK_INTERVAL 1`" in hints
    assert "did you mean L2_ACK_INTERVAL?" in hints


def test_wrong_keys_are_told_beside_files_that_are_missing(case):
    with pytest.raises(ScenarioError) as caught:
        imported(case(changed(CONFIG, TOPOLOGY_FILE="", FLOW_FILE="none.txt", LINK_DOWN="1 2 3")))
    told = "\n".join(problem["message"] for problem in caught.value.problems)
    assert len(caught.value.problems) == 3
    assert all(key in told for key in ("TOPOLOGY_FILE", "none.txt", "links that fail"))


# --- Dialects --------------------------------------------------------------------------------


def topology_of(text: str) -> tuple[ns3_topology.Topology, list[dict[str, Any]]]:
    findings = Findings()
    result = ns3_topology.parse(Words("t.txt", text, findings))
    findings.stop_if_wrong()
    return result, findings.warnings()


def test_simai_topology():
    text = "5 2 1 1 4 A100\n3 4\n0 3 2400Gbps 0.000025ms 0\n1 3 2400Gbps 0.000025ms 0\n"
    topology, warnings = topology_of(text + "3 4 100Gbps 0.0005ms 0\n2 4 100Gbps 0.0005ms 0\n")
    assert (topology.dialect, topology.switches) == (Dialect.SIMAI, (3, 4))
    assert (topology.links[0].rate_bps, topology.links[0].delay_ps) == (2400 * 10**9, 25_000)
    assert "NVSwitches" in warnings[0]["message"]


def test_floodgate_configuration(case):
    extra = "USE_FLOODGATE 0\nSWITCH_WIN_M 1.5\nFLOW_FROM_FILE 1\n"
    (warning,) = imported(case(CONFIG + extra)).warnings
    assert warning["message"].endswith(": SWITCH_WIN_M")
    with pytest.raises(ScenarioError, match="Floodgate is not"):
        imported(case(CONFIG + extra.replace("GATE 0", "GATE 1")))
    with pytest.raises(ScenarioError, match="draws its flows itself"):
        imported(case(CONFIG + extra.replace("FILE 1", "FILE 0")))


NEUTRAL = {
    *(("ENABLE_IRN", "0"), ("ENABLE_PFC", "1"), ("ENABLE_PFC", "7"), ("FLOW_FROM_FILE", "1")),
    *(("LB_MODE", "0"), ("QP_MODE", "0"), ("ROUTING_MODE", "0"), ("RTO_us", "0")),
    *(("SRCTOR_DST_PFC", "0"), ("SYMMETRIC_ROUTING_MODE", "0"), ("USE_FLOODGATE", "0")),
}
"""Values with which a fork does what HPCC's simulator does."""


@pytest.mark.parametrize("key", sorted(FOREIGN))
@pytest.mark.parametrize("value", ["0", "1", "7"])
def test_every_key_of_a_fork_is_applied_or_refused_or_named(case, key, value):
    """No value of a key that changes the physics disappears without a word."""
    plain = imported(case()).scenario
    scenario, problems = None, []
    try:
        result = imported(case(f"{CONFIG}{key} {value}\n"))
        scenario, problems = result.scenario, result.warnings
    except ScenarioError as error:
        problems = error.problems
    named = any(re.search(rf"\b{key}\b", p["message"]) for p in problems)
    assert named or scenario != plain or (key, value) in NEUTRAL


def test_losses_of_conweave(case):
    def scheme(extra: str, config: str = CONFIG) -> dict[str, Any]:
        scenario = tomllib.loads(imported(case(config + extra)).scenario)
        return {**scenario["scheme"], "until": scenario["run"].get("until")}

    assert "admission" not in scheme("ENABLE_PFC 1\nENABLE_IRN 0\nLB_MODE 0\n")
    lossy = scheme("ENABLE_PFC 0\nENABLE_IRN 0\n")
    assert (lossy["admission"], lossy["recovery"]) == ("egress-dynamic", "go-back-n")
    irn = scheme("ENABLE_PFC 0\nENABLE_IRN 1\n")
    assert (irn["admission"], irn["recovery"]) == ("egress-dynamic", "irn")
    assert irn["irn"] == {"rto_low": "100us", "rto_high": "320us"}
    assert scheme("ENABLE_IRN 1\n")["irn"] == {"rto_low": "1s", "rto_high": "1s"}
    # Its ACKs always go first, and it ends with the last flow.
    without = changed(CONFIG, SIMULATOR_STOP_TIME="", ACK_HIGH_PRIO="")
    found = scheme("ENABLE_PFC 1\n", without)
    assert (found["ack"], found["until"]) == ({"pausable": False}, None)
    with pytest.raises(ScenarioError, match="LB_MODE `9`"):
        imported(case(CONFIG + "LB_MODE 9\n"))


def test_irn_of_conweave_runs(case, command, tmp_path):
    config = case(CONFIG + "ENABLE_PFC 0\nENABLE_IRN 1\n")
    scenario = tmp_path / "s.toml"
    done = command("import", "ns3", config, "-o", scenario)
    assert "--profile ns3\n" not in done.stderr
    command("run", scenario, "-o", tmp_path / "run")


def test_every_unknown_key_is_named(case):
    extra = [f"NEW_KEY_{i} {i}" for i in range(20)]
    told = "\n".join(w["message"] for w in imported(case("\n".join([CONFIG, *extra]))).warnings)
    assert all(re.search(rf"\bNEW_KEY_{i}\b", told) for i in range(20))


def test_bfc_configurations_are_told(case):
    with pytest.raises(ScenarioError, match="BFC's simulator"):
        imported(case(CONFIG + "WORKLOAD W4\nUTILIZATION_FACTOR 0.65\n"))


POWERTCP = TOPOLOGY.replace("5 2 4", "5 2 2 4", 1)
TOPOLOGIES = {
    "HPCC": (TOPOLOGY, Dialect.HPCC),
    "PowerTCP": (POWERTCP, Dialect.POWERTCP),
    "PowerTCP's rates": (POWERTCP.replace("100Gbps", "100000000000.0"), Dialect.POWERTCP),
    "SimAI": (TOPOLOGY.replace("5 2 4", "5 8 0 2 4 A100", 1), Dialect.SIMAI),
    "Floodgate": (
        "5 2 2 2 0 4\n3 4\n0 3 100 1000\n1 3 100 1000\n3 4 100 2000\n2 4 25 1000\n",
        Dialect.FLOODGATE,
    ),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_network_is_the_same_in_all_dialects(name):
    text, dialect = TOPOLOGIES[name]
    topology, warnings = topology_of(text)
    assert (topology.dialect, warnings) == (dialect, [])
    hpcc, _ = topology_of(TOPOLOGY)
    assert (topology.hosts, topology.switches) == (hpcc.hosts, hpcc.switches)
    assert topology.links == hpcc.links


def test_the_command_line_of_powertcp_is_told(case):
    (warning,) = imported(case(topology=TOPOLOGIES["PowerTCP"][0])).warnings
    assert "CC_MODE" in warning["message"]
    assert "--scheme powertcp" in warning["hint"]


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("{n}", "{src} {dst} {group} {port} {bytes} {start}"),
        ("{n}", "{src} {dst} {group} {bytes} {start}"),
        ("{n} 0", "{src} {dst} {bytes} {start}"),
        ("{n} 1", "{src} {dst} {bytes} {start} 4 5"),
    ],
)
def test_flows_are_the_same_in_all_dialects(case, head, line):
    """Lists of HPCC's, ConWeave's and Floodgate's simulators, generated from the same flows."""
    flows = [(i % 2, 2, 1000 * (i + 1), f"2.00000{i}") for i in range(5)]
    lines = [
        line.format(src=src, dst=dst, group=3, port=100, bytes=size, start=start)
        for src, dst, size, start in flows
    ]
    result = imported(case(flows="\n".join([head.format(n=len(flows)), *lines]) + "\n"))
    rows = list(csv.reader(io.StringIO(result.flows)))[1:]
    assert rows == [
        [str(src), str(dst), str(size), f"{i}us" if i else "0s", "100"]
        for i, (src, dst, size, _) in enumerate(flows)
    ]
    assert any("queue pair" in w["message"] for w in result.warnings) == head.endswith(" 1")


# --- What ns-3 does silently -----------------------------------------------------------------

END, LAST = "QLEN_MON_END 2000010000\n", "2 4 25Gbps 1us 0\n"
SILENT = [
    ("config", {END: END + "RATE_HAL 3Mb/s\n"}, "41:1", "RATE_HAL", "RATE_HAI"),
    ("config", {END: END + "CC_MODE 1\n"}, "41:1", "said twice", ""),
    ("flow", {"3\n": "2\n"}, "4:1", "announces 2 flows", ""),
    ("flow", {"500000": "4294967296"}, "2:11", "sizes in 32 bits", ""),
    ("flow", {"2.000002": "2.000001"}, "4:13", "starts before", ""),
    ("flow", {"000686": "0006860001"}, "2:18", "finer than a picosecond", ""),
    ("topology", {LAST: LAST + "1 4 100Gbps 1us 0\n"}, "7:1", "after the 4 links", ""),
    ("topology", {"2us": "2.0005us"}, "5:13", "becomes 2000 ns", ""),
    ("config", {"THRESHOLD 1": "THRESHOLD 0"}, "2:1", "no effect in ns-3", ""),
    ("config", {"TIME 2.11": "TIME 2.000001"}, "6:1", "2.000002 s", ""),
    ("config", {"2 25000000000 400 1": "1 1", "MODE 1": "MODE 7"}, "35:1", "25000000000", ""),
]
"""A file, what is changed in it, and the place, message and hint of the warning."""

MAP = " 2 25000000000 100 100000000000 400"
WRONG = [
    ("flow", {"3\n": "4\n"}, "1:1", "announces 4 flows, but 3 follow"),
    ("flow", {"0 2": "9 2"}, "2:1", "node 9"),
    ("flow", {"0 2": "0 3"}, "2:3", "3 is a switch"),
    ("flow", {"0 2": "0 0"}, "2:3", "to itself"),
    ("flow", {"1000 ": "0 "}, "3:11", "0 bytes"),
    ("flow", {"500000": "5e5"}, "2:11", "`5e5`"),
    ("flow", {"2.000002": "-2"}, "4:13", "`-2`"),
    ("flow", {"1 2 3": "1 2 4"}, None, "priority groups 3, 4"),
    ("flow", {FLOWS: "1\n0 2 0 100 5 2\n"}, None, "priority group 0"),
    ("topology", {"5 2 4": "5 2 5"}, "6:17", "announces 5 links"),
    ("topology", {"3 4 100": "3 3 100"}, "5:3", "node 3 is linked to itself"),
    ("topology", {"25Gbps": "25Gigs"}, "6:5", "`25Gigs`"),
    ("topology", {"2us": "2u"}, "5:13", "`2u`"),
    ("topology", {"3 4\n": "3 3\n"}, "2:3", "switch 3 is named twice"),
    ("config", {"2 25000000000 0.2 1": "1 1"}, "37:1", "25000000000"),
    ("config", {"KMIN_MAP 2": "KMIN_MAP 3"}, "37:1", "KMIN_MAP"),
    ("config", {MAP: MAP.replace("100 ", "500 ")}, "36:1", "Kmin 500 KB is above Kmax 400 KB"),
    ("config", {"LINK_DOWN 0": "LINK_DOWN 100"}, "33:1", "not modelled"),
    ("config", {"CC_MODE 1": "CC_MODE 10"}, "7:1", "HPCC-PINT"),
    ("config", {"CC_MODE 1": "CC_MODE 2"}, "7:1", "unknown"),
    ("config", {"CC_MODE 1": "CC_MODE 8", "HAS_WIN 0": "HAS_WIN 1"}, "24:1", "follow the rate"),
    ("config", {"CC_MODE 1": "CC_MODE 3"}, "22:1", "without a window"),
    ("config", {"TO_ZERO 0": "TO_ZERO 1"}, "21:1", "start of a chunk"),
    ("config", {"L2_ACK_INTERVAL 1": "L2_ACK_INTERVAL 4000"}, "20:1", "fewer ACKs"),
    ("config", {"RATE_BOUND 1": "RATE_BOUND 0"}, "31:1", "not paced"),
    ("config", {"EWMA_GAIN 0.00390625": ""}, None, "EWMA_GAIN is missing"),
    ("config", {"ENABLE_QCN 1": "ENABLE_QCN 0"}, "1:1", "needs the marks"),
    ("config", {"STOP_TIME 2.11": "STOP_TIME 1"}, "6:1", "before the first flow"),
    ("config", {"flow.txt": "nowhere.txt"}, "5:1", "there is no file nowhere.txt"),
    ("config", {CONFIG: "CC_MODE 1\n"}, None, "TOPOLOGY_FILE is missing"),
    ("config", {END: END + "CC_MODE"}, "41:8", "CC_MODE"),
]
"""A file, what is changed in it, and the place and message of the error."""


def edited(file: str, edits: dict[str, str]) -> dict[str, str]:
    """Return a file of the case with some texts replaced, as an argument of `case`."""
    name, text = {
        "config": ("config", CONFIG),
        "topology": ("topology", TOPOLOGY),
        "flow": ("flows", FLOWS),
    }[file]
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new, 1)
    return {name: text}


def place(problem: dict[str, Any]) -> str:
    return f"{Path(problem['source']).stem} {problem['line']}:{problem['column']}"


@pytest.mark.parametrize(("file", "edits", "where", "message", "hint"), SILENT)
def test_silence_becomes_a_warning(case, file, edits, where, message, hint):
    (warning,) = imported(case(**edited(file, edits))).warnings
    assert message in warning["message"]
    assert hint in (warning["hint"] or "")
    assert place(warning) == f"{file} {where}"
    assert f"{file}.txt:{where}" in warning["text"]


@pytest.mark.parametrize(("file", "edits", "where", "message"), WRONG)
def test_wrong_input_is_told_with_its_place(case, file, edits, where, message):
    with pytest.raises(ScenarioError) as caught:
        imported(case(**edited(file, edits)))
    problem = caught.value.problems[0]
    assert message in problem["message"]
    if where is None:
        assert problem["source"] is None
    else:
        assert place(problem) == f"{file} {where}"


def test_several_links_between_two_nodes_are_all_used(case, tmp_path):
    # Three links of 25 Gbps between the switches, and flows of one host.
    topology = (
        TOPOLOGY.replace("5 2 4", "5 2 6").replace("3 4 100Gbps", "3 4 25Gbps")
        + "3 4 25Gbps 1us 0\n4 3 25Gbps 1us 0\n"
    )
    flows = "12\n" + "0 2 3 100 1000000 2\n" * 12
    config = case(topology=topology, flows=flows)
    read = imported(config)
    assert any("nodes 3 and 4 have 3 links" in w["text"] for w in read.warnings)
    write(config, tmp_path / "out.toml")
    run = simulated(tmp_path / "out.toml", out=tmp_path / "run")
    ports = run.table("ports").filter((pl.col("name") == "3") & (pl.col("peer_tier") != "host"))
    assert ports["peer_name"].cast(pl.String).to_list() == ["4#1", "4#2", "4#3"]
    # ECMP of twelve flows leaves none of three links empty, and no flow takes two of them.
    sent = ports["tx_bytes"].to_list()
    assert min(sent) > 1_000_000, sent
    assert run.summary["flows"]["unfinished"] == 0


@pytest.mark.parametrize("profile", [None, "ns3"])
def test_hosts_without_a_switch(profile, case, tmp_path):
    topology = "3 0 3\n\n0 1 25Gbps 0.005ms 0\n1 2 25Gbps 0.005ms 0\n2 0 25Gbps 0.005ms 0\n"
    flows = "2\n0 1 3 100 1000000 2\n2 1 3 100 1000 2\n"
    write(case(topology=topology, flows=flows), tmp_path / "out.toml")
    run = simulated(tmp_path / "out.toml", profile=profile, out=tmp_path / "run")
    assert run.summary["flows"]["unfinished"] == 0
    flows_of = run.table("flows").sort("bytes")
    # One packet of 1000 bytes and its header on one link, and its propagation.
    header = 48 if profile is None else 90
    assert flows_of["received_ps"][0] - flows_of["start_ps"][0] >= 1000 * 320 + 5_000_000
    assert flows_of["received_ps"][0] - flows_of["start_ps"][0] <= (1000 + header) * 320 + 5_000_000
    assert flows_of["slowdown"][1] < 1.1


def test_hosts_without_an_address(case):
    topology = "65538 1 2\n0\n1 0 100Gbps 1us 0\n65537 0 100Gbps 1us 0\n"
    with pytest.raises(ScenarioError, match="host 65536 has no address of its own"):
        imported(case(topology=topology, flows="1\n1 65537 3 100 5 2\n"))


def test_traced_nodes_are_looked_at(case, tmp_path):
    config = changed(CONFIG, ENABLE_TRACE="1", TRACE_FILE="trace.txt")
    (tmp_path / "trace.txt").write_text("2\n3 99\n", encoding="utf-8")
    messages = [w["message"] for w in imported(case(config)).warnings]
    assert "node 99 does not exist" in messages[0]
    assert "packets are not traced" in messages[1]
    (tmp_path / "trace.txt").unlink()
    (message,) = [w["message"] for w in imported(case(config)).warnings]
    assert "there is no file trace.txt" in message


def test_many_findings_of_one_kind_are_cut_short(case):
    flows = "50\n" + "0 3 3 100 1000 2.0\n" * 50
    with pytest.raises(ScenarioError) as caught:
        imported(case(flows=flows))
    assert len(caught.value.problems) == 4
    assert "47 more like it" in caught.value.problems[-1]["message"]


# AUD-05, SW-11
def test_what_is_imported_loses_nothing_or_is_refused(case, tmp_path, command):
    """Two full racks over a slow link and a small buffer, for each control and priority of ACKs."""
    hosts, left, right = range(16), 16, 17
    links = [f"{h} {left if h < 8 else right} 100Gbps 1us 0" for h in hosts]
    topology = f"18 2 17\n{left} {right}\n" + "\n".join([*links, f"{left} {right} 100Gbps 1us 0"])
    pairs = [(a, 15) for a in range(15)] + [(a, (a + 8) % 16) for a in hosts]
    flows = f"{len(pairs)}\n" + "".join(f"{a} {b} 3 100 60000 2.00000{a % 3}\n" for a, b in pairs)
    verdicts: dict[str, list[str]] = {"refused": [], "paused": [], "calm": []}
    for mode, window in (("1", "0"), ("1", "1"), ("3", "1"), ("7", "0"), ("8", "1")):
        for priority in "01":
            keys = {"CC_MODE": mode, "HAS_WIN": window, "VAR_WIN": window, "BUFFER_SIZE": "2"}
            config = changed(CONFIG, **keys, ACK_HIGH_PRIO=priority, SIMULATOR_STOP_TIME="2.02")
            out = tmp_path / f"{mode}-{window}-{priority}.toml"
            command("import", "ns3", case(config, topology + "\n", flows), "-o", out)
            name = f"{mode}-{window}-{priority}"
            done = command("run", out, "-o", tmp_path / name, code=None)
            if done.exit_code == 2:
                assert "ack.pausable" in done.stderr, done.stderr
                verdicts["refused"].append(name)
                continue
            assert done.exit_code == 0, done.stderr
            summary = json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))
            assert summary["drops"]["total"] == 0
            paused = summary["counters"]["pfc_pauses"] > 0
            verdicts["paused" if paused else "calm"].append(name)
    assert [name for name in verdicts["refused"] if name.endswith("-0")] == []
    assert len(verdicts["refused"]) == 5
    assert len(verdicts["paused"]) >= 3


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "config.txt").write_bytes(b"CC_MODE \xff\xfe")
    with pytest.raises(ScenarioError, match="is not text: byte 8"):
        write(tmp_path / "config.txt", tmp_path / "s.toml")


def test_rates_that_telemetry_does_not_know_take_a_bit_of_the_queue(case):
    config = changed(CONFIG, CC_MODE="3", HAS_WIN="1", VAR_WIN="1")
    slow = TOPOLOGY.replace("25Gbps", "40Gbps")
    assert slow != TOPOLOGY
    config = config.replace("25000000000", "40000000000")
    got = tomllib.loads(imported(case(config, slow)).scenario)["scheme"]
    assert got["int"] == {"format": "wire", "multiplier": 4, "qlen_bits": 16}


def test_a_first_start_that_may_be_cut_stays_after_time_0(case):
    def epoch(start: str) -> str:
        flows = f"1\n0 1 3 100 1000 {start}\n"
        return tomllib.loads(imported(case(flows=flows)).scenario)["run"]["epoch"]

    assert epoch("2.0") == "2s"
    assert epoch("2.0015") == "2001ms"
    assert epoch("2.001") == "2s"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([1000], None),
        ([999, 1, 0], None),
        ([1001], "unpacks to more than 0 MiB"),
        ([1000, 1], "unpacks to more than 0 MiB"),
        ([500, 501], "unpacks to more than 0 MiB"),
        ([], "is larger than 0 MiB"),
        ([-1], "the compressed file is cut off"),
    ],
)
def test_compressed_files_are_unpacked_up_to_a_limit(parts, says, tmp_path):
    file = tmp_path / "x.gz"
    packed = b"".join(gzip.compress(bytes(max(size, 0))) for size in parts) or bytes(1001)
    file.write_bytes(packed[:-4] if -1 in parts else packed)
    findings = Findings()
    if says is None:
        assert read_bytes(file, findings, "trace", limit=1000) == bytes(1000)
        return
    with pytest.raises(ScenarioError) as raised:
        read_bytes(file, findings, "trace", limit=1000)
    assert says in str(raised.value)
    assert str(raised.value).count("error:") == 1
