"""Intervals against tables, closed forms, and their own promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backwater.results import statistics
from backwater.results.columns import column


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # Two-sided 95 % in every printed table of Student's distribution.
    [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980), (10**6, 1.960)],
)
def test_students_quantiles(freedom, quantile):
    assert statistics.student(0.975, freedom) == pytest.approx(quantile, abs=6e-4)
    assert statistics.student(0.025, freedom) == pytest.approx(-quantile, abs=6e-4)


def width(interval):
    return interval.high - interval.low


def test_students_distribution_has_closed_forms():
    for share in (0.6, 0.9, 0.99):
        assert statistics.student(share, 1) == pytest.approx(math.tan(math.pi * (share - 0.5)))
        a = 2 * share - 1
        assert statistics.student(share, 2) == pytest.approx(a * math.sqrt(2 / (1 - a * a)))
    assert statistics.student(0.5, 7) == pytest.approx(0, abs=1e-6)


@given(st.integers(0, 40), st.integers(1, 40), st.floats(0.01, 0.99))
def test_the_incomplete_beta_function_counts_hits(hits, more, share):
    count = hits + more
    direct = math.fsum(
        math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(hits + 1)
    )
    assert statistics._binomial(hits, count, share) == pytest.approx(direct, abs=1e-11)


def test_means():
    interval = statistics.mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval.estimate == 3
    # 2.776 standard errors, and the standard error is √(2.5 / 5).
    assert width(interval) == pytest.approx(2 * 2.7764 * math.sqrt(0.5), rel=1e-4)
    assert statistics.mean([]) is None
    alone = statistics.mean([7.0])
    assert alone == statistics.Interval(7.0, None, None, 1)


def test_intervals_end_where_no_value_can_be():
    free = statistics.mean([1.0, 1.1, 3.0])
    cut = statistics.mean([1.0, 1.1, 3.0], least=1.0)
    assert free.low < 1
    assert cut == statistics.Interval(free.estimate, 1.0, free.high, 3)
    # An estimate below the bound tells that the bound is wrong; its interval holds it all the same.
    assert statistics.mean([0.9, 0.9], least=1.0) == statistics.Interval(0.9, 0.9, 0.9, 2)
    assert column("fct.short.slowdown.p99").least == 1
    assert column("pfc_paused_ps").least == 0


def test_percentiles_lie_between_values():
    # For a median of ten the printed tables give the 2nd and the 9th value.
    interval = statistics.percentile(list(range(1, 11)), 0.5)
    assert interval == statistics.Interval(5, 2, 9, 10)
    assert statistics.percentile([1, 2, 3, 4, 5], 0.5) == statistics.Interval(3, None, None, 5)
    assert statistics.percentile([1, 2, 3, 4, 5, 6], 0.5) == statistics.Interval(3, 1, 6, 6)
    assert statistics.percentile([], 0.5) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        statistics.percentile([1.0], 1.0)


def test_shares():
    # Clopper and Pearson in closed form at the ends: 1 - (α/2)^(1/n).
    none = statistics.proportion(0, 1000)
    assert (none.estimate, none.low) == (0, 0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 1000))
    every = statistics.proportion(8, 8)
    assert every.low == pytest.approx(0.025 ** (1 / 8))
    some = statistics.proportion(5, 20)
    assert (some.low, some.high) == pytest.approx((0.0866, 0.4910), abs=1e-4)
    assert statistics.proportion(0, 0) is None


def test_pairs_leave_out_what_both_have():
    noise = {seed: 100.0 * seed for seed in range(6)}
    better = {seed: value - 3 + 0.1 * (seed % 2) for seed, value in noise.items()}
    difference = statistics.paired(better | {99: 1.0}, noise)
    assert difference.count == 6
    assert difference.estimate == pytest.approx(-2.95)
    assert difference.high < 0
    assert statistics.paired({1: 2.0}, {2: 2.0}) is None


def test_pooled_percentiles_are_drawn_by_whole_samples():
    draw = np.random.Generator(np.random.PCG64(5))
    samples = [draw.exponential(size=200) + shift for shift in (0, 0, 1, 1, 2, 2)]
    median = lambda flows: float(np.median(flows))  # noqa: E731
    interval = statistics.pooled(samples, median)
    assert interval.low < interval.estimate == np.median(np.concatenate(samples)) < interval.high
    assert interval == statistics.pooled(samples, median)
    # Flows of one run stand or fall together: taking them for independent would say too much.
    mixed = np.concatenate(samples)
    single = statistics.pooled(list(mixed.reshape(-1, 1)), median)
    assert width(interval) > 2 * width(single)
    assert statistics.pooled([], median) is None


def test_intervals_hold_what_they_promise():
    draw = np.random.Generator(np.random.PCG64(3))
    means = medians = 0
    for _ in range(200):
        values = list(draw.normal(size=8))
        mean, median = statistics.mean(values), statistics.percentile(values, 0.5)
        means += mean.low < 0 < mean.high  # type: ignore[operator]
        medians += median.low < 0 < median.high  # type: ignore[operator]
    # 95 % of 200, give or take three standard deviations; a median's interval holds at least that.
    assert 181 <= means <= 199
    assert medians >= 181
