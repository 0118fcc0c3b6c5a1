"""The report as a browser finds it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import backwater
from backwater.report import render, write_report

VOID = {"meta", "br", "link", "img"}


class Nesting(HTMLParser):
    """Fails where tags do not close in order, and gathers identifiers and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(comparison: backwater.Comparison) -> str:
    return (comparison.path / "report.html").read_text(encoding="utf-8")


def test_the_page_is_well_formed_with_unique_identifiers(page: str) -> None:
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []
    assert parser.tags.count("svg") == 5
    assert len(parser.ids) == len(set(parser.ids))
    linked = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', page))
    assert linked <= set(parser.ids)


def test_the_page_has_all_figures_and_sections(page: str) -> None:
    for figure in ("slowdown", "incast", "buffer", "pauses", "active"):
        assert f'<figure id="{figure}">' in page
    for heading in ("Results", "Audit", "To repeat it", "Not modelled"):
        assert f"<h2>{heading}</h2>" in page


def test_the_page_needs_no_network(page: str) -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(address.startswith("#") for address in addresses)
    assert "<script" not in page
    assert "@import" not in page


def test_the_page_says_how_to_repeat_it(page: str, comparison: backwater.Comparison) -> None:
    assert "backwater compare" in page
    assert "--schemes bfc,dcqcn" in page
    assert "hosts_per_leaf" in page
    for run in comparison.values():
        assert run.digest in page


def test_the_same_runs_make_the_same_page(page: str, comparison: backwater.Comparison) -> None:
    assert render(comparison.runs, comparison.about) == page


def test_a_run_where_nothing_happened_has_a_report(bare: backwater.Run) -> None:
    page = bare.report().read_text(encoding="utf-8")
    Nesting().feed(page)
    assert page.count("<svg") == 5


def test_what_is_wrong_stands_in_front(bare: backwater.Run) -> None:
    bare.summary["violations"] = [{"check": "conservation", "message": "1 byte < 2 & gone"}]
    bare.summary["ok"] = False
    bare.summary["warnings"] = ["nobody read <INT>"]
    page = render({"bfc": bare}, {"failed": {"dcqcn": "disk full"}, "interrupted": True})
    assert "1 byte &lt; 2 &amp; gone" in page
    assert "nobody read &lt;INT&gt;" in page
    assert "<b>dcqcn</b> failed: disk full" in page
    assert "The comparison was interrupted" in page
    assert page.index("nobody read") < page.index("<h2>Results</h2>")


def test_a_report_that_cannot_be_written_is_an_error(bare: backwater.Run, tmp_path: Path) -> None:
    with pytest.raises(backwater.RunError, match=r"report\.html: cannot write"):
        write_report(tmp_path / "missing" / "report.html", {"bfc": bare})
    with pytest.raises(backwater.RunError, match="no run"):
        render({})
