"""Documents are true: links lead to files, shown code is in the sources, and named files exist."""

from __future__ import annotations

import datetime
import json
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from sources import CRATES, ROOT, name_of, tracked

DOCUMENTS = tracked("*.md")
NOTEBOOKS = tracked("*.ipynb")
WIDTH, CELL_WIDTH, README_LINES = 120, 84, 60

SHOWN = re.compile(r"^<!-- from (\S+) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RULED = re.compile(r"\| ?:?--")
FILE = re.compile(r"/|\.(rs|py|md|toml|pyi)$")
CUT = re.compile(r"^\s*(?://|#) …$", re.MULTILINE)


def read(path: Path | str) -> str:
    """Return the text of a file, by its path or its name below the root."""
    return (ROOT / path).read_text(encoding="utf-8")


def without_code(text: str) -> str:
    """Return a document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def lines_are_short() -> Iterator[str]:
    """Lines of documents have at most 120 characters, except in tables; code in notebooks 84."""
    for path in DOCUMENTS:
        for number, line in enumerate(read(path).splitlines(), 1):
            if len(line) > WIDTH and not line.lstrip().startswith("|"):
                yield f"{name_of(path)}:{number}"
    for path in NOTEBOOKS:
        for cell in json.loads(read(path))["cells"]:
            if cell["cell_type"] == "code":
                long = [line for line in cell["source"] if len(line.rstrip("\n")) > CELL_WIDTH]
                yield from (f"{name_of(path)}: {line}" for line in long)
    if len(read("README.md").splitlines()) > README_LINES:
        yield f"README.md has more than {README_LINES} lines"


def links_lead_to_files() -> Iterator[str]:
    """A link leads to a file that exists."""
    for path in [*DOCUMENTS, *NOTEBOOKS]:
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(read(path))):
            local = target.partition("#")[0]
            if local and "://" not in target and not (path.parent / local).exists():
                yield f"{name_of(path)}: {target}"


def lists_and_tables_are_whole() -> Iterator[str]:
    """A blank line is before a list, and the lines of a table follow each other.

    The site shows them as text otherwise.
    """
    for path in DOCUMENTS:
        lines = without_code(read(path)).splitlines()
        for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            is_torn_list = before.strip() and not before.startswith(("- ", "  "))
            if line.startswith("- ") and is_torn_list:
                yield f"{name_of(path)}: {line}"
            if line.startswith("|") and not before.startswith("|") and not RULED.match(after):
                yield f"{name_of(path)}: {line}"


def missing(shown: str, source: str) -> str | None:
    r"""Return the first part of shown code that the source does not have in this order.

    The line ``// …`` stands for omitted lines.

    >>> source = "fn a() {\n    b();\n}\nfn b() {}\n"
    >>> missing("fn a() {\n    // …\n}\n", source)
    >>> missing("fn b() {}\n// …\nfn a() {\n", source)
    'fn a() {'
    >>> missing("    fn b() {}\n", source)
    '    fn b() {}'
    """
    at = 0
    for part in CUT.split(shown):
        part = part.strip("\n")
        found = source.find(part, at)
        if found < 0:
            return part
        at = found + len(part)
    return None


def shown_code_is_in_the_sources() -> Iterator[str]:
    """Code below a line ``<!-- from PATH -->`` is in that file."""
    for path in DOCUMENTS:
        for source, shown in SHOWN.findall(read(path)):
            if part := missing(shown, read(source) if (ROOT / source).is_file() else ""):
                yield f"{name_of(path)} shows code that is not in {source}:\n{part}"


def named_files_exist() -> Iterator[str]:
    """A file that a document names exists."""
    tops = "benches|crates|docs|papers|python|scenarios|specs|tools|validation"
    for path in DOCUMENTS:
        named = set(re.findall(rf"`((?:{tops})/[\w./*+-]+)`", without_code(read(path))))
        for name in sorted(named - {"docs/testplan/pfc"}):  # That folder is in SONiC's repository.
            if not [*ROOT.glob(name.strip("/"))]:
                yield f"{name_of(path)}: {name}"
    dataplane = CRATES / "dataplane/src"
    homes = [ROOT, ROOT / "docs", dataplane, dataplane / "switch", CRATES / "fabric/src", CRATES]
    homes += [CRATES / "scenario", CRATES / "kernel/src", ROOT / "python/backwater", ROOT / "tools"]
    text = without_code(read("docs/ARCHITECTURE.md"))
    named = {name for name in re.findall(r"`([\w./*-]+)`", text) if FILE.search(name)}
    for name in sorted(named):
        if not any([*home.glob(name.strip("/"))] for home in homes):
            yield f"docs/ARCHITECTURE.md: {name}"


def generated_parts_are_current() -> Iterator[str]:
    """Pictures, help and navigation agree with their sources."""
    drawn = runpy.run_path(str(ROOT / "tools/architecture.py"))["draw"]()
    if read("docs/architecture.svg") != drawn:
        yield "docs/architecture.svg: run python3 tools/architecture.py docs/architecture.svg"
    makefile = read("Makefile").replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    explained = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    for name in sorted(set(phony.split()) ^ set(explained)):
        yield f"Makefile: {name} has no help, or is not in .PHONY"
    navigation = read("mkdocs.yml").partition("\nnav:")[2]
    for path in tracked("docs/*.md"):
        page = path.relative_to(ROOT / "docs").as_posix()
        if f" {page}\n" not in navigation:
            yield f"mkdocs.yml: {page} is not in the navigation"
    site = runpy.run_path(str(ROOT / "tools/documentation.py"))
    if site["MADE_FROM"].keys() != site["GENERATED"].keys():
        yield "tools/documentation.py: the keys of MADE_FROM are not those of GENERATED"
    for folder in site["MADE_FROM"].values():
        if not (ROOT / folder).is_dir():
            yield f"tools/documentation.py: {folder} is not a folder"


def versions_agree() -> Iterator[str]:
    """All files state the version of Cargo.toml."""
    version = tomllib.loads(read("Cargo.toml"))["workspace"]["package"]["version"]
    first, second, *_ = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    dated = re.fullmatch(rf"{re.escape(version)} \((.+)\)", second)
    if first != "Unreleased" or not dated:
        yield f"CHANGELOG.md: expected the sections Unreleased and {version} (DATE)"
    else:
        datetime.date.fromisoformat(dated[1])
    citation = yaml.safe_load(read("CITATION.cff"))
    needed = {"cff-version", "message", "title", "authors", "license", "date-released"}
    if citation["version"] != version or not needed <= set(citation):
        yield f"CITATION.cff: expected the version {version} and the keys {sorted(needed)}"
    named = {
        "papers/backwater_papers/__init__.py": r'__version__ = "(.+)"',
        **dict.fromkeys(("Containerfile", "docs/guide/cluster.md"), r"backwater:([\w.]+)"),
    }
    for name, pattern in named.items():
        if set(re.findall(pattern, read(name))) != {version}:
            yield f"{name}: expected the version {version}"
    # Docker reads only the second, and would copy folders of builds, which are gigabytes.
    for name in (".containerignore", ".dockerignore"):
        if read(name) != "*\n!out/wheels\n":
            yield f"{name}: expected the wheels alone"


def numbers_of_frames_agree() -> Iterator[str]:
    """The page on frames and the dissector have the same numbers."""
    for name in ("docs/wire.md", "python/backwater/wireshark/backwater.lua"):
        for number in (0x88B5, 49790, 49791, 49792):
            if not any(text in read(name) for text in (f"0x{number:04x}", str(number))):
                yield f"{name} does not name {number}"


CHECKS = (
    *(lines_are_short, links_lead_to_files, lists_and_tables_are_whole),
    *(shown_code_is_in_the_sources, named_files_exist, generated_parts_are_current, versions_agree),
    numbers_of_frames_agree,
)
