"""Lists of built-in schemes, workloads, topologies and tables, and the JSON Schema of scenarios."""

from __future__ import annotations

import json
from typing import Any

from backwater import _core


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a scenario, for editors and other programs.

    The schema has all keys, values, units, ranges, and defaults. :meth:`Scenario.check` also finds
    errors that depend on several keys or on the network.
    """
    described: dict[str, Any] = json.loads(_core.schema())
    return described


def catalogue(what: str) -> list[dict[str, Any]]:
    """List what is built in.

    Parameters
    ----------
    what
        ``"schemes"``, ``"workloads"`` (distributions of flow sizes), ``"topologies"``, or
        ``"tables"`` (what a run leaves, with columns and units).

    Returns
    -------
    list of dict
        One dict per entry with its ``name`` and ``summary``; sizes have ``mean_bytes``,
        ``median_bytes`` and ``max_bytes`` in place of a summary.

    """
    entries: list[dict[str, Any]] = json.loads(_core.catalogue(what))
    return entries
