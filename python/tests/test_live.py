"""Scenarios on real frames, as a user calls them."""

import json
from pathlib import Path

import pytest
from test_wire import WRONG, tshark

import backwater
from conftest import TINY, Process
from tools import absent, simulated

SHORT = TINY.replace('"400us"', '"40us"').replace('every = "100us"', 'every = "20us"')


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SHORT)
    return path


@pytest.fixture(scope="module")
def live(process: Process, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison on real frames, with a capture of the links of a host."""
    folder = tmp_path_factory.mktemp("live")
    path = folder / "tiny.toml"
    path.write_text(SHORT)
    out = folder / "out"
    what = ("--check", "--json", "--schemes", "bfc,hpcc", "--capture", "host0:*")
    said = process("live", path, *what, "-o", out)
    if "user namespace" in said.stderr:
        absent("a system that allows user namespaces")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert list(told) == ["bfc", "hpcc"]
    for scheme, one in told.items():
        assert one["simulator"] == {"digest": one["digest"], "difference": None}
        assert one["nodes"] == 12
        assert one["frames"] > 1000
        assert json.loads((out / scheme / "lockstep.json").read_text()) == one
    return out


# LIV-11
def test_results_are_those_of_the_simulator(live, scenario, tmp_path):
    assert "BFC" in (live / "report.html").read_text()
    one = backwater.load(live / "bfc").only
    other = simulated(scenario, scheme="bfc", out=tmp_path / "simulated")
    assert one.summary["digest"] == other.summary["digest"]
    assert one.table("flows").equals(other.table("flows"))
    assert one.table("ports").equals(other.table("ports"))
    assert one.ok


def test_tshark_reads_the_frames(live):
    for scheme in ("bfc", "hpcc"):
        frames = tshark(live / scheme / "capture.pcapng", ["bw.message", *WRONG])
        assert sum(frame["bw.message"] == "0" for frame in frames) > 10
        assert {frame[name] for frame in frames for name in WRONG} == {""}


def test_what_cannot_be_done_is_refused(process, scenario, tmp_path):
    said = process("live", scenario, "--scheme", "bfc", "--schemes", "bfc,hpcc")
    assert said.returncode == 2
    ideal = ("--scheme", "dcqcn", "--set", "scheme.recovery=ideal")
    said = process("live", scenario, *ideal, "-o", tmp_path / "out")
    if "user namespace" in said.stderr:
        absent("a system that allows user namespaces")
    assert said.returncode == 1
    assert "cannot run in lockstep" in said.stderr
    assert "ideal retransmission" in said.stderr
    assert not (tmp_path / "out" / "summary.json").exists()
