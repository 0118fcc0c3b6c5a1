"""Pages of the documentation site that are made from other sources (hooks of mkdocs).

README.md becomes the first page. specs/, CHANGELOG.md and CONTRIBUTING.md get pages. The pages on
commands, tables and built-in names are generated from the program. Documents link to files and
folders of the repository, so that these links also work without the site. This module converts
them to links between pages. A link to a file without a page is replaced by its text.

The site also has each page as Markdown, ``llms.txt`` with links to all of them, and
``backwater.schema.json``, the JSON Schema of scenarios.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

WHOLE_FILES = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    **{f"specs/{p.name}": f"specs/{p.name}" for p in sorted((ROOT / "specs").glob("*.md"))},
}
"""Pages that are files outside docs/, by their path in the site."""

_navigation: Any = None
"""The navigation of the site that is built."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not files in docs/."""
    from mkdocs.structure.files import File

    def add(place: str, text: str) -> None:
        files.append(File.generated(config, place, content=text))

    for place, source in WHOLE_FILES.items():
        add(place, (ROOT / source).read_text(encoding="utf-8"))
    for place, make in GENERATED.items():
        add(place, make())
    return files


def on_config(config: Any) -> Any:
    """Add the files of rules to the navigation, and set PYTHONPATH for notebooks."""
    rules = [{"Overview": "specs/index.md"}]
    rules += [{_title(source): place} for place, source in WHOLE_FILES.items() if "specs/" in place]
    for section in config["nav"]:
        for entries in section.values():
            for entry in entries:
                if isinstance(entry, dict) and entry.get("Rules") == "specs":
                    entry["Rules"] = rules
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Convert links between files of the repository to links between pages."""
    place = page.file.src_uri
    source = WHOLE_FILES.get(place, f"docs/{place}")

    def moved(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, hash_, anchor = target.partition("#")
        repository = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = _place_of(repository)
        if there is None:
            return words if (ROOT / repository).exists() else match[0]
        link = posixpath.relpath(there, posixpath.dirname(place) or ".")
        return f"{picture}[{words}]({link}{hash_}{anchor})"

    parts = _FENCE.split(markdown)
    return "".join(p if p.startswith("```") else _LINK.sub(moved, p) for p in parts)


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Store the navigation, from which :func:`on_post_build` makes ``llms.txt``."""
    global _navigation
    _navigation = nav
    return nav


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Write the page as Markdown; return its HTML with the links of notebooks converted.

    References such as ``:func:`backwater.run``` in docstrings are shown as short names.
    """
    html = re.sub(r":(?:func|class|mod|meth|data):<code>~?(?:[\w.]+\.)?(\w+)</code>", _name, html)
    target = Path(page.file.abs_dest_path).with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(as_markdown(page, html), encoding="utf-8")
    if page.file.src_uri.endswith(".ipynb"):
        html = notebook_links(html)
    return html


def on_post_build(config: Any) -> None:
    """Write ``llms.txt``, which links to the Markdown of all pages, and the JSON Schema."""
    from backwater.scenario import schema

    site = Path(config["site_dir"])
    text = contents(_navigation, config["site_name"], config["site_description"])
    (site / "llms.txt").write_text(text, encoding="utf-8")
    described = json.dumps(schema(), ensure_ascii=False, indent=2)
    (site / "backwater.schema.json").write_text(described, encoding="utf-8")


def contents(navigation: Any, name: str, description: str) -> str:
    """Return the text of ``llms.txt``, in the format of llmstxt.org."""
    lines = [f"# {name}", "", f"> {description}", ""]
    for section in navigation.items:
        lines += [f"## {section.title}", ""]
        lines += [f"- [{page.title}]({_markdown_of(page)})" for page in _pages(section)]
        lines.append("")
    return "\n".join(lines)


def _pages(section: Any) -> Iterator[Any]:
    for item in section.children:
        if item.is_section:
            yield from _pages(item)
        else:
            yield item


def _markdown_of(page: Any) -> str:
    return Path(page.file.dest_uri).with_suffix(".md").as_posix()


def as_markdown(page: Any, html: str) -> str:
    """Return a page as Markdown. Its links lead to the Markdown of other pages."""
    if page.file.src_uri.endswith(".ipynb"):
        from nbconvert import MarkdownExporter

        exporter: Any = MarkdownExporter
        text = str(exporter().from_filename(page.file.abs_src_path)[0])
    elif re.search(r"^::: ", page.markdown, re.MULTILINE):
        from markdownify import markdownify

        html = re.sub(r'<a class="headerlink".*?</a>', "", html)
        text = markdownify(html, heading_style="ATX").replace(".html", ".md")
    else:
        text = page.markdown
    return re.sub(r"(\]\((?![a-z]+:)[^)\s]*)\.ipynb(?=[)#])", r"\1.md", text)


def notebook_links(html: str) -> str:
    """Convert links of a notebook to links to pages. mkdocs converts only links in Markdown."""
    return re.sub(r'(href="(?![a-z]+:)[^"#]*)\.(?:md|ipynb)(?=["#])', r"\1.html", html)


def _name(match: re.Match[str]) -> str:
    return f"<code>{match[1]}</code>"


def _place_of(repository: str) -> str | None:
    """Return the page of a file or folder of the repository, as its path in the site, or None."""
    for place, source in (WHOLE_FILES | MADE_FROM).items():
        if source == repository:
            return place
    inside = repository.removeprefix("docs/")
    return inside if inside != repository and (ROOT / repository).is_file() else None


def _title(source: str) -> str:
    first = (ROOT / source).read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").partition(":")[0]


# --- Pages that are generated from the program ------------------------------------------------


def commands() -> str:
    """Return a page with the help of every command, as Markdown."""
    import click

    from backwater.cli import app

    def shown(command: click.Command, words: list[str]) -> Iterator[str]:
        context = click.Context(command, info_name=" ".join(words), max_content_width=96)
        yield f"## {' '.join(words)}\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from shown(inner, [*words, name])

    about = "Exit codes: [what a version promises](../stability.md)."
    return f"# Commands\n\n{about}\n\n" + "\n".join(shown(app, ["backwater"]))


def run_tables() -> str:
    """Return a page that describes the tables of a run, as Markdown."""
    from backwater.scenario import catalogue

    lines = [
        "# Tables of a run",
        "",
        "A run is a directory. It holds `resolved.toml` (every value that was used, with its "
        "source), `summary.json`, and these tables as Parquet files. Times are in picoseconds, "
        "sizes in bytes, rates in bits per second.",
        "",
    ]
    for table in catalogue("tables"):
        when = f"With `{table['record']}` in the scenario. " if table["record"] else ""
        lines += [f"## {table['file']}", "", f"{when}{table['about']}", ""]
        lines += ["| column | type | |", "|---|---|---|"]
        lines += [f"| `{c['name']}` | {c['type']} | {c['about']} |" for c in table["columns"]]
        lines.append("")
    return "\n".join(lines)


def built_in() -> str:
    """Return a page that lists schemes, workloads and topologies, as Markdown."""
    from backwater._base.units import bytes_text
    from backwater.scenario import catalogue

    lines = ["# Built in", "", "## Schemes", ""]
    lines += ["Presets (`backwater list schemes`). Each of their choices can be changed alone.", ""]
    lines += ["| preset | |", "|---|---|"]
    lines += [f"| `{s['name']}` | {s['summary']} |" for s in catalogue("schemes")]
    lines += ["", "## Flow sizes", "", "`backwater list workloads`; a name is `name@origin`.", ""]
    lines += ["| name | mean | median | largest |", "|---|---|---|---|"]
    for sizes in catalogue("workloads"):
        numbers = (bytes_text(sizes[f"{part}_bytes"]) for part in ("mean", "median", "max"))
        lines.append(f"| `{sizes['name']}` | {' | '.join(numbers)} |")
    lines += ["", "## Topologies", "", "| kind | |", "|---|---|"]
    lines += [f"| `{t['name']}` | {t['summary']} |" for t in catalogue("topologies")]
    return "\n".join(lines) + "\n"


def rules() -> str:
    """Return a page that lists the files of rules, with their titles and numbers of rules."""
    lines = [
        "# Rules",
        "",
        "These rules define the behaviour of the simulator. Each rule has a number, its place in "
        "its source, units, and a rank: paper, authors' code, authors' reply, or our choice with "
        "the reason. The code cites the rule at the line that decides, and a test names it.",
        "",
        "| file | rules |",
        "|---|---|",
    ]
    for place, source in WHOLE_FILES.items():
        if place.startswith("specs/"):
            text = (ROOT / source).read_text(encoding="utf-8")
            count = len(re.findall(r"^- \*\*[A-Z0-9]+-\d+\*\*", text, flags=re.MULTILINE))
            lines.append(f"| [{_title(source)}]({posixpath.basename(place)}) | {count} |")
    return "\n".join(lines) + "\n"


def gallery() -> str:
    """Return a page that shows all figures, each with the number of its claims that hold."""
    lines = ["# Figures", ""]
    lines += [
        "Every figure of the papers on HPCC, BFC, Floodgate and SPFC that a simulator can "
        "reproduce, and some of other papers. Each picture has the number of claims that hold "
        "here. It leads to the list of claims. `backwater paper NAME` reproduces a figure.",
        "",
    ]
    for folder, name in _PAPERS.items():
        figures = sorted((ROOT / "docs/figures" / folder).glob("*.json"), key=_as_in_the_paper)
        lines += [f"## {name}", "", '<div class="gallery">']
        lines += [_card(folder, path) for path in figures]
        lines += ["</div>", ""]
    return "\n".join(lines)


_PAPERS = {
    "hpcc": "HPCC",
    "bfc": "BFC",
    "floodgate": "Floodgate",
    "spfc": "SPFC",
    "swift": "Swift",
    "powertcp": "PowerTCP",
    "ai": "Collectives of AI fabrics",
}
"""Folders of docs/figures, in the order of the gallery."""


def _as_in_the_paper(path: Path) -> tuple[bool, str]:
    """Return a sort key that puts figures and tables of a paper before our own figures."""
    return not path.stem.startswith(("fig", "table")), path.stem


def _card(paper: str, path: Path) -> str:
    figure = json.loads(path.read_text(encoding="utf-8"))
    claims = figure["claims"]
    holding = sum(claim["verdict"] == "holds" for claim in claims)
    verdict = f"{holding} of {len(claims)} claims hold" if claims else "no claims"
    stated = any(claim["source"] == "paper" for claim in claims) or paper == "ai"
    anchor = _anchor(figure["figure"]) if stated else paper
    return (
        f'<a class="figure" href="figures/claims.html#{anchor}">'
        f'<img src="figures/{paper}/{path.stem}.png" alt="" loading="lazy">'
        f"<strong>{figure['figure']}</strong> {figure['title']}"
        f"<small>{figure['place']}. {verdict}.</small></a>"
    )


def _anchor(heading: str) -> str:
    """Return the anchor of a heading in the site, as Python-Markdown's extension toc forms it."""
    from markdown.extensions.toc import slugify

    return str(slugify(heading, "-"))


GENERATED: dict[str, Callable[[], str]] = {
    "figures.md": gallery,
    "reference/commands.md": commands,
    "reference/tables.md": run_tables,
    "reference/built-in.md": built_in,
    "specs/index.md": rules,
}
"""Pages that a function generates, by their path in the site."""

MADE_FROM = {
    "figures.md": "docs/figures",
    "reference/commands.md": "python/backwater/commands",
    "reference/tables.md": "crates/fabric/src/record",
    "reference/built-in.md": "crates/traffic/data",
    "specs/index.md": "specs",
}
"""Folders that documents link to for these pages: the sources of the generated text."""
