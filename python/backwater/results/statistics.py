"""Confidence intervals for statistics over seeds.

Means have Student's interval. A percentile over seeds has an interval between two order statistics.
This interval is exact for every distribution and needs no random numbers. It is missing if there
are too few seeds; a median needs six. A share has the interval of Clopper and Pearson.

Percentiles of the flows of all seeds together are resampled by whole seeds, because flows of one
run depend on each other. SciPy is not used: it would add 40 MB for two functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from backwater._base.lazy import np

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, and an interval that contains the true value with the requested probability."""

    estimate: float
    low: float | None
    """``None`` if there are too few values for an interval."""

    high: float | None
    count: int

    @property
    def excludes_zero(self) -> bool:
        """True if there is an interval, and all of it is above zero or all below."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def mean(
    values: Sequence[float], level: float = LEVEL, least: float = -math.inf
) -> Interval | None:
    """Return the mean of independent values with its interval; ``None`` if there are no values.

    ``least`` is the lowest possible value. The lower end of the interval is limited to it, which
    does not change the coverage.
    """
    count = len(values)
    if count == 0:
        return None
    middle = math.fsum(values) / count
    if count == 1:
        return Interval(middle, None, None, 1)
    variance = math.fsum((v - middle) ** 2 for v in values) / (count - 1)
    reach = student(0.5 + level / 2, count - 1) * math.sqrt(variance / count)
    return Interval(middle, max(middle - reach, min(least, middle)), middle + reach, count)


def percentile(values: Sequence[float], share: float, level: float = LEVEL) -> Interval | None:
    """Return a percentile of independent values. The ends of its interval are two of the values."""
    count = len(values)
    if count == 0:
        return None
    if not 0 < share < 1:
        raise ValueError(f"a percentile lies between 0 and 1, and {share} does not")
    ordered = sorted(values)
    estimate = ordered[max(math.ceil(share * count) - 1, 0)]
    tail = (1 - level) / 2
    # The k-th value lies above the percentile with the probability that fewer than k lie below.
    low = next((k for k in range(count, 0, -1) if _binomial(k - 1, count, share) <= tail), None)
    high = next(
        (k for k in range(1, count + 1) if _binomial(k - 1, count, share) >= 1 - tail), None
    )
    return Interval(
        estimate,
        None if low is None else ordered[low - 1],
        None if high is None else ordered[high - 1],
        count,
    )


def proportion(hits: int, count: int, level: float = LEVEL) -> Interval | None:
    """Return the share of trials with an outcome, such as runs that stalled, and its interval."""
    if count == 0:
        return None
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _inverse_beta(tail, hits, count - hits + 1)
    high = 1.0 if hits == count else _inverse_beta(1 - tail, hits + 1, count - hits)
    return Interval(hits / count, low, high, count)


def paired(
    values: Mapping[int, float], baseline: Mapping[int, float], level: float = LEVEL
) -> Interval | None:
    """Return the mean difference to a baseline, over the seeds that both have.

    At the same seed both runs had the same flows, so effects that both share cancel.
    """
    return mean([values[s] - baseline[s] for s in sorted(values.keys() & baseline.keys())], level)


def pooled(
    samples: Sequence[np.ndarray],
    statistic: Callable[[np.ndarray], float],
    level: float = LEVEL,
    rounds: int = 1000,
) -> Interval | None:
    """Return a statistic of all samples together, with an interval from resampling whole samples.

    The random draws are fixed, so that the same runs give the same interval.
    """
    samples = [s for s in samples if len(s)]
    if not samples:
        return None
    estimate = float(statistic(np.concatenate(samples)))
    count = len(samples)
    if count == 1:
        return Interval(estimate, None, None, 1)
    draw = np.random.Generator(np.random.PCG64(1))
    picks = draw.integers(0, count, size=(rounds, count))
    drawn = [float(statistic(np.concatenate([samples[i] for i in pick]))) for pick in picks]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), count)


def student(share: float, freedom: int) -> float:
    """Return the quantile ``share`` of Student's distribution with ``freedom`` degrees."""
    if share < 0.5:
        return -student(1 - share, freedom)
    # With x = n / (n + t²), the two tails beyond t hold I_x(n/2, 1/2).
    x = _inverse_beta(2 * (1 - share), freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x) if x > 0 else math.inf


def _binomial(hits: int, count: int, share: float) -> float:
    """Return the probability of at most ``hits`` out of ``count``."""
    if hits >= count:
        return 1.0
    if hits < 0:
        return 0.0
    return beta(1 - share, count - hits, hits + 1)


def beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by the method of Lentz."""
    tiny = 1e-300
    upper = 1.0
    lower = 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    result = lower
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            lower = 1 / _away(1 + term * lower, tiny)
            upper = _away(1 + term / upper, tiny)
            result *= upper * lower
        if abs(upper * lower - 1) < 1e-15:
            break
    return result


def _away(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def _inverse_beta(share: float, a: float, b: float) -> float:
    """Return the x at which the incomplete beta function with ``a`` and ``b`` is ``share``."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if beta(middle, a, b) < share:
            low = middle
        else:
            high = middle
        if high - low <= 1e-16 * high:
            break
    return (low + high) / 2
