"""Inputs of other programs, broken: an import refuses them by name or makes a good scenario."""

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from import_files import THREE_TIERS, goal_binary, node, trace
from test_interchange import CONFIG, FLOWS, TOPOLOGY

from backwater.errors import RunError, ScenarioError
from backwater.importers import importing
from backwater.importers.common.source import Findings
from backwater.importers.goal import schedule as goal
from backwater.importers.importing import Imported, Wishes
from backwater.importers.ns3 import scenario as ns3

GOAL = """\
num_ranks 3 // three hosts
rank 0 {
a: calc 1000 cpu 1
b: send 100000b to 1 tag 7 nic 1
b requires a
/* both ways */ c: recv 5b from -1 tag -1
c irequires b
}
rank 1 {
x: recv 100000b from 0 tag 7
y: send 5b to 0 tag 3 cpu 1
y requires x
}
rank 2 { calc 7 }
"""

MATRIX = """\
Nodes 16
Connections 5
Triggers 3
Failures 1
# a chain
0->1 id 1 start 1e6 size 100000 send_done_trigger 1
0->2 id 2 trigger 1 size 100000 recv_done_trigger 2 prio 2
2->3 id 3 msg 1 trigger 2 size 100000 recv_done_trigger 3
2->3 id 3 msg 2 trigger 2 size 100000 recv_done_trigger 3
3->0 id 4 trigger 3 size 100000
trigger id 1 oneshot
trigger id 2 oneshot
trigger id 3 barrier count 2
failure switch_type AGG switch_id 1 link_id 1
"""

ALGORITHM = """\
<algo name="swap" nchunksperloop="2" ngpus="2" nchannels="1" proto="Simple" coll="allreduce">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1"/>
<step s="1" type="rrc" cnt="1" depid="-1" deps="-1" hasdep="1"/>
</tb><tb id="1" send="-1" recv="-1" chan="0">
<step s="0" type="cpy" cnt="1" depid="0" deps="1" hasdep="0"/>
</tb></gpu>
<gpu id="1"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" cnt="1" depid="-1" deps="-1"/>
<step s="1" type="rrc" cnt="1" depid="-1" deps="-1"/>
</tb></gpu>
</algo>
"""

LAYERS = """\
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 2 \
all_gpus: 8 checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm 0
2
mlp -1 1000 ALLREDUCE 100000 1000 ALLGATHER 100000 1000 REDUCESCATTER 100000 10
moe -1 1000 ALLTOALL_EP 50000 1000 NONE 0 1000 ALLREDUCE_DP_EP 100000 10
"""

SERVERS = "13 4 2 3 18 H100\n8 9 10 11 12\n" + "".join(
    [f"{gpu} {8 + gpu // 4} 2400Gbps 0.000025ms 0\n" for gpu in range(8)]
    + [f"{gpu} {10 + gpu % 2} 400Gbps 0.0005ms 0\n" for gpu in range(8)]
    + [f"{leaf} 12 1600Gbps 0.0005ms 0\n" for leaf in (10, 11)]
)

SYSTEM = {
    "scheduling-policy": "FIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 2,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring", "direct2"],
    "all-gather-implementation": ["ring", "halvingDoubling"],
    "all-to-all-implementation-custom": ["own"],
    "collective-optimization": "localBWAware",
    "roofline-enabled": 1,
    "peak-perf": 900,
    "local-mem-bw": 50,
}
DIMENSIONS = """\
topology: [ Ring, Switch ]
npus_count: [ 2, 2 ]
bandwidth: [ 50.0, 20.0 ]  # GB/s
latency: [ 500.0, 1000 ]
"""


def _rank(rank: int) -> bytes:
    groups = json.dumps([{"pg_name": "2", "ranks": [1, 0]}, {"pg_name": "0", "ranks": []}])
    nodes = [
        node(0, 1, name="process_group:init", inputs=groups),
        node(1, 4, 0, duration_us=5, num_ops=10**6, tensor_size=100),
        node(2, 7, 1, comm_type=0, comm_size=100_000, involved_dim=[True, True]),
        node(3, 7, 2, comm_type=6, comm_size=100_000),
    ]
    if rank < 2:
        nodes.append(node(4, 7, 2, comm_type=2, comm_size=500, pg_name="2"))
        nodes.append(node(5, 5 + rank, 4, comm_size=99, comm_tag=1, comm_src=0, comm_dst=1))
    return trace(*nodes)


def _own(rank: int) -> bytes:
    others = [other for other in range(4) if other != rank]
    sends = [node(i, 5, comm_size=25_000, comm_dst=x, comm_tag=0) for i, x in enumerate(others)]
    takes = [node(3 + i, 6, comm_size=25_000, comm_src=x, comm_tag=0) for i, x in enumerate(others)]
    return trace(*sends, *takes)


class Case(NamedTuple):
    """Files of a kind, and how they are imported."""

    files: dict[str, bytes]
    load: Callable[[Path], Imported | Path]


CASES = {
    "goal": Case(
        {"x.goal": GOAL.encode()}, lambda p: importing.import_goal(p / "x.goal", Wishes())
    ),
    "goal-binary": Case(
        {"x.bin": goal_binary(goal.parse("x", GOAL, Findings()))},
        lambda p: importing.import_goal(p / "x.bin", Wishes(), "atlahs-ai"),
    ),
    "htsim": Case(
        {"x.cm": MATRIX.encode(), "x.topo": THREE_TIERS.encode()},
        lambda p: importing.import_htsim(p / "x.cm", Wishes(p / "x.topo"), "1ms"),
    ),
    "msccl": Case(
        {"x.xml": ALGORITHM.encode()},
        lambda p: importing.import_msccl(p / "x.xml", Wishes(), 1 << 20),
    ),
    "simai": Case(
        {"x.txt": LAYERS.encode(), "x.links": SERVERS.encode()},
        lambda p: importing.import_simai(p / "x.txt", Wishes(p / "x.links")),
    ),
    "ns3": Case(
        {
            "config.txt": CONFIG.encode(),
            "topology.txt": TOPOLOGY.encode(),
            "flow.txt": FLOWS.encode(),
        },
        lambda p: p / "config.txt",
    ),
    "chakra": Case(
        {
            **{f"run.{rank}.et": _rank(rank) for rank in range(3)},
            "run.3.et": gzip.compress(_rank(3), mtime=0),
            **{f"own.{rank}.et": _own(rank) for rank in range(4)},
            "system.json": json.dumps(SYSTEM).encode(),
            "network.yml": DIMENSIONS.encode(),
            "groups.json": b'{"1": [0, 1], "7": [2, 3]}',
        },
        lambda p: importing.import_chakra(
            p / "run", Wishes(), p / "system.json", p / "network.yml", p / "groups.json"
        ),
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_whole_inputs_are_imported(kind, tmp_path):
    assert _import(CASES[kind], CASES[kind].files, tmp_path) == "imported"


@st.composite
def _changed(draw: st.DrawFn, data: bytes) -> bytes:
    """Cut data off, change a byte, or drop, double or exchange lines or words."""
    at = draw(st.integers(0, len(data) - 1))
    how = draw(st.sampled_from(["cut", "byte", "insert", "line", "twice", "word", "number"]))
    if how == "cut":
        return data[:at]
    if how == "byte":
        return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
    if how == "insert":
        return data[:at] + draw(st.binary(min_size=1, max_size=4)) + data[at:]
    if how in ("line", "twice"):
        lines = data.splitlines(keepends=True)
        index = draw(st.integers(0, len(lines) - 1))
        return b"".join(
            [*lines[:index], *lines[index : index + 1] * 2 * (how == "twice"), *lines[index + 1 :]]
        )
    pieces = data.split(b" ")
    index = draw(st.integers(0, len(pieces) - 1))
    others = st.sampled_from(
        [b"0", b"-1", b"1e400", b"nan", b"999999999999999999999", b"\xff", b""]
    )
    pieces[index] = draw(others if how == "number" else st.sampled_from(pieces))
    return b" ".join(pieces)


@pytest.mark.parametrize("kind", CASES)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_broken_inputs_are_refused_by_name_or_imported(kind, data):
    case = CASES[kind]
    name = data.draw(st.sampled_from(sorted(case.files)))
    files = case.files | {name: data.draw(_changed(case.files[name]))}
    with tempfile.TemporaryDirectory() as folder:
        said = _import(case, files, Path(folder))
    # Where a file agrees with itself, another may be what is said not to fit.
    assert said == "imported" or any(file in said for file in case.files) or "ranks" in said


def _import(case: Case, files: dict[str, bytes], folder: Path) -> str:
    """Import files; returns what was said where they were refused."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        loaded = case.load(folder)
        write = ns3.write if isinstance(loaded, Path) else importing.write
        write(loaded, folder / "made.toml")
    except (ScenarioError, RunError) as error:
        assert sorted(p.name for p in folder.iterdir()) == sorted(files)
        return str(error)
    made = {p.name for p in folder.iterdir()} - set(files)
    assert made in ({"made.toml", "made.operations.parquet"}, {"made.toml", "made.flows.csv"})
    return "imported"
