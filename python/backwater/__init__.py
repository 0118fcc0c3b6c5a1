"""Packet-level simulation of flow control and congestion control in lossless networks.

>>> import backwater
>>> comparison = backwater.compare("scenarios/demo.toml", ["bfc", "hpcc"])  # doctest: +SKIP
>>> comparison["bfc"].flows  # a polars DataFrame                           # doctest: +SKIP
>>> comparison.plot.slowdown()  # a matplotlib figure                       # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, Interrupted, RunError, ScenarioError

if TYPE_CHECKING:
    from backwater._core import __version__
    from backwater.results import Comparison, Run, load
    from backwater.results.dataset import Campaign
    from backwater.running.simulate import Progress, catalogue, check, compare, resolve, run
    from backwater.running.sweeping import sweep

__all__ = [
    "Campaign",
    "Comparison",
    "InputError",
    "Interrupted",
    "Progress",
    "Run",
    "RunError",
    "ScenarioError",
    "__version__",
    "catalogue",
    "check",
    "compare",
    "load",
    "resolve",
    "run",
    "sweep",
]

# Read on first use, so that `backwater --help` does not wait for what it does not need.
_HOME = {
    "__version__": "backwater._core",
    "Campaign": "backwater.results.dataset",
    "Comparison": "backwater.results",
    "Run": "backwater.results",
    "load": "backwater.results",
    "Progress": "backwater.running.simulate",
    "catalogue": "backwater.running.simulate",
    "check": "backwater.running.simulate",
    "compare": "backwater.running.simulate",
    "resolve": "backwater.running.simulate",
    "run": "backwater.running.simulate",
    "sweep": "backwater.running.sweeping",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'backwater' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
