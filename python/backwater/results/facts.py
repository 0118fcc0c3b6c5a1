"""The summary of a run as one row of a table."""

from __future__ import annotations

from typing import Any

_LEFT_OUT = frozenset(
    {"key", "links", "asked", "checks", "not_modelled", "tiers", "warnings", "stall"}
)


def facts(summary: dict[str, Any]) -> dict[str, Any]:
    """Flatten a summary: ``fct.short.slowdown.p99`` and so on; lists are counted or left out."""
    row: dict[str, Any] = {}
    _flatten(summary, "", row)
    row["warnings"] = len(summary.get("warnings", ()))
    row["stalled"] = summary.get("ending") == "stalled"
    return row


def least(column: str) -> float:
    """Return what no value of a column is below: a slowdown is 1 or more, nothing is negative."""
    return 1.0 if ".slowdown." in column else 0.0


def _flatten(values: dict[str, Any], prefix: str, row: dict[str, Any]) -> None:
    for key, value in values.items():
        if not prefix and key in _LEFT_OUT:
            continue
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", row)
        elif isinstance(value, list):
            if key == "violations":
                row[key] = len(value)
        elif value is not None:
            row[f"{prefix}{key}"] = value
