"""The command of validation, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from validation.__main__ import main


@pytest.fixture
def validated() -> Callable[..., Result]:
    """Run ``python -m validation`` with some arguments."""

    def call(*arguments: str | int | Path) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return call
