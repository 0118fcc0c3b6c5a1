"""The invariants of docs/ARCHITECTURE.md that a program can check."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from itertools import pairwise
from pathlib import PurePosixPath

import pytest
from sources import CRATES, is_test, rust_sources, split_rust

OURS = {"kernel", "dataplane", "fabric", "traffic", "scenario", "results", "python"}
MAY_USE = {
    "kernel": set(),
    "dataplane": set(),
    "traffic": {"kernel"},
    "fabric": {"kernel", "dataplane", "traffic"},
    "results": {"kernel", "dataplane", "traffic", "fabric"},
}


@pytest.mark.parametrize("crate", MAY_USE)
def test_a_crate_depends_only_on_those_below_it(crate: str) -> None:
    manifest = tomllib.loads((CRATES / f"{crate}/Cargo.toml").read_text(encoding="utf-8"))
    assert set(manifest.get("dependencies", {})) & OURS <= MAY_USE[crate]


def code(crate: str) -> dict[str, str]:
    """Return the sources of a crate without comments and unit tests, by path."""
    return {
        path: re.sub(r"//[^\n]*", "", split_rust(text)[0])
        for path, text in rust_sources(crate).items()
        if not is_test(path)
    }


@pytest.mark.parametrize("crate", ["kernel", "dataplane", "traffic"])
def test_the_lower_crates_touch_no_clock_file_or_output(crate: str) -> None:
    forbidden = r"std::(fs|time|net|io|thread|env)\b|print(ln)?!|\bInstant\b|SystemTime|RandomState"
    found = {path: re.findall(forbidden, text) for path, text in code(crate).items()}
    assert {path: words for path, words in found.items() if words} == {}


def test_files_are_read_and_written_in_two_crates_only() -> None:
    users = {c for c in OURS for text in code(c).values() if re.search(r"std::fs\b", text)}
    assert users <= {"scenario", "results"}


def test_one_crate_knows_python_and_one_module_is_unsafe() -> None:
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
    *("bfc", "floodgate", "spfc", "cbfc"),
    *("hpcc", "dcqcn", "timely", "dctcp", "swift", "powertcp", "irn"),
    *("expresspass", "ndp", "homa"),
)

LISTS = {
    "dataplane/src/cc/mod.rs": "the controls of a sender",
    "dataplane/src/hop/mod.rs": "what neighbours tell and obey",
    "dataplane/src/transport/mod.rs": "the receiver-driven transports",
    "dataplane/src/ns3/mod.rs": "what the replay of ns-3 puts in their place",
    "scenario/src/presets.rs": "the presets, each a file of values under crates/scenario/presets",
}

EXCEPTIONS: dict[str, tuple[set[str], str]] = {}
"""Files that name schemes for another reason, with the names and the reason."""


STILL_OPEN: dict[str, set[str]] = {
    "dataplane/src/config.rs": {
        "bfc",
        "dcqcn",
        "dctcp",
        "expresspass",
        "floodgate",
        "homa",
        "hpcc",
        "irn",
        "ndp",
        "spfc",
        "timely",
    },
    "dataplane/src/config/receivers.rs": {"bfc", "expresspass", "homa", "ndp"},
    "dataplane/src/int.rs": {"hpcc"},
    "dataplane/src/int/wire.rs": {"hpcc"},
    "dataplane/src/nic/control.rs": {
        "dcqcn",
        "dctcp",
        "expresspass",
        "homa",
        "hpcc",
        "ndp",
        "timely",
    },
    "dataplane/src/nic/delay_window.rs": {"bfc"},
    "dataplane/src/nic/driven.rs": {"expresspass", "homa", "ndp"},
    "dataplane/src/nic/integer/mod.rs": {
        "dcqcn",
        "dctcp",
        "expresspass",
        "homa",
        "hpcc",
        "ndp",
        "timely",
    },
    "dataplane/src/nic/mod.rs": {"dcqcn", "dctcp", "expresspass", "homa", "hpcc", "ndp", "timely"},
    "dataplane/src/nic/obey.rs": {"bfc", "floodgate"},
    "dataplane/src/nic/receiver.rs": {"irn"},
    "dataplane/src/nic/recovery/arrivals.rs": {"irn"},
    "dataplane/src/nic/recovery/mod.rs": {"irn"},
    "dataplane/src/nic/sender.rs": {"bfc"},
    "dataplane/src/packet/mod.rs": {"bfc", "dcqcn", "expresspass", "floodgate", "homa", "ndp"},
    "dataplane/src/param.rs": {"bfc"},
    "dataplane/src/switch/classify.rs": {"bfc"},
    "dataplane/src/switch/credits.rs": {"expresspass"},
    "dataplane/src/switch/flow_table.rs": {"bfc"},
    "dataplane/src/switch/link.rs": {"bfc", "floodgate"},
    "dataplane/src/switch/mmu.rs": {"spfc"},
    "dataplane/src/switch/mmu_ns3.rs": {"hpcc"},
    "dataplane/src/switch/mod.rs": {"bfc", "floodgate", "spfc"},
    "dataplane/src/switch/queueing.rs": {"bfc", "floodgate"},
    "dataplane/src/switch/stuck.rs": {"bfc"},
    "dataplane/src/switch/trim.rs": {"ndp"},
    "dataplane/src/trail.rs": {"floodgate"},
    "fabric/src/backpressure_graph.rs": {"bfc"},
    "fabric/src/engine/audit.rs": {"floodgate"},
    "fabric/src/engine/build.rs": {"bfc", "floodgate"},
    "fabric/src/engine/close.rs": {"bfc", "floodgate", "spfc"},
    "fabric/src/engine/deadlock.rs": {"bfc"},
    "fabric/src/engine/delays.rs": {"homa"},
    "fabric/src/engine/division.rs": {"bfc", "floodgate"},
    "fabric/src/engine/mod.rs": {"bfc", "floodgate"},
    "fabric/src/engine/pause_causes.rs": {"spfc"},
    "fabric/src/engine/stall_circle.rs": {"bfc"},
    "fabric/src/link_failures.rs": {"bfc"},
    "fabric/src/ns3.rs": {"hpcc"},
    "fabric/src/record.rs": {"bfc", "floodgate", "homa", "spfc"},
    "kernel/src/mrg.rs": {"hpcc"},
    "python/src/lib.rs": {"bfc", "floodgate"},
    "results/src/summary.rs": {"bfc", "floodgate", "spfc"},
    "scenario/src/build.rs": {"bfc"},
    "scenario/src/check.rs": {"bfc", "floodgate", "homa", "spfc"},
    "scenario/src/check_links.rs": {"bfc", "floodgate"},
    "scenario/src/failures.rs": {"bfc"},
    "scenario/src/lib.rs": {"bfc", "floodgate"},
    "scenario/src/messages.rs": {"homa"},
    "scenario/src/resources.rs": {"bfc"},
    "scenario/src/run.rs": {"bfc", "dcqcn", "expresspass", "floodgate", "homa", "ndp", "spfc"},
    "scenario/src/scheme/combinations.rs": {
        "bfc",
        "dcqcn",
        "dctcp",
        "expresspass",
        "floodgate",
        "homa",
        "hpcc",
        "irn",
        "ndp",
        "spfc",
        "timely",
    },
    "scenario/src/scheme/configure.rs": {
        "bfc",
        "expresspass",
        "floodgate",
        "homa",
        "hpcc",
        "ndp",
        "spfc",
    },
    "scenario/src/scheme/control.rs": {
        "dcqcn",
        "dctcp",
        "expresspass",
        "homa",
        "hpcc",
        "ndp",
        "timely",
    },
    "scenario/src/scheme/floodgate.rs": {"bfc"},
    "scenario/src/scheme/mod.rs": {"bfc", "floodgate", "homa", "hpcc", "spfc"},
    "scenario/src/scheme/nic.rs": {"bfc", "hpcc", "irn"},
    "scenario/src/scheme/receivers.rs": {"bfc", "expresspass", "floodgate", "homa", "ndp"},
    "scenario/src/scheme/signal.rs": {"bfc", "hpcc"},
    "scenario/src/scheme/switch.rs": {"bfc", "floodgate", "hpcc"},
    "scenario/src/scheme/tables.rs": {"irn"},
    "scenario/src/traffic_spec.rs": {"bfc"},
    "traffic/src/sizes.rs": {"bfc", "floodgate", "homa", "hpcc"},
}
"""Files that name schemes and should not. This table only ever shrinks; empty, it is removed."""


def schemes_named(text: str) -> set[str]:
    """Return the schemes that a source names, in identifiers, comments or texts.

    The number of a rule, such as ``BFC-12``, is no name: it cites a decision that is explained
    under specs/, and stands wherever the decision is carried out.
    """
    named = set()
    for word in re.findall(r"[A-Za-z_]+", re.sub(r"\b[A-Z]+-\d+", "", text)):
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
    allowed = dict(STILL_OPEN)
    for path, (names, _) in EXCEPTIONS.items():
        allowed[path] = allowed.get(path, set()) | names
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
