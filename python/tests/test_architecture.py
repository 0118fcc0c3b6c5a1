"""The invariants of docs/ARCHITECTURE.md that a program can check."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"kernel", "dataplane", "fabric", "traffic", "scenario", "results", "python"}
MAY_USE = {
    "kernel": set(),
    "dataplane": set(),
    "traffic": {"kernel"},
    "fabric": {"kernel", "dataplane", "traffic"},
    "results": {"kernel", "dataplane", "traffic", "fabric"},
}


@pytest.mark.parametrize("crate", MAY_USE)
def test_a_crate_depends_only_on_those_below_it(crate: str) -> None:
    manifest = tomllib.loads((ROOT / f"crates/{crate}/Cargo.toml").read_text(encoding="utf-8"))
    assert set(manifest.get("dependencies", {})) & OURS <= MAY_USE[crate]


def code(crate: str) -> list[tuple[Path, str]]:
    """Sources of a crate without comments and unit tests."""
    found = []
    for path in sorted((ROOT / f"crates/{crate}/src").rglob("*.rs")):
        text = path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
        found.append((path, re.sub(r"//[^\n]*", "", text)))
    assert found
    return found


@pytest.mark.parametrize("crate", ["kernel", "dataplane", "traffic"])
def test_the_lower_crates_touch_no_clock_file_or_output(crate: str) -> None:
    forbidden = r"std::(fs|time|net|io|thread|env)\b|print(ln)?!|\bInstant\b|SystemTime|RandomState"
    assert [
        (p.name, re.findall(forbidden, t)) for p, t in code(crate) if re.search(forbidden, t)
    ] == []


def test_files_are_read_and_written_in_two_crates_only() -> None:
    users = {c for c in OURS for _, text in code(c) if re.search(r"std::fs\b", text)}
    assert users <= {"scenario", "results"}


def test_one_crate_knows_python_and_one_module_is_unsafe() -> None:
    users = {c for c in OURS for _, text in code(c) if "pyo3" in text}
    assert users == {"python"}
    unsafe = {p.name for c in OURS for p, text in code(c) if re.search(r"\bunsafe\s*\{", text)}
    assert unsafe == {"prefetch.rs"}
