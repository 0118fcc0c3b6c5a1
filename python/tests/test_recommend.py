"""Recommended thresholds: closed forms, their effect in a run, and the search around them."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

import backwater
from backwater.running.search import Steps, scaled, search
from backwater.scenario.recommend import (
    ALLOWED_RESPONSE_PS,
    Thresholds,
    ecn_bound_bytes,
    headroom_bytes,
    least_alpha,
    recommend,
)

STAR = """\
name = "star"
topology = { kind = "star", hosts = 9, link = { rate = "100Gbps", delay = "1us" } }

[[traffic]]
name = "incast"
pattern = "incast"
degree = 8
total = "4MB"
every = "500us"
window = ["0us", "400us"]
"""

MIXED = """\
name = "mixed"

[topology]
kind = "leaf-spine"
leaves = 3
hosts_per_leaf = 4
spines = 2
link = { rate = "100Gbps", delay = "1us" }
uplink = { rate = "400Gbps", delay = "1us" }

""" + STAR[STAR.index("[[traffic]]") :]

BLIND = [
    'scheme.control="line-rate"',
    'scheme.signal="none"',
    "scheme.pfc.xoff=20KB",
    "scheme.pfc.response=2us",
]
"""Senders that only PFC stops, at neighbours that take 2 us to stop."""


@pytest.fixture
def star(tmp_path: Path) -> Path:
    path = tmp_path / "star.toml"
    path.write_text(STAR, encoding="utf-8")
    return path


def test_headroom_is_that_of_802_1qbb():
    # 2 us of cable at 100 Gbps are 25,000 B; two frames of 1048 B, a PAUSE, and 1 B for rounding.
    assert headroom_bytes(10**11, 10**6, 0, 1048) == 25_000 + 1 + 2 * 1048 + 64
    # 500 ns of response at 400 Gbps are 25,000 B more.
    assert headroom_bytes(4 * 10**11, 10**6, 500_000, 4144) == 100_000 + 25_000 + 1 + 2 * 4144 + 64
    assert pytest.approx(2.02e6, rel=0.01) == ALLOWED_RESPONSE_PS


def test_the_headroom_is_that_of_the_simulator(star):
    facts = backwater.Scenario(star, ["scheme.pfc.response=2us"], scheme="dcqcn").thresholds()
    (switch,) = facts["switches"]
    for port in switch["ports"]:
        own = headroom_bytes(port["rate_bps"], port["delay_ps"], 2_000_000, facts["frame_bytes"])
        assert own == port["headroom_bytes"]


def test_the_ecn_bound_is_that_of_the_dcqcn_paper():
    # Section 4: 12 MB, 32 ports of 40 Gbps, eight classes, headroom 22.4 KB, beta = 8: 21.7 KB.
    # Its beta / 8 is alpha here.
    shared = 12e6 - 8 * 32 * 22.4e3
    assert ecn_bound_bytes(shared, 8 / 8, 32, 8) == pytest.approx(21.75e3, rel=0.01)


def test_faster_ports_count_more_in_the_ecn_bound(tmp_path):
    # Uplinks of four times the rate have thresholds of four times the size.
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED, encoding="utf-8")
    _, reasons = recommend(backwater.Scenario(path, scheme="dcqcn").thresholds())
    by_name = {reason.name: reason for reason in reasons}
    bound = by_name["kmin below PFC, all ports"]
    assert "n = 12 ports" in bound.rule  # a spine with 3 ports of 400 Gbps
    assert by_name["kmin at 400 Gbps"].value == 4 * by_name["kmin"].value


def test_alpha_is_the_smallest_with_which_ecn_acts_first():
    # 10 queues of 30 KB: alpha S / (1 + alpha) is 200 KB with 1/4 and 333 KB with 1/2.
    assert least_alpha(1e6, 30_000, 10, 1) == 0.5
    assert least_alpha(1e6, 1e6, 10, 1) is None


def test_a_small_headroom_loses_packets_and_the_recommended_does_not(star, tmp_path):
    frame = backwater.Scenario(star, scheme="dcqcn").thresholds()["frame_bytes"]
    enough = headroom_bytes(10**11, 10**6, 2_000_000, frame)

    def dropped(headroom: int) -> int:
        changes = [*BLIND, f"scheme.pfc.headroom={headroom}B", 'run.on_loss="warn"']
        out = tmp_path / str(headroom)
        run = backwater.run(backwater.Scenario(star, changes, scheme="dcqcn"), out=out).only
        assert run.table("pauses").height > 0
        return int(run.summary["drops"]["total"])

    assert dropped(enough) == 0
    # The headroom of a device that stops at once.
    assert dropped(headroom_bytes(10**11, 10**6, 0, frame)) > 0


def test_schemes_without_pfc_or_ecn_are_refused(star):
    with pytest.raises(backwater.ScenarioError, match="PFC and ECN"):
        recommend(backwater.Scenario(star, scheme="ndp").thresholds())


def test_a_headroom_that_does_not_fit_is_refused(star):
    facts = backwater.Scenario(star, ["switch.buffer=2MB"], scheme="dcqcn").thresholds()
    with pytest.raises(backwater.ScenarioError, match="does not fit"):
        recommend(facts, 40_000_000)


@pytest.mark.parametrize("optimum", [(0, 0, 0), (2, -1, 0), (-3, 1, 2)])
def test_the_search_finds_a_planted_optimum(optimum):
    batches: list[Sequence[Steps]] = []

    def evaluate(points: Sequence[Steps]) -> dict[Steps, float]:
        batches.append(points)
        values = {
            p: 1.0 + sum((a - b) ** 2 for a, b in zip(p, optimum, strict=True)) for p in points
        }
        return {p: math.inf if p[0] > 2 else value for p, value in values.items()}

    known = search(3, evaluate, 100)
    assert min(known, key=known.__getitem__) == optimum
    evaluated = [point for batch in batches for point in batch]
    assert len(evaluated) == len(set(evaluated)) == len(known)
    assert len(search(3, evaluate, 5)) == 5


def test_steps_are_doublings():
    start = Thresholds(0, 0.125, 1000, 4000, 10**11)
    there = scaled(start, (1, -1, 2))
    assert (there.kmin_bytes, there.kmax_bytes, there.alpha) == (2000, 2000, 0.5)


def test_the_command_simulates_and_reports(star, tmp_path, command):
    words = ("recommend", star, "--scheme", "dcqcn", "-o", tmp_path / "out", "--json")
    minimize = ("--minimize", "fct.incast.slowdown.p99")
    by_rule = json.loads(command(*words, "--runs", 0).stdout)
    assert by_rule["simulated"] == []
    assert by_rule["overrides"] == by_rule["by_rule"]
    by_rule_kmin = next(
        int(one.removeprefix("scheme.ecn.kmin=").removesuffix("B"))
        for one in by_rule["by_rule"]
        if one.startswith("scheme.ecn.kmin=")
    )
    done = command(*words, *minimize, "--runs", 4)
    about = json.loads(done.stdout)
    assert len(about["simulated"]) == 4
    assert all(len(one["by_seed"]) in (0, 3) for one in about["simulated"])
    # The runs are results as those of a sweep, from their directory or its store.
    for place in ("out", "out/store"):
        table = command("show", tmp_path / place, *minimize).stdout
        assert "scheme.ecn.kmin" in table
        assert all(f"{one}B" in table for one in (by_rule_kmin, 2 * by_rule_kmin))
    # A setting of the search replaces that of the rules only if the seeds decide for it.
    assert (about["overrides"] != about["by_rule"]) == about["decided"]
    valid = [one for one in about["simulated"] if one["value"] is not None]
    best = min(valid, key=lambda one: one["value"])
    assert about["overrides"] in (about["by_rule"], best["overrides"])
    # The values are a valid change of the scenario.
    changes = [word for override in about["overrides"] for word in ("--set", override)]
    command("check", star, "--scheme", "dcqcn", *changes)
    wrong = command(*words, "--minimize", "speed", "--runs", 1, code=2)
    assert "speed" in wrong.stderr
