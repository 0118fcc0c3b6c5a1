"""Sources of the repository as texts, for the programs that check or measure them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATES = ROOT / "crates"


def tracked(*patterns: str) -> list[Path]:
    """Return the files of the repository that match one of the patterns."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def name_of(path: Path) -> str:
    """Return the path of a file below the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def split_rust(text: str) -> tuple[str, str]:
    r"""Return a Rust source as (code, tests). The tests are its ``#[cfg(test)]`` items.

    >>> split_rust("a\n#[cfg(test)]\nmod tests {\n    b\n}\nc")
    ('a\nc', 'mod tests {\n    b\n}')
    >>> split_rust("a\n#[cfg(test)]\nmod tests;\nc")
    ('a\nc', 'mod tests;')
    """
    code: list[str] = []
    tests: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != "#[cfg(test)]":
            code.append(line)
            continue
        # rustfmt puts the closing brace of an item at the column of its attribute.
        end = line[: len(line) - len(line.lstrip())] + "}"
        item = next(line for line in lines if not line.lstrip().startswith("#["))
        tests.append(item)
        while not item.endswith(";") and line != end:
            line = next(lines)
            tests.append(line)
    return "\n".join(code), "\n".join(tests)


def rust_sources(crate: str = "*") -> dict[str, str]:
    """Return the sources of a crate, or of all, by path below ``crates/``, unit tests included."""
    paths = sorted(CRATES.glob(f"{crate}/src/**/*.rs"))
    assert paths, f"there are no sources of {crate}"
    return {path.relative_to(CRATES).as_posix(): path.read_text("utf-8") for path in paths}


def is_test(path: str) -> bool:
    """Return True if a source is a module of unit tests in a file of its own."""
    return Path(path).stem in ("tests", "testing") or "tests" in Path(path).parts
