"""The standard figures of this field's papers, as charts of one or several runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from backwater._base.lazy import pl
from backwater._base.units import bytes_text
from backwater.analysis.blame import COLOURS, GROUPS, is_recorded, named, slow_by_class
from backwater.plots import curves
from backwater.plots.charts import Axis, Chart, Line, Panel, Table, View
from backwater.plots.curves import STATISTICS, Array, Runs
from backwater.results.columns import LONG_BYTES, SHORT_BYTES
from backwater.results.files import RunFiles

_In = TypeVar("_In")
_Out = TypeVar("_Out")

POINTS = 260
"""Number of points at which a distribution is drawn."""

MOMENTS = 400
"""Number of points of a line over time."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Quantiles in the tables below distributions."""

SLOWEST = 25
"""Number of flows of each scheme that the page lists."""


class Flows:
    """Data about the flows of a run, each computed from ``table`` when it is first used.

    All but ``in_flight`` cover measured flows only. Flows of incasts are separate.
    """

    def __init__(self, run: RunFiles, step_ps: int) -> None:
        self.run, self.step_ps = run, step_ps
        # Single precision has seven digits, which is enough for a page and halves the time of
        # sorting.
        ended, slowdown = run.flow_ends
        self._slowdown = slowdown.cast(pl.Float32)
        columns = "bytes", "start_ps", "received_ps", "incast", "finished"
        self.table = run.select_flows([*columns, ended, self._slowdown])

    @cached_property
    def in_flight(self) -> Array:
        """Number of flows in flight after each step of the run."""
        return _in_flight(self.run, self.table, self.step_ps)

    @cached_property
    def by_size(self) -> curves.BySize:
        """Slowdowns of flows outside incasts, by size."""
        rest = _measured(self.run, self.table, ~pl.col("incast"))
        return curves.by_size(rest["bytes"].to_numpy(), rest["slowdown"].to_numpy())

    @cached_property
    def _incast(self) -> pl.DataFrame:
        return _measured(self.run, self.table, "incast")

    @cached_property
    def incast_fct_us(self) -> Array:
        """Completion times of incast flows in µs, sorted."""
        fct_ps = (self._incast["ended_ps"] - self._incast["start_ps"]).to_numpy()
        return np.sort(fct_ps / 1e6)

    @cached_property
    def classes(self) -> dict[str, Array]:
        """Sorted slowdowns by class of flows."""
        return _classes(self.by_size, self._incast["slowdown"].to_numpy())

    @cached_property
    def slowest(self) -> list[dict[str, Any]]:
        """The flows with the largest slowdown, the slowest first."""
        worst = [self.classes[name][-SLOWEST:] for name in ("all but incasts", "incast")]
        least = np.sort(np.concatenate(worst))[-SLOWEST:]
        if not len(least):
            return []
        about = "id", "source", "src", "dst", "bytes", "start_ps"
        found = self._slowdown >= float(least[0])
        slow = self.run.measured_flows([*about, *self.run.flow_ends], found)
        return slow.sort("slowdown", "id", descending=[True, False]).head(SLOWEST).to_dicts()


ALL = ("in_flight", "by_size", "incast_fct_us", "classes", "slowest")
"""The data that a report needs."""


def _measured(run: RunFiles, flows: pl.DataFrame, of: str | pl.Expr) -> pl.DataFrame:
    first = run.summary["measure_from_ps"]
    return flows.filter(pl.col("finished") & (pl.col("start_ps") >= first), of)


def _in_flight(run: RunFiles, flows: pl.DataFrame, step_ps: int) -> Array:
    steps = _steps(run, step_ps)

    def after_steps(times: Array) -> Array:
        return np.bincount(times // step_ps, minlength=steps)[:steps].cumsum()

    ended = flows["received_ps"].drop_nulls().to_numpy()
    return after_steps(flows["start_ps"].to_numpy()) - after_steps(ended)


def _classes(flows: curves.BySize, incast: Array) -> dict[str, Array]:
    limits = np.searchsorted(flows.sizes, [SHORT_BYTES, LONG_BYTES], side="right")
    parts = [np.sort(part) for part in np.split(flows.values, limits)]
    # Merging sorted parts is faster than sorting all of them.
    everything = np.sort(np.concatenate(parts), kind="stable")
    names = ("short, up to 10 KB", "medium", "long, above 1 MB")
    sizes = dict(zip(names, parts, strict=True))
    return {"all but incasts": everything, **sizes, "incast": np.sort(incast)}


def read(runs: Runs, parts: Sequence[str] = ALL) -> dict[str, Flows]:
    """Read the flows of several runs in parallel, because sorting them takes most of the time.

    ``parts`` are the attributes of :class:`Flows` to compute now.
    """
    step_ps = _step_ps(runs)

    def one(run: RunFiles) -> Flows:
        flows = Flows(run, step_ps)
        for part in parts:
            getattr(flows, part)
        del flows.table  # It is large.
        return flows

    return _at_once(one, runs)


@dataclass(frozen=True)
class Pooled:
    """Flows of several runs that differ only in their seed."""

    run: RunFiles
    """One of the pooled runs."""

    by_size: curves.BySize


def pooled(flows: Mapping[str, Flows], groups: Mapping[str, str]) -> dict[str, Pooled]:
    """Join the flows of all runs of the same group. ``groups`` maps names of runs to groups."""
    parts: dict[str, list[Flows]] = {}
    for name, one in flows.items():
        parts.setdefault(groups.get(name, name), []).append(one)
    return {
        group: Pooled(
            several[0].run,
            curves.by_size(
                np.concatenate([one.by_size.sizes for one in several]),
                np.concatenate([one.by_size.values for one in several]),
            ),
        )
        for group, several in parts.items()
    }


def _step_ps(runs: Runs) -> int:
    """Return the time step, in ps, for lines over time, which all runs share."""
    end_ps = max(int(run.summary["end_ps"]) for run in runs.values())
    return max(-(-end_ps // MOMENTS), 1)


def _steps(run: RunFiles, step_ps: int) -> int:
    return max(-(-int(run.summary["end_ps"]) // step_ps), 1)


def _at_once(work: Callable[[_In], _Out], items: Mapping[str, _In]) -> dict[str, _Out]:
    """Apply a function to two items at a time. More items would need too much memory."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(items, pool.map(work, items.values()), strict=True))


def charts(runs: Runs, flows: Mapping[str, Flows]) -> list[Chart]:
    """Return all figures about flows, switches and links, including empty ones."""
    recorded = [chart for chart in [blame(runs)] if chart.views]
    of_finished = [slowdown(flows), classes(flows), *recorded, incast(flows)]
    cut = _cut(runs)
    return [
        *(replace(chart, caption=chart.caption + cut) for chart in of_finished),
        buffer(runs),
        timeline(runs, flows),
        pauses(runs),
        active(runs),
    ]


def _cut(runs: Runs) -> str:
    """Return a sentence about flows that the figures omit because the run ended before them."""
    counts = {name: run.summary["flows"] for name, run in runs.items()}
    left_out = [
        f"{of['unfinished']:,} of {of['started']:,} with {name}"
        for name, of in counts.items()
        if of["unfinished"]
    ]
    if not left_out:
        return ""
    return (
        f" Flows that had not finished when their run ended are not in it: {'; '.join(left_out)}."
    )


def _until(flows: Mapping[str, Flows] | Mapping[str, Pooled]) -> str:
    return curves.until(one.run.fct_until for one in flows.values())


def slowdown(flows: Mapping[str, Flows] | Mapping[str, Pooled]) -> Chart:
    """Return the chart of FCT slowdown against flow size, for flows outside incasts.

    It has several statistics.
    """
    edges = curves.equal_count_edges([one.by_size for one in flows.values()])
    found: dict[str, list[Line]] = {statistic: [] for statistic in STATISTICS}
    cells: dict[int, dict[str, str]] = {}

    def in_bins(one: curves.BySize) -> list[tuple[float, dict[str, float]]]:
        return [
            (size, {statistic: take(values) for statistic, take in STATISTICS.items()})
            for size, values in curves.in_bins(one, edges)
        ]

    for name, bins in _at_once(in_bins, {n: one.by_size for n, one in flows.items()}).items():
        for statistic, lines in found.items():
            lines.append(Line(name, [size for size, _ in bins], [of[statistic] for _, of in bins]))
        for size, of in bins:
            at = cells.setdefault(int(np.searchsorted(edges, size)), {})
            at[name] = f"{of['median']:.4g}, {of['99th percentile']:.4g}"

    def panel(statistic: str, highest: float) -> Panel:
        y = Axis("FCT slowdown", "log", start=1, end=max(2.0, highest * 1.1))
        return Panel(statistic, Axis("flow size", "log", "bytes"), y, found[statistic])

    def top(statistics: Sequence[str]) -> float:
        return max(max(line.y) for s in statistics for line in found[s] if len(line.y))

    usual = ("average", "95th percentile", "99th percentile")
    views = []
    if len(edges) > 1:
        together = View("average, 95th and 99th", [panel(s, top(usual)) for s in usual])
        views = [together, *(View(s, [panel(s, top([s]))]) for s in STATISTICS)]
    return Chart(
        "slowdown",
        "FCT slowdown against flow size",
        f"Time of a flow from its start {_until(flows)}, divided by that of the same flow alone in "
        "the network (base headers, no INT). Each point stands for a bin of flow sizes with about "
        "the same number of flows, of which the last is split further. Flows of an incast are left "
        "out.",
        views=views,
        choice="Percentile",
        table=Table(
            ("flows up to", *(f"{name}: median, p99" for name in flows)),
            [
                [bytes_text(edges[i]), *(cells[i].get(name, "–") for name in flows)]
                for i in sorted(cells)
            ],
        ),
        nothing="No flow outside an incast finished in the measured time.",
    )


def classes(flows: Mapping[str, Flows]) -> Chart:
    """Return the chart of the distribution of the slowdown of each class of flows."""
    found: dict[str, list[Line]] = {}
    quantiles: dict[str, dict[str, Array]] = {}
    for name, one in flows.items():
        for label, values in one.classes.items():
            found.setdefault(label, []).append(Line(name, *_distribution(values)))
            quantiles.setdefault(label, {})[name] = values
    views = [
        View(label, [Panel("", Axis("FCT slowdown", "log"), _share_axis(lines, "flows"), lines)])
        for label, lines in found.items()
        if any(len(line.x) for line in lines)
    ]
    return Chart(
        "classes",
        "Slowdown by class of flows",
        "Share of flows whose FCT slowdown is at most this.",
        "step",
        views,
        "Size class",
        _quantile_table(
            {(v.label, name): quantiles[v.label][name] for v in views for name in flows},
            ("size class", "scheme"),
            lambda v: f"{v:.4g}",
        ),
        "No flow finished in the measured time.",
    )


def incast(flows: Mapping[str, Flows]) -> Chart:
    """Return the chart of the distribution of the completion times of incast flows."""
    samples = {name: one.incast_fct_us for name, one in flows.items()}
    lines = [Line(name, *_distribution(values)) for name, values in samples.items() if len(values)]
    x = Axis("FCT of an incast flow (µs)", "log", "µs")
    return Chart(
        "incast",
        "Completion of incast flows",
        f"From the start of a flow {_until(flows)}.",
        "step",
        [View("", [Panel("", x, _share_axis(lines, "incast flows"), lines)])] if lines else [],
        table=_quantile_table(samples, ("scheme",), lambda v: f"{v:.4g} µs"),
        nothing="No flow of an incast finished in the measured time, or the scenario has none.",
    )


def buffer(runs: Runs) -> Chart:
    """Return the chart of the distribution of switches' buffer occupancy, for each tier.

    The distribution is over all switches of the tier and all probes.
    """
    samples = {
        (tier, name): np.sort(values)
        for tier, by_run in curves.buffer_samples(runs).items()
        for name, values in by_run.items()
    }
    panels = []
    for tier in dict.fromkeys(tier for tier, _ in samples):
        lines = [Line(name, *_distribution(samples[tier, name] / 1e6)) for name in runs]
        x = Axis("buffer occupancy of a switch (MB)", unit="MB", start=0)
        panels.append(Panel(f"{curves.switch_of(tier)}es", x, _share_axis(lines, "probes"), lines))
    return Chart(
        "buffer",
        "Buffer occupancy",
        "Bytes in the shared buffer of a switch, over all probes of the measured time.",
        "step",
        [View("", panels)] if panels else [],
        table=_quantile_table(samples, ("tier", "scheme"), bytes_text),
        nothing="No buffer was probed in the measured time.",
    )


def timeline(runs: Runs, flows: Mapping[str, Flows]) -> Chart:
    """Return the chart of flows in flight, active pauses and the fullest switches over time.

    It has the fullest switch of each tier.
    """
    step_ps = _step_ps(runs)
    end_ps = max(run.summary["end_ps"] for run in runs.values())
    panels: dict[str, Panel] = {}
    rows = []
    x = Axis("time (ms)", unit="ms", start=0, end=end_ps / 1e9)
    for name, run in runs.items():
        courses = _courses(run, flows[name].in_flight, step_ps)
        for title, (y, at_ms, values) in courses.items():
            lines = panels.setdefault(title, Panel(title, x, y, [])).lines
            panels[title] = Panel(title, x, y, [*lines, Line(name, at_ms, values)])
            most = int(values.argmax())
            rows.append([title, name, f"{values[most]:.4g} {y.unit}", f"{at_ms[most]:.4g} ms"])
    shown = [p for p in panels.values() if any(np.any(line.y) for line in p.lines)]
    return Chart(
        "timeline",
        "The run over time",
        "Flows that have started and whose last byte has not arrived; pauses of PFC in force (a "
        "port and class each); and the fullest switch of a tier, as probes saw it. Over the whole "
        "run, with the time after the last arrival in which what is left is sent.",
        views=[View("", shown)] if shown else [],
        table=Table(("", "scheme", "most", "first at"), rows),
        nothing="Nothing happened.",
        column=True,
    )


_Course = tuple[Axis, Array, Array]
"""A quantity over time: its axis, times in milliseconds, and values."""


def _courses(run: RunFiles, in_flight: Array, step_ps: int) -> dict[str, _Course]:
    """Return the quantities over time of a run, in steps of this length."""
    steps = _steps(run, step_ps)
    ends_ms = np.arange(1, steps + 1) * step_ps / 1e9
    found: dict[str, _Course] = {"flows under way": (Axis("flows", start=0), ends_ms, in_flight)}
    held = run.table("pauses").select(pl.col("from_ps", "to_ps").cast(pl.Int64))
    pieces = curves.divided(held["from_ps"].to_numpy(), held["to_ps"].to_numpy(), steps, step_ps)
    in_force = np.bincount(pieces.frame, pieces.share, steps)
    found["pauses of PFC"] = (Axis("in force", start=0), ends_ms, in_force)
    probed = (
        run.table("queues")
        .group_by(pl.col("tier").cast(pl.String), pl.col("at_ps") // step_ps * step_ps)
        .agg(pl.col("used_bytes").max())
        .sort("at_ps")
        .partition_by("tier", as_dict=True)
    )
    for tier in run.summary["tiers"]:
        if (tier,) in probed:
            table = probed[(tier,)]
            y = Axis("MB", unit="MB", start=0)
            used = table["used_bytes"].to_numpy() / 1e6
            found[f"fullest {curves.switch_of(tier)}"] = (y, table["at_ps"].to_numpy() / 1e9, used)
    return found


def pauses(runs: Runs) -> Chart:
    """Return the chart of the fraction of time during which PFC paused links.

    The fraction is a mean over the links of a tier and direction.
    """
    groups, shares = curves.pause_groups(runs)
    any_pause = any(value for by_group in shares.values() for value in by_group.values())
    names = [f"{a} → {b}" for a, b in groups]
    lines = [
        Line(name, list(range(len(groups))), [by_group.get(g, 0.0) for g in groups])
        for name, by_group in shares.items()
    ]
    x = Axis("links, from the port that has to wait", ticks=list(enumerate(names)))
    y = Axis("share of time paused by PFC", unit="share", start=0)
    return Chart(
        "pauses",
        "Time paused by PFC",
        "Share of the run during which PFC paused ports, by the tier that has to wait and the tier "
        "it sends to.",
        "bars",
        [View("", [Panel("", x, y, lines)])] if any_pause else [],
        table=Table(
            ("links", *shares),
            [
                [words, *(f"{by.get(group, 0.0):.2%}" for by in shares.values())]
                for words, group in zip(names, groups, strict=True)
            ],
        ),
        nothing="PFC paused no port in any of these runs.",
    )


def active(runs: Runs) -> Chart:
    """Return the chart of the distribution of the number of active flows at a switch port.

    It is weighted by time.
    """
    found = {name: curves.active_flows(run) for name, run in runs.items()}
    lines = [Line(name, *curves.thinned(*xy, POINTS)) for name, xy in found.items() if len(xy[0])]
    x = Axis("active flows at a switch port (with at least one packet queued)", "log1p")
    rows = [
        [name, *(f"{at[np.searchsorted(share, s * (1 - 1e-12))]:g}" for s in SHARES)]
        for name, (at, share) in found.items()
        if len(at)
    ]
    return Chart(
        "active",
        "Active flows per port",
        "Flows with at least one packet queued at a switch port, over all probes.",
        "step",
        [View("", [Panel("", x, _share_axis(lines, "probes"), lines)])] if lines else [],
        table=Table(("scheme", *_share_names()), rows),
        nothing="No switch port was probed.",
    )


def blame(runs: Runs, percentile: float = 99) -> Chart:
    """Return the chart of the mean delay breakdown of the flows in the tail of each class.

    The tail begins at ``percentile`` of the slowdown of the class.
    """
    recorded = {name: run for name, run in runs.items() if is_recorded(run)}
    found = slow_by_class(recorded, percentile)
    parts = named(found)
    panels = [_spent(f"{size_class} flows", rows, parts) for size_class, rows in found.items()]
    views = [View(panel.title, [panel]) for panel in panels]
    if len(views) > 1:
        views.insert(0, View("all", panels))
    table = [
        [f"{size_class} flows", name, f"{row['fct_ps'] / 1e6:.4g} µs"]
        + [f"{row[g] / 1e6:.4g}" for g in GROUPS]
        for size_class, rows in found.items()
        for name, row in rows.items()
    ]
    nothing = "No flow finished in the measured time."
    if not recorded:
        nothing = "No run recorded where time went: add [record] blame = {}."
    return Chart(
        "blame",
        "Where the slow flows' time went",
        f"Flows at or above the {percentile:g}th percentile of the slowdown of their class: what "
        "their time to the last byte at the receiver consisted of, on average. The parts of a bar "
        "add up to the mean time of these flows.",
        "stack",
        views,
        "Size class",
        Table(("flows", "scheme", "mean time", *(f"{g} (µs)" for g in GROUPS)), table),
        nothing,
    )


def _spent(title: str, rows: Mapping[str, Mapping[str, float]], named: Sequence[str]) -> Panel:
    """Return a panel of stacked bars: the delay breakdown of the slow flows of a class, by scheme.

    The groups in ``named`` have their own parts. All others are one part, "the rest".
    """
    places = list(range(len(rows)))
    us = {group: np.array([row[group] / 1e6 for row in rows.values()]) for group in COLOURS}
    lines = [Line(group, places, us[group], colour=COLOURS[group]) for group in named]
    rest = np.sum([spent for group, spent in us.items() if group not in named], axis=0)
    lines.append(Line("the rest", places, rest, colour="#e4e8ed"))
    x = Axis("scheme", ticks=list(enumerate(rows)))
    return Panel(title, x, Axis("mean time of slow flows (µs)", unit="µs", start=0), lines)


def _distribution(ordered: Array) -> tuple[Array, Array]:
    """Return points of a distribution from sorted values, with more points in the tail."""
    n = len(ordered)
    if not n:
        return np.array([]), np.array([])
    shares = np.concatenate([np.linspace(0, 1, POINTS), 1 - np.logspace(-2, -6, 40)])
    x = np.unique(ordered[np.ceil(shares * n).astype(int).clip(1, n) - 1])
    return x, np.searchsorted(ordered, x, side="right") / n


def _share_axis(lines: Sequence[Line], of: str) -> Axis:
    """Return an axis of shares.

    It starts at one half if more than about half of each distribution is at its first value.
    """
    first = min((float(line.y[0]) for line in lines if len(line.y)), default=0.0)
    start = 0.5 if first > 0.55 else 0.0
    return Axis(f"share of {of}", unit="share", start=start, end=1 + 0.02 * (1 - start))


def _share_names() -> list[str]:
    return ["max" if share == 1 else f"p{100 * share:g}" for share in SHARES]


def _quantile_table(
    samples: Mapping[Any, Array], keys: Sequence[str], words: Callable[[float], str]
) -> Table:
    """Return a table with the quantiles of sorted samples, one row per sample."""
    rows = []
    for key, ordered in samples.items():
        if len(ordered):
            named = [key] if isinstance(key, str) else list(key)
            values = [words(curves.nearest_rank(share)(ordered)) for share in SHARES]
            rows.append([*named, *values])
    return Table((*keys, *_share_names()), rows)
