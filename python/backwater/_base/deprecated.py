"""Names of version 0.1 that work for one more version, with a warning."""

from __future__ import annotations

import warnings


def warn(old: str, new: str) -> None:
    """Warn the caller of the calling function that a name was replaced."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=4)
