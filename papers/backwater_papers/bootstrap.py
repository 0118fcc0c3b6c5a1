"""Computes a statistic over seeds, and the same statistic in bootstrap samples of the seeds.

A bootstrap sample draws as many seeds as there are, with replacement. All measures with the same
number of seeds use the same samples, so that schemes are compared on the same flows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from backwater_papers.samples import Array

SAMPLES = 2000
"""Number of bootstrap samples."""

LEVEL = 0.95
"""Level of the interval."""

_CANDIDATES = 1024
"""Largest number of values among which the percentile of a bootstrap sample is searched."""


@dataclass(frozen=True, slots=True)
class Value:
    """A statistic over all seeds, and in each bootstrap sample."""

    value: float
    seeds: int
    drawn: Array
    """The statistic in each bootstrap sample; one number if there is only one seed."""

    def interval(self) -> tuple[float, float]:
        """Return the ends of the interval that contains the middle 95 % of the samples."""
        found = np.sort(self.drawn)
        outside = round(len(found) * (1 - LEVEL) / 2)
        return float(found[outside]), float(found[-1 - outside])

    def over(self, other: Value) -> Value:
        """Divide by another value of the same seeds; 0 / 0 is NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Value(
                float(np.divide(self.value, other.value)),
                max(self.seeds, other.seeds),
                np.asarray(self.drawn / other.drawn),
            )


def constant(value: float) -> Value:
    """Return a value that does not depend on seeds."""
    return Value(value, 1, np.array([value]))


@cache
def _counts(seeds: int) -> Array:
    """Return how often each bootstrap sample contains each seed, one row per sample."""
    if seeds == 1:
        return np.ones((1, 1))
    generator = np.random.default_rng(seeds)
    even = np.full(seeds, 1 / seeds)
    return generator.multinomial(seeds, even, SAMPLES).astype(float)


def mean_of(by_seed: Sequence[float]) -> Value:
    """Return the mean over the seeds that have a number (not NaN)."""
    each, counts = np.asarray(by_seed, dtype=float), _counts(len(by_seed))
    some = ~np.isnan(each)
    finite = np.where(np.isfinite(each), each, 0.0)
    with np.errstate(invalid="ignore"):
        drawn = (counts @ finite) / (counts @ some)
    drawn[counts @ np.isinf(each) > 0] = math.inf
    value = float(each[some].mean()) if some.any() else math.nan
    return Value(value, len(each), drawn)


def mean_of_all(sums: Sequence[float], weights: Sequence[float]) -> Value:
    """Return the mean over the numbers of all seeds, from the sum and the weight of each seed."""
    counts = _counts(len(sums))
    with np.errstate(invalid="ignore"):
        drawn = (counts @ np.asarray(sums)) / (counts @ np.asarray(weights))
    total = math.fsum(weights)
    return Value(math.fsum(sums) / total if total else math.nan, len(sums), drawn)


def quantile_of_all(values: Sequence[Array], weights: Sequence[Array], share: float) -> Value:
    """Return a percentile of the numbers of all seeds."""
    each = [quantile(v, w, share) for v, w in zip(values, weights, strict=True) if w.sum() > 0]
    if not each:
        return Value(math.nan, len(values), np.array([math.nan]))
    # The percentile of several seeds together lies between the percentiles of single seeds.
    between = [v[(v >= min(each)) & (v <= max(each))] for v in values]
    candidates = np.unique(np.concatenate(between))
    if len(candidates) > _CANDIDATES:
        chosen = np.linspace(0, len(candidates) - 1, _CANDIDATES).round().astype(int)
        candidates = candidates[chosen]
    below = [_weight_below(v, w, candidates) for v, w in zip(values, weights, strict=True)]
    counts = _counts(len(values))
    totals = counts @ np.array([w.sum() for w in weights])
    reached = counts @ np.stack(below) >= (share * totals * (1 - 1e-12))[:, None]
    drawn = np.where(totals > 0, candidates[reached.argmax(axis=1)], math.nan)
    together = quantile(np.concatenate(values), np.concatenate(weights), share)
    return Value(together, len(values), drawn)


def quantile(values: Array, weights: Array, share: float) -> float:
    """Return the smallest value with at least this share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = np.searchsorted(below, share * below[-1] * (1 - 1e-12), side="left")
    return float(values[order][min(place, len(values) - 1)])


def _weight_below(values: Array, weights: Array, limits: Array) -> Array:
    """Return the weight of the values at or below each limit."""
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    found: Array = below[np.searchsorted(values[order], limits, side="right")]
    return found
