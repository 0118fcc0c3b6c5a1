"""The results of runs, as data frames."""

from __future__ import annotations

import json
from typing import Any

from backwater import _core

SUMMARY = "summary.json"
RESULTS = "results.json"
"""The file in a directory of many runs that lists the requested runs and their directories."""

HOST = "host.json"
STORE = "store"
REPORT = "report.html"
TABLES: tuple[dict[str, Any], ...] = tuple(json.loads(_core.catalogue("tables")))
"""The tables of a run, as the program declares them.

Each has ``name``, ``file``, ``about``, ``columns`` and ``record``. ``record`` is an example of the
setting in ``[record]`` of a scenario that records the table. It is None if every run has the table.
"""
RUN_FILES = (
    "resolved.toml",
    *(table["file"] for table in TABLES if table["record"] is None),
    SUMMARY,
)
"""The files of every run; the `results` crate writes them."""
RECORDED_FILES = tuple(table["file"] for table in TABLES if table["record"] is not None)
"""Files that a run has if ``[record]`` of its scenario requests them."""
