"""Reads the text files of other simulators, compressed or not."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backwater.errors import InputError


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not empty."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.strip()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
