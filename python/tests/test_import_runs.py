"""Inputs of other programs imported, run and judged by the audit, as a user goes."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from import_files import goal_binary, node, trace

from backwater.analysis import critical
from backwater.importers import importing
from backwater.importers.common.source import Findings
from backwater.importers.goal import schedule as goal
from backwater.importers.importing import Imported, Wishes
from backwater.results.files import RunFiles
from conftest import Backwater

GOAL = """\
num_ranks 3
rank 0 {
a: calc 1000
b: send 100000b to 1 tag 7
b requires a
}
rank 1 {
a: recv 100000b from -1 tag 7
b: send 100000b to 2
b requires a
}
rank 2 { recv 100000b from 1 }
"""

CHAIN = """\
Nodes 4
Connections 4
Triggers 3
0->1 id 1 start 0 size 100000 send_done_trigger 1
0->2 id 2 trigger 1 size 100000 recv_done_trigger 2
2->3 id 3 trigger 2 size 100000 recv_done_trigger 3
3->0 id 4 trigger 3 size 100000
trigger id 1 oneshot
trigger id 2 multishot
trigger id 3 barrier count 1
"""

RING = """\
<algo name="swap" nchunksperloop="2" ngpus="2">
<gpu id="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" cnt="1" depid="-1" deps="-1"/>
<step s="1" type="rrc" cnt="1" depid="-1" deps="-1"/>
</tb></gpu>
<gpu id="1"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" cnt="1" depid="-1" deps="-1"/>
<step s="1" type="rrc" cnt="1" depid="-1" deps="-1"/>
</tb></gpu>
</algo>
"""

SIMAI = """\
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 all_gpus: 4
1
mlp -1 1000 ALLREDUCE 100000 1000 ALLGATHER 100000 1000 REDUCESCATTER 100000 10
"""


def write_inputs(folder: Path) -> None:
    (folder / "goal").write_text(GOAL)
    (folder / "goal.bin").write_bytes(goal_binary(goal.parse("x", GOAL, Findings())))
    (folder / "htsim").write_text(CHAIN)
    (folder / "msccl").write_text(RING)
    (folder / "simai").write_text(SIMAI)
    (folder / "chakra").mkdir()
    for rank in range(4):
        nodes = [
            node(0, 4, duration_us=5),
            node(1, 7, 0, comm_type=0, comm_size=100_000),
            node(2, 7, 1, comm_type=6, comm_size=100_000),
        ]
        (folder / "chakra" / f"run.{rank}.et").write_bytes(trace(*nodes))


def test_the_path_of_collectives_that_ranks_start_in_different_orders(
    command: Backwater, tmp_path: Path
) -> None:
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


def test_the_path_of_a_collective_has_messages_of_its_members_alone(
    command: Backwater, tmp_path: Path
) -> None:
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
    ("kind", "name", "operations"),
    [
        ("goal", "goal", 5),
        ("goal", "goal.bin", 5),
        ("htsim", "htsim", 4),
        ("msccl", "msccl", 6),
        ("simai", "simai", 28),
        ("chakra", "chakra", 12),
    ],
)
def test_an_input_is_imported_and_run(
    command: Backwater, tmp_path: Path, kind: str, name: str, operations: int
) -> None:
    write_inputs(tmp_path)
    imported = command("import", kind, tmp_path / name, "-o", tmp_path / "x.toml")
    assert "nothing says what the network is" in imported.stderr
    command("run", tmp_path / "x.toml", "-o", tmp_path / "out")
    run = RunFiles(tmp_path / "out")
    assert run.ok
    assert run.table("operations").height == operations
    # What was imported may be imported again, over the old files.
    command("import", kind, tmp_path / name, "-o", tmp_path / "x.toml")


@pytest.mark.parametrize("kind", ["goal", "goal.bin", "htsim", "msccl", "simai"])
def test_inputs_may_be_compressed_or_begin_with_a_byte_order_mark(
    tmp_path: Path, kind: str
) -> None:
    write_inputs(tmp_path)
    read: dict[str, Callable[[Path, Wishes], Imported]] = {
        "goal": importing.import_goal,
        "goal.bin": importing.import_goal,
        "htsim": importing.import_htsim,
        "msccl": importing.import_msccl,
        "simai": importing.import_simai,
    }
    plain = tmp_path / kind
    packed = tmp_path / f"{kind}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    variants = [plain, packed]
    if kind != "goal.bin":
        variants.append(tmp_path / "marked")
        variants[-1].write_bytes(codecs.BOM_UTF8 + plain.read_bytes())
    frames = []
    for path in variants:
        imported = read[kind](path, Wishes())
        frames.append(imported.operations.frame())
    assert all(frame.equals(frames[0]) for frame in frames)


def test_times_of_operations_go_back_as_csv(command: Backwater, tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text(GOAL)
    command("import", "goal", "x.goal", cwd=tmp_path)
    command("run", "x.toml", "-o", "out", cwd=tmp_path)
    command("export", "operations", "out", "-o", "x.csv", cwd=tmp_path)
    header, *rows = (tmp_path / "x.csv").read_text().splitlines()
    assert header == "workload,rank,index,name,kind,peer,bytes,ready_ns,start_ns,end_ns"
    assert rows[0] == "x,0,0,a,calc,,0,0.000,0.000,1000.000"
    words = [row.split(",") for row in rows]
    assert [(w[1], w[3], w[4], w[5]) for w in words] == [
        ("0", "a", "calc", ""),
        ("0", "b", "send", "1"),
        ("1", "a", "recv", "0"),
        ("1", "b", "send", "2"),
        ("2", "", "recv", "1"),
    ]
    # Rank 1 sends when it has received, and rank 2 has received after that.
    assert float(words[2][9]) <= float(words[3][8]) < float(words[4][9])
    again = command("export", "operations", "out", "-o", "x.csv", cwd=tmp_path, code=1)
    assert "exists" in again.stderr


def test_a_wrong_input_leaves_no_file(command: Backwater, tmp_path: Path) -> None:
    (tmp_path / "x.goal").write_text("num_ranks 1\nrank 0 {\n  clac 5\n}\n")
    said = command("import", "goal", tmp_path / "x.goal", "-o", tmp_path / "x.toml", code=2)
    assert "x.goal:3:8" in said.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["x.goal"]
    (tmp_path / "mine.toml").write_text("name = 'mine'\n")
    (tmp_path / "x.goal").write_text(GOAL)
    said = command("import", "goal", tmp_path / "x.goal", "-o", tmp_path / "mine.toml", code=1)
    assert "exists and was not imported" in said.stderr
