"""Methods of results that higher folders provide, such as figures and reports.

Results do not import plots and reports. Instead :mod:`backwater` registers the provider of each
method here. The provider is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROVIDED: dict[str, str] = {}
"""Name of the provider of each method, as ``module:name``."""


def provided(name: str) -> Any:
    """Return the function or class that provides a method; import its module if necessary."""
    module, _, attribute = PROVIDED[name].partition(":")
    return getattr(import_module(module), attribute)
