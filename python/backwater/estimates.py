"""Estimates of workloads without packets: whole messages in a network of a few numbers.

An estimate takes seconds where a simulation of packets takes hours, and knows nothing of queues,
losses and flow control: it says what a workload costs at best.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimate found."""

    summary: dict[str, Any]
    """Totals, the end of each rank, and the collectives with their bandwidths."""

    operations: pl.DataFrame | None
    """A row for each operation in the order of their ends, if requested: ``rank``, ``index``,
    ``kind``, ``peer``, ``bytes``, and the times ``ready_ps``, ``start_ps`` and ``end_ps``."""

    @property
    def end_ps(self) -> int:
        """When the last operation ended, ps."""
        return int(self.summary["end_ps"])


def estimate(path: str | Path, networks: Sequence[str] = (), record: bool = False) -> Estimate:
    """Estimate how long the workload in a file takes.

    ``networks`` is one word such as ``loggops:latency=1us,rate=400Gbps``, or one for each dimension
    such as ``ring:size=8,rate=400Gbps,latency=500ns`` (also ``switch``, ``fully-connected``). With
    ``record`` the operations are returned too.

    Raises ``ScenarioError`` where the file or the network is wrong, and ``RunError`` where
    operations wait for each other.
    """
    from backwater import _core

    summary, columns = _core.estimate(str(path), list(networks), record)
    return Estimate(json.loads(summary), _frame(columns) if record else None)


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    kinds = pl.Series(columns["kinds"], dtype=pl.String)
    numbers = {
        name: np.frombuffer(columns[name], dtype="<u8" if name == "bytes" else "<u4")
        for name in ("rank", "index", "peer", "bytes")
    }
    times = {
        name: np.frombuffer(columns[name], dtype="<u8")
        for name in ("ready_ps", "start_ps", "end_ps")
    }
    codes = pl.Series(np.frombuffer(columns["kind"], dtype="u1"))
    frame = pl.DataFrame({**numbers, **times})
    peer = pl.when(pl.col("peer") != 2**32 - 1).then("peer").alias("peer")
    return frame.with_columns(peer, kinds.gather(codes).alias("kind")).select(
        "rank", "index", "kind", "peer", "bytes", "ready_ps", "start_ps", "end_ps"
    )


def write_operations(found: Estimate, path: Path) -> None:
    """Write the operations as CSV or, by the name's ending, as Parquet.

    Raises ``RunError`` where the file cannot be written.
    """
    from backwater.errors import RunError

    assert found.operations is not None
    try:
        if path.suffix == ".parquet":
            found.operations.write_parquet(path)
        else:
            found.operations.write_csv(path)
    except OSError as error:
        raise RunError(f"{path}: cannot write: {error.strerror}", error.errno) from error
