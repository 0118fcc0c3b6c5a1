"""Writes ``claims.md``, one line per claim, from the JSON files beside the pictures."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from backwater._base.files import write_whole
from backwater.errors import RunError
from backwater_papers.claims import DIFFERS, HOLDS, INCONCLUSIVE
from backwater_papers.markdown import cell, paragraph
from backwater_papers.quantities import digits

VERDICTS = (HOLDS, DIFFERS, INCONCLUSIVE)

_RULE = """\
`backwater paper` writes this list. A claim *holds* if the 95 % bootstrap interval of its result is
inside the bound, *differs* if it is outside, and is *inconclusive* otherwise, or if a random result
has fewer than five seeds. A number of a paper has a tolerance of 15 %; "up to" and "at least" have
one side. Parentheses contain the paper's value and ours, with the interval in square brackets. A
cause and a published number are listed once. "Or" begins another interpretation, with the number of
statements that hold. Claims that we added to a paper are not listed."""

_ESTIMATED = """\
{} figures were run before this rule and did not store the values of single seeds. Their intervals
are estimated from the range of the seeds, and their comparisons of schemes keep an earlier verdict
(Student's interval or sign test)."""


def write_table(folder: Path, order: Sequence[str]) -> Path | None:
    """Write ``claims.md`` of all results in a folder; return its path if there are results.

    Results of earlier versions, which have no interpretations, are left out.
    """
    entries = [_read(path) for name in order if (path := folder / f"{name}.json").is_file()]
    entries = [entry for entry in entries if "interpretations" in entry]
    if not entries:
        return None
    table = folder / "claims.md"
    write_whole(table, _table(entries), parents=True)
    return table


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read ({error}); repeat the figure") from error
    return found


def _table(entries: Sequence[dict[str, Any]]) -> str:
    papers: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        papers.setdefault(entry["figure"].partition("/")[0], []).append(entry)
    lines = ["# Claims", "", *paragraph(_RULE), ""]
    if old := sum(entry.get("estimated", False) for entry in entries):
        lines += [*paragraph(_ESTIMATED.format(old)), ""]
    lines += ["| paper | " + " | ".join(SCORE) + " |", "|---" * (len(SCORE) + 1) + "|"]
    for paper, own in papers.items():
        lines.append(f"| {paper} | " + " | ".join(map(str, score(own))) + " |")
    for paper, own in papers.items():
        lines += ["", f"## {paper}"]
        causes: set[str] = set()
        for entry, claims in _counted(own):
            if claims or entry["interpretations"]:
                lines += ["", *_section(entry, claims, causes)]
    return "\n".join(lines) + "\n"


SCORE = (
    *("statements", "hold", "differ", "inconclusive", "bounds changed after a result was known"),
    *("curve points", "hold", "differ", "inconclusive"),
)
"""Columns of the score of a paper."""


def score(entries: Sequence[dict[str, Any]]) -> list[int]:
    """Count the claims of a paper, in the order of ``SCORE``."""
    claims = [claim for _, own in _counted(entries) for claim in own]
    statements = [claim for claim in claims if not claim["curve"]]
    points = [claim for claim in claims if claim["curve"]]

    def counts(chosen: list[dict[str, Any]]) -> list[int]:
        found = Counter(claim["verdict"] for claim in chosen)
        return [len(chosen), *(found[verdict] for verdict in VERDICTS)]

    changed = sum(bool(claim["was"]) for claim in statements)
    return [*counts(statements), changed, *counts(points)]


def _counted(
    entries: Sequence[dict[str, Any]],
) -> Iterable[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each figure with those of its claims that the score counts.

    All points of curves count, each point once. The statements of the paper count. If the figures
    have none, our own statements count.
    """
    stated = [c for entry in entries for c in entry["claims"] if not c["curve"]]
    sources = {"paper"} & {c["source"] for c in stated} or {"ours"}
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        claims = []
        for claim in entry["claims"]:
            if claim["curve"]:
                point = (claim["curve"]["line"], claim["paper"])
                if point in seen:
                    continue
                seen.add(point)
            elif claim["source"] not in sources:
                continue
            claims.append(claim)
        yield entry, claims


def _section(entry: dict[str, Any], claims: list[dict[str, Any]], causes: set[str]) -> list[str]:
    lines = [f"### {entry['figure']}", ""]
    for claim in claims:
        if not claim["curve"]:
            lines += paragraph(_line(claim, causes), indent="  ")
    curves: dict[str, dict[str, Counter[str]]] = {}
    for claim in claims:
        if at := claim["curve"]:
            panel = curves.setdefault(at["panel"], {})
            panel.setdefault(at["line"], Counter())[claim["verdict"]] += 1
    for title, panel in curves.items():
        counts = [f"{line} {found[HOLDS]}/{found.total()}" for line, found in panel.items()]
        lines += paragraph(f"- Points that hold, {title}: {', '.join(counts)}", indent="  ")
    for interpretation in entry["interpretations"]:
        lines += paragraph(f"- Or: {interpretation}", indent="  ")
    return lines


def _line(claim: dict[str, Any], causes: set[str]) -> str:
    """Return the line about a claim. A claim that holds has numbers only if the paper gives one."""
    line = f"- {cell(claim['text'])}: "
    if claim["verdict"] == HOLDS:
        ours = _first_case(claim).partition(" [")[0]
        return line + (f"holds ({ours})" if _is_numeric(claim) else HOLDS)
    line += f"**{claim['verdict']}** ({cell(claim['paper'])} / {_first_case(claim)})"
    cause = first_sentence(claim["cause"])
    if cause and cause not in causes:
        causes.add(cause)
        line += f". {cause}"
    return line


def _is_numeric(claim: dict[str, Any]) -> bool:
    return "±" in claim["expected"] or " to " in claim["expected"]


def _first_case(claim: dict[str, Any]) -> str:
    """Return the result of the first case that decides the verdict."""
    cases = claim["cases"]
    first = next(case for case in cases if case["verdict"] == claim["verdict"])
    ours = first["ours"].rpartition(" = ")[2]
    return f"{first['at']}: {ours}" if first["at"] else str(ours)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text. The dot of "Fig." does not end it."""
    return re.split(r"(?<=[.!?])(?<!Fig\.)(?<!Figs\.)\s", " ".join(text.split()), maxsplit=1)[0]


def size_text(entry: dict[str, Any]) -> str:
    """Describe the number of runs, seeds and flows of a figure."""
    if not entry["runs"]:
        return "It needs no runs."
    words = [f"{entry['runs']} runs"]
    if entry["seeds"] > 1:
        words.append(f"{entry['seeds']} seeds")
    words.append(f"{entry['flows']:,} flows".replace(",", " "))
    words.append(f"{digits(entry['packet_hops'] / 1e6)} M packet-hops")
    text = ", ".join(words) + "."
    if entry["size"]:
        text = f"{entry['size'].rstrip('.')}: {text}"
    if entry["quick"]:
        text = f"QUICK, reduced size. {text}"
    if entry.get("full"):
        text = f"Run with `--full`. {text}"
    if entry["unfinished"]:
        text += f" {entry['unfinished']} flows had not ended when their run did."
    if entry["violations"]:
        text += f" {entry['violations']} checks of the runs were violated."
    return text
