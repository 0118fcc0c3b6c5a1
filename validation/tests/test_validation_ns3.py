"""Imports files of ns-3, runs them with its profile, exports the results, and compares them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from conftest import Backwater

Validated = Callable[..., Result]

REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "hpcc-ns3"

CONFIG = """\
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
PACKET_PAYLOAD_SIZE 1000
SIMULATOR_STOP_TIME 2.11
CC_MODE {mode}
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 40Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s
L2_ACK_INTERVAL 1
HAS_WIN {window}
GLOBAL_T 1
VAR_WIN {window}
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 12
QLEN_MON_START 2000000000
QLEN_MON_END 2000100000
"""
TOPOLOGY = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n"
FLOWS = "4\n1 0 3 100 1000 2\n2 0 3 100 20000 2.00001\n2 0 3 200 999 2.00005\n0 1 3 100 1 2.00005\n"
MODES = {"dcqcn": (1, 0), "hpcc": (3, 1), "timely": (7, 0), "dctcp": (8, 1)}


@pytest.fixture(params=MODES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    mode, window = MODES[request.param]
    folder = tmp_path / request.param
    folder.mkdir()
    for name, text in (("topology", TOPOLOGY), ("flow", FLOWS)):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    text = CONFIG.format(mode=mode, window=window)
    (folder / "config.txt").write_text(text, encoding="utf-8")
    return folder


def test_import_run_export_validate(
    case: Path, tmp_path: Path, command: Backwater, validated: Validated
) -> None:
    scenario, run, out = tmp_path / "s.toml", tmp_path / "run", tmp_path / "out"
    for words in (
        ("import", "ns3", case / "config.txt", "-o", scenario),
        ("check", scenario),
        ("run", scenario, "--profile", "ns3", "-o", run),
        ("export", "ns3", run, "-o", out),
    ):
        done = command(*words)
        assert "warning" not in done.stderr or words[0] == "run"
    got = [line.split() for line in (out / "fct.txt").read_text(encoding="ascii").splitlines()]
    told = {(x[0], x[1], x[2], x[3], x[4]) for x in got}
    assert told == {
        ("0b000101", "0b000001", "10000", "100", "1000"),
        ("0b000201", "0b000001", "10000", "100", "20000"),
        ("0b000201", "0b000001", "10001", "200", "999"),
        ("0b000001", "0b000101", "10000", "100", "1"),
    }
    wanted = {"1000": 2_000_000_000, "20000": 2_000_010_000, "999": 2_000_050_000}
    for x in got:
        # ns-3 truncates a decimal start to nanoseconds, so it may be one nanosecond earlier.
        assert wanted.get(x[4], 2_000_050_000) - int(x[5]) in (0, 1)
    assert (out / "qlen.txt").read_text(encoding="ascii").startswith("time: 2000100000\n3 1 ")
    # Use our own output as the output of ns-3: every flow is equal to the nanosecond.
    (case / "fct.txt").write_bytes((out / "fct.txt").read_bytes())
    (case / "pfc.txt").write_bytes((out / "pfc.txt").read_bytes())
    done = validated(case, "-o", tmp_path / "v", "--markdown", tmp_path / "v" / "p.md")
    assert done.exit_code == 0, done.stderr
    assert "1 of 1 cases hold" in done.stdout
    # A flow that takes 1 % longer in ns-3 is detected.
    worse = (out / "fct.txt").read_text(encoding="ascii").splitlines()
    words = worse[0].split()
    words[6] = str(int(words[6]) * 101 // 100)
    (case / "fct.txt").write_text("\n".join([" ".join(words), *worse[1:]]), encoding="ascii")
    done = validated(case, "-o", tmp_path / "v")
    assert (done.exit_code, "limit 0.5%" in done.stderr) == (1, True)


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="ns-3's own results are not beside the checkout")
@pytest.mark.parametrize("control", MODES)
def test_ns3_itself(control: str, tmp_path: Path) -> None:
    from validation.cases import find
    from validation.limits import validate
    from validation.verdicts import broken

    found = validate([case for case in find(REFERENCE) if case.name.endswith(f"/{control}")])
    assert len(found) >= 8
    assert {v.name: broken(v) for v in found if not v.held} == {}
    assert [w for v in found for w in v.warnings] == []
