"""Inputs of other programs imported, run and judged by the audit, as a user goes."""

import codecs
import gzip
from pathlib import Path

import pytest
from import_files import node, trace
from test_import_broken import CASES, GOAL

from backwater.analysis import critical
from backwater.results.files import RunFiles

OPTIONS = {
    "htsim": "--topology x.topo",
    "simai": "--topology x.links",
    "msccl": "--size 1MiB",
    "chakra": "--system system.json --network network.yml --comm-group groups.json",
}
"""The options of imports that have more than one file."""


def written(folder: Path, kind: str) -> str:
    """Write the input of a kind, and return its name."""
    files = CASES[kind].files
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return "run" if kind == "chakra" else next(iter(files))


def test_the_path_of_collectives_that_ranks_start_in_different_orders(command, tmp_path):
    """Rank 0 starts its all-gather first, rank 1 its reduce-scatter: these meet."""
    for rank, on_gpu in enumerate((10, 30)):
        nodes = [
            node(0, 4, duration_us=on_gpu),
            node(1, 4, duration_us=20, is_cpu_op=True),
            node(2, 7, 0, comm_type=2, comm_size=50_000),
            node(3, 7, 1, comm_type=7, comm_size=100_000),
            node(4, 4, 2, 3, duration_us=40 - on_gpu),
        ]
        (tmp_path / f"run.{rank}.et").write_bytes(trace(*nodes))
    command("import", "chakra", tmp_path, "-o", tmp_path / "x.toml")
    command("run", tmp_path / "x.toml", "-o", tmp_path / "out")
    told = command("collectives", tmp_path / "out")
    assert "x: all-gather 0 of all ranks (2)" in told.stdout
    steps = critical.steps(RunFiles(tmp_path / "out"), "x")
    assert steps["spent_ps"].sum() == RunFiles(tmp_path / "out").table("operations")["end_ps"].max()
    assert steps["rank"].to_list() == [1, 0, 0]


def test_the_path_of_a_collective_has_messages_of_its_members_alone(command, tmp_path):
    """Rank 2 sends to rank 1 while that copies what rank 0 has sent."""
    reduces = node(1, 7, comm_type=0, comm_size=400_000, pg_name="a")
    gathers = {"comm_type": 2, "comm_size": 1000, "pg_name": "b"}
    nodes = [[reduces], [reduces, node(2, 7, 1, **gathers)], [node(0, 4, duration_us=6)]]
    nodes[2].append(node(2, 7, 0, **gathers))
    (tmp_path / "t").mkdir()
    for rank, listed in enumerate(nodes):
        (tmp_path / "t" / f"run.{rank}.et").write_bytes(trace(*listed))
    (tmp_path / "groups.json").write_text('{"a": [0, 1], "b": [1, 2]}')
    (tmp_path / "system.json").write_text('{"endpoint-delay": 5000}')
    more = ["--system", tmp_path / "system.json", "--comm-group", tmp_path / "groups.json"]
    command("import", "chakra", tmp_path / "t", *more, "-o", tmp_path / "x.toml")
    command("run", tmp_path / "x.toml", "-o", tmp_path / "out")
    run = RunFiles(tmp_path / "out")
    row = run.table("collectives").filter(kind="all-reduce").row(0, named=True)
    # Rank 0 waits for what rank 1 copies meanwhile.
    sends = critical.critical_path(run, row | {"last_rank": 0})
    assert (sends["src"].to_list(), sends["dst"].to_list()) == ([0, 1], [1, 0])
    came = run.table("flows").filter(src=2)["received_ps"][0]
    assert sends["received_ps"][0] < came < sends["start_ps"][1]


@pytest.mark.parametrize(
    ("kind", "operations"),
    [("goal", 6), ("goal-binary", 6), ("htsim", 6), ("msccl", 7), ("simai", 120), ("chakra", 92)],
)
def test_an_input_is_imported_and_run(command, tmp_path, kind, operations):
    name, importer = written(tmp_path, kind), kind.partition("-")[0]
    words = ("import", importer, name, *OPTIONS.get(kind, "").split(), "-o", "x.toml")
    command(*words, cwd=tmp_path)
    command("run", "x.toml", "-o", "out", cwd=tmp_path)
    run = RunFiles(tmp_path / "out")
    assert run.ok
    assert run.table("operations").height == operations
    # What was imported may be imported again, over the old files.
    command(*words, cwd=tmp_path)


@pytest.mark.parametrize("kind", ["goal", "goal-binary", "htsim", "msccl", "simai"])
def test_inputs_may_be_compressed_or_begin_with_a_byte_order_mark(tmp_path, kind):
    plain = tmp_path / written(tmp_path, kind)
    whole = plain.read_bytes()
    variants = [whole, gzip.compress(whole)]
    if kind != "goal-binary":
        variants.append(codecs.BOM_UTF8 + whole)
    frames = []
    for content in variants:
        plain.write_bytes(content)
        frames.append(CASES[kind].load(tmp_path).operations.frame())
    assert all(frame.equals(frames[0]) for frame in frames)


def test_times_of_operations_go_back_as_csv(command, tmp_path):
    (tmp_path / "x.goal").write_text(GOAL)
    command("import", "goal", "x.goal", cwd=tmp_path)
    command("run", "x.toml", "-o", "out", cwd=tmp_path)
    command("export", "operations", "out", "-o", "x.csv", cwd=tmp_path)
    header, *rows = (tmp_path / "x.csv").read_text().splitlines()
    assert header == "workload,rank,index,name,kind,peer,bytes,ready_ns,start_ns,end_ns"
    assert rows[0] == "x,0,0,a,calc,,0,0.000,0.000,1000.000"
    words = [row.split(",") for row in rows]
    named = {(w[1], w[3]): w for w in words}
    assert [(*key, w[4], w[5]) for key, w in named.items()] == [
        *(("0", "a", "calc", ""), ("0", "b", "send", "1"), ("0", "c", "recv", "1")),
        *(("1", "x", "recv", "0"), ("1", "y", "send", "0"), ("2", "", "calc", "")),
    ]
    # Rank 1 sends when it has received, and rank 0 has received after that.
    assert float(named["1", "x"][9]) <= float(named["1", "y"][8]) < float(named["0", "c"][9])
    again = command("export", "operations", "out", "-o", "x.csv", cwd=tmp_path, code=1)
    assert "exists" in again.stderr


def test_a_wrong_input_leaves_no_file(command, tmp_path):
    (tmp_path / "x.goal").write_text("num_ranks 1\nrank 0 {\n  clac 5\n}\n")
    said = command("import", "goal", tmp_path / "x.goal", "-o", tmp_path / "x.toml", code=2)
    assert "x.goal:3:8" in said.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.goal"]
