"""Runs what figures need, judges their claims, and writes pictures and tables."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import RunError
from backwater.files import write_whole
from backwater.paper.claims import DIFFERS, HOLDS, INCONCLUSIVE, Values, Verdict, judge
from backwater.paper.figure import CAUSES, Figure, Group, Pick, Selection, Size
from backwater.paper.measures import Data, Value
from backwater.paper.quantities import digits
from backwater.results import SUMMARY

if TYPE_CHECKING:
    from backwater.campaign import Task
    from backwater.results import Run

_WIDTH = 120
"""Characters of a line of Markdown."""

VERDICTS = (HOLDS, DIFFERS, INCONCLUSIVE)

Place = tuple[str, tuple[tuple[str, str], ...], int | None]
"""Where a run belongs: its group, its labels by axis, its seed."""


class Results(Values):
    """The runs of a figure, found by the labels of their axes."""

    def __init__(
        self,
        figure: Figure,
        runs: dict[Place, Run],
        size: Size = Size.USUAL,
        most_seeds: int | None = None,
    ) -> None:
        self.figure, self.size, self.most_seeds = figure, size, most_seeds
        self.data = Data()
        self._runs = runs

    def runs(self, select: Selection) -> list[Run]:
        """All seeds of the one case that a selection leaves."""
        group = self.figure.group(select)
        tags = tuple(
            (axis.name, select[axis.name][0] if axis.name in select else axis.points[0].label)
            for axis in group.axes
        )
        return [self._runs[group.name, tags, seed] for seed in self.seeds(group)]

    def seeds(self, group: Group) -> tuple[int | None, ...]:
        """Return the seeds of a group that were run."""
        return _seeds(group, self.size, self.most_seeds)

    def value(self, pick: Pick) -> Value:
        """Value of a measure where each axis is at one point."""
        runs = [] if pick.measure.formula else self.runs(pick.select)
        return self.data.value(pick.measure, runs)

    def all(self) -> list[Run]:
        """Every run."""
        return list(self._runs.values())


def tasks(
    figure: Figure, size: Size = Size.USUAL, most_seeds: int | None = None
) -> dict[Place, Task]:
    """Return the runs that a figure needs, with the first of its seeds only where told."""
    from backwater.campaign import Task

    found = {}
    for group in figure.groups:
        for case in group.cases(size):
            for seed in _seeds(group, size, most_seeds):
                found[group.name, case.tags, seed] = Task(
                    scenario=group.scenario,
                    scheme=case.scheme,
                    overrides=case.overrides,
                    seed=seed,
                    profile=group.profile,
                )
    return found


def _seeds(group: Group, size: Size, most: int | None) -> tuple[int | None, ...]:
    return group.scale(size).seeds[:most]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came of a figure."""

    figure: Figure
    verdicts: tuple[Verdict, ...]
    about: dict[str, Any]
    """What ran, as it is written beside the picture."""

    picture: Path


def finish(results: Results, out: Path, command: str) -> Reproduced:
    """Judge the claims of a figure, draw it, and write both into a directory."""
    from backwater.paper.drawing import draw

    figure = results.figure
    verdicts = tuple(judge(claim, figure, results) for claim in figure.claims)
    about = _about(results, verdicts, command)
    picture = out / f"{figure.name}.png"
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw(results).savefig(picture, dpi=110, metadata={"Software": None})
        write_whole(
            picture.with_suffix(".json"), json.dumps(about, indent=1, ensure_ascii=False) + "\n"
        )
    except OSError as error:
        raise RunError(
            f"{error.filename}: cannot be written: {error.strerror}", error.errno
        ) from error
    return Reproduced(figure, verdicts, about, picture)


def _about(results: Results, verdicts: Iterable[Verdict], command: str) -> dict[str, Any]:
    figure, runs = results.figure, results.all()
    schemes = list(dict.fromkeys(run.scheme for run in runs))
    ended = [(run.path / SUMMARY).stat().st_mtime for run in runs]
    return {
        "figure": figure.name,
        "title": figure.title,
        "place": figure.place,
        "about": figure.about,
        "size": _size_words(figure, results.size),
        "quick": results.size is Size.QUICK,
        "full": results.size is Size.FULL,
        "command": command,
        "runs": len(runs),
        "most_seeds": results.most_seeds,
        "setup": _setup(tasks(figure, results.size, results.most_seeds).values()),
        "seeds": max((len(results.seeds(group)) for group in figure.groups), default=0),
        "schemes": schemes,
        "flows": sum(run.summary["flows"]["started"] for run in runs),
        "unfinished": sum(run.summary["flows"]["unfinished"] for run in runs),
        "packet_hops": sum(run.summary["performance"]["packet_hops"] for run in runs),
        "violations": sum(len(run.summary["violations"]) for run in runs),
        "seconds": round(sum(run.summary["performance"]["wall_seconds"] for run in runs)),
        "ended": datetime.fromtimestamp(max(ended), UTC).date().isoformat() if ended else None,
        "claims": [verdict.as_dict() for verdict in verdicts],
    }


def _size_words(figure: Figure, size: Size) -> str:
    """Say how much is run: as the file says of the size, else as it says of the usual one."""
    words = [group.scale(size).words for group in figure.groups]
    return "; ".join(dict.fromkeys(filter(None, words))) or figure.size


def _setup(wanted: Iterable[Task]) -> str:
    """Digest of what a figure runs, apart from the program that runs it."""
    digest, contents = hashlib.sha256(), cache(Path.read_bytes)
    for task in wanted:
        told = (task.scheme, task.overrides, task.seed, task.profile)
        digest.update(contents(task.scenario) + repr(told).encode())
    return digest.hexdigest()[:16]


_WORDS = ("place", "paper", "source", "was", "why", "cause", "because")
"""What of a claim is told of it, and changes no verdict."""


def reword(figure: Figure, out: Path) -> None:
    """Give the results of a figure, in a directory, the words that its file has now.

    What it is about, causes and reasons change without a run. Raises ``RunError`` where there are
    no results, or where runs, claims, their bounds or what the picture says are others.
    """
    path = out / f"{figure.name}.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: there are no results to reword ({error})") from error
    if changed := outdated(figure, about):
        raise RunError(f"{path}: {changed}; run the figure again")
    about["about"] = figure.about
    for told, claim in zip(about["claims"], figure.claims, strict=True):
        told |= {key: getattr(claim, key) for key in _WORDS}
    write_whole(path, json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def outdated(figure: Figure, about: dict[str, Any]) -> str | None:
    """Say what a figure file has other than its results, beside words; ``None``: nothing."""
    size = next((s for s in (Size.QUICK, Size.FULL) if about.get(s)), Size.USUAL)
    found = [(told["text"], told["expected"]) for told in about["claims"]]
    if found != [(claim.text, claim.expected) for claim in figure.claims]:
        return "claims or their bounds are not those of the figure file"
    if (about["title"], about["place"]) != (figure.title, figure.place):
        return "the picture has another title or place than the figure file"
    if about["size"] != _size_words(figure, size):
        return f"the figure file says of its size: {_size_words(figure, size)}"
    wanted = tasks(figure, size, about.get("most_seeds"))
    if len(wanted) != about["runs"] or about.get("setup") not in {None, _setup(wanted.values())}:
        return "the figure file makes other runs"
    return None


# --- The table of claims ---------------------------------------------------------------------


def write_table(folder: Path, paper: str, order: Sequence[str]) -> Path | None:
    """Write ``claims.md`` of a paper, from what lies beside its pictures."""
    entries = []
    for name in order:
        path = folder / f"{name}.json"
        if name.startswith(f"{paper}/") and path.is_file():
            try:
                entries.append(json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise RunError(f"{path}: cannot be read ({error}); repeat the figure") from error
    if not entries:
        return None
    table = folder / paper / "claims.md"
    write_whole(table, _table(paper, entries), parents=True)
    return table


def _table(paper: str, entries: Sequence[dict[str, Any]]) -> str:
    claims = [claim for entry in entries for claim in entry["claims"]]
    about = (
        f"The file is written by `backwater paper {paper}`; nothing is tuned so that a claim "
        "holds. What has chance in it is judged by the 95 % interval of its seeds: *holds* or "
        "*differs* where the whole interval, or each of six seeds or more, says so, else "
        "*inconclusive*; *(k of n)* says in how many seeds a claim holds by itself. A value over "
        "several seeds is that of all their flows or samples together, with the range of the "
        "single seeds behind it. Only statements of the paper and points of its curves count; "
        "what we add stands apart. The rules are in "
        "[paper.md](../../paper.md#how-claims-are-judged)."
    )
    lines = [f"# Claims of the paper: {paper}", "", *_paragraph(about), ""]
    lines += [*_score(claims), "", *_causes(claims)]
    lines += [*_times(entries), ""]
    for entry in entries:
        lines += _section(entry)
    return "\n".join(lines)


def _score(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Count verdicts, by what the claims are."""
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


def _causes(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Count why statements of the paper differ."""
    found = [
        claim.get("because", "")
        for claim in claims
        if claim["source"] == "paper" and not claim["curve"] and claim["verdict"] == DIFFERS
    ]
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
    lines = [*_paragraph(about), "", "| figure | runs | seeds | packet-hops | minutes | run on |"]
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
    lines += [*_paragraph(f"*{entry['place']}*"), ""]
    lines += [f"![{entry['title']}]({stem}.png)", ""]
    if entry["about"]:
        for paragraph in entry["about"].split("\n\n"):
            lines += [*_paragraph(paragraph), ""]
    lines += [*_paragraph(f"Command: `{entry['command']}`. {size_text(entry)}"), ""]
    claims = entry["claims"]
    lines += _rows([c for c in claims if c["source"] == "paper" and not c["curve"]])
    for panel in dict.fromkeys(c["curve"]["panel"] for c in claims if c["curve"]):
        lines += _points([c for c in claims if c["curve"] and c["curve"]["panel"] == panel])
    beside = [c for c in claims if c["source"] != "paper"]
    if beside:
        lines += ["No statements of the paper, and not in the score:", "", *_rows(beside)]
    causes = [c for c in claims if c["cause"] and c["verdict"] != HOLDS]
    for claim in causes:
        kind = f" ({claim['because']})" if claim.get("because") else ""
        said = f"- *{_cell(claim['text'])}*{kind}: {_cell(claim['cause'])}"
        lines += _paragraph(said, indent="  ")
    changed = [claim for claim in claims if claim["was"]]
    for claim in changed:
        was = f"its bound was {claim['was']}, and is {claim['expected']}: {claim['why']}"
        lines += _paragraph(f"- *{_cell(claim['text'])}*: {_cell(was)}", indent="  ")
    return [*lines, ""] if causes or changed else lines


def _rows(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Write claims as a table."""
    if not claims:
        return []
    lines = ["| claim | place | paper | expected | ours | verdict |", "|---|---|---|---|---|---|"]
    for claim in claims:
        cells = (claim["text"], claim["place"], claim["paper"], claim["expected"], claim["ours"])
        lines.append("| " + " | ".join(map(_cell, cells)) + f" | {_verdict(claim)} |")
    return [*lines, ""]


def _points(claims: Sequence[dict[str, Any]]) -> list[str]:
    """Write the points of a panel's published curves: a row per curve, ours against the paper's."""
    panel, place = claims[0]["curve"]["panel"], claims[0]["place"]
    tolerance = claims[0]["expected"].rpartition("±")[2].strip()
    xs = list(dict.fromkeys(claim["curve"]["x"] for claim in claims))
    lines = _paragraph(
        f"Points of curves, {panel}: ours against those published ({place}), within ±{tolerance}; "
        "**bold** where it differs, *italic* where it is inconclusive:"
    )
    lines += ["", "| | " + " | ".join(xs) + " |", "|---" * (len(xs) + 1) + "|"]
    for line in dict.fromkeys(claim["curve"]["line"] for claim in claims):
        of = {c["curve"]["x"]: c for c in claims if c["curve"]["line"] == line}
        cells = [_point(of[x]) if x in of else "" for x in xs]
        lines.append(f"| {_cell(line)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _point(claim: dict[str, Any]) -> str:
    mark = {HOLDS: "", DIFFERS: "**"}.get(claim["verdict"], "*")
    ours = claim["ours"].partition(" (seeds")[0]
    return f"{mark}{ours}{mark} / {claim['paper']}"


def _paragraph(text: str, indent: str = "") -> list[str]:
    """Return the lines of a paragraph; those after the first are indented."""
    return textwrap.wrap(
        " ".join(text.split()),
        width=_WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


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


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
