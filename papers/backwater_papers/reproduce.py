"""Runs what figures need, judges their claims, and writes pictures and tables."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._base.files import write_whole
from backwater.errors import RunError
from backwater.results import SUMMARY
from backwater_papers.bootstrap import Value
from backwater_papers.claims import Values, Verdict, judge
from backwater_papers.figure import Figure, Pick, Selection, Size
from backwater_papers.measures import Data

if TYPE_CHECKING:
    from backwater.results.files import RunFiles
    from backwater.scenario import Scenario

Place = tuple[str, tuple[tuple[str, str], ...], int | None]
"""Identifies a run of a figure: its group, its labels by axis, and its seed."""


class Results(Values):
    """Values of the measures of a figure, computed from the runs of the figure."""

    def __init__(
        self,
        figure: Figure,
        runs: dict[Place, RunFiles],
        size: Size = Size.USUAL,
        most_seeds: int | None = None,
    ) -> None:
        self.figure, self.size, self.most_seeds = figure, size, most_seeds
        self.data = Data()
        self._runs = runs

    def runs(self, select: Selection) -> list[RunFiles]:
        """Return the runs, one per seed, of the case that `select` describes.

        `select` maps axes to labels. An axis that it omits has its first point.
        """
        group = self.figure.group(select)
        tags = tuple(
            (axis.name, select[axis.name][0] if axis.name in select else axis.points[0].label)
            for axis in group.axes
        )
        seeds = group.seeds_of(dict(tags), self.size)[: self.most_seeds]
        return [self._runs[group.name, tags, seed] for seed in seeds]

    def value(self, pick: Pick, seeds: int | None = None) -> Value:
        """Return the value of `pick.measure` for the case that `pick.select` describes.

        `seeds` limits the number of runs from which the value is computed.
        """
        runs = [] if pick.measure.formula else self.runs(pick.select)[:seeds]
        return self.data.value(pick.measure, runs)

    def all(self) -> list[RunFiles]:
        """Return all runs."""
        return list(self._runs.values())


def tasks(
    figure: Figure, size: Size = Size.USUAL, most_seeds: int | None = None
) -> dict[Place, Scenario]:
    """Return the scenario of each run that a figure needs, with at most `most_seeds` per case."""
    from backwater.scenario import Scenario

    found = {}
    for group in figure.groups:
        for case in group.cases(size):
            for seed in group.seeds_of(dict(case.tags), size)[:most_seeds]:
                found[group.name, case.tags, seed] = Scenario(
                    group.scenario,
                    case.overrides,
                    scheme=case.scheme,
                    seed=seed,
                    profile=group.profile,
                )
    return found


@dataclass(frozen=True, slots=True)
class Reproduced:
    """Results of a figure."""

    figure: Figure
    verdicts: tuple[Verdict, ...]
    about: dict[str, Any]
    """Description of the runs and verdicts; it is written as JSON beside the picture."""

    picture: Path


def finish(results: Results, out: Path, command: str) -> Reproduced:
    """Judge the claims of a figure and draw it; write verdicts (JSON) and picture (PNG) into `out`.

    Raises ``RunError`` if a file cannot be written.
    """
    from backwater_papers.drawing import draw

    figure = results.figure
    verdicts = tuple(judge(claim, figure, results) for claim in figure.claims)
    about = _about(results, verdicts, command)
    picture = out / f"{figure.name}.png"
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        draw(results).savefig(picture, dpi=110, metadata={"Software": None})
    except OSError as error:
        raise RunError(
            f"{error.filename}: cannot be written: {error.strerror}", error.errno
        ) from error
    write_results(picture.with_suffix(".json"), about)
    return Reproduced(figure, verdicts, about, picture)


def write_results(path: Path, about: Mapping[str, Any]) -> None:
    """Write the description of a figure's runs and verdicts as JSON."""
    try:
        write_whole(path, json.dumps(about, indent=1, ensure_ascii=False) + "\n", parents=True)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}", error.errno) from error


def _about(results: Results, verdicts: Iterable[Verdict], command: str) -> dict[str, Any]:
    figure, runs = results.figure, results.all()
    schemes = list(dict.fromkeys(run.scheme for run in runs))
    wanted = tasks(figure, results.size, results.most_seeds)
    ended = [(run.path / SUMMARY).stat().st_mtime for run in runs]
    return {
        "figure": figure.name,
        "title": figure.title,
        "place": figure.place,
        "about": figure.about,
        "size": _size_text(figure, results.size),
        "interpretations": list(figure.interpretations),
        "quick": results.size is Size.QUICK,
        "full": results.size is Size.FULL,
        "command": command,
        "runs": len(runs),
        "most_seeds": results.most_seeds,
        "setup": _setup(wanted.values()),
        "seeds": max(Counter(place[:2] for place in wanted).values(), default=0),
        "schemes": schemes,
        "flows": sum(run.summary["flows"]["started"] for run in runs),
        "unfinished": sum(run.summary["flows"]["unfinished"] for run in runs),
        "packet_hops": sum(run.summary["performance"]["packet_hops"] for run in runs),
        "violations": sum(len(run.summary["violations"]) for run in runs),
        "seconds": round(sum(run.summary["performance"]["wall_seconds"] for run in runs)),
        "ended": datetime.fromtimestamp(max(ended), UTC).date().isoformat() if ended else None,
        "claims": [verdict.as_dict() for verdict in verdicts],
    }


def _size_text(figure: Figure, size: Size) -> str:
    """Return the text about a size of the runs; `figure.size` if the groups have no such text."""
    words = [group.scale(size).words for group in figure.groups]
    return "; ".join(dict.fromkeys(filter(None, words))) or figure.size


def _setup(wanted: Iterable[Scenario]) -> str:
    """Return a digest of the scenarios that a figure runs; it does not cover the simulator."""
    digest, contents = hashlib.sha256(), cache(Path.read_bytes)
    for task in wanted:
        settings = (task.scheme, task.overrides, task.seed, task.profile)
        digest.update(contents(task.path) + repr(settings).encode())
    return digest.hexdigest()[:16]


_TEXTS = ("place", "paper", "source", "was", "cause")
"""Texts of a claim, which do not change its verdict."""


def reword(figure: Figure, out: Path) -> None:
    """Update the texts in the results of a figure from its figure file, without a run.

    The description, causes and reasons can change without a run. Raises ``RunError`` if there are
    no results, or if the runs, the claims, their bounds or the texts of the picture have changed.
    """
    path = out / f"{figure.name}.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: there are no results to reword ({error})") from error
    if changed := outdated(figure, about):
        raise RunError(f"{path}: {changed}; run the figure again")
    about["about"] = figure.about
    about["interpretations"] = list(figure.interpretations)
    for entry, claim in zip(about["claims"], figure.claims, strict=True):
        entry |= {key: getattr(claim, key) for key in _TEXTS}
    write_results(path, about)


def outdated(figure: Figure, about: dict[str, Any]) -> str | None:
    """Describe how results differ from the figure file, texts excepted; ``None``: no difference."""
    size = next((size for size in (Size.QUICK, Size.FULL) if about.get(size)), Size.USUAL)
    if "interpretations" not in about:
        return "an earlier version made them"
    found = [(entry["text"], entry["expected"]) for entry in about["claims"]]
    if found != [(claim.text, claim.expected) for claim in figure.claims]:
        return "claims or their bounds are not those of the figure file"
    if (about["title"], about["place"]) != (figure.title, figure.place):
        return "the picture has another title or place than the figure file"
    if about["size"] != _size_text(figure, size):
        return f"the size in the figure file is: {_size_text(figure, size)}"
    wanted = tasks(figure, size, about.get("most_seeds"))
    if len(wanted) != about["runs"] or about.get("setup") not in {None, _setup(wanted.values())}:
        return "the figure file makes other runs"
    return None


def state(figure: Figure, out: Path) -> tuple[str, dict[str, int]]:
    """Return the state of the results of a figure in a directory, and the number of each verdict.

    The state is "not run", "outdated", "current" or "estimated". Estimated results come from an
    earlier version that did not store the values of single seeds.
    """
    try:
        about = json.loads((out / f"{figure.name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "not run", {}
    verdicts = Counter(claim["verdict"] for claim in about["claims"])
    current = "estimated" if about.get("estimated") else "current"
    return "outdated" if outdated(figure, about) else current, dict(verdicts.most_common())
