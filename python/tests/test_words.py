"""Numbers as people read them: in the table and in messages."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backwater
from backwater._base import units
from backwater.results import columns
from backwater.running.progress import facts


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((1, "1 B"), (999, "999 B"), (10_000, "10 KB"), (1_250_000, "1.25 MB"), (3e9, "3 GB")),
        *((999_400, "999 KB"), (999_900, "1 MB"), (1.25e12, "1,250 GB")),
    ],
)
def test_sizes(value, expected):
    assert units.bytes_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((0, "0 s"), (80, "80 ps"), (1_500, "1.5 ns"), (2_000_000, "2 µs"), (5e9, "5 ms")),
        *((1e12, "1 s"), (999_900, "1 µs"), (999_400_000, "999 µs")),
    ],
)
def test_times(value, expected):
    assert units.time_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, "1"), (1.256, "1.26"), (99.96, "100"), (999.4, "999"), (999.9, "1,000"), (1250, "1,250")],
)
def test_numbers_have_three_digits_and_no_exponent(value, expected):
    assert units.number_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "–"), (0, "0:00"), (59.6, "1:00"), (125, "2:05")]
)
def test_time_left(value, expected):
    assert units.clock_text(value) == expected


def row(key: str) -> columns.Column:
    return next(row for row in columns.COLUMNS if row.name == key)


def test_what_is_not_there_is_a_dash(bare):
    assert columns.text(row("fct.short.p99"), bare.summary) == "–"
    assert columns.text(row("core.wire"), bare.summary) == "–"


def test_rows_that_no_run_has_are_left_out_and_said(bare):
    assert not [row for row in columns.rows_of([bare.summary]) if row.group.startswith("Slowdown")]
    assert not [row for row in columns.rows_of([bare.summary]) if row.name.startswith("core")]
    assert "incast" in columns.without_flows([bare.summary])


def test_percentiles_have_the_number_of_their_flows(bare, comparison):
    run = comparison["bfc"]
    there = [each.name for each in columns.rows_of([bare.summary, run.summary])]
    at = there.index("fct.short.flows")
    assert there[at + 1] == "fct.short.p50"
    assert columns.text(row("fct.short.flows"), bare.summary) == "–"
    short = run.measured_flows().filter(pl.col("bytes") <= 10_000, ~pl.col("incast"))
    assert row("fct.short.flows").value(run.summary) == short.height


def test_pauses_are_said_as_a_sum_over_ports_and_as_the_share_of_one():
    links = [{"ports": 3, "paused_fraction": 0.1}, {"ports": 1, "paused_fraction": 0.5}]
    assert row("pfc.share").value({"links": links}) == pytest.approx(0.2)
    assert "sum over ports" in row("pfc.time").label


def test_a_comparison_of_one_seed_has_a_note():
    seven, eight = {"seed": 7}, {"seed": 8}
    assert columns.one_seed([seven]) is None
    assert "(7)" in columns.one_seed([seven, seven])
    assert "7" not in columns.one_seed([seven, eight])


@given(st.floats(0, 1e15))
def test_every_number_has_a_short_text(value):
    for each in columns.COLUMNS:
        if each.text is not str:
            is_whole = each.name.endswith(("_ps", "_bytes"))
            assert 0 < len(each.text(int(value) if is_whole else value)) < 24


flows = st.integers(0, 100)


@given(st.integers(0, 10**12), st.integers(0, 10**12), flows, st.none() | flows, st.floats(0, 1e6))
def test_progress_never_leaves_its_bar(now, until, finished, flows, seconds):
    progress = backwater.Progress(now, until, finished, finished, flows, 7, seconds)
    assert 0 <= progress.fraction <= 1
    assert progress.seconds_left is None or progress.seconds_left >= 0


def test_operations_say_how_far_a_workload_is():
    def now(until_ps: int | None, operations: tuple[float, int] | None) -> backwater.Progress:
        known = (424 * 10**9, until_ps, 900, 890, None, 10**6, 30.0)
        return backwater.Progress(*known, 424 * 10**9, None, operations)

    alone = now(None, (150.5, 200))
    assert alone.fraction == 150.5 / 200
    assert alone.seconds_left == pytest.approx(30 * 49.5 / 150.5)
    assert facts(alone).startswith("424 ms, 150 of 200 operations, ")
    assert "0:10 left" in facts(alone)
    # Beside flows with times of their own the run takes as long as what takes longer.
    assert now(10**12, (150.5, 200)).fraction == pytest.approx(0.424 * 890 / 900)
    assert now(10**9, (20, 200)).fraction == 0.1
    assert now(None, (0, 0)).fraction == 1


def test_a_stall_is_said_while_flows_are_unfinished():
    def told(started: int, finished: int, moved_ps: int | None) -> str:
        known = (10**9, 2 * 10**9, started, finished, None, 7, 1.0)
        return facts(backwater.Progress(*known, moved_ps, ("leaf0", 8_100_000)))

    assert "stalls for 500 µs" in told(9, 8, 5 * 10**8)
    assert "stalls" not in told(9, 8, 10**9 - 10**6)
    assert "stalls" not in told(9, 9, 5 * 10**8)
    assert "stalls" not in told(9, 8, None)
