"""Documents are true: links lead somewhere, shown code is the sources', named files are there."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import pytest
from sources import ROOT
from test_prose import tracked

import backwater

DOCUMENTS = tracked("*.md")
SHOWN = re.compile(r"^<!-- from (\S+) -->\n+```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RULED = re.compile(r"\| ?:?--")
CUT = re.compile(r"^\s*(?://|#) …$", re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def without_code(text: str) -> str:
    """Return a document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", [*DOCUMENTS, *tracked("*.ipynb")], ids=name_of)
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text(encoding="utf-8")))
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [target for target in local if target and not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_lists_and_tables_are_whole(path: Path) -> None:
    """The site takes a list for text unless a blank line is before it, and so a table's rows
    behind one."""
    lines = without_code(path.read_text(encoding="utf-8")).splitlines()
    torn = []
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if line.startswith("- ") and before.strip() and not before.startswith(("- ", "  ")):
            torn.append(line)
        if line.startswith("|") and not before.startswith("|") and not RULED.match(after):
            torn.append(line)
    assert torn == []


def test_pages_that_are_made_have_a_folder_to_link_to() -> None:
    made_from = site()["MADE_FROM"]
    assert made_from.keys() == site()["GENERATED"].keys()
    assert [folder for folder in made_from.values() if not (ROOT / folder).is_dir()] == []


def test_links_to_files_become_links_to_pages() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guide/tutorial-ai.md"))
    text = "[a](../figures) [b](../../specs) [c](../../crates/fabric/src/record) [d](../faq.md#x)"
    assert site()["on_page_markdown"](f"{text} [e](../../Makefile)", page, None, None) == (
        "[a](../figures.md) [b](../specs/index.md) [c](../reference/tables.md) [d](../faq.md#x) e"
    )


def test_links_of_notebooks_lead_to_pages() -> None:
    html = '<a href="../scenario.md#keys"> <a href="start.ipynb"> <a href="https://a.org/b.md">'
    assert site()["notebook_links"](html) == (
        '<a href="../scenario.html#keys"> <a href="start.html"> <a href="https://a.org/b.md">'
    )


def test_each_page_exists_as_markdown() -> None:
    text = "[a](../notebooks/start.ipynb#x) [b](../faq.md)"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guide/a.md"), markdown=text)
    assert site()["as_markdown"](page, "") == "[a](../notebooks/start.md#x) [b](../faq.md)"


def test_the_contents_list_the_pages_of_nested_sections() -> None:
    def page(title: str, place: str) -> SimpleNamespace:
        return SimpleNamespace(title=title, file=SimpleNamespace(dest_uri=place), is_section=False)

    def section(title: str, *children: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(title=title, children=children, is_section=True)

    rules = section("Rules", page("BFC", "specs/bfc.html"))
    navigation = SimpleNamespace(items=[section("Model", page("Parts", "parts.html"), rules)])
    assert site()["contents"](navigation, "Name", "About.") == (
        "# Name\n\n> About.\n\n## Model\n\n- [Parts](parts.md)\n- [BFC](specs/bfc.md)\n"
    )


def test_the_site_has_the_schema_of_scenarios(tmp_path: Path) -> None:
    hooks = site()
    hooks["on_nav"](SimpleNamespace(items=[]), {}, None)
    config = {"site_name": "Name", "site_description": "About.", "site_dir": str(tmp_path)}
    hooks["on_post_build"](config)
    assert json.loads((tmp_path / "backwater.schema.json").read_text()) == backwater.schema()
    assert (tmp_path / "llms.txt").read_text().startswith("# Name\n")


@cache
def site() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools/documentation.py"))


class Block(NamedTuple):
    """Code that a document shows."""

    document: str
    source: str
    text: str


def blocks(text: str, document: str) -> Iterator[Block]:
    """Find the blocks of a document that say from which file they are.

    Such a block stands below a line ``<!-- from PATH -->``. A line ``// …`` in it stands for
    what is left out.
    """
    for source, shown in SHOWN.findall(text):
        yield Block(document, source, shown)


def missing(block: Block, source: str) -> str | None:
    """Return the first part of a block that its source does not have, in order."""
    at = 0
    for part in CUT.split(block.text):
        part = part.strip("\n")
        found = source.find(part, at)
        if found < 0:
            return part
        at = found + len(part)
    return None


def test_shown_code_is_that_of_the_sources() -> None:
    stale = []
    for path in DOCUMENTS:
        for block in blocks(path.read_text(encoding="utf-8"), name_of(path)):
            source = ROOT / block.source
            text = source.read_text(encoding="utf-8") if source.is_file() else ""
            if part := missing(block, text):
                stale.append(f"{block.document} shows what {block.source} has not:\n{part}")
    assert not stale, "\n\n".join(stale)


@pytest.mark.parametrize(
    ("shown", "part"),
    [
        ("fn a() {\n    // …\n}\n", None),
        ("fn b() {}\n// …\nfn a() {\n", "fn a() {"),
        ("    fn b() {}\n", "    fn b() {}"),
    ],
)
def test_shown_code_is_compared_part_by_part(shown: str, part: str | None) -> None:
    (block,) = blocks(f"text\n\n<!-- from x.rs -->\n```rust\n{shown}```\n", "a.md")
    assert missing(block, "fn a() {\n    b();\n}\nfn b() {}\n") == part


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_files_that_documents_name_in_full_are_there(path: Path) -> None:
    text = without_code(path.read_text(encoding="utf-8"))
    tops = "benches|crates|docs|papers|python|scenarios|specs|tools|validation"
    named = re.findall(rf"`((?:{tops})/[\w./*+-]+)`", text)
    foreign = {"docs/testplan/pfc"}  # Of SONiC's repository.
    assert sorted(n for n in {*named} - foreign if not [*ROOT.glob(n.strip("/"))]) == []


def test_files_that_the_architecture_names_are_there() -> None:
    text = without_code((ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8"))
    dataplane, fabric = ROOT / "crates/dataplane/src", ROOT / "crates/fabric/src"
    crates, package = ROOT / "crates", ROOT / "python/backwater"
    homes = [ROOT, ROOT / "docs", dataplane, fabric, crates, package, ROOT / "python/tests"]
    homes += [dataplane / "switch", ROOT / "crates/scenario", ROOT / "crates/kernel/src"]
    named = {
        name
        for name in re.findall(r"`([\w./*-]+)`", text)
        if re.search(r"/|\.(rs|py|md|toml|pyi)$", name)
    }
    assert len(named) > 40
    assert sorted(n for n in named if not any([*home.glob(n.strip("/"))] for home in homes)) == []


def test_the_picture_of_the_architecture_is_what_its_script_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "tools/architecture.py"))["draw"]()
    assert (ROOT / "docs/architecture.svg").read_text(encoding="utf-8") == drawn


def test_make_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    explained = re.findall(r"^([a-z-]+):.*## \S", text, re.MULTILINE)
    assert sorted(phony.split()) == sorted(explained)


# --- Guides -----------------------------------------------------------------------------------

GUIDES = [path for path in DOCUMENTS if "guide" in path.parts or path.name == "faq.md"]
GUIDES += [ROOT / "README.md", ROOT / "docs/thresholds.md"]


def code(path: Path, language: str) -> list[str]:
    """Return the blocks of a language that a document shows."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_guides_show_commands_that_there_are(path: Path) -> None:
    """Each command with its options is one that the command line takes."""
    from backwater.cli import app

    for line in "\n".join(code(path, "sh")).replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or [""]
        if program != "backwater":
            continue
        command: click.Command = app
        while isinstance(command, click.Group):
            inner = command.get_command(click.Context(command), words.pop(0))
            assert inner is not None, line
            command = inner
        command.make_context(command.name, words)


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_scenarios_in_guides_are_good(path: Path, tmp_path: Path) -> None:

    for name, text in zip(("sizes.dist", "flows.csv"), code(path, "text"), strict=False):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for text in code(path, "toml"):
        if re.search(r"^name = ", text, flags=re.MULTILINE) is None:
            continue
        scenario = tmp_path / "shown.toml"
        scenario.write_text(text, encoding="utf-8")
        found = backwater.Scenario(scenario).check()
        assert [problem for problem in found if problem["severity"] != "note"] == []


@cache
def shown_of_the_api() -> dict[str, Any]:
    """What the page of the API shows, by name."""
    page = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
    return {name: found(name) for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}


def found(name: str) -> Any:
    """Return the object with a dotted name such as ``backwater.analysis.blame.slow``."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except AttributeError:
        return import_module(name)


def test_the_api_shows_what_is_promised() -> None:
    shown = shown_of_the_api()
    assert [name for name, what in shown.items() if not what.__doc__] == []
    promised = {name: getattr(backwater, name) for name in backwater.__all__}
    assert [name for name, what in promised.items() if what not in shown.values()] == [
        "__version__"
    ]


DESCRIBING = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]


@pytest.mark.parametrize("path", [*DESCRIBING, *tracked("*.ipynb")], ids=name_of)
def test_documents_use_nothing_private(path: Path) -> None:
    """What they import or name in code is on the page of the API."""
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`(backwater(?:\.\w+){2,})\b", text))
    for module, names in re.findall(r"from (backwater(?:\.\w+)+) import ([\w, ]+)", text):
        named |= {f"{module}.{name.strip()}" for name in names.split(",")}
    shown = shown_of_the_api()
    modules = {name.rpartition(".")[0] for name in shown}
    private = [n for n in named - modules if found(n) not in shown.values()]
    assert private == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in tracked("docs/*.md")}
    assert sorted(page for page in pages if f" {page}\n" not in navigation) == []


def test_readme_fits_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
