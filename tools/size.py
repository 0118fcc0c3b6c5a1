"""Print the size of the Rust code, and the code that exceeds the limits of CONTRIBUTING.md.

Clippy measures functions: it counts the lines of a body without comments, and the parameters with
``self``. Files and macros are measured on their text, which ``cargo fmt`` has laid out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from sources import ROOT, is_test, rust_sources, split_rust

MOST_FILE_LINES = 600
MOST_MACRO_LINES = 80
FUNCTION_LINTS = {
    "clippy::too_many_lines": "functions above 70 lines",
    "clippy::too_many_arguments": "functions with more than 6 parameters",
}


class Place(NamedTuple):
    """Something that exceeds a limit."""

    size: int
    where: str
    name: str


def lines_of_code() -> Iterator[tuple[str, list[str]]]:
    """Yield the path and the lines of each source under ``crates/*/src``, without tests."""
    for path, text in rust_sources().items():
        if not is_test(path):
            yield f"crates/{path}", split_rust(text)[0].splitlines()


def macros(path: str, lines: list[str]) -> Iterator[Place]:
    """Yield the macros of a source with their lengths."""
    starts: list[tuple[int, str, str]] = []
    for number, line in enumerate(lines, 1):
        if found := re.match(r"( *)macro_rules! (\w+)", line):
            starts.append((number, found[1], found[2]))
        elif starts and line == starts[-1][1] + "}":
            start, _, name = starts.pop()
            yield Place(number - start + 1, f"{path}:{start}", name)


def functions() -> dict[str, list[Place]]:
    """Return the functions that exceed a limit, by lint."""
    command = ["cargo", "clippy", "--workspace", "--lib", "--locked", "--message-format=json", "--"]
    command += ["-A", "warnings"]
    command += [word for lint in FUNCTION_LINTS for word in ("--force-warn", lint)]
    environment = {**os.environ, "CLIPPY_CONF_DIR": str(ROOT / "tools" / "size")}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if ran.returncode:
        sys.exit("cargo clippy failed, see above; the code must compile")
    found: dict[str, list[Place]] = {lint: [] for lint in FUNCTION_LINTS}
    for line in ran.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        lint = (message.get("code") or {}).get("code")
        if lint not in found:
            continue
        span = message["spans"][0]
        counted = re.search(r"\((\d+)/\d+\)", message["message"])
        source = span["text"][0]["text"] if span["text"] else ""
        name = re.search(r"fn (\w+)", source)
        found[lint].append(
            Place(
                int(counted[1]) if counted else 0,
                f"{span['file_name']}:{span['line_start']}",
                name[1] if name else source.strip(),
            )
        )
    return {lint: sorted(set(places), reverse=True) for lint, places in found.items()}


def show(title: str, places: list[Place]) -> None:
    """Print the places that exceed one limit, the largest first."""
    print(f"\n{len(places)} {title}")
    for size, where, name in places:
        print(f"  {size:6,}  {where}  {name}".rstrip())


def main() -> None:
    """Print the lines of each crate, and the files, macros and functions above the limits."""
    lines_of = dict(lines_of_code())
    crates: dict[str, int] = {}
    for path, lines in lines_of.items():
        crate = path.split("/")[1]
        crates[crate] = crates.get(crate, 0) + len(lines)
    print("lines under crates/*/src without test code")
    for crate, count in crates.items():
        print(f"  {count:6,}  {crate}")
    print(f"  {sum(crates.values()):6,}  all")
    files = [
        Place(len(lines), path, "")
        for path, lines in lines_of.items()
        if len(lines) > MOST_FILE_LINES
    ]
    show(f"files above {MOST_FILE_LINES} lines", sorted(files, reverse=True))
    all_macros = (macro for path, lines in lines_of.items() for macro in macros(path, lines))
    large = [macro for macro in all_macros if macro.size > MOST_MACRO_LINES]
    show(f"macros above {MOST_MACRO_LINES} lines", sorted(large, reverse=True))
    for lint, places in functions().items():
        show(FUNCTION_LINTS[lint], places)


if __name__ == "__main__":
    main()
