"""The HTML of charts and tables in a page."""

from __future__ import annotations

import html
from collections.abc import Sequence

from backwater.plots.charts import Chart, Table
from backwater.plots.curves import styles


def chart_html(chart: Chart) -> str:
    """Return the HTML of a chart: its place in the page, its text and its table."""
    parts = [f'<figure id="{html.escape(chart.key)}"><h2>{html.escape(chart.title)}</h2>']
    if not chart.views:
        parts.append(f'<p class="nothing">{html.escape(chart.nothing)}</p>')
    else:
        if len(chart.views) > 1:
            options = "".join(
                f'<option value="{i}">{html.escape(view.label)}</option>'
                for i, view in enumerate(chart.views)
            )
            parts.append(
                f'<label class="choice">{html.escape(chart.choice)} '
                f'<select autocomplete="off">{options}</select></label>'
            )
        parts.append('<div class="panels"></div>')
    parts.append(f"<figcaption>{html.escape(chart.caption)}</figcaption>")
    if chart.views and chart.table:
        parts.append(
            "<details><summary>The same as a table</summary>"
            f"{table_html(chart.table, chart.title)}</details>"
        )
    return "".join(parts) + "</figure>"


LONG = 12
"""Minimum number of rows of a table that can be filtered by text."""


def table_html(table: Table, label: str) -> str:
    """Return a table that the script of the page can sort, and filter if it is long."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.head)

    def opened(first: str) -> str:
        return f'<tr data-scheme="{html.escape(first)}">' if table.by_scheme else "<tr>"

    rows = "".join(
        f'{opened(first)}<th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in table.rows
    )
    filtered = " filter" if len(table.rows) > LONG else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<table class="values sort{filtered}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def legend(names: Sequence[str]) -> str:
    """Return the boxes by which the reader chooses schemes, each with its colour."""
    if not names:
        return "<span></span>"
    look = styles(names)
    boxes = "".join(
        f'<label><input type="checkbox" checked autocomplete="off" value="{html.escape(name)}">'
        f'<i style="background:{look[name].colour}"></i>{html.escape(name)}</label>'
        for name in names
    )
    return f"<fieldset><legend>Schemes</legend>{boxes}</fieldset>"
