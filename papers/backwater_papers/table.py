"""Writes ``claims.md``, the table of a paper's claims, from the JSON files beside its pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from backwater._base.files import write_whole
from backwater.errors import RunError
from backwater_papers import readings
from backwater_papers.claims import DIFFERS, HOLDS, INCONCLUSIVE, without_seeds
from backwater_papers.figure import CAUSES
from backwater_papers.markdown import cell, paragraph
from backwater_papers.quantities import digits

VERDICTS = (HOLDS, DIFFERS, INCONCLUSIVE)


def write_table(folder: Path, paper: str, order: Sequence[str]) -> Path | None:
    """Write ``claims.md`` of a paper; return its path, or ``None`` if there are no results."""
    entries, read = [], {}
    for name in order:
        path = folder / f"{name}.json"
        if name.startswith(f"{paper}/") and path.is_file():
            try:
                entries.append(json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise RunError(f"{path}: cannot be read ({error}); repeat the figure") from error
            about = readings.load(name, folder)
            # Ignore readings of claims that have changed since.
            if about and _identities(about["claims"]) == _identities(_statements(entries[-1])):
                read[name] = about
    if not entries:
        return None
    table = folder / paper / "claims.md"
    write_whole(table, _table(paper, entries, read), parents=True)
    return table


def _table(
    paper: str, entries: Sequence[dict[str, Any]], read: Mapping[str, dict[str, Any]]
) -> str:
    claims = [claim for entry in entries for claim in entry["claims"]]
    statements = {entry["figure"]: _statements(entry) for entry in entries}
    about = (
        f"The file is written by `backwater paper {paper}`; nothing is tuned so that a claim "
        "holds. What has chance in it is judged by the 95 % interval of its seeds: *holds* or "
        "*differs* where the whole interval says so, or else a share of six seeds or more that "
        "chance does not explain (sign test), and is *inconclusive* otherwise; *(k of n)* says in "
        "how many seeds a claim holds by itself. A value over several seeds is that of all their "
        "flows or samples together (a largest or smallest one, the mean of the single seeds'), "
        "with the range of the single seeds behind it. Only statements of the paper and points of "
        "its curves count; what we add stands apart. The rules are in "
        "[paper.md](../../paper.md#how-claims-are-judged)."
    )
    lines = [f"# Claims of the paper: {paper}", "", *paragraph(about), ""]
    lines += [*_score(claims), "", *_causes(list(chain(*statements.values())))]
    verdicts = {name: [claim["verdict"] for claim in own] for name, own in statements.items()}
    lines += readings.summary(verdicts, read)
    lines += [*_times(entries), ""]
    for entry in entries:
        lines += _section(entry)
        if entry["figure"] in read:
            lines += readings.lines(read[entry["figure"]])
    return "\n".join(lines)


def _statements(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of the paper, without points of curves and our own claims."""
    return [c for c in entry["claims"] if c["source"] == "paper" and not c["curve"]]


def _identities(claims: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(claim["text"], claim["expected"]) for claim in claims]


def _score(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Count verdicts by kind of claim."""
    told = [claim for claim in claims if claim["source"] == "paper"]
    rows = {
        "statements of the paper": [c for c in told if not c["curve"]],
        "of these with a number": [c for c in told if not c["curve"] and c["numeric"]],
        "points of its curves": [c for c in told if c["curve"]],
        "ours, apart": [c for c in claims if c["source"] != "paper"],
    }
    lines = [
        "| | claims | holds | differs | inconclusive | of these on too few seeds "
        "| hold for every scheme |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, chosen in rows.items():
        counts = [sum(c["verdict"] == verdict for c in chosen) for verdict in VERDICTS]
        few = sum(c["seeds"] < c["seeds_asked"] for c in chosen)
        general = sum(c["general"] and c["verdict"] == HOLDS for c in chosen)
        cells = (name, len(chosen), *counts, few, general)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _causes(statements: Sequence[dict[str, Any]]) -> list[str]:
    """Count why statements of the paper differ."""
    found = [claim.get("because", "") for claim in statements if claim["verdict"] == DIFFERS]
    rows = [(found.count(kind), what) for kind, what in CAUSES.items() if kind in found]
    if "" in found:
        rows.append((found.count(""), "not said"))
    if not rows:
        return []
    lines = ["| statements that differ | why |", "|---|---|"]
    return [*lines, *(f"| {number} | {what} |" for number, what in rows), ""]


def _times(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Say of each figure how long its runs took, and when the last of them ended."""
    about = (
        "What the figures take, in minutes of one core as they were run (other work of the machine "
        "included), and when."
    )
    lines = [*paragraph(about), "", "| figure | runs | seeds | packet-hops | minutes | run on |"]
    lines.append("|---|---|---|---|---|---|")
    for entry in entries:
        seconds, ended = entry.get("seconds"), entry.get("ended") or ""
        cells = (
            entry["figure"],
            entry["runs"],
            entry["seeds"],
            f"{digits(entry['packet_hops'] / 1e6)} M",
            "" if seconds is None else f"{seconds / 60:.2g}",
            ended,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _section(entry: dict[str, Any]) -> list[str]:
    stem = entry["figure"].partition("/")[2]
    lines = [f"## {entry['figure']}: {entry['title']}", ""]
    lines += [*paragraph(f"*{entry['place']}*"), ""]
    lines += [f"![{entry['title']}]({stem}.png)", ""]
    if entry["about"]:
        for part in entry["about"].split("\n\n"):
            lines += [*paragraph(part), ""]
    lines += [*paragraph(f"Command: `{entry['command']}`. {size_text(entry)}"), ""]
    claims = entry["claims"]
    lines += _rows(_statements(entry))
    for panel in dict.fromkeys(c["curve"]["panel"] for c in claims if c["curve"]):
        lines += _points([c for c in claims if c["curve"] and c["curve"]["panel"] == panel])
    beside = [c for c in claims if c["source"] != "paper"]
    if beside:
        lines += ["No statements of the paper, and not in the score:", "", *_rows(beside)]
    causes = [c for c in claims if c["cause"] and c["verdict"] != HOLDS]
    for claim in causes:
        kind = f" ({claim['because']})" if claim.get("because") else ""
        said = f"- *{cell(claim['text'])}*{kind}: {cell(claim['cause'])}"
        lines += paragraph(said, indent="  ")
    changed = [claim for claim in claims if claim["was"]]
    for claim in changed:
        was = f"its bound was {claim['was']}, and is {claim['expected']}: {claim['why']}"
        lines += paragraph(f"- *{cell(claim['text'])}*: {cell(was)}", indent="  ")
    return [*lines, ""] if causes or changed else lines


def _rows(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Write claims as a table."""
    if not claims:
        return []
    lines = ["| claim | place | paper | expected | ours | verdict |", "|---|---|---|---|---|---|"]
    for claim in claims:
        cells = (claim["text"], claim["place"], claim["paper"], claim["expected"], claim["ours"])
        lines.append("| " + " | ".join(map(cell, cells)) + f" | {_verdict(claim)} |")
    return [*lines, ""]


def _points(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Write the points of a panel's published curves: a row per curve, ours against the paper's."""
    panel, place = claims[0]["curve"]["panel"], claims[0]["place"]
    tolerance = claims[0]["expected"].rpartition("±")[2].strip()
    xs = list(dict.fromkeys(claim["curve"]["x"] for claim in claims))
    lines = paragraph(
        f"Points of curves, {panel}: ours against those published ({place}), within ±{tolerance}; "
        "**bold** where it differs, *italic* where it is inconclusive:"
    )
    lines += ["", "| | " + " | ".join(xs) + " |", "|---" * (len(xs) + 1) + "|"]
    for line in dict.fromkeys(claim["curve"]["line"] for claim in claims):
        of = {c["curve"]["x"]: c for c in claims if c["curve"]["line"] == line}
        cells = [_point(of[x]) if x in of else "" for x in xs]
        lines.append(f"| {cell(line)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _point(claim: dict[str, Any]) -> str:
    mark = {HOLDS: "", DIFFERS: "**"}.get(claim["verdict"], "*")
    return f"{mark}{without_seeds(claim['ours'])}{mark} / {claim['paper']}"


def size_text(entry: dict[str, Any]) -> str:
    """Say how much was run."""
    if not entry["runs"]:
        return "Nothing is run for it."
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


def _verdict(claim: dict[str, Any]) -> str:
    verdict = claim["verdict"] if claim["verdict"] == HOLDS else f"**{claim['verdict']}**"
    if claim["seeds"] > 1:
        verdict += f" ({claim['seeds_that_hold']} of {claim['seeds']})"
    if claim["seeds"] < claim["seeds_asked"]:
        verdict += f", {claim['seeds_asked']} seeds asked"
    if claim["general"] and claim["verdict"] == HOLDS:
        verdict += ", as for every other scheme here"
    return verdict
