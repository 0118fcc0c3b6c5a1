"""Builds a page: one HTML file with its styles, scripts and data."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backwater.errors import RunError
from backwater.plots.charts import Chart
from backwater.plots.curves import styles
from backwater.report.charts import legend

SCRIPTS = ("charts.js", "network.js", "page.js")
"""Our own scripts, in the order in which they run."""

BOKEH = ("bokeh.min.js", "bokeh-api.min.js")
"""Files of BokehJS that draw the figures, from the package ``bokeh`` of PyPI with its licence."""


def document(
    title: str,
    sections: Sequence[str],
    schemes: Sequence[str],
    charts: Sequence[Chart],
    network: Mapping[str, Any] | None = None,
) -> str:
    """Return a page as HTML.

    ``network`` is the result of :mod:`backwater.report.network`.
    """
    body = "\n".join(section for section in sections if section)
    look = styles(schemes)
    data = {
        "schemes": {n: {"colour": look[n].colour, "dash": look[n].dash} for n in schemes},
        "charts": [chart.data() for chart in charts if chart.views],
        "network": network,
    }
    library = _bokeh() if data["charts"] or network else ()
    texts = (*library, *map(asset, SCRIPTS))
    scripts = "\n".join(f"<script>{text}</script>" for text in texts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(title)} · Backwater</title>\n<style>{asset('page.css')}</style>\n"
        '</head>\n<body>\n<nav aria-label="Page">'
        f'{legend(schemes)}<button type="button" id="theme">Dark</button></nav>\n'
        f"<main>\n{body}\n</main>\n<noscript><p>The figures need JavaScript; the tables below "
        "them have their values.</p></noscript>\n"
        f'<script type="application/json" id="data">{_json(data)}</script>\n'
        f"{scripts}\n</body>\n</html>\n"
    )


def with_code(text: str) -> str:
    """Return a text as HTML; its parts between backticks become code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{p}</code>" if odd % 2 else p for odd, p in enumerate(parts))


def not_modelled(by_scheme: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """Return the list of simplifications, from the sentences of each run by scheme.

    A sentence that does not apply to all runs has the names of those to which it applies.
    """
    every = [run for runs in by_scheme.values() for run in runs]
    items = []
    for sentence in dict.fromkeys(sentence for run in every for sentence in run):
        text = with_code(sentence)
        names = [
            name if all(sentence in run for run in runs) else f"some runs of {name}"
            for name, runs in by_scheme.items()
            if any(sentence in run for run in runs)
        ]
        limited = not all(sentence in run for run in every)
        who = f"<b>{html.escape(', '.join(names))}</b>: " if limited else ""
        items.append(f"<li>{who}{text}</li>")
    return f"<h2>Not modelled</h2><ul>{''.join(items)}</ul>" if items else ""


def header(brand: str, title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return the head of a page: its title and the main facts."""
    cells = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in facts
        if value
    )
    return (
        f'<header><p class="brand">{html.escape(brand)}</p><h1>{html.escape(title)}</h1>'
        f"<dl>{cells}</dl></header>"
    )


@cache
def asset(name: str) -> str:
    """Return the text of a style or script of the pages."""
    return (resources.files("backwater.report") / name).read_text(encoding="utf-8")


@cache
def _bokeh() -> tuple[str, ...]:
    # Importing the package takes half a second; only its files are needed.
    found = find_spec("bokeh")
    if found is None or not found.submodule_search_locations:
        raise RunError(
            "the package `bokeh`, which draws the figures, is not installed: `pip install bokeh`"
        )
    folder = Path(found.submodule_search_locations[0]) / "server" / "static" / "js"
    try:
        return tuple((folder / name).read_text(encoding="utf-8") for name in BOKEH)
    except OSError as error:
        raise RunError(
            f"{error.filename}: cannot be read: {error.strerror}; install `bokeh` again"
        ) from error


def _json(data: Any) -> str:
    """Return JSON text that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
