"""What readers read: documents and comments keep their lines short and use the field's words."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from sources import ROOT

WIDTH = 120

INSTEAD = {
    r"houses?": "module, or the field's word",
    r"crews?": "worker",
    r"yards?": "mailbox",
    r"parcels?": "message",
    r"passages?(?!\.rs)": "step, path",
    r"habits?": "option, behaviour",
    r"walk(s|ed|ing)?": "path, search, go over",
    r"outages?": "failure of a link",
    r"look(s|ed|ing)?[- ]ahead": "prefetch; lookahead is that of parallel simulation",
    r"ask(s|ed|ing)? for": "request, need",
    r"at hand": "current, available",
    r"so many": "N, this many",
    r"whoever": "the node that, each that",
}
"""Words that a reader from the field would not look for, and what to write."""

PRIVATE = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def tracked(*patterns: str) -> list[Path]:
    """Return files that belong to the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def private_words(text: str) -> list[str]:
    """Return the lines of a text that have a word of the list, with their numbers."""
    return [
        f"{number}: {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in PRIVATE.finditer(line)
    ]


def is_table(line: str) -> bool:
    """Whether a line of Markdown is a row of a table, which cannot be broken."""
    return line.lstrip().startswith("|")


@pytest.mark.parametrize("path", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_of_documents_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = enumerate(text.splitlines(), 1)
    assert [n for n, line in lines if len(line) > WIDTH and not is_table(line)] == []


def test_documents_use_the_words_of_the_field() -> None:
    # Claims quote the texts of figure files.
    paths = [path for path in tracked("*.md") if path.name != "claims.md"]
    assert len(paths) > 30
    assert complaints(paths) == []


def test_sources_use_the_words_of_the_field() -> None:
    patterns = ("*.rs", "*.py", "*.pyi", "Makefile")
    paths = [path for path in tracked(*patterns) if path != Path(__file__).resolve()]
    assert len(paths) > 300
    assert complaints(paths) == []


def complaints(paths: list[Path]) -> list[str]:
    """Return each use of a private word, with file and line."""
    return [
        f"{path.relative_to(ROOT)}:{found}"
        for path in paths
        for found in private_words(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the crew asks\nfor lookahead", ["1: crew"]),
        ("Whoever looks ahead", ["1: Whoever", "1: looks ahead"]),
        ("a headroom of 24 packets", []),
    ],
)
def test_private_words_are_found(text: str, found: list[str]) -> None:
    assert private_words(text) == found
