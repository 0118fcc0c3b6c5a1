"""The invariants of docs/ARCHITECTURE.md that a program can check."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from sources import CRATES, ROOT, is_test, name_of, rust_sources, split_rust

BELOW: dict[str, set[str]] = {
    "kernel": set(),
    "dataplane": set(),
    "wire": {"dataplane"},
    "traffic": {"kernel"},
    "fabric": {"kernel", "dataplane", "traffic", "wire"},
    "results": {"kernel", "dataplane", "traffic", "fabric"},
    "live": {"dataplane", "fabric", "results", "scenario", "traffic", "wire"},
}
"""The crates that each crate may depend on. The crates without an entry may depend on all."""

CRATE_NAMES = {*BELOW, "scenario", "python"}

FOLDERS = (
    *("_base", "scenario", "results", "workloads", "analysis", "plots", "report", "running"),
    *("importers", "commands"),
)
"""Folders of the Python package. Each imports only from itself and from those before it."""


def _imported(path: Path) -> Iterator[str]:
    """Yield the folders of the package from which a file imports."""
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


def folders_import_downwards() -> Iterator[str]:
    """A folder of the Python package imports only from those below it."""
    package = ROOT / "python/backwater"
    known = {path.parent.name for path in package.glob("*/__init__.py")} - {"wireshark"}
    yield from (f"{name} has no place in the order" for name in sorted(known ^ set(FOLDERS)))
    for number, folder in enumerate(FOLDERS):
        for path in sorted((package / folder).rglob("*.py")):
            for name in sorted(set(_imported(path)) - set(FOLDERS[: number + 1])):
                yield f"{name_of(path)} imports from {name}"


def _manifest(crate: str) -> dict[str, Any]:
    return tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))


@cache
def code(crate: str) -> dict[str, str]:
    """Return the sources of a crate without comments and unit tests, by path."""
    return {
        path: re.sub(r"//[^\n]*", "", split_rust(text)[0])
        for path, text in rust_sources(crate).items()
        if not is_test(path)
    }


def _paths_with(pattern: str, *crates: str) -> Iterator[str]:
    """Yield the paths of sources of crates (default: all) whose code matches a pattern."""
    for crate in crates or sorted(CRATE_NAMES):
        yield from (path for path, text in code(crate).items() if re.search(pattern, text))


def crates_depend_downwards() -> Iterator[str]:
    """A crate depends only on those below it."""
    for crate, below in BELOW.items():
        for name in sorted(set(_manifest(crate).get("dependencies", {})) & CRATE_NAMES - below):
            yield f"{crate} depends on {name}"


def wall_clock_has_no_simulator() -> Iterator[str]:
    """The nodes on the wall clock build and run without the simulator."""
    manifest = _manifest("live")
    optional = {name for name, kind in manifest["dependencies"].items() if kind.get("optional")}
    if optional & CRATE_NAMES != {"fabric", "results", "scenario"}:
        yield f"the optional crates of live are {sorted(optional & CRATE_NAMES)}"
    if missing := {f"dep:{name}" for name in optional} - set(manifest["features"]["simulator"]):
        yield f"the feature simulator lacks {sorted(missing)}"
    users = list(_paths_with(r"\b(fabric|results|scenario)::", "live"))
    assert users
    yield from (path for path in users if path.split("/")[2] in ("wall", "switch", "host"))


def lower_crates_are_pure() -> Iterator[str]:
    """The lower crates use no clock, file or output."""
    forbidden = r"std::(fs|time|net|io|thread|env)\b|print(ln)?!|\bInstant\b|SystemTime|RandomState"
    yield from _paths_with(forbidden, "kernel", "dataplane", "wire", "traffic")


def few_crates_use_files_python_and_unsafe_code() -> Iterator[str]:
    """Two crates use files, one uses Python, and one module has unsafe code."""
    for pattern, places in (
        (r"std::fs\b", ("scenario/", "results/")),
        ("pyo3", ("python/",)),
        (r"\bunsafe\s*\{", ("dataplane/src/prefetch.rs",)),
    ):
        found = list(_paths_with(pattern))
        assert found, pattern
        yield from (f"{path} has {pattern}" for path in found if not path.startswith(places))


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
    "dataplane/src/hop/mod.rs": "the hop schemes",
    "dataplane/src/link/mod.rs": "the link layers",
    "dataplane/src/pipeline/pfc/mod.rs": "the thresholds of PFC",
    "dataplane/src/transport/mod.rs": "the receiver-driven transports",
    "dataplane/src/paths/mod.rs": "the path policies of senders",
    "dataplane/src/ns3/integer/mod.rs": "their counterparts in the replay of ns-3",
    "wire/src/neighbour/mod.rs": "the frames with a format of our own",
    "scenario/src/presets.rs": "the presets, each a file of values under crates/scenario/presets",
}

REPORT = "a report on the resources of switches, which prints the names of schemes"
NAMES = "the names of an axis and their descriptions, which state their origin"

EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    "dataplane/src/hop/pfc_tag.rs": (
        {"floodgate"},
        "it pauses the VOQs of Floodgate, and its source is that paper",
    ),
    "python/src/resources.rs": ({"bfc", "floodgate"}, REPORT),
    "scenario/src/lib.rs": ({"bfc", "floodgate"}, REPORT + "; the default preset"),
    "scenario/src/resources.rs": ({"bfc"}, REPORT),
    "scenario/src/switch_state.rs": ({"bfc", "floodgate", "hpcc", "spfc"}, REPORT),
    "dataplane/src/config/queues.rs": ({"bfc"}, NAMES),
    "scenario/src/scheme/axes.rs": ({"bfc", "cbfc", "homa", "llr"}, NAMES),
    "scenario/src/scheme/nic.rs": ({"bfc"}, NAMES),
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

    Citations are not names: the number of a rule, such as ``BFC-12``, and a paper or a simulator,
    such as "the HPCC paper".

    >>> sorted(schemes_named("struct BfcConfig; // HPCC-12") | schemes_named("-> PowerTcp"))
    ['bfc', 'powertcp']
    >>> sorted(schemes_named("/// what `express_pass` and ExpressPass do, DCQCN's"))
    ['dcqcn', 'expresspass']
    >>> schemes_named("let first = is_homa_like;")
    {'homa'}
    >>> schemes_named("let salt = 0x0bfc; // web-search@hpcc")
    set()
    >>> schemes_named("// the HPCC paper, BFC's authors, Floodgate's authors' paper")
    set()
    """
    named = set()
    for word in re.findall(r"\b[A-Za-z_]\w*", re.sub(SOURCES, "", text)):
        parts = [p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word)]
        pairs = {a + b for a, b in pairwise(parts)}
        named |= {*parts, *pairs} & set(SCHEMES)
    return named


def homes(path: str) -> set[str]:
    """Return the schemes whose own file or folder a path is: a part of it has the scheme's name.

    >>> homes("dataplane/src/hop/floodgate/voq.rs"), homes("dataplane/src/ns3/hpcc_hops.rs")
    ({'floodgate'}, {'hpcc'})
    >>> homes("dataplane/src/switch/mod.rs")
    set()
    """
    parts = PurePosixPath(path).with_suffix("").parts
    return {scheme for scheme in SCHEMES if any(scheme in part.split("_") for part in parts)}


def schemes_have_own_files() -> Iterator[str]:
    """A scheme is named in its own file and in a list only, and each exception is used."""
    found = {
        path: schemes_named(split_rust(text)[0]) - homes(path)
        for path, text in rust_sources().items()
        if not is_test(path) and path not in LISTS
    }
    for path in sorted({*found, *EXCEPTIONS}):
        named, allowed = found.get(path, set()), EXCEPTIONS.get(path, (set(), ""))[0]
        yield from (f"{path} names {scheme}" for scheme in sorted(named - allowed))
        yield from (f"{path} does not name {scheme}" for scheme in sorted(allowed - named))


# --- A measure is one file and one line --------------------------------------------------------

MEASURES = "fabric/src/engine/measure"


def measures_have_own_files() -> Iterator[str]:
    """A measure is declared in its own file and in a list only."""
    sources = {path: text for crate in CRATE_NAMES for path, text in code(crate).items()}
    listed = re.findall(r"^    \w+: (\w+)::\w+;$", sources[f"{MEASURES}/mod.rs"], re.MULTILINE)
    if len(listed) < 7:
        yield f"{MEASURES}/mod.rs has no list of measures"
    for module in listed:
        own = f"{MEASURES}/{module}"
        mine = {path for path in sources if path == f"{own}.rs" or path.startswith(f"{own}/")}
        whole = "".join(sources[path] for path in mine)
        tables = re.findall(r'const TABLE: &\'static str = "(\w+)";', whole)
        if not tables:
            yield f"{own} makes no table"
            continue
        # A key under [record] may have the name of its table. It is in the same file.
        named = rf'"(?:{"|".join(tables)})(?:\.parquet)?"'
        for path, text in sources.items():
            if path not in mine and re.search(named, text):
                yield f"{path} names a table of {own}"


def test_programs_list_all_files() -> Iterator[str]:
    """Cargo finds a file of Rust tests: tests/main.rs of its crate lists it."""
    for main in sorted(CRATES.glob("*/tests/main.rs")):
        listed = set(re.findall(r"^mod (\w+);", main.read_text(), re.M))
        files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
        files |= {path.parent.name for path in main.parent.glob("*/mod.rs")}
        files -= {test["name"] for test in _manifest(main.parts[-3])["test"]}
        yield from (f"{name_of(main)} does not list {name}" for name in sorted(files - listed))


CHECKS = (
    *(folders_import_downwards, crates_depend_downwards, wall_clock_has_no_simulator),
    *(lower_crates_are_pure, few_crates_use_files_python_and_unsafe_code),
    *(schemes_have_own_files, measures_have_own_files, test_programs_list_all_files),
)
