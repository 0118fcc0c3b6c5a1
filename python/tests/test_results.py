"""What a run leaves behind, as data frames."""

import errno
import json
import threading

import polars as pl
import pytest

import backwater
from backwater.results.files import RunFiles
from conftest import TINY
from tools import simulated

COLUMNS = {
    "flows": """
        id:UInt32 source:Categorical src:UInt32 dst:UInt32 bytes:Int64 class:UInt8
        incast:Boolean port:UInt16 start_ps:Int64 received_ps:Int64 acked_ps:Int64
        ideal_received_ps:Int64 ideal_acked_ps:Int64 slowdown:Float64 slowdown_acked:Float64
        retransmitted:UInt32 finished:Boolean
    """,
    "queues": """
        at_ps:Int64 node:UInt32 name:Categorical tier:Categorical used_bytes:Int64
        max_port_bytes:Int64 from_ps:Int64 probes:Int64
    """,
    "pauses": """
        node:UInt32 name:Categorical tier:Categorical port:UInt16 class:UInt8 from_ps:Int64
        to_ps:Int64 open:Boolean number:UInt32
    """,
    "active": """
        node:UInt32 name:Categorical tier:Categorical port:UInt16 direction:String
        active:UInt32 probes:Int64
    """,
}
"""The columns of each table with their types."""


@pytest.mark.parametrize("table", COLUMNS)
def test_tables_have_their_columns_and_types(comparison, table):
    columns = dict(column.split(":") for column in COLUMNS[table].split())
    schema = comparison["bfc"].table(table).schema
    assert list(schema.items()) == [(name, getattr(pl, kind)) for name, kind in columns.items()]


def test_slowdown_is_fct_over_ideal(comparison):
    flows = comparison["dcqcn"].table("flows").filter("finished")
    expected = (pl.col("received_ps") - pl.col("start_ps")) / pl.col("ideal_received_ps")
    assert flows.height > 20
    assert flows.filter((pl.col("slowdown") - expected).abs() > 1e-12).is_empty()
    assert flows["slowdown"].min() >= 1  # type: ignore[operator]


def test_the_summary_agrees_with_the_flows(comparison):
    for run in comparison.values():
        flows = run.measured_flows().filter(pl.col("incast"))
        said = run.summary["fct"]["incast"]
        slowdown = flows["slowdown"].sort()
        assert said["finished"] == flows.height > 0
        assert said["slowdown"]["max"] == slowdown[-1]
        rank = -(-95 * flows.height // 100)
        assert said["slowdown"]["p95"] == slowdown[rank - 1]
        assert run.summary["flows"]["started"] == run.table("flows").height


# PRE-242
def test_times_of_flows_may_count_until_the_last_ack(comparison, tiny, tmp_path):
    first = comparison["bfc"]
    acked = simulated(tiny, ['run.fct="acked"'], out=tmp_path / "acked")
    assert (first.fct_until, acked.fct_until) == ("received", "acked")
    assert acked.digest == first.digest, "it changes what is told only"
    of_incasts = pl.col("incast")
    for run, column in ((first, "slowdown"), (acked, "slowdown_acked")):
        flows = run.measured_flows(run.flow_ends, of_incasts)
        assert flows["slowdown"].max() == run.measured_flows([column], of_incasts)[column].max()
        assert flows["slowdown"].max() == run.summary["fct"]["incast"]["slowdown"]["max"]
        ended = run.measured_flows(["start_ps", *run.flow_ends], of_incasts)
        longest = (ended["ended_ps"] - ended["start_ps"]).max()
        assert longest == run.summary["fct"]["incast"]["fct_ps"]["max"]


def test_ports_carry_what_the_summary_says(comparison):
    run = comparison["bfc"]
    assert run.summary["tiers"] == ["host", "leaf", "spine"]
    assert set(run.table("queues")["tier"].cast(pl.String)) == {"leaf", "spine"}
    up = run.table("ports").filter(
        (pl.col("tier").cast(pl.String) == "leaf") & (pl.col("direction") == "up")
    )
    said = next(g for g in run.summary["links"] if (g["from"], g["to"]) == ("leaf", "spine"))
    capacity = up["rate_bps"].sum() * run.summary["end_ps"] / 8e12
    assert said["ports"] == up.height == 4
    assert said["wire_utilisation"] == pytest.approx(up["tx_bytes"].sum() / capacity)


def test_results_have_a_row_per_run(comparison):
    table = comparison.results.runs
    assert table["scheme"].to_list() == ["bfc", "dcqcn"]
    bfc, fct = table.row(0, named=True), comparison["bfc"].summary["fct"]
    assert bfc["digest"] == comparison["bfc"].digest
    assert bfc["fct.incast.p99"] == fct["incast"]["slowdown"]["p99"]


def test_a_run_from_python_is_the_run_of_the_command(comparison, tiny, tmp_path):
    told: list[backwater.Progress | None] = []

    def listener(status: backwater.Status) -> None:
        told.extend(status.running.values())

    run = simulated(tiny, scheme="bfc", out=tmp_path / "out", listener=listener)
    assert run.digest == comparison["bfc"].digest
    assert run.resolved == comparison["bfc"].resolved
    assert told
    assert all(0 <= progress.fraction <= 1 for progress in told if progress)
    assert "bfc" in repr(run)


def test_problems_are_listed_with_their_places(tiny, tmp_path):
    scenario = tmp_path / "bad.toml"
    scenario.write_text("sede = 1\n" + tiny.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(backwater.ScenarioError) as caught:
        simulated(scenario, out=tmp_path / "out")
    (problem,) = caught.value.problems
    assert (problem["line"], problem["column"], problem["key"]) == (1, 1, "sede")
    assert problem["severity"] == "error"
    assert backwater.Scenario(scenario).check() == caught.value.problems
    assert not (tmp_path / "out").exists()


def test_a_listener_that_fails_ends_the_run_with_its_error(long, tmp_path):
    def listener(status: backwater.Status) -> None:
        raise ZeroDivisionError(status.fraction)

    with pytest.raises(ZeroDivisionError):
        simulated(long, out=tmp_path / "out", listener=listener)


def test_an_interrupted_run_is_in_the_exception(long, tmp_path):
    import _thread

    def listener(status: backwater.Status) -> None:
        if status.fraction and not pressed.is_set():
            pressed.set()
            _thread.interrupt_main()

    pressed = threading.Event()
    with pytest.raises(backwater.Interrupted) as caught:
        simulated(long, scheme="hpcc", out=tmp_path / "out", listener=listener)
    run = caught.value.result.only
    assert run.partial
    assert run.table("flows")["finished"].any()


def test_an_error_of_the_system_keeps_its_number(tiny, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(backwater.RunError) as error:
        simulated(tiny, out=tmp_path / "file/run")
    assert error.value.errno == errno.ENOTDIR


def test_what_is_no_run_is_said_to_be_none(comparison, tmp_path):
    with pytest.raises(backwater.InputError, match=str(tmp_path)) as error:
        backwater.load(tmp_path)
    assert error.value.errno is None
    (tmp_path / "summary.json").write_text("{", encoding="utf-8")
    with pytest.raises(backwater.InputError, match=r"summary\.json"):
        backwater.load(tmp_path)
    summary = json.dumps(comparison["bfc"].summary)
    (tmp_path / "summary.json").write_text(summary, encoding="utf-8")
    (tmp_path / "flows.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(backwater.InputError, match=r"flows\.parquet"):
        RunFiles(tmp_path).table("flows")


def test_the_package_names_what_it_has():
    assert all(getattr(backwater, name) is not None for name in backwater.__all__)
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = backwater.runn  # type: ignore[attr-defined]


FAR = """
name = "far"
topology = { kind = "star", hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
[[traffic]]
name = "late"
pattern = "list"
flows = [{ src = 0, dst = 1, bytes = "10KB", start = "1s" }]
"""


def test_waiting_for_a_flow_in_the_far_future_takes_two_rows(tmp_path):
    scenario = tmp_path / "far.toml"
    scenario.write_text(FAR)
    run = simulated(scenario, out=tmp_path / "out")
    idle = run.table("queues").filter(pl.col("probes") > 1)
    assert idle.select("from_ps", "at_ps", "probes").rows() == [
        (20_000_000, 1_000_000_000_000 - 10_000_000, 99_998)
    ]
    assert run.table("queues").height < 5
    probes = run.measured_queues()
    assert probes.height == run.summary["buffer"]["samples"] == run.table("queues")["probes"].sum()
    assert (probes["at_ps"] == pl.Series(range(1, probes.height + 1)) * 10_000_000).all()
    assert run.table("active")["probes"].sum() * 8 == pytest.approx(2 * probes.height, rel=0.001)


RECORD = """
[record]
throughput = { every = "10us" }
utilisation = { every = "10us" }
queues = { every = "1us", ports = ["leaf0->host1", "leaf1->spine0"] }
ingress = { every = "1us", ports = ["leaf0->host1"] }
histogram = { every = "100ns", bin = "1KB" }
rtt = { bin = "100ns" }
delay = { bin = "100ns" }
"""

PORT, TIER = "node name port peer peer_name", "node name tier port peer peer_name"
RECORDED = {
    "throughput": "at_ps flow bytes",
    "utilisation": f"at_ps {PORT} bytes busy_ps",
    "port_queues": f"at_ps {PORT} bytes",
    "port_ingress": f"at_ps {PORT} class bytes threshold_bytes victim",
    "queue_histogram": f"{TIER} bin_bytes samples",
    "rtt": "bin_ps samples",
    "delay_histogram": f"{TIER} scheduled bin_ps samples",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunFiles:
    """A run that records everything."""
    folder = tmp_path_factory.mktemp("recorded")
    scenario = folder / "tiny.toml"
    scenario.write_text(TINY + RECORD)
    return simulated(scenario, out=folder / "out")


def test_what_is_recorded_has_tables(recorded):
    for table, columns in RECORDED.items():
        assert recorded.table(table).columns == columns.split()
    by_flow = recorded.table("throughput").group_by("flow").agg(pl.col("bytes").sum())
    flows = recorded.table("flows").filter("finished").join(by_flow, left_on="id", right_on="flow")
    assert flows.height > 20
    assert flows.filter(pl.col("bytes") != pl.col("bytes_right")).is_empty()
    by_port = recorded.table("utilisation").group_by("node", "port").agg(pl.col("bytes").sum())
    sent = recorded.table("ports").filter(pl.col("tx_bytes") > 0).join(by_port, on=["node", "port"])
    assert sent.height == by_port.height > 16
    assert (sent["bytes"] == sent["tx_bytes"]).all()
    assert recorded.table("utilisation")["busy_ps"].is_between(1, 10_000_000).all()
    ends = (
        recorded.table("port_queues").select(pl.col("name", "peer_name").cast(pl.String)).unique()
    )
    assert set(ends.rows()) == {("leaf0", "host1"), ("leaf1", "spine0")}
    # BFC's switches pause no class with PFC.
    assert recorded.table("port_ingress").is_empty()


def test_what_an_ingress_holds_is_recorded_beside_the_threshold(tmp_path):
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(TINY + '[record]\ningress = { every = "1us", ports = ["leaf0->host1"] }\n')
    held = simulated(scenario, scheme="dcqcn", out=tmp_path / "out").table("port_ingress")
    assert set(held.select(pl.col("name", "peer_name").cast(pl.String)).rows()) == {
        ("leaf0", "host1")
    }
    assert held["bytes"].max() > 0 < held["threshold_bytes"].min()
    assert held["at_ps"].is_sorted()
    assert not held["victim"].any()


def test_the_summary_has_the_percentiles_of_what_is_recorded(recorded):
    said = recorded.summary["queue"]
    # 400 us every 100 ns at 12 ports of leaves and 4 of spines.
    assert said["samples"] == recorded.table("queue_histogram")["samples"].sum() == 4000 * 16
    assert said["max_bytes"] == recorded.table("queue_histogram")["bin_bytes"].max() > 0
    rtt = (
        recorded.table("rtt")
        .sort("bin_ps")
        .with_columns(pl.col("samples").cum_sum().alias("below"))
    )
    half = rtt.filter(pl.col("below") * 2 >= recorded.summary["rtt"]["samples"])["bin_ps"][0]
    assert recorded.summary["rtt"]["p50_ps"] == half > 4_000_000


def test_recording_changes_no_digest_and_says_what_was_not_recorded(recorded, tmp_path):
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(TINY)
    plain = simulated(scenario, out=tmp_path / "out")
    assert plain.digest == recorded.digest
    assert plain.summary["queue"] is None
    with pytest.raises(backwater.RunError, match=r"rtt was not recorded; add \[record\]"):
        plain.table("rtt")
