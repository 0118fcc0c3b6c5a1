"""The page about a campaign, in the style of the page about a run."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backwater._base.durable import explain, write_durably
from backwater.errors import RunError
from backwater.plots.curves import styles
from backwater.report import sweep_figures as figures
from backwater.report.charts import LONG, Chart, View
from backwater.report.document import document, header, not_modelled
from backwater.results import statistics
from backwater.results.dataset import Campaign

MAX_ROWS = 200
MAX_FAILURES = 50

Cell = tuple[str, bool]
"""HTML of a cell, and whether it is bold."""


def write_report(path: Path, campaign: Campaign) -> Path:
    """Write the page."""
    page = render(campaign)
    try:
        write_durably(path, page)
    except OSError as error:
        raise RunError(f"cannot write the report: {explain(error)}") from error
    return path


def render(campaign: Campaign) -> str:
    """Return the page as HTML."""
    if not campaign.facts:
        raise RunError(f"{campaign.path}: no run is finished, so there is nothing to report on")
    metrics = figures.shown(campaign)
    drawn = [_chart(campaign, *one) for one in figures.every(campaign)]
    sections = [
        _header(campaign),
        _notices(campaign),
        *(chart.html() for chart in drawn),
        *(_means(campaign, metric) for metric in metrics),
        *(_differences(campaign, m) for m in metrics if len(campaign.schemes) > 1 and not m.share),
        _repeat(campaign),
        f"<footer>{_not_modelled(campaign)}"
        f"<p>Backwater {html.escape(campaign.about['version'])}</p></footer>",
    ]
    return document(campaign.name, sections, campaign.schemes, drawn)


def _header(campaign: Campaign) -> str:
    seeds = campaign.seeds
    facts = [
        ("runs", f"{len(campaign.rows):,}"),
        ("schemes", ", ".join(campaign.schemes)),
        ("swept", ", ".join(campaign.keys) or "nothing but seeds and schemes"),
        ("seeds", f"{len(seeds)}" if len(seeds) > 1 else f"1 (seed {seeds[0]})"),
        ("scenario", Path(campaign.about["scenario"]).name),
    ]
    return header("Backwater campaign", campaign.name, facts)


def _notices(campaign: Campaign) -> str:
    lines = [
        f"<b>{failure.kind}</b>: {html.escape(failure.message)}"
        f"<br><code>{html.escape(failure.command)}</code>"
        for failure in list(campaign.failed.values())[:MAX_FAILURES]
    ]
    if len(campaign.failed) > MAX_FAILURES:
        lines.append(f"… and {len(campaign.failed) - MAX_FAILURES:,} more runs failed.")
    lines += [
        f"A check was violated: <code>{html.escape(row.command)}</code>"
        for row in campaign.violated[:MAX_FAILURES]
    ]
    if campaign.missing:
        lines.append(f"{campaign.missing:,} runs are not there yet: the campaign is unfinished.")
    items = [f'<li class="bad">{line}</li>' for line in lines]
    if len(campaign.seeds) == 1:
        items.append('<li class="doubt">One seed says nothing about chance: no intervals.</li>')
    items += [f'<li class="doubt">{html.escape(n)}</li>' for n in campaign.about.get("notes", ())]
    if campaign.stalled:
        items.append(
            f'<li class="doubt">{len(campaign.stalled):,} runs came to a standstill; what is said '
            "about them concerns the time before.</li>"
        )
    if not items:
        return ""
    return (
        f'<section class="notices"><h2>Before you read on</h2><ul>{"".join(items)}</ul></section>'
    )


def _chart(campaign: Campaign, metric: figures.Metric, along: figures.Along | None) -> Chart:
    unit = f" ({metric.unit})" if metric.unit else ""
    interval = "Clopper and Pearson's" if metric.share else "Student's"
    caption = f"Mean over seeds; bands are {interval} 95 % intervals."
    if along is None:
        panels = figures.side_by_side(campaign, metric)
        key, title = metric.column, metric.title
    else:
        panels, left_out = figures.over(campaign, metric, along)
        key, title = f"{metric.column}-{along.label}", f"{metric.title}, over {along.label}"
        if left_out:
            caption += f" {left_out} more combinations of the other keys are in the table below."
    return Chart(key, title + unit, caption, "points", [View("", panels)])


def _means(campaign: Campaign, metric: figures.Metric) -> str:
    def cell(values: tuple[Any, ...], scheme: str) -> Cell:
        by_seed = groups.get((values, scheme), {})
        return _estimate(metric.estimate(list(by_seed.values())))

    groups = campaign.values(metric.column)
    return _table(campaign, metric, campaign.schemes, cell, "mean over seeds", "")


def _differences(campaign: Campaign, metric: figures.Metric) -> str:
    baseline, *others = campaign.schemes

    def cell(values: tuple[Any, ...], scheme: str) -> Cell:
        difference = statistics.paired(
            _scaled(groups.get((values, scheme), {}), metric),
            _scaled(groups.get((values, baseline), {}), metric),
        )
        if difference is None:
            return "–", False
        sure = difference.low is not None and not _holds_zero(difference)
        return _estimate(difference, signed=True, bold=sure)

    groups = campaign.values(metric.column)
    what = f"difference to {html.escape(baseline)} at the same seed"
    note = '<p class="note">Bold where the interval does not hold zero.</p>'
    return _table(campaign, metric, others, cell, what, note)


def _scaled(by_seed: dict[int, float], metric: figures.Metric) -> dict[int, float]:
    return {seed: value / metric.scale for seed, value in by_seed.items()}


def _holds_zero(interval: statistics.Interval) -> bool:
    return (interval.low or 0.0) <= 0 <= (interval.high or 0.0)


def _table(
    campaign: Campaign,
    metric: figures.Metric,
    schemes: list[str],
    cell: Callable[[tuple[Any, ...], str], Cell],
    what: str,
    note: str,
) -> str:
    look = styles(campaign.schemes)
    names = {name: html.escape(name) for name in schemes}
    heads = "".join(f'<th scope="col">{html.escape(key)}</th>' for key in campaign.keys)
    heads += "".join(
        f'<th scope="col" data-scheme="{shown}">'
        f'<i style="background:{look[name].colour}"></i>{shown}</th>'
        for name, shown in names.items()
    )
    points = list(dict.fromkeys(row.values for row in campaign.rows))
    lines = []
    for values in points[:MAX_ROWS]:
        cells = [f"<td>{html.escape(str(value))}</td>" for value in values]
        for name, shown in names.items():
            words, bold = cell(values, name)
            kind = " class=best" if bold else ""
            cells.append(f'<td data-scheme="{shown}"{kind}>{words}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    filtered = " filter" if len(lines) > LONG else ""
    if len(points) > MAX_ROWS:
        note += (
            f'<p class="note">The first {MAX_ROWS} of {len(points):,} rows; all are in the table '
            "that <code>backwater.load</code> gives.</p>"
        )
    unit = f" ({metric.unit})" if metric.unit else ""
    return (
        f"<section><details><summary>{html.escape(metric.title)}{unit}: {what}</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(metric.title)}">'
        f'<table class="values sort{filtered}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>{note}</details></section>"
    )


def _estimate(
    interval: statistics.Interval | None, *, signed: bool = False, bold: bool = False
) -> Cell:
    if interval is None:
        return "–", bold
    text = f"{interval.estimate:+.4g}" if signed else f"{interval.estimate:.4g}"
    if interval.low is not None and interval.high is not None:
        text += f" <small>[{interval.low:.4g}, {interval.high:.4g}]</small>"
    return text, bold


def _repeat(campaign: Campaign) -> str:
    about = campaign.about
    texts = [("sweep", "The sweep"), ("scenario", "The scenario")]
    folded = "".join(
        f"<details><summary>{title}, <code>{html.escape(about[key])}</code></summary>"
        f"<pre>{html.escape(about[f'{key}_text'])}</pre></details>"
        for key, title in texts
    )
    return (
        "<section><h2>To repeat it</h2>"
        f"<pre><code>{html.escape(about['command'])}</code></pre>{folded}</section>"
    )


def _not_modelled(campaign: Campaign) -> str:
    """Gather from one run of each scheme and combination of swept values what is left out."""
    first = {
        (row.scheme, row.values): row.key
        for row in reversed(campaign.rows)
        if row.key in campaign.facts
    }
    by_scheme: dict[str, list[list[str]]] = {}
    for (scheme, _), key in sorted(
        first.items(), key=lambda one: campaign.schemes.index(one[0][0])
    ):
        by_scheme.setdefault(scheme, []).append(campaign.run(key).summary["not_modelled"])
    return not_modelled(by_scheme)
