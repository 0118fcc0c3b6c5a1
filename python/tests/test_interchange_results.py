"""Results written as ns-3 writes them, and compared with what ns-3 wrote."""

import shutil
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from backwater.errors import InputError
from backwater.importers.ns3.export import Network, export_ns3
from backwater.importers.ns3.scenario import import_ns3
from backwater.results.files import RunFiles
from tools import simulated

STAR = """\
name = "star"
topology = {{ kind = "links", hosts = ["0", "300", "2"], switches = ["7"], links = [
    {{ a = "7", b = "300", rate = "100Gbps", delay = "1us" }},
    {{ a = "0", b = "7", rate = "100Gbps", delay = "1us" }},
    {{ a = "2", b = "7", rate = "{rate}", delay = "1us" }},
] }}
switch.buffer = "{buffer}"
scheme = {{ preset = "{preset}", parameters = "hpcc-paper" }}

[[traffic]]
name = "flows"
pattern = "list"
flows = [{flows}]
"""


def run_star(
    folder: Path, flows: str, preset: str = "dcqcn", buffer: str = "12MiB", rate: str = "100Gbps"
) -> RunFiles:
    path = folder / "star.toml"
    text = STAR.format(flows=flows, preset=preset, buffer=buffer, rate=rate)
    path.write_text(text, encoding="utf-8")
    return simulated(path, out=folder / "run")


def flow(src: int, dst: int, size: int, start: str = "0us") -> str:
    return f'{{ src = {src}, dst = {dst}, bytes = "{size}B", start = "{start}" }}'


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="ascii").splitlines()]


# --- fct.txt ---------------------------------------------------------------------------------


def test_fct_lines(tmp_path):
    some = [(1, 0, 500_000, "0us"), (1, 0, 1000, "60us"), (2, 0, 2000, "5us"), (0, 1, 1, "0us")]
    run = run_star(tmp_path, ", ".join(flow(*one) for one in some), rate="25Gbps")
    done = export_ns3(run, tmp_path / "out")
    assert [p.name for p in done.files] == ["topology.txt", "flow.txt", "fct.txt", "pfc.txt"]
    got = lines(tmp_path / "out" / "fct.txt")
    acked = run.table("flows").sort("acked_ps", "id")
    assert [int(x[6]) for x in got] == [
        (b - a) // 1000 for a, b in acked.select("start_ps", "acked_ps").iter_rows()
    ]
    by_size = {int(x[4]): x for x in got}
    # Host 300: one 256 in the third byte, 44 in the second.
    assert by_size[500_000][:4] == ["0b012c01", "0b000001", "10000", "100"]
    assert by_size[1000][:4] == ["0b012c01", "0b000001", "10001", "100"]
    assert by_size[2000][:4] == ["0b000201", "0b000001", "10000", "100"]
    assert by_size[1000][5] == "60000"
    # Base RTT 4160 ns at 100 Gbit/s, and payload with 48 B a packet on the slowest link.
    assert by_size[500_000][7] == str(4160 + 524_000 * 8 // 100)
    assert by_size[1][7] == str(4160 + 49 * 8 // 100)
    # From 25 Gbit/s: 2 x 2 us, one packet on each link, and the slow link's rate.
    assert by_size[2000][7] == str(4000 + 80 + 320 + 2096 * 8 // 25)


def with_lines(run: RunFiles, folder: Path, edit: Callable[[str], str]) -> RunFiles:
    """Copy a run and change what its resolved scenario says."""
    shutil.copytree(run.path, folder)
    path = folder / "resolved.toml"
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    return RunFiles(folder)


def test_times_count_from_the_epoch(tmp_path):
    run = run_star(tmp_path, flow(1, 0, 1000, "3us"))

    def edit(text: str) -> str:
        kept = [line for line in text.splitlines() if not line.startswith("epoch")]
        return "\n".join(kept).replace("[run]", '[run]\nepoch = "2s"')

    later = with_lines(run, tmp_path / "later", edit)
    export_ns3(later, tmp_path / "out")
    assert lines(tmp_path / "out" / "fct.txt")[0][5] == "2000003000"
    assert lines(tmp_path / "out" / "flow.txt")[1][5] == "2.000003000000"


def test_any_run_can_be_exported(comparison, tmp_path):
    run = comparison["dcqcn"]
    export_ns3(run, tmp_path)
    got = lines(tmp_path / "fct.txt")
    assert len(got) == run.table("flows")["finished"].sum()
    ports = Counter(x[3] for x in got)
    assert ports["200"] == run.table("flows").filter("incast")["finished"].sum() > 0
    ends = [int(x[5]) + int(x[6]) for x in got]
    assert all(b - a >= -1 for a, b in pairwise(ends)), "in order of their ends"
    pairs = defaultdict(list)
    for x in got:
        pairs[x[0], x[1]].append(int(x[2]))
    for sports in pairs.values():
        assert len(set(sports)) == len(sports)
        assert min(sports) >= 10_000


def test_classes_beyond_the_groups_of_ns3_are_refused(tmp_path):
    run = run_star(tmp_path, flow(0, 1, 2000).replace(" }", ", class = 5 }"))
    with pytest.raises(InputError, match=r"class 5 would be priority group 8.*use classes 0 to 4"):
        export_ns3(run, tmp_path / "out")


def test_what_is_missing_is_told(comparison, tmp_path):
    done = export_ns3(comparison["bfc"], tmp_path / "a")
    assert any("no qlen.txt" in note and "[record]" in note for note in done.notes)
    short = tmp_path / "short"
    shutil.copytree(comparison["bfc"].path, short)
    table = pl.read_parquet(short / "flows.parquet")
    cut = table.with_columns(
        pl.when(pl.col("id") < 2).then(False).otherwise("finished").alias("finished")
    )
    cut.write_parquet(short / "flows.parquet")
    done = export_ns3(RunFiles(short), tmp_path / "b")
    assert "fct.txt leaves out 2 flows that did not finish" in done.notes
    assert len(lines(tmp_path / "b" / "flow.txt")) == table.height + 1


# --- pfc.txt and qlen.txt --------------------------------------------------------------------


def test_pfc_lines(tmp_path):
    many = ", ".join(flow(1 + i % 2, 0, 300_000) for i in range(8))
    run = run_star(tmp_path, many, preset="line-rate", buffer="600KB")
    assert run.table("pauses").height > 0
    export_ns3(run, tmp_path / "out")
    got = [tuple(map(int, x)) for x in lines(tmp_path / "out" / "pfc.txt")]
    assert [x[0] for x in got] == sorted(x[0] for x in got)
    assert sum(x[4] for x in got) == run.table("pauses").height
    state: dict[tuple[int, ...], int] = {}
    for _, node, kind, port, pause in got:
        assert (kind, port) == (0, 1), "only hosts wait, on their only link"
        assert node in (300, 2)
        assert state.get((node, port), 0) != pause, "pause and resume take turns"
        state[node, port] = pause


def test_qlen_lines(tmp_path):
    run = run_star(tmp_path, flow(1, 0, 1000))
    record = '\n[record]\nhistogram = { every = "1us", bin = "500B", window = ["1us", "101us"] }\n'
    run = with_lines(run, tmp_path / "more", lambda text: text + record)
    switch = next(n for n in Network(run).numbers if Network(run).numbers[n] == 7)
    rows = [(switch, 0, 0, 5), (switch, 0, 500, 2), (switch, 0, 3000, 1), (switch, 2, 1500, 4)]
    columns = {"node": pl.UInt32, "port": pl.UInt16, "bin_bytes": pl.UInt64, "samples": pl.UInt64}
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(
        run.path / "queue_histogram.parquet"
    )
    done = export_ns3(run, tmp_path / "out")
    assert done.files[-1].name == "qlen.txt"
    # 100 samples, the last at 100 us; what was not sampled since all was delivered is empty.
    assert (tmp_path / "out" / "qlen.txt").read_text(encoding="ascii").splitlines() == [
        "time: 100000",
        "7 1 99 0 0 1",
        "7 2 100",
        "7 3 96 4",
    ]


def test_a_folder_with_other_things_is_not_written_into(comparison, tmp_path, command):
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    run = comparison["bfc"].path
    done = command("export", "ns3", run, "-o", tmp_path, code=1)
    assert "`mine.txt`" in done.stderr
    command("export", "ns3", run, "-o", tmp_path, "--force")
    again = command("export", "ns3", run, "-o", tmp_path / "new")
    assert "note: no qlen.txt" in again.stderr
    nothing = command("export", "ns3", tmp_path, "-o", tmp_path / "b", code=2)
    assert "no finished run here" in nothing.stderr


# --- There and back --------------------------------------------------------------------------


def test_an_export_imports_as_the_same_network_and_flows(comparison, tmp_path):
    run = comparison["bfc"]
    export_ns3(run, tmp_path)
    (tmp_path / "config.txt").write_text(
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 7\nRATE_AI 1Mb/s\nRATE_HAI 1Mb/s\n"
        "HAS_WIN 0\nL2_ACK_INTERVAL 1\n",
        encoding="utf-8",
    )
    back = import_ns3(tmp_path / "config.txt", "back", "back.flows.csv")
    topology = tomllib.loads(back.scenario)["topology"]
    assert len(topology["hosts"]) == 8
    ours = {
        frozenset((a, b)): (rate, delay)
        for a, b, rate, delay in run.table("ports")
        .select("node", "peer", "rate_bps", "delay_ps")
        .iter_rows()
    }
    rates, delays = {100 * 10**9: "100Gbps"}, {10**6: "1us"}
    theirs = {
        frozenset((int(k["a"]), int(k["b"]))): (k["rate"], k["delay"]) for k in topology["links"]
    }
    assert theirs == {pair: (rates[r], delays[d]) for pair, (r, d) in ours.items()}
    (tmp_path / "back.flows.csv").write_text(back.flows, encoding="utf-8")
    listed = [line.split(",") for line in back.flows.splitlines()[1:]]
    epoch = import_epoch_ps(back.scenario)
    flows = run.table("flows").sort("start_ps", "id")
    assert [(int(x[0]), int(x[1]), int(x[2])) for x in listed] == list(
        flows.select("src", "dst", "bytes").iter_rows()
    )
    starts = [network_time(x[3]) + epoch for x in listed]
    assert starts == flows["start_ps"].to_list()


def network_time(text: str) -> int:
    from backwater.importers.common.source import time_ps

    value = time_ps(text)
    return int(value)


def import_epoch_ps(scenario: str) -> int:
    return network_time(tomllib.loads(scenario)["run"]["epoch"])
