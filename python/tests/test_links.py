"""Failing links and deadlocks as the command line and Python show them. Rules in specs/links.md."""

import json
from pathlib import Path

import pytest

from backwater.results.columns import audit
from tools import simulated

POD = """\
name = "pod"

[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }

[[topology.failures]]
links = ["spine0--leaf3", "spine1--leaf0"]

[[topology.failures]]
links = ["host0--leaf0"]
at = "150us"
until = "200us"

[switch]
buffer = "2MB"

[[traffic]]
name = "across"
pattern = "list"
flows = [FLOWS]

[scheme]
preset = "line-rate"
pfc.xoff = "20KB"

[run]
until = "20ms"
"""


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pod whose failed links close circles, with every host sending across it."""
    flows = ", ".join(
        f'{{ src = {src}, dst = {12 - src // 4 * 4 + src % 4}, bytes = "400KB", start = "{k}us" }}'
        for k in range(8)
        for src in range(16)
    )
    path = tmp_path_factory.mktemp("pod") / "pod.toml"
    path.write_text(POD.replace("FLOWS", flows), encoding="utf-8")
    return path


def test_links_says_what_is_down_when_and_whom_that_cuts_off(command, pod):
    """LNK-04, LNK-12, LNK-13, LNK-40."""
    said = command("links", pod)
    lines = said.stdout.splitlines()
    assert lines[0] == "from the start: leaf0--spine1, leaf3--spine0 down"
    assert lines[1].startswith("  cyclic buffer dependency: ")
    ports = lines[1].split(": ")[1].split(", ")
    assert ports[0] == ports[-1]
    assert len(ports) == 5
    assert lines[2].startswith("from 150 µs on: host0--leaf0, leaf0--spine1")
    assert lines[3] == "  cut off: host0"
    assert lines[5].startswith("from 200 µs on: leaf0--spine1, leaf3--spine0 down")
    told = json.loads(command("links", pod, "--json").stdout)
    assert [epoch["at_ps"] for epoch in told] == [0, 150_000_000, 200_000_000]
    assert told[1]["cut_off"] == ["host0"]
    whole = command("links", pod, "--set", "topology.failures=[]")
    assert whole.stdout == (
        "from the start: every link is up\n  no cyclic buffer dependency: no deadlock\n"
    )


def test_links_tells_when_links_fail_and_when_routes_follow(command, pod):
    """LNK-12: a failure is reported at its own time, reconvergence beside it."""
    failures = 'topology.failures=[{links=["host0--leaf0"], at="150us", until="200us"}]'
    late = ("--set", failures, "--set", 'topology.reconvergence="40us"')
    states = json.loads(command("links", pod, *late, "--json").stdout)
    times = [(state["at_ps"], state["routes_ps"]) for state in states]
    assert times == [(0, 0), (150_000_000, 190_000_000), (200_000_000, 240_000_000)]
    lines = command("links", pod, *late).stdout.splitlines()
    assert "from 150 µs on: host0--leaf0 down; routes follow at 190 µs" in lines
    assert "from 200 µs on: every link is up; routes follow at 240 µs" in lines
    warned = command("check", pod, *late)
    assert "from 150us on most hosts cannot reach host0" in warned.stdout + warned.stderr


def test_check_warns_of_the_circle_and_wrong_names_are_refused(command, pod):
    """LNK-04, LNK-40."""
    said = command("check", pod)
    assert "PFC can deadlock" in said.stdout + said.stderr
    wrong = command("links", pod, "--set", 'topology.failures=[{links=["leaf0--spine9"]}]', code=2)
    assert 'no node "spine9"' in wrong.stderr


def test_a_deadlock_ends_a_run_if_asked_and_is_told_in_any_case(pod, tmp_path):
    """LNK-41, LNK-42, LNK-43."""
    run = simulated(pod, ["run.until=8ms"], out=tmp_path / "on")
    assert run.deadlocks
    first = run.deadlocks[0]
    assert first["at_ps"] <= first["seen_ps"] < 1_000_000_000
    assert len(first["ports"]) == 4
    assert first["bytes"] > 0
    assert set(first["flows"]) <= set(run.table("flows")["id"].to_list())
    assert run.summary["counters"]["deadlocks"] == len(run.deadlocks)
    assert any("deadlock(s), the first at" in w for w in run.summary["warnings"])
    ended = simulated(pod, ["run.on_deadlock=end"], out=tmp_path / "end")
    assert ended.summary["ending"] == "deadlock"
    assert ended.deadlocks == [first]
    assert ended.ok, "it was requested"
    assert audit(ended.summary) == "deadlock"
    assert ended.summary["counters"]["deadlocks"] == 1
    said = ended.summary["stall"][0]
    assert said.startswith("deadlock: ")


def test_links_that_change_are_counted_and_no_slowdown_is_checked(pod, tmp_path):
    """LNK-01, LNK-30."""
    run = simulated(pod, scheme="bfc", out=tmp_path / "bfc")
    assert run.ok
    assert run.summary["counters"]["link_changes"] == 2
    assert run.summary["counters"]["reroutes"] == 2
    assert "slowdown" not in run.summary["checks"]
    assert run.summary["drops"]["link"] > 0
    assert run.table("ports")["dropped_link"].sum() == run.summary["drops"]["link"]
    assert run.summary["ending"] == "drained"
    early = simulated(pod, ["run.until=100us"], scheme="bfc", out=tmp_path / "e")
    assert any("no link failed or came back" in w for w in early.summary["warnings"])
