"""Estimates of workloads, as a user requests them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Backwater

from backwater.errors import RunError, ScenarioError
from backwater.estimates import estimate
from backwater.workloads import Workload


def ring(tmp_path: Path, ranks: int = 8) -> Path:
    work = Workload(ranks, groups={"odd": range(1, ranks, 2)})
    for rank in range(ranks):
        computed = work.calc(rank, 1_000_000, resource=0)
        work.collective(rank, "all-reduce", 8_000_000, after=[computed])
        if rank % 2:
            work.collective(rank, "barrier", group="odd", after=[computed + 1])
    return work.write(tmp_path / "ring.parquet")


def test_bus_bandwidth_is_that_of_the_link(tmp_path: Path) -> None:
    found = estimate(ring(tmp_path), ["loggops:latency=0us,rate=400Gbps"], record=True)
    reduce, barrier = found.summary["collectives"]
    assert (reduce["kind"], reduce["members"], reduce["group"]) == ("all-reduce", 8, "all")
    # 400 Gbps are 50 GB/s; the model has the last byte of each of 14 steps at once.
    assert reduce["bus_bytes_per_second"] == pytest.approx(50e9, rel=1e-4)
    assert (barrier["kind"], barrier["bus_bytes_per_second"]) == ("barrier", None)
    assert found.summary["rank_computing_ps"] == [1_000_000] * 8
    frame = found.operations
    assert frame is not None
    assert frame["end_ps"].max() == found.end_ps
    assert frame["kind"].value_counts().sort("kind").rows() == [
        ("all-reduce", 8),
        ("barrier", 4),
        ("calc", 8),
    ]
    assert frame.filter(pl.col("kind") == "calc")["end_ps"].to_list() == [1_000_000] * 8
    assert frame["peer"].null_count() == frame.height


def test_dimensions(tmp_path: Path) -> None:
    path = ring(tmp_path)
    flat = estimate(path, ["switch:rate=400Gbps,latency=0ns"])
    split = estimate(path, ["switch:size=4", "ring:size=2,rate=50Gbps"])
    assert flat.end_ps < split.end_ps


@pytest.mark.parametrize(
    ("networks", "says"),
    [
        (["rings"], "did you mean ring?"),
        (["ring:size=4"], "the network has 4 nodes, the workload 8 ranks"),
        (["ring", "switch:size=2"], "needs a size"),
        (["ring:size=4", "loggops"], "stands alone"),
        (["loggops:rate=fast"], "network loggops, rate:"),
        (["loggops:rate=0Gbps"], "a rate of 0"),
        (["loggops:speed=1Gbps"], 'has no parameter "speed"; expected latency, rate'),
        (["loggops:latency"], "key=value"),
    ],
)
def test_networks_that_cannot_be(tmp_path: Path, networks: list[str], says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        estimate(ring(tmp_path), networks)
    assert says in str(error.value)


def test_what_is_stuck_is_named(tmp_path: Path) -> None:
    work = Workload(2)
    work.recv(0, 1, 5, tag=3, name="line 17")
    path = work.write(tmp_path / "stuck.parquet")
    with pytest.raises(RunError, match='rank 0, operation 0 \\(recv "line 17"\\) waits for a mess'):
        estimate(path)


def test_wrong_input_ends_the_command_with_2(tmp_path: Path, command: Backwater) -> None:
    ring(tmp_path)
    (tmp_path / "text.parquet").write_text("no workload")
    for words, says in [
        (("none.parquet",), "none.parquet"),
        (("text.parquet",), "text.parquet"),
        (("ring.parquet", "--network", "rings"), "did you mean ring?"),
    ]:
        done = command("estimate", *words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr.startswith("error: ")
        assert says in done.stderr
    # What cannot go on has failed while it ran.
    work = Workload(2)
    work.recv(0, 1, 5, tag=3)
    work.write(tmp_path / "stuck.parquet")
    done = command("estimate", "stuck.parquet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from backwater.commands.estimates import estimate as command

    path, out = ring(tmp_path), tmp_path / "operations.csv"
    command(path, out=out)
    printed = capsys.readouterr().out
    assert "8 ranks, 20 operations, 120 messages of 112 MB in all" in printed
    assert 'all-reduce 0 of group "all" (8 ranks, 8 MB)' in printed
    assert pl.read_csv(out).height == 20
    command(path, ["loggops"], as_json=True)
    assert json.loads(capsys.readouterr().out)["ranks"] == 8
    with pytest.raises(RunError, match="cannot write"):
        command(path, out=tmp_path / "no" / "operations.parquet")
