"""The hooks of the documentation site."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import backwater
from tools import ROOT

SITE = runpy.run_path(str(ROOT / "tools/documentation.py"))


def test_links_to_files_become_links_to_pages() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guide/tutorial-ai.md"))
    text = "[a](../figures) [b](../../specs) [c](../../crates/fabric/src/record) [d](../faq.md#x)"
    assert SITE["on_page_markdown"](f"{text} [e](../../Makefile)", page, None, None) == (
        "[a](../figures.md) [b](../specs/index.md) [c](../reference/tables.md) [d](../faq.md#x) e"
    )


def test_links_of_notebooks_lead_to_pages() -> None:
    html = '<a href="../scenario.md#keys"> <a href="start.ipynb"> <a href="https://a.org/b.md">'
    assert SITE["notebook_links"](html) == (
        '<a href="../scenario.html#keys"> <a href="start.html"> <a href="https://a.org/b.md">'
    )


def test_each_page_exists_as_markdown() -> None:
    text = "[a](../notebooks/start.ipynb#x) [b](../faq.md)"
    page = SimpleNamespace(file=SimpleNamespace(src_uri="guide/a.md"), markdown=text)
    assert SITE["as_markdown"](page, "") == "[a](../notebooks/start.md#x) [b](../faq.md)"


def test_the_contents_list_the_pages_of_nested_sections() -> None:
    def page(title: str, place: str) -> SimpleNamespace:
        return SimpleNamespace(title=title, file=SimpleNamespace(dest_uri=place), is_section=False)

    def section(title: str, *children: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(title=title, children=children, is_section=True)

    rules = section("Rules", page("BFC", "specs/bfc.html"))
    navigation = SimpleNamespace(items=[section("Model", page("Parts", "parts.html"), rules)])
    assert SITE["contents"](navigation, "Name", "About.") == (
        "# Name\n\n> About.\n\n## Model\n\n- [Parts](parts.md)\n- [BFC](specs/bfc.md)\n"
    )


def test_the_site_has_the_schema_of_scenarios(tmp_path: Path) -> None:
    SITE["on_nav"](SimpleNamespace(items=[]), {}, None)
    config = {"site_name": "Name", "site_description": "About.", "site_dir": str(tmp_path)}
    SITE["on_post_build"](config)
    assert json.loads((tmp_path / "backwater.schema.json").read_text()) == backwater.schema()
    assert (tmp_path / "llms.txt").read_text().startswith("# Name\n")
