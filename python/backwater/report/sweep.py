"""The page about many runs: a summary, a ranking, figures over each axis, and all values."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backwater._base import quantity
from backwater.errors import RunError
from backwater.plots.charts import Axis, Chart, Line, Panel, Scale, View
from backwater.plots.curves import styles
from backwater.report import facts
from backwater.report.charts import LONG, chart_html
from backwater.report.document import document, header, not_modelled
from backwater.results import statistics
from backwater.results.columns import Column, column
from backwater.results.ranking import Ranked, Ranking, rank, sentence
from backwater.results.results import Group, Results

METRICS = (
    *("workload.time", "workload.bus", "workload.exposed", "workload.collective.max"),
    *("fct.short.p99", "fct.medium.p99", "fct.long.p50", "fct.long.p99", "fct.incast.time.p99"),
    *("buffer.p99", "pfc.time", "drops", "unfinished", "core.wire", "run.stalled"),
)
"""Columns with figures and tables, if they have values."""

MAX_ROWS, MAX_FAILURES, TOP = 200, 50, 20
MAX_PANELS = 4
_TICKS = 9
_LOG_X, _LOG_Y = 20, 30
"""A scale is logarithmic if the ratio of its largest to its smallest value exceeds this limit."""


def render(
    results: Results,
    minimize: str | None = None,
    maximize: str | None = None,
    subject_to: Sequence[str] = (),
) -> str:
    """Return the page as HTML."""
    if not results.rows:
        raise RunError(f"{results.path}: no run is finished, so there is nothing to report on")
    ranking = rank(results, minimize, maximize, subject_to)
    metrics = _metrics(results, ranking)
    drawn = _figures(results, metrics)
    schemes = results.schemes
    sections = [
        _header(results),
        _answer(results, ranking),
        _notices(results),
        *(chart_html(chart) for chart in drawn),
        _values(results, metrics),
        _repeat(results),
        f"<footer>{_not_modelled(results)}"
        f"<p>Backwater {html.escape(str(results.about.get('version', '')))}</p></footer>",
    ]
    return document(results.name, sections, schemes, drawn)


def _metrics(results: Results, ranking: Ranking | None) -> list[Column]:
    """Return the columns to show: the objective first, then those with values."""
    found = [ranking.column] if ranking else []
    for one in map(column, METRICS):
        values = [row[one.name] for row in results.rows.values() if one.name in row]
        if (any(values) if one.quiet else values) and one not in found:
            found.append(one)
    return found


# --- The first screen ------------------------------------------------------------------------


def _header(results: Results) -> str:
    first = next(point.key for point in results.points if point.key in results.rows)
    counts = results.counts
    runs = f"{counts['done']:,} of {sum(counts.values()):,}"
    lines = [
        ("runs", runs),
        ("schemes", ", ".join(results.schemes)),
        ("varied", ", ".join(results.keys) or "schemes and seeds"),
        ("seeds", facts.seeds(results.seeds)),
    ]
    several = {"scenario", "results"} & set(results.keys)
    if not several:
        lines += facts.of_run(results.files(first), results)
    return header("Backwater", results.name, lines)


def _answer(results: Results, ranking: Ranking | None) -> str:
    """Return the summary sentence, and the best combinations with intervals."""
    if ranking is None:
        return ""
    one = ranking.column
    goal = f"{'highest' if ranking.higher else 'lowest'} first"
    several = len(results.schemes) > 1
    heads = [one.heading, *results.keys, *(["scheme"] if several else []), "seeds"]
    if ranking.constraints:
        heads.append("breaks")
    rows = []
    for place, row in enumerate(ranking.rows[:TOP]):
        schemes = [row.scheme] if several else []
        cells = [_estimated(one, row), *map(str, row.values), *schemes, str(row.interval.count)]
        if ranking.constraints:
            cells.append(", ".join(row.broken) or "nothing")
        best = " class=best" if place == 0 and ranking.decided and not row.broken else ""
        texts = "".join(f"<td{best}>{html.escape(cell)}</td>" for cell in cells)
        name = html.escape(row.scheme)
        rows.append(f'<tr data-scheme="{name}"><th scope="row">{place + 1}</th>{texts}</tr>')
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("", *heads))
    rest = len(ranking.rows) - TOP
    more = f" {rest:,} more combinations are in the tables below." if rest > 0 else ""
    bold = " Bold: the seeds decide the winner." if ranking.decided else ""
    return (
        f'<section id="answer"><h2>Result</h2><p>{html.escape(sentence(results, ranking))}</p>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Ranking">'
        f'<table class="values sort"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="note">{html.escape(one.about)} Ranked by the mean over seeds, {goal}, with '
        f"95 % intervals.{bold}{more} Another ranking: <code>backwater report DIR "
        "--minimize COLUMN --subject-to pfc.time=0</code>.</p></section>"
    )


def _estimated(one: Column, row: Ranked) -> str:
    scale = one.shown[1]
    found = row.interval
    text = f"{found.estimate / scale:.4g}"
    if found.low is not None and found.high is not None:
        text += f" [{found.low / scale:.4g}, {found.high / scale:.4g}]"
    return text


def _notices(results: Results) -> str:
    lines = [
        f"<b>{failure.kind}</b>: {html.escape(failure.message)}"
        f"<br><code>{html.escape(failure.command)}</code>"
        for failure in list(results.failed.values())[:MAX_FAILURES]
    ]
    if len(results.failed) > MAX_FAILURES:
        lines.append(f"… and {len(results.failed) - MAX_FAILURES:,} more runs failed.")
    lines += [
        f"A check was violated: <code>{html.escape(point.command)}</code>"
        for point in results.violated[:MAX_FAILURES]
    ]
    missing = results.counts["missing"] + results.counts["partial"]
    if missing:
        lines.append(f"{missing:,} runs are missing: the results are not complete.")
    items = [f'<li class="bad">{line}</li>' for line in lines]
    items += [_skipped(results)] if results.about.get("skipped") else []
    notes = results.about.get("notes", ())
    items += [f'<li class="doubt">{html.escape(note)}</li>' for note in notes]
    if results.stalled:
        items.append(
            f'<li class="doubt">{len(results.stalled):,} runs came to a standstill; their values '
            "are of the time before.</li>"
        )
    if not items:
        return ""
    return f'<section class="notices"><h2>Warnings</h2><ul>{"".join(items)}</ul></section>'


def _skipped(results: Results) -> str:
    skipped = results.about["skipped"]
    rows = "".join(
        "<li>"
        + html.escape(
            ", ".join(
                [*(f"{k} = {v}" for k, v in one["values"].items())]
                + ([one["scheme"]] if one["scheme"] else [])
            )
        )
        + f": {html.escape(one['why'])}</li>"
        for one in skipped[:MAX_ROWS]
    )
    return (
        f'<li class="doubt"><details><summary>{len(skipped):,} invalid combinations were skipped'
        f"</summary><ul>{rows}</ul></details></li>"
    )


# --- Figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Along:
    """An axis of the sweep: one key, or several that change together."""

    indices: tuple[int, ...]
    label: str
    steps: tuple[Group, ...]

    @property
    def numbers(self) -> list[float] | None:
        """The steps as numbers; ``None`` if they are categories."""
        found = [quantity.number(step[0]) for step in self.steps]
        if None in found or len(set(found)) < len(found):
            return None
        return [number for number in found if number is not None]

    @property
    def positions(self) -> list[float]:
        """Positions of the steps on the axis."""
        return self.numbers or [float(i) for i in range(len(self.steps))]

    def text(self, step: Group) -> str:
        """Return the label of a step."""
        return ", ".join(map(str, step))


def _axes(results: Results) -> list[Along]:
    """Return the axes that have more than one step."""
    found = []
    for keys in results.about["axes"]:
        indices = tuple(results.keys.index(key) for key in keys)
        steps = tuple(dict.fromkeys(tuple(values[i] for i in indices) for values in results.groups))
        if len(steps) > 1:
            found.append(Along(indices, ", ".join(keys), steps))
    return found


def _figures(results: Results, metrics: Sequence[Column]) -> list[Chart]:
    """Return one figure per axis, with a view per metric. Two numeric axes have a heat map."""
    axes = _axes(results)
    if not axes:
        views = [View(_title(one), _side_by_side(results, one)) for one in metrics]
        return [_chart("schemes", "The schemes side by side", "points", views, "")]
    drawn = []
    numeric = [axis for axis in axes if axis.numbers]
    if len(numeric) >= 2:
        views, left_out = [], 0
        for one in metrics:
            panels, left_out = _heat(results, one, numeric[0], numeric[1])
            views.append(View(_title(one), panels))
        title = f"{numeric[0].label} and {numeric[1].label}"
        drawn.append(_chart("heat", title, "cells", views, _left_out(left_out)))
        axes = [axis for axis in axes if axis not in numeric[:2]]
    for axis in axes:
        views, left_out = [], 0
        for one in metrics:
            panels, left_out = _over(results, one, axis)
            views.append(View(_title(one), panels))
        kind = "points" if axis.numbers else "bars"
        key = f"over-{axis.label.replace(', ', '-')}"
        drawn.append(_chart(key, f"Over {axis.label}", kind, views, _left_out(left_out)))
    return drawn


def _left_out(count: int) -> str:
    return f" {count} more combinations of the other keys are in the tables below." if count else ""


def _chart(key: str, title: str, kind: Any, views: list[View], more: str) -> Chart:
    caption = "Mean over seeds; bars and bands are 95 % intervals." + more
    if kind == "cells":
        caption = "Mean over seeds; dark cells have high values, light cells low ones." + more
    return Chart(key, title, caption, kind, views, choice="Show")


def _title(one: Column) -> str:
    unit = one.shown[0]
    shown = f" ({unit})" if unit not in ("", "slowdown", "share") else ""
    return f"{one.phrase}{shown}"


def _estimate(one: Column, by_seed: dict[int, float]) -> statistics.Interval | None:
    values = list(by_seed.values())
    if one.name == "run.stalled":
        return statistics.proportion(sum(map(bool, values)), len(values))
    scale = one.shown[1]
    return statistics.mean([value / scale for value in values], least=one.least / scale)


def _y_axis(one: Column) -> Axis:
    unit = one.shown[0]
    if one.name == "run.stalled":
        return Axis("share of runs", unit="share")
    return Axis(unit or "mean over seeds", unit="" if unit == "slowdown" else unit)


def _rests(results: Results, indices: Sequence[int]) -> list[dict[int, Any]]:
    """Return all combinations of the keys that are not on an axis, by index of the key."""
    others = [i for i in range(len(results.keys)) if i not in indices]
    rests = dict.fromkeys(tuple(values[i] for i in others) for values in results.groups)
    return [dict(zip(others, rest, strict=True)) for rest in rests]


def _group(placed: dict[int, Any]) -> Group:
    return tuple(placed[i] for i in sorted(placed))


def _named(results: Results, rest: dict[int, Any]) -> str:
    return ", ".join(f"{results.keys[i]} = {value}" for i, value in rest.items())


def _over(results: Results, one: Column, along: Along) -> tuple[list[Panel], int]:
    """Return a panel per combination of the other keys, and the number of omitted combinations."""
    values = results.values(one.name)
    rests = _rests(results, along.indices)
    at = along.positions
    panels = []
    for rest in rests[:MAX_PANELS]:
        lines = []
        for scheme in results.schemes:
            found = []
            for step in along.steps:
                placed = rest | dict(zip(along.indices, step, strict=True))
                found.append(_estimate(one, values.get((_group(placed), scheme), {})))
            lines.append(_line(at, found, scheme))
        panels.append(Panel(_named(results, rest), _x_axis(along), _y_axis(one), lines))
    return _common_heights(panels, bars=along.numbers is None), len(rests) - len(panels)


def _heat(results: Results, one: Column, across: Along, up: Along) -> tuple[list[Panel], int]:
    """Return a heat map per scheme and combination of other keys, and the number left out."""
    values = results.values(one.name)
    rests = _rests(results, (*across.indices, *up.indices))
    cells: list[tuple[str, str, list[tuple[int, int, float]]]] = []
    for rest in rests:
        for scheme in results.schemes:
            found = []
            for x, step in enumerate(across.steps):
                for y, other in enumerate(up.steps):
                    placed = rest | dict(zip(across.indices, step, strict=True))
                    placed |= dict(zip(up.indices, other, strict=True))
                    mean = _estimate(one, values.get((_group(placed), scheme), {}))
                    if mean is not None:
                        found.append((x, y, mean.estimate))
            title = ", ".join(filter(None, (scheme, _named(results, rest))))
            cells.append((scheme, title, found))
    shown = cells[:MAX_PANELS]
    every = [value for _, _, found in shown for _, _, value in found]
    panels = []
    for scheme, title, found in shown:
        line = Line(
            scheme,
            [x for x, _, _ in found],
            [y for _, y, _ in found],
            words=[_short(value, one) for _, _, value in found],
            until=[_shade(value, every) for _, _, value in found],
        )
        panels.append(Panel(title, _places(across), _places(up), [line]))
    return panels, len(cells) - len(shown)


def _short(value: float, one: Column) -> str:
    if one.shown[0] == "share":
        return f"{100 * value:.3g} %"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _shade(value: float, every: Sequence[float]) -> float:
    """Return the place of a value between the lowest (0) and the highest (1).

    The scale is logarithmic if the values differ by more than a factor of 3.
    """
    low, high = min(every), max(every)
    if high == low:
        return 0.0
    if low > 0 and high / low > 3:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _places(along: Along) -> Axis:
    ticks = [(float(i), along.text(step)) for i, step in enumerate(along.steps)]
    return Axis(along.label, start=-0.5, end=len(along.steps) - 0.5, ticks=ticks)


def _side_by_side(results: Results, one: Column) -> list[Panel]:
    """Return a panel with one point per scheme, for results that vary only schemes and seeds."""
    values = results.values(one.name)
    lines = []
    for at, scheme in enumerate(results.schemes):
        groups = [by_seed for (_, name), by_seed in values.items() if name == scheme]
        found = [_estimate(one, group) for group in groups]
        lines.append(_line([float(at)] * len(found), found, scheme))
    last = len(results.schemes) - 0.5
    x = Axis("scheme", start=-0.5, end=last, ticks=list(enumerate(results.schemes)))
    return [Panel("", x, replace(_y_axis(one), start=0), lines)]


def _line(x: Sequence[float], found: Sequence[statistics.Interval | None], name: str) -> Line:
    points = sorted((at, one) for at, one in zip(x, found, strict=True) if one is not None)
    middle = [one.estimate for _, one in points]
    low = [one.estimate if one.low is None else one.low for _, one in points]
    high = [one.estimate if one.high is None else one.high for _, one in points]
    return Line(name, [at for at, _ in points], middle, low, high)


def _common_heights(panels: list[Panel], bars: bool) -> list[Panel]:
    """Give all panels the same y axis: logarithmic if values differ much, else starting at 0."""
    lines = [line for panel in panels for line in panel.lines]
    middles = [value for line in lines for value in line.y]
    if not middles:
        return panels
    lowest = min(value for line in lines for value in line.low or line.y)
    highest = max(value for line in lines for value in line.high or line.y)
    scale: Scale = "linear"
    start, end = min(0.0, lowest), 1.05 * max(highest, 0.0) or 1.0
    if not bars and min(middles) > 0 and max(middles) / min(middles) > _LOG_Y:
        # A band may extend below all means. The axis does not show this part.
        scale, start, end = "log", min(middles) / 1.5, 1.1 * highest
        lines = [replace(line, low=[max(v, start) for v in line.low or ()]) for line in lines]
        cut = iter(lines)
        panels = [replace(panel, lines=[next(cut) for _ in panel.lines]) for panel in panels]
    return [replace(p, y=replace(p.y, scale=scale, start=start, end=end)) for p in panels]


def _x_axis(along: Along) -> Axis:
    at = along.positions
    keep = range(0, len(at), -(-len(at) // _TICKS))
    ticks = [(at[i], along.text(along.steps[i])) for i in keep]
    numeric = along.numbers is not None
    scale: Scale = "linear"
    if numeric and min(at) > 0 and max(at) / min(at) >= _LOG_X:
        scale = "log"
    return Axis(along.label, scale, ticks=ticks)


# --- All values ------------------------------------------------------------------------------

Cell = tuple[str, bool]
"""HTML of a cell, and a flag for bold text."""


def _values(results: Results, metrics: Sequence[Column]) -> str:
    """Return a folded table for each metric, and one of differences between schemes."""
    tables = [_means(results, metric) for metric in metrics]
    if len(results.schemes) > 1:
        tables += [_differences(results, metric) for metric in metrics]
    return f'<section id="values"><h2>All values</h2>{"".join(tables)}</section>'


def _means(results: Results, metric: Column) -> str:
    groups = results.values(metric.name)

    def cell(values: Group, scheme: str) -> Cell:
        return _interval(_estimate(metric, groups.get((values, scheme), {})))

    return _table(results, metric, results.schemes, cell, "mean over seeds", "")


def _differences(results: Results, metric: Column) -> str:
    baseline, *others = results.schemes
    groups = results.values(metric.name)
    scale = metric.shown[1]

    def scaled(values: Group, scheme: str) -> dict[int, float]:
        found = groups.get((values, scheme), {})
        return {seed: value / scale for seed, value in found.items()}

    def cell(values: Group, scheme: str) -> Cell:
        difference = statistics.paired(scaled(values, scheme), scaled(values, baseline))
        if difference is None:
            return "–", False
        low, high = difference.low, difference.high
        sure = low is not None and high is not None and not low <= 0 <= high
        return _interval(difference, signed=True, bold=sure)

    what = f"difference to {html.escape(baseline)} at the same seed"
    note = '<p class="note">Bold where the interval does not hold zero.</p>'
    return _table(results, metric, others, cell, what, note)


def _table(
    results: Results,
    metric: Column,
    schemes: list[str],
    cell: Callable[[Group, str], Cell],
    what: str,
    note: str,
) -> str:
    look = styles(results.schemes)
    names = {name: html.escape(name) for name in schemes}
    heads = "".join(f'<th scope="col">{html.escape(key)}</th>' for key in results.keys)
    heads += "".join(
        f'<th scope="col" data-scheme="{shown}">'
        f'<i style="background:{look[name].colour}"></i>{shown}</th>'
        for name, shown in names.items()
    )
    lines = []
    for values in results.groups[:MAX_ROWS]:
        cells = [f"<td>{html.escape(str(value))}</td>" for value in values]
        for name, shown in names.items():
            content, bold = cell(values, name)
            kind = " class=best" if bold else ""
            cells.append(f'<td data-scheme="{shown}"{kind}>{content}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    filtered = " filter" if len(lines) > LONG else ""
    if len(results.groups) > MAX_ROWS:
        note += (
            f'<p class="note">The first {MAX_ROWS} of {len(results.groups):,} rows; all are in '
            "<code>backwater.load(DIR).runs</code>.</p>"
        )
    title = html.escape(_title(metric))
    return (
        f"<details><summary>{title}: {what}</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">'
        f'<table class="values sort{filtered}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>{note}</details>"
    )


def _interval(
    interval: statistics.Interval | None, *, signed: bool = False, bold: bool = False
) -> Cell:
    if interval is None:
        return "–", bold
    text = f"{interval.estimate:+.4g}" if signed else f"{interval.estimate:.4g}"
    if interval.low is not None and interval.high is not None:
        text += f" <small>[{interval.low:.4g}, {interval.high:.4g}]</small>"
    return text, bold


def _repeat(results: Results) -> str:
    about = results.about
    folded = "".join(
        f"<details><summary>{title}, <code>{html.escape(str(about[key]))}</code></summary>"
        f"<pre>{html.escape(about[f'{key}_text'])}</pre></details>"
        for key, title in (("sweep", "The sweep"), ("scenario", "The scenario"))
        if about.get(f"{key}_text")
    )
    command = about.get("command")
    shown = f"<pre><code>{html.escape(command)}</code></pre>" if command else ""
    return f"<section><h2>Reproduce</h2>{shown}{folded}</section>" if shown or folded else ""


def _not_modelled(results: Results) -> str:
    """Collect the simplifications of one run of each scheme and combination."""
    first = {(p.scheme, p.values): p.key for p in reversed(results.points) if p.key in results.rows}
    by_scheme: dict[str, list[list[str]]] = {}
    order = results.schemes
    for (scheme, _), key in sorted(first.items(), key=lambda one: order.index(one[0][0])):
        by_scheme.setdefault(scheme, []).append(results.files(key).summary["not_modelled"])
    return not_modelled(by_scheme)
