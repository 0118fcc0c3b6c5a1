"""What runs left, as data frames."""

from __future__ import annotations

import json
from typing import Any

from backwater import _core

SUMMARY = "summary.json"
RESULTS = "results.json"
"""In the directory of many runs: which runs were requested, and where they are."""

HOST = "host.json"
STORE = "store"
REPORT = "report.html"
TABLES: tuple[dict[str, Any], ...] = tuple(json.loads(_core.catalogue("tables")))
"""The tables of a run as the program declares them: ``name``, ``file``, ``about``, ``columns`` and
``record``, an example of what makes ``[record]`` of a scenario record it, or None where every run
has it."""
RUN_FILES = (
    "resolved.toml",
    *(table["file"] for table in TABLES if table["record"] is None),
    SUMMARY,
)
"""The files of every run; the `results` crate writes them."""
RECORDED_FILES = tuple(table["file"] for table in TABLES if table["record"] is not None)
"""Files that a run has if ``[record]`` of its scenario requests them."""
