"""Where the time of flows went: explained, summed up, drawn."""

import json
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater.analysis import blame
from backwater.plots import figures
from backwater.results import TABLES
from backwater.results.files import RunFiles
from tools import Runs, simulated

SCENARIO = """
name = "crowd"

[topology]
kind = "leaf-spine"
leaves = 3
spines = 1
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
uplink = { rate = "400Gbps", delay = "1us" }

[switch]
buffer = "500KB"

[record]
blame = {}

[[traffic]]
name = "web"
pattern = "uniform"
sizes = "web-search@hpcc"
load = { fraction = "40%", of = "hosts" }
window = ["0us", "300us"]

[[traffic]]
name = "incast"
pattern = "incast"
degree = 8
total = "800KB"
every = "100us"
window = ["0us", "300us"]
"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("crowd")
    (folder / "crowd.toml").write_text(SCENARIO, encoding="utf-8")
    return Runs(backwater.compare(folder / "crowd.toml", ["dcqcn", "bfc"], out=folder / "out"))


def unrecorded(folder: Path) -> Path:
    """Write a scenario that records no delay breakdown."""
    text = SCENARIO.replace("blame = {}", "").replace("300us", "60us")
    (folder / "plain.toml").write_text(text, encoding="utf-8")
    return folder / "plain.toml"


def test_groups_cover_all_parts_once():
    table = next(t for t in TABLES if t["name"] == "blame")
    columns = [column["name"] for column in table["columns"]]
    parts = [f"{part}_ps" for group in blame.GROUPS.values() for part in group]
    assert sorted(parts) == sorted(set(columns) - {"flow", "fct_ps"})


# BLM-01, BLM-02
def test_groups_add_up_to_the_completion_time(crowd):
    for run in crowd.values():
        table = blame.accounts(run)
        assert table.height == run.measured_flows().height
        assert (table.select(pl.sum_horizontal(*blame.GROUPS)).to_series() == table["fct_ps"]).all()
        slow = blame.slow(run, 90)
        sums = slow.select(pl.sum_horizontal(*blame.GROUPS)).to_series()
        assert sums.to_list() == pytest.approx(slow["fct_ps"].to_list())
        assert slow["size_class"].to_list() == [
            c for c in blame.CLASSES if c in table["size_class"]
        ]


def test_the_reasons_of_a_flow_add_up_and_name_ports(crowd):
    run = crowd["dcqcn"]
    numbers = blame.pick(run, worst=5)
    slowdowns = dict(run.table("flows").select("id", "slowdown").iter_rows())
    assert slowdowns[numbers[0]] == run.measured_flows()["slowdown"].max()
    explained = blame.explain(run, numbers)
    assert [one.flow for one in explained] == numbers
    for one in explained:
        assert sum(reason.spent_ps for reason in one.reasons) == one.fct_ps
        assert one.reasons[0].spent_ps == max(reason.spent_ps for reason in one.reasons)
    pauses = [r for one in explained for r in one.reasons if r.part == "nic_class_pause"]
    assert pauses
    assert all(r.root and "->" in r.root for r in pauses)
    assert any(r.incast > 0 and "an incast had" in r.words() for r in pauses)


LOSS = """
name = "loss"
record = { blame = {} }

[topology]
kind = "links"
hosts = ["a", "b"]
switches = ["s"]
links = [
    { a = "a", b = "s", rate = "100Gbps", delay = "1us" },
    { a = "b", b = "s", rate = "100Gbps", delay = "1us", loss = 0.02 },
]

[[traffic]]
name = "one"
pattern = "list"
flows = [{ src = 0, dst = 1, bytes = "1MB", start = "0us" }]

[scheme]
preset = "line-rate"
recovery = "go-back-n"
"""


# BLM-14
def test_a_recovery_names_the_link_that_lost_packets(tmp_path, command):
    (tmp_path / "loss.toml").write_text(LOSS)
    run = simulated(tmp_path / "loss.toml", out=tmp_path / "out")
    losses = run.table("blame_losses")
    assert losses["packets"].sum() + losses["answers"].sum() == run.summary["drops"]["link"] > 0
    (one,) = blame.explain(run, [0])
    # The longer part of the two has the places: here the last packets were lost.
    assert {"nic_recovery", "nic_timeout"} < {reason.part for reason in one.reasons}
    (recovery,) = [reason for reason in one.reasons if reason.lost is not None]
    assert recovery.part == "nic_timeout"
    assert recovery.at is None
    places = {(loss.at, loss.cause): (loss.packets, loss.answers) for loss in recovery.lost}
    assert set(places) == {("s -> b", "link"), ("b -> s", "link")}
    assert places["s -> b", "link"][0] > 0
    assert places["s -> b", "link"][1] == places["b -> s", "link"][0] == 0
    said = command("explain", run.path, "--flow", "0").stdout
    assert "lost on the link s -> b" in " ".join(said.split())
    told = json.loads(command("explain", run.path, "--flow", "0", "--json").stdout)
    (lost,) = [reason["lost"] for reason in told[0]["reasons"] if "lost" in reason]
    assert {loss["at"] for loss in lost} == {"s -> b", "b -> s"}
    # A flow that has not finished has no breakdown, but losses.
    cut = tmp_path / "cut"
    simulated(tmp_path / "loss.toml", ["run.until=80us"], out=cut)
    assert "lost on the link s -> b" in command("explain", cut, "--flow", "0", code=2).stderr


FLAP = """
name = "flap"
record = { blame = {} }

[topology]
kind = "links"
hosts = ["a", "b", "c"]
switches = ["s"]
links = [
    { a = "a", b = "s", rate = "100Gbps", delay = "1us" },
    { a = "b", b = "s", rate = "100Gbps", delay = "1us" },
    { a = "c", b = "s", rate = "100Gbps", delay = "1us" },
]

[[topology.failures]]
links = ["b--s"]
at = "2us"
until = "20us"

[[traffic]]
name = "some"
pattern = "list"
flows = [
    { src = 0, dst = 1, bytes = "20KB", start = "0us" },
    { src = 0, dst = 2, bytes = "20KB", start = "300us" },
]

[scheme]
preset = "dcqcn"
go-back-n.timeout = "10ms"
"""


# BLM-13
def test_a_timeout_after_a_flap_is_named_and_its_flow_is_found(tmp_path, command):
    (tmp_path / "flap.toml").write_text(FLAP)
    run = simulated(tmp_path / "flap.toml", out=tmp_path / "out")
    assert run.summary["counters"]["timeouts"] == 1
    (one,) = blame.explain(run, blame.pick(run, worst=5, lost=True))
    first = one.reasons[0]
    assert (one.flow, first.part) == (0, "nic_timeout")
    assert 0.99 * 10e9 < first.spent_ps <= 10e9
    said = " ".join(command("explain", run.path, "--lost").stdout.split())
    assert "10 ms 100% retransmission timeout (RTO): " in said
    assert "lost on the link s -> b" in said
    assert "flow 1" not in said
    wrong = command("explain", run.path, "--lost", "--class", "incast", code=2).stderr
    assert "no incast flow that lost packets or waited for a link finished" in wrong
    command("explain", run.path, "--lost", "--flow", "0", code=2)


def test_flows_are_picked_by_class_and_percentile(crowd):
    run = crowd["bfc"]
    table = blame.accounts(run).filter(pl.col("size_class") == "incast").sort("slowdown")
    (best,) = blame.pick(run, size_class="incast", percentile=0)
    (worst,) = blame.pick(run, size_class="incast", percentile=100)
    assert table["slowdown"].to_list()[0] == table.filter(pl.col("id") == best)["slowdown"].item()
    assert table["slowdown"].to_list()[-1] == table.filter(pl.col("id") == worst)["slowdown"].item()


def test_a_wrong_number_is_told_with_those_that_exist(crowd, trained, command):
    run = crowd["bfc"]
    told = command("explain", run.path, "--flow", "99999", code=2)
    assert "there is no flow 99999" in told.stderr
    lines = told.stderr.splitlines()
    for source in ("web", "incast"):
        numbers = (
            run.table("flows").filter(pl.col("source").cast(pl.String) == source)["id"].to_list()
        )
        (line,) = (one for one in lines if one.startswith(f"  {source}: "))
        assert line.startswith(f"  {source}: {min(numbers)} to {max(numbers)}")
        some = len(numbers) <= max(numbers) - min(numbers)
        assert (f"({len(numbers):,} of these numbers)" in line) == some
    assert f"  backwater explain {run.path} --worst 20" in told.stderr
    assert "backwater collectives" not in told.stderr
    workload = trained["bfc"]
    told = command("explain", workload.path, "--flow", "5", code=2)
    numbers = workload.table("flows")["id"].to_list()
    assert f": {min(numbers)} to {max(numbers)}" in told.stderr
    assert "  backwater collectives " in told.stderr


def test_what_has_no_account_is_told_apart(tmp_path, command):
    text = SCENARIO.replace("300us", "60us").replace(
        "[record]", '[run]\nuntil = "70us"\n\n[record]'
    )
    (tmp_path / "cut.toml").write_text(text, encoding="utf-8")
    run = simulated(tmp_path / "cut.toml", scheme="bfc", out=tmp_path / "cut")
    open_ = run.table("flows").filter(~pl.col("finished"))["id"].to_list()
    assert open_
    told = command("explain", run.path, "--flow", str(open_[0]), code=2)
    assert f"flow {open_[0]} has not finished" in told.stderr
    classes = set(blame.accounts(run)["size_class"])
    (missing, *_) = set(blame.CLASSES) - classes
    told = command("explain", run.path, "--class", missing, code=2)
    assert f"no {missing} flow finished" in told.stderr
    assert all(f" {one}" in told.stderr.partition("; there are")[2] for one in classes)


def test_the_command_explains_in_words_and_numbers(crowd, command):
    path = crowd["dcqcn"].path
    shown = command("explain", path, "--worst", "2").stdout
    assert "times as long as alone:" in shown
    assert "goes back to" in " ".join(shown.split())
    told, _, _ = shown.partition("Look further")
    assert max(map(len, told.splitlines())) <= 100
    assert f"backwater pauses {path}" in shown
    (one,) = json.loads(
        command("explain", path, "--class", "incast", "--percentile", "50", "--json").stdout
    )
    assert one["incast"]
    assert sum(r["spent_ps"] for r in one["reasons"]) == one["fct_ps"]
    table = command("explain", crowd.path).stdout
    assert "dcqcn" in table
    assert "bfc" in table
    assert "PFC" in table


def test_wrong_choices_are_told(crowd, command):
    path = crowd["bfc"].path
    both = command("explain", path, "--flow", "1", "--worst", "2", code=2)
    assert "give one of them" in both.stderr
    several = command("explain", crowd.path, "--flow", "1", code=2)
    assert f"name one of them: {crowd.path}/" in several.stderr


def test_a_run_without_the_account_says_how_to_get_it(tmp_path, command):
    run = simulated(unrecorded(tmp_path), scheme="bfc", out=tmp_path / "plain")
    refused = command("explain", run.path, code=2)
    assert f"--set '{blame.RECORD}'" in refused.stderr
    again = command("explain", run.path, "--record")
    beside = blame.again(run)
    assert f"recorded in {beside}, with the same digest" in again.stderr
    assert "times as long" in again.stdout
    assert RunFiles(beside).digest == run.digest


def test_an_account_beside_the_run_is_used_only_with_its_digest(tmp_path, command):
    run = simulated(unrecorded(tmp_path), scheme="bfc", out=tmp_path / "plain")
    recorded = command("explain", run.path, "--record")
    beside = blame.again(run)
    for more in ([], ["--record"]):
        later = command("explain", run.path, *more)
        assert later.stdout == recorded.stdout
        using = f"using the delay breakdown in {beside}: the same run, with the same digest"
        assert later.stderr.splitlines() == [using]
    assert command("explain", beside).stderr == ""
    other = simulated(tmp_path / "plain.toml", scheme="bfc", seed=7, out=run.path, force=True)
    assert other.digest != RunFiles(beside).digest
    refused = command("explain", run.path, code=2)
    assert "--record" in refused.stderr


def test_figures_show_it_where_it_was_recorded(crowd):
    figure = crowd.results.plot.blame(50)
    titles = [panel.get_title() for panel in figure.axes]
    assert "incast flows" in titles
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert {"PFC", "pauses of queues"} <= set(names) <= {*blame.GROUPS, "the rest"}
    chart = figures.blame(crowd)
    charts = figures.charts(crowd, figures.read(crowd))
    assert [one.table for one in charts if one.key == "blame"] == [chart.table]
    together, *single = chart.views
    assert [view.label for view in single] == [panel.title for panel in together.panels]
    assert single[-1].label == "incast flows"


def test_a_bar_of_the_page_is_as_high_as_the_mean_time(crowd):
    chart = figures.blame(crowd)
    slow = blame.slow_by_class(crowd)
    assert [p.title for p in chart.views[0].panels] == [f"{c} flows" for c in slow]
    for panel, rows in zip(chart.views[0].panels, slow.values(), strict=True):
        assert [name for _, name in panel.x.ticks] == list(rows)
        assert {line.name for line in panel.lines} <= {*blame.GROUPS, "the rest"}
        for place, row in enumerate(rows.values()):
            height = sum(line.y[place] for line in panel.lines)
            assert height == pytest.approx(row["fct_ps"] / 1e6)


def test_runs_without_the_account_have_no_such_figure(comparison):
    assert not figures.blame(comparison).views


def test_a_comparison_is_recorded_again_scheme_by_scheme(tmp_path, command):
    unrecorded(tmp_path)
    plain = backwater.compare(tmp_path / "plain.toml", ["bfc", "dcqcn"], out=tmp_path / "plain")
    refused = command("explain", plain.path, code=2)
    assert f"backwater explain {plain.path} --record" in refused.stderr
    again = command("explain", plain.path, "--record")
    assert again.stderr.count("with the same digest") == 2
    assert "bfc" in again.stdout
    for run in plain.labelled().values():
        assert blame.is_recorded(RunFiles(blame.again(run)))
    later = command("explain", plain.path)
    assert later.stdout == again.stdout
    (using,) = later.stderr.splitlines()
    assert all(str(blame.again(run)) in using for run in plain.labelled().values())
