"""Numbers out of runs: statistics against hand-made data, and claims against hand-made numbers."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backwater.errors import RunError
from backwater.results.files import RunFiles
from backwater_papers import bootstrap, formulas, measures
from backwater_papers.bootstrap import Value, mean_of, quantile, quantile_of_all
from backwater_papers.claims import DIFFERS, HOLDS, INCONCLUSIVE, Verdict, judge
from backwater_papers.figure import (
    Axis,
    Bound,
    Claim,
    Figure,
    Group,
    Measure,
    Pick,
    Point,
    Source,
    Statistic,
)
from backwater_papers.formulas import Formula
from backwater_papers.measures import Data, Lines, Samples, evaluate
from backwater_papers.quantities import Dimension, Quantity

US = 1_000_000


def fake(**tables: Any) -> Any:
    """A run with hand-made tables: three flows, two ports."""
    flows = pl.DataFrame(
        {
            "id": [0, 1, 2],
            "source": ["long", "short", "short"],
            "bytes": [1_000_000, 1_000, 3_000],
            "start_ps": [0, 10 * US, 20 * US],
            "received_ps": [90 * US, 15 * US, 40 * US],
            "acked_ps": [92 * US, 17 * US, 42 * US],
            "slowdown": [1.5, 1.0, 4.0],
            "slowdown_acked": [1.4, 1.1, 3.0],
            "finished": [True, True, True],
        }
    )
    ports = pl.DataFrame(
        {
            "node": [3, 3, 0],
            "port": [0, 1, 0],
            "name": ["s0", "s0", "h0"],
            "peer_name": ["h0", "h1", "s0"],
            "tier": ["tor", "tor", "host"],
        }
    )
    summary = {
        "end_ps": 100 * US,
        "measure_from_ps": 0,
        "measure_to_ps": 50 * US,
        "drops": {"total": 7},
    }
    run = RunFiles.__new__(RunFiles)
    run.path, run.summary = Path("fake"), summary
    run._own_files = nullcontext  # type: ignore[method-assign,assignment]
    run._tables = {"flows": flows, "ports": ports, **tables}
    run.__dict__["resolved"] = '[record]\nthroughput = { every = "10us" }\n'
    return run


def measured(source: Source, statistic: Statistic, run: Any) -> float:
    return Data().value(Measure("m", source, statistic, source.dimension), [run]).value


def source(of: str, dimension: Dimension = Dimension.NUMBER, **more: Any) -> Source:
    return Source(of, dimension, **more)


def percentile(share: float) -> Statistic:
    return Statistic("p", quantile=share)


# --- Statistics ------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), min_size=1),
    st.integers(1, 100),
)
def test_weights_count_as_repetitions(rows: list[tuple[int, int]], percent: int) -> None:
    spread = sorted(value for value, times in rows for _ in range(times))
    if not spread:
        return
    values, weights = np.array(rows).T
    place = math.ceil(percent * len(spread) / 100) - 1
    assert quantile(values, weights, percent / 100) == spread[place]


def test_simple_statistics() -> None:
    samples = Samples(np.array([1.0, 2.0, 9.0]), np.array([1, 2, 0]))
    expected = {"mean": 5 / 3, "min": 1, "max": 2, "sum": 5, "count": 3}
    for name, value in expected.items():
        assert evaluate(Statistic(name), samples) == pytest.approx(value), name
    assert evaluate(Statistic("share", above=2), samples) == pytest.approx(2 / 3)
    assert evaluate(Statistic("share", below=1.5), samples) == pytest.approx(1 / 3)


def test_of_nothing_there_is_a_count_and_no_percentile() -> None:
    nothing = Samples(np.empty(0))
    assert evaluate(Statistic("count"), nothing) == 0
    assert evaluate(Statistic("sum"), nothing) == 0
    assert math.isnan(evaluate(percentile(0.99), nothing))


def queue_run(values: list[int], every_us: int = 1) -> Any:
    """Samples of one port; as in true tables, those that repeat the one before have no row."""
    rows = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    own = {
        "at_ps": [i * every_us * US for i in rows],
        "node": [3] * len(rows),
        "port": [0] * len(rows),
        "bytes": [values[i] for i in rows],
    }
    other = {"at_ps": [0], "node": [3], "port": [1], "bytes": [999]}
    run = fake(port_queues=pl.concat([pl.DataFrame(other), pl.DataFrame(own)]))
    run.resolved = f'[record]\nqueues = {{ every = "{every_us}us" }}\n'
    run.summary = {**run.summary, "end_ps": (len(values) - 1) * every_us * US}
    return run


QUEUE = source("queue", Dimension.SIZE, ports=("s0->h0",))


def test_a_queue_keeps_its_length_until_the_next_row() -> None:
    run = queue_run([5, 5, 5, 9, 9, 1])
    lines = Data().lines(replace(QUEUE, window=(1 * US, 4 * US)), run)
    assert list(lines.times_ps) == [1 * US, 2 * US, 3 * US, 4 * US]
    assert list(lines.values["s0->h0"]) == [5, 5, 9, 9]
    assert measured(QUEUE, Statistic("mean"), run) == pytest.approx(34 / 6)


def test_turns_of_a_queue_are_counted_above_a_size_only() -> None:
    statistic = Statistic("swings", above=5.0)
    assert measured(QUEUE, statistic, queue_run([0, 10, 20, 10, 0])) == 1
    assert measured(QUEUE, statistic, queue_run([0, 20, 18, 20, 19, 0])) == 1
    assert measured(QUEUE, statistic, queue_run([0, 20, 0, 20, 0])) == 3
    assert measured(QUEUE, statistic, queue_run([0, 1, 2, 3])) == 0


def test_time_until_a_queue_is_short_and_stays_so() -> None:
    run = queue_run([0, 50, 40, 9, 40, 8, 7, 6])
    below = Statistic("time-to", below=10, after_ps=1.5 * US)
    assert measured(QUEUE, below, run) == 1.5 * US
    assert measured(QUEUE, replace(below, hold_ps=2 * US), run) == 3.5 * US
    assert measured(QUEUE, replace(below, hold_ps=5 * US), run) == math.inf
    assert measured(QUEUE, replace(below, below=1), run) == math.inf


def test_time_of_the_longest_queue() -> None:
    run = queue_run([0, 50, 40, 70, 9])
    assert measured(QUEUE, Statistic("time-of-max", after_ps=1 * US), run) == 2 * US
    # Flow 1 ends at 15 us: nothing was recorded after it.
    assert math.isnan(measured(QUEUE, Statistic("time-of-max", after_flow=1), run))
    late = queue_run([0, 9, 5], every_us=10)
    assert measured(QUEUE, Statistic("time-of-max", after_flow=1), late) == 5 * US


def throughput_run() -> Any:
    rows = [(10, 0, 1250), (20, 0, 1250), (20, 1, 2500), (30, 1, 2500)]
    at, flow, size = zip(*rows, strict=True)
    return fake(
        throughput=pl.DataFrame({"at_ps": [t * US for t in at], "flow": flow, "bytes": size})
    )


def test_throughput_by_flow_has_zeros_where_nothing_came() -> None:
    wanted = source("throughput", Dimension.RATE, flows=(0, 1), window=(0, 40 * US))
    lines = Data().lines(wanted, throughput_run())
    assert list(lines.times_ps) == [10 * US, 20 * US, 30 * US, 40 * US]
    assert list(lines.values["flow 0"]) == [1e9, 1e9, 0, 0]
    assert list(lines.values["flow 1"]) == [0, 2e9, 2e9, 0]
    named = source("throughput", Dimension.RATE, flows=(1, 0), names=("F2", "F1"))
    lines = Data().lines(replace(named, window=(0, 40 * US)), throughput_run())
    assert list(lines.values["F1"]) == [1e9, 1e9, 0, 0]


def test_throughput_in_wider_bins_and_in_all() -> None:
    wanted = source("throughput", Dimension.RATE, total=True, bin_ps=20 * US, window=(0, 40 * US))
    lines = Data().lines(wanted, throughput_run())
    assert list(lines.values[""]) == [2e9, 1e9]


def test_bins_of_throughput_must_fit_what_was_kept() -> None:
    wanted = source("throughput", Dimension.RATE, total=True, bin_ps=15 * US, window=(0, 40 * US))
    with pytest.raises(RunError, match="kept every 10 µs: bins of 15 µs do not fit"):
        Data().lines(wanted, throughput_run())


def test_fairness() -> None:
    wanted = source("throughput", Dimension.RATE, flows=(0, 1), window=(10 * US, 20 * US))
    assert measured(wanted, Statistic("jain"), throughput_run()) == pytest.approx(9 / 10)


def test_flows_are_chosen_by_size_traffic_and_start() -> None:
    run = fake()
    every = [source("slowdown"), source("slowdown", sizes=(0, 3000))]
    assert [measured(s, Statistic("max"), run) for s in every] == [4, 1]
    acked = source("slowdown-acked", sizes=(0, 3001))
    assert measured(acked, Statistic("max"), run) == 3.0
    short = source("fct", Dimension.TIME, traffic=("short",))
    assert measured(short, Statistic("max"), run) == 20 * US
    acked = source("fct-acked", Dimension.TIME, window=(0, 15 * US))
    assert measured(acked, Statistic("min"), run) == 7 * US


def test_many_numbers_are_read_again_and_what_they_come_to_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = []
    run = fake()
    of_run = run.measured_flows
    run.measured_flows = lambda columns, where: (read.append(columns), of_run(columns, where))[1]
    measure = Measure("m", source("slowdown"), Statistic("mean"), Dimension.NUMBER)
    for most, times in ((2, 2), (3, 1)):
        monkeypatch.setattr(measures, "_MANY", most)
        data, before = Data(), len(read)
        assert data.value(measure, [run]).value == data.value(measure, [run]).value == 6.5 / 3
        assert len(read) == before + 1
        assert len(data.samples(measure.source, [run]).values) == 3
        assert len(read) == before + times


def test_flows_that_have_not_ended_may_count_with_their_time_so_far() -> None:
    run = fake()
    of_all = run.table("flows")
    started = {"id": 3, "source": "short", "bytes": 2_000, "start_ps": 30 * US, "finished": False}
    run._tables["flows"] = pl.concat([of_all, pl.DataFrame([started])], how="diagonal_relaxed")
    for of, ended in (("fct", 20 * US), ("fct-acked", 22 * US)):
        short = source(of, Dimension.TIME, sizes=(0, 5_000))
        assert measured(short, Statistic("max"), run) == ended
        # It started at 30 µs, and the run ended at 100 µs.
        assert measured(replace(short, unfinished=True), Statistic("max"), run) == 70 * US
        assert measured(replace(short, unfinished=True), Statistic("count"), run) == 3
    run.summary["measure_from_ps"] = 25 * US
    short = source("fct", Dimension.TIME, unfinished=True)
    assert measured(short, Statistic("count"), run) == 1


def test_pauses_count_within_the_window_only() -> None:
    pauses = pl.DataFrame(
        {
            "tier": ["tor", "host", "tor"],
            "from_ps": [0, 40 * US, 60 * US],
            "to_ps": [10 * US, 80 * US, 90 * US],
        }
    )
    run = fake(pauses=pauses)
    time = source("pauses", Dimension.TIME)
    assert measured(time, Statistic("count"), run) == 2
    assert measured(time, Statistic("max"), run) == 10 * US
    share = source("paused", Dimension.SHARE)
    assert measured(share, Statistic("mean"), run) == pytest.approx(20 / 150)
    at_hosts = replace(share, tiers=("host",))
    assert measured(at_hosts, Statistic("mean"), run) == pytest.approx(10 / 50)
    late = replace(share, window=(60 * US, 100 * US))
    assert measured(late, Statistic("mean"), run) == pytest.approx(50 / 120)


def _paused() -> Any:
    """Pauses of host h0's port and of s0's port to h1."""
    pauses = pl.DataFrame(
        {
            "node": [0, 0, 3, 0],
            "port": [0, 0, 1, 0],
            "tier": ["host", "host", "tor", "host"],
            "from_ps": [5 * US, 15 * US, 16 * US, 70 * US],
            "to_ps": [10 * US, 40 * US, 20 * US, 80 * US],
        }
    )
    causes = pl.DataFrame(
        {
            "at_ps": [4 * US, 14 * US, 15 * US, 69 * US],
            "peer": [0, 0, 3, 0],
            "peer_port": [0, 0, 1, 0],
            "held_bytes": [100, 300, 50, 200],
        }
    )
    return fake(pauses=pauses, pause_causes=causes)


def test_pauses_of_chosen_ports() -> None:
    run, window = _paused(), (0, 50 * US)
    time = source("pauses", Dimension.TIME, ports=("h0->*",), window=window)
    assert measured(time, Statistic("sum"), run) == 30 * US
    share = source("paused", Dimension.SHARE, ports=("h0->*",), window=window)
    assert measured(share, Statistic("mean"), run) == pytest.approx(30 / 50)
    rate = source("pause-rate", ports=("h0->*",), window=(0, 100 * US))
    assert measured(rate, Statistic("mean"), run) == pytest.approx(3 / 0.1)
    assert measured(source("pause-rate"), Statistic("mean"), run) == pytest.approx(4 / 0.1)
    course = Data().lines(replace(rate, bin_ps=20 * US), run)
    assert course.times_ps.tolist() == [20 * US, 40 * US, 60 * US, 80 * US, 100 * US]
    assert course.values[""] == pytest.approx([100, 0, 0, 50, 0])
    # Bins begin with the window; one that it cuts is as long as what is left of it.
    cut = Data().lines(replace(rate, bin_ps=20 * US, window=(10 * US, 75 * US)), run)
    assert cut.times_ps.tolist() == [30 * US, 50 * US, 70 * US, 75 * US]
    assert cut.values[""] == pytest.approx([50, 0, 0, 200])


def test_pause_frames_of_chosen_ports() -> None:
    run = fake()
    frames = pl.Series("pause_frames", [5, 7, 2])
    run._tables["ports"] = run.table("ports").with_columns(frames)
    assert measured(source("pause-frames", ports=("h0->s0",)), Statistic("sum"), run) == 2
    assert measured(source("pause-frames", tiers=("tor",)), Statistic("sum"), run) == 12
    assert measured(source("pause-frames"), Statistic("max"), run) == 7


def test_what_ports_held_when_they_were_paused() -> None:
    run = _paused()
    level = source("pause-level", Dimension.SIZE, ports=("h0->s0",))
    assert measured(level, Statistic("mean"), run) == 200
    assert measured(replace(level, window=(0, 20 * US)), Statistic("max"), run) == 300
    with pytest.raises(RunError, match=r"pause_causes was not recorded; add \[record\]"):
        measured(level, Statistic("mean"), fake())
    held = Measure("held", level, Statistic("sum"), Dimension.SIZE)
    others = Measure("others", replace(level, ports=("s0->h1",)), Statistic("sum"), Dimension.SIZE)
    ratio_of = replace(others, over=held, dimension=Dimension.NUMBER)
    found = Data().value(ratio_of, [run, run])
    assert (found.value, *found.interval()) == pytest.approx((50 / 600,) * 3)
    nothing = replace(held, source=replace(level, ports=("s0->h0",)))
    assert math.isnan(Data().value(replace(others, over=nothing), [run]).value)


def test_goodput_is_bytes_over_the_time_to_the_last_byte() -> None:
    goodput = source("goodput", Dimension.RATE, traffic=("long",))
    assert measured(goodput, Statistic("mean"), fake()) == pytest.approx(8e6 / 90e-6)


def test_histograms_keep_their_weights() -> None:
    rtt = pl.DataFrame({"bin_ps": [10, 20, 30], "samples": [90, 9, 1]})
    run = fake(rtt=rtt)
    assert measured(source("rtt", Dimension.TIME), percentile(0.95), run) == 20
    bins = pl.DataFrame(
        {"node": [3, 3], "port": [0, 1], "bin_bytes": [0, 1000], "samples": [99, 1]}
    )
    queues = source("queue-samples", Dimension.SIZE, ports=("s0->*",))
    assert measured(queues, percentile(0.99), fake(queue_histogram=bins)) == 0
    assert measured(queues, Statistic("max"), fake(queue_histogram=bins)) == 1000


def test_only_packets_that_were_granted_count_as_waiting() -> None:
    bins = pl.DataFrame(
        {
            "node": [3, 3, 3],
            "port": [0, 0, 1],
            "scheduled": [True, False, True],
            "bin_ps": [100, 900, 300],
            "samples": [3, 90, 1],
        }
    )
    queueing = source("queueing", Dimension.TIME, ports=("s0->*",))
    run = fake(delay_histogram=bins)
    assert measured(queueing, percentile(0.5), run) == 100
    assert measured(queueing, Statistic("max"), run) == 300


def test_the_share_of_bytes_that_are_no_data() -> None:
    run = fake()
    run._tables["ports"] = run.table("ports").with_columns(
        tx_bytes=pl.Series([0, 100, 200]), tx_data_bytes=pl.Series([0, 70, 200])
    )
    share = source("control-share", Dimension.SHARE)
    # The port that sent nothing has no share.
    assert measured(share, Statistic("count"), run) == 2
    assert measured(share, Statistic("max"), run) == pytest.approx(0.3)


def test_bytes_on_the_wire_per_byte_of_payload() -> None:
    run = fake()
    run._tables["ports"] = run.table("ports").with_columns(tx_bytes=pl.Series([5, 5, 2_008_000]))
    run.summary = {**run.summary, "tiers": ["host", "tor"]}
    assert measured(source("wire"), Statistic("mean"), run) == 2.0


def test_a_number_of_the_summary() -> None:
    assert measured(source("summary", key="drops.total"), Statistic("mean"), fake()) == 7
    with pytest.raises(RunError, match="has no number `drops"):
        measured(source("summary", key="drops.nothing"), Statistic("mean"), fake())


def test_the_first_deadlock_of_a_run_has_a_time() -> None:
    run, calm = fake(), fake()
    run.summary["deadlocks"] = [{"at_ps": 3 * US}, {"at_ps": 5 * US}]
    calm.summary["deadlocks"] = []
    first = source("deadlocks", Dimension.TIME)
    assert measured(first, Statistic("max"), run) == 3 * US
    assert measured(first, Statistic("count"), calm) == 0


def held_links(*pauses: tuple[str, str, int, int]) -> Any:
    """Pauses of ports between nodes that are called by letters: from, to, since, until."""
    letters = "abcd"
    number = {(a, b): i for i, (a, b) in enumerate(itertools.permutations(letters, 2))}
    ports = pl.DataFrame(
        {
            "node": [letters.index(a) for a, _ in number],
            "port": list(number.values()),
            "peer": [letters.index(b) for _, b in number],
        }
    )
    rows = pl.DataFrame(
        {
            "node": [letters.index(a) for a, *_ in pauses],
            "port": [number[a, b] for a, b, *_ in pauses],
            "from_ps": [since * US for *_, since, _ in pauses],
            "to_ps": [until * US for *_, until in pauses],
            "open": [until == 100 for *_, until in pauses],
        },
        schema_overrides={"from_ps": pl.UInt64, "to_ps": pl.UInt64},
    )
    run = fake(pauses=rows)
    run._tables["ports"] = ports
    run.summary["ending"] = "time-limit"
    return run


def test_a_cycle_of_pauses_has_its_ports_paused_together_for_so_long() -> None:
    cycle = source("paused-cycles", Dimension.TIME, lasting_ps=10 * US)
    first = Statistic("min")
    round_about = [("a", "b", 5, 40), ("b", "c", 8, 30), ("c", "a", 20, 60)]
    assert measured(cycle, first, held_links(*round_about)) == 20 * US
    # All three only from 20 to 29: not for 10 us. Later once more.
    shorter = [("a", "b", 5, 29), *round_about[1:]]
    assert math.isnan(measured(cycle, first, held_links(*shorter)))
    again = [*shorter, ("a", "b", 55, 90), ("b", "c", 45, 90), ("c", "a", 70, 100)]
    assert measured(cycle, first, held_links(*again)) == 70 * US
    # Both directions of a link, and a chain, are no cycles.
    there_and_back = [("a", "b", 0, 50), ("b", "a", 0, 50), ("b", "c", 0, 50)]
    assert math.isnan(measured(cycle, first, held_links(*there_and_back)))
    # What a deadlock ended the run with lasts for ever.
    stuck = held_links(("a", "b", 91, 100), ("b", "c", 95, 100), ("c", "a", 99, 100))
    assert math.isnan(measured(cycle, first, stuck))
    stuck.summary["ending"] = "deadlock"
    assert measured(cycle, first, stuck) == 99 * US


def test_what_an_ingress_holds_has_a_line_beside_its_threshold() -> None:
    rows = {
        "at_ps": [0, 2 * US, 1 * US],
        "node": [3, 3, 3],
        "port": [0, 0, 1],
        "class": [2, 2, 2],
        "bytes": [5, 9, 1],
        "threshold_bytes": [20, 10, 30],
    }
    run = fake(port_ingress=pl.DataFrame(rows))
    run.resolved = '[record]\ningress = { every = "1us" }\n'
    run.summary["end_ps"] = 3 * US
    one = source("ingress", Dimension.SIZE, ports=("s0->h0",), threshold=True)
    lines = Data().lines(one, run)
    assert {name: list(values) for name, values in lines.values.items()} == {
        "bytes": [5, 5, 9, 9],
        "X_off": [20, 20, 10, 10],
    }
    alone = source("ingress-threshold", Dimension.SIZE, ports=("s0->h0",), window=(0, 2 * US))
    assert measured(alone, Statistic("min"), run) == 10
    # Before the first packet the threshold was not 0.
    later = replace(alone, ports=("s0->h1",))
    assert measured(later, Statistic("min"), run) == 30
    both = Data().lines(source("ingress", Dimension.SIZE), run)
    assert list(both.values) == ["s0->h0 bytes", "s0->h1 bytes"]
    assert list(both.values["s0->h1 bytes"]) == [0, 1, 1, 1]


def test_what_was_not_recorded_is_told() -> None:
    with pytest.raises(RunError, match=r"rtt was not recorded; add \[record\]"):
        measured(source("rtt"), Statistic("max"), fake())


def test_seeds_are_taken_together_but_counts_are_averaged() -> None:
    one, two = queue_run([1, 2]), queue_run([3, 4, 5])
    two.path = Path("two")
    largest = Measure("m", QUEUE, Statistic("p50", quantile=0.5), Dimension.SIZE)
    assert Data().value(largest, [one, two]).value == 3
    count = replace(largest, statistic=Statistic("count"))
    assert Data().value(count, [one, two]).value == 2.5


def test_the_largest_value_is_that_of_one_run_whatever_their_number() -> None:
    runs = [queue_run([1, 2]), queue_run([3, 5]), queue_run([])]
    for number, run in enumerate(runs):
        run.path = Path(str(number))
    largest = Measure("m", QUEUE, Statistic("max"), Dimension.SIZE)
    assert Data().value(largest, runs[:2]).value == 3.5
    smallest = replace(largest, statistic=Statistic("min"))
    assert Data().value(smallest, runs[:2]).value == 2
    found = Data().value(largest, runs)
    assert found.value == 3.5, "a run without data has no largest value"
    assert math.isnan(Data().value(largest, runs[2:]).value)


def test_lines_are_samples_too() -> None:
    lines = Lines(np.array([1.0]), {"a": np.array([1.0]), "b": np.array([2.0])})
    assert sorted(lines.samples().values) == [1, 2]


# --- Claims ----------------------------------------------------------------------------------

MEASURE = Measure("m", source("fct", Dimension.TIME), percentile(0.5), Dimension.TIME)
SCHEMES = Axis("x", tuple(Point(label, label) for label in "abcd"))
RUNS = Group("runs", Path("x.toml"), (SCHEMES,), (), (1,), None, (), (1,))
FIGURE = Figure("f", Path("f.toml"), "", "", "", "", (RUNS,), (), (), 1)
NO_CHANCE = replace(FIGURE, groups=(replace(RUNS, chance=False),))


class Table:
    """Values by label of the axis `x`."""

    def __init__(self, **values: tuple[float, ...]) -> None:
        self.values = values

    def value(self, pick: Pick, seeds: int | None = None) -> Value:
        return mean_of(self.values[pick.select["x"][0]][:seeds])


def ours(judged: Verdict) -> list[tuple[str, str]]:
    return [(case.at, case.ours) for case in judged.cases]


def pick(*labels: str) -> Pick:
    return Pick(MEASURE, {"x": labels})


def claim(value: Pick, *bounds: Bound, over: Quantity | Pick | None = None) -> Claim:
    said = Claim("text", "place", "paper", value, over, bounds, "expected", "cause")
    return replace(said, alike=True)  # so that others of the axis are not looked at


def limit(value: float, low: bool, strict: bool = False) -> Bound:
    return Bound(Quantity(value, Dimension.TIME), low, strict)


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        (limit(5 * US, low=True), HOLDS),
        (limit(5 * US, low=True, strict=True), DIFFERS),
        (limit(4 * US, low=True, strict=True), HOLDS),
        (limit(5 * US, low=False), HOLDS),
        (limit(5 * US, low=False, strict=True), DIFFERS),
        (limit(6 * US, low=False, strict=True), HOLDS),
        (limit(6 * US, low=True), DIFFERS),
    ],
)
def test_the_value_of_a_deterministic_run_decides(bound: Bound, verdict: str) -> None:
    judged = judge(claim(pick("a"), bound), NO_CHANCE, Table(a=(5 * US,)))
    assert (judged.verdict, judged.seeds) == (verdict, 1)
    assert ours(judged) == [("", "5 µs")]


def test_all_bounds_must_hold() -> None:
    within = limit(2 * US, low=True), limit(4 * US, low=False)
    assert judge(claim(pick("a"), *within), NO_CHANCE, Table(a=(3 * US,))).verdict == HOLDS
    assert judge(claim(pick("a"), *within), NO_CHANCE, Table(a=(5 * US,))).verdict == DIFFERS


def test_several_points_must_all_hold_and_each_has_its_verdict() -> None:
    table = Table(a=(1 * US,), b=(3 * US,))
    judged = judge(claim(pick("a", "b"), limit(2 * US, low=False)), NO_CHANCE, table)
    assert judged.verdict == DIFFERS
    assert ours(judged) == [("a", "1 µs"), ("b", "3 µs")]
    assert [case.verdict for case in judged.cases] == [HOLDS, DIFFERS]


def test_a_ratio() -> None:
    twice = Bound(Quantity(2, Dimension.NUMBER), low=True, strict=False)
    judged = judge(claim(pick("a"), twice, over=pick("b")), NO_CHANCE, Table(a=(6 * US,), b=(US,)))
    assert judged.verdict == HOLDS
    assert ours(judged) == [("", "6 µs / 1 µs = 6")]


def test_nothing_over_nothing_meets_no_bound() -> None:
    small = Bound(Quantity(0.05, Dimension.NUMBER), low=False, strict=False)
    judged = judge(claim(pick("a"), small, over=pick("b")), NO_CHANCE, Table(a=(0,), b=(0,)))
    assert judged.verdict == DIFFERS


def test_another_measure_as_bound_is_looked_up_at_the_same_point() -> None:
    other = Pick(MEASURE, {"x": ("a", "b")})
    judged = judge(
        claim(pick("a", "b"), Bound(other, low=False, strict=False)),
        NO_CHANCE,
        Table(a=(1 * US,), b=(9 * US,)),
    )
    assert judged.verdict == HOLDS
    assert ours(judged) == [("a", "1 µs against 1 µs"), ("b", "9 µs against 9 µs")]


def test_a_ratio_may_have_nothing_to_divide_by_in_some_seeds() -> None:
    at_most_half = Bound(Quantity(0.5, Dimension.NUMBER), low=False, strict=False)
    often, seldom, never = (1, 1, 1, 0) * 8, (0,) * 31 + (1,), (0,) * 32

    def verdict(less: tuple[int, ...], more: tuple[int, ...]) -> str:
        table = Table(a=less, b=more)
        return judge(claim(pick("a"), at_most_half, over=pick("b")), FIGURE, table).verdict

    assert verdict(never, often) == HOLDS
    assert verdict(seldom, often) == HOLDS
    assert verdict(often, seldom) != HOLDS
    assert verdict((1, 0, 0, 0) * 8, (1, 1, 0, 0) * 8) == INCONCLUSIVE
    # Nothing at all to divide by.
    assert verdict(never, never) == DIFFERS


def test_a_ratio_is_that_of_means_whichever_is_above() -> None:
    # In most seeds 1 against 1, in some against 6 or 7: a half, as 17 against 34. The mean of the
    # single ratios is 0.85.
    victims, more = (1.0,) * 17, (1.0,) * 14 + (7.0, 7.0, 6.0)
    table = Table(a=victims * 8, b=more * 8)

    def verdict(value: str, bound: Bound, over: str) -> str:
        return judge(claim(pick(value), bound, over=pick(over)), FIGURE, table).verdict

    for times, expected in ((0.4, DIFFERS), (0.5, INCONCLUSIVE), (0.65, HOLDS)):
        at_most = Bound(Quantity(times, Dimension.NUMBER), low=False, strict=False)
        at_least = Bound(Quantity(1 / times, Dimension.NUMBER), low=True, strict=False)
        assert verdict("a", at_most, "b") == verdict("b", at_least, "a") == expected


def test_what_is_compared_is_of_the_same_seeds() -> None:
    less = Bound(pick("b"), low=False, strict=True)
    # Each seed of b has one more than that of a. The deterministic c is in between.
    table = Table(a=(1, 5, 9, 1, 5), b=(2, 6, 10, 2, 6, 0), c=(5,))
    judged = judge(claim(pick("a"), less), FIGURE, table)
    assert (judged.verdict, judged.seeds) == (HOLDS, 5)
    against = Bound(pick("c"), low=False, strict=True)
    assert judge(claim(pick("a"), against), FIGURE, table).verdict == INCONCLUSIVE
    turned = judge(claim(pick("c"), Bound(pick("a"), low=True, strict=True)), FIGURE, table)
    assert turned.verdict == INCONCLUSIVE


def test_a_ratio_is_compared_with_the_like_ratio() -> None:
    a, b = (6 * US, 8 * US) * 5, (2 * US,) * 10
    c, d = (9 * US, 15 * US) * 5, (3 * US,) * 10
    less = Bound(pick("c"), low=False, strict=True, over=pick("d"))
    judged = judge(claim(pick("a"), less, over=pick("b")), FIGURE, Table(a=a, b=b, c=c, d=d))
    # 3 against 3, and 4 against 5.
    assert judged.verdict == HOLDS
    ((_, found),) = ours(judged)
    assert found.startswith("7 µs / 2 µs = 3.5 [")
    assert found.endswith("] against 4")


@pytest.mark.parametrize(
    ("by_seed", "verdict"),
    [
        ((1.5, 2.5, 1.5, 2.5, 2.0), HOLDS),
        ((3.5, 4.5, 3.5, 4.5, 4.0), DIFFERS),
        ((2.0, 2.9, 2.0, 2.9, 4.0), INCONCLUSIVE),
        # All seeds are on one side, so all bootstrap samples are.
        ((3.1, 3.4, 3.2, 4.0, 45.0), DIFFERS),
        ((2.9, 2.9, 2.9, 2.9, 2.9, 0.0), HOLDS),
        ((2.9,) * 9 + (45.0,), INCONCLUSIVE),
        # Fewer than five seeds of a random result decide nothing.
        ((1.0, 1.0, 1.0, 1.0), INCONCLUSIVE),
        # A mean with an infinite number is infinite.
        ((math.inf,) * 5, DIFFERS),
        ((1.0,) * 9 + (math.inf,), INCONCLUSIVE),
    ],
)
def test_a_claim_is_judged_by_the_interval_of_its_seeds(
    by_seed: tuple[float, ...], verdict: str
) -> None:
    table = Table(a=tuple(value * US for value in by_seed))
    assert judge(claim(pick("a"), limit(3 * US, low=False)), FIGURE, table).verdict == verdict


def test_measures_are_compared_seed_by_seed() -> None:
    # They vary much with the seed, but one is always 1 µs below the other.
    low, high = (1 * US, 9 * US, 4 * US) * 2, (2 * US, 10 * US, 5 * US) * 2
    less = claim(pick("a"), Bound(pick("b"), low=False, strict=True))
    assert judge(less, FIGURE, Table(a=low, b=high)).verdict == HOLDS
    assert judge(less, FIGURE, Table(a=high, b=low)).verdict == DIFFERS


def test_no_data_holds_nothing() -> None:
    bounds = (limit(0, low=True), limit(0, low=False))
    for bound in bounds:
        judged = judge(claim(pick("a"), bound), NO_CHANCE, Table(a=(math.nan,)))
        assert (judged.verdict, ours(judged)) == (DIFFERS, [("", "no data")])


def test_the_interval_has_the_width_that_theory_gives() -> None:
    """The mean of n numbers with deviation s lies within 1.96 s / √n in 95 % of the samples."""
    numbers = np.random.default_rng(1).normal(10, 2, 400)
    low, high = mean_of(tuple(numbers)).interval()
    assert high - low == pytest.approx(2 * 1.96 * numbers.std() / 20, rel=0.06)


def test_a_percentile_is_drawn_from_the_numbers_of_all_drawn_seeds() -> None:
    generator = np.random.default_rng(2)
    values = [generator.exponential(seed, 300) for seed in range(1, 6)]
    weights = [generator.integers(0, 3, 300).astype(float) for _ in range(5)]
    found = quantile_of_all(values, weights, 0.9)
    together = np.concatenate(values), np.concatenate(weights)
    assert found.value == quantile(*together, 0.9)
    for counts, drawn in zip(bootstrap._counts(5)[:50], found.drawn[:50], strict=True):
        several = [w * n for w, n in zip(weights, counts, strict=True)]
        exact = quantile(together[0], np.concatenate(several), 0.9)
        # The candidates are thinned.
        assert drawn == pytest.approx(exact, rel=0.01)


# --- What is computed rather than run ---------------------------------------------------------


def test_share_of_bytes_in_flows_up_to_a_size() -> None:
    # Half of the flows have 100 bytes, the others 100 to 300: 50 + 100 bytes a flow.
    points = [(100.0, 0.5), (300.0, 1.0)]
    sizes = np.array([50.0, 100.0, 200.0, 300.0, 1e9])
    below = formulas.bytes_below(points, "linear", sizes)
    assert below == pytest.approx([0, 1 / 3, (50 + 37.5) / 150, 1, 1])
    # By steps the others all have 300 bytes.
    assert formulas.bytes_below(points, "step", sizes) == pytest.approx([0, 0.25, 0.25, 1, 1])


def test_bytes_of_a_built_in_distribution() -> None:
    """Drawing sizes from the same points gives the same share."""
    found = formulas.workload_points("fb-hadoop@bfc")
    assert found is not None
    points, interpolation = found
    assert interpolation == "linear"
    sizes, shares = np.array(points).T
    drawn = np.interp((np.arange(1_000_000) + 0.5) / 1_000_000, shares, sizes)
    curve = Formula("f", "bytes-below", (("workload", "fb-hadoop@bfc"),), "f")
    for size in (1e3, 1e5, 1e6):
        expected = drawn[drawn <= size].sum() / drawn.sum()
        assert curve.at([size])[0] == pytest.approx(expected, rel=1e-3)
    assert formulas.workload_points("no-such") is None


def test_time_without_packets() -> None:
    """Eq. 4 from the three phases of Eq. 1 to 3, and Eq. 5 as its largest value."""
    for threshold in (0.25, 1.0, 4.0):
        ratio = np.linspace(1.01, 12, 5000)
        filling = threshold / (ratio - 1) + 1
        draining = threshold + ratio - 1
        share = formulas.empty_share(threshold, ratio)
        assert share == pytest.approx(1 / (filling + draining + 1))
        worst = formulas.worst_empty_share(np.array([threshold]))[0]
        assert share.max() == pytest.approx(worst, rel=1e-5)
        assert ratio[share.argmax()] == pytest.approx(threshold**0.5 + 1, abs=0.01)
    assert formulas.worst_empty_share(np.array([1.0]))[0] == pytest.approx(0.2)


def test_a_formula_is_a_measure_without_runs() -> None:
    curve = Formula("worst", "worst-empty-share", (), "Eq. 5")
    nothing = source("formula", Dimension.SHARE)
    measure = Measure("m", nothing, Statistic("formula"), Dimension.SHARE, curve, 1.0)
    value = Data().value(measure, [])
    assert (value.value, value.seeds) == (pytest.approx(0.2), 1)


def test_the_standard_deviation_is_that_of_all_numbers() -> None:
    samples = Samples(np.array([1.0, 3.0, 100.0]), np.array([3, 1, 0]))
    assert evaluate(Statistic("std"), samples) == pytest.approx(0.75**0.5)


def test_flows_in_progress() -> None:
    # Flow 0 from 0 to 90 us, 1 from 10 to 15, 2 from 20 to 40.
    wanted = source("in-progress", bin_ps=5 * US, window=(0, 25 * US))
    assert list(Data().lines(wanted, fake()).values[""]) == [1, 1, 2, 1, 2, 2]
    short = replace(wanted, traffic=("short",), sizes=(0, 3000))
    assert list(Data().lines(short, fake()).values[""]) == [0, 0, 1, 0, 0, 0]


def test_change_of_a_fair_share() -> None:
    wanted = source(
        "fair-share-change", Dimension.SHARE, bin_ps=5 * US, window=(0, 25 * US), interval_ps=5 * US
    )
    found = Data().samples(wanted, [fake()])
    # 1, 1, 2, 1, 2, 2 flows: equal, halved, doubled, halved, equal.
    assert list(found.values) == [0, 0.5, 1, 0.5, 0]


def test_delay_is_what_a_flow_took_beyond_its_time_alone() -> None:
    wanted = source("delay", Dimension.TIME, traffic=("short",))
    # Slowdowns of 1 and 4 over 5 and 20 us.
    assert sorted(Data().samples(wanted, [fake()]).values) == [0, 15 * US]


def test_active_flows_of_some_ports() -> None:
    active = pl.DataFrame(
        {
            "node": [3, 3, 3],
            "port": [0, 0, 1],
            "tier": ["tor"] * 3,
            "active": [0, 7, 9],
            "probes": [3, 1, 5],
        }
    )
    run = fake(active=active)
    one = source("active-flows", ports=("s0->h0",))
    assert measured(one, Statistic("count"), run) == 4
    assert measured(one, Statistic("mean"), run) == 7 / 4
    assert measured(source("active-flows", tiers=("tor",)), Statistic("max"), run) == 9
    assert measured(source("active-flows", tiers=("core",)), Statistic("count"), run) == 0


def test_utilisation_and_idle_time_of_ports() -> None:
    run = fake()
    # 100 us at 1 Gbps are 12 500 bytes.
    run._tables["ports"] = run.table("ports").with_columns(
        pl.Series("tx_bytes", [5_000, 12_500, 0]), pl.Series("rate_bps", [10**9] * 3)
    )
    one = source("utilisation", Dimension.SHARE, ports=("s0->h0",))
    assert measured(one, Statistic("mean"), run) == pytest.approx(0.4)
    assert measured(replace(one, of="idle"), Statistic("mean"), run) == pytest.approx(0.6)
    tor = source("utilisation", Dimension.SHARE, tiers=("tor",))
    assert measured(tor, Statistic("mean"), run) == pytest.approx(0.7)
