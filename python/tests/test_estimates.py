"""Estimates of workloads, as a user requests them."""

import json
from pathlib import Path

import polars as pl
import pytest

from backwater.errors import RunError, ScenarioError
from backwater.workloads import Workload
from backwater.workloads.estimates import estimate, of_scenario
from tools import simulated


def ring(tmp_path: Path, ranks: int = 8) -> Path:
    work = Workload(ranks, groups={"odd": range(1, ranks, 2)})
    for rank in range(ranks):
        computed = work.calc(rank, 1_000_000, resource=0)
        work.collective(rank, "all-reduce", 8_000_000, after=[computed])
        if rank % 2:
            work.collective(rank, "barrier", group="odd", after=[computed + 1])
    return work.write(tmp_path / "ring.parquet")


def test_bus_bandwidth_is_that_of_the_link(tmp_path):
    found = estimate(ring(tmp_path), ["loggops:latency=0us,rate=400Gbps"], record=True)
    reduce, barrier = found.summary["collectives"]
    assert (reduce["kind"], reduce["members"], reduce["group"]) == ("all-reduce", 8, "all")
    # 400 Gbps are 50 GB/s; the model has the last byte of each of 14 steps at once.
    assert reduce["bus_bytes_per_second"] == pytest.approx(50e9, rel=1e-4)
    assert (barrier["kind"], barrier["bus_bytes_per_second"]) == ("barrier", None)
    assert found.summary["rank_computing_ps"] == [1_000_000] * 8
    frame = found.operations
    assert frame["end_ps"].max() == found.end_ps
    assert frame["kind"].value_counts().sort("kind").rows() == [
        ("all-reduce", 8),
        ("barrier", 4),
        ("calc", 8),
    ]
    assert frame.filter(pl.col("kind") == "calc")["end_ps"].to_list() == [1_000_000] * 8
    assert frame["peer"].null_count() == frame.height


def test_dimensions(tmp_path):
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
def test_networks_that_cannot_be(tmp_path, networks, says):
    with pytest.raises(ScenarioError) as error:
        estimate(ring(tmp_path), networks)
    assert says in str(error.value)


def test_what_is_stuck_is_named(tmp_path):
    work = Workload(2)
    work.recv(0, 1, 5, tag=3, name="line 17")
    path = work.write(tmp_path / "stuck.parquet")
    with pytest.raises(RunError, match='rank 0, operation 0 \\(recv "line 17"\\) waits for a mess'):
        estimate(path)


def test_wrong_input_ends_the_command_with_2(tmp_path, command):
    ring(tmp_path)
    (tmp_path / "text.parquet").write_text("no workload")
    for words, says in [
        (("none.parquet",), "none.parquet"),
        (("text.parquet",), "text.parquet"),
        (("ring.parquet", "--network", "rings"), "did you mean ring?"),
    ]:
        done = command("estimate", *words, cwd=tmp_path, code=2)
        assert done.stdout == ""
        assert done.stderr.startswith("error: ")
        assert says in done.stderr
    # What cannot go on has failed while it ran.
    work = Workload(2)
    work.recv(0, 1, 5, tag=3)
    work.write(tmp_path / "stuck.parquet")
    done = command("estimate", "stuck.parquet", cwd=tmp_path, code=1)
    assert done.stdout == ""


def test_the_command(tmp_path, capsys):
    from backwater.commands.estimate import estimate as command

    path, out = ring(tmp_path), tmp_path / "operations.csv"
    command(path, out=out)
    printed = capsys.readouterr().out
    assert "8 ranks, 20 operations, 120 messages of 112 MB in all" in printed
    assert 'all-reduce 0 of group "all" (8 ranks, 8 MB)' in printed
    # As `backwater collectives` has it of a run, and not in bytes.
    [reduce, _] = estimate(path).summary["collectives"]
    gbps = reduce["bus_bytes_per_second"] * 8 / 1e9
    assert 350 < gbps < 400
    assert f"bus bandwidth {gbps:.1f} Gbps" in printed
    assert pl.read_csv(out).height == 20
    command(path, ["loggops"], as_json=True)
    assert json.loads(capsys.readouterr().out)["ranks"] == 8
    with pytest.raises(RunError, match="cannot write"):
        command(path, out=tmp_path / "no" / "operations.parquet")


STAR = 'kind = "star"\nhosts = 8\nlink = { rate = "100Gbps", delay = "1us" }'
LEAVES = """
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }
"""
SERVERS = """
servers = 2
gpus_per_server = 4
spines = 2
scale_up = { rate = "800Gbps", delay = "500ns" }
link = { rate = "100Gbps", delay = "1us" }
"""
RAILS, RACKS = f'kind = "rail-optimised"\n{SERVERS}', f'kind = "gpu-racks"\n{SERVERS}'
LISTED = "\n".join(
    [
        'kind = "links"\nhosts = 8\nswitches = ["n0", "n1", "leaf"]\nlinks = [',
        *(
            f'  {{ a = "h{host}", b = "{to}", rate = "{rate}", delay = "1us" }},'
            for host in range(8)
            for to, rate in ((f"n{host // 4}", "800Gbps"), ("leaf", "100Gbps"))
        ),
        "]",
    ]
)
ACROSS = "fully-connected:size=2,rate=100Gbps,latency=2us"


def scenario(folder: Path, topology: str, work: Workload, more: str = "") -> Path:
    work.write(folder / "work.parquet")
    text = f'name = "s"\n[topology]\n{topology}\n[[workload]]\nname = "w"\n{more}\n'
    (folder / "s.toml").write_text(f'{text}file = "work.parquet"\n', encoding="utf-8")
    return folder / "s.toml"


def one(kind: str = "barrier", ranks: int = 8, algorithm: str | None = None) -> Workload:
    work = Workload(ranks)
    for rank in range(ranks):
        size = 0 if kind == "barrier" else 1_000_000
        work.collective(rank, kind, size, algorithm=algorithm)
    return work


@pytest.mark.parametrize(
    ("topology", "ranks", "networks"),
    [
        (STAR, 8, ["loggops:rate=100Gbps,latency=2us,nics=1"]),
        (LEAVES, 8, ["loggops:rate=100Gbps,latency=2us,nics=1"]),
        (RAILS, 8, ["fully-connected:size=4,rate=800Gbps,latency=1us", ACROSS]),
        (RAILS + "nic_ports = 2", 3, ["fully-connected:size=3,rate=800Gbps,latency=1us"]),
        (RACKS, 6, []),
        (LISTED, 8, ["fully-connected:size=4,rate=800Gbps,latency=2us", ACROSS]),
    ],
)
def test_a_scenario_has_a_network(tmp_path, topology, ranks, networks):
    given = of_scenario(scenario(tmp_path, topology, one(ranks=ranks)))
    assert (given.file, given.networks) == (tmp_path / "s.toml", networks)


@pytest.mark.parametrize("topology", [STAR, LEAVES, RAILS, RACKS, LISTED])
@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        *(("all-reduce", name) for name in ("ring", "halving-doubling", "double-binary-tree")),
        *(("all-to-all", "direct"), ("broadcast", "binomial-tree"), ("broadcast", "ring")),
    ],
)
def test_on_its_links_a_workload_takes_hardly_longer_than_in_a_run(
    tmp_path, topology, kind, algorithm
):
    path = scenario(tmp_path, topology, one(kind, algorithm=algorithm))
    given = of_scenario(path)
    estimated_ps = estimate(given.file, given.networks).end_ps
    run = simulated(path, scheme="ideal-fq", out=tmp_path / "out")
    [work] = run.summary["workloads"]
    # A message to another place in another server takes two links one after the other: an eighth
    # more. Frames have headers and ACKs beside them, which the estimate does not have.
    assert 0.25 < estimated_ps / work["took_ps"] < 1.05


def test_what_is_assumed_is_told(tmp_path, command):
    path = scenario(tmp_path, RAILS, one("all-reduce"))
    done = command("estimate", path)
    assert f"latency=1us + {ACROSS}" in done.stdout
    assert done.stderr == ""
    operations = tmp_path / "work.parquet"
    for words, says in [
        ((operations,), "no network is given: one NIC of 400 Gbps for each rank"),
        ((scenario(tmp_path, RACKS, one(ranks=6)),), "an estimate has no network of messages"),
    ]:
        done = command("estimate", *words)
        assert says in done.stderr
        assert "loggops:latency=1us,rate=400Gbps" in done.stdout
    assert command("estimate", operations, "--network", "loggops").stderr == ""
    text = path.read_text(encoding="utf-8")
    second = text[text.index("[[workload]]") :].replace('"w"', '"w2"')
    path.write_text(text + second, encoding="utf-8")
    done = command("estimate", path, code=2)
    assert done.stdout == ""
    assert "one [[workload]], but this one has 2 (w, w2)" in done.stderr


def test_values_of_a_scenario_can_be_changed(tmp_path, command):
    path = scenario(tmp_path, RAILS, one("all-reduce"))
    done = command("estimate", path, "--set", "topology.link.rate=50Gbps")
    assert f"latency=1us + {ACROSS.replace('100Gbps', '50Gbps')}" in done.stdout
    done = command("estimate", tmp_path / "work.parquet", "--set", "seed=2", code=2)
    assert "--set changes a scenario" in done.stderr


BESIDE = """
name = "s"
[topology]
kind = "star"
hosts = 8
link = { rate = "100Gbps", delay = "1us" }
[[workload]]
name = "w"
"""
WORK = {
    "collective": 'collective = "all-reduce"\nsize = "8MB"\nalgorithm = "ring"\n',
    "some ranks": 'collective = "all-reduce"\nsize = "8MB"\nalgorithm = "ring"\nranks = 4\n',
    "channels": 'collective = "all-reduce"\nsize = "8MB"\nalgorithm = "ring:channels=4"\n',
    "steps": """
[[workload.steps]]
compute = "100us"
[[workload.steps]]
collective = "all-reduce"
size = "8MB"
algorithm = "ring"
""",
    "slow rank": 'collective = "all-gather"\nsize = "8MB"\ncompute = "1ms"\n'
    'slow = [{ rank = 3, factor = 2.0 }]\nqueue_pairs = "per-channel"\n',
}
"""Workloads without a file."""


@pytest.mark.parametrize("name", WORK)
def test_every_form_of_workload_is_estimated_as_it_runs(tmp_path, command, name):
    path = tmp_path / "s.toml"
    path.write_text(BESIDE + WORK[name], encoding="utf-8")
    done = command("estimate", path, "--json")
    assert done.stderr == ""
    run = simulated(path, scheme="ideal-fq", out=tmp_path / "out")
    [work] = run.summary["workloads"]
    # Frames have headers and ACKs beside them, which the estimate does not have.
    assert 0.85 < json.loads(done.stdout)["end_ps"] / work["took_ps"] < 1.01


# OPS-21
def test_nics_of_an_estimate(tmp_path):
    """Four messages between two ranks, each of its own NIC, on as many NICs as the network has."""
    work = Workload(2)
    for nic in range(4):
        work.send(0, 1, 1_000_000, nic, nic=nic, resource=nic)
        work.recv(1, 0, 1_000_000, nic, nic=nic, resource=nic)
    path = work.write(tmp_path / "nics.parquet")
    alone_ps = 1_000_000 * 8 / 100e9 * 1e12
    for nics, turns in ((1, 4), (2, 2), (4, 1), (8, 1)):
        found = estimate(path, [f"loggops:rate=100Gbps,latency=1us,nics={nics}"])
        assert found.end_ps == pytest.approx(turns * alone_ps + 1e6, rel=0.01)
    with pytest.raises(ScenarioError, match="no number of NICs"):
        estimate(path, ["loggops:nics=0"])
