"""NumPy and polars, which are loaded when they are first used, so that commands start fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["cs", "np", "pl"]

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    import polars.selectors as cs
else:

    class _Lazy:
        """A module that is imported when one of its attributes is read."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(import_module(self._name), attribute)

    np, pl, cs = _Lazy("numpy"), _Lazy("polars"), _Lazy("polars.selectors")
