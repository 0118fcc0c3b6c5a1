"""A sweep: the file that says which runs a campaign is made of."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._base import positions, quantity
from backwater.errors import ScenarioError
from backwater.scenario.task import Task

if TYPE_CHECKING:
    from backwater.running.simulate import Fit

MAX_RUNS = 200_000
MAX_SEED = 2**64 - 1
_KEYS = ("name", "scenario", "profile", "schemes", "seeds", "set", "axes", "zip")
_RANGE = ("from", "to", "steps", "by", "scale")
_SHOWN = 5

_Likeness = tuple[str, str, str]
"""What problems of several runs may have in common: message, hint, and key or text."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Keys that change together, and the values that they take."""

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """Per step a value for each key."""

    places: tuple[positions.Path, ...]
    """Per key where its values stand in the file."""


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    values: dict[str, Any]
    """The swept keys."""

    scheme: str
    seed: int
    task: Task


class Sweep:
    """A SWEEP.toml that was read and found right, as far as it goes without its scenario."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.text = _read(self.path)
        reader = _Reader(self.path, self.text)
        self.scenario: Path = reader.scenario()
        self.name: str = reader.word("name") or self.path.stem
        self.profile: str | None = reader.word("profile")
        self.schemes: list[str | None] = reader.schemes()
        self.seeds: list[int | None] = reader.seeds()
        self.fixed: list[tuple[str, Any, positions.Path]] = reader.fixed()
        self.axes: list[Axis] = reader.axes()
        self.left_out: dict[str, None] = {}
        """Sentences about parameters that do not apply to a scheme; :meth:`points` finds them."""

        self._reader = reader
        reader.finish()
        self._check_size()

    @property
    def size(self) -> int:
        """How many runs it makes."""
        count = len(self.schemes) * len(self.seeds)
        for axis in self.axes:
            count *= len(axis.values)
        return count

    @property
    def keys(self) -> list[str]:
        """The swept keys."""
        return [key for axis in self.axes for key in axis.keys]

    def points(self) -> list[Point]:
        """Return all runs, checked; raises ``ScenarioError`` with all that is wrong."""
        points: list[Point] = []
        mistakes: dict[tuple[_Likeness, ...], _Mistake] = {}
        for steps in product(*(range(len(axis.values)) for axis in self.axes)):
            values = self._values(steps)
            for scheme, fit in self._fitting(values).items():
                self.left_out.update(dict.fromkeys(fit.left_out))
                for seed in self.seeds:
                    task = Task(self.scenario, scheme, tuple(fit.overrides), seed, self.profile)
                    try:
                        points.append(_point(task, values))
                    except ScenarioError as error:
                        like, text, others = self._explained(error, steps)
                        found = mistakes.setdefault(like, _Mistake(error.problems, text))
                        found.schemes[scheme] = found.combinations[tuple(steps)] = None
                        found.values.update(dict.fromkeys(others))
                        break
        self._find_left_out()
        if mistakes:
            shown = [self._told(mistake) for mistake in list(mistakes.values())[:_SHOWN]]
            more = len(mistakes) - len(shown)
            if more:
                shown.append(f"… and {more} more mistakes of this kind.")
            problems = [problem for mistake in mistakes.values() for problem in mistake.problems]
            raise ScenarioError("\n\n".join(shown), problems)
        return points

    def _find_left_out(self) -> None:
        """Find the parameters of the scenario itself that do not apply to some scheme."""
        from backwater.running import simulate

        for scheme in self.schemes:
            problems = simulate.check(self.scenario, scheme=scheme, profile=self.profile)
            left_out = [problem["message"] for problem in problems if problem["code"] == "left-out"]
            self.left_out.update(dict.fromkeys(left_out))

    def _values(self, steps: Sequence[int]) -> dict[str, Any]:
        return {
            key: value
            for axis, step in zip(self.axes, steps, strict=True)
            for key, value in zip(axis.keys, axis.values[step], strict=True)
        }

    def _fitting(self, values: dict[str, Any]) -> dict[str | None, Fit]:
        """Return for each scheme the changes that apply to it."""
        from backwater.running import simulate

        changes = {key: value for key, value, _ in self.fixed} | values
        overrides = [f"{key}={toml(value)}" for key, value in changes.items()]
        return simulate.fitting(self.scenario, self.schemes, overrides, self.seeds[0], self.profile)

    def _explained(
        self, error: ScenarioError, steps: Sequence[int]
    ) -> tuple[tuple[_Likeness, ...], str, list[str]]:
        """Say where in the sweep a mistake comes from: in what others are like it, and in words.

        The values of axes that it is about come last; they are not part of the likeness.
        """
        # Per key its value, and where that and the key stand.
        stated = [(key, value, place, place) for key, value, place in self.fixed]
        for axis, step in zip(self.axes, steps, strict=True):
            for key, value, place in zip(axis.keys, axis.values[step], axis.places, strict=True):
                stated.append((key, value, (*place, step), place))
        likeness: list[_Likeness] = []
        texts, values = [], []
        for problem in error.problems:
            if problem["severity"] != "error":
                continue
            message, hint = problem["message"], problem["hint"] or ""
            source = next(
                (
                    one
                    for one in stated
                    if problem["source"] == "--set"
                    and f"{one[0]}={toml(one[1])}" in problem["text"]
                ),
                None,
            )
            if source is None:
                likeness.append((message, hint, problem["text"]))
                texts.append(problem["text"])
            else:
                key, value, place, named = source
                likeness.append((message, hint, key))
                if problem["code"] == "unknown-key":
                    texts.append(self._reader.framed(named, message, hint, at_key=True))
                else:
                    texts.append(self._reader.framed(place, message, hint))
                    values.append(toml(value))
        if not texts:
            return ((str(error), "", ""),), str(error), []
        return tuple(likeness), "\n\n".join(texts), values

    def _told(self, mistake: _Mistake) -> str:
        """Say how many runs a mistake concerns, of which values and schemes, once for all."""
        names = [scheme for scheme in mistake.schemes if scheme is not None]
        named = ""
        if names and not 1 < len(names) == len(self.schemes):
            named = f" (with the scheme{'s' * (len(names) > 1)} {', '.join(names)})"
        concerned, all_of_them = len(mistake.combinations), prod(len(a.values) for a in self.axes)
        what = "a run of this sweep is wrong"
        if concerned == all_of_them > 1:
            what = f"all {all_of_them:,} combinations of values are wrong"
        elif concerned > 1:
            what = f"{concerned:,} of {all_of_them:,} combinations of values are wrong"
        text = f"{self.path}: {what}{named}:\n{mistake.text}"
        if len(mistake.values) > 1:
            _, *others = mistake.values
            more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
            text += f"\n  = the same of {', '.join(others[:_SHOWN])}{more}"
        return text

    def _check_size(self) -> None:
        if self.size > MAX_RUNS:
            raise ScenarioError(
                f"{self.path}: these are {self.size:,} runs, and more than {MAX_RUNS:,} are not "
                "taken; take fewer values, or several sweeps on one store"
            )


@dataclass(frozen=True, slots=True)
class _Mistake:
    """What is wrong with runs of a sweep, and with which; of sets in their order."""

    problems: list[dict[str, Any]]
    text: str
    """In words, of the first of these runs."""

    schemes: dict[str | None, None] = field(default_factory=dict)
    combinations: dict[tuple[int, ...], None] = field(default_factory=dict)
    """Steps of the axes."""

    values: dict[str, None] = field(default_factory=dict)
    """Those that it is about."""


def _point(task: Task, values: dict[str, Any]) -> Point:
    told = task.values
    task.key  # noqa: B018  Read now: what is edited later does not count.
    return Point(values, told["scheme"]["preset"], told["seed"], task)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not valid UTF-8 at byte {error.start}") from error


class _Reader:
    """Reads the parts of the file, and gathers what is wrong with them."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        try:
            self.root: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            raise ScenarioError(f"error: {path} is not valid TOML: {error}") from error
        self.spans = positions.locate(text)
        self.problems: list[str] = []
        self.seen: dict[str, positions.Path] = {}
        for key in self.root:
            if key not in _KEYS:
                hint = _nearest(key, _KEYS)
                if isinstance(self.root[key], dict) and not hint.startswith("did"):
                    hint = "keys of the scenario stand under [axes], or under [set] for all runs"
                self.complain((key,), f"unknown key `{key}`", hint, at_key=True)

    def finish(self) -> None:
        """Raise what was found wrong."""
        if self.problems:
            raise ScenarioError("\n\n".join(self.problems))

    def _span(self, where: positions.Path) -> positions.Span:
        """Find a place; that of a table without a line of its own is that of its first key."""
        inside = [span for place, span in self.spans.items() if place[: len(where)] == where]
        if where and where not in self.spans and inside:
            return min(inside, key=lambda span: span.key)
        while where not in self.spans and where:
            where = where[:-1]
        return self.spans.get(where, positions.Span(0, 0, 1))

    def framed(self, where: positions.Path, message: str, hint: str, at_key: bool = False) -> str:
        """Write a message with the place that it is about."""
        span = self._span(where)
        start = span.key if at_key else span.start
        line, column = positions.line_column(self.text, start)
        lines = self.text.splitlines()
        shown = lines[line - 1] if line <= len(lines) else ""
        end = span.start if at_key else span.end
        width = max(1, min(len(self.text[start:end].rstrip(" =\t")), len(shown) - column + 1))
        bar = " " * len(str(line))
        text = (
            f"error: {message}\n{bar}--> {self.path}:{line}:{column}\n{bar} |\n"
            f"{line} | {shown}\n{bar} | {' ' * (column - 1)}{'^' * width}"
        )
        return f"{text}\n{bar} = {hint}" if hint else text

    def complain(
        self, where: positions.Path, message: str, hint: str = "", at_key: bool = False
    ) -> None:
        """Note that something is wrong."""
        self.problems.append(self.framed(where, message, hint, at_key))

    def word(self, key: str) -> str | None:
        """Read a text that may be missing."""
        value = self.root.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            self.complain((key,), f"`{key}`: expected a text", f'write {key} = "…"')
            return None
        return value

    def scenario(self) -> Path:
        """Read which scenario is swept."""
        name = self.word("scenario")
        if name is None:
            if "scenario" not in self.root:
                self.problems.append(
                    f"error: `scenario` is missing\n --> {self.path}\n"
                    '  = name the scenario that is swept: scenario = "first.toml"'
                )
            return self.path
        path = self.path.parent / name
        short = Path(os.path.normpath(path))
        if short.resolve() == path.resolve():  # Not so where `..` follows a link.
            path = short
        if not path.is_file():
            self.complain(
                ("scenario",), f"{path} is not a file", "paths start from the folder of the sweep"
            )
        return path

    def schemes(self) -> list[str | None]:
        """Read the schemes; none means that of the scenario."""
        if "schemes" not in self.root:
            return [None]
        found: list[str | None] = []
        for where, value in self._elements("schemes", 'schemes = ["bfc", "hpcc"]'):
            if not isinstance(value, str):
                self.complain(where, "expected the name of a scheme", 'such as "bfc"')
            elif value in found:
                self.complain(where, f"scheme `{value}` is named twice", "name it once")
            else:
                found.append(value)
        return found

    def seeds(self) -> list[int | None]:
        """Read the seeds; none means that of the scenario."""
        value = self.root.get("seeds")
        if value is None:
            return [None]
        if isinstance(value, dict):
            listed: list[tuple[positions.Path, Any]]
            listed = [(("seeds",), v) for v in self._range(("seeds",), value)]
        else:
            listed = list(self._elements("seeds", "seeds = [1, 2, 3] or { from = 1, to = 5 }"))
        found: list[int | None] = []
        for where, seed in listed:
            if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
                self.complain(where, "a seed is a whole number from 0 to 2⁶⁴ − 1")
            elif seed in found:
                self.complain(where, f"seed {seed} is named twice", "name it once")
            else:
                found.append(seed)
        return found

    def fixed(self) -> list[tuple[str, Any, positions.Path]]:
        """Read what is set for all runs."""
        value = self.root.get("set", {})
        if not isinstance(value, dict):
            self.complain(("set",), "`set`: expected a table of keys and values")
            return []
        leaves = []
        for key, inner, where in self._leaves(value, ("set",), ranges=False):
            self._claim(key, where)
            leaves.append((key, inner, where))
        return leaves

    def axes(self) -> list[Axis]:
        """Read the axes: every value of each with every value of all others."""
        found = []
        given = self.root.get("axes", {})
        if not isinstance(given, dict):
            self.complain(("axes",), "`axes`: expected a table of keys and their values")
            given = {}
        for key, value, where in self._leaves(given, ("axes",), ranges=True):
            self._claim(key, where)
            values = self._axis_values(value, where)
            found.append(Axis((key,), tuple((v,) for v in values), (where,)))
        zips = self.root.get("zip", [])
        if not isinstance(zips, list) or not all(isinstance(z, dict) for z in zips):
            self.complain(("zip",), "`zip`: expected tables, each written as [[zip]]")
            zips = []
        for number, table in enumerate(zips):
            axis = self._zip(table, ("zip", number))
            if axis is not None:
                found.append(axis)
        return found

    def _zip(self, table: dict[str, Any], where: positions.Path) -> Axis | None:
        keys, columns, places = [], [], []
        for key, value, place in self._leaves(table, where, ranges=True):
            self._claim(key, place)
            keys.append(key)
            columns.append(self._axis_values(value, place))
            places.append(place)
        if not keys:
            self.complain(where, "[[zip]] without keys", "name the keys that change together")
            return None
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            said = ", ".join(f"{k}: {n}" for k, n in zip(keys, lengths, strict=True))
            self.complain(
                where,
                f"keys that change together need equally many values ({said})",
                "or make them axes of their own, under [axes]",
            )
            return None
        return Axis(tuple(keys), tuple(zip(*columns, strict=True)), tuple(places))

    def _claim(self, key: str, where: positions.Path) -> None:
        if key in self.seen:
            self.complain(where, f"`{key}` is given twice in this sweep", "keep one", at_key=True)
        if key in ("seed", "scheme.preset"):
            own = "seeds" if key == "seed" else "schemes"
            self.complain(where, f"`{key}` is no axis", f"use the list `{own}`", at_key=True)
        self.seen[key] = where

    def _leaves(
        self, table: dict[str, Any], where: positions.Path, *, ranges: bool
    ) -> Iterator[tuple[str, Any, positions.Path]]:
        """Yield dotted keys: `a.b = [..]`, `[axes.a]` with `b = [..]`, and `"a.b" = [..]`."""
        for key, value in table.items():
            place = (*where, key)
            if isinstance(value, dict) and not (ranges and "from" in value):
                for inner, leaf, spot in self._leaves(value, place, ranges=ranges):
                    yield f"{key}.{inner}", leaf, spot
            else:
                yield key, value, place

    def _axis_values(self, value: Any, where: positions.Path) -> list[Any]:
        if isinstance(value, dict):
            return self._range(where, value)
        if not isinstance(value, list):
            self.complain(
                where, "expected a list of values or a range", "[1, 2] or { from = 1, to = 2 }"
            )
            return []
        if not value:
            self.complain(where, "a list without values", "name at least one value")
        seen = set()
        for number, one in enumerate(value):
            if toml(one) in seen:
                self.complain((*where, number), "the same value twice", "name it once")
            seen.add(toml(one))
        return value

    def _elements(self, key: str, example: str) -> Iterator[tuple[positions.Path, Any]]:
        value = self.root[key]
        if not isinstance(value, list) or not value:
            self.complain((key,), f"`{key}`: expected a list with at least one entry", example)
            return
        for number, one in enumerate(value):
            yield (key, number), one

    # --- Ranges --------------------------------------------------------------------------

    def _range(self, where: positions.Path, table: dict[str, Any]) -> list[Any]:
        """Read `{ from, to, steps | by, scale }`."""
        before = len(self.problems)
        for key in table:
            if key not in _RANGE:
                place = (*where, key)
                self.complain(place, f"unknown key `{key}`", _nearest(key, _RANGE), at_key=True)
        first, last = (self._end(where, table, key) for key in ("from", "to"))
        if first is None or last is None or len(self.problems) > before:
            return []
        if first.kind != last.kind:
            self.complain((*where, "to"), f"`to` is a {last.kind} and `from` is a {first.kind}")
            return []
        if last.value < first.value:
            self.complain((*where, "to"), "`to` is less than `from`", "name the lower one first")
            return []
        if "by" in table:
            return self._by(where, table, first, last)
        return self._steps(where, table, first, last)

    def _end(
        self, where: positions.Path, table: dict[str, Any], key: str
    ) -> quantity.Quantity | None:
        if key not in table:
            self.complain(where, f"a range needs `{key}`", "{ from = 1, to = 8, steps = 4 }")
            return None
        found = quantity.parse(table[key])
        if found is None:
            self.complain((*where, key), f"`{key}`: expected a number or a quantity with its unit")
        return found

    def _by(
        self,
        where: positions.Path,
        table: dict[str, Any],
        first: quantity.Quantity,
        last: quantity.Quantity,
    ) -> list[Any]:
        distance = quantity.parse(table["by"])
        if "steps" in table or "scale" in table:
            other = "steps" if "steps" in table else "scale"
            self.complain((*where, other), f"`by` and `{other}` do not go together", "keep one")
        elif distance is None or distance.kind != first.kind or distance.value <= 0:
            self.complain((*where, "by"), f"`by`: expected a {first.kind} above 0")
        elif (last.value - first.value) / distance.value > MAX_RUNS:
            self.complain((*where, "by"), "`by` makes too many values of this range")
        else:
            return quantity.by_distance(first, last, distance)
        return []

    def _steps(
        self,
        where: positions.Path,
        table: dict[str, Any],
        first: quantity.Quantity,
        last: quantity.Quantity,
    ) -> list[Any]:
        counted = where == ("seeds",) and "steps" not in table
        steps = int(last.value - first.value) + 1 if counted else table.get("steps")
        scale = table.get("scale", "linear")
        if steps is None:
            self.complain(where, "a range needs `steps` or `by`", "{ from = 1, to = 8, steps = 4 }")
        elif isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MAX_RUNS:
            self.complain((*where, "steps"), f"`steps`: a whole number from 1 to {MAX_RUNS:,}")
        elif scale not in ("linear", "log"):
            self.complain((*where, "scale"), '`scale`: expected "linear" or "log"')
        elif scale == "log" and first.value <= 0:
            self.complain((*where, "from"), "a logarithmic range begins above 0")
        elif steps == 1 and first.value != last.value:
            self.complain((*where, "steps"), "one step cannot meet both ends", "use 2 or more")
        else:
            return quantity.by_steps(first, last, steps, scale == "log")
        return []


def _nearest(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"


def toml(value: Any) -> str:
    """Write a value as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # As in JSON, but for one more character that has to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(toml(one) for one in value)}]"
    if isinstance(value, dict):
        pairs = (f"{toml(key)} = {toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else str(value).lower()
    return str(value)


def plain(value: Any) -> Any:
    """Return a value as tables hold it: numbers as they are, all else as it is written."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return toml(value)
