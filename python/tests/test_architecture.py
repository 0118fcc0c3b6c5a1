"""The invariants of docs/ARCHITECTURE.md that a program can check."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest
from sources import CRATES, ROOT, is_test, rust_sources, split_rust

OURS = {
    *("kernel", "dataplane", "fabric", "traffic", "scenario", "results", "wire", "live"),
    "python",
}
MAY_USE = {
    "kernel": set(),
    "dataplane": set(),
    "wire": {"dataplane"},
    "traffic": {"kernel"},
    "fabric": {"kernel", "dataplane", "traffic", "wire"},
    "results": {"kernel", "dataplane", "traffic", "fabric"},
    "live": {"dataplane", "fabric", "results", "scenario", "traffic", "wire"},
}


FOLDERS = (
    *("_base", "scenario", "results", "workloads", "analysis", "plots", "report", "running"),
    *("importers", "commands"),
)
"""Folders of the Python package; each imports only from itself and from those before it."""


def imported(path: Path) -> Iterator[str]:
    """Yield the folders of the package that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "backwater" and rest.partition(".")[0] in FOLDERS:
                yield rest.partition(".")[0]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_the_package_imports_only_from_those_above_it(folder: str) -> None:
    allowed = set(FOLDERS[: FOLDERS.index(folder) + 1])
    files = sorted((ROOT / "python/backwater" / folder).rglob("*.py"))
    assert files
    found = {str(path.relative_to(ROOT)): set(imported(path)) - allowed for path in files}
    assert {name: upward for name, upward in found.items() if upward} == {}


def test_every_folder_of_the_package_has_a_place() -> None:
    package = ROOT / "python/backwater"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert folders - {"wireshark"} == set(FOLDERS)


@pytest.mark.parametrize("crate", MAY_USE)
def test_a_crate_depends_only_on_those_below_it(crate: str) -> None:
    manifest = tomllib.loads((CRATES / f"{crate}/Cargo.toml").read_text(encoding="utf-8"))
    assert set(manifest.get("dependencies", {})) & OURS <= MAY_USE[crate]


def test_nodes_on_the_wall_clock_use_no_simulator() -> None:
    manifest = tomllib.loads((CRATES / "live/Cargo.toml").read_text(encoding="utf-8"))
    optional = {name for name, kind in manifest["dependencies"].items() if kind.get("optional")}
    assert optional & OURS == {"fabric", "results", "scenario"}
    assert {f"dep:{name}" for name in optional} <= set(manifest["features"]["simulator"])
    users = {
        path.split("/")[2]
        for path, text in code("live").items()
        if re.search(r"\b(fabric|results|scenario)::", text)
    }
    assert users
    assert not users & {"wall", "switch", "host"}


def code(crate: str) -> dict[str, str]:
    """Return the sources of a crate without comments and unit tests, by path."""
    return {
        path: re.sub(r"//[^\n]*", "", split_rust(text)[0])
        for path, text in rust_sources(crate).items()
        if not is_test(path)
    }


@pytest.mark.parametrize("crate", ["kernel", "dataplane", "wire", "traffic"])
def test_the_lower_crates_touch_no_clock_file_or_output(crate: str) -> None:
    forbidden = r"std::(fs|time|net|io|thread|env)\b|print(ln)?!|\bInstant\b|SystemTime|RandomState"
    found = {path: re.findall(forbidden, text) for path, text in code(crate).items()}
    assert {path: words for path, words in found.items() if words} == {}


def test_files_are_read_and_written_in_two_crates_only() -> None:
    users = {c for c in OURS for text in code(c).values() if re.search(r"std::fs\b", text)}
    assert users <= {"scenario", "results"}


def test_one_crate_uses_python_and_one_module_has_unsafe_code() -> None:
    users = {c for c in OURS for text in code(c).values() if "pyo3" in text}
    assert users == {"python"}
    unsafe = {
        path
        for crate in OURS
        for path, text in code(crate).items()
        if re.search(r"\bunsafe\s*\{", text)
    }
    assert unsafe == {"dataplane/src/prefetch.rs"}


# --- A scheme's name occurs in its own file and in one list ------------------------------------

SCHEMES = (
    *("bfc", "floodgate", "spfc", "cbfc", "llr"),
    *("hpcc", "dcqcn", "timely", "dctcp", "swift", "powertcp"),
    *("expresspass", "ndp", "homa"),
    "reps",
)
"""Open axes: hop schemes, controls, transports, path policies of senders. The other path policies
and the schemes of loss recovery (go-back-N, IRN, ideal) have ordinary words as names."""

LISTS = {
    "dataplane/src/cc/mod.rs": "the controls of a sender",
    "dataplane/src/declaration.rs": "the numbers of schemes on frames",
    "dataplane/src/hop/mod.rs": "what neighbours tell and obey",
    "dataplane/src/link/mod.rs": "what keeps links from losing frames",
    "dataplane/src/hop/pfc/mod.rs": "the thresholds of PFC",
    "dataplane/src/transport/mod.rs": "the receiver-driven transports",
    "dataplane/src/paths/mod.rs": "the path policies of senders",
    "dataplane/src/ns3/integer/mod.rs": "what the replay of ns-3 puts in their place",
    "dataplane/src/ns3/mod.rs": "which of them that simulator has",
    "wire/src/neighbour/mod.rs": "whose frames have a format of our own",
    "scenario/src/presets.rs": "the presets, each a file of values under crates/scenario/presets",
}

REPORT = "a report on the resources of switches, which prints the names of schemes"
WORDS = "the words of an axis and their sentences, which say what a word is known from"

EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "dataplane/src/hop/pfc_tag.rs": (
        {"floodgate"},
        "what it pauses is held in the VOQs of Floodgate, whose paper it is from",
    ),
    "python/src/lib.rs": ({"bfc", "floodgate"}, REPORT),
    "scenario/src/lib.rs": ({"bfc", "floodgate"}, REPORT + "; the default preset"),
    "scenario/src/resources.rs": ({"bfc"}, REPORT),
    "scenario/src/switch_state.rs": ({"bfc", "floodgate", "hpcc", "spfc"}, REPORT),
    "scenario/src/scheme/switch.rs": ({"bfc"}, WORDS),
    "scenario/src/scheme/tables.rs": ({"bfc", "cbfc", "homa", "llr"}, WORDS),
}
"""Files that name schemes for another reason, with the names and the reason."""


_NAME = rf"(?:{'|'.join(SCHEMES)})(?:'s)?"
_GAP = r"\s+(?://[/!]?\s+)?"
SOURCES = re.compile(
    r"\b[a-z]+-\d+\b|\bspecs/[\w-]+\.md\b|[\w-]+@[\w-]+"
    rf"|\b{_NAME}(?:(?:,| and| or){_GAP}{_NAME})*(?:{_GAP}authors'?)?{_GAP}(?:paper|simulator)s?\b"
    rf"|\b(?:papers?|simulators?|authors|authors' code) of{_GAP}{_NAME}(?:{_GAP}authors)?"
    rf"|\b{_NAME}{_GAP}authors\b",
    re.IGNORECASE,
)
"""Citations: of rules, papers and simulators; names of flow sizes, such as ``web-search@hpcc``."""


def schemes_named(text: str) -> set[str]:
    """Return the schemes that a source names, in identifiers, comments or texts.

    Sources are no names: the number of a rule, such as ``BFC-12``, which stands wherever the rule
    is carried out, and a paper or a simulator that is cited, such as "the HPCC paper".
    """
    named = set()
    for word in re.findall(r"\b[A-Za-z_]\w*", re.sub(SOURCES, "", text)):
        parts = [p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word)]
        pairs = {a + b for a, b in pairwise(parts)}
        named |= {*parts, *pairs} & set(SCHEMES)
    return named


def homes(path: str) -> set[str]:
    """Return the schemes whose own file a path is: a part of it bears the scheme's name."""
    parts = PurePosixPath(path).with_suffix("").parts
    return {scheme for scheme in SCHEMES if any(scheme in part.split("_") for part in parts)}


def foreign_names() -> dict[str, set[str]]:
    """Return the schemes that each source names without being their own file or a list."""
    found = defaultdict(set)
    for path, text in rust_sources().items():
        if not is_test(path) and path not in LISTS:
            named = schemes_named(split_rust(text)[0]) - homes(path)
            if named:
                found[path] = named
    return dict(found)


def test_a_scheme_is_named_in_its_own_file_and_in_a_list_only() -> None:
    allowed = {path: names for path, (names, _) in EXCEPTIONS.items()}
    broken = [
        f"{path}: {', '.join(sorted(extra))}"
        for path, names in foreign_names().items()
        if (extra := names - allowed.get(path, set()))
    ]
    assert not broken, "a scheme is named outside its file:\n  " + "\n  ".join(broken)


def test_exceptions_are_used_and_have_reasons() -> None:
    found = foreign_names()
    stale = {
        path: names - found.get(path, set())
        for path, (names, _) in EXCEPTIONS.items()
        if names - found.get(path, set())
    }
    assert stale == {}
    assert all(len(reason) > 20 for _, reason in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("struct BfcConfig; // HPCC-12", {"bfc"}),
        ("fn endpoints() -> PowerTcp", {"powertcp"}),
        ("/// what `express_pass` and ExpressPass do, DCQCN's", {"expresspass", "dcqcn"}),
        ("let first = is_homa_like;", {"homa"}),
        ("let salt = 0x0bfc; // web-search@hpcc", set()),
        (
            "// the HPCC paper, 5.3, the simulator of BFC's authors, Floodgate's authors' paper",
            set(),
        ),
    ],
)
def test_names_of_schemes_are_found_in_words(text: str, names: set[str]) -> None:
    assert schemes_named(text) == names


@pytest.mark.parametrize(
    ("path", "schemes"),
    [
        ("dataplane/src/hop/floodgate/voq.rs", {"floodgate"}),
        ("dataplane/src/ns3/hpcc_hops.rs", {"hpcc"}),
        ("dataplane/src/switch/mod.rs", set()),
    ],
)
def test_a_file_belongs_to_the_scheme_in_its_path(path: str, schemes: set[str]) -> None:
    assert homes(path) == schemes


# --- A measure is one file and one line --------------------------------------------------------

MEASURES = "fabric/src/engine/measure"


def test_a_measure_is_declared_in_its_own_file_and_in_a_list_only() -> None:
    sources = {path: text for crate in OURS for path, text in code(crate).items()}
    listed = re.findall(r"^    \w+: (\w+)::\w+;$", sources[f"{MEASURES}/mod.rs"], re.MULTILINE)
    assert len(listed) >= 7
    for module in listed:
        own = f"{MEASURES}/{module}"
        mine = {path for path in sources if path == f"{own}.rs" or path.startswith(f"{own}/")}
        whole = "".join(sources[path] for path in mine)
        tables = re.findall(r'const TABLE: &\'static str = "(\w+)";', whole)
        assert tables, f"{own} makes no table"
        others = {
            path: found
            for path, text in sources.items()
            if path not in mine
            and (found := re.findall(rf'"(?:{"|".join(tables)})(?:\.parquet)?"', text))
        }
        # A key under [record] may bear the name of its table; it stands in the same file.
        assert others == {}, f"tables of {own} are named elsewhere"


# --- No circle of imports ----------------------------------------------------------------------

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
    """What the modules of a crate import from each other."""

    USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
    PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")

    def __init__(self, sources: dict[str, str]) -> None:
        texts = {module_of(path): text for path, text in sources.items()}
        self.modules = set(texts)
        used = {
            module: [p for tree in self.USE.findall(text) for p in use_paths(tree)]
            for module, text in texts.items()
        }
        # The names that a module has by importing them, each with the path that it stands for.
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
        """Return the module in which a path ends that stands in ``at``; None: in another crate.

        A name that a module itself imports leads to where it comes from, so that no circle hides
        behind a parent that passes names on.
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
            passed_on = self.resolve(here, self.names[here][rest[0]], depth + 1)
            return here if passed_on is None else passed_on
        return here

    def circles(self) -> list[set[Module]]:
        """Return the sets of modules that import each other in circles.

        What a module and those inside it import from each other does not count.
        """
        reach = {module: self.reached_from(module) for module in self.modules}
        circles: list[set[Module]] = []
        for module in sorted(self.modules):
            circle = {to for to in reach[module] if module in reach[to]}
            if circle and circle not in circles:
                circles.append(circle)
        return circles

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


@pytest.mark.parametrize("crate", sorted(OURS))
def test_modules_import_each_other_in_no_circle(crate: str) -> None:
    found = [{"::".join(m) for m in circle} for circle in Imports(code(crate)).circles()]
    assert not found, f"{crate}: modules in a circle: {found}"


@pytest.mark.parametrize(
    ("sources", "circles"),
    [
        ({"a": "use crate::b::B;", "b": ""}, []),
        ({"a": "use crate::b::B;", "b": "use super::{c::C, a::{self, A}};", "c": ""}, [{"a", "b"}]),
        ({"a": "fn f() { crate::b::g() }", "b": "use crate::a;"}, [{"a", "b"}]),
        ({"a/mod": "mod b;\nuse b::B;", "a/b": "use super::A;"}, []),
        # The parent passes the name on; the circle is that of its children.
        (
            {
                "a/mod": "mod b; mod c;\nuse b::B;",
                "a/b": "use super::c::C;",
                "a/c": "use super::B;",
            },
            [{"a::b", "a::c"}],
        ),
    ],
)
def test_circles_are_found(sources: dict[str, str], circles: list[set[str]]) -> None:
    imports = Imports({f"x/src/{name}.rs": text for name, text in {"lib": "", **sources}.items()})
    assert [{"::".join(module) for module in circle} for circle in imports.circles()] == circles


FOLDER_CYCLES = {
    # Switch and hop schemes call each other.
    "dataplane": [{"hop", "switch"}],
}
"""The cycles of folders that exist. A cycle that becomes smaller must become smaller here."""


@pytest.mark.parametrize("crate", sorted(OURS))
def test_folders_of_a_crate_import_downwards_only(crate: str) -> None:
    assert Imports(code(crate)).folder_cycles() == FOLDER_CYCLES.get(crate, [])


@pytest.mark.parametrize(
    ("sources", "cycles"),
    [
        ({"a": "use crate::b::B;", "b": "use crate::c;", "c": ""}, []),
        ({"a": "use crate::b::B;", "b": "use crate::c;", "c": "crate::a::f()"}, [{"a", "b", "c"}]),
        # No modules import each other, but folders do.
        (
            {
                **{"a/mod": "", "a/x": "use crate::b::y::Y;", "a/z": ""},
                **{"b/mod": "", "b/y": "", "b/v": "use crate::a::z;"},
            },
            [{"a", "b"}],
        ),
        ({"a/mod": "mod x;\nuse x::X;", "a/x": "use super::A;", "lib": "use a::A;"}, []),
    ],
)
def test_folder_cycles_are_found(sources: dict[str, str], cycles: list[set[str]]) -> None:
    imports = Imports({f"x/src/{name}.rs": text for name, text in {"lib": "", **sources}.items()})
    assert imports.folder_cycles() == cycles


def test_every_file_of_rust_tests_belongs_to_the_test_program_of_its_crate() -> None:
    """Each crate has one test program, tests/main.rs. Cargo does not find other files alone."""
    for main in sorted(CRATES.glob("*/tests/main.rs")):
        listed = set(re.findall(r"^mod (\w+);", main.read_text(), re.M))
        files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
        files |= {path.parent.name for path in main.parent.glob("*/mod.rs")}
        manifest = tomllib.loads((main.parents[1] / "Cargo.toml").read_text())
        files -= {test["name"] for test in manifest["test"]}
        missing = files - listed
        assert not missing, f"{main} does not list {sorted(missing)}"
