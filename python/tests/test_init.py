"""`backwater init` writes scenarios that pass the check; `check --explain` says what they mean."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backwater
from backwater.scenario import draft, thresholds
from conftest import COMMAND

QUANTITIES = {"rate": "25Gbps", "uplink": "100Gbps", "delay": "600ns", "buffer": "16MB"}


def test_a_first_scenario_passes_the_check_and_names_the_next_commands(command, tmp_path):
    path = tmp_path / "mine.toml"
    done = command("init", path)
    assert f"backwater inspect {path}" in done.stdout
    compare = re.search("backwater (run .* --schemes .*)", done.stdout)
    # What was answered for schemes is in the file, too, as the command that compares them.
    named = compare[1].replace(str(path), path.name)
    assert f"#   backwater {named} -o out/mine\n" in path.read_text(encoding="utf-8")
    (tmp_path / "few").mkdir()
    short = [*compare[1].split(), "--set", "run.until=10us", "-o", tmp_path / "few"]
    command(*short)
    assert command("check", path).stdout == f"{path}: ok\n"
    again = command("init", path, code=2)
    assert "is there already" in again.stderr
    command("init", path, "--force")


def test_every_option_is_in_the_scenario(command, tmp_path):
    path = tmp_path / "a b.toml"
    words = ["--hosts", "40", "--leaves", "5", "--spines", "3", "--load", "0.3", "--incast", "0"]
    words += ["--sizes", "google-allrpc@bfc", "--duration", "1ms", "--schemes", "dcqcn,hpcc"]
    for name, value in QUANTITIES.items():
        words += [f"--{name}", value]
    command("init", path, *words)
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    assert scenario["name"] == "a-b"
    assert scenario["topology"] == {
        "kind": "leaf-spine",
        "leaves": 5,
        "spines": 3,
        "hosts_per_leaf": 8,
        "link": {"rate": "25Gbps", "delay": "600ns"},
        "uplink": {"rate": "100Gbps", "delay": "600ns"},
    }
    assert scenario["switch"] == {"buffer": "16MB"}
    (background,) = scenario["traffic"]
    assert background["sizes"] == "google-allrpc@bfc"
    assert background["load"] == {"fraction": "0.3", "of": "core"}
    assert background["window"] == ["0us", "1ms"]
    assert scenario["scheme"] == {"preset": "dcqcn"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--hosts 30 --leaves 4", "30 hosts cannot be shared evenly among 4 leaves"),
        ("--rate 100", "has no unit"),
        ('--rate 100Gbps"]', "has a character that no rate has"),
        ("--sizes web", "web-search@"),
        ("--schemes bfc,bcf", 'there is no "bcf"'),
        ("--schemes ,", "name at least one"),
        ("--schemes bfc,,hpcc", "`bfc,,hpcc` has an empty name"),
        ("--hosts 8 --incast 8", "an incast of 8 needs more than 8 hosts"),
    ],
)
def test_what_makes_no_scenario_is_told_and_nothing_is_written(command, tmp_path, words, expected):
    done = command("init", tmp_path / "mine.toml", *words.split(), code=2)
    assert done.stdout == ""
    assert expected in done.stderr
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=25)
@given(
    hosts=st.integers(2, 200),
    rate=st.sampled_from(["10Gbps", "100Gbps", "200Gbps"]),
    incast=st.integers(0, 300),
)
def test_what_is_not_said_follows_from_the_rest(hosts, rate, incast):
    made = draft.changed(draft.Answers(), hosts=hosts, rate=rate)
    if made.leaves == 0:
        said = draft.mistake(made)
        assert f"{hosts} hosts cannot be shared evenly among leaves" in said
        return
    assert draft.mistake(made) is None
    assert made.hosts % made.leaves == 0
    assert made.incast < hosts
    assert (draft.mistake(draft.changed(made, incast=incast)) is None) == (incast < hosts)


def test_questions_are_asked_at_a_terminal_until_the_answer_fits(tmp_path):
    path = tmp_path / "asked.toml"
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        started = subprocess.Popen(
            [COMMAND, "init", path, "--leaves", "2"], stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        for answer in ("9", "8", "", "200", "200Gbps", "", "", "", "", "4", "hpcc"):
            terminal.write(f"{answer}\n".encode())
        said = b""
        with contextlib.suppress(OSError):  # The other end is closed.
            while part := terminal.read(4096):
                said += part
        assert started.wait(30) == 0, said.decode()
    assert b"9 hosts cannot be shared evenly among 2 leaves" in said
    assert b"has no unit" in said
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    assert scenario["topology"]["hosts_per_leaf"] == 4
    assert scenario["topology"]["link"]["rate"] == "200Gbps"
    assert scenario["traffic"][1]["degree"] == 4
    assert scenario["scheme"]["preset"] == "hpcc"


def test_ctrl_c_at_a_question_ends_it(tmp_path):
    path = tmp_path / "asked.toml"
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        started = subprocess.Popen(
            [COMMAND, "init", path], stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        said = terminal.read(20)
        # A signal just before the program waits for input is handled with the next one.
        for _ in range(120):
            started.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.wait(2)
            if started.poll() is not None:
                break
        assert started.returncode == 130
        while b"Interrupted." not in said:
            said += terminal.read(4096)
    assert b"Traceback" not in said
    assert not path.exists()


# --- What thresholds mean ---------------------------------------------------------------------

FABRIC = """\
name = "two"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }

[switch]
buffer = "2MB"
reserved = "1KB"

[[traffic]]
name = "t"
pattern = "permutation"
size = "1MB"
"""


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC, encoding="utf-8")
    return path


def test_thresholds_are_those_of_the_formulas(fabric):
    """SW-10, SW-11, SW-13, SW-18, SW-19, SW-30, by hand."""
    facts = backwater.Scenario(fabric, scheme="dcqcn").thresholds()
    (switch,) = facts["switches"]
    (port,) = switch["ports"]
    # 100 Gbps for 2 us are 25 KB; a byte for rounding, two frames of 1048 B and a PAUSE of 64 B.
    assert port["headroom_bytes"] == 25_000 + 1 + 2 * 1048 + 64
    assert switch["headroom_bytes"] == 4 * port["headroom_bytes"]
    shared = 2_000_000 - 4 * 1000 - switch["headroom_bytes"]
    assert (switch["reserved_bytes"], switch["shared_bytes"]) == (4000, shared)
    alpha = facts["admission"]["alpha"]
    assert alpha == pytest.approx(0.11, abs=1e-4)
    assert switch["xoff_alone_bytes"] == int(shared * alpha / (1 + alpha))
    assert switch["xoff_all_bytes"] == int(shared * alpha / (1 + 4 * alpha))
    assert port["ecn"] == {"kmin_bytes": 100_000, "kmax_bytes": 400_000, "pmax": 0.2}
    # A frame of 1048 B over two links of 1 us, and an ACK of 60 B back.
    assert facts["base_rtt_ps"] == 4_000_000 + 2 * (1048 + 60) * 80
    fixed = backwater.Scenario(fabric, ["scheme.pfc.xoff=1MB"], scheme="dcqcn").thresholds()
    # The pool keeps a frame for each of four ingresses.
    assert fixed["switches"][0]["xoff_alone_bytes"] == 1_000_000
    assert fixed["switches"][0]["xoff_all_bytes"] == (shared - 4 * 1048) // 4


def said_of(fabric: Path, scheme: str, *overrides: str) -> str:
    given = backwater.Scenario(fabric, overrides, scheme=scheme)
    facts, costs = given.thresholds(), given.resources(packet_bytes=1000)
    text = "\n".join(thresholds.lines(facts, costs, given.values["scheme"]))
    assert max(map(len, text.splitlines())) <= thresholds.WIDTH
    return re.sub(r" {2,}|\n {2,}", " ", text)


# SW-11: 4096 B of payload, 48 B of header, and 500 ns.
def test_the_headroom_names_its_frame_and_response_time(fabric):
    said = said_of(fabric, "dcqcn", "scheme.mtu=4096B", "scheme.pfc.response=500ns")
    # 25,000 B of 2 us and 6,250 B of 500 ns, a byte, two frames of 4144 B, 64 B.
    assert "39.6 KB for an ingress of 100 Gbps and 1 µs" in said
    assert "2 · 1 µs + 500 ns of response time" in said
    assert "counted: frames of 4144 B (mtu, header and INT) and 500 ns of response" in said
    assert "warning: pfc.response" not in said
    plain = said_of(fabric, "dcqcn")
    assert "counted: frames of 1048 B" in plain
    # 394 quanta of 512 bits at 100 Gbps.
    assert "warning: pfc.response = 0" in plain
    assert "IEEE 802.3 allows 2.02 µs at 100 Gbps" in plain


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("dcqcn", "α·S/(1 + α) = 187 KB"),
        ("dcqcn", "Kmin = 100 KB (8 µs of 100 Gbps, 1.9 BDP)"),
        ("dcqcn scheme.ecn.kmin=300KB", "PFC acts first: an ingress is paused at 187 KB"),
        ("dcqcn scheme.ecn.kmin=10KB scheme.ecn.kmax=40KB", "ECN acts first for one ingress"),
        ("dcqcn scheme.ecn.kmin=90KB scheme.ecn.kmax=100KB", "wait at all 3 other ports"),
        ("hpcc scheme.pfc.headroom=20KB", "too little: packets can be lost after a PAUSE"),
        ("hpcc scheme.pfc.xoff=20KB", "below the BDP of"),
        ("bfc", "paused at 25 KB"),
        ("dcqcn scheme.go-back-n.timeout=100us", "can time out although nothing is lost"),
    ],
)
def test_each_relation_of_the_thresholds_has_its_sentence(fabric, words, says):
    assert says in said_of(fabric, *words.split())


# SWIFT-13: base target and one switch; SWIFT-14: flow scaling; SWIFT-15: endpoint target.
# BOLT-02: three packets of 1056 B; LLR-11: 25,000 B of 2 us, three frames of 1048 B, 2048 B and 8 B
# of an acknowledgement; LLR-12: two round trips of 2 us and the last 5200 B.
def test_targets_of_swift_thresholds_of_bolt_and_buffers_of_llr_are_shown(fabric):
    swift = said_of(fabric, "swift", "scheme.swift.hop=3us")
    assert "23 µs on the longest path, with 1 of them, 5.5 times the base RTT" in swift
    assert "flow scaling adds 100 µs" in swift
    assert "the target of the delay in both hosts is 100 µs" in swift
    late = said_of(fabric, "swift", "scheme.swift.base_target=1us", "scheme.swift.fs_range=off")
    assert "below the base RTT" in late
    assert "flow scaling" not in late
    bolt = said_of(fabric, "bolt")
    assert "3.17 KB or more in its queue (3 packets, 253 ns of 100 Gbps)" in bolt
    assert "5 KB or more" in said_of(fabric, "bolt", "scheme.bolt-switch.threshold=5KB")
    llr = said_of(fabric, "dcqcn", "scheme.link=llr")
    assert "at 100 Gbps and 1 µs: a port keeps up to 30.2 KB" in llr
    assert "after 4.83 µs without progress" in llr
    assert "LLR" not in said_of(fabric, "dcqcn")


def test_every_scheme_can_be_explained(fabric):
    for entry in backwater.catalogue("schemes"):
        said = said_of(fabric, entry["name"])
        assert "switch0: 4 ports" in said, entry["name"]
        assert "nan" not in said
        assert "None" not in said
    assert json.dumps(backwater.Scenario(fabric).thresholds())


def test_rails_mtu_and_response_are_in_the_scenario(command, tmp_path):
    path = tmp_path / "gpus.toml"
    words = ("--hosts", 16, "--rails", 4, "--rate", "400Gbps", "--mtu", "4096B")
    command("init", path, *words, "--response", "500ns", "--yes")
    scenario = tomllib.loads(path.read_text(encoding="utf-8"))
    kind = {name: scenario["topology"][name] for name in ("kind", "servers", "gpus_per_server")}
    assert kind == {"kind": "rail-optimised", "servers": 4, "gpus_per_server": 4}
    assert (scenario["scheme"]["mtu"], scenario["scheme"]["pfc"]["response"]) == ("4096B", "500ns")
    found = backwater.Scenario(path).check()
    assert [problem for problem in found if problem["severity"] == "error"] == []
    for hosts in (4, 18):
        wrong = command(
            "init", tmp_path / "no.toml", "--hosts", hosts, "--rails", 4, "--yes", code=2
        )
        assert "servers of 4 GPUs" in wrong.stderr
