"""Workloads: built, written and read in Python."""

import doctest

import polars as pl
import pytest

import backwater.workloads
from backwater.errors import RunError, ScenarioError
from backwater.workloads import Workload, WorkloadError, parallel_groups, read
from tools import simulated


def small() -> Workload:
    work = Workload(4, options={"overhead_ps": 5}, groups={"half": [0, 2]}, source={"by": "hand"})
    trigger = work.trigger("barrier", 2)
    first = work.calc(0, 7, resource=1, name="forward")
    work.send(0, 1, 2**40, tag=3, after=[first, first], channel=2, on_received=trigger)
    work.recv(1, 0, 2**40, 3)
    work.collective(2, "all-reduce", 1000, "half", algorithm="ring:channels=2")
    work.collective(0, "all-reduce", 1000, "half", after_start=[1])
    return work


def test_what_is_written_is_read(tmp_path):
    back = read(small().write(tmp_path / "small.parquet"))
    assert back.header == small().header()
    assert back.header["triggers"] == [{"kind": "barrier", "count": 2}]
    rows = back.operations
    assert rows.select("rank", "index").rows() == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0)]
    assert rows["after_end"].to_list()[1] == [0]
    assert rows["after_start"].to_list()[2] == [1]
    assert rows["bytes"].to_list() == [None, 2**40, 1000, 2**40, 1000]
    assert rows["nic"].null_count() == rows.height


def test_columns_that_say_nothing_are_not_written(tmp_path):
    work = Workload(1)
    work.calc(0, 5)
    frame = pl.read_parquet(work.write(tmp_path / "calc.parquet"))
    assert frame.columns == ["rank", "index", "kind", "duration_ps"]


def test_many_operations_stay_in_order(tmp_path):
    work = Workload(3)
    for step in range(70_000):
        work.calc(step % 2, step)
    path = work.write(tmp_path / "many.parquet")
    frame = read(path).operations
    assert frame["rank"].is_sorted()
    assert frame.filter(pl.col("rank") == 1)["index"].to_list() == list(range(35_000))
    assert frame.filter(pl.col("rank") == 1)["duration_ps"].to_list() == list(range(1, 70_000, 2))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda w: w.send(0, 9, 1), "receiver is 9; ranks are 0 to 3"),
        (lambda w: w.send(0, 0, 1), "sends to itself"),
        (lambda w: w.calc(0, 1, after=[3]), "expected an index below 3"),
        (lambda w: w.calc(0, 1, nick=3), "no column 'nick'"),
        (lambda w: w.send(0, 1, 1, after=(), peer=2), "'peer' is set by an argument"),
        (lambda w: w.collective(1, "all-reduce", 1, "half"), 'rank 1 is not in group "half"'),
        (lambda w: w.collective(1, "all-reduce", 1, "quarter"), 'no group "quarter"'),
        (lambda w: w.collective(1, "allreduce", 1), "expected all-reduce, all-gather"),
        (lambda w: w.collective(1, "all-to-allv", 1), "has to_each and from_each"),
        (lambda w: w.group("half", [1]), "defined already"),
        (lambda w: w.composed("all-to-allv", 1), "'all-to-allv' cannot be composed; expected all"),
        (lambda w: w.composed("barrier", 1), "1 bytes; expected more than 0, but for a barrier"),
        (lambda w: w.composed("all-reduce", 1, "quarter"), 'no group "quarter"'),
        (lambda w: w.calc(0, 1, part_of=0), "no collective 0; define it with composed()"),
        (
            lambda w: w.calc(1, 1, part_of=w.composed("all-reduce", 1, "half")),
            'rank 1 is not in group "half"',
        ),
        (lambda w: w.collective(0, "barrier", part_of=0), "'barrier' is no part of a collective"),
        (lambda w: w.group("twice", [1, 1]), "all different"),
        (lambda w: w.trigger("barrier"), "a count of at least 1"),
        (lambda w: (w.calc(0, -1), w.frame()), "does not fit its column"),
    ],
)
def test_what_cannot_be_is_refused(wrong, says):
    with pytest.raises(WorkloadError, match=says):
        wrong(small())


def test_other_files_are_refused(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("not Parquet")
    with pytest.raises(RunError, match="no workload"):
        read(tmp_path / "other.parquet")
    with pytest.raises(RunError, match="no Parquet file"):
        read(tmp_path / "text.parquet")
    with pytest.raises(RunError, match="cannot read"):
        read(tmp_path / "none.parquet")
    with pytest.raises(RunError, match="cannot write"):
        small().write(tmp_path / "no" / "directory.parquet")


def test_messages_have_traffic_classes(tmp_path):
    scenario = tmp_path / "s.toml"
    text = """
        name = "s"
        topology = { kind = "star", hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
        [[workload]]
        name = "job"
    """
    for traffic_class in (0, 3, 7, 8, 255):
        work = Workload(2)
        work.send(0, 1, 50_000, **{"class": traffic_class})
        work.recv(1, 0, 50_000)
        work.write(tmp_path / "w.parquet")
        scenario.write_text(text + 'file = "w.parquet"')
        if traffic_class > 7:
            with pytest.raises(ScenarioError, match=f'"class" is {traffic_class}; .* are 0 to 7'):
                simulated(scenario, out=tmp_path / "out", force=True)
            continue
        assert simulated(scenario, out=tmp_path / "out", force=True).ok
    scenario.write_text(text + 'collective = "all-reduce"\nsize = "1MB"\nclass = 4')
    assert simulated(scenario, out=tmp_path / "out", force=True).ok


def test_groups_of_parallel_ranks():
    degrees = {"tensor": 2, "expert": 2, "data": 2, "pipeline": 2}
    groups = parallel_groups(degrees, ["tensor", "data", "pipeline", "expert+data"])
    assert len(groups) == 8 + 8 + 8 + 4
    assert groups["tensor-1"] == [2, 3]
    assert groups["data-0"] == [0, 4]
    assert groups["pipeline-7"] == [7, 15]
    assert groups["expert+data-1"] == [1, 3, 5, 7]
    with pytest.raises(WorkloadError, match="'model' is none of"):
        parallel_groups(degrees, ["model"])


def test_the_examples_of_the_module():
    assert doctest.testmod(backwater.workloads).failed == 0
