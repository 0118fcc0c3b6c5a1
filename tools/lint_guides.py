"""Commands, scenarios and names of the API that documents show are those of this version."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import backwater
from backwater.cli import app
from lint_documents import DOCUMENTS, NOTEBOOKS, read
from sources import ROOT, name_of

GUIDES = [path for path in DOCUMENTS if "guide" in path.parts or path.name == "faq.md"]
GUIDES += [ROOT / "README.md", ROOT / "docs/thresholds.md"]


def _blocks(path: Path, language: str) -> list[str]:
    """Return the blocks of a language that a document shows."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(path), flags=re.MULTILINE | re.DOTALL)


def commands_are_valid() -> Iterator[str]:
    """A guide shows only commands and options that exist."""
    for path in GUIDES:
        for line in "\n".join(_blocks(path, "sh")).replace("\\\n", " ").splitlines():
            program, *words = shlex.split(line, comments=True) or [""]
            if program == "backwater" and (why := _refusal(words)):
                yield f"{name_of(path)}: {line}: {why}"


def _refusal(words: list[str]) -> str | None:
    command: click.Command = app
    try:
        while isinstance(command, click.Group):
            name, *words = words
            inner = command.get_command(click.Context(command), name)
            if inner is None:
                return f"there is no command {name}"
            command = inner
        command.make_context(command.name, words)
    except click.ClickException as error:
        return error.message
    return None


def scenarios_are_valid() -> Iterator[str]:
    """A scenario of a guide has no errors and no warnings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in GUIDES:
            for file, text in zip(("sizes.dist", "flows.csv"), _blocks(path, "text"), strict=False):
                (folder / file).write_text(text, encoding="utf-8")
            for text in _blocks(path, "toml"):
                if re.search(r"^name = ", text, flags=re.MULTILINE):
                    (folder / "shown.toml").write_text(text, encoding="utf-8")
                    for problem in backwater.Scenario(folder / "shown.toml").check():
                        if problem["severity"] != "note":
                            yield f"{name_of(path)}: {problem['text']}"


@cache
def _shown() -> dict[str, Any]:
    """Return the objects that the page of the API shows, by their dotted names."""
    page = read("docs/reference/api.md")
    return {name: _found(name) for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}


def _found(name: str) -> Any:
    """Return the object with a dotted name such as ``backwater.analysis.blame.slow``."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except AttributeError:
        return import_module(name)


def api_is_described() -> Iterator[str]:
    """The page of the API shows all public names, and each has a docstring."""
    yield from (f"{name} has no docstring" for name, it in _shown().items() if not it.__doc__)
    for name in backwater.__all__:
        if name != "__version__" and getattr(backwater, name) not in _shown().values():
            yield f"docs/reference/api.md does not show {name}"


def documents_use_public_names() -> Iterator[str]:
    """A name that a document imports or shows in code is on the page of the API."""
    modules = {name.rpartition(".")[0] for name in _shown()}
    for path in [*DOCUMENTS, *NOTEBOOKS]:
        if path.name == "CHANGELOG.md":
            continue
        named = set(re.findall(r"`(backwater(?:\.\w+){2,})\b", read(path)))
        for module, names in re.findall(r"from (backwater(?:\.\w+)+) import ([\w, ]+)", read(path)):
            named |= {f"{module}.{name.strip()}" for name in names.split(",")}
        for name in sorted(named - modules):
            if _found(name) not in _shown().values():
                yield f"{name_of(path)}: {name}"


CHECKS = (commands_are_valid, scenarios_are_valid, api_is_described, documents_use_public_names)
