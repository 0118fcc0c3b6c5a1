"""The largest operation that any importer accepts."""

from __future__ import annotations

LONGEST_PS = 1 << 56
"""The longest computation or wait: 20 hours."""

LARGEST_BYTES = 1 << 48
"""The largest message, and the largest vector of a collective."""
