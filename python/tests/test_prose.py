"""Lines of documents are short."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sources import ROOT

WIDTH = 120


def tracked(*patterns: str) -> list[Path]:
    """Return files that belong to the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def is_table(line: str) -> bool:
    """Whether a line of Markdown is a row of a table, which cannot be broken."""
    return line.lstrip().startswith("|")


@pytest.mark.parametrize("path", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_documents_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = enumerate(text.splitlines(), 1)
    assert [n for n, line in lines if len(line) > WIDTH and not is_table(line)] == []
