"""The sources of the repository as texts, for tests that read them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"


def split_rust(text: str) -> tuple[str, str]:
    """Return a Rust source as (code, tests): the tests are its ``#[cfg(test)]`` modules."""
    code: list[str] = []
    tests: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != "#[cfg(test)]":
            code.append(line)
            continue
        # rustfmt puts the closing brace of the module at the column of its opening line.
        end = line[: len(line) - len(line.lstrip())] + "}"
        for line in lines:
            tests.append(line)
            elsewhere = line.endswith(";") and "{" not in line and not line.startswith(" ")
            if line == end or elsewhere:
                break
    return "\n".join(code), "\n".join(tests)


def rust_sources(crate: str = "*") -> dict[str, str]:
    """Return the sources of a crate, or of all, by path below ``crates/``, unit tests included."""
    paths = sorted(CRATES.glob(f"{crate}/src/**/*.rs"))
    assert paths, f"there are no sources of {crate}"
    return {path.relative_to(CRATES).as_posix(): path.read_text("utf-8") for path in paths}


def is_test(path: str) -> bool:
    """Whether a source is a module of unit tests in a file of its own."""
    return Path(path).stem in ("tests", "testing") or "tests" in Path(path).parts
