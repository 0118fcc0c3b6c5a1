"""The figures of a report about runs, as charts of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from backwater import curves
from backwater.curves import STATISTICS, Array, Runs
from backwater.page.charts import Axis, Chart, Line, Panel, Table, View
from backwater.units import bytes_text

if TYPE_CHECKING:
    from backwater.results import Run

POINTS = 260
"""Points of a distribution; more lie where few values do."""

MOMENTS = 400
"""Points of a line over time, each the largest value of its part."""

SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Quantiles of the tables below distributions."""

SMALL, LARGE = 10_000, 1_000_000
"""Flows of at most the first are short, of more than the second long, bytes: as in summaries."""


class Flows:
    """What figures need of a run's measured flows, read once: those of incasts stand apart."""

    def __init__(self, run: Run) -> None:
        import polars as pl

        fct = (pl.col("received_ps") - pl.col("start_ps")).alias("fct_ps")
        table = run.measured_flows(["bytes", "slowdown", "incast", fct])
        rest = table.filter(~pl.col("incast"))
        incast = table.filter(pl.col("incast"))
        self.sizes: Array = rest["bytes"].to_numpy()
        self.slowdowns: Array = rest["slowdown"].to_numpy()
        self.incast_slowdowns: Array = np.sort(incast["slowdown"].to_numpy())
        self.incast_fct_us: Array = np.sort(incast["fct_ps"].to_numpy() / 1e6)

    def least_of_worst(self, number: int) -> float:
        """Return the slowdown that only about this many flows exceed."""
        together = np.concatenate([self.slowdowns, self.incast_slowdowns[-number:]])
        at = len(together) - min(number, len(together))
        return float(np.partition(together, at)[at]) if len(together) else 0.0

    def classes(self) -> dict[str, Array]:
        """Return the sorted slowdowns of each class of flows, by its name."""
        parts = [
            np.sort(self.slowdowns[chosen])
            for chosen in (
                self.sizes <= SMALL,
                (self.sizes > SMALL) & (self.sizes <= LARGE),
                self.sizes > LARGE,
            )
        ]
        # Merging sorted parts is quicker than sorting all of them.
        everything = np.sort(np.concatenate(parts), kind="stable")
        names = ("short, up to 10 KB", "medium", "long, above 1 MB")
        return {
            "all but incasts": everything,
            **dict(zip(names, parts, strict=True)),
            "incast": self.incast_slowdowns,
        }


def charts(runs: Runs, flows: Mapping[str, Flows]) -> list[Chart]:
    """Return all figures, those with nothing to show among them."""
    return [
        slowdown(flows),
        classes(flows),
        incast(flows),
        buffer(runs),
        buffer_over_time(runs),
        pauses(runs),
        active(runs),
        *blame(runs),
    ]


def slowdown(flows: Mapping[str, Flows]) -> Chart:
    """FCT slowdown against flow size, by several statistics; incast flows excluded."""
    edges = curves.equal_count_edges([one.sizes for one in flows.values()])
    found: dict[str, list[Line]] = {statistic: [] for statistic in STATISTICS}
    cells: dict[int, dict[str, str]] = {}
    for name, one in flows.items():
        bins = curves.in_bins(one.sizes, one.slowdowns, edges) if len(edges) > 1 else []
        x = [size for size, _ in bins]
        for statistic, take in STATISTICS.items():
            found[statistic].append(Line(name, x, [take(values) for _, values in bins]))
        for size, values in bins:
            middle, tail = (STATISTICS[s](values) for s in ("median", "99th percentile"))
            at = cells.setdefault(int(np.searchsorted(edges, size)), {})
            at[name] = f"{middle:.4g}, {tail:.4g}"

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
        "FCT to the receiver's last byte, divided by the FCT of the same flow alone in the network "
        "(base headers, no INT). Each point stands for a bin of flow sizes with about the same "
        "number of flows, of which the last is split further. Flows of an incast are left out.",
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
    """Distribution of the slowdown of each class of flows."""
    found: dict[str, list[Line]] = {}
    quantiles: dict[str, dict[str, Array]] = {}
    for name, one in flows.items():
        for label, values in one.classes().items():
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
    """Distribution of the completion times of incast flows."""
    samples = {name: one.incast_fct_us for name, one in flows.items()}
    lines = [Line(name, *_distribution(values)) for name, values in samples.items() if len(values)]
    x = Axis("FCT of an incast flow, to its last byte (µs)", "log", "µs")
    return Chart(
        "incast",
        "Completion of incast flows",
        "From the start of a flow to its last byte at the receiver.",
        "step",
        [View("", [Panel("", x, _share_axis(lines, "incast flows"), lines)])] if lines else [],
        table=_quantile_table(samples, ("scheme",), lambda v: f"{v:.4g} µs"),
        nothing="No flow of an incast finished: the scenario has none.",
    )


def buffer(runs: Runs) -> Chart:
    """Distribution of the switches' buffer occupancy over probes, tiers apart."""
    tiers = curves.tiers_probed(runs)
    samples = {
        (tier, name): np.sort(curves.buffer_samples(run, tier))
        for tier in tiers
        for name, run in runs.items()
    }
    panels = []
    for tier in tiers:
        lines = [Line(name, *_distribution(samples[tier, name] / 1e6)) for name in runs]
        x = Axis("buffer occupancy of a switch (MB)", unit="MB", start=0)
        panels.append(Panel(f"{tier} switches", x, _share_axis(lines, "probes"), lines))
    return Chart(
        "buffer",
        "Buffer occupancy",
        "Bytes in the shared buffer of a switch, over all probes of the measured time.",
        "step",
        [View("", panels)] if panels else [],
        table=_quantile_table(samples, ("tier", "scheme"), bytes_text),
        nothing="No buffer was probed in the measured time.",
    )


def buffer_over_time(runs: Runs) -> Chart:
    """Bytes in the fullest switch of each tier over time."""
    import polars as pl

    end_ps = max(run.summary["end_ps"] for run in runs.values())
    step_ps = max(-(-end_ps // MOMENTS), 1)
    found: dict[str, list[Line]] = {}
    rows = []
    for name, run in runs.items():
        for tier in run.summary["tiers"]:
            table = (
                run.queues.filter(pl.col("tier").cast(pl.String) == tier)
                .group_by(pl.col("at_ps") // step_ps * step_ps)
                .agg(pl.col("used_bytes").max())
                .sort("at_ps")
            )
            if not table.height:
                continue
            at, used = table["at_ps"].to_numpy() / 1e9, table["used_bytes"].to_numpy()
            found.setdefault(tier, []).append(Line(name, at, used / 1e6))
            most = int(used.argmax())
            rows.append([tier, name, bytes_text(used[most]), f"{at[most]:.4g} ms"])
    x, y = Axis("time (ms)", unit="ms", start=0), Axis("fullest switch (MB)", unit="MB", start=0)
    panels = [Panel(f"{tier} switches", x, y, lines) for tier, lines in found.items()]
    return Chart(
        "buffer-over-time",
        "Buffer occupancy over time",
        "The fullest switch of a tier; over the whole run, with the time after the last arrival "
        "in which what is left is sent.",
        views=[View("", panels)] if panels else [],
        table=Table(("tier", "scheme", "most", "first at"), rows),
        nothing="No buffer was probed.",
    )


def pauses(runs: Runs) -> Chart:
    """Fraction of port-time during which PFC paused the links, by tier and direction."""
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
        "Share of the run during which ports were held by PFC, by the tier that has to wait and "
        "the tier it sends to.",
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
    """Distribution of the number of active flows at a switch port, weighted by time."""
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


def blame(runs: Runs) -> list[Chart]:
    """Where the time of slow flows went, by class; no chart where no run recorded it."""
    from backwater.blame import CLASSES, GROUPS, is_recorded, slow

    slows = {name: slow(run) for name, run in runs.items() if is_recorded(run)}
    rows = {
        (row["size_class"], name): row
        for name, table in slows.items()
        for row in table.iter_rows(named=True)
    }
    views = []
    for size_class in CLASSES:
        found = {name: rows[size_class, name] for name in slows if (size_class, name) in rows}
        groups = [
            g for g in GROUPS if any(row[g] >= 0.005 * row["fct_ps"] for row in found.values())
        ]
        lines = [
            Line(name, list(range(len(groups))), [row[g] / 1e6 for g in groups])
            for name, row in found.items()
        ]
        x = Axis("what their time went to", ticks=list(enumerate(groups)))
        y = Axis("mean time of slow flows (µs)", unit="µs", start=0)
        if groups:
            views.append(View(f"{size_class} flows", [Panel("", x, y, lines)]))
    table = [
        [f"{size_class} flows", name, f"{row['fct_ps'] / 1e6:.4g} µs"]
        + [f"{row[g] / 1e6:.4g}" for g in GROUPS]
        for (size_class, name), row in sorted(rows.items(), key=lambda at: CLASSES.index(at[0][0]))
    ]
    chart = Chart(
        "blame",
        "Where the slow flows' time went",
        "Flows at or above the 99th percentile of the slowdown of their class: what their "
        "completion time consisted of, on average. The parts of a scheme add up to its mean time.",
        "bars",
        views,
        "Size class",
        Table(("flows", "scheme", "mean time", *(f"{g} (µs)" for g in GROUPS)), table),
        "No flow finished in the measured time.",
    )
    return [chart] if slows else []


def _distribution(ordered: Array) -> tuple[Array, Array]:
    """Points of a distribution from sorted values: evenly spaced shares, and more in the tail."""
    n = len(ordered)
    if not n:
        return np.array([]), np.array([])
    shares = np.concatenate([np.linspace(0, 1, POINTS), 1 - np.logspace(-2, -6, 40)])
    x = np.unique(ordered[np.ceil(shares * n).astype(int).clip(1, n) - 1])
    return x, np.searchsorted(ordered, x, side="right") / n


def _share_axis(lines: Sequence[Line], of: str) -> Axis:
    """Return an axis of shares, of the upper half where most of each lies at its first value."""
    first = min((float(line.y[0]) for line in lines if len(line.y)), default=0.0)
    start = 0.5 if first > 0.55 else 0.0
    return Axis(f"share of {of}", unit="share", start=start, end=1 + 0.02 * (1 - start))


def _share_names() -> list[str]:
    return ["max" if share == 1 else f"p{100 * share:g}" for share in SHARES]


def _quantile_table(
    samples: Mapping[Any, Array], keys: Sequence[str], words: Callable[[float], str]
) -> Table:
    """Return the quantiles of sorted samples, a row for each."""
    rows = []
    for key, ordered in samples.items():
        if len(ordered):
            named = [key] if isinstance(key, str) else list(key)
            values = [words(curves.nearest_rank(share)(ordered)) for share in SHARES]
            rows.append([*named, *values])
    return Table((*keys, *_share_names()), rows)
