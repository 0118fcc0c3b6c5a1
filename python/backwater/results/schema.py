"""The description of the columns, as a data frame."""

from __future__ import annotations

from backwater._base.lazy import pl
from backwater.results.columns import COLUMNS


def columns() -> pl.DataFrame:
    """Return all columns of ``Results.runs`` with units and descriptions.

    Counters of ``summary.json`` have further columns, such as ``counters.timeouts``.

    Returns
    -------
    polars.DataFrame
        ``name``, ``unit`` (``ps``, ``bytes``, ``bps``, ``share`` between 0 and 1, ``count``,
        ``text``, or empty for a plain number), ``better`` (``lower``, ``higher`` or empty), and
        ``about``.

    """
    rows = [(one.name, one.unit, one.better, one.about) for one in COLUMNS]
    return pl.DataFrame(rows, schema=["name", "unit", "better", "about"], orient="row")
