"""Every rule under specs/ has code that decides it and a test that checks it, and vice versa.

A rule is an entry `- **SW-12** (where from; rank: ...) text`. It is cited by its id in a comment.
Two remarks in its text excuse it: `not built: reason` (neither code nor test) and `no code: reason`
(a consequence of other rules, held by a test alone).
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from sources import ROOT, is_test, split_rust

RULE_ID = re.compile(r"\b[A-Z]{2,}-\d{2,}\b")
ENTRY = re.compile(r"^- \*\*([A-Z]+-\d+)\*\*(.*)$")
RANKS = ("paper", "authors' code", "authors' reply", "our choice")


@dataclass
class Rule:
    """One entry of a spec file."""

    id: str
    place: str
    text: str

    @property
    def not_built(self) -> bool:
        return re.search(r"\*?not built\*?:", self.text) is not None

    @property
    def no_code(self) -> bool:
        return re.search(r"\*?no code\*?:", self.text) is not None


def rules_of(text: str, name: str) -> list[Rule]:
    """The entries of a spec, each with all its lines."""
    rules: list[Rule] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if match := ENTRY.match(line):
            rules.append(Rule(match[1], f"{name}:{number}", match[2]))
            inside = True
        elif line.startswith("#") or line.startswith("- "):
            inside = False
        elif inside:
            rules[-1].text += " " + line.strip()
    return rules


def sources() -> tuple[dict[str, str], dict[str, str]]:
    """All text that can cite a rule, as (code, tests), by name of the file."""
    code: dict[str, str] = {}
    tests: dict[str, str] = {}
    for path in sorted((ROOT / "crates").rglob("*")):
        name = str(path.relative_to(ROOT))
        parts = path.relative_to(ROOT / "crates").parts
        if path.suffix not in (".rs", ".toml") or len(parts) < 3 or "target" in parts:
            continue
        if is_test(name):
            tests[name] = path.read_text()
        elif parts[1] in ("src", "presets"):
            code[name], inner = split_rust(path.read_text())
            tests[name] = inner
    python = [
        path
        for top in ("python", "papers", "validation")
        for path in sorted((ROOT / top).rglob("*.py"))
    ]
    for path in python:
        name = str(path.relative_to(ROOT))
        if "tests" not in path.parts:
            code[name] = path.read_text()
        elif path != Path(__file__).resolve():
            tests[name] = path.read_text()
    return code, tests


def citations(texts: dict[str, str], known: set[str]) -> dict[str, set[str]]:
    """Rule id → files that cite it. Only prefixes of rules count: `SHA-256` is not a rule."""
    prefixes = {rule.split("-")[0] for rule in known}
    cited: dict[str, set[str]] = defaultdict(set)
    for name, text in texts.items():
        for rule in RULE_ID.findall(text):
            if rule.split("-")[0] in prefixes:
                cited[rule].add(name)
    return cited


SPECS = sorted((ROOT / "specs").glob("*.md"))
RULES = [rule for path in SPECS for rule in rules_of(path.read_text(), f"specs/{path.name}")]
KNOWN = {rule.id for rule in RULES}
CODE, TESTS = (citations(texts, KNOWN) for texts in sources())


def complain(what: str, broken: list[str]) -> None:
    assert not broken, f"{what}:\n  " + "\n  ".join(broken)


def test_there_are_specs() -> None:
    assert len(RULES) > 100, "the specs were not found, or their form has changed"


def test_every_id_is_defined_once() -> None:
    first: dict[str, str] = {}
    broken = []
    for rule in RULES:
        if rule.id in first:
            broken.append(f"{rule.id} is defined at {first[rule.id]} and again at {rule.place}")
        first.setdefault(rule.id, rule.place)
    complain("a rule has one definition", broken)


def test_every_rule_says_its_rank() -> None:
    broken = [
        f"{rule.id} ({rule.place}) says none of: {', '.join(RANKS)}"
        for rule in RULES
        if not any(rank in rule.text[:250] for rank in RANKS)
    ]
    complain("a rule says whose it is", broken)


def test_a_remark_that_excuses_a_rule_gives_its_reason() -> None:
    broken = [
        f"{rule.id} ({rule.place}): {remark!r}"
        for rule in RULES
        for remark in re.findall(r"\*?(?:not built|no code)\*?:\s*(.*)", rule.text)
        if len(remark) < 15
    ]
    complain("a reason stands after the colon", broken)


def test_every_rule_is_decided_somewhere_in_the_code() -> None:
    broken = [
        f"{rule.id} ({rule.place}) is cited nowhere in crates/*/src, python, papers or validation"
        for rule in RULES
        if not rule.not_built and not rule.no_code and rule.id not in CODE
    ]
    complain("a rule has code that cites it, or says why not", broken)


def test_every_rule_is_checked_by_a_test() -> None:
    broken = [
        f"{rule.id} ({rule.place}) is cited in no test"
        for rule in RULES
        if not rule.not_built and rule.id not in TESTS
    ]
    complain("a rule has a test that cites it, or says why not", broken)


def test_every_citation_has_a_rule() -> None:
    broken = [
        f"{rule} is cited in {', '.join(sorted(where))}"
        for cited in (CODE, TESTS)
        for rule, where in sorted(cited.items())
        if rule not in KNOWN
    ]
    complain("a cited rule is defined under specs/", broken)


def test_what_is_not_built_is_not_cited_as_built() -> None:
    broken = [
        f"{rule.id} ({rule.place}) is cited in {', '.join(sorted(CODE[rule.id]))}"
        for rule in RULES
        if rule.not_built and rule.id in CODE
    ]
    complain("a rule that code cites is built", broken)


@pytest.mark.parametrize(
    ("text", "code", "tests"),
    [
        ("a\n#[cfg(test)]\nmod tests {\n    b\n}\nc", "a\nc", "mod tests {\n    b\n}"),
        ("a\n#[cfg(test)]\nmod tests;\nc", "a\nc", "mod tests;"),
        ("a", "a", ""),
    ],
)
def test_sources_are_split_into_code_and_tests(text: str, code: str, tests: str) -> None:
    assert split_rust(text) == (code, tests)


def test_entries_of_a_spec_are_found_with_all_their_lines() -> None:
    one = "# X\n\n- **X-01** (rank: paper) one\n  two *not built*: because\n\n"
    spec = one + "- other\n  three\n- **X-02** (rank: our choice) four\n"
    first, second = rules_of(spec, "x.md")
    assert (first.id, first.place) == ("X-01", "x.md:3")
    assert first.not_built
    assert "two" in first.text
    assert "three" not in first.text
    assert not second.not_built
    assert second.id == "X-02"


def test_places_of_rules_are_files_that_there_are() -> None:
    """A place names a file by the end of its path, or by its crate and the end of its path."""
    files = [path.relative_to(ROOT / "crates") for path in (ROOT / "crates").glob("*/src/**/*.rs")]
    known: set[str] = set()
    for file in files:
        inner = file.parts[2:]
        ends = {"/".join(inner[nth:]) for nth in range(len(inner))}
        known |= ends | {f"{file.parts[0]}/{end}" for end in ends}
    gone = [
        f"{rule.place}: {rule.id}: {name}"
        for path in sorted((ROOT / "specs").glob("*.md"))
        for rule in rules_of(path.read_text(encoding="utf-8"), path.name)
        if (place := re.search(r"place: ([^;)]*)", rule.text))
        for name in re.findall(r"[\w/.-]+\.rs", place[1])
        if name not in known
    ]
    assert not gone, "\n".join(gone)
