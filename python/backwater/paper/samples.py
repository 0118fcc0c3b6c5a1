"""Numbers out of a run, and how its tables are narrowed down: what all measures share."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from backwater.errors import RunError
from backwater.paper.figure import Source

if TYPE_CHECKING:
    import polars

    from backwater.results import Run

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Samples:
    """Numbers, each standing for as many as its weight says."""

    values: Array
    weights: Array | None = None
    sizes: Array | None = None
    """Of the flows that the numbers belong to, where they belong to flows."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Courses in time, all at the same times."""

    times_ps: Array
    values: dict[str, Array]

    def samples(self) -> Samples:
        """All values, without their times."""
        return Samples(np.concatenate([*self.values.values(), np.empty(0)]))


def window_of(source: Source, run: Run) -> tuple[float, float]:
    """Return the window of a source, else the measured time, in ps."""
    return source.window or (run.summary["measure_from_ps"], run.summary["measure_to_ps"])


def recorded(run: Run, table: str) -> polars.DataFrame:
    """Read a table that is there only if the scenario requests it."""
    try:
        found: polars.DataFrame = getattr(run, table)
    except (RunError, AttributeError) as error:
        raise RunError(
            f"{run.path}: there is no {table}.parquet: the scenario must request it in [record]"
        ) from error
    return found


def of_ports(source: Source, run: Run, table: polars.DataFrame) -> polars.DataFrame:
    """Rows of the chosen ports, with the name of the port, such as ``s0->h1``."""
    import polars as pl

    names = run.ports.select(
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
