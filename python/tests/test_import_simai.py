"""Workloads of SimAI and AICB, and the topologies of SimAI."""

import tomllib

import polars as pl
import pytest
from import_files import refused

from backwater.errors import ScenarioError
from backwater.importers import importing, networks
from backwater.importers.common.source import Findings
from backwater.importers.importing import Wishes
from backwater.importers.simai import operations as simai_operations
from backwater.importers.simai import workload as simai
from backwater.importers.simai.operations import Latency
from backwater.importers.simai.workload import Collective, Group, Workload
from backwater.workloads.estimates import estimate, of_scenario
from tools import simulated

TRANSFORMER = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 "
    "all_gpus: 8 checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm 0\n"
)
LAYERS = """\
2
emb -1 10 ALLREDUCE 100 20 ALLGATHER 8192 30 REDUCESCATTER 4096 5
moe -1 11 ALLTOALL_EP 6000 21 NONE 0 31 ALLREDUCE_DP_EP 700 6
"""

TOPOLOGY = "11 4 2 1 16 H100\n8 9 10\n" + "".join(
    [f"{gpu} {8 + gpu // 4} 2400Gbps 0.000025ms 0\n" for gpu in range(8)]
    + [f"{gpu} 10 400Gbps 0.0005ms 0\n" for gpu in range(8)]
)

ISLANDS = """\
6 2 0 2 5 H100
4 5
0 4 400Gbps 0.001ms 0
1 4 400Gbps 0.001ms 0
1 5 400Gbps 0.001ms 0
2 5 400Gbps 0.001ms 0
3 5 400Gbps 0.001ms 0
"""


def workload(text: str, findings: Findings | None = None) -> Workload:
    return simai.parse("x.txt", text.splitlines(), findings or Findings())


def program(text: str, ranks: int = 8, rank: int = 0, passes: int = 1) -> pl.DataFrame:
    """Return the operations of one rank."""
    settings = simai_operations.Settings(ranks, 4, Latency(6000, 6000), passes)
    findings = Findings()
    made = simai_operations.convert("x.txt", workload(text, findings), settings, findings)
    return made.frame().filter(pl.col("rank") == rank)


def flow(rows: pl.DataFrame) -> list[str]:
    """Write what each operation is, and what it waits for."""
    return [f"{name} {waits or []}" for name, waits in rows.select("name", "after_end").iter_rows()]


def shortened(rows: pl.DataFrame) -> str:
    """Write the operations as F, I, W, U: forward, gradients of inputs and of weights, update.

    A number is that of the layer, a star is the collective, and a list has what it waits for.
    """
    shown = []
    for name, waits in rows.select("name", "after_end").iter_rows():
        _, number, _, what, *rest = name.split()
        is_collective = rest[-1:] not in ([], ["gradient"], ["again"])
        shown.append(f"{what[0].upper()}{number}{'*' if is_collective else ''} {waits or []}")
    return " ".join(shown)


def test_a_workload_is_read():
    found = workload(TRANSFORMER + LAYERS)
    assert (found.tp, found.ep, found.pp, found.all_gpus) == (2, 2, 1, 8)
    assert (found.checkpoints, found.initiates) == ([0], [1])
    first, second = found.layers
    assert (first.name, first.forward.compute_ns, first.forward.bytes) == ("emb", 10, 100)
    assert first.forward.collective is Collective.ALL_REDUCE
    assert (first.forward.group, first.weight_gradient.group) == (Group.TP, Group.DP)
    assert (second.forward.group, second.weight_gradient.group) == (Group.EP, Group.DP_EP)
    assert second.input_gradient.collective is None
    assert second.update_ns == 6


def test_aicb_writes_what_stages_send_with_a_decimal():
    text = TRANSFORMER.replace("pp: 1", "pp: 2").replace("pp_comm 0", "pp_comm: 4194304.0") + LAYERS
    found = workload(text)
    assert (found.pp, found.pp_comm) == (2, 4_194_304)
    with pytest.raises(ScenarioError, match=r"pp_comm should be a whole number, found `4\.5\.6`"):
        workload(text.replace("4194304.0", "4.5.6"))


def test_the_order_of_a_pass():
    """A checkpointed block is computed again before its gradients."""
    rows = program(TRANSFORMER + LAYERS)
    assert shortened(rows) == (
        "F0 [] F0* [0] F1 [1] F1* [2] F0 [3] F0* [4] I1 [5] W1 [6] W1* [7] U1 [8] "
        "I0 [7] I0* [10] W0 [11] W0* [12] U0 [13]"
    )
    # Small forward collectives count as 4096 bytes.
    sizes = rows.filter(pl.col("kind") != "calc")["bytes"].to_list()
    assert sizes == [4096, 6000, 4096, 700, 8192, 4096]
    assert rows["latency_ps"].drop_nulls().unique().to_list() == [6_000_000]


def test_the_next_pass_waits_for_the_gradients_of_each_layer():
    plain = TRANSFORMER.replace("checkpoints: 1 0 checkpoint_initiates: 1 1 ", "") + LAYERS
    rows = program(plain, passes=2)
    after = dict(zip(rows["name"].to_list(), rows["after_end"].to_list(), strict=True))
    index = {name: at for at, name in enumerate(rows["name"].to_list())}
    last, update = index["layer 0 emb weight gradient"], index["layer 0 emb update"]
    assert after["pass 1 layer 0 emb forward"] == [last, update]
    assert index["layer 1 moe update"] in after["pass 1 layer 1 moe forward"]
    # Both passes have the same operations, so that results can tell them apart.
    half = len(rows) // 2
    names = rows["name"].to_list()
    assert names[half:] == [f"pass 1 {name}" for name in names[:half]]


def test_groups_of_ranks():
    settings = simai_operations.Settings(8, 4, Latency(0, 0))
    made = simai_operations.convert("x", workload(TRANSFORMER + LAYERS), settings, Findings())
    assert made.header()["source"]["passes"] == 1
    assert made.groups["tensor-0"] == [0, 1]
    assert made.groups["data-1"] == [1, 3, 5, 7]
    assert made.groups["expert-0"] == [0, 2]
    assert made.groups["expert-data-0"] == [0, 4]
    rows = made.frame()
    mine = rows.filter((pl.col("rank") == 5) & (pl.col("kind") == "all-to-all"))
    assert made.groups[mine["group"][0]] == [5, 7]
    # Across servers (of 4 GPUs) a ring for each rank of a group that is in one of them.
    found = rows.filter(pl.col("rank") == 5).select("kind", "group", "algorithm").drop_nulls()
    assert set(found.rows()) == {
        ("all-reduce", "tensor-2", "ring"),
        ("all-to-all", "expert-3", "direct"),
        ("all-reduce", "expert-data-1", "ring"),
        ("all-gather", "tensor-2", "ring"),
        ("reduce-scatter", "data-1", "ring:channels=2,server=2"),
    }


def test_all_collectives_of_a_micro_benchmark_start_at_once():
    text = "MICRO\n2\nm -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4096 1\n"
    text += "m -1 1 NONE 0 1 NONE 0 1 ALLTOALL 8192 0\n"
    assert flow(program(text)) == [
        "layer 0 m weight gradient allgather []",
        "layer 0 m update [0]",
        "layer 1 m weight gradient alltoall []",
    ]
    assert program(text)["group"].null_count() == 3


LAST = "W0 [9] W0* [10]"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("DATA", "F0 [] F1 [0] W1 [1] W1* [2] I1 [2] W0 [4] W0* [5]"),
        ("MODEL", "F0 [] F0* [0] F1 [1] F1* [2] I1 [3] I1* [4] W1 [4] I0 [5, 6] W0 [7]"),
        (
            "HYBRID_DATA_MODEL",
            "F0 [] F0* [0] F1 [1] F1* [2] I1 [3] I1* [4] W1 [4] W1* [6] I0 [5, 6] W0 [8] W0* [9]",
        ),
        (
            "HYBRID_TRANSFORMER model_parallel_NPU_group: 2",
            f"F0 [] F0* [0] F1 [1] F1* [2] I1 [3] I1* [4] W1 [5] W1* [6] I0 [6] I0* [8] {LAST}",
        ),
        ("DISTRIBUTED_INFERENCE", "F0 [] F0* [0] F1 [1] F1* [2]"),
        (
            "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 0",
            "F0 [] F1 [0] W1 [1] W1* [2] I1 [2] I0* [4] W0 [4] W0* [6]",
        ),
    ],
)
def test_the_order_of_each_policy(policy, expected):
    layer = "-1 10 ALLREDUCE 8000 20 ALLREDUCE 8000 30 ALLREDUCE 8000 0\n"
    rows = program(f"{policy}\n2\na {layer}b {layer}")
    assert shortened(rows) == expected


def test_the_exchange_of_embeddings_overlaps():
    """Of DLRM the first layer exchanges embeddings, for which the last bottom layer waits."""
    text = "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n3\n"
    text += "a -1 10 ALLTOALL 8000 20 ALLTOALL 8000 30 NONE 0 0\n"
    text += "b -1 11 NONE 0 21 NONE 0 31 NONE 0 0\nc -1 12 NONE 0 22 NONE 0 32 NONE 0 0\n"
    shown = flow(program(text))
    assert shown[:4] == [
        "layer 0 a forward []",
        "layer 0 a forward alltoall [0]",
        "layer 1 b forward [0]",
        "layer 2 c forward [1, 2]",
    ]
    assert shown[5:7] == ["layer 2 c input gradient [4]", "layer 0 a input gradient alltoall [5]"]
    assert shown[-1] == "layer 0 a weight gradient [8]"


@pytest.mark.parametrize(
    ("tp", "ep", "pp", "replicas"), [(2, 1, 4, 2), (1, 1, 2, 4), (4, 2, 2, 6), (2, 3, 1, 3)]
)
def test_groups_stay_inside_a_pipeline_stage(tp, ep, pp, replicas):
    """Ranks are numbered by tensor group, then by replica, then by pipeline stage."""
    ranks = tp * pp * replicas
    text = f"HYBRID_TRANSFORMER model_parallel_NPU_group: {tp} ep: {ep} pp: {pp}\n2\n"
    text += "a -1 1 ALLREDUCE 8192 1 NONE 0 1 ALLREDUCE 8192 1\n"
    text += "b -1 1 ALLTOALL_EP 8192 1 NONE 0 1 ALLREDUCE_DP_EP 8192 1\n"
    settings = simai_operations.Settings(ranks, 8, Latency(0, 0))
    findings = Findings()
    found = simai_operations.convert("x.txt", workload(text, findings), settings, findings).groups
    stage = [rank // (tp * replicas) for rank in range(ranks)]
    sizes = {"data": replicas, "tensor": tp, "expert": ep, "expert-data": replicas // ep}
    for kind, size in sizes.items():
        groups = [g for name, g in found.items() if name.rpartition("-")[0] == kind]
        assert sorted(rank for group in groups for rank in group) == (
            list(range(ranks)) if size > 1 else []
        )
        assert {len(group) for group in groups} <= {size}
        for group in groups:
            assert len({stage[rank] for rank in group}) == 1
            if kind != "tensor":
                assert len({rank % tp for rank in group}) == 1


def test_a_data_group_of_a_pipeline_stage_takes_the_time_of_its_ring(tmp_path):
    """16 ranks, TP 2, PP 4: an all-reduce of 64 MiB in groups of 2 at 400 Gbps (S / B)."""
    path = tmp_path / "x.txt"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp: 4 all_gpus: 16"
    path.write_text(f"{head}\n1\ng -1 1 NONE 0 1 NONE 0 1 ALLREDUCE {64 << 20} 1\n")
    given = importing.import_simai(path, Wishes(), send_latency="0")
    importing.write(given, tmp_path / "s.toml")
    found = of_scenario(tmp_path / "s.toml")
    ideal_ps = (64 << 20) * 8 / 400e9 * 1e12
    assert estimate(found.file, found.networks).end_ps == pytest.approx(ideal_ps, rel=0.01)


def test_layers_of_a_customized_workload_have_policies_of_their_own():
    text = "HYBRID_CUSTOMIZED\n2\n"
    text += "a -1 10 ALLREDUCE 8000 20 NONE 0 30 ALLREDUCE 8000 0 DATA\n"
    text += "b -1 10 ALLREDUCE 8000 20 NONE 0 30 ALLREDUCE 8000 0 HYBRID_MODEL_DATA\n"
    rows = program(text).filter(pl.col("kind") == "all-reduce")
    assert rows["group"].to_list() == ["across-0", "server-0", None]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x.txt:1:1"),
        ("MICRO\n", "the file ends where its header should come"),
        ("MICROS\n1\n", "did you mean MICRO?"),
        ("MICRO\nmany\n", "x.txt:2:1"),
        ("MICRO\n2\nm -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "announces 2 layers, but 1 follow"),
        ("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 NONE 0\n", "12 columns under MICRO, but here are 11"),
        ("MICRO\n1\nm -1 x NONE 0 1 NONE 0 1 NONE 0 1\n", "x.txt:3:6"),
        ("MICRO\n1\nm -1 1 NONE -5 1 NONE 0 1 NONE 0 1\n", "expected 0 to"),
        ("HYBRID_CUSTOMIZED\n1\nm -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "13 columns"),
        ("HYBRID_TRANSFORMER ep: two\n1\n", "ep should be a whole number"),
        ("HYBRID_TRANSFORMER ep: 2 ep: 2\n1\n", "ep is given twice"),
        (TRANSFORMER.replace("checkpoints: 1 0", "checkpoints: 1 7") + LAYERS, "names layer 7"),
        (TRANSFORMER.replace("checkpoints: 1 0 ", "") + LAYERS, "no layer before it is"),
        (TRANSFORMER.replace("group: 2", "group: 3") + LAYERS, "into tensor groups of 3"),
        (TRANSFORMER.replace("ep: 2", "ep: 3") + LAYERS, "into expert groups of 3"),
    ],
)
def test_what_is_wrong_in_a_workload_is_said(text, says):
    settings = simai_operations.Settings(8, 4, Latency(0, 0))
    said = refused(lambda f: simai_operations.convert("x.txt", workload(text, f), settings, f))
    assert says in said


def test_what_is_doubtful_in_a_workload_is_a_warning():
    findings = Findings()
    text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 pp: 4 vpp: 2 ga: 3 colour: 3 mode: 1 "
    text += "checkpoints: 1 0\n1\n"
    text += "n -1 1 BROADCAST 5 1 ALLREDUCEALLTOALL 9 1 ALLREDUCE 0 1\n"
    text += "too many\n"
    settings = simai_operations.Settings(32, 8, Latency(0, 0))
    simai_operations.convert("x.txt", workload(text, findings), settings, findings)
    told = "\n".join(w["text"] for w in findings.warnings())
    for says in (
        *("`BROADCAST`", "x.txt:3:8", "as an all-reduce", "collective of 0 bytes"),
        *("`colour: 3`", "AICB marks inference so", "announces 1 layers"),
        *("checkpoints have a meaning under", "pp is 4", "vpp is 2", "x.txt:1:54", "ga is 3"),
        "x.txt:1:61",
    ):
        assert says in told
    # A skipped key and its value are one warning.
    assert told.count("silently, and so does this import") == 2


def test_a_topology_in_two_parts_is_told_with_a_link_of_the_other_part(tmp_path):
    (tmp_path / "x.txt").write_text("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
    (tmp_path / "topo").write_text(ISLANDS)
    with pytest.raises(ScenarioError) as error:
        importing.import_simai(tmp_path / "x.txt", Wishes(tmp_path / "topo"))
    # GPU 1 is at both switches, but hosts pass nothing on.
    assert "no path over switches leads from host 0 to 2, 3" in str(error.value)
    assert f"--> {tmp_path}/topo:6:1\n" in str(error.value)
    joined = ISLANDS.replace("\n1 5 ", "\n4 5 ")
    (tmp_path / "topo").write_text(joined)
    importing.import_simai(tmp_path / "x.txt", Wishes(tmp_path / "topo"))


def test_a_topology_of_simai_says_how_many_gpus_there_are(tmp_path):
    (tmp_path / "topo").write_text(TOPOLOGY)
    (tmp_path / "x.txt").write_text("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")
    imported = importing.import_simai(tmp_path / "x.txt", Wishes(tmp_path / "topo"))
    assert imported.operations.ranks == 8
    assert imported.network.gpus_per_server == 4
    found = tomllib.loads("\n".join(imported.network.lines))["topology"]
    assert found["hosts"] == [str(n) for n in range(8)]
    assert found["links"][8] == {"a": "0", "b": "10", "rate": "400Gbps", "delay": "500ns"}
    (tmp_path / "topo").write_text("hello\n")
    said = refused(lambda findings: networks.of_file(tmp_path / "topo", findings))
    assert "is no topology that can be read: it begins with `hello`" in said


def test_send_latencies_are_nanoseconds_or_those_of_a_protocol(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 65536 1\n")

    def took(ranks: int, latency: str) -> int:
        imported = importing.import_simai(path, Wishes(), ranks, latency)
        written = imported.operations.write(tmp_path / "x.parquet")
        return estimate(written, ["loggops:latency=1us,rate=400Gbps"]).end_ps // 1000

    # 14 rounds in one server; in the 30 of two servers a part crosses between them 4 times at most.
    assert took(8, "6000") - took(8, "0") == 14 * 6000
    assert took(8, "LL128") - took(8, "0") == 14 * 15_900
    assert took(8, "simple") - took(8, "0") == 14 * 11_800
    inside, across = 15_900, 18_000
    assert took(16, "LL128") - took(16, "0") == 26 * inside + 4 * across
    for wrong in ("fast", "-1", "1.5", "99999999999"):
        with pytest.raises(ScenarioError, match="--send-latency"):
            importing.import_simai(path, Wishes(), 8, wrong)


def test_packets_take_what_the_quick_start_of_simai_publishes(tmp_path):
    (tmp_path / "topology").write_text(
        "9 8 1 0 8 H20\n8\n" + "".join(f"{gpu} 8 2400Gbps 25ns 0\n" for gpu in range(8))
    )
    layers = [f"n -1 556000 ALLREDUCE {size << 20} 1 NONE 0 1 NONE 0 1" for size in (16, 64)]
    header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 all_gpus: 8"
    (tmp_path / "x.txt").write_text("\n".join([header, "2", *layers, ""]))
    imported = importing.import_simai(
        tmp_path / "x.txt", Wishes(tmp_path / "topology"), send_latency="6000"
    )
    notes = importing.write(imported, tmp_path / "x.toml")
    # The note has the command that estimates it on these links, and not on others.
    assert notes[-1].endswith(f"with these links: backwater estimate {tmp_path}/x.toml")
    given = of_scenario(tmp_path / "x.toml")
    assert given.networks == ["loggops:rate=2400Gbps,latency=50ns,nics=1"]
    assert estimate(given.file, given.networks).end_ps == pytest.approx(1772e6, rel=0.005)
    run = simulated(tmp_path / "x.toml", scheme="dcqcn", out=tmp_path / "out")
    assert run.ok
    [work] = run.summary["workloads"]
    assert 1772e6 < work["took_ps"] < 1772e6 * 1.005


def test_ranks_are_counted():
    assert simai_operations.default_ranks(workload("MICRO\n1\n" + LAYERS.splitlines()[1])) == 8
    assert simai_operations.default_ranks(workload(TRANSFORMER + LAYERS)) == 8
