"""Packet-level simulation of flow control and congestion control in lossless networks.

>>> import backwater as bw
>>> s = bw.Scenario("scenarios/first.toml").set({"switch.buffer": "8MB"}, seed=2)
>>> s.check()
[]
>>> r = bw.run(s, schemes=["bfc", "hpcc"])  # doctest: +SKIP
>>> r.table("flows")  # a polars DataFrame  # doctest: +SKIP
>>> r.plot.slowdown()  # a matplotlib figure  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater._base.attached import PROVIDED
from backwater.errors import InputError, Interrupted, RunError, ScenarioError

if TYPE_CHECKING:
    from backwater._core import __version__
    from backwater.results.results import Results, load
    from backwater.results.schema import columns
    from backwater.running.progress import Progress, Status
    from backwater.running.run import compare, run, sweep
    from backwater.scenario import Scenario, catalogue, schema

__all__ = [
    "InputError",
    "Interrupted",
    "Progress",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Status",
    "__version__",
    "catalogue",
    "columns",
    "compare",
    "load",
    "run",
    "schema",
    "sweep",
]

PROVIDED |= {
    "plot": "backwater.plots.drawing:Plots",
    "report": "backwater.report:write_report",
    "html": "backwater.report.notebook:table",
}

# These are imported on first use, so that `backwater --help` is fast.
_HOME = {
    "__version__": "backwater._core",
    "Progress": "backwater.running.progress",
    "Results": "backwater.results.results",
    "Scenario": "backwater.scenario",
    "Status": "backwater.running.progress",
    "catalogue": "backwater.scenario",
    "columns": "backwater.results.schema",
    "compare": "backwater.running.run",
    "load": "backwater.results.results",
    "run": "backwater.running.run",
    "schema": "backwater.scenario",
    "sweep": "backwater.running.run",
}

_OLD = {"Run": "Results", "Comparison": "Results", "Campaign": "Results"}
"""Names of version 0.1 and their successors."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _OLD or name in ("check", "resolve"):
        return _deprecated(name)
    if name not in _HOME:
        raise AttributeError(f"module 'backwater' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def _deprecated(name: str) -> Any:
    from backwater._base.deprecated import warn

    if name in _OLD:
        warn(f"backwater.{name}", f"backwater.{_OLD[name]}")
        return __getattr__(_OLD[name])
    what = {"check": "Scenario(…).check()", "resolve": "Scenario(…).resolved"}[name]
    warn(f"backwater.{name}", what)

    def old(scenario: Any, overrides: Any = (), **changes: Any) -> Any:
        found = __getattr__("Scenario")(scenario, overrides, **changes)
        return found.check() if name == "check" else found.resolved

    return old


def __dir__() -> list[str]:
    return sorted(__all__)
