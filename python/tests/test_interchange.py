"""Inputs of ns-3 read, and what is wrong with them said."""

from __future__ import annotations

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backwater.errors import ScenarioError
from backwater.importers.common.source import Findings, Words, rate_bps, read_bytes, time_ps
from backwater.importers.ns3 import config as ns3_config
from backwater.importers.ns3 import flows as ns3_flows
from backwater.importers.ns3 import topology as ns3_topology
from backwater.importers.ns3.dialects import FOREIGN
from backwater.importers.ns3.scenario import MARK, Imported, import_ns3, scenario_name, write
from backwater.importers.ns3.topology import Dialect
from conftest import Backwater
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


def test_network_flows_and_times(case: Callable[..., Path]) -> None:
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


def test_dcqcn(case: Callable[..., Path]) -> None:
    got = scheme(case)
    assert got["preset"] == "dcqcn"
    assert (got["mtu"], got["recovery"], "base_rtt" in got) == ("1000B", "go-back-n", False)
    assert got["dcqcn"] == {
        "g": 0.00390625,
        "alpha_timer": "1us",
        "decrease_interval": "4us",
        "increase_timer": "300us",
        "fast_recovery": 1,
        "clamp_target": False,
        "ai": "20Mbps",
        "hai": "200Mbps",
        "min_rate": "1Gbps",
    }
    assert got["ecn"]["profiles"] == [
        {"rate": "25Gbps", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2},
        {"rate": "100Gbps", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.2},
    ]
    assert scheme(case, HAS_WIN="1", VAR_WIN="1")["preset"] == "dcqcn+win"
    fixed = scheme(case, HAS_WIN="1", VAR_WIN="0")
    assert (fixed["preset"], fixed["dcqcn"]["window"]) == ("dcqcn+win", "bdp")
    assert scheme(case, GLOBAL_T="0")["base_rtt"] == "ns3-pair"
    assert scheme(case, ACK_HIGH_PRIO="1")["ack"] == {"pausable": False}
    assert got["ack"] == {"pausable": True}
    assert scheme(case, ALPHA_RESUME_INTERVAL="0.5")["dcqcn"]["alpha_timer"] == "500ns"


def test_hpcc(case: Callable[..., Path]) -> None:
    got = scheme(case, CC_MODE="3", HAS_WIN="1", VAR_WIN="1", RATE_AI="50Mb/s")
    assert got["preset"] == "hpcc"
    hpcc = got["hpcc"]
    assert (hpcc["eta"], hpcc["max_stage"], hpcc["reaction"]) == (0.95, 0, "combined")
    assert hpcc["min_rate"] == "1Gbps"
    assert hpcc["wai"] == "50Mbps"
    assert got["int"] == {"format": "wire", "multiplier": 4}
    assert "ecn" not in got
    slow = scheme(case, CC_MODE="3", HAS_WIN="1", VAR_WIN="1", FAST_REACT="0")
    assert slow["hpcc"]["reaction"] == "per-rtt"
    sampled = scheme(case, CC_MODE="3", HAS_WIN="1", VAR_WIN="1", SAMPLE_FEEDBACK="1")
    assert sampled["hpcc"] == {**hpcc, "sample_feedback": True, "wai": "20Mbps"}


def test_timely_and_dctcp(case: Callable[..., Path]) -> None:
    got = scheme(case, CC_MODE="7")
    assert got["preset"] == "timely"
    assert got["timely"] == {"ai": "20Mbps", "hai": "200Mbps", "min_rate": "1Gbps"}
    assert scheme(case, CC_MODE="7", HAS_WIN="1", VAR_WIN="1")["preset"] == "timely+win"
    got = scheme(case, CC_MODE="8", HAS_WIN="1", VAR_WIN="1", EWMA_GAIN="0.0625")
    assert got["preset"] == "dctcp"
    assert got["dctcp"] == {"g": 0.0625, "ai": "615Mbps", "min_rate": "1Gbps"}
    assert len(got["ecn"]["profiles"]) == 2
    assert scheme(case, CC_MODE="8")["dctcp"]["window"] is False


def test_hosts_keep_their_numbers(case: Callable[..., Path]) -> None:
    topology = "4 2 3\n0 1\n2 0 10Gbps 1us 0\n0 1 10Gbps 1us 0\n1 3 10Gbps 1us 0\n"
    maps = {
        key: f"1 10000000000 {v}"
        for key, v in {"KMAX_MAP": 9, "KMIN_MAP": 9, "PMAX_MAP": 1}.items()
    }
    result = imported(case(changed(CONFIG, **maps), topology, "1\n3 2 3 100 5 0.0125\n"))
    scenario = tomllib.loads(result.scenario)
    assert scenario["topology"]["hosts"] == ["2", "3"]
    assert scenario["run"]["epoch"] == "12ms"
    assert result.flows.splitlines()[1] == "1,0,5,500us,100"


def test_loss_on_links(case: Callable[..., Path]) -> None:
    lossy = TOPOLOGY.replace("0.001ms 0\n", "0.001ms 1e-3\n")
    result = imported(case(topology=lossy))
    links = tomllib.loads(result.scenario)["topology"]["links"]
    assert [link.get("loss") for link in links] == [None, 0.001, None, None]
    assert "get lost" in result.warnings[0]["message"]
    everywhere = imported(case(changed(CONFIG, ERROR_RATE_PER_LINK="0.01"), lossy))
    links = tomllib.loads(everywhere.scenario)["topology"]["links"]
    assert [link.get("loss") for link in links] == [0.01, 0.001, 0.01, 0.01]


def test_own_defaults_of_ns3_are_told(case: Callable[..., Path]) -> None:
    result = imported(case(changed(CONFIG, MIN_RATE="", BUFFER_SIZE="")))
    assert tomllib.loads(result.scenario)["switch"]["buffer"] == "16MiB"
    (warning,) = result.warnings
    assert "MIN_RATE = 100000000, BUFFER_SIZE = 16" in warning["message"]


def test_files_are_found_from_where_ns3_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mix = tmp_path / "simulation" / "mix"
    mix.mkdir(parents=True)
    (mix / "topology.txt").write_text(TOPOLOGY, encoding="utf-8")
    (mix / "flow.txt").write_text(FLOWS, encoding="utf-8")
    text = changed(CONFIG, TOPOLOGY_FILE="mix/topology.txt", FLOW_FILE="mix/flow.txt")
    (mix / "config.txt").write_text(text, encoding="utf-8")
    assert len(imported(mix / "config.txt").flows.splitlines()) == 4
    monkeypatch.chdir(mix.parent)
    assert len(imported(Path("mix/config.txt")).flows.splitlines()) == 4


def test_an_imported_scenario_is_not_written_over_another(
    case: Callable[..., Path], tmp_path: Path, command: Backwater
) -> None:
    config, out = case(), tmp_path / "mine.toml"
    out.write_text('name = "mine"\n', encoding="utf-8")
    done = command("import", "ns3", config, "-o", out, code=1)
    assert "use --force" in done.stderr
    assert out.read_text(encoding="utf-8") == 'name = "mine"\n'
    command("import", "ns3", config, "-o", out, "--force")
    command("import", "ns3", config, "-o", out)
    assert sorted(p.name for p in tmp_path.glob("mine*")) == ["mine.flows.csv", "mine.toml"]


def test_words_of_ns3() -> None:
    assert [rate_bps(w) for w in ("50Mb/s", "2.5Gbps", "1000", "1MB/s", "8Kib/s")] == [
        50_000_000,
        2_500_000_000,
        1000,
        8_000_000,
        8192,
    ]
    assert [time_ps(w) for w in ("1000ns", "0.001ms", "2us", "1")] == [
        10**6,
        10**6,
        2 * 10**6,
        10**12,
    ]
    for nonsense in ("", "Gbps", "1Gb", "-1Gbps", "1e9999Gbps", "٣Gbps", "nan", "1_0Gbps"):
        assert rate_bps(nonsense) is None
        assert time_ps(nonsense) is None
    assert scenario_name("a b/ü") == "a-b"
    assert scenario_name("..") == "imported"


def test_everything_that_is_wrong_is_told_at_once(
    case: Callable[..., Path], command: Backwater, tmp_path: Path
) -> None:
    keys = {"L2_ACK_INTERVAL": "", "RATE_AI": "", "EWMA_GAIN": "much", "KMIN_MAP": "0"}
    config = case(changed(CONFIG, **keys, MIN_RATE="1Gbpz", L2_ACK_INTERVALL="1"))
    done = command("import", "ns3", config, "-o", tmp_path / "x.toml", code=2)
    assert re.findall("^(?:error|warning): .*", done.stderr, re.MULTILINE) == [
        "error: EWMA_GAIN should be a number, found `much`",
        "error: MIN_RATE should be a rate such as 100Gbps or 50Mb/s, found `1Gbpz`",
        f"error: {config}: L2_ACK_INTERVAL is missing, and ns-3 takes 0: ns-3 acknowledges only "
        "the ends of chunks then, which is not modelled",
        f"error: {config}: RATE_AI is missing: ns-3 has no default for it",
        "error: KMIN_MAP without the rate 25000000000 of a switch port",
        "error: KMIN_MAP without the rate 100000000000 of a switch port",
        "warning: `L2_ACK_INTERVALL 1`: no such key; ns-3 skips it silently, and so does this "
        "import",
    ]
    assert "= write `L2_ACK_INTERVAL 1`" in done.stderr
    assert "= did you mean L2_ACK_INTERVAL?" in done.stderr
    assert not (tmp_path / "x.toml").exists()


def test_wrong_keys_are_told_beside_files_that_are_missing(case: Callable[..., Path]) -> None:
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


def test_floodgate_topology() -> None:
    text = "5 2 1 2 0 4\n3\n4\n0 3 100 600\n1 3 100 600\n3 4 400 600\n2 4 2.5 600.0\n"
    topology, warnings = topology_of(text)
    assert (topology.dialect, warnings) == (Dialect.FLOODGATE, [])
    assert [(x.rate_bps, x.delay_ps) for x in topology.links] == [
        (100 * 10**9, 600_000),
        (100 * 10**9, 600_000),
        (400 * 10**9, 600_000),
        (2_500_000_000, 600_000),
    ]


def test_simai_topology() -> None:
    text = "5 2 1 1 4 A100\n3 4\n0 3 2400Gbps 0.000025ms 0\n1 3 2400Gbps 0.000025ms 0\n"
    topology, warnings = topology_of(text + "3 4 100Gbps 0.0005ms 0\n2 4 100Gbps 0.0005ms 0\n")
    assert (topology.dialect, topology.switches) == (Dialect.SIMAI, (3, 4))
    assert (topology.links[0].rate_bps, topology.links[0].delay_ps) == (2400 * 10**9, 25_000)
    assert "NVSwitches" in warnings[0]["message"]


def test_floodgate_configuration(case: Callable[..., Path]) -> None:
    extra = "USE_FLOODGATE 0\nSWITCH_WIN_M 1.5\nFLOW_FROM_FILE 1\n"
    (warning,) = imported(case(CONFIG + extra)).warnings
    assert warning["message"].endswith(": SWITCH_WIN_M")
    with pytest.raises(ScenarioError, match="Floodgate is not"):
        imported(case(CONFIG + extra.replace("GATE 0", "GATE 1")))
    with pytest.raises(ScenarioError, match="draws its flows itself"):
        imported(case(CONFIG + extra.replace("FILE 1", "FILE 0")))


NEUTRAL = {
    ("ENABLE_IRN", "0"),
    ("ENABLE_PFC", "1"),
    ("ENABLE_PFC", "7"),
    ("FLOW_FROM_FILE", "1"),
    ("LB_MODE", "0"),
    ("QP_MODE", "0"),
    ("ROUTING_MODE", "0"),
    ("RTO_us", "0"),
    ("SRCTOR_DST_PFC", "0"),
    ("SYMMETRIC_ROUTING_MODE", "0"),
    ("USE_FLOODGATE", "0"),
}
"""Values with which a fork does what HPCC's simulator does."""


@pytest.mark.parametrize("key", sorted(FOREIGN))
@pytest.mark.parametrize("value", ["0", "1", "7"])
def test_every_key_of_a_fork_is_applied_or_refused_or_named(
    case: Callable[..., Path], key: str, value: str
) -> None:
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


def test_losses_of_conweave(case: Callable[..., Path]) -> None:
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


def test_irn_of_conweave_runs(
    case: Callable[..., Path], command: Backwater, tmp_path: Path
) -> None:
    config = case(CONFIG + "ENABLE_PFC 0\nENABLE_IRN 1\n")
    scenario = tmp_path / "s.toml"
    done = command("import", "ns3", config, "-o", scenario)
    assert "--profile ns3\n" not in done.stderr
    command("run", scenario, "-o", tmp_path / "run")


def test_every_unknown_key_is_named(case: Callable[..., Path]) -> None:
    extra = [f"NEW_KEY_{i} {i}" for i in range(20)]
    told = "\n".join(w["message"] for w in imported(case("\n".join([CONFIG, *extra]))).warnings)
    assert all(re.search(rf"\bNEW_KEY_{i}\b", told) for i in range(20))


def test_bfc_configurations_are_told(case: Callable[..., Path]) -> None:
    with pytest.raises(ScenarioError, match="BFC's simulator"):
        imported(case(CONFIG + "WORKLOAD W4\nUTILIZATION_FACTOR 0.65\n"))


TOPOLOGIES = {
    "HPCC": (TOPOLOGY, Dialect.HPCC),
    "PowerTCP": (TOPOLOGY.replace("5 2 4", "5 2 2 4", 1), Dialect.POWERTCP),
    "PowerTCP's rates": (
        TOPOLOGY.replace("5 2 4", "5 2 2 4", 1).replace("100Gbps", "100000000000.0"),
        Dialect.POWERTCP,
    ),
    "SimAI": (TOPOLOGY.replace("5 2 4", "5 8 0 2 4 A100", 1), Dialect.SIMAI),
    "Floodgate": (
        "5 2 2 2 0 4\n3 4\n0 3 100 1000\n1 3 100 1000\n3 4 100 2000\n2 4 25 1000\n",
        Dialect.FLOODGATE,
    ),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_network_is_the_same_in_all_dialects(name: str) -> None:
    text, dialect = TOPOLOGIES[name]
    topology, warnings = topology_of(text)
    assert (topology.dialect, warnings) == (dialect, [])
    hpcc, _ = topology_of(TOPOLOGY)
    assert (topology.hosts, topology.switches) == (hpcc.hosts, hpcc.switches)
    assert topology.links == hpcc.links


def test_the_command_line_of_powertcp_is_told(case: Callable[..., Path]) -> None:
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
def test_flows_are_the_same_in_all_dialects(
    case: Callable[..., Path], head: str, line: str
) -> None:
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

SILENT = {
    "unknown key": (
        {"config": CONFIG + "RATE_HAL 3Mb/s\n"},
        ("config.txt", 41, 1, "`RATE_HAL 3Mb/s`: no such key", "did you mean RATE_HAI?"),
    ),
    "key said twice": (
        {"config": CONFIG + "CC_MODE 1\n"},
        ("config.txt", 41, 1, "CC_MODE is said twice", ""),
    ),
    "extra flow lines": (
        {"flows": FLOWS.replace("3\n", "2\n", 1)},
        ("flow.txt", 4, 1, "announces 2 flows: ns-3 ignores silently", ""),
    ),
    "sizes above 32 bits": (
        {"flows": FLOWS.replace("500000", "4294967296")},
        ("flow.txt", 2, 11, "holds sizes in 32 bits", ""),
    ),
    "flows out of order": (
        {"flows": FLOWS.replace("2.000002", "2.000001")},
        ("flow.txt", 4, 13, "starts before the one in front", ""),
    ),
    "finer than a picosecond": (
        {"flows": FLOWS.replace("2.000000686", "2.0000006860001")},
        ("flow.txt", 2, 18, "finer than a picosecond", ""),
    ),
    "extra links": (
        {"topology": TOPOLOGY + "1 4 100Gbps 1us 0\n"},
        ("topology.txt", 7, 1, "5 words after the 4 links", ""),
    ),
    "delay finer than a nanosecond": (
        {"topology": TOPOLOGY.replace("2us", "2.0005us")},
        ("topology.txt", 5, 13, "this delay becomes 2000 ns", ""),
    ),
    "static thresholds": (
        {"config": CONFIG.replace("PFC_THRESHOLD 1", "PFC_THRESHOLD 0")},
        ("config.txt", 2, 1, "no effect in ns-3", ""),
    ),
    "stops early": (
        {"config": CONFIG.replace("TIME 2.11", "TIME 2.000001")},
        ("config.txt", 6, 1, "stops before the last flow starts, at 2.000002 s", ""),
    ),
    "maps without a rate that nobody looks at": (
        {"config": CONFIG.replace("2 25000000000 400 1", "1 1").replace("MODE 1", "MODE 7")},
        ("config.txt", 35, 1, "KMAX_MAP without the rate 25000000000", ""),
    ),
}


@pytest.mark.parametrize("what", SILENT)
def test_silence_becomes_a_warning(what: str, case: Callable[..., Path]) -> None:
    files, (name, line, column, message, hint) = SILENT[what]
    (warning,) = imported(case(**files)).warnings
    assert message in warning["message"]
    assert (Path(warning["source"]).name, warning["line"], warning["column"]) == (
        name,
        line,
        column,
    )
    assert hint in (warning["hint"] or "")
    assert f"{name}:{line}:{column}" in warning["text"]


WRONG = {
    "fewer flows": (
        {"flows": FLOWS.replace("3\n", "4\n", 1)},
        ("flow.txt", 1, 1, "announces 4 flows, but 3 follow"),
    ),
    "unknown node": ({"flows": FLOWS.replace("0 2", "9 2", 1)}, ("flow.txt", 2, 1, "node 9 is no")),
    "a switch": ({"flows": FLOWS.replace("0 2", "0 3", 1)}, ("flow.txt", 2, 3, "3 is a switch")),
    "itself": ({"flows": FLOWS.replace("0 2", "0 0", 1)}, ("flow.txt", 2, 3, "send to itself")),
    "no bytes": ({"flows": FLOWS.replace("1000 ", "0 ")}, ("flow.txt", 3, 11, "flow of 0 bytes")),
    "no number": (
        {"flows": FLOWS.replace("500000", "5e5")},
        ("flow.txt", 2, 11, "should be a whole number, found `5e5`"),
    ),
    "negative start": (
        {"flows": FLOWS.replace("2.000002", "-2")},
        ("flow.txt", 4, 13, "should be a number, found `-2`"),
    ),
    "several groups": (
        {"flows": FLOWS.replace("1 2 3", "1 2 4")},
        (None, None, None, "priority groups 3, 4"),
    ),
    "group 0": ({"flows": FLOWS.replace(" 3 ", " 0 ")}, (None, None, None, "priority group 0")),
    "fewer links": (
        {"topology": TOPOLOGY.replace("5 2 4", "5 2 5")},
        ("topology.txt", 6, 17, "announces 5 links"),
    ),
    "link to itself": (
        {"topology": TOPOLOGY.replace("3 4 100", "3 3 100")},
        ("topology.txt", 5, 3, "node 3 is linked to itself"),
    ),
    "bad rate": (
        {"topology": TOPOLOGY.replace("25Gbps", "25Gigs")},
        ("topology.txt", 6, 5, "should be a rate such as 100Gbps or 50Mb/s, found `25Gigs`"),
    ),
    "bad delay": (
        {"topology": TOPOLOGY.replace("2us", "2u")},
        ("topology.txt", 5, 13, "should be a time such as 1us or 1000ns, found `2u`"),
    ),
    "switch twice": (
        {"topology": TOPOLOGY.replace("3 4\n", "3 3\n", 1)},
        ("topology.txt", 2, 3, "switch 3 is named twice"),
    ),
    "maps without a rate": (
        {"config": changed(CONFIG, PMAX_MAP="1 100000000000 0.2")},
        ("config.txt", 37, 1, "PMAX_MAP without the rate 25000000000 of a switch port"),
    ),
    "map cut short": (
        {"config": CONFIG.replace("KMIN_MAP 2", "KMIN_MAP 3")},
        ("config.txt", 37, 1, "a rate of KMIN_MAP should be a whole number"),
    ),
    "thresholds the wrong way": (
        {"config": changed(CONFIG, KMIN_MAP="2 25000000000 500 100000000000 400")},
        ("config.txt", 36, 1, "Kmin 500 KB is above Kmax 400 KB"),
    ),
    "failing link": (
        {"config": changed(CONFIG, LINK_DOWN="100 0 3")},
        ("config.txt", 33, 1, "links that fail are not modelled"),
    ),
    "PINT": ({"config": changed(CONFIG, CC_MODE="10")}, ("config.txt", 7, 1, "HPCC-PINT is not")),
    "unknown mode": ({"config": changed(CONFIG, CC_MODE="2")}, ("config.txt", 7, 1, "unknown")),
    "fixed window": (
        {"config": changed(CONFIG, CC_MODE="8", HAS_WIN="1")},
        ("config.txt", 24, 1, "a window that does not follow the rate"),
    ),
    "HPCC without window": (
        {"config": changed(CONFIG, CC_MODE="3")},
        ("config.txt", 22, 1, "HPCC without a window"),
    ),
    "back to zero": (
        {"config": changed(CONFIG, L2_BACK_TO_ZERO="1")},
        ("config.txt", 21, 1, "start of a chunk"),
    ),
    "rare ACKs": (
        {"config": changed(CONFIG, L2_ACK_INTERVAL="4000")},
        ("config.txt", 20, 1, "fewer ACKs than packets"),
    ),
    "not paced": (
        {"config": changed(CONFIG, RATE_BOUND="0")},
        ("config.txt", 31, 1, "not paced"),
    ),
    "no gain": (
        {"config": changed(CONFIG, EWMA_GAIN="")},
        (None, None, None, "EWMA_GAIN is missing"),
    ),
    "no marks": (
        {"config": changed(CONFIG, ENABLE_QCN="0")},
        ("config.txt", 1, 1, "needs the marks"),
    ),
    "stops before it starts": (
        {"config": changed(CONFIG, SIMULATOR_STOP_TIME="1")},
        ("config.txt", 6, 1, "stops before the first flow"),
    ),
    "no such file": (
        {"config": changed(CONFIG, FLOW_FILE="nowhere.txt")},
        ("config.txt", 5, 1, "there is no file nowhere.txt"),
    ),
    "no topology": ({"config": "CC_MODE 1\n"}, (None, None, None, "TOPOLOGY_FILE is missing")),
    "value missing": (
        {"config": CONFIG + "CC_MODE"},
        ("config.txt", 41, 8, "the file ends where CC_MODE should come"),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_told_with_its_place(what: str, case: Callable[..., Path]) -> None:
    files, (name, line, column, message) = WRONG[what]
    with pytest.raises(ScenarioError) as caught:
        imported(case(**files))
    problem = caught.value.problems[0]
    assert message in problem["message"]
    source = problem["source"] and Path(problem["source"]).name
    assert (source, problem["line"], problem["column"]) == (name, line, column)


def test_several_links_between_two_nodes_are_all_used(
    case: Callable[..., Path], tmp_path: Path
) -> None:
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
def test_hosts_without_a_switch(
    profile: str | None, case: Callable[..., Path], tmp_path: Path
) -> None:
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


def test_hosts_without_an_address(case: Callable[..., Path]) -> None:
    topology = "65538 1 2\n0\n1 0 100Gbps 1us 0\n65537 0 100Gbps 1us 0\n"
    with pytest.raises(ScenarioError, match="host 65536 has no address of its own"):
        imported(case(topology=topology, flows="1\n1 65537 3 100 5 2\n"))


def test_traced_nodes_are_looked_at(case: Callable[..., Path], tmp_path: Path) -> None:
    config = changed(CONFIG, ENABLE_TRACE="1", TRACE_FILE="trace.txt")
    (tmp_path / "trace.txt").write_text("2\n3 99\n", encoding="utf-8")
    messages = [w["message"] for w in imported(case(config)).warnings]
    assert "node 99 does not exist" in messages[0]
    assert "packets are not traced" in messages[1]
    (tmp_path / "trace.txt").unlink()
    (message,) = [w["message"] for w in imported(case(config)).warnings]
    assert "there is no file trace.txt" in message


def test_many_findings_of_one_kind_are_cut_short(case: Callable[..., Path]) -> None:
    flows = "50\n" + "0 3 3 100 1000 2.0\n" * 50
    with pytest.raises(ScenarioError) as caught:
        imported(case(flows=flows))
    assert len(caught.value.problems) == 4
    assert "47 more like it" in caught.value.problems[-1]["message"]


def test_exit_status_of_wrong_input(
    case: Callable[..., Path], tmp_path: Path, command: Backwater
) -> None:
    done = command("import", "ns3", case(flows="x"), "-o", tmp_path / "s.toml", code=2)
    assert "flow.txt:1:1" in done.stderr
    assert not (tmp_path / "s.toml").exists()
    done = command("import", "ns3", tmp_path / "none.txt", code=2)
    assert "cannot read the configuration" in done.stderr


# AUD-05, SW-11
def test_what_is_imported_loses_nothing_or_is_refused(
    case: Callable[..., Path], tmp_path: Path, command: Backwater
) -> None:
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


# --- Garbage ---------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(f"{CONFIG} {TOPOLOGY} {FLOWS}".split()),
    st.integers(-5, 2**70).map(str),
    st.sampled_from(["1e999", "0x10", "nan", "inf", "-0", "1e-400", "\x00", "٣", "é" * 70]),
    st.text(max_size=12),
)
GARBAGE = st.one_of(
    st.text(max_size=300), st.lists(WORDS, max_size=80).map(lambda words: " ".join(words))
)


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """A good file in which some words are other words, or are missing."""
    lines = [line.split(" ") for line in text.splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        line = draw(st.sampled_from([line for line in lines if line]))
        at = draw(st.integers(0, len(line) - 1))
        line[at : at + 1] = draw(st.lists(WORDS, max_size=2))
    return "\n".join(" ".join(line) for line in lines)


def refusal(call: Callable[[], object]) -> ScenarioError | None:
    """What a call refuses; anything else that it raises is a mistake."""
    try:
        call()
    except ScenarioError as error:
        return error
    return None


def survives(parse: Callable[[Words], object], text: str) -> None:
    findings = Findings()

    def work() -> None:
        parse(Words("x.txt", text, findings))
        findings.stop_if_wrong()

    error = refusal(work)
    if error is not None:
        assert str(error).startswith("error: ")
        assert all(p["line"] is None or p["line"] >= 1 for p in error.problems)


@settings(max_examples=150, deadline=None)
@given(st.one_of(GARBAGE, damaged(TOPOLOGY)))
def test_no_garbage_breaks_the_topology(text: str) -> None:
    survives(ns3_topology.parse, text)


@settings(max_examples=150, deadline=None)
@given(st.one_of(GARBAGE, damaged(FLOWS)))
def test_no_garbage_breaks_the_flows(text: str) -> None:
    topology, _ = topology_of(TOPOLOGY)
    survives(lambda words: ns3_flows.parse(words, topology), text)


@settings(max_examples=150, deadline=None)
@given(st.one_of(GARBAGE, damaged(CONFIG)))
def test_no_garbage_breaks_the_configuration(text: str) -> None:
    survives(lambda words: ns3_config.parse(Path("x.txt"), words), text)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(damaged(CONFIG), st.sampled_from(["1", "3", "7", "8"]))
def test_no_damaged_case_breaks_the_import(
    case: Callable[..., Path], config: str, mode: str
) -> None:
    text = config.encode("utf-8", "replace").decode("utf-8").replace("CC_MODE 1", f"CC_MODE {mode}")
    config_path = case(text)
    error = refusal(lambda: imported(config_path))
    if error is None:
        tomllib.loads(imported(config_path).scenario)
    else:
        assert str(error).startswith("error: ")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.txt").write_bytes(b"CC_MODE \xff\xfe")
    with pytest.raises(ScenarioError, match="is not text: byte 8"):
        write(tmp_path / "config.txt", tmp_path / "s.toml")


def test_rates_that_telemetry_does_not_know_take_a_bit_of_the_queue(
    case: Callable[..., Path],
) -> None:
    config = changed(CONFIG, CC_MODE="3", HAS_WIN="1", VAR_WIN="1")
    slow = TOPOLOGY.replace("25Gbps", "40Gbps")
    assert slow != TOPOLOGY
    config = config.replace("25000000000", "40000000000")
    got = tomllib.loads(imported(case(config, slow)).scenario)["scheme"]
    assert got["int"] == {"format": "wire", "multiplier": 4, "qlen_bits": 16}


def test_a_first_start_that_may_be_cut_stays_after_time_0(case: Callable[..., Path]) -> None:
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
def test_compressed_files_are_unpacked_up_to_a_limit(
    parts: list[int], says: str | None, tmp_path: Path
) -> None:
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
