"""Modules of a crate, and folders of a crate, import each other without cycles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from lint_architecture import CRATE_NAMES, code

Module = tuple[str, ...]
"""A module of a crate, by its path: ``("engine", "merge")``; the crate itself is ``()``."""


def module_of(path: str) -> Module:
    """Return the module of a source, by its path below ``crates/``."""
    parts = PurePosixPath(path).with_suffix("").parts[2:]
    return () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts


def use_paths(tree: str) -> list[str]:
    """Return the paths of a ``use`` declaration, one for each name in braces."""
    tree = " ".join(tree.split())
    head, brace, body = tree.partition("{")
    if not brace:
        return [tree]
    items, depth = [""], 0
    for letter in body.rpartition("}")[0]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [path for item in items if item.strip() for path in use_paths(head + item.strip())]


class Imports:
    """The imports between the modules of a crate."""

    USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
    PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")

    def __init__(self, sources: dict[str, str]) -> None:
        texts = {module_of(path): text for path, text in sources.items()}
        self.modules = set(texts)
        used = {
            module: [p for tree in self.USE.findall(text) for p in use_paths(tree)]
            for module, text in texts.items()
        }
        # For each module, the names that it imports, with their paths.
        self.names: dict[Module, dict[str, str]] = {
            module: {
                re.split(r" as |::", path)[-1].strip(): path.partition(" as ")[0] for path in paths
            }
            for module, paths in used.items()
        }
        self.edges: dict[Module, set[Module]] = {}
        for module, text in texts.items():
            paths = [path.partition(" as ")[0] for path in used[module]]
            paths += self.PATH.findall(self.USE.sub("", text))
            found = {self.resolve(module, path) for path in paths}
            self.edges[module] = {to for to in found if to is not None and to != module}

    def resolve(self, at: Module, path: str, depth: int = 0) -> Module | None:
        """Return the module that a path in module ``at`` refers to; None if in another crate.

        A name that a module imports leads to its definition, so that no cycle hides
        behind a parent that re-exports names.
        """
        first, *rest = path.strip().split("::")
        if first == "crate":
            here: Module = ()
        elif first == "super":
            here = at[:-1]
        elif first == "self":
            here = at
        elif (*at, first) in self.modules:
            here = (*at, first)
        else:
            return None
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
        while rest and (*here, rest[0]) in self.modules:
            here, rest = (*here, rest[0]), rest[1:]
        if rest and depth < 9 and rest[0] in self.names[here]:
            origin = self.resolve(here, self.names[here][rest[0]], depth + 1)
            return here if origin is None else origin
        return here

    def cycles(self) -> list[set[str]]:
        """Return the sets of modules that import each other in cycles.

        Imports between a module and those inside it do not count.
        """
        reach = {module: self.reached_from(module) for module in self.modules}
        cycles = (frozenset(to for to in reach[m] if m in reach[to]) for m in sorted(self.modules))
        return [{"::".join(module) for module in cycle} for cycle in dict.fromkeys(cycles) if cycle]

    def folder_cycles(self) -> list[set[str]]:
        """Return the sets of top-level folders and modules that import each other.

        A folder counts with all modules inside it. The root of the crate does not count.
        """
        edges: dict[str, set[str]] = {module[0]: set() for module in self.modules if module}
        for module, imported in self.edges.items():
            if module:
                edges[module[0]] |= {to[0] for to in imported if to} - {module[0]}
        reach = {folder: set(imported) for folder, imported in edges.items()}
        for middle in edges:
            for reached in reach.values():
                if middle in reached:
                    reached |= reach[middle]
        cycles = {
            frozenset(to for to in reached if folder in reach[to])
            for folder, reached in reach.items()
        }
        return sorted((set(cycle) for cycle in cycles if cycle), key=sorted)

    def reached_from(self, start: Module) -> set[Module]:
        """Return the modules that a module imports, directly or through others."""
        reached: set[Module] = set()
        open_modules = [start]
        while open_modules:
            at = open_modules.pop()
            for to in self.edges[at] - reached:
                inside = to[: len(at)] == at or at[: len(to)] == to
                if not inside:
                    reached.add(to)
                    open_modules.append(to)
        return reached


def imports_of(sources: dict[str, str]) -> Imports:
    """Return the imports of modules, given by name and text. The doctests below call it."""
    return Imports({f"x/src/{name}.rs": text for name, text in {"lib": "", **sources}.items()})


def modules_have_no_cycles() -> Iterator[str]:
    r"""Modules of a crate import each other without cycles.

    >>> imports_of({"a": "use crate::b::B;", "b": ""}).cycles()
    []
    >>> text = "use super::{c::C, a::{self, A}};"
    >>> [sorted(c) for c in imports_of({"a": "use crate::b::B;", "b": text, "c": ""}).cycles()]
    [['a', 'b']]
    >>> imports_of({"a": "fn f() { crate::b::g() }", "b": "use crate::a;"}).cycles() != []
    True
    >>> imports_of({"a/mod": "mod b;\nuse b::B;", "a/b": "use super::A;"}).cycles()
    []

    The parent re-exports a name. The cycle is that of its children.

    >>> children = {"a/b": "use super::c::C;", "a/c": "use super::B;"}
    >>> cycles = imports_of({"a/mod": "mod b; mod c;\nuse b::B;", **children}).cycles()
    >>> [sorted(cycle) for cycle in cycles]
    [['a::b', 'a::c']]
    """
    for crate in sorted(CRATE_NAMES):
        yield from (f"{crate}: {sorted(cycle)}" for cycle in Imports(code(crate)).cycles())


def folders_have_no_cycles() -> Iterator[str]:
    r"""Folders of a crate import each other without cycles.

    >>> sources = {"a": "use crate::b::B;", "b": "use crate::c;", "c": ""}
    >>> imports_of(sources).folder_cycles()
    []
    >>> [sorted(cycle) for cycle in imports_of(sources | {"c": "crate::a::f()"}).folder_cycles()]
    [['a', 'b', 'c']]

    Here folders form a cycle, and modules do not.

    >>> sources = {"a/mod": "", "a/x": "use crate::b::y::Y;", "a/z": ""}
    >>> sources |= {"b/mod": "", "b/y": "", "b/v": "use crate::a::z;"}
    >>> [sorted(cycle) for cycle in imports_of(sources).folder_cycles()]
    [['a', 'b']]
    >>> root = {"a/mod": "mod x;\nuse x::X;", "a/x": "use super::A;", "lib": "use a::A;"}
    >>> imports_of(root).folder_cycles()
    []
    """
    for crate in sorted(CRATE_NAMES):
        if found := Imports(code(crate)).folder_cycles():
            yield f"{crate}: {[sorted(cycle) for cycle in found]}"


CHECKS = (modules_have_no_cycles, folders_have_no_cycles)
