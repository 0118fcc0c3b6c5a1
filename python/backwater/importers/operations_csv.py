"""Exports the start and end of each operation of a workload as CSV."""

from __future__ import annotations

import tomllib
from pathlib import Path

from backwater import workloads
from backwater._base.files import write_whole
from backwater._base.lazy import pl
from backwater.errors import InputError, RunError
from backwater.results.files import RunFiles

_TIMES = ("ready", "start", "end")


def export_operations(run: RunFiles, out: Path, force: bool = False) -> int:
    """Write all operations that ended, by workload, rank and index; return their number.

    Times are in nanoseconds since the start of the run, exact to the picosecond. ``name`` is the
    name of the operation in the imported file, such as the label of a GOAL schedule. Raises
    ``RunError`` if the run has no workload, or if the file exists and ``force`` is not set.
    """
    if out.exists() and not force:
        raise RunError(f"{out}: exists; choose another name, or use --force")
    try:
        rows = run.table("operations").cast({"workload": pl.String, "kind": pl.String})
    except InputError as error:
        raise InputError(f"{run.path}: the run has no operations of a workload") from error
    named = rows.join(
        _names(run), on=["workload", "rank", "index"], how="left", maintain_order="left"
    )
    times = [(pl.col(f"{word}_ps") / 1000).alias(f"{word}_ns") for word in _TIMES]
    columns = ["workload", "rank", "index", "name", "kind", "peer", "bytes", *times]
    table = named.sort("workload", "rank", "index").select(columns)
    write_whole(out, table.write_csv(float_precision=3), parents=True)
    return table.height


def _names(run: RunFiles) -> pl.DataFrame:
    """Return the names of operations from the files of the workloads, if these exist."""
    found = [
        pl.DataFrame(
            schema={"workload": pl.String, "rank": pl.UInt32, "index": pl.UInt32, "name": pl.String}
        )
    ]
    for workload in tomllib.loads(run.resolved).get("workload", []):
        file = Path(workload.get("file", ""))
        if file.is_file():
            rows = workloads.read(file).operations.select("rank", "index", "name")
            found.append(rows.select(pl.lit(workload["name"]).alias("workload"), pl.all()))
    return pl.concat(found)
