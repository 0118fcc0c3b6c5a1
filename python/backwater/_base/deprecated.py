"""Names of version 0.1 that work for one more version, with a warning."""

from __future__ import annotations

import warnings


def warn(old: str, new: str) -> None:
    """Issue a ``DeprecationWarning`` for a replaced name, at the user's line three calls up."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=4)
