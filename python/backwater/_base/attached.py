"""Methods of results that higher folders provide, such as figures and reports.

Results import nothing of plots and reports. :mod:`backwater` names here what provides them, and
they are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PROVIDED: dict[str, str] = {}
"""``module:name`` of what provides each."""


def provided(name: str) -> Any:
    """Import what provides a method."""
    module, _, attribute = PROVIDED[name].partition(":")
    return getattr(import_module(module), attribute)
