"""Workloads in the packet simulator, as a user runs them and looks at them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from campaigns import SHORT
from click.testing import Result

import backwater
from backwater._base.units import time_text
from backwater.analysis import critical
from backwater.results.files import RunFiles
from backwater.workloads import Workload
from conftest import Backwater

STAR = """\
name = "star"
scheme.preset = "dcqcn"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }
[[workload]]"""
STEP = f"""{STAR}
name = "reduce"
collective = "all-reduce"
size = "1MB"
compute = "50us"
repeats = 2
slow = [{{ rank = 2, factor = 1.4 }}]
"""
Call = Callable[..., Result]


def ran(command: Backwater, folder: Path, text: str) -> RunFiles:
    """Run a scenario in a folder, with its results in `out`."""
    (folder / "x.toml").write_text(text, encoding="utf-8")
    command("run", "x.toml", "-o", "out", cwd=folder)
    return backwater.load(folder / "out").only


@pytest.fixture
def collectives(command: Backwater) -> Call:
    """Return a function that prints the collectives of the run in `out`."""
    return lambda folder, *words, **more: command("collectives", "out", *words, cwd=folder, **more)


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory, command: Backwater) -> Path:
    """Run four ranks with a straggler."""
    folder = tmp_path_factory.mktemp("step")
    (folder / "step.toml").write_text(STEP, encoding="utf-8")
    done = command("run", "step.toml", "-o", "out", cwd=folder)
    assert "bus bandwidth, mean (Gbps)" in done.stdout
    return folder


# RNK-11, RNK-12
def test_a_run_says_what_its_ranks_and_collectives_did(step):
    run = backwater.load(step / "out").only
    [work] = run.summary["workloads"]
    assert (work["name"], work["ranks"], work["finished"]) == ("reduce", 4, 4)
    assert (work["operations"], work["collectives"]) == (16, 2)
    # The straggler computes for 70 us twice, and six rounds of 250 KB follow each time. It has had
    # its first message by then, so its first two share its link and the round after them is late.
    sends = 2 * 6 * 250_000 * 8 / 100e9 * 1e12
    assert 2 * 70e6 + sends < work["took_ps"] < 1.5 * (2 * 70e6 + sends)
    assert work["mean_computing_ps"] == 2 * (3 * 50e6 + 70e6) / 4
    assert run.table("operations").height == 16
    ranks = run.table("ranks").sort("rank")
    assert ranks["computing_ps"].to_list() == [100e6, 100e6, 140e6, 100e6]
    total = ranks["computing_ps"] + ranks["exposed_ps"] + ranks["idle_ps"]
    assert (total == ranks["end_ps"] - ranks["start_ps"]).all()
    first = run.table("collectives").row(0, named=True)
    assert (first["kind"], first["instance"], first["bytes"]) == ("all-reduce", 0, 1_000_000)
    # Ranks wait for the straggler in the first one: bandwidth is from the first start.
    assert first["last_start_ps"] - first["start_ps"] == 20e6
    assert first["bus_bps"] == pytest.approx(first["algorithm_bps"] * 1.5)
    assert first["group_name"] is None
    # One link of 100 Gbps each, of which headers take their part.
    assert 90e9 < first["bound_bps"] < 100e9
    assert first["bus_bps"] < first["bound_bps"]


# OPS-31, OPS-61, RNK-17
def test_groups_have_names_and_all_to_allv_its_bytes(trained, command):
    run = trained["dcqcn"]
    table = run.table("collectives")
    assert set(table["group_name"].drop_nulls()) == {
        *("tensor-0", "tensor-1"),
        *(f"data-{rank}" for rank in range(4)),
    }
    assert table.filter(pl.col("group").is_null())["group_name"].null_count() == 1
    assert (table["bus_bps"] <= table["bound_bps"]).all()
    # Inside a server, and over one NIC each.
    bounds = table.group_by("group_name").agg(pl.col("bound_bps").max() / 1e9)
    named = dict(bounds.iter_rows())
    assert 700 < named["tensor-0"] < 800
    assert 90 < named["data-2"] < 100
    row = table.filter(kind="all-to-allv").row(0, named=True)
    sizes = [[1000 * (1 + (one + other) % 3) for other in range(8)] for one in range(8)]
    assert row["bytes"] == sum(map(sum, sizes))
    most = max(sum(each) - each[rank] for rank, each in enumerate(sizes))
    took_ps = row["end_ps"] - row["start_ps"]
    assert row["bus_bps"] == pytest.approx(most * 8e12 / took_ps)
    shown = command("collectives", run.path)
    assert "all-reduce 0 of group tensor-0 (4), 400 KB" in shown.stdout


def test_the_critical_path_leads_from_a_start_to_the_end(step, collectives):
    run = backwater.load(step / "out").only
    slowest = critical.longest(run.table("collectives"))
    path = critical.critical_path(run, slowest)
    # It ended with the last ACK of what it sent in the last round.
    assert path["src"][-1] == slowest["last_rank"]
    assert (path["dst"][:-1] == path["src"][1:]).all()
    assert (path["received_ps"][:-1] <= path["start_ps"][1:]).all()
    # Its first sender had nothing to wait for but its own start.
    parts = run.table("operations").filter(kind="all-reduce", instance=slowest["instance"])
    starts = dict(parts.select("host", "start_ps").iter_rows())
    assert path["start_ps"][0] - path["before_ps"][0] == starts[path["src"][0]]
    assert 1 <= path.height <= 6
    shown = collectives(step)
    assert "all-reduce 1 of all ranks (4), 1 MB" in shown.stdout
    assert f"Its critical path has {path.height} sends" in shown.stdout


def test_the_critical_path_of_a_workload_covers_all_of_its_time(step, collectives):
    run = backwater.load(step / "out").only
    steps = critical.steps(run, "reduce")
    [work] = run.summary["workloads"]
    assert steps["spent_ps"].sum() == work["took_ps"]
    assert steps["kind"].to_list() == ["calc", "all-reduce"] * 2
    assert set(steps.filter(kind="calc")["spent_ps"]) <= {50e6, 70e6}
    shown = collectives(step).stdout
    assert "The critical path of workload reduce has 4 operations" in shown
    share = sum(steps.filter(kind="calc")["spent_ps"]) / 1e6
    assert f"calc {share:.0f} µs" in shown
    assert "backwater collectives out --record" in shown


def test_repeats_have_times_and_critical_paths_of_their_own(step, collectives):
    run = backwater.load(step / "out").only
    times = critical.repeats(run, "reduce")
    assert times["repeat"].to_list() == [0, 1]
    assert times["whole"].to_list() == [True, True]
    assert times["operations"].to_list() == [8, 8]
    [work] = run.summary["workloads"]
    assert times["took_ps"].sum() == work["took_ps"]
    ends = run.table("collectives").sort("instance")["end_ps"].to_list()
    assert times["end_ps"].to_list() == ends
    assert times["took_ps"].to_list() == [ends[0], ends[1] - ends[0]]
    whole, second = critical.steps(run, "reduce"), critical.steps(run, "reduce", 1)
    # The path of the whole workload goes on through the first; the other one is over there.
    assert second.equals(whole.tail(second.height))
    assert second["kind"].to_list() == ["calc", "all-reduce"]
    assert critical.steps(run, "reduce", 0)["end_ps"].max() == ends[0]
    shown = collectives(step, "--repeat", "1")
    assert "Repeats of workload reduce, each from the end of the one before:" in shown.stdout
    took, start = time_text(ends[1] - ends[0]), time_text(times["start_ps"][1])
    assert f"  repeat 1: {took}, from {start} to {time_text(ends[1])}" in shown.stdout
    # The option narrows all lists: nothing is said of the first repeat.
    assert "reduce: all-reduce 1 of all ranks" in shown.stdout
    assert "all-reduce 0 of" not in shown.stdout
    assert "  repeat 0: " not in shown.stdout
    assert "The critical path of repeat 1 of workload reduce has 2 operations" in shown.stdout


def test_one_instance_is_shown_alone(step, collectives):
    shown = collectives(step, "--instance", "1").stdout
    assert re.findall(r"all-reduce (\d) of", shown) == ["1", "1"]
    assert "workload reduce" not in shown


@pytest.mark.parametrize(
    ("folder", "words", "known"),
    [
        ("step", "--instance 7", "numbers are 0 to 1"),
        ("step", "--kind broadcast", "there are all-reduce"),
        ("step", "--group tensor", "there are all ranks"),
        ("step", "--workload two", "there are reduce"),
        ("step", "--repeat 2", "0 to 1"),
        ("groups", "--group 7", "group 7"),
        ("groups", "--group near-by", "group near-by"),
        ("groups", "--kind reduce", "there are all-reduce"),
        ("groups", "--group 1 --instance 2", "number 2"),
    ],
)
def test_a_wrong_choice_is_told_with_those_that_exist(folder, words, known, collectives, request):
    wrong = collectives(request.getfixturevalue(folder), *words.split(), code=2)
    assert wrong.stdout == ""
    assert known in wrong.stderr


def test_where_several_runs_are_they_are_named(step, command):
    command("compare", "step.toml", "--schemes", "dcqcn,bfc", "-o", "several", cwd=step)
    for name in ("collectives", "timeline", "breakdown", "pauses"):
        wrong = command(name, "several", cwd=step, code=2)
        assert "several/dcqcn, several/bfc" in wrong.stderr


GROUPS = f'{STAR}\nname = "job"\nfile = "groups.parquet"\n'


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory, command: Backwater) -> Path:
    """Run two passes over collectives of two groups with the same numbers."""
    folder = tmp_path_factory.mktemp("groups")
    members = {"near": [0, 1], "far": [2, 3]}
    work = Workload(4, groups=members, source={"passes": 2})
    for rank in range(4):
        group, size = ("near", 1_000_000) if rank < 2 else ("far", 2_000_000)
        last: list[int] = []
        for _ in range(2):
            last = [work.collective(rank, "all-reduce", size, group, after=last)]
            last = [work.collective(rank, "barrier", after=last)]
    work.write(folder / "groups.parquet")
    (folder / "groups.toml").write_text(GROUPS, encoding="utf-8")
    command("run", "groups.toml", "-o", "out", cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("words", "explained", "lines"),
    [
        # Groups are in the order of their names.
        (("--instance", "0"), r"The slowest: job: all-reduce 0 of .*\(2\), 2 MB", 3),
        (("--instance", "0", "--group", "0"), r"job: all-reduce 0 of .*\(2\), 2 MB", 1),
        (("--instance", "1", "--group", "1"), r"job: all-reduce 1 of .*\(2\), 1 MB", 1),
        (("--instance", "1", "--group", "all"), r"job: barrier 1 of all ranks \(4\), 0 B", 1),
        (("--kind", "barrier"), "The slowest: job: barrier", 2),
        (("--group", "1", "--kind", "all-reduce"), "The slowest: job: all-reduce", 2),
    ],
)
def test_a_collective_is_chosen_by_group_and_kind(groups, words, explained, lines, collectives):
    shown = collectives(groups, *words)
    listed, _, rest = shown.stdout.partition("\n\n")
    assert len(listed.splitlines()) == lines
    assert re.match(explained, rest), rest
    ambiguous = words == ("--instance", "0")
    assert ("There are 3 collectives with the number 0" in rest) == ambiguous


def test_passes_of_a_file_are_repeats(groups, command, collectives, tmp_path):
    run = backwater.load(groups / "out").only
    times = critical.repeats(run, "job")
    barriers = run.table("collectives").filter(kind="barrier").sort("end_ps")
    assert times["end_ps"].to_list() == barriers["end_ps"].to_list()
    assert critical.steps(run, "job", 1)["kind"].to_list() == ["all-reduce", "barrier"]
    # A run whose file has gone still has all the rest.
    (tmp_path / "groups.parquet").write_bytes((groups / "groups.parquet").read_bytes())
    ran(command, tmp_path, GROUPS)
    (tmp_path / "groups.parquet").unlink()
    assert "Repeats" not in collectives(tmp_path).stdout
    assert "repeats or passes" in collectives(tmp_path, "--repeat", "0", code=2).stderr


TREE = """\
name = "crossing"
scheme.preset = "line-rate"
workload = [{ name = "job", collective = "all-to-all", size = "8MB" }]
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
"""


def test_links_that_made_a_collective_late_are_named(tmp_path, command, collectives):
    plain = ran(command, tmp_path, TREE)
    shown = collectives(tmp_path, "--record")
    assert "with the same digest" in shown.stderr
    run = backwater.load(tmp_path / "out-blame").only
    slowest = critical.longest(run.table("collectives"))
    sends = critical.critical_path(run, slowest)
    links = critical.links(run, sends)
    # All that a message took beyond what it takes alone is in the table, but for what its own
    # packets do to each other.
    late = (sends["took_ps"] - sends["ideal_ps"]).sum()
    assert 0 < late <= links["late_ps"].sum()
    assert (links["late_ps"] == links["late_ps"].sort(descending=True)).all()
    # Eight hosts have two links between the leaves: some of them are where time was lost.
    assert links["port"].str.contains("leaf. -> spine|spine. -> leaf").any()
    row = links.row(0, named=True)
    assert f"{row['port']}: " in shown.stdout
    [shared] = critical.shared(run, sends.tail(1)).to_dicts()
    assert shared["flow"] == sends["flow"][-1]
    assert shared["others"] >= 1
    assert " was shared with " in shown.stdout
    # Without the account nothing is claimed.
    with pytest.raises(backwater.RunError, match="--record"):
        critical.links(plain, sends)


def test_a_wait_for_a_queue_pair_is_named_as_such(tmp_path, command, collectives):
    """Four chunks of a ring go to the same rank, one after the other, and no other flow exists."""
    ring = '\nname = "r"\ncollective = "all-reduce"\nsize = "4MB"\n'
    chunks = 'algorithm = "ring:chunks=4,active=4"\n'
    ran(command, tmp_path, f"record.blame = {{}}\n{STAR}{ring}{chunks}")
    run = backwater.load(tmp_path / "out").only
    sends = critical.critical_path(run, critical.longest(run.table("collectives")))
    waited = critical.behind_own(run, sends)
    late_ps = (sends["took_ps"] - sends["ideal_ps"]).sum()
    assert sum(waited.values()) == pytest.approx(late_ps, rel=0.02)
    # The NIC also sends ACKs.
    lost = dict(
        critical.links(run, sends).group_by("part").agg(pl.col("late_ps").sum()).iter_rows()
    )
    assert set(lost) == {"nic_pair", "nic_turn"}
    assert lost["nic_turn"] < 0.02 * lost["nic_pair"]
    assert critical.shared(run, sends).height == 0
    shown = collectives(tmp_path).stdout
    assert " behind earlier messages of its queue pair" in shown
    assert ", earlier messages of its own queue pair" in shown
    assert "shared with" not in shown
    # A second channel has its own queue pairs, so its messages are other flows.
    (two := tmp_path / "two").mkdir()
    ran(command, two, f'record.blame = {{}}\n{STAR}{ring}algorithm = "ring:channels=2"\n')
    shown = collectives(two).stdout
    assert "queue pair" not in shown
    assert "was shared with" in shown
    assert "other flows had the NIC" in shown


JOBS = f"""{STAR}
name = "long"
collective = "all-reduce"
size = "1MB"
placement = ["host3", "host2", "host1", "host0"]
[[workload]]
name = "short"
collective = "all-reduce"
size = "100KB"
"""


def test_hosts_may_have_ranks_of_several_jobs(tmp_path, command, collectives):
    ran(command, tmp_path, JOBS)
    said = collectives(tmp_path, "--workload", "long").stdout
    sends = re.findall(r"host (\d) to (\d) \(rank (\d) to (\d)\)", said)
    assert sends
    for source, receiver, sender, taker in (map(int, send) for send in sends):
        assert (sender, taker) == (3 - source, 3 - receiver)


def test_comparisons_have_rows_of_workloads(step, command):
    words = ("compare", "step.toml", "--schemes", "dcqcn,hpcc", "-o", "both")
    done = command(*words, cwd=step)
    assert "time of all steps (ms)" in done.stdout
    names = (step / "both" / "hpcc" / "summary.json").read_text(encoding="utf-8")
    assert len(json.loads(names)["workloads"]) == 1


def test_runs_without_workloads_have_no_such_rows_or_tables(tmp_path, command, collectives):
    (tmp_path / "x.toml").write_text(SHORT, encoding="utf-8")
    assert "Workloads" not in command("run", "x.toml", "-o", "out", cwd=tmp_path).stdout
    assert "no [[workload]]" in collectives(tmp_path, code=2).stderr


OPERATIONS = f'{STAR}\nname = "job"\nfile = "two.parquet"\nplacement = [2, 0]\n'


def test_a_file_of_operations_runs_in_the_network(tmp_path, command):
    work = Workload(ranks=2)
    ready = work.calc(0, duration_ps=5_000_000)
    work.send(0, to=1, size_bytes=1_000_000, tag=7, after=[ready])
    got = work.recv(1, peer=0, size_bytes=1_000_000, tag=7)
    work.calc(1, duration_ps=30_000_000, after=[got])
    work.write(tmp_path / "two.parquet")
    run = ran(command, tmp_path, OPERATIONS)
    [flow] = run.table("flows").to_dicts()
    assert (flow["source"], flow["src"], flow["dst"]) == ("job", 2, 0)
    assert flow["start_ps"] == 5_000_000
    ends = {(row["rank"], row["kind"]): row["end_ps"] for row in run.table("operations").to_dicts()}
    assert ends[1, "recv"] == flow["received_ps"]
    assert ends[0, "send"] == flow["acked_ps"]
    steps = critical.steps(run, "job")
    assert steps.select("rank", "kind").rows() == [(0, "calc"), (1, "recv"), (1, "calc")]
    assert steps["spent_ps"].to_list() == [5e6, flow["received_ps"] - 5e6, 30e6]
    # The file is named by its full path, so that the run can be repeated from anywhere.
    command("run", "out/resolved.toml", "-o", "again", cwd=tmp_path)
    assert run.digest == backwater.load(tmp_path / "again").only.digest


# RNK-10
def test_a_workload_that_can_never_end_is_an_error(tmp_path, command):
    work = Workload(ranks=2)
    work.recv(1, peer=0, size_bytes=1000, tag=3)
    work.calc(0, duration_ps=1000)
    work.write(tmp_path / "two.parquet")
    (tmp_path / "two.toml").write_text(OPERATIONS, encoding="utf-8")
    done = command("run", "two.toml", "-o", "out", cwd=tmp_path, code=1)
    assert "workload job: rank 1, operation 0 (recv)" in done.stderr


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "two.toml").write_text(OPERATIONS, encoding="utf-8")
    for says in ("two.parquet: cannot read", "no Parquet file"):
        [problem] = backwater.Scenario(tmp_path / "two.toml").check()
        assert says in problem["text"]
        (tmp_path / "two.parquet").write_text("nothing", encoding="utf-8")


def test_the_critical_path_of_a_broadcast_has_what_its_root_sent(tmp_path, command):
    text = STEP.replace('"all-reduce"', '"broadcast"\nalgorithm = "direct"')
    run = ran(command, tmp_path, text.replace("repeats = 2\n", ""))
    [whole] = run.table("collectives").to_dicts()
    assert whole["last_rank"] == 0
    path = critical.critical_path(run, whole)
    assert path["src"].to_list() == [0]
    assert path["start_ps"][0] == 50_000_000


STEPS = f"""{STAR}
name = "step"
groups = [{{ name = "pair-0", ranks = [0, 1] }}, {{ name = "pair-1", ranks = [2, 3] }}]
steps = [
    {{ compute = "20us", groups = ["pair-0"] }},
    {{ collective = "all-reduce", size = "200KB", groups = ["pair-0", "pair-1"] }},
    {{ send = [[1, 2]], size = "100KB" }},
    {{ collective = "all-to-allv", groups = ["pair-1"], sizes = [["0B", "50KB"], ["10KB", "0B"]] }},
]
repeats = 2
"""


# RNK-21
def test_ranks_go_through_steps(tmp_path, command, collectives):
    run = ran(command, tmp_path, STEPS)
    assert run.table("ranks").sort("rank")["operations"].to_list() == [4, 6, 6, 4]
    table = run.table("collectives")
    kinds = [("all-reduce", "pair-0"), ("all-reduce", "pair-1"), ("all-to-allv", "pair-1")]
    assert sorted(table.select("kind", "group_name").rows()) == sorted(kinds * 2)
    assert table.filter(kind="all-to-allv")["bytes"].to_list() == [60_000, 60_000]
    # The message of a step is sent after the all-reduce of its sender, and waited for.
    [first, second] = run.table("operations").filter(kind="recv").sort("end_ps").to_dicts()
    sent = run.table("operations").filter(kind="send").sort("end_ps")["start_ps"].to_list()
    reduced = run.table("collectives").filter(kind="all-reduce", group_name="pair-0").sort("end_ps")
    assert sent[0] == reduced["end_ps"][0] > 20_000_000
    assert (first["peer"], first["ended_by_rank"], first["ended_by_index"]) == (1, 1, 2)
    assert second["ended_by_index"] == 5
    # Ranks have repeats of their own lengths.
    times = critical.repeats(run, "step")
    assert times["operations"].to_list() == [10, 10]
    assert times["whole"].to_list() == [True, True]
    assert set(critical.steps(run, "step", 1)["index"]) <= {2, 3, 4, 5}
    shown = collectives(tmp_path, "--group", "pair-1", "--repeat", "1").stdout
    assert "step: all-to-allv 3 of group pair-1 (2), 60 KB" in shown
    wrong = STEPS.replace('["pair-1"], sizes', '["pair-2"], sizes')
    (tmp_path / "wrong.toml").write_text(wrong, encoding="utf-8")
    (problem, *_) = backwater.Scenario(tmp_path / "wrong.toml").check()
    assert (problem["line"], problem["column"]) == (11, 44)
