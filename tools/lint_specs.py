"""Each rule under specs/ has code that decides it and a test that checks it, and vice versa.

A rule is an entry ``- **SW-12** (source; rank: ...) text``. Code and tests cite it by its number.
Two remarks in its text excuse it: ``not built: reason`` (neither code nor test) and ``no code:
reason`` (a consequence of other rules, which only a test checks).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sources import CRATES, ROOT, is_test, split_rust

RULE_ID = re.compile(r"\b[A-Z]{2,}-\d{2,}\b")
ENTRY = re.compile(r"^- \*\*([A-Z]+-\d+)\*\*(.*)$")
REMARK = re.compile(r"\*?(not built|no code)\*?:\s*(.*)")
RANKS = ("paper", "authors' code", "authors' reply", "our choice")


@dataclass
class Rule:
    """One entry of a spec file."""

    id: str
    place: str
    text: str

    def has(self, remark: str) -> bool:
        """Return True if the text has this remark."""
        return re.search(rf"\*?{remark}\*?:", self.text) is not None


def rules_of(text: str, name: str) -> list[Rule]:
    r"""Return the entries of a spec, each with all its lines.

    >>> spec = "# X\n\n- **X-01** (rank: paper) one\n  *not built*: because\n\n- other\n  three\n"
    >>> [rule] = rules_of(spec, "x.md")
    >>> rule.id, rule.place, rule.has("not built"), rule.has("no code"), "three" in rule.text
    ('X-01', 'x.md:3', True, False, False)
    """
    rules: list[Rule] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if match := ENTRY.match(line):
            rules.append(Rule(match[1], f"{name}:{number}", match[2]))
            inside = True
        elif line.startswith(("#", "- ")):
            inside = False
        elif inside:
            rules[-1].text += " " + line.strip()
    return rules


@cache
def all_rules() -> list[Rule]:
    """Return the rules of all specs."""
    specs = sorted((ROOT / "specs").glob("*.md"))
    return [rule for path in specs for rule in rules_of(path.read_text(), f"specs/{path.name}")]


def _texts() -> Iterator[tuple[str, str, bool]]:
    """Yield name and text of each source that can cite a rule, and True if it is a test."""
    for path in sorted(CRATES.rglob("*")):
        name = str(path.relative_to(ROOT))
        parts = path.relative_to(CRATES).parts
        if path.suffix not in (".rs", ".toml") or len(parts) < 3 or "target" in parts:
            continue
        if is_test(name):
            yield name, path.read_text(), True
        elif parts[1] in ("src", "presets"):
            code, tests = split_rust(path.read_text())
            yield name, code, False
            yield name, tests, True
    for top in ("python", "papers", "validation"):
        for path in sorted((ROOT / top).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(), "tests" in path.parts


@cache
def citations() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the files that cite each rule, as (code, tests).

    Only prefixes of rules count: ``SHA-256`` is not a rule.
    """
    prefixes = {rule.id.split("-")[0] for rule in all_rules()}
    cited: tuple[dict[str, set[str]], ...] = (defaultdict(set), defaultdict(set))
    for name, text, in_test in _texts():
        for rule in RULE_ID.findall(text):
            if rule.split("-")[0] in prefixes:
                cited[in_test][rule].add(name)
    return cited[0], cited[1]


def rules_are_well_formed() -> Iterator[str]:
    """A rule has one definition and a rank, and a remark that excuses it has a reason."""
    rules = all_rules()
    if len(rules) <= 100:
        yield "the specs were not found, or their form has changed"
    numbers = Counter(rule.id for rule in rules)
    yield from (f"{number} is defined twice" for number, n in numbers.items() if n > 1)
    for rule in rules:
        if not any(rank in rule.text[:250] for rank in RANKS):
            yield f"{rule.id} ({rule.place}) has none of the ranks {', '.join(RANKS)}"
        for remark, reason in REMARK.findall(rule.text):
            if len(reason) < 15:
                yield f"{rule.id} ({rule.place}): {remark}: {reason!r}"


def rules_are_cited() -> Iterator[str]:
    """Code and a test cite each rule, unless a remark excuses it."""
    code, tests = citations()
    for rule in all_rules():
        not_built = rule.has("not built")
        if not_built and rule.id in code:
            yield f"{rule.id} ({rule.place}) is not built, but cited in {sorted(code[rule.id])}"
        if not not_built and not rule.has("no code") and rule.id not in code:
            yield f"{rule.id} ({rule.place}) is cited in no code"
        if not not_built and rule.id not in tests:
            yield f"{rule.id} ({rule.place}) is cited in no test"


def citations_have_rules() -> Iterator[str]:
    """A cited rule is defined under specs/."""
    known = {rule.id for rule in all_rules()}
    for cited in citations():
        for rule, where in sorted(cited.items()):
            if rule not in known:
                yield f"{rule} is cited in {', '.join(sorted(where))}"


def places_exist() -> Iterator[str]:
    """The place of a rule is the end of a path, or a crate and the end of a path."""
    known: set[str] = set()
    for path in CRATES.glob("*/src/**/*.rs"):
        crate, _, *inner = path.relative_to(CRATES).parts
        ends = {"/".join(inner[nth:]) for nth in range(len(inner))}
        known |= ends | {f"{crate}/{end}" for end in ends}
    for rule in all_rules():
        if place := re.search(r"place: ([^;)]*)", rule.text):
            for name in re.findall(r"[\w/.-]+\.rs", place[1]):
                if name not in known:
                    yield f"{rule.place}: {rule.id}: {name}"


CHECKS = (rules_are_well_formed, rules_are_cited, citations_have_rules, places_exist)
