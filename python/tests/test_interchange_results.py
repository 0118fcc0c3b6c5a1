"""Results written as ns-3 writes them, and compared with what ns-3 wrote."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import backwater
from backwater.errors import InputError, RunError
from backwater.interchange import cases, verdicts
from backwater.interchange.cases import FlowKey, FlowTimes, Measured, Observed
from backwater.interchange.exporting import Network, export_ns3
from backwater.interchange.importing import import_ns3
from backwater.interchange.validate import Verdict, compare, percentile, validate

Backwater = Callable[..., subprocess.CompletedProcess[str]]

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
) -> backwater.Run:
    path = folder / "star.toml"
    text = STAR.format(flows=flows, preset=preset, buffer=buffer, rate=rate)
    path.write_text(text, encoding="utf-8")
    return backwater.run(path, out=folder / "run")


def flow(src: int, dst: int, size: int, start: str = "0us") -> str:
    return f'{{ src = {src}, dst = {dst}, bytes = "{size}B", start = "{start}" }}'


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="ascii").splitlines()]


# --- fct.txt ---------------------------------------------------------------------------------


def test_fct_lines(tmp_path: Path) -> None:
    some = [(1, 0, 500_000, "0us"), (1, 0, 1000, "60us"), (2, 0, 2000, "5us"), (0, 1, 1, "0us")]
    run = run_star(tmp_path, ", ".join(flow(*one) for one in some), rate="25Gbps")
    done = export_ns3(run, tmp_path / "out")
    assert [p.name for p in done.files] == ["topology.txt", "flow.txt", "fct.txt", "pfc.txt"]
    got = lines(tmp_path / "out" / "fct.txt")
    acked = run.flows.sort("acked_ps", "id")
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


def with_lines(run: backwater.Run, folder: Path, edit: Callable[[str], str]) -> backwater.Run:
    """Copy a run and change what its resolved scenario says."""
    shutil.copytree(run.path, folder)
    path = folder / "resolved.toml"
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    return backwater.Run(folder)


def test_times_count_from_the_epoch(tmp_path: Path) -> None:
    run = run_star(tmp_path, flow(1, 0, 1000, "3us"))

    def edit(text: str) -> str:
        kept = [line for line in text.splitlines() if not line.startswith("epoch")]
        return "\n".join(kept).replace("[run]", '[run]\nepoch = "2s"')

    later = with_lines(run, tmp_path / "later", edit)
    export_ns3(later, tmp_path / "out")
    assert lines(tmp_path / "out" / "fct.txt")[0][5] == "2000003000"
    assert lines(tmp_path / "out" / "flow.txt")[1][5] == "2.000003000000"


def test_any_run_can_be_exported(comparison: backwater.Comparison, tmp_path: Path) -> None:
    run = comparison["dcqcn"]
    export_ns3(run, tmp_path)
    got = lines(tmp_path / "fct.txt")
    assert len(got) == run.flows["finished"].sum()
    ports = Counter(x[3] for x in got)
    assert ports["200"] == run.flows.filter("incast")["finished"].sum() > 0
    ends = [int(x[5]) + int(x[6]) for x in got]
    assert all(b - a >= -1 for a, b in pairwise(ends)), "in order of their ends"
    pairs = defaultdict(list)
    for x in got:
        pairs[x[0], x[1]].append(int(x[2]))
    for sports in pairs.values():
        assert len(set(sports)) == len(sports)
        assert min(sports) >= 10_000


def test_classes_beyond_the_groups_of_ns3_are_refused(tmp_path: Path) -> None:
    run = run_star(tmp_path, flow(0, 1, 2000).replace(" }", ", class = 5 }"))
    with pytest.raises(InputError, match=r"class 5 would be priority group 8.*use classes 0 to 4"):
        export_ns3(run, tmp_path / "out")


def test_what_is_missing_is_told(comparison: backwater.Comparison, tmp_path: Path) -> None:
    done = export_ns3(comparison["bfc"], tmp_path / "a")
    assert any("no qlen.txt" in note and "[record]" in note for note in done.notes)
    short = tmp_path / "short"
    shutil.copytree(comparison["bfc"].path, short)
    table = pl.read_parquet(short / "flows.parquet")
    cut = table.with_columns(
        pl.when(pl.col("id") < 2).then(False).otherwise("finished").alias("finished")
    )
    cut.write_parquet(short / "flows.parquet")
    done = export_ns3(backwater.Run(short), tmp_path / "b")
    assert "fct.txt leaves out 2 flows that did not finish" in done.notes
    assert len(lines(tmp_path / "b" / "flow.txt")) == table.height + 1


# --- pfc.txt and qlen.txt --------------------------------------------------------------------


def test_pfc_lines(tmp_path: Path) -> None:
    many = ", ".join(flow(1 + i % 2, 0, 300_000) for i in range(8))
    run = run_star(tmp_path, many, preset="line-rate", buffer="600KB")
    assert run.pauses.height > 0
    export_ns3(run, tmp_path / "out")
    got = [tuple(map(int, x)) for x in lines(tmp_path / "out" / "pfc.txt")]
    assert [x[0] for x in got] == sorted(x[0] for x in got)
    assert sum(x[4] for x in got) == run.pauses.height
    state: dict[tuple[int, ...], int] = {}
    for _, node, kind, port, pause in got:
        assert (kind, port) == (0, 1), "only hosts wait, on their only link"
        assert node in (300, 2)
        assert state.get((node, port), 0) != pause, "pause and resume take turns"
        state[node, port] = pause


def test_qlen_lines(tmp_path: Path) -> None:
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


def test_a_folder_with_other_things_is_not_written_into(
    comparison: backwater.Comparison, tmp_path: Path, command: Backwater
) -> None:
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    run = comparison["bfc"].path
    done = command("export", "ns3", run, "-o", tmp_path)
    assert (done.returncode, "(`mine.txt`)" in done.stderr) == (1, True)
    assert command("export", "ns3", run, "-o", tmp_path, "--force").returncode == 0
    again = command("export", "ns3", run, "-o", tmp_path / "new")
    assert (again.returncode, "note: no qlen.txt" in again.stderr) == (0, True)
    nothing = command("export", "ns3", tmp_path, "-o", tmp_path / "b")
    assert (nothing.returncode, "no finished run here" in nothing.stderr) == (2, True)


# --- There and back --------------------------------------------------------------------------


def test_an_export_imports_as_the_same_network_and_flows(
    comparison: backwater.Comparison, tmp_path: Path
) -> None:
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
        for a, b, rate, delay in run.ports.select(
            "node", "peer", "rate_bps", "delay_ps"
        ).iter_rows()
    }
    rates, delays = {100 * 10**9: "100Gbps"}, {10**6: "1us"}
    theirs = {
        frozenset((int(k["a"]), int(k["b"]))): (k["rate"], k["delay"]) for k in topology["links"]
    }
    assert theirs == {pair: (rates[r], delays[d]) for pair, (r, d) in ours.items()}
    (tmp_path / "back.flows.csv").write_text(back.flows, encoding="utf-8")
    listed = [line.split(",") for line in back.flows.splitlines()[1:]]
    epoch = import_epoch_ps(back.scenario)
    flows = run.flows.sort("start_ps", "id")
    assert [(int(x[0]), int(x[1]), int(x[2])) for x in listed] == list(
        flows.select("src", "dst", "bytes").iter_rows()
    )
    starts = [network_time(x[3]) + epoch for x in listed]
    assert starts == flows["start_ps"].to_list()


def network_time(text: str) -> int:
    from backwater.interchange.source import time_ps

    value = time_ps(text)
    assert value is not None
    return int(value)


def import_epoch_ps(scenario: str) -> int:
    return network_time(tomllib.loads(scenario)["run"]["epoch"])


# --- How far apart is too far ----------------------------------------------------------------


def key(index: int, size: int = 1000) -> FlowKey:
    return FlowKey(index, 0, 10_000, 100, size)


def observed(fcts: list[int], pauses: int | None = 0, alone: int = 1000) -> Observed:
    return Observed({key(i): FlowTimes(0, fct, alone) for i, fct in enumerate(fcts)}, pauses)


def held(theirs: list[int], ours: list[int], pauses: tuple[int, int] = (0, 0)) -> bool:
    return compare("x", "ns-3", observed(theirs, pauses[0]), observed(ours, pauses[1])).held


def test_limits_of_a_single_flow() -> None:
    assert held([5000], [5002])
    assert held([5000], [4998])
    assert not held([5000], [5003])


def test_limits_of_few_flows() -> None:
    assert held([100_000] * 8, [100_500] * 8)
    assert not held([100_000] * 8, [100_000] * 7 + [100_501])


def test_limits_of_more_flows() -> None:
    theirs = [100_000 + i for i in range(9)]
    assert held(theirs, [t * 102 // 100 for t in theirs], (10, 12))
    assert not held(theirs, [t * 1021 // 1000 for t in theirs])
    assert not held(theirs, [*theirs[:-1], 103_000])
    assert not held(theirs, theirs, (10, 13))
    assert not held(theirs, theirs, (0, 1))
    # A flow in the middle may be anywhere.
    assert held(theirs, [50_000, *theirs[1:]])


def spread(scale: float = 1.0, large: float = 1.0) -> Observed:
    """700 flows of two sizes, whose slowdowns go from 0.9 to 7.9."""
    flows = {}
    for i in range(700):
        size = 1000 if i % 2 else 50_000
        fct = (900 + 10 * i) * scale * (large if size > 1000 else 1)
        flows[key(i, size)] = FlowTimes(0, round(fct), 1000)
    return Observed(flows, 5)


def test_limits_of_many_flows() -> None:
    verdict = compare("x", "ns-3", spread(), spread(1.019))
    assert verdict.held
    assert [(b.low, b.high, len(b.ours)) for b in verdict.bins] == [
        (1000, 1000, 350),
        (50_000, 50_000, 350),
    ]
    assert verdict.bins[0].theirs[0] == 1.0, "slowdowns below 1 count as 1"
    assert not compare("x", "ns-3", spread(), spread(1.021)).held
    # One bin alone breaks it.
    apart = compare("x", "ns-3", spread(), spread(1.0, 1.06))
    broken = [(c.what, c.of) for c in apart.checks if not c.held]
    assert broken == [("p50", "50000 to 50000 B"), ("p95", "50000 to 50000 B")]


def test_a_flow_that_finishes_in_one_only() -> None:
    verdict = compare("x", "ns-3", observed([5000, 6000]), observed([5000]))
    assert not verdict.held
    assert verdicts.broken(verdict) == ["2 flows finished there and 1 here"]
    assert not compare("x", "ns-3", observed([5000]), observed([])).held


def test_percentiles_are_those_of_the_scripts() -> None:
    values = list(range(100))
    assert [percentile(values, p) for p in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 99]


# --- Cases -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A case whose results are known beforehand."""

    name: str
    theirs: Observed
    ours: Observed | None
    simulator: str = "ns-3"
    chance: bool = False

    def expected(self) -> Observed:
        return self.theirs

    def measure(self, folder: Path, seed: int) -> Measured:
        assert folder.is_dir()
        if self.ours is None:
            raise RunError("it broke")
        return Measured(self.ours, "0123456789abcdef", None, [])


@pytest.fixture
def found() -> list[Verdict]:
    many = observed(list(range(100_000, 100_020)), 10)
    return validate(
        [
            Told("big/hpcc", spread(), spread(1.01)),
            Told("big/dcqcn", spread(), spread(1.5)),
            Told("mid/hpcc", many, many),
            Told("one", observed([5000], None), observed([5001], None)),
            Told("none", observed([5000]), None),
        ]
    )


def test_a_case_that_fails_stops_no_other(found: list[Verdict]) -> None:
    assert [(v.name, v.held, v.failed) for v in found] == [
        ("big/hpcc", True, None),
        ("big/dcqcn", False, None),
        ("mid/hpcc", True, None),
        ("one", True, None),
        ("none", False, "it broke"),
    ]


def test_verdicts_are_written(found: list[Verdict], tmp_path: Path) -> None:
    verdicts.write_results(tmp_path, found)
    about = json.loads((tmp_path / "validation.json").read_text(encoding="utf-8"))
    assert about["held"] is False
    assert [case["held"] for case in about["cases"]] == [True, False, True, True, False]
    assert about["cases"][3]["checks"][1]["apart"] == 1
    written = verdicts.write_markdown(tmp_path / "page.md", found, "backwater validate DIR")
    names = ["page.md", "page-big-slowdown.png", "page-mid-fct.png"]
    assert [path.name for path in written] == names
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| one | 1 | 0% | 1 ns |  |  |  |  |  | holds |" in page
    assert "| big/dcqcn | 700 | 0% |  | **50.00%**" in page
    assert "![big, slowdown](page-big-slowdown.png)" in page
    assert "3 of 5 cases hold" in page


def test_the_table(found: list[Verdict], capsys: pytest.CaptureFixture[str]) -> None:
    verdicts.print_verdicts(found)
    said = capsys.readouterr().out
    assert "3 of 5 cases hold" in said
    assert any(line.split()[:2] == ["mid/hpcc", "20"] for line in said.splitlines())


def put(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        if name.endswith("_gz"):
            (folder / f"{name[:-3]}.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


FCT = "0b000101 0b000001 10000 100 500 2000000000 5000 4000\n"


def test_cases_are_found_and_read(tmp_path: Path) -> None:
    put(tmp_path / "a" / "x", config="", fct_gz=FCT, pfc="1 2 0 1 1\n2 2 0 1 0\n")
    put(tmp_path / "a" / "y", config="", fct=FCT.replace("0b000101 0b000001", "1 0"))
    put(tmp_path / "b", config="")
    got = cases.find(tmp_path)
    assert [case.name for case in got] == ["a/x", "a/y"]
    one = {FlowKey(1, 0, 10_000, 100, 500): FlowTimes(2_000_000_000, 5000, 4000)}
    assert [case.expected() for case in got] == [Observed(one, 1), Observed(one, None)]
    assert [case.name for case in cases.find(tmp_path / "a" / "x")] == ["x"]
    with pytest.raises(RunError, match="no case here"):
        cases.find(tmp_path / "b")


@pytest.mark.parametrize(
    ("fct", "message"),
    [("1 2 3\n", "fct.txt:1: expected"), (f"{FCT}{FCT}", "fct.txt:2: this flow has a line")],
)
def test_bad_results_are_told(fct: str, message: str, tmp_path: Path) -> None:
    folder = put(tmp_path / "a", config="", fct=fct)
    with pytest.raises(RunError, match=message):
        cases.read_ns3(folder)


def test_a_folder_without_cases(tmp_path: Path, command: Backwater) -> None:
    done = command("validate", tmp_path)
    assert (done.returncode, "no case here" in done.stderr) == (2, True)
