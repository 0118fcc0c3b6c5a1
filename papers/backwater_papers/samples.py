"""Numbers of a run and selections from its tables, which all measures share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from backwater_papers.figure import Source

if TYPE_CHECKING:
    import polars

    from backwater.results.files import RunFiles

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Numbers with weights. Each number counts as often as its weight."""

    values: Array
    weights: Array | None = None
    sizes: Array | None = None
    """Sizes of the flows, if the numbers belong to flows."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Time series by label, all sampled at the same times."""

    times_ps: Array
    values: dict[str, Array]

    def samples(self) -> Samples:
        """Return the values of all lines as samples, without their times."""
        return Samples(np.concatenate([*self.values.values(), np.empty(0)]))


def window_of(source: Source, run: RunFiles) -> tuple[float, float]:
    """Return begin and end, in ps, of the window of a source, or else of the measured time."""
    return source.window or (run.summary["measure_from_ps"], run.summary["measure_to_ps"])


def recorded(run: RunFiles, table: str) -> polars.DataFrame:
    """Read a table that a run has only if its scenario requests it."""
    return run.table(table)


def of_ports(source: Source, run: RunFiles, table: polars.DataFrame) -> polars.DataFrame:
    """Return the rows of a table for the chosen ports, with `port_name` such as ``s0->h1``."""
    import polars as pl

    names = run.table("ports").select(
        "node",
        "port",
        (pl.col("name").cast(pl.String) + "->" + pl.col("peer_name").cast(pl.String)).alias(
            "port_name"
        ),
    )
    patterns = source.ports or ("*",)
    wanted = [n for n in names["port_name"] if any(fnmatchcase(n, p) for p in patterns)]
    names = names.filter(pl.col("port_name").is_in(wanted))
    return table.join(names, on=["node", "port"], how="inner")


def steps(
    source: Source, run: RunFiles, table: polars.DataFrame, what: str, columns: dict[str, str]
) -> Lines:
    """Sample columns of ports at regular times; a row is valid until the next row of its port.

    Before its first row a port has 0 bytes, and the other columns have the values of that row. The
    label of a line is the port's name and the label of the column. If there is a single port and
    the column has a label, the name is omitted.
    """
    every = float(run.interval_ps(what))
    low, high = source.window or (0.0, math.inf)
    high = min(high, float(run.summary["end_ps"]))
    times = np.arange(math.ceil(low / every), math.floor(high / every) + 1) * every
    by_port = table.sort("at_ps").partition_by("port_name", as_dict=True)
    lines = {}
    for (name,), rows in by_port.items():
        row = np.searchsorted(rows["at_ps"].to_numpy(), times, side="right") - 1
        for column, says in columns.items():
            values = rows[column].to_numpy().astype(float)[row.clip(min=0)]
            title = f"{name} {says}".strip() if len(by_port) > 1 or not says else says
            lines[title] = np.where(row >= 0, values, 0.0) if column == "bytes" else values
    return Lines(times, lines)
