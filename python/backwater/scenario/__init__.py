"""Scenarios, and sweeps over them."""

from __future__ import annotations

from backwater.scenario.builtin import catalogue, schema
from backwater.scenario.scenario import Scenario

__all__ = ["Scenario", "catalogue", "schema"]
