"""Data of figures by class of flow and by role of port, compared with the tables of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_breakdown import CROWDED, FAT, made

from backwater.analysis import breakdown
from backwater.errors import RunError
from backwater_papers.figure import Source
from backwater_papers.measures import Data
from backwater_papers.quantities import Dimension
from backwater_papers.samples import Samples


def source(**how: Any) -> Source:
    return Source(**{"of": "port-buffer", "dimension": Dimension.NUMBER, **how})


def test_data_of_figures_by_role_and_class(tmp_path: Path) -> None:
    crowded = made(tmp_path, CROWDED)
    data = Data()

    def samples(**how: Any) -> Samples:
        found = data.of(source(**how), crowded)
        assert isinstance(found, Samples)
        return found

    by_role = breakdown.by_role(crowded)
    for role, most in by_role.select("role", "max_bytes").iter_rows():
        assert samples(roles=(role,)).values.max() == most
    queued = samples(of="port-queue", roles=("core",)).values
    assert 0 < queued.max() <= samples(roles=("core",)).values.max()
    waits = samples(of="queuing-time", roles=("core",), incast=False)
    mean = np.average(waits.values, weights=waits.weights)
    (expected,) = by_role.filter(pl.col("role") == "core")["mean_wait_ps"]
    assert mean == pytest.approx(expected)
    shares = [samples(of="sent", frames=frames).values for frames in ("data", "replies", "credits")]
    assert shares[0] > shares[1] > shares[2] == 0
    assert len(samples(of="fct", classes=("incast", "other")).values) == 5
    course = data.of(source(of="buffer-course", nodes=("spine0",)), crowded)
    probed = crowded.measured_queues().filter(pl.col("name").cast(pl.String) == "spine0")
    assert list(course.values["spine0"]) == probed.sort("at_ps")["used_bytes"].to_list()


def test_queueing_times_need_their_table(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="record"):
        Data().of(source(of="queuing-time"), made(tmp_path, FAT))
