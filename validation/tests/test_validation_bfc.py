"""Cases of the simulator of BFC's authors: read, run as that simulator would, compared."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from backwater import load
from validation import bfc_case, cases, verdicts
from validation.bfc_case import BfcCase
from validation.limits import Verdict, compare, validate
from validation.observed import FlowKey, FlowTimes, Observed

Validated = Callable[..., Result]

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "bfc-ns3"

HEAD = "src,dst,size_bytes,npkts,start_ns,rcv_fct_ns,snd_fct_ns,base_ns,slowdown"
TOPOLOGY = """\
# 4 hosts 0-3; ToR 4-5; spine 6-7; links a,b,Gbps,delay_ns
0,4,100,1000
1,4,100,1000
2,5,100,1000
3,5,100,1000
4,6,100,1000
4,7,100,1000
5,6,100,1000
5,7,100,1000
"""
CONFIG = "\nCREATE_INCAST 1\nFLOW_SIZE_IN_INCAST 20\nAPP_START_TIME 1.0\nWORKLOAD W4\nQCOUNT 36\n"


def line(src: int, dst: int, packets: int, start_ns: int, fct_ns: float, size: int = 0) -> str:
    size = size or packets * 1000
    return f"{src},{dst},{size},{packets},{10**9 + start_ns},1,{fct_ns},9999.5,1"


def put(folder: Path, lines: list[str], buffer: str | None = None, config: str = CONFIG) -> Path:
    """Write a case in the layout of the reference, with the network file in the folder above."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "bfc_topology.csv").write_text(TOPOLOGY, encoding="ascii")
    (folder / "config.txt").write_text(config, encoding="ascii")
    text = "\n".join([HEAD, *lines]) + "\n"
    (folder / "flows_fct.csv.gz").write_bytes(gzip.compress(text.encode()))
    if buffer is not None:
        packed = gzip.compress(buffer.encode())
        (folder / "buffer_10us_t_switch_bytes.csv.gz").write_bytes(packed)
    return folder


def one(root: Path) -> BfcCase:
    (found,) = cases.find(root)
    assert isinstance(found, BfcCase)
    return found


def test_the_network_and_the_time_alone_are_those_of_the_authors() -> None:
    network = bfc_case._AUTHORS
    assert (network.hosts, network.nodes, len(network.links)) == (128, 144, 192)
    # From the list of the reference; a single packet counts its own size.
    assert network.alone_ns(17, 106, 769_000) == pytest.approx(69760)
    assert network.alone_ns(127, 123, 34_000) == pytest.approx(6800)
    assert network.alone_ns(91, 7, 596) == pytest.approx(8190.72)
    assert network.alone_ns(0, 1, 1000) == pytest.approx(4160)


def test_a_case_is_found_and_read(tmp_path: Path) -> None:
    lines = [
        line(2, 0, 20, 5000, 12000),
        line(0, 1, 1, 0, 4300.4, size=596),
        line(0, 3, 3, 5000, -1),
        line(1, 1, 1, 6000, 77),
    ]
    put(tmp_path / "a" / "x", lines, "10000,4,0\n10000,5,3060\n20000,4,1020\n20000,5,0\n")
    case = one(tmp_path)
    assert (case.name, case.simulator) == ("a/x", bfc_case.SIMULATOR)
    got = case.expected()
    assert got == Observed(
        # Ordered by start. A flow of 20 packets is an incast here. Unfinished flows are skipped.
        {
            FlowKey(0, 1, 0, 100, 596): FlowTimes(10**9, 4300, 9999.5),
            FlowKey(2, 0, 1, 200, 20_000): FlowTimes(10**9 + 5000, 12000, 9999.5),
        },
        None,
        [0, 0, 1020, 3060],
        bfc_case._EDGES["W4"],
    )
    assert [c.name for c in cases.find(tmp_path / "a" / "x")] == ["x"]
    text = case._scenario()
    for said in ('preset = "bfc"', 'profile = "nsdi22-code"', 'probe = "10000ns"'):
        assert said in text
    assert 'epoch = "1000000000ns"' in text
    assert "queues" not in text
    assert case._flow_csv().splitlines()[1:] == [
        "0,1,596,0ns,100",
        "2,0,20000,5000ns,200",
        "0,3,3000,5000ns,100",
    ]
    assert case._warnings == (
        "1 flows of a host to itself are left out",
        "1 flows did not finish there; they run here, uncompared",
    )


def test_a_list_alone_is_enough(tmp_path: Path) -> None:
    lines = [
        "incast,dst,src,start_ns,bytes,snd_fct_ns",
        "0,1,0,2000000100,1500,5000",
        "1,127,0,2000000000,700,9000",
    ]
    (tmp_path / "flows.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    case = one(tmp_path)
    # A flow of more than one packet has full packets (BFCC-01). Its time alone is computed.
    assert case.expected().flows == {
        FlowKey(0, 127, 0, 200, 700): FlowTimes(2 * 10**9, 9000, 8000 + 4 * 56),
        FlowKey(0, 1, 1, 100, 2000): FlowTimes(2 * 10**9 + 100, 5000, 4000 + 3 * 80),
    }
    assert case.expected().buffer is None
    assert "128 hosts" in " ".join(case._warnings)
    assert "buffers are not compared" in " ".join(case._warnings)


def test_other_queues_and_workloads(tmp_path: Path) -> None:
    config = CONFIG.replace("W4", "W3").replace("36", "132")
    put(tmp_path / "x", [line(0, 1, 1, 0, 4300)], config=config)
    assert one(tmp_path)._edges[-1] == 4_096_000
    assert "queues = 128\ndynamic.table = 206\n" in one(tmp_path)._scenario()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,1,1"], r"flows_fct.csv.gz:2: 3 fields, the head has 9"),
        ([line(0, 4, 1, 0, 5)], r"gz:2: host 4 does not exist; the network has hosts 0 to 3"),
        ([line(0, 1, 1, 0, 5).replace("1000000000", "soon")], r"start_ns should be .* `soon`"),
        ([line(0, 1, 1, -5, 5)], "before APP_START_TIME"),
        ([line(0, 1, 1, 0, -1)], "no flow that finished"),
        ([], "no flow in it"),
    ],
)
def test_what_is_wrong_is_told(lines: list[str], message: str, tmp_path: Path) -> None:
    put(tmp_path / "x", lines)
    (verdict,) = validate(cases.find(tmp_path))
    assert re.search(message, verdict.failed or "")


@pytest.mark.parametrize("time", ["nan", "inf", "soon"])
def test_a_start_that_is_no_number_is_told(time: str, tmp_path: Path) -> None:
    put(tmp_path / "x", [line(0, 1, 1, 0, 5)], config=CONFIG.replace("TIME 1.0", f"TIME {time}"))
    (verdict,) = validate(cases.find(tmp_path))
    assert f"APP_START_TIME should be a number, found `{time}`" in (verdict.failed or "")


def test_a_broken_case_fails_and_stops_no_other(tmp_path: Path) -> None:
    put(tmp_path / "x", [line(0, 1, 1, 0, 4300)], buffer="10000,4\n")
    put(tmp_path / "y", [line(0, 1, 1, 0, 4300)])
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "flows_fct.csv.gz").write_bytes(b"no gzip")
    found = validate(cases.find(tmp_path))
    assert [(v.name, v.held) for v in found] == [("x", False), ("y", True), ("z", False)]
    assert "expected `ns,switch,bytes`" in (found[0].failed or "")
    assert "cannot be read" in (found[2].failed or "")
    # There is no limit for a single flow.
    assert [v.promised for v in found] == [False, False, False]
    assert verdicts.table(found)[1][1][-1] == ("no limit", True)


def told(scale: float, long: float = 1.0, buffer: int = 100_000) -> Observed:
    """Return results of 250 small flows, 20 large ones, and 30 of an incast."""
    sizes = [(1000, 100)] * 250 + [(13_000_000, 100)] * 20 + [(20_000, 200)] * 30
    flows = {}
    for i, (size, port) in enumerate(sizes):
        fct = (5000 + 10 * i) * scale * (long if size > 1000 else 1.0)
        flows[FlowKey(0, 1, i, port, size)] = FlowTimes(0, round(fct), 5000.0)
    return Observed(flows, None, [0] * 90 + [buffer] * 10, bfc_case._EDGES["W4"])


def compared(ours: Observed) -> Verdict:
    return compare("x", bfc_case.SIMULATOR, told(1), ours)


def test_limits() -> None:
    assert compared(told(1.04)).held
    assert not compared(told(1.06)).held
    # There is no limit for bins of few flows and for the largest buffer.
    assert compared(told(1, long=3)).held
    assert compared(told(1, buffer=110_000)).held
    assert not compared(told(1, buffer=120_000)).held
    verdict = compared(told(1.04))
    assert [one.name for one in verdict.bins] == [
        "1000 to 1000 B",
        "13000000 to 13000000 B",
        "20000 to 20000 B, incast",
    ]
    average = verdict.checks[1]
    assert (average.what, average.limit) == ("avg", 0.05)
    assert average.theirs == pytest.approx((5000 + 10 * 124.5) / 5000)
    fewer = told(1)
    fewer.flows.popitem()
    assert verdicts.broken(compared(fewer)) == ["300 flows finished there and 299 here"]


def test_with_several_seeds_the_other_simulator_is_held_to_their_range() -> None:
    def against(*ours: Observed) -> Verdict:
        return compare("x", bfc_case.SIMULATOR, told(1), *ours)

    # No seed alone is within the limit, but the authors' value is between the seeds.
    around = against(told(0.9, buffer=90_000), told(1.3, buffer=130_000), told(1.1))
    assert (around.held, around.seeds) == (True, 3)
    assert not against(told(0.9)).held
    average = around.checks[1]
    assert (average.what, average.apart) == ("avg", 0)
    assert average.spread == pytest.approx((0.9 * average.theirs, 1.3 * average.theirs))
    assert average.ours == pytest.approx(1.1 * average.theirs)
    # Outside the range the distance is measured from its edge.
    near, far = against(told(1.04), told(1.2)), against(told(1.06), told(1.2))
    assert (near.held, far.held) == (True, False)
    assert near.checks[1].apart == pytest.approx(0.04, rel=1e-3)
    reason = verdicts.broken(far)[0]
    theirs = average.theirs
    assert f"{theirs:.6g} there, {1.06 * theirs:.6g} to {1.2 * theirs:.6g} here" in reason
    # A missing flow in one seed is reported.
    fewer = told(1)
    fewer.flows.popitem()
    assert verdicts.broken(against(told(1), fewer)) == ["300 flows finished there and 299 here"]


def busy() -> list[str]:
    """Return enough small flows for a limit, larger flows, and an incast of 20 packets each."""
    lines = [line(i % 4, (i + 1 + i // 4 % 3) % 4, 1, 900 * i, 1) for i in range(220)]
    lines += [line(i % 2, 2 + i % 2, 60 + i, 100_000 + 100 * i, 1) for i in range(24)]
    lines += [line(src, 0, 20, 50_000, 1) for src in (1, 2, 3)]
    return lines


def as_ours(case: Path, kept: Path, stretch: float) -> None:
    """Write our results of a case as those of the other simulator, with slower small flows."""
    run = load(kept / "run")
    lines = []
    for row in run.table("flows").sort("id").iter_rows(named=True):
        fct_ns = (row["acked_ps"] - row["start_ps"]) / 1000
        packets = -(-row["bytes"] // 1000)
        fct_ns *= stretch if packets == 1 else 1
        start_ns = row["start_ps"] // 1000
        lines.append(line(row["src"], row["dst"], packets, start_ns, fct_ns, row["bytes"]))
    samples = run.only.measured_queues().iter_rows(named=True)
    buffer = "".join(f"{s['at_ps'] // 1000},{s['name']},{s['used_bytes']}\n" for s in samples)
    put(case, lines, buffer)


def test_a_small_case_from_end_to_end(tmp_path: Path, validated: Validated) -> None:
    case, kept = put(tmp_path / "case", busy(), "10000,4,0\n10000,5,0\n"), tmp_path / "kept"
    validate(cases.find(case), kept)
    as_ours(case, kept / "case", 1)
    words = (case, "-o", tmp_path / "v", "--markdown", tmp_path / "page.md")
    words = (*words, "--seeds", "1")
    done = validated(*words)
    assert done.exit_code == 0, done.stderr
    assert "1 of 1 cases hold" in done.stdout
    about = json.loads((tmp_path / "v" / "validation.json").read_text(encoding="utf-8"))
    (verdict,) = about["cases"]
    assert (verdict["flows"], verdict["promised"]) == (247, True)
    assert max(check["apart"] for check in verdict["checks"]) < 1e-3
    assert {check["what"] for check in verdict["checks"]} >= {"avg", "p99", "buffer"}
    # Some packets waited.
    most = next(c for c in verdict["checks"] if c["of"] == "max in B")
    assert most["theirs"] == most["ours"] > 10_000
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "20000 to 20000, incast | 3 |" in page
    assert "![case, buffers](page-case-buffers.png)" in page
    assert (tmp_path / "page-case-slowdown.png").stat().st_size > 1000
    # A slower result of the other simulator is detected.
    as_ours(case, kept / "case", 1.1)
    done = validated(*words)
    assert done.exit_code == 1
    assert "avg of 1000 to 1000 B" in done.stderr
    assert "limit 5.0%" in done.stderr


def test_seeds_draw_other_paths(tmp_path: Path, validated: Validated) -> None:
    case, kept = put(tmp_path / "case", busy()), tmp_path / "kept"
    page = tmp_path / "page.md"
    validate(cases.find(case), kept, seeds=1)
    as_ours(case, kept / "case", 1)
    done = validated(case, "--seeds", 3, "--keep", kept, "--markdown", page)
    assert done.exit_code == 0, done.stderr
    digests = {
        load(kept / "case" / inner / "run").only.digest for inner in (".", "seed-2", "seed-3")
    }
    assert len(digests) == 3
    # The result of the first seed is in the range of the three seeds.
    assert "| 0.00% |" in page.read_text(encoding="utf-8")
    assert "The range of Backwater's 3 seeds / the simulator of BFC's authors" in page.read_text()
    done = validated(case, "--seeds", 0)
    assert done.exit_code == 2
    assert "--seeds" in done.stderr


@pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="the authors' results are not beside the checkout"
)
def test_the_authors_themselves() -> None:
    found = validate(cases.find(REFERENCE))
    assert found
    assert {v.name: verdicts.broken(v) for v in found if not v.held} == {}
    assert [w for v in found for w in v.warnings] == []
    assert all(v.promised and v.buffers for v in found)
