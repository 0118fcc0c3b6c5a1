"""Builds a page from a template in ``pages``: one HTML file with its styles, scripts and data."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from backwater.errors import RunError
from backwater.plots.charts import Chart
from backwater.plots.curves import Style, styles

SCRIPTS = ("network.js", "page.js")
"""Our own scripts, in the order in which they run."""

BOKEH = ("bokeh.min.js", "bokeh-api.min.js")
"""Files of BokehJS that draw the figures, from the package ``bokeh`` of PyPI with its licence."""

LONG = 12
"""A table with more rows can be filtered by text."""


def document(
    template: str,
    title: str,
    schemes: Sequence[str] = (),
    charts: Sequence[Chart] = (),
    network: Mapping[str, Any] | None = None,
    **context: Any,
) -> str:
    """Fill a template of ``pages`` and return the page as HTML.

    ``network`` is the result of :mod:`backwater.report.network`. ``context`` has further values for
    the template.
    """
    look = styles(schemes)
    drawn = [chart for chart in charts if chart.views]
    library = _bokeh() if drawn or network else ()
    data = {"figures": _figures(drawn, look), "network": network}
    context |= {"title": title, "schemes": schemes, "look": look, "charts": charts}
    context |= {"network": network, "data": Markup(_json(data))}
    return filled(template, scripts=[*map(Markup, library), *map(_asset, SCRIPTS)], **context)


def _figures(charts: Sequence[Chart], look: Mapping[str, Style]) -> dict[str, Any]:
    """Return the views of each figure by the key of the figure."""
    if not charts:
        return {}
    # Importing Bokeh takes a third of a second, and a page without figures does not need it.
    from backwater.plots.interactive import items

    return {chart.key: items(chart, look) for chart in charts}


def filled(template: str, **context: Any) -> str:
    """Fill a template of ``pages`` with values, which are escaped, and return the text."""
    return _templates().get_template(template).render(context)


@cache
def _templates() -> Environment:
    pages = PackageLoader("backwater.report", "pages")
    found = Environment(loader=pages, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    found.filters["code"] = _with_code
    found.globals |= {"asset": _asset, "LONG": LONG}
    return found


def _with_code(text: str) -> Markup:
    """Return a text as HTML; its parts between backticks become code."""
    parts = html.escape(text).split("`")
    return Markup("".join(f"<code>{p}</code>" if odd % 2 else p for odd, p in enumerate(parts)))


def simplifications(by_scheme: Mapping[str, Sequence[Sequence[str]]]) -> list[tuple[str, str]]:
    """Return the distinct sentences about simplifications, each after the schemes it applies to.

    ``by_scheme`` has the sentences of each run of a scheme. The text before a sentence is empty if
    the sentence applies to all runs.
    """
    every = [run for runs in by_scheme.values() for run in runs]
    found = []
    for sentence in dict.fromkeys(sentence for run in every for sentence in run):
        names = [
            name if all(sentence in run for run in runs) else f"some runs of {name}"
            for name, runs in by_scheme.items()
            if any(sentence in run for run in runs)
        ]
        limited = not all(sentence in run for run in every)
        found.append((", ".join(names) if limited else "", sentence))
    return found


@cache
def _asset(name: str) -> Markup:
    """Return the text of a style or script of the pages."""
    return Markup((resources.files("backwater.report") / name).read_text(encoding="utf-8"))


@cache
def _bokeh() -> tuple[str, ...]:
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
