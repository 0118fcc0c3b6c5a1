"""Computes numbers from runs: the data of a figure, and statistics of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from backwater.errors import RunError
from backwater_papers.bootstrap import (
    Value,
    constant,
    mean_of,
    mean_of_all,
    quantile,
    quantile_of_all,
)
from backwater_papers.figure import IN_TIME, Measure, Source, Statistic
from backwater_papers.pausing import (
    ingress,
    ingress_threshold,
    pause_frames,
    pause_levels,
    pause_rate,
    paused,
    paused_cycles,
    pauses,
)
from backwater_papers.quantities import Dimension, text
from backwater_papers.samples import (
    Array,
    Lines,
    Samples,
    of_ports,
    recorded,
    steps,
    window_of,
)

if TYPE_CHECKING:
    import polars

    from backwater.results.files import RunFiles

_PER_SEED = ("sum", "count", "max", "min", *IN_TIME)
"""Statistics that are computed per seed and averaged; the others pool the numbers of all seeds."""

_MANY = 1 << 18
"""Data of one run with more numbers than this are not cached but read again."""


class Data:
    """Data of runs and values of measures, both cached."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Source, str], Samples | Lines] = {}
        self._values: dict[tuple[Source, Statistic, tuple[str, ...]], Value] = {}

    def of(self, source: Source, run: RunFiles) -> Samples | Lines:
        """Return the data of a source in a run."""
        key = (source, str(run.path))
        if key in self._kept:
            return self._kept[key]
        found = _READERS[source.of](source, run)
        if isinstance(found, Lines) or len(found.values) <= _MANY:
            self._kept[key] = found
        return found

    def samples(self, source: Source, runs: Sequence[RunFiles]) -> Samples:
        """Return the data of several runs together."""
        return _together([self._samples(source, run) for run in runs])

    def _samples(self, source: Source, run: RunFiles) -> Samples:
        found = self.of(source, run)
        return found.samples() if isinstance(found, Lines) else found

    def lines(self, source: Source, run: RunFiles) -> Lines:
        """Return the time series of a source in a run; raise ``TypeError`` if it is not one."""
        found = self.of(source, run)
        if isinstance(found, Samples):
            raise TypeError(f"{source.of} is not a time series")
        return found

    def value(self, measure: Measure, runs: Sequence[RunFiles]) -> Value:
        """Return the value of a measure over runs that differ only in their seeds."""
        if measure.formula is not None:
            return constant(float(measure.formula.at([measure.at])[0]))
        if measure.over is not None:
            below = self._value(measure.over, runs)
            found = self._value(measure, runs).over(below)
            return found if below.value else replace(found, value=math.nan)
        return self._value(measure, runs)

    def _value(self, measure: Measure, runs: Sequence[RunFiles]) -> Value:
        key = (measure.source, measure.statistic, tuple(str(run.path) for run in runs))
        if key not in self._values:
            self._values[key] = self._computed(measure.source, measure.statistic, runs)
        return self._values[key]

    def _computed(self, source: Source, statistic: Statistic, runs: Sequence[RunFiles]) -> Value:
        if statistic.name in IN_TIME:
            lines = [self.lines(source, run) for run in runs]
            since = [_since(statistic, run) for run in runs]
            return mean_of([_in_time(statistic, *one) for one in zip(lines, since, strict=True)])
        parts = [self._samples(source, run) for run in runs]
        if statistic.name in _PER_SEED:
            return mean_of([evaluate(statistic, part) for part in parts])
        return _pooled(statistic, parts)


def _pooled(statistic: Statistic, parts: Sequence[Samples]) -> Value:
    """Return a statistic over the numbers of all seeds."""
    values = [part.values for part in parts]
    weights = [np.ones(len(p.values)) if p.weights is None else p.weights for p in parts]
    if statistic.quantile is not None:
        return quantile_of_all(values, weights, statistic.quantile)
    if statistic.name == "share":
        values = [_meets(statistic, v).astype(float) for v in values]
    totals = [float(w.sum()) for w in weights]
    sums = [float((v * w).sum()) for v, w in zip(values, weights, strict=True)]
    mean = mean_of_all(sums, totals)
    if statistic.name != "std":
        return mean
    # Differences from the mean of all seeds keep the sums of squares small.
    apart = [v - mean.value for v in values]
    squares = [float((a * a * w).sum()) for a, w in zip(apart, weights, strict=True)]
    square = mean_of_all(squares, totals)
    shift = mean.drawn - mean.value
    drawn = np.sqrt(np.maximum(square.drawn - shift**2, 0))
    return Value(math.sqrt(square.value), len(parts), drawn)


# --- Statistics ------------------------------------------------------------------------------


def evaluate(statistic: Statistic, samples: Samples) -> float:
    """Return the value of a statistic; NaN if there are no samples."""
    values = samples.values
    weights = np.ones(len(values)) if samples.weights is None else samples.weights
    if statistic.name == "count":
        return float(weights.sum())
    if statistic.name == "sum":
        return float((values * weights).sum())
    if not weights.sum() > 0:
        return math.nan
    if statistic.quantile is not None:
        return quantile(values, weights, statistic.quantile)
    match statistic.name:
        case "mean":
            return float((values * weights).sum() / weights.sum())
        case "std":
            mean = (values * weights).sum() / weights.sum()
            variance = float(((values - mean) ** 2 * weights).sum() / weights.sum())
            return math.sqrt(variance)
        case "min":
            return float(values[weights > 0].min())
        case "max":
            return float(values[weights > 0].max())
        case "share":
            return float(weights[_meets(statistic, values)].sum() / weights.sum())
    raise ValueError(f"no statistic {statistic.name}")


def _meets(statistic: Statistic, values: Array) -> Array:
    if statistic.above is not None:
        return values >= statistic.above
    return values <= statistic.below


def _since(statistic: Statistic, run: RunFiles) -> float:
    """Return the time from which a statistic counts; infinite if its flow has not ended."""
    import polars as pl

    if statistic.after_flow is None:
        return statistic.after_ps
    flow = run.table("flows").filter((pl.col("id") == statistic.after_flow) & pl.col("finished"))
    return float(flow["received_ps"][0]) if flow.height else math.inf


def _in_time(statistic: Statistic, lines: Lines, since_ps: float) -> float:
    if statistic.name == "jain":
        return _jain(lines)
    if len(lines.values) != 1:
        return math.nan
    (values,) = lines.values.values()
    if statistic.name == "swings":
        return float(_swings(values, statistic.above or 0.0))
    later = lines.times_ps > since_ps
    times_ps, values = lines.times_ps[later] - since_ps, values[later]
    if statistic.name == "time-of-max":
        return float(times_ps[np.argmax(values)]) if len(values) else math.nan
    return _time_to(statistic, times_ps, values)


def _time_to(statistic: Statistic, times_ps: Array, values: Array) -> float:
    """Return the first time from which the values meet a limit for at least `hold_ps`."""
    meets = _meets(statistic, values)
    for i in np.flatnonzero(meets):
        end = np.searchsorted(times_ps, times_ps[i] + statistic.hold_ps, side="right")
        if meets[i:end].all() and times_ps[-1] >= times_ps[i] + statistic.hold_ps:
            return float(times_ps[i])
    return math.inf


def _swings(values: Array, larger_than: float) -> int:
    """Count changes of direction in a time series; swings of at most `larger_than` do not count."""
    turns, direction = 0, 0
    low = high = values[0] if len(values) else 0.0
    for value in values:
        low, high = min(low, value), max(high, value)
        if direction <= 0 and value - low > larger_than:
            turns += direction < 0
            direction, high = 1, value
        elif direction >= 0 and high - value > larger_than:
            turns += direction > 0
            direction, low = -1, value
    return turns


def _jain(lines: Lines) -> float:
    """Return Jain's index of fairness between the lines, averaged over time."""
    table = np.array(list(lines.values.values()))
    if not table.size:
        return math.nan
    squares = len(table) * (table**2).sum(axis=0)
    some = squares > 0
    return float((table.sum(axis=0)[some] ** 2 / squares[some]).mean()) if some.any() else math.nan


def _together(parts: Sequence[Samples]) -> Samples:
    if not parts:
        return Samples(np.empty(0))
    weights = None
    if any(part.weights is not None for part in parts):
        each = [np.ones(len(p.values)) if p.weights is None else p.weights for p in parts]
        weights = np.concatenate(each)
    sizes = [part.sizes for part in parts if part.sizes is not None]
    return Samples(
        np.concatenate([part.values for part in parts]),
        weights,
        np.concatenate(sizes) if sizes else None,
    )


# --- Data of one run -------------------------------------------------------------------------


def _flows(source: Source, run: RunFiles) -> Samples:
    import polars as pl

    wanted = pl.lit(value=True)
    if source.traffic:
        wanted &= pl.col("source").cast(pl.String).is_in(source.traffic)
    if source.sizes:
        low, high = source.sizes
        wanted &= (pl.col("bytes") >= low) & (pl.col("bytes") < high)
    if source.window:
        wanted &= pl.col("start_ps").is_between(*source.window)
    end = pl.col("acked_ps" if source.of == "fct-acked" else "received_ps")
    if source.unfinished:
        wanted &= pl.col("start_ps") >= run.summary["measure_from_ps"]
        end = end.fill_null(run.summary["end_ps"])
    took = (end - pl.col("start_ps")).cast(pl.Float64)
    value = {
        "slowdown": pl.col("slowdown"),
        "slowdown-acked": pl.col("slowdown_acked"),
        "delay": took - took / pl.col("slowdown"),  # time in addition to that of the flow alone
        "goodput": pl.col("bytes") * 8e12 / took,
    }.get(source.of, took)
    # Only these columns are read, because all columns would fill the memory.
    columns: list[str | pl.Expr] = ["id", "bytes", value.alias("value")]
    if source.slowest is not None:
        columns.append("slowdown")
    select = run.select_flows if source.unfinished else run.measured_flows
    flows = _of_classes(source, run, select(columns, wanted))
    if source.slowest is not None:
        number = max(round(source.slowest * flows.height), 1)
        flows = flows.sort(["slowdown", "id"], descending=[True, False]).head(number)
    values = _spent(source, run, flows) if source.of == "blame" else flows["value"].to_numpy()
    return Samples(values, sizes=flows["bytes"].to_numpy())


def _spent(source: Source, run: RunFiles, flows: polars.DataFrame) -> Array:
    """Return the time of each flow in one group of parts of its delay breakdown, or in all."""
    import polars as pl

    from backwater.analysis.blame import GROUPS

    spent = recorded(run, "blame")
    chosen = [f"{part}_ps" for part in GROUPS.get(source.part, ())] or ["fct_ps"]
    sums = spent.select(id="flow", spent_ps=pl.sum_horizontal(chosen))
    found = flows.select("id").join(sums, on="id", how="left", maintain_order="left")
    return found["spent_ps"].to_numpy().astype(float)


def _of_classes(source: Source, run: RunFiles, flows: polars.DataFrame) -> polars.DataFrame:
    """Return the flows of the chosen classes (`backwater.analysis.breakdown`)."""
    import polars as pl

    from backwater.analysis.breakdown import flow_classes

    if not source.classes:
        return flows
    classes = flow_classes(run).filter(pl.col("flow_class").is_in(source.classes))
    return flows.join(classes, on="id", how="semi")


def _rtt(source: Source, run: RunFiles) -> Samples:
    table = recorded(run, "rtt")
    return Samples(table["bin_ps"].to_numpy().astype(float), table["samples"].to_numpy())


def _queue_samples(source: Source, run: RunFiles) -> Samples:
    table = of_ports(source, run, recorded(run, "queue_histogram"))
    return Samples(table["bin_bytes"].to_numpy().astype(float), table["samples"].to_numpy())


def _queueing(source: Source, run: RunFiles) -> Samples:
    """Return how long data packets waited at ports, in ps; with Homa, only granted packets."""
    import polars as pl

    table = of_ports(source, run, recorded(run, "delay_histogram")).filter(pl.col("scheduled"))
    return Samples(table["bin_ps"].to_numpy().astype(float), table["samples"].to_numpy())


def _control_share(source: Source, run: RunFiles) -> Samples:
    """Return the share of the bytes sent by each port that are not data packets."""
    table = of_ports(source, run, run.table("ports"))
    values = (table["tx_bytes"] - table["tx_data_bytes"]) / table["tx_bytes"]
    return Samples(values.drop_nans().to_numpy())


def _queue(source: Source, run: RunFiles) -> Lines:
    """Sample queues at regular times. A row is valid until the port's next row."""
    table = of_ports(source, run, recorded(run, "port_queues"))
    return steps(source, run, table, "queues", {"bytes": ""})


def _throughput(source: Source, run: RunFiles) -> Lines:
    import polars as pl

    table = recorded(run, "throughput")
    every = run.interval_ps("throughput")
    wide = source.bin_ps or every
    if wide % every:  # rows of one interval would fall into now more, now fewer bins
        bins, rows = text(wide, Dimension.TIME), text(every, Dimension.TIME)
        raise RunError(f"{run.path}: throughput is kept every {rows}: bins of {bins} do not fit")
    ids = _flow_ids(source, run)
    table = table.filter(pl.col("flow").is_in(ids))
    low, high = source.window or (0.0, float(run.summary["end_ps"]))
    first, last = math.floor(low / wide), math.ceil(high / wide)
    # The time of a row is the end of its interval, so a row at the end of a bin belongs to the bin.
    place = np.ceil(table["at_ps"].to_numpy() / wide).astype(int) - 1 - first
    inside = (place >= 0) & (place < last - first)
    place, flow = place[inside], table["flow"].to_numpy()[inside]
    rate = table["bytes"].to_numpy()[inside] * 8e12 / wide
    times = (np.arange(first, last) + 1.0) * wide
    if source.total:
        return Lines(times, {"": np.bincount(place, rate, last - first)})
    lines, names = {}, dict(zip(source.flows, source.names, strict=False))
    for i in ids:
        own = flow == i
        lines[names.get(i, f"flow {i}")] = np.bincount(place[own], rate[own], last - first)
    return Lines(times, lines)


def _flow_ids(source: Source, run: RunFiles) -> list[int]:
    import polars as pl

    flows = _of_classes(source, run, run.table("flows"))
    if source.traffic:
        flows = flows.filter(pl.col("source").cast(pl.String).is_in(source.traffic))
    ids = sorted(flows["id"].to_list())
    return [i for i in ids if i in source.flows] if source.flows else ids


def _buffer(source: Source, run: RunFiles) -> Samples:
    import polars as pl

    table = run.measured_queues()
    if source.window:
        table = table.filter(pl.col("at_ps").is_between(*source.window))
    if source.tiers:
        table = table.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    return Samples(table["used_bytes"].to_numpy().astype(float))


def _active_flows(source: Source, run: RunFiles) -> Samples:
    """Return the number of flows with packets at a port, at each probe."""
    import polars as pl

    table = run.table("active")
    if source.tiers:
        table = table.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    table = of_ports(source, run, table.select("node", "port", "active", "probes"))
    return Samples(table["active"].to_numpy().astype(float), table["probes"].to_numpy())


def _in_progress(source: Source, run: RunFiles) -> Lines:
    """Return the number of flows that have started and not ended, at regular times."""
    times = _times(source, run)
    return Lines(times, {"": _flows_at(source, run, times)})


def _fair_share_change(source: Source, run: RunFiles) -> Samples:
    """Return the relative change of the fair share of a link within an interval."""
    times = _times(source, run)
    times = times[times + source.interval_ps <= window_of(source, run)[1]]
    before = _flows_at(source, run, times)
    after = _flows_at(source, run, times + source.interval_ps)
    some = (before > 0) & (after > 0)
    return Samples(np.abs(before[some] / after[some] - 1))


def _times(source: Source, run: RunFiles) -> Array:
    every = source.bin_ps or 1e6
    low, high = window_of(source, run)
    return np.arange(math.ceil(low / every), math.floor(high / every) + 1) * every


def _flows_at(source: Source, run: RunFiles, times: Array) -> Array:
    import polars as pl

    flows = run.table("flows")
    if source.traffic:
        flows = flows.filter(pl.col("source").cast(pl.String).is_in(source.traffic))
    if source.sizes:
        low, high = source.sizes
        flows = flows.filter((pl.col("bytes") >= low) & (pl.col("bytes") < high))
    begun = np.sort(flows["start_ps"].to_numpy())
    ended = np.sort(flows.filter(pl.col("finished"))["received_ps"].to_numpy())
    before = np.searchsorted(begun, times, side="right")
    return (before - np.searchsorted(ended, times, side="right")).astype(float)


def _utilisation(source: Source, run: RunFiles) -> Samples:
    """Return the bytes that each port sent, divided by its capacity over the whole run."""
    import polars as pl

    ports = of_ports(
        source, run, run.table("ports").select("node", "port", "tier", "tx_bytes", "rate_bps")
    )
    if source.tiers:
        ports = ports.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    could = ports["rate_bps"].to_numpy().astype(float) * run.summary["end_ps"] / 8e12
    return Samples(ports["tx_bytes"].to_numpy() / could)


def _idle(source: Source, run: RunFiles) -> Samples:
    """Return the share of the run in which each port was idle."""
    return Samples(1 - _utilisation(source, run).values)


def _wire(source: Source, run: RunFiles) -> Samples:
    """Return the bytes that hosts sent, with headers and ACKs, per byte of payload."""
    import polars as pl

    sent = run.table("ports").filter(pl.col("tier").cast(pl.String) == run.summary["tiers"][0])
    payload = float(run.table("flows")["bytes"].sum())
    return Samples(np.array([float(sent["tx_bytes"].sum()) / payload] if payload else []))


def _collectives(source: Source, run: RunFiles) -> Samples:
    """Return the durations of collectives that have ended, or their bus bandwidths."""
    import polars as pl

    table = run.table("collectives")
    if source.traffic:
        table = table.filter(pl.col("workload").cast(pl.String).is_in(source.traffic))
    if source.of == "bus-bandwidth":
        return Samples(table["bus_bps"].drop_nulls().to_numpy())
    return Samples((table["end_ps"] - table["start_ps"]).to_numpy().astype(float))


def _summary(source: Source, run: RunFiles) -> Samples:
    found: Any = run.summary
    for part in source.key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RunError(f"{run.path}: the summary has no number `{source.key}`")
    return Samples(np.array([float(found)]))


def _deadlocks(_source: Source, run: RunFiles) -> Samples:
    """Return the time of the first deadlock of a run; no sample if there was none."""
    first = run.summary["deadlocks"][:1]
    return Samples(np.array([float(found["at_ps"]) for found in first]))


def _by_role(source: Source, run: RunFiles) -> Samples | Lines:
    from backwater_papers import by_role

    readers: dict[str, Callable[[Source, RunFiles], Samples | Lines]] = {
        "port-buffer": by_role.port_buffer,
        "port-queue": by_role.port_queue,
        "queuing-time": by_role.queuing_time,
        "sent": by_role.sent,
        "buffer-course": by_role.buffer_course,
    }
    return readers[source.of](source, run)


_READERS: dict[str, Callable[[Source, RunFiles], Samples | Lines]] = {
    "slowdown": _flows,
    "slowdown-acked": _flows,
    "fct": _flows,
    "fct-acked": _flows,
    "delay": _flows,
    "goodput": _flows,
    "rtt": _rtt,
    "queue": _queue,
    "queue-samples": _queue_samples,
    "ingress": ingress,
    "ingress-threshold": ingress_threshold,
    "queueing": _queueing,
    "control-share": _control_share,
    "buffer": _buffer,
    "throughput": _throughput,
    "active-flows": _active_flows,
    "in-progress": _in_progress,
    "fair-share-change": _fair_share_change,
    "utilisation": _utilisation,
    "idle": _idle,
    "pauses": pauses,
    "paused": paused,
    "pause-rate": pause_rate,
    "pause-frames": pause_frames,
    "pause-level": pause_levels,
    "wire": _wire,
    "summary": _summary,
    "deadlocks": _deadlocks,
    "paused-cycles": paused_cycles,
    "port-buffer": _by_role,
    "port-queue": _by_role,
    "queuing-time": _by_role,
    "sent": _by_role,
    "buffer-course": _by_role,
    "blame": _flows,
    "collective": _collectives,
    "bus-bandwidth": _collectives,
}
