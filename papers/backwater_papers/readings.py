"""Judges a figure's claims under other readings of what its paper leaves open.

A reading changes some runs of the figure (``[[readings]]`` of its file). All claims are judged
under each, so that one which gives a number of the paper, and takes another away, is seen to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.errors import RunError
from backwater_papers.claims import DIFFERS, HOLDS, INCONCLUSIVE, judge, without_seeds
from backwater_papers.figure import READINGS, Claim, Figure, Size
from backwater_papers.markdown import cell, paragraph
from backwater_papers.reproduce import (
    Results,
    other_claims,
    setup,
    size_of,
    tasks,
    write_results,
)

AS_HERE = "as here"
"""Name of the figure as its file has it, beside its readings."""


def variants(figure: Figure) -> dict[str, Figure]:
    """Return a figure as its file has it, and as each reading has it, by name."""
    return {AS_HERE: figure} | {reading.name: reading.of(figure) for reading in figure.readings}


def statements(figure: Figure) -> list[Claim]:
    """Return the statements of the paper, without points of curves and our own claims."""
    return [claim for claim in figure.claims if claim.source == "paper" and not claim.curve]


def path_of(figure: str, out: Path) -> Path:
    """Return the file of the verdicts under all readings of a figure."""
    paper, _, name = figure.rpartition("/")
    return out / paper / "readings" / f"{name}.json"


def finish(
    figure: Figure, results: Mapping[str, Results], out: Path, command: str
) -> dict[str, Any]:
    """Judge the statements of a figure under each reading, and write the verdicts."""
    some = results[AS_HERE]
    about = {
        "figure": figure.name,
        "command": command,
        "quick": some.size is Size.QUICK,
        "full": some.size is Size.FULL,
        "seeds": some.most_seeds,
        "setup": _setup(figure, some.size, some.most_seeds),
        "claims": [
            {"text": claim.text, "paper": claim.paper, "expected": claim.expected}
            for claim in statements(figure)
        ],
        "readings": [_judged(name, figure, own) for name, own in results.items()],
    }
    write_results(path_of(figure.name, out), about)
    return about


def _judged(name: str, figure: Figure, results: Results) -> dict[str, Any]:
    reading = next((reading for reading in figure.readings if reading.name == name), None)
    verdicts = [judge(claim, results.figure, results) for claim in statements(figure)]
    return {
        "name": name,
        "kind": reading.kind if reading else "",
        "why": reading.why if reading else "",
        "verdicts": [verdict.verdict for verdict in verdicts],
        "ours": [verdict.ours for verdict in verdicts],
    }


def _setup(figure: Figure, size: Size, seeds: int | None) -> str:
    return setup(
        task
        for variant in variants(figure).values()
        for task in tasks(variant, size, seeds).values()
    )


def load(figure: str, out: Path) -> dict[str, Any] | None:
    """Read what came of the readings of a figure, where that lies in a directory."""
    path = path_of(figure, out)
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: cannot be read ({error}); judge the readings again") from error
    return found


def outdated(figure: Figure, about: Mapping[str, Any]) -> str | None:
    """Describe how the verdicts differ from the figure file; ``None`` if they are up to date."""
    if changed := other_claims(statements(figure), about):
        return changed
    if [told["name"] for told in about["readings"]] != list(variants(figure)):
        return "its readings are not those of the figure file"
    if about["setup"] != _setup(figure, size_of(about), about["seeds"]):
        return "the figure file makes other runs"
    return None


def reword(figure: Figure, out: Path) -> None:
    """Update the texts of the verdicts under the readings of a figure from its file."""
    about, path = load(figure.name, out), path_of(figure.name, out)
    if about is None:
        return
    if not figure.readings:
        path.unlink()
        return
    if changed := outdated(figure, about):
        raise RunError(f"{path}: {changed}; judge the readings again")
    words = {reading.name: reading for reading in figure.readings}
    for told in about["readings"]:
        if reading := words.get(told["name"]):
            told |= {"kind": reading.kind, "why": reading.why}
    for told, claim in zip(about["claims"], statements(figure), strict=True):
        told["paper"] = claim.paper
    write_results(path, about)


# --- In words --------------------------------------------------------------------------------


def lines(about: Mapping[str, Any]) -> list[str]:
    """Tell in Markdown what the readings of a figure give, against the figure as it is here."""
    here, *others = about["readings"]
    seeds = f"the first {about['seeds']}" if about["seeds"] else "all"
    found = paragraph(
        f"Statements under other readings (`{about['command']}`; {seeds} of the seeds); *more* "
        "hold there and not as here, with the same seeds, *fewer* the other way round:"
    )
    found += ["", "| reading | of | holds | differs | inconclusive | more | fewer |"]
    found.append("|---|---|---|---|---|---|---|")
    for reading in about["readings"]:
        counts = Counter(reading["verdicts"])
        cells = [cell(reading["name"]), reading["kind"]]
        cells += [str(counts[verdict]) for verdict in (HOLDS, DIFFERS, INCONCLUSIVE)]
        cells += [str(number) for number in _moved(here, reading)] if reading["kind"] else ["", ""]
        found.append("| " + " | ".join(cells) + " |")
    found.append("")
    for reading in others:
        found += paragraph(f"- {cell(reading['name'])}: {cell(reading['why'])}", indent="  ")
    found.append("")
    for index, claim in enumerate(about["claims"]):
        if any(reading["verdicts"][index] != HOLDS for reading in about["readings"]):
            found += paragraph(_result_line(about["readings"], index, claim), indent="  ")
    return [*found, ""]


def _moved(here: Mapping[str, Any], reading: Mapping[str, Any]) -> tuple[int, int]:
    """Count the statements that hold under a reading only, and here only."""
    pairs = list(zip(here["verdicts"], reading["verdicts"], strict=True))
    more = sum(was != HOLDS and now == HOLDS for was, now in pairs)
    return more, sum(was == HOLDS and now != HOLDS for was, now in pairs)


def _result_line(
    readings: Sequence[Mapping[str, Any]], index: int, claim: Mapping[str, str]
) -> str:
    """Describe the result of a statement; readings with the same result share one entry."""
    names: dict[tuple[str, str], list[str]] = {}
    for reading in readings:
        came = (reading["ours"][index], reading["verdicts"][index])
        names.setdefault(came, []).append(reading["name"])
    values = [
        f"{', '.join(of)}: {without_seeds(ours)}, {verdict}"
        for (ours, verdict), of in names.items()
    ]
    return cell(
        f"- *{claim['text']}* (paper: {claim['paper']}; {claim['expected']}): {'. '.join(values)}."
    )


@dataclass(frozen=True, slots=True)
class Reach:
    """How far other readings of its figures would take a paper, in statements."""

    of: int
    """All of the paper."""

    hold: int
    """Those that hold as they are judged here."""

    figures: int
    """Figures that have readings."""

    kinds: Counter[str]
    """Readings, by what they are of."""

    missing: int
    """Statements of these figures that do not hold here."""

    somewhere: int
    """Those of them that hold under some reading."""

    best: int
    """All that would hold if each figure had the one reading that gains it most."""

    supported: int
    """The same without guesses."""

    @property
    def upper(self) -> int:
        """All that hold here or under some reading, however these contradict each other."""
        return self.hold + self.somewhere


def reach(
    score: Mapping[str, Sequence[str]], abouts: Mapping[str, Mapping[str, Any]]
) -> Reach | None:
    """Count the statements that hold under other readings; ``None`` if there are no verdicts.

    ``score`` has the verdicts of all statements under the default reading, by figure. ``abouts``
    has the verdicts under the readings of each figure.
    """
    verdicts = [verdict for own in score.values() for verdict in own]
    if not (abouts and verdicts):
        return None
    missing = [
        {reading["verdicts"][index] for reading in about["readings"][1:]}
        for figure, about in abouts.items()
        for index, verdict in enumerate(score[figure])
        if verdict != HOLDS
    ]
    hold = verdicts.count(HOLDS)
    best, supported = (
        hold + sum(_gained(score[figure], about, some) for figure, about in abouts.items())
        for some in (set(READINGS), set(READINGS) - {"guess"})
    )
    return Reach(
        of=len(verdicts),
        hold=hold,
        figures=len(abouts),
        kinds=Counter(
            reading["kind"] for about in abouts.values() for reading in about["readings"][1:]
        ),
        missing=len(missing),
        somewhere=sum(HOLDS in found for found in missing),
        best=best,
        supported=supported,
    )


def summary(
    score: Mapping[str, Sequence[str]], abouts: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Say of a paper how far other readings of its figures would take it; see :func:`reach`."""
    found = reach(score, abouts)
    if found is None:
        return []
    of = ", ".join(
        f"{found.kinds[kind]} {kind} ({READINGS[kind]})" for kind in READINGS if found.kinds[kind]
    )

    def percent(number: int) -> str:
        return f"({100 * number / found.of:.1f} %)"

    return [
        *paragraph(
            f"Other readings ([readings.md](../../readings.md)), by what they are of: {of}; "
            f"figures that have some: {found.figures}. Statements of these figures that do not "
            f"hold here: {found.missing}, of which under some reading hold {found.somewhere}, "
            f"under none {found.missing - found.somewhere}. So {found.upper} of {found.of} "
            f"{percent(found.upper)} hold here or under some reading; but many readings "
            f"contradict each other. Had each figure the one reading that gains it most, less "
            f"what that loses, {found.best} of {found.of} statements would hold "
            f"{percent(found.best)}, and {found.supported} {percent(found.supported)} without "
            f"guesses."
        ),
        "",
    ]


def _gained(score: Sequence[str], about: Mapping[str, Any], kinds: Container[str]) -> int:
    """Return how many more statements hold under the best reading of a figure than in the score.

    Only readings of some ``kinds`` count. A change that fewer seeds or another size would cause is
    excluded: a statement counts only if the score and the default reading agree on whether it
    holds, the latter with the seeds of the readings.
    """
    here = [verdict == HOLDS for verdict in about["readings"][0]["verdicts"]]
    certain = [own == (verdict == HOLDS) for own, verdict in zip(here, score, strict=True)]
    others = [reading["verdicts"] for reading in about["readings"][1:] if reading["kind"] in kinds]
    gains: list[int] = [
        sum(
            (verdict == HOLDS) - was
            for was, sure, verdict in zip(here, certain, other, strict=True)
            if sure
        )
        for other in others
    ]
    return max([0, *gains])
