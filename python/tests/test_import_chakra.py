"""Chakra's execution traces, and the files of ASTRA-sim that go with them."""

import gzip
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from import_files import attribute, delimited, estimated, node, refused, trace

from backwater.errors import InputError, ScenarioError
from backwater.importers import importing, networks
from backwater.importers.astra import operations as chakra_operations
from backwater.importers.astra import schema as chakra_schema
from backwater.importers.astra import system as astra
from backwater.importers.astra import traces as chakra
from backwater.importers.astra.operations import Settings
from backwater.importers.astra.system import Dimension, System
from backwater.importers.astra.traces import Node, NodeType, Trace
from backwater.importers.common.source import Findings, unpacked
from backwater.importers.importing import Wishes
from backwater.workloads import Workload
from backwater.workloads.estimates import estimate

COMP, SEND, RECV, COLL = map(NodeType, (4, 5, 6, 7))
INIT = {"name": "process_group:init"}
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 1,
    "all-reduce-implementation": ["ring"],
    "all-to-all-implementation": ["direct4"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
    "boost-mode": 0,
}


def parsed(data: bytes, findings: Findings | None = None) -> Trace:
    found = findings or Findings()
    return chakra.parse("x.0.et", unpacked("x.0.et", data, found), found)


def converted(
    *traces: bytes, findings: Findings | None = None, dims: list[int] | None = None, **more
) -> Workload:
    found = findings or Findings()
    read = [chakra.parse(f"x.{rank}.et", data, found) for rank, data in enumerate(traces)]
    system = more.pop("system", System("x"))
    return chakra_operations.convert(read, Settings(system, dims or [len(read)], **more), found)


def layer(change: dict, findings: Findings | None = None) -> System:
    """Read a system layer in which some keys are changed."""
    return astra.system_of("s.json", json.dumps(SYSTEM | change), findings or Findings())


def of_rank(workload: Workload, rank: int) -> pl.DataFrame:
    return workload.frame().filter(pl.col("rank") == rank)


def coll(number: int, *deps: int, kind: int = 0, size: int = 1000, **more: Any) -> Any:
    """Make the node of a collective; kind 0 is an all-reduce."""
    return node(number, COLL, *deps, comm_type=kind, comm_size=size, **more)


def told(findings: Findings) -> list[str]:
    return [warning["text"] for warning in findings.warnings()]


def chakra_files(folder: Path, *traces: bytes, system: dict | None = None) -> Path:
    """Write traces, and a system layer with these changes, and return the prefix of the traces."""
    for rank, data in enumerate(traces):
        (folder / f"run.{rank}.et").write_bytes(data)
    (folder / "system.json").write_text(json.dumps(SYSTEM | (system or {})))
    return folder / "run"


# --- Files ---------------------------------------------------------------------------------------


def test_a_trace_is_read_gzipped_or_not():
    data = trace(
        node(3, COMP, 1, duration_us=7, is_cpu_op=False, ctrl=[1]),
        node(1, COMP, name="first", num_ops=5, tensor_size=2.0, inputs="[]"),
        version="1.0.2-chakra.0.0.4",
    )
    found = parsed(data)
    assert found.version == "1.0.2-chakra.0.0.4"
    assert found.nodes == [
        Node(3, "n3", COMP, (1,), (1,), 7, {"is_cpu_op": False}, trace=found),
        Node(1, "first", COMP, (), (), 0, {"num_ops": 5, "tensor_size": 2.0}, "[]", trace=found),
    ]
    packed = gzip.compress(data)
    assert parsed(packed).nodes == found.nodes
    assert parsed(gzip.compress(data[:9]) + gzip.compress(data[9:])).nodes == found.nodes


def test_dependencies_may_be_packed_or_not():
    one = chakra_schema.messages()["Node"](id=1, type=COMP)
    # Field 5 as single varints, and packed: both are in one message.
    many = chakra_schema.messages()["Node"](id=2, type=COMP).SerializeToString()
    many += b"\x28\x01" + b"\x2a\x02\x01\x01"
    data = trace(one) + delimited(many)
    assert parsed(data).nodes[1].data_deps == (1, 1, 1)


@pytest.mark.parametrize("kind", [k for k in chakra_schema.SCALARS if "int" in k or "fixed" in k])
def test_attributes_may_be_any_kind_of_integer(kind):
    item = node(0, SEND)
    for name, value in (("comm_size", 77), ("comm_dst", 1), ("comm_tag", 0)):
        item.attr.append(attribute(name, value, f"{kind}_val"))
    other = node(0, RECV, comm_src=0, comm_size=77, comm_tag=0)
    assert of_rank(converted(trace(item), trace(other)), 0)["bytes"].to_list() == [77]


KNOWN = ["0.0.4", "1.0.2-chakra.0.0.4", "1.0.1", ""]


@pytest.mark.parametrize("version", [*KNOWN, "9.9", "1.0.3-chakra.0.0.4", "0.0.3", "new"])
def test_versions_of_the_schema_that_are_not_known_are_told(version):
    findings = Findings()
    parsed(trace(node(0, COMP), version=version), findings)
    assert len(told(findings)) == (version not in KNOWN)
    assert all(f"x.0.et: the schema's version `{version}`" in text for text in told(findings))


def test_the_version_may_be_an_attribute():
    head = chakra_schema.messages()["GlobalMetadata"]()
    head.attr.append(attribute("schema", "1.0.2-chakra.0.0.4"))
    assert parsed(delimited(head.SerializeToString())).version == "1.0.2-chakra.0.0.4"


def test_files_of_all_ranks_are_found(tmp_path):
    for rank in (0, 1, 10, 2, *range(3, 10)):
        (tmp_path / f"run.{rank}.et").write_bytes(trace())
    (tmp_path / "notes.txt").write_text("")
    paths = [tmp_path / f"run.{rank}.et" for rank in range(11)]
    for name in (tmp_path, tmp_path / "run", tmp_path / "run.3.et"):
        assert chakra.find(name, Findings()) == paths
    (tmp_path / "other.0.et").write_bytes(trace())
    assert "traces of several runs: other, run" in refused(lambda f: chakra.find(tmp_path, f))
    assert chakra.find(tmp_path / "run", Findings()) == paths
    (tmp_path / "run.4.et").unlink()
    assert "run.4.et: each rank has a file" in refused(lambda f: chakra.find(tmp_path / "run", f))
    assert "no file" in refused(lambda f: chakra.find(tmp_path / "none", f))
    assert "cannot read" in refused(lambda f: chakra.find(tmp_path / "no" / "none", f))
    (tmp_path / "run.03.et").write_bytes(trace())
    assert "are both of rank 3" in refused(lambda f: chakra.find(tmp_path / "run", f))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"\xff\xff", "expected the length of a message"),
        (b"\x05abc", "a message of 5 bytes begins here, but the file has only 3 more"),
        (b"\x02\x0a\x07", "metadata cannot be read"),
        (trace() + b"\x02\x0a\x07", "node 0 cannot be read"),
        (trace(node(0, 99)), "node 0 has the unknown type 99"),
        (trace(node(5, COMP), node(5, COMP)), "the id 5 is that of an earlier node"),
        (trace(node(5, COMP, 6)), "node 5 `n5`: it waits for node 6, which does not exist"),
        (b"\x1f\x8b\x08", "the compressed file is cut off"),
        (b"\x1f\x8bzzzzzzzzzzzzz", "cannot be unpacked"),
    ],
)
def test_what_is_wrong_in_a_trace_is_said(data, says):
    said = refused(lambda findings: parsed(data, findings))
    assert says in said
    assert "x.0.et" in said


# --- Operations ----------------------------------------------------------------------------------


def test_operations_of_traces():
    first = trace(
        node(9, SEND, 4, comm_size=100, comm_dst=1, comm_tag=3, comm_src=0),
        node(4, COMP, duration_us=7),
        node(5, COMP, duration_us=2, is_cpu_op=True, ctrl=[9]),
        node(6, NodeType.MEM_LOAD, duration_us=1),
        node(7, NodeType.METADATA),
    )
    second = trace(
        node(0, RECV, comm_size=60, comm_src=0, comm_tag=3),
        node(1, RECV, comm_size=40, comm_src=0, comm_tag=3),
    )
    findings = Findings()
    workload = converted(first, second, findings=findings)
    assert workload.options["matching"] == "bytes"
    assert workload.options["send_holds_to_end"] is True
    rows = of_rank(workload, 0)
    assert rows["name"].to_list() == ["n4", "n5", "n6", "n7", "n9"]
    assert rows["resource"].to_list() == [1, 0, 1, None, 2]
    assert rows["duration_ps"].to_list() == [7_000_000, 2_000_000, 1_000_000, 0, None]
    assert rows["after_end"].to_list() == [None, None, None, None, [0]]
    assert rows["priority"].to_list() == [4, 5, 6, None, 9]
    assert of_rank(workload, 1)["tag"].to_list() == [3, 3]
    [warning] = told(findings)
    assert warning.startswith("warning: x.0.et: node 6 `n6`: nodes MEM_LOAD")
    # Control dependencies count on request.
    rows = of_rank(converted(first, second, ctrl_deps=True), 0)
    assert rows["name"].to_list() == ["n4", "n6", "n7", "n9", "n5"]


def test_control_dependencies_on_nodes_that_were_dropped():
    # Traces of PyTorch name nodes by control that their converter drops; nothing waits for them.
    data = trace(node(5, COMP, duration_us=1, ctrl=[3]), node(6, COMP, 5, duration_us=1, ctrl=[5]))
    for ctrl_deps, warned in ((False, 0), (True, 1)):
        findings = Findings()
        rows = of_rank(converted(data, data, findings=findings, ctrl_deps=ctrl_deps), 0)
        assert rows["after_end"].to_list()[0] is None
        assert len(told(findings)) == 2 * warned
        assert all("node 3, does not exist and is not waited for" in t for t in told(findings))


def test_what_the_cpu_does_to_start_a_communication_sends_nothing():
    findings = Findings()
    data = trace(
        node(1, COLL, is_cpu_op=True, duration_us=85), coll(2, 1, size=1000, is_cpu_op=False)
    )
    rows = of_rank(converted(data, data, findings=findings), 0)
    assert rows["kind"].to_list() == ["calc", "all-reduce"]
    assert rows["duration_ps"].to_list() == [85_000_000, None]
    assert rows["resource"].to_list() == [0, 2]
    assert "does not say which one: it lasts as long" in told(findings)[0]


def test_under_replay_only_nothing_is_sent():
    system = astra.system_of("s.json", json.dumps({"replay-only": 1}), Findings())
    findings = Findings()
    data = trace(
        node(1, COLL, duration_us=85, comm_type=0, comm_size=1000),
        node(2, SEND, comm_size=5, comm_dst=1, duration_us=3),
        node(3, RECV, comm_size=5, comm_src=1),
    )
    rows = of_rank(converted(data, data, system=system, findings=findings), 0)
    assert rows["kind"].to_list() == ["calc"] * 3
    assert rows["duration_ps"].to_list() == [85_000_000, 3_000_000, 1000]
    assert rows["resource"].to_list() == [2, 2, None]
    assert "communication under replay-only" in told(findings)[0]


@pytest.mark.parametrize("form", ["{}", "['{}']", "json"])
def test_groups_as_programs_write_them(form):
    groups = json.dumps([{"pg_name": "2", "ranks": [0, 1]}, {"pg_name": "0", "ranks": []}])
    text = json.dumps([groups]) if form == "json" else form.replace("{}", groups)
    data = trace(
        node(0, NodeType.METADATA, name="## process_group:init ##", inputs=text),
        coll(1, 0, size=1000, pg_name="2"),
    )
    workload = converted(data, data, trace())
    assert workload.groups == {"2": [0, 1]}


def test_times_by_the_roofline():
    text = '{"roofline-enabled": 1, "peak-perf": 1, "local-mem-bw": 100}'
    data = trace(
        node(0, COMP, num_ops=10**9, tensor_size=10**6),
        node(1, COMP, num_ops=10**6, tensor_size=10**6),
        node(2, COMP, duration_us=5),
        node(3, COMP, duration_us=1, num_ops=10**9, tensor_size=10**6, is_cpu_op=True),
    )
    system = astra.system_of("s.json", text, Findings())
    rows = of_rank(converted(data, data, system=system), 0)
    # 10^9 operations at 10^12 per second; 10^6 bytes at 10^11 bytes per second.
    # What has no tensor is no computation there, and what the CPU does has no roofline.
    assert rows["duration_ps"].to_list() == [10**9, 10**7, 0, 10**6]


def test_collectives_and_their_groups():
    init = json.dumps([{"pg_name": "2", "ranks": [1, 0]}, {"pg_name": "0", "ranks": []}])
    nodes = (
        node(0, NodeType.METADATA, **INIT, inputs=init),
        coll(1, pg_name="0"),
        coll(2, kind=2, pg_name="2"),
        coll(3, kind=7, pg_name="5"),
        coll(4, kind=9, size=0),
        coll(5, kind=6, size=10, pg_name="1"),
    )
    # Group 1 has one rank: nothing is sent.
    alone = {"5": (0, 1), "1": (0,)}
    with pytest.raises(ScenarioError, match="rank 1 is not a member of its group `1`"):
        converted(trace(*nodes), trace(*nodes), groups=alone)
    workload = converted(trace(*nodes), trace(*nodes[:-1]), groups=alone)
    rows = of_rank(workload, 0)
    kinds = ["calc", "all-reduce", "all-gather", "reduce-scatter", "barrier", "calc"]
    assert rows["kind"].to_list() == kinds
    # Each of two ranks contributes 1000 bytes to the all-gather.
    assert rows["bytes"].to_list() == [None, 1000, 2000, 1000, 0, None]
    assert rows["group"].to_list() == [None, None, "2", None, None, None]
    assert workload.groups == {"2": [1, 0]}
    # Their members meet as they start them.
    assert rows["tag"].to_list() == [None] * 6
    assert workload.options["instances"] == "start"


def test_chunks_of_a_collective():
    system = layer({"preferred-dataset-splits": 3, "active-chunks-per-dimension": 2})
    data = trace(
        coll(7), node(8, COLL, 7, comm_type=6, comm_size=1000), node(9, COMP, 8, duration_us=1)
    )
    rows = of_rank(converted(data, data, system=system), 0)
    # A ring divides the bytes itself; for other algorithms there is a collective for each chunk.
    assert rows["kind"].to_list() == ["all-reduce", *["all-to-all"] * 3, "calc", "calc"]
    assert rows["algorithm"].to_list()[:2] == ["ring:chunks=3,active=2", "direct:window=4"]
    assert rows["bytes"].to_list()[:4] == [1000, 333, 333, 334]
    assert rows["resource"].to_list() == [2, 2, 3, 2, None, 1]
    assert rows["tag"].to_list()[:4] == [None] * 4
    assert rows["after_end"].to_list() == [None, [0], [0], [0], [1, 2, 3], [4]]


def test_a_ring_takes_what_astra_sim_publishes(tmp_path):
    # 4 chunks of 14 steps of 610 + 500 ns, 7 reductions of 3 × 655 ns and 15 copies of 10 ns.
    system = layer({"preferred-dataset-splits": 4, "local-mem-bw": 50})
    data = trace(coll(0, size=1 << 20))
    path = converted(*[data] * 8, system=system).write(tmp_path / "ring.parquet")
    _, [dimension] = astra.network_of("n.yml", NETWORK.replace("4", "8"), Findings())
    assert dimension.estimate == f"ring:size=8,rate={50 * 2**30 * 8}bps,latency=500500ps,grain=1ns"
    network = f"ring:size=8,rate={50 * 2**30 * 8}bps,latency=500ns,grain=1ns"
    assert estimate(path, [network]).end_ps == 117_780_000
    assert estimate(path, [network.removesuffix(",grain=1ns")]).end_ps == pytest.approx(
        117_780_000, rel=1e-3
    )


def test_a_note_says_how_to_estimate_what_astra_sim_would_say(tmp_path):
    chunks = {"preferred-dataset-splits": 4, "local-mem-bw": 50}
    traces = chakra_files(tmp_path, *[trace(coll(0, size=1 << 20))] * 8, system=chunks)
    (tmp_path / "ring.yml").write_text(NETWORK.replace("4", "8").replace("500.5", "500"))
    imported = importing.import_chakra(
        traces, Wishes(), tmp_path / "system.json", tmp_path / "ring.yml"
    )
    [note] = importing.write(imported, tmp_path / "x.toml")
    assert estimated(note).end_ps == 117_780_000


def test_a_group_that_an_algorithm_cannot_do_is_told_with_the_users_file(tmp_path, monkeypatch):
    change = {"all-gather-implementation": ["halvingDoubling"]}
    chakra_files(tmp_path, *[trace(coll(0, kind=2))] * 6, system=change)
    monkeypatch.chdir(tmp_path)
    imported = importing.import_chakra(Path("run"), Wishes(), Path("system.json"))
    for out in (Path("x.toml"), tmp_path / "x.toml"):
        with pytest.raises(ScenarioError, match="only in groups of a power of two") as error:
            importing.write(imported, out)
        assert ".import-" not in str(error.value)
        # No place in a scenario that was never written.
        assert "-->" not in str(error.value)


def test_times_of_a_rank_for_collectives_come_from_the_system_layer():
    data = trace(coll(0, size=8))
    system = astra.system_of("s.json", "{}", Findings())
    # ASTRA-sim's default of a system layer that does not say it; no memory, no time for it.
    assert system.times() == {"copy_ps": 10_000}
    options = converted(data, data, system=layer({})).options
    assert options["reduction_per_byte_ps"] == 1.875
    assert (options["reduction_grain_ps"], options["copy_ps"]) == (3000, 10_000)


def test_a_collective_over_two_dimensions():
    part = coll(1, 0, kind=2, size=10, involved_dim=[True, False])
    data = trace(coll(0), part, coll(2, 1, kind=7), coll(3, 2, kind=2, size=10))
    system = layer({"all-reduce-implementation": ["ring", "halvingDoubling"]})
    workload = converted(*[data] * 8, dims=[4, 2], system=system)
    rows = of_rank(workload, 5)
    steps = rows.select("kind", "group", "bytes").rows()
    assert steps == [
        ("reduce-scatter", "dim0-1", 1000),
        ("all-reduce", "dim1-1", 250),
        ("all-gather", "dim0-1", 1000),
        ("all-gather", "dim0-1", 40),
        ("reduce-scatter", "dim0-1", 1000),
        ("reduce-scatter", "dim1-1", 250),
        ("all-gather", "dim0-1", 40),
        ("all-gather", "dim1-1", 80),
    ]
    assert workload.groups["dim1-1"] == [1, 5]
    assert rows["tag"].to_list() == [0, 0, 1, 2, 3, 1, 4, 2]
    assert rows["algorithm"][1] == "halving-doubling"
    assert rows["after_end"].to_list() == [None, *([i] for i in range(7))]
    assert rows["resource"].to_list()[:2] == [2, 3]


@pytest.mark.parametrize(("second", "ends_ns"), [(4096, 36_094), (2048, 35_094)])
def test_ranks_may_start_collectives_in_different_orders(tmp_path, second, ends_ns):
    """By their ids, each rank would hold its communication with what the other cannot start."""

    def data(on_gpu: int, on_cpu: int) -> bytes:
        return trace(
            node(0, COMP, duration_us=on_gpu),
            node(1, COMP, duration_us=on_cpu, is_cpu_op=True),
            coll(2, 0, size=4096, pg_name="5"),
            coll(3, 1, size=second, pg_name="5"),
        )

    workload = converted(data(10, 20), data(30, 20), groups={"5": (1, 0)})
    found = estimate(workload.write(tmp_path / "x.parquet"), ["loggops:latency=1us,rate=8Gbps"])
    # Rank 1 starts its second one at 30 us, when the first part from rank 0 is there: then two
    # parts of 2047 ns follow each other, or rank 0 answers the first of them with as many bytes.
    assert found.end_ps == ends_ns * 1000


def test_an_algorithm_has_to_fit_its_collective():
    system = layer({"all-gather-implementation": ["doubleBinaryTree"]})
    data = trace(coll(7, kind=2, size=1000))
    said = refused(lambda findings: converted(data, data, system=system, findings=findings))
    assert "doubleBinaryTree can do an all-reduce only" in said


def test_an_algorithm_of_ones_own(tmp_path):
    inner = [
        trace(
            node(0, SEND, comm_size=10, comm_dst=1 - rank, comm_tag=4),
            node(1, RECV, comm_size=10, comm_src=1 - rank, comm_tag=4),
            node(2, COMP, 1, duration_us=7),
        )
        for rank in range(2)
    ]
    (tmp_path / "algorithms").mkdir()
    for rank, data in enumerate(inner):
        (tmp_path / f"algorithms/swap.{rank}.et").write_bytes(data)
    data = trace(coll(0), coll(1, 0))
    table = {"all-reduce-implementation-custom": ["algorithms/swap"]}
    traces = chakra_files(tmp_path, data, data, system=table)
    imported = importing.import_chakra(traces, Wishes(), tmp_path / "system.json")
    rows = of_rank(imported.operations, 0)
    assert rows["kind"].to_list() == ["send", "recv", "calc", "calc"] * 2
    assert rows["after_end"].to_list() == [None, None, [1], [0, 2], [3], [3], [5], [4, 6]]
    # The messages of the two calls do not mix.
    assert rows["tag"].to_list() == [2**32 + 4] * 2 + [None] * 2 + [2**33 + 4] * 2 + [None] * 2
    # OPS-38: each call is a collective.
    whole = {"kind": "all-reduce", "bytes": 1000}
    assert imported.operations.collectives == [whole, whole]
    assert rows["part_of"].to_list() == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([node(0, COLL, comm_size=1)], "comm_type is missing"),
        ([coll(0, kind=77)], "comm_type 77"),
        ([coll(0, kind=3)], "a GATHER cannot be run"),
        ([node(0, COLL, comm_type=0)], "comm_size is missing"),
        ([coll(0, size="many")], "comm_size should be a whole number"),
        ([coll(0, size=-1)], "comm_size is -1"),
        ([coll(0, pg_name="7")], "group `7`"),
        ([coll(0, involved_dim=3)], "a list of booleans"),
        ([node(0, COMP, duration_us=10**11)], "more than 20 hours"),
        ([coll(0, kind=2, size=2**48)], "562949953421312"),
        ([node(0, SEND, comm_size=1)], "comm_dst is missing"),
        ([node(0, SEND, comm_size=1, comm_dst=2)], "comm_dst is 2; expected 0 to 1"),
        ([node(0, SEND, comm_size=1, comm_dst=0)], "comm_dst is 0, the rank itself"),
        ([node(0, SEND, comm_size=1, comm_dst=1, comm_src=1)], "this is the trace of 0"),
        ([node(0, COMP, 1), node(1, COMP, 0)], "these nodes wait for each other: "),
        ([coll(0, size=1)], "takes part in 0 collectives all-reduce of 1 bytes of all ranks"),
        ([node(0, NodeType.METADATA, **INIT, inputs="[{}]")], "expected a list of groups"),
        ([node(0, NodeType.METADATA, **INIT, inputs="[{")], "this is no JSON"),
    ],
)
def test_what_cannot_be_run_is_said(nodes, says):
    assert says in refused(lambda findings: converted(trace(*nodes), trace(), findings=findings))


def test_what_is_doubtful_is_a_warning():
    findings = Findings()
    converted(
        trace(node(0, SEND, comm_size=5, comm_dst=1), node(1, COLL, comm_type=5, comm_size=1)),
        trace(node(0, RECV, comm_size=4, comm_src=0), node(1, RECV, comm_size=4, comm_src=0)),
        trace(node(7, SEND, comm_size=5, comm_dst=1), node(8, SEND, comm_size=5, comm_dst=1)),
        findings=findings,
    )
    said = "\n".join(told(findings))
    assert "a BROADCAST is not run, as in ASTRA-sim" in said
    where = "x.1.et: node 0 `n0`: from rank 0 to 1 with tag 0 3 bytes more are received than sent"
    assert f"{where}: rank 1 waits for ever" in said
    assert "x.2.et: node 7 `n7`: from rank 2 to 1 with tag 0 10 bytes more are sent than" in said


def test_the_rank_that_does_otherwise_is_named_and_not_the_others():
    usual = trace(coll(3))
    for size in (2, 2000):
        odd = trace(coll(5, size=size))
        said = refused(lambda f, odd=odd: converted(usual, usual, odd, usual, findings=f))
        assert said.count("error: x.2.et: rank 2 takes part in ") == said.count("error: ") == 2
        assert "in 1 collectives all-reduce of" in said
        assert "but rank 0 in 0; the first: node 5 `n5` of x.2.et" in said
        assert "but rank 0 in 1; the first: node 3 `n3` of x.0.et" in said
    twice = trace(*(coll(n, size=9, involved_dim=[True]) for n in (1, 2)))
    once = trace(coll(1, size=9, involved_dim=[True]))
    said = refused(lambda f: converted(*[once] * 6, twice, once, dims=[4, 2], findings=f))
    assert "x.6.et: rank 6 takes part in 2 collectives of group `dim0-1`, but rank 4 in 1" in said
    assert "node 1 `n1` of x.6.et, node 1 `n1` of x.4.et" in said


@pytest.mark.parametrize(
    ("word", "dims", "says"),
    [
        ("ring", [4, 2], "has 1 algorithm, but the network has 2 dim"),
        ("ring direct", [2, 2, 2], "has 2 algorithms, but the network has 3"),
    ],
)
def test_lists_of_algorithms_that_are_too_short_are_errors(word, dims, says):
    text = json.dumps(SYSTEM | {"all-reduce-implementation": word.split()}, indent=1)
    system = astra.system_of("s.json", text, Findings())
    data = [trace(coll(0, size=800))] * 8
    said = refused(lambda f: converted(*data, dims=dims, system=system, findings=f))
    assert says in said
    assert "--> s.json:6:3" in said


def test_lists_of_algorithms_that_are_too_long_are_warnings():
    findings = Findings()
    text = json.dumps(SYSTEM | {"all-reduce-implementation": ["ring", "direct"]}, indent=1)
    system = astra.system_of("s.json", text, findings)
    data = [trace(coll(0, size=800))] * 2
    rows = of_rank(converted(*data, system=system, findings=findings), 0)
    assert rows["algorithm"].to_list() == ["ring"]
    [warning] = told(findings)
    assert "has 2 algorithms, but the network has 1 dimension: only the first 1" in warning
    assert "--> s.json:6:3" in warning


@pytest.mark.parametrize(("word", "ours"), [("oneRing", "ring"), ("oneDirect3", "direct:window=3")])
def test_algorithms_with_one_go_over_all_dimensions_at_once(word, ours):
    system = layer({"all-reduce-implementation": [word]})
    data = [trace(coll(0, size=800))] * 8
    rows = of_rank(converted(*data, dims=[4, 2], system=system), 5)
    assert rows.select("kind", "group", "bytes", "algorithm").rows() == [
        ("all-reduce", None, 800, ours)
    ]
    part = [trace(coll(0, size=800, involved_dim=[True, False]))] * 8
    said = refused(lambda f: converted(*part, dims=[4, 2], system=system, findings=f))
    assert "x.0.et: node 0 `n0`: involved_dim leaves a dimension out, but all-reduce-impl" in said


def test_a_network_of_another_size_is_told_with_the_files(tmp_path):
    traces = chakra_files(tmp_path, *[trace()] * 4)
    (tmp_path / "n.yml").write_text(NETWORK.replace("[ 4 ]", "[ 5 ]"))
    with pytest.raises(ScenarioError) as error:
        importing.import_chakra(traces, Wishes(), None, tmp_path / "n.yml")
    assert f"{tmp_path}/n.yml: the network has 5 ranks" in str(error.value)
    assert f"{tmp_path}/run.0.et to {tmp_path}/run.3.et" in str(error.value)
    (tmp_path / "two").write_text("3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n")
    with pytest.raises(ScenarioError) as error:
        importing.import_chakra(traces, Wishes(tmp_path / "two"))
    said = f"{tmp_path}/two: the network has 2 hosts, but {tmp_path}/run has 4 ranks"
    assert said in str(error.value)


# --- Files of ASTRA-sim --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"all-reduce-implementation": ["rings"]}, "did you mean ring?"),
        ({"all-reduce-implementation": 5}, "should be a list of names"),
        ({"scheduling-policy": "SOME"}, "expected LIFO or FIFO or EXPLICIT"),
        ({"endpoint-delay": -1}, "a whole number, 0 to"),
        ({"peak-perf": "fast"}, "expected a number"),
        ({"roofline-enabled": 1}, "needs peak-perf and local-mem-bw"),
        ({"per-node-custom-implementation": {}}, "is not imported"),
        ({"all-reduce-implementation-custom": ["a", "b"]}, "names several algorithms"),
    ],
)
def test_what_is_wrong_in_a_system_layer_is_said(change, says):
    text = json.dumps(SYSTEM | change, indent=1)
    said = refused(lambda findings: astra.system_of("s.json", text, findings))
    assert says in said
    # With the line on which the key stands.
    [key] = change
    line = next(n for n, line in enumerate(text.splitlines(), 1) if f'"{key}"' in line)
    assert f"--> s.json:{line}:3\n" in said


def test_a_key_that_is_written_with_escapes_is_told_with_the_file():
    said = refused(lambda f: astra.system_of("s.json", '{"\\u0070eak-perf": "x"}', f))
    assert "s.json: peak-perf is `x`" in said


def test_a_system_layer_is_read():
    findings = Findings()
    system = layer({"peek-perf": 1}, findings)
    assert system.implementations == {"all-reduce": ["ring"], "all-to-all": ["direct4"]}
    assert system.local_bw_aware
    assert "did you mean peak-perf?" in told(findings)[0]
    said = refused(lambda f: astra.system_of("s.json", '{"a": 1,\n "b" 2}', f))
    assert "s.json:2:6" in said


def test_keys_of_models_that_are_not_imported_are_told_apart_from_those_that_only_print():
    for change, says in (
        ({"model-shared-bus": 1, "g": 0, "trace-enabled": 1}, "model-shared-bus: no effect here"),
        ({"preferred-dataset-splits": 4}, "scheduling-policy LIFO: no effect here"),
    ):
        findings = Findings()
        layer(change, findings)
        [warning] = told(findings)
        assert says in warning
        assert " --> s.json:1:" in warning


NETWORK = "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.5 ]\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (NETWORK.replace("Ring", "Torus"), "known are Ring, Switch, FullyConnected"),
        (NETWORK.replace("[ 4 ]", "[ 4, 2 ]"), "npus_count 2"),
        (NETWORK.replace("[ 4 ]", "[ four ]"), "npus_count should be a whole number, found `four`"),
        (NETWORK.replace("50.0", "-1"), "expected numbers from 0 on"),
        (NETWORK.replace("50.0", "0"), "bandwidth 0 GB/s; expected"),
        (NETWORK.replace("latency", "latenzy"), "latency is missing"),
        (NETWORK.replace("[ 4 ]", "[ 4"), "n.yml:3:"),
        ("- 1\n", "expected keys such as topology"),
        ('{"logical-dims": ["8", "x"]}', "logical-dims should be a whole number, found `x`"),
        (NETWORK.replace("Ring", "Torus"), "n.yml:1:13"),
        (NETWORK.replace("[ 4 ]", "[ 4, 2 ]"), "n.yml:2:1\n"),
        (NETWORK.replace("[ 4 ]", "[ 4, x ]").replace(" ]", ", Ring ]", 1), "n.yml:3:1\n"),
        (NETWORK.replace("[ 4 ]", "\n- four\n"), "n.yml:3:3"),
        (NETWORK.replace("50.0", "0"), "n.yml:3:14"),
        (NETWORK.replace("[ 500.5 ]", "1.0e+10"), "n.yml:4:10"),
        ('{"logical-dims": [1000, 1000,\n 1000]}', "n.yml:1:2"),
        ('{"logical-dims": ["8",\n "x"]}', "n.yml:2:2"),
        ('{"logical-dims": []}', "n.yml:1:2"),
        (NETWORK.replace("[ 4 ]", "{a: 1}"), "n.yml:2:13"),
        (
            "<<: {npus_count: four}\n" + NETWORK.replace("npus_count: [ 4 ]\n", ""),
            "n.yml: npus_count",
        ),
        (
            "<<: {npus_count: [4, 2]}\n" + NETWORK.replace("npus_count: [ 4 ]\n", ""),
            "n.yml: each list has an entry for each dimension",
        ),
        ("<<: {logical-dims: [2000, 2000]}\n", "n.yml: 4000000 ranks are more than"),
    ],
)
def test_what_is_wrong_in_a_network_is_said(text, says):
    said = refused(lambda findings: astra.network_of("n.yml", text, findings))
    assert says in said
    assert "n.yml" in said


def test_numbers_of_a_network_may_be_written_as_astra_sim_reads_them():
    for word in ("50", "5e1", "'50.0'"):
        text = NETWORK.replace("50.0", word)
        assert astra.network_of("n.yml", text, Findings()) == astra.network_of(
            "n.yml", NETWORK, Findings()
        )


def test_what_is_doubtful_in_a_network_is_a_warning():
    findings = Findings()
    astra.network_of("n.yml", NETWORK + "latenzy: 3\n", findings)
    [warning] = told(findings)
    assert warning.startswith("warning: `latenzy` is unknown and has no effect\n --> n.yml:5:1")


def test_networks_of_astra_sim():
    dims, dimensions = astra.network_of("n.yml", NETWORK, Findings())
    assert (dims, dimensions) == ([4], [Dimension("Ring", 4, 429_496_729_600, 500_500)])
    assert astra.network_of("d.json", '{"logical-dims": ["8", "2"]}', Findings()) == ([8, 2], [])

    def table(*blocks: Dimension) -> dict:
        return tomllib.loads("\n".join(networks.of_dimensions(list(blocks)).lines))["topology"]

    def ends(found: dict) -> list[str]:
        return [f"{x['a']}-{x['b']}" for x in found["links"] if not x["a"].startswith("h")]

    star = table(Dimension("Switch", 8, 10**11, 1000))
    assert (star["kind"], star["hosts"]) == ("star", 8)
    assert ends(table(*dimensions)) == ["n0-n1", "n1-n2", "n2-n3", "n3-n0"]
    mesh = table(Dimension("FullyConnected", 3, 10**11, 1000))
    assert ends(mesh) == ["n0-n1", "n0-n2", "n1-n2"]
    assert ends(table(Dimension("Ring", 2, 10**11, 0))) == ["n0-n1"]
    both = table(Dimension("Ring", 2, 10**11, 0), Dimension("Switch", 2, 10**11, 0))
    switches = [f"n{n}-dim1-switch{n % 2}" for n in (0, 2, 1, 3)]
    assert ends(both) == ["n0-n1", "n2-n3", *switches]


def test_groups_of_a_file():
    groups = chakra.groups_of_text("g.json", '{"1": [0, 1]}', 2, Findings())
    assert groups == {"1": (0, 1)}
    for text, says in (
        ("[]", "expected groups such as"),
        ('{"1": [0, 2]}', "rank 2 does not exist"),
        ('{"1": [0, 0]}', "a rank is listed twice"),
        ('{"1": ["a"]}', "expected a list of ranks"),
    ):
        said = refused(lambda f, text=text: chakra.groups_of_text("g.json", text, 2, f))
        assert says in said
        assert text == "[]" or ("group `1`" in said and "--> g.json:1:3" in said)


@pytest.mark.parametrize(
    ("module", "read"),
    [
        ("yaml", lambda: astra.network_of("n", "x: 1", Findings())),
        ("google.protobuf", chakra_schema.messages.__wrapped__),
    ],
)
def test_a_missing_extra_is_named(module, read, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=r"backwater\[chakra\]"):
        read()
