"""Helpers of many tests: programs that `.ci/tools` lists, and the longest time to wait."""

from __future__ import annotations

import os
import shutil

import pytest

PATIENCE = 600
"""Seconds to wait for an event that must happen. Only a fault makes a test wait so long."""


def absent(name: str) -> None:
    """Skip the test for want of something, or fail where nothing may be skipped."""
    why = f"{name} is not installed (.ci/tools and requirements.txt list what tests need)"
    if os.environ.get("BACKWATER_NO_SKIP") == "1":
        pytest.fail(why)
    pytest.skip(why)


def program(*names: str) -> str:
    """Return the path of the first of these programs that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    absent(names[0])
    raise AssertionError
