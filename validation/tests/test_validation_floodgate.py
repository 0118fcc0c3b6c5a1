"""Cases of the simulator of Floodgate's authors: read, run as that simulator would, compared."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from backwater import load
from validation import cases, floodgate_case, verdicts
from validation.floodgate_case import FloodgateCase, cut_to_ns
from validation.limits import compare, validate
from validation.observed import FlowKey, FlowTimes, Observed, Totals

Validated = Callable[..., Result]

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "floodgate-ns3"

HEAD = "src,dst,size,start_ns,rcv_fct_us,rcv_oracle_us,snd_fct_us,snd_oracle_us,snd_slowdown"
RACKS, PER_RACK, CORES = 3, 4, 2
START_NS = 2_000_010_000


def topology() -> str:
    """Return a network of three racks of four hosts and two cores, in that simulator's format."""
    hosts = RACKS * PER_RACK
    tors = [hosts + i for i in range(RACKS)]
    cores = [hosts + RACKS + i for i in range(CORES)]
    links = [f"{host} {tors[host // PER_RACK]} 100 600" for host in range(hosts)]
    links += [f"{tor} {core} 400 600" for tor in tors for core in cores]
    switches = RACKS + CORES
    head = f"{hosts + switches} {switches} {PER_RACK} {RACKS} {CORES} {len(links)}"
    return "\n".join([head, *map(str, [*tors, *cores]), *links]) + "\n"


def configuration(**changes: object) -> str:
    """Return the keys of the reference configuration on this network."""
    keys = {
        "USE_DYNAMIC_PFC_THRESHOLD": 1,
        "PACKET_PAYLOAD_SIZE": 1460,
        "USE_FLOODGATE": 0,
        "SWTICH_ACK_MODE": 2,
        "SYMMETRIC_ROUTING_MODE": 1,
        "FLOW_FROM_FILE": 0,
        "TOPOLOGY_FILE": "mix/small.topo",
        "FLOW_FILE": "flow.log",
        "BUFFER_INTERVAL": 10,
        "SIMULATOR_STOP_TIME": "20.00",
        "CC_MODE": 1,
        "ALPHA_RESUME_INTERVAL": 1,
        "RATE_DECREASE_INTERVAL": 4,
        "CLAMP_TARGET_RATE": 0,
        "RP_TIMER": 900,
        "EWMA_GAIN": 0.00390625,
        "FAST_RECOVERY_TIMES": 1,
        "RATE_AI": "50Mb/s",
        "RATE_HAI": "100Mb/s",
        "MIN_RATE": "100Mb/s",
        "DCTCP_RATE_AI": "1000Mb/s",
        "ERROR_RATE_PER_LINK": 0,
        "L2_CHUNK_SIZE": 1460,
        "L2_ACK_INTERVAL": 1,
        "L2_BACK_TO_ZERO": 0,
        "HAS_WIN": 1,
        "GLOBAL_T": 1,
        "VAR_WIN": 1,
        "FAST_REACT": 1,
        "U_TARGET": 0.95,
        "MI_THRESH": 5,
        "INT_MULTI": 1,
        "MULTI_RATE": 1,
        "SAMPLE_FEEDBACK": 0,
        "RATE_BOUND": 1,
        "ACK_HIGH_PRIO": 0,
        "KMAX_MAP": "2 100000000000 1600 400000000000 6400",
        "KMIN_MAP": "2 100000000000 400 400000000000 1600",
        "PMAX_MAP": "2 100000000000 0.2 400000000000 0.2",
        "BUFFER_SIZE": 20,
    } | changes
    return "".join(f"{key} {value}\n" for key, value in keys.items())


def line(
    src: int, dst: int, size: int, start_ns: int, acked: str = "5", received: str = "3"
) -> str:
    return f"{src},{dst},{size},{start_ns},{received},1,{acked},1,1"


def put(
    folder: Path,
    lines: list[str],
    *,
    config: str | None = None,
    buffer: str | None = None,
    pfc: str | None = None,
) -> Path:
    """Write a case in the layout of the reference, with the network file in the folder above.

    If the lines have one column more, it is the mark `is_incast`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "small.topo").write_text(topology(), encoding="ascii")
    (folder / "cfg.ini").write_text(config or configuration(), encoding="ascii")
    marked = lines and lines[0].count(",") > HEAD.count(",")
    text = "\n".join([HEAD + ",is_incast" * bool(marked), *lines]) + "\n"
    (folder / "flows_fct.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name, content in (("buffer.csv.gz", buffer), ("pfc.txt.gz", pfc)):
        if content is not None:
            (folder / name).write_bytes(gzip.compress(content.encode()))
    return folder


def one(root: Path) -> FloodgateCase:
    (found,) = cases.find(root)
    assert isinstance(found, FloodgateCase)
    return found


# FGC-30, FGC-31, FGC-34
def test_a_case_is_read_as_that_simulator_would_have_set_it_up(tmp_path: Path) -> None:
    lines = [
        line(5, 1, 700, START_NS + 100) + ",0",
        line(5, 2, 800, START_NS) + ",0",
        line(5, 0, 1460, START_NS) + ",1",
        line(4, 0, 1460, START_NS, acked="", received="") + ",1",
    ]
    heard = [(0, "15 1 1 1"), (500, "15 1 1 0"), (700, "3 0 0 1"), (900, "15 1 2 1")]
    pfc = "".join(f"{START_NS + at} {what}\n" for at, what in heard)
    put(tmp_path / "x", lines, buffer="0,0,5\n10000,3,77\n", pfc=pfc)
    case = one(tmp_path)
    # The incast's flows were set up first, so they have the first ports.
    first, second, third = FlowKey(5, 0, 10000, 100, 1460), 10001, 10002
    expected = case.expected()
    begins = cut_to_ns(START_NS)
    assert [f.begins_ns for f in case._ordered] == [begins] * 3 + [cut_to_ns(START_NS + 100)]
    assert expected.flows == {
        FlowKey(5, 1, second, 100, 700): FlowTimes(START_NS + 100, 5000, 0.0, 3000),
        FlowKey(5, 2, third, 100, 800): FlowTimes(START_NS, 5000, 0.0, 3000),
        first: FlowTimes(START_NS, 5000, 0.0, 3000),
    }
    assert expected.totals is not None
    assert {key.src for key in expected.totals.incasts} == {4, 5}
    # Pauses that are open at the end of the log count until its end.
    assert expected.totals.paused_us == {0: 0.2, 1: 0.0, 2: 0.5}
    assert expected.totals.samples == {(0, 0): 5, (10000, 3): 77}
    at = begins - floodgate_case._EPOCH_NS
    assert case._flow_csv().splitlines()[1:] == [
        f"4,0,1460,{at}.5ns,100,10000",
        f"5,0,1460,{at}.5ns,100,10000",
        f"5,2,800,{at}.5ns,100,10002",
        f"5,1,700,{cut_to_ns(START_NS + 100) - floodgate_case._EPOCH_NS}.5ns,100,10001",
    ]
    assert case._warnings() == ["1 flows did not finish there; they run here, uncompared"]


@pytest.mark.parametrize(
    ("changes", "preset", "reverse"),
    [
        ({}, "dcqcn+win", True),
        ({"USE_FLOODGATE": 1, "SYMMETRIC_ROUTING_MODE": 0}, "dcqcn+floodgate", False),
        ({"USE_FLOODGATE": 1, "SWTICH_ACK_MODE": 1, "CC_MODE": 3}, "hpcc+floodgate-ideal", True),
        ({"USE_FLOODGATE": 1, "CC_MODE": 7}, "timely+floodgate", True),
        ({"CC_MODE": 7}, "timely+win", True),
        ({"CC_MODE": 3}, "hpcc", True),
    ],
)
def test_presets(changes: dict[str, object], preset: str, reverse: bool, tmp_path: Path) -> None:
    lines = [line(0, 1, 2920, START_NS), line(4, 1, 1_000_000, START_NS)]
    case = put(tmp_path / "x", lines, config=configuration(**changes))
    (verdict,) = validate(cases.find(case), tmp_path / "kept")
    assert verdict.failed is None
    text = (tmp_path / "kept" / "x" / "scenario.toml").read_text(encoding="utf-8")
    assert f'preset = "{preset}"' in text
    assert ('ack.path = "reverse"' in text) == reverse
    assert 'profile = "conext21-code"' in text


# FGC-01, FGC-03, FGC-35
def test_a_lone_flow_takes_what_that_simulator_says(tmp_path: Path) -> None:
    """Two packets of 1532 bytes within a rack: 122 ns each on a link, whose delay is 600 ns."""
    received = 2 * (600 + 122) + 122
    acked = received + 2 * (600 + 6)
    lines = [line(0, 1, 2920, START_NS, f"{acked / 1000}", f"{received / 1000}")]
    put(tmp_path / "x", lines)
    (verdict,) = validate(cases.find(tmp_path))
    assert (verdict.failed, verdict.exact, verdict.flows) == (None, 1, 1)
    times = [check for check in verdict.checks if check.what == "avg"]
    assert [check.ours for check in times] == [acked / 1000, received / 1000]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,1,1"], r"flows_fct.csv.gz:2: 3 fields, the head has 9"),
        ([line(0, 12, 9, START_NS)], r"gz:2: host 12 does not exist; there are 12"),
        ([line(0, 1, 9, START_NS).replace("20000", "soon")], r"gz:2: .*soon"),
        ([line(0, 0, 9, START_NS)], "expected two hosts"),
        ([line(0, 1, 9, 5)], "start from 2000000000 ns on"),
        ([line(0, 1, 9, START_NS, acked="0", received="0")], "no flow that finished"),
        ([], "no flow in it"),
    ],
)
def test_what_is_wrong_is_told(lines: list[str], message: str, tmp_path: Path) -> None:
    put(tmp_path / "x", lines)
    (verdict,) = validate(cases.find(tmp_path))
    assert re.search(message, verdict.failed or "")


def test_a_broken_case_stops_no_other(tmp_path: Path) -> None:
    lines = [line(0, 1, 9, START_NS)]
    put(tmp_path / "a", lines, buffer="10000,4\n")
    put(tmp_path / "b", lines, pfc="10000 99 1 1 1\n")
    put(tmp_path / "c", lines, config=configuration(USE_FLOODGATE=1, SWTICH_ACK_MODE=7))
    put(tmp_path / "d", lines, config=configuration(TOPOLOGY_FILE="mix/other.topo"))
    put(tmp_path / "e", lines)
    found = {v.name: v for v in validate(cases.find(tmp_path))}
    assert [v.failed is None for v in found.values()] == [False, False, False, False, True]
    for name, message in (
        ("a", "expected `ns,switch,bytes`"),
        ("b", "expected `ns node type port 0|1`"),
        ("c", "CC_MODE 1 with SWTICH_ACK_MODE 7 is not modelled"),
        ("d", "is neither here nor up to two folders above"),
    ):
        assert message in (found[name].failed or ""), name


def told(scale: float = 1.0, paused: float = 1.0, most: int = 1000) -> Observed:
    """Return results of 100 random flows and 50 incast flows, with pauses and buffers."""
    flows = {}
    incasts = set()
    for i in range(150):
        key = FlowKey(i, 0, 10000, 100, 1000)
        fct = round((5000 + 10 * i) * (scale if i < 100 else 1))
        flows[key] = FlowTimes(0, fct, 0.0, fct - 10)
        if i >= 100:
            incasts.add(key)
    pauses = {0: 10.0, 1: 20.0, 2: 30.0 * paused}
    totals = Totals(frozenset(incasts), pauses, {(10, 0): 500, (20, 1): most})
    return Observed(flows, None, totals=totals)


def test_limits() -> None:
    def compared(ours: Observed) -> list[str]:
        return verdicts.broken(compare("x", "y", told(), ours))

    assert compared(told()) == []
    assert compared(told(scale=1.015)) == []
    (average, sooner) = compared(told(scale=1.035))
    assert average.startswith("avg of FCT of other flows to the last ACK")
    assert "last byte" in sooner
    assert len(compared(told(scale=1.06))) == 4
    assert compared(told(paused=1.02)) == []
    (pauses,) = compared(told(paused=1.04))
    assert "cores" in pauses
    assert compared(told(most=1020)) == []
    (buffer,) = compared(told(most=1040))
    assert "buffer" in buffer
    # Values that were not recorded are not compared.
    silent = told(paused=9, most=9)
    assert silent.totals is not None
    assert (
        compared(replace(silent, totals=replace(silent.totals, paused_us=None, samples=None))) == []
    )
    fewer = told()
    fewer.flows.popitem()
    assert compared(fewer)[0].startswith("150 flows finished there and 149 here")


def busy() -> list[tuple[int, int, int, int, bool]]:
    """Return random flows in the whole network, and an incast to host 0 that fills its ToR."""
    pairs = [(i * 5 % 12, (i * 5 + 1 + i % 11) % 12) for i in range(120)]
    flows = [
        (src, dst, 300 + 97 * (i % 40), START_NS + 170 * i, False)
        for i, (src, dst) in enumerate(pairs)
    ]
    return flows + [(src, 0, 146_000, START_NS + 2000, True) for src in range(4, 12)]


def as_ours(case: Path, kept: Path, stretch: float) -> None:
    """Write our results of a case as those of that simulator, with slower random flows."""
    run = load(kept / "run")
    config = (case / "cfg.ini").read_text(encoding="ascii")
    found = {
        (row["src"], row["dst"], row["bytes"]): row
        for row in run.table("flows").iter_rows(named=True)
    }
    lines = []
    for src, dst, size, start_ns, incast in busy():
        row = found[src, dst, size]
        times = (
            row[end] // 1000 + floodgate_case._EPOCH_NS - start_ns
            for end in ("received_ps", "acked_ps")
        )
        received, acked = (round(t * (1 if incast else stretch)) / 1000 for t in times)
        lines.append(
            line(src, dst, size, start_ns, f"{acked:.3f}", f"{received:.3f}") + f",{incast:d}"
        )
    queues = run.only.measured_queues().iter_rows(named=True)
    buffer = "".join(
        f"{q['at_ps'] // 1000},{int(q['name']) - 12},{q['used_bytes']}\n"
        for q in queues
        if q["used_bytes"] and q["at_ps"]
    )
    put(case, lines, config=config, buffer=buffer)


@pytest.mark.parametrize("floodgate", [0, 1])
def test_a_small_case_from_end_to_end(floodgate: int, tmp_path: Path, validated: Validated) -> None:
    config = configuration(USE_FLOODGATE=floodgate, SYMMETRIC_ROUTING_MODE=1 - floodgate)
    lines = [line(src, dst, size, at) + f",{incast:d}" for src, dst, size, at, incast in busy()]
    case, kept = (
        put(tmp_path / "case", lines, config=config, buffer="10000,0,1\n"),
        tmp_path / "kept",
    )
    validate(cases.find(case), kept)
    as_ours(case, kept / "case", 1)
    words = (case, "-o", tmp_path / "v", "--markdown", tmp_path / "page.md")
    done = validated(*words)
    assert done.exit_code == 0, done.stderr + done.stdout
    assert "1 of 1 cases hold" in done.stdout
    about = json.loads((tmp_path / "v" / "validation.json").read_text(encoding="utf-8"))
    (verdict,) = about["cases"]
    assert (verdict["flows"], verdict["exact"]) == (128, 128)
    assert max(check["apart"] for check in verdict["checks"]) == 0
    most = next(c for c in verdict["checks"] if c["what"] == "buffer")
    assert most["theirs"] == most["ours"] > 10_000
    assert "the simulator of Floodgate's authors" in (tmp_path / "page.md").read_text("utf-8")
    # A slower result of the other simulator is detected.
    as_ours(case, kept / "case", 1.1)
    done = validated(*words)
    assert done.exit_code == 1
    assert "avg of FCT of other flows" in done.stderr
    assert "limit 3.0%" in done.stderr


@pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="the authors' results are not beside the checkout"
)
def test_the_authors_own_list_is_read_whole() -> None:
    """Read both cases. Their comparison takes a minute: see docs/validation-floodgate.md."""
    found = [case.expected() for case in cases.find(REFERENCE)]
    assert [len(one.flows) for one in found] == [5663, 5663]
    for one in found:
        assert one.totals is not None
        assert one.totals.samples
        assert one.totals.paused_us is not None
        assert 0 < len(one.totals.incasts) < 5663
    assert [
        round(one.totals.paused_us[2], 3) for one in found if one.totals and one.totals.paused_us
    ] == [6304.478, 0.0]
