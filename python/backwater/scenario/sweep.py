"""The runs of a sweep, from a sweep file or from the arguments of a call."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from backwater._base import positions, quantity
from backwater._base.toml import toml
from backwater._base.units import some_text
from backwater.errors import ScenarioError
from backwater.scenario.equal import equal_presets
from backwater.scenario.scenario import Fit, Scenario, scheme_name, whole_seed

MAX_RUNS = 200_000
MAX_SEED = 2**64 - 1
_KEYS = (
    *("name", "scenario", "scenarios", "profile", "schemes", "seeds"),
    *("set", "axes", "zip", "skip_invalid"),
)
_RANGE = ("from", "to", "steps", "by", "scale")
_SHOWN = 5

_Likeness = tuple[str, str, str]
"""Properties that equal problems of several runs share: message, hint, and key or text."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Keys that change together, and the values that they take."""

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    """For each step, a value for each key."""

    places: tuple[positions.Path, ...]
    """For each key, the place of its values in the file."""


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    values: dict[str, Any]
    """The varied keys."""

    scheme: str
    seed: int
    scenario: Scenario


@dataclass(frozen=True, slots=True)
class Skipped:
    """A combination that was left out because it is invalid."""

    values: dict[str, Any]
    scheme: str | None
    why: str


@dataclass
class Sweep:
    """Scenarios, schemes, seeds, and keys that are varied."""

    name: str
    scenarios: list[Scenario]
    schemes: list[str | None]
    """None is the scheme of the scenario."""

    seeds: list[int | None]
    """None is the seed of the scenario."""

    axes: list[Axis]
    fixed: list[tuple[str, Any, positions.Path]] = field(default_factory=list)
    skip_invalid: bool = False
    """Leave invalid combinations out and list them, instead of refusing the sweep."""

    path: Path | None = None
    text: str = ""
    reader: _Reader | None = None
    notes: dict[str, None] = field(default_factory=dict)
    """Sentences about parameters that do not apply to a scheme, and about equal schemes.

    :meth:`points` finds them.
    """

    skipped: list[Skipped] = field(default_factory=list)
    """Invalid combinations; :meth:`points` finds them."""

    def __post_init__(self) -> None:
        if self.size > MAX_RUNS:
            raise ScenarioError(
                f"{self.source}: these are {self.size:,} runs; at most {MAX_RUNS:,} are accepted; "
                "take fewer values, or several sweeps on one store"
            )

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Read a sweep file. Its combinations are checked by :meth:`points`."""
        path = Path(path)
        text = _read(path)
        reader = _Reader(path, text)
        scenarios = reader.scenarios()
        name = reader.word("name") or path.stem
        profile = reader.word("profile")
        schemes, seeds = reader.schemes(), reader.seeds()
        fixed, axes = reader.fixed(), reader.axes()
        skip = reader.flag("skip_invalid")
        reader.finish()
        found = [Scenario(one, profile=profile) for one in scenarios]
        return cls(name, found, schemes, seeds, axes, fixed, skip, path, text, reader)

    @classmethod
    def of(
        cls,
        scenarios: Sequence[Scenario],
        schemes: Iterable[str] | None = None,
        seeds: Iterable[int] | None = None,
        vary: Mapping[Any, Any] | None = None,
        skip_invalid: bool = False,
    ) -> Sweep:
        """Return the sweep that the arguments of :func:`backwater.run` describe."""
        named: list[str | None] = [None]
        if schemes is not None:
            if isinstance(schemes, str) or not isinstance(schemes, Iterable):
                raise ScenarioError(
                    f'schemes={schemes!r}: expected a list of names such as ["bfc", "hpcc"]'
                )
            named = [*map(scheme_name, schemes)]
            if not named:
                raise ScenarioError("no scheme to compare; name at least one, such as bfc,hpcc")
        for name in named:
            if named.count(name) > 1:
                raise ScenarioError(f"scheme `{name}` is named twice")
        whole: list[int | None] = [None]
        if seeds is not None:
            if isinstance(seeds, str) or not isinstance(seeds, Iterable):
                raise ScenarioError(
                    f"seeds={seeds!r}: expected a list of whole numbers or a range such as range(5)"
                )
            whole = [*map(whole_seed, seeds)]
            if not whole or len(set(whole)) < len(whole):
                raise ScenarioError("seeds: expected at least one seed, and each seed once")
        axes = [_axis(key, values) for key, values in _mapping(vary).items()]
        name = ", ".join(dict.fromkeys(one.name for one in scenarios))
        return cls(name, list(scenarios), named, whole, axes, skip_invalid=skip_invalid)

    @property
    def source(self) -> str:
        """Name of the sweep in messages: its file, or the scenario of the call."""
        return str(self.path) if self.path else ", ".join(one.source for one in self.scenarios)

    @property
    def size(self) -> int:
        """Number of runs, counting equal ones."""
        counts = [len(axis.values) for axis in self.axes]
        return prod([len(self.scenarios), len(self.schemes), len(self.seeds), *counts])

    @property
    def keys(self) -> list[str]:
        """The varied keys; ``scenario`` comes first if there are several scenarios."""
        keys = [key for axis in self.axes for key in axis.keys]
        return ["scenario", *keys] if len(self.scenarios) > 1 else keys

    def points(self) -> list[Point]:
        """Return all runs after checking them; raise ``ScenarioError`` with all errors."""
        points: list[Point] = []
        mistakes: dict[tuple[_Likeness, ...], _Mistake] = {}
        steps_of = [*product(*(range(len(axis.values)) for axis in self.axes))]
        for number, scenario in enumerate(self.scenarios):
            for steps in steps_of:
                self._add(points, mistakes, number, scenario, steps)
        self._find_left_out()
        self._find_equal(points)
        if mistakes and not (self.skip_invalid and points):
            shown = [self._described(mistake) for mistake in list(mistakes.values())[:_SHOWN]]
            more = len(mistakes) - len(shown)
            if more:
                shown.append(f"… and {more} more mistakes of this kind.")
            if points:
                shown.append("`skip_invalid = true` runs only the valid combinations.")
            problems = [problem for mistake in mistakes.values() for problem in mistake.problems]
            raise ScenarioError("\n\n".join(shown), problems)
        return points

    def _add(
        self,
        points: list[Point],
        mistakes: dict[tuple[_Likeness, ...], _Mistake],
        number: int,
        scenario: Scenario,
        steps: tuple[int, ...],
    ) -> None:
        """Add the runs of one combination of values, or record why they are invalid."""
        values = self._values(steps)
        changes = {key: value for key, value, _ in self.fixed} | values
        changed = scenario.set([f"{key}={toml(value)}" for key, value in changes.items()])
        if len(self.scenarios) > 1:
            values = {"scenario": scenario.stem} | values
        fits = self._fits(changed)
        for scheme, fit in fits.items():
            self.notes.update(dict.fromkeys(fit.left_out))
            for seed in self.seeds:
                try:
                    points.append(_point(fit.scenario.set(seed=seed), values))
                except ScenarioError as error:
                    like, text, others = self._explained(error, steps)
                    found = mistakes.setdefault(like, _Mistake(error.problems, text))
                    found.schemes[scheme] = found.combinations[number, *steps] = None
                    found.values.update(dict.fromkeys(others))
                    messages = [p["message"] for p in error.problems if p["severity"] == "error"]
                    why = "; ".join(messages) or str(error)
                    self.skipped.append(Skipped(values, scheme, why))
                    break

    def _fits(self, scenario: Scenario) -> dict[str | None, Fit]:
        if self.schemes == [None]:
            return {None: Fit(scenario, [])}
        seeded = scenario.set(seed=self.seeds[0])
        return seeded.with_schemes(self.schemes)

    def _find_left_out(self) -> None:
        """Find the parameters of the scenarios themselves that do not apply to some scheme."""
        for scenario in self.scenarios:
            for scheme in self.schemes:
                problems = scenario.set(scheme=scheme).check()
                found = [p["message"] for p in problems if p["code"] == "left-out"]
                self.notes.update(dict.fromkeys(found))

    def _find_equal(self, points: list[Point]) -> None:
        """Find presets that are equal at a combination of values."""
        together: dict[str, dict[str, Scenario]] = {}
        for point in points:
            at = together.setdefault(str(point.values), {})
            at.setdefault(point.scheme, point.scenario)
        for scenarios in together.values():
            self.notes.update(dict.fromkeys(equal_presets(scenarios)))

    def _values(self, steps: Sequence[int]) -> dict[str, Any]:
        return {
            key: value
            for axis, step in zip(self.axes, steps, strict=True)
            for key, value in zip(axis.keys, axis.values[step], strict=True)
        }

    def _explained(
        self, error: ScenarioError, steps: Sequence[int]
    ) -> tuple[tuple[_Likeness, ...], str, list[str]]:
        """Return the likeness of a mistake, its text with the place in the sweep, and its values.

        Two mistakes with the same likeness are reported as one. The values are those of axes that
        the mistake concerns. They are not part of the likeness.
        """
        # For each key: its value, the place of the value, and the place of the key.
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
                if self.reader is None:
                    texts.append(problem["text"])
                elif problem["code"] == "unknown-key":
                    texts.append(self.reader.framed(named, message, hint, at_key=True))
                else:
                    texts.append(self.reader.framed(place, message, hint))
                    values.append(toml(value))
        if not texts:
            return ((str(error), "", ""),), str(error), []
        return tuple(likeness), "\n\n".join(texts), values

    def _described(self, mistake: _Mistake) -> str:
        """Describe a mistake, with the number of combinations and the schemes that it concerns."""
        names = [scheme for scheme in mistake.schemes if scheme is not None]
        named = ""
        if names and not 1 < len(names) == len(self.schemes):
            named = f" (with the scheme{'s' * (len(names) > 1)} {', '.join(names)})"
        concerned = len(mistake.combinations)
        all_of_them = prod([len(self.scenarios), *(len(axis.values) for axis in self.axes)])
        what = "a run of this sweep is wrong"
        if self.path is None and concerned == all_of_them == 1:
            return f"with the scheme {', '.join(names)}:\n{mistake.text}" if named else mistake.text
        if concerned == all_of_them > 1:
            what = f"all {all_of_them:,} combinations of values are wrong"
        elif concerned > 1:
            what = f"{concerned:,} of {all_of_them:,} combinations of values are wrong"
        text = f"{self.source}: {what}{named}:\n{mistake.text}"
        if len(mistake.values) > 1:
            _, *others = mistake.values
            text += f"\n  = the same of {some_text(others, _SHOWN)}"
        return text


@dataclass(frozen=True, slots=True)
class _Mistake:
    """A mistake, and the runs that it concerns. Dicts are used as ordered sets."""

    problems: list[dict[str, Any]]
    text: str
    """Description of the mistake in the first of these runs."""

    schemes: dict[str | None, None] = field(default_factory=dict)
    combinations: dict[tuple[int, ...], None] = field(default_factory=dict)
    """Index of the scenario and the steps of the axes."""

    values: dict[str, None] = field(default_factory=dict)
    """Values of axes that the mistake concerns."""


def _point(scenario: Scenario, values: dict[str, Any]) -> Point:
    resolved = scenario.values
    scenario.key  # noqa: B018  Read now: later edits do not count.
    return Point(values, resolved["scheme"]["preset"], resolved["seed"], scenario)


def _mapping(vary: Any) -> Mapping[Any, Any]:
    if vary is not None and not isinstance(vary, Mapping):
        raise ScenarioError(
            f'vary={vary!r}: expected a dict of lists such as {{"switch.buffer": ["4MB", "8MB"]}}'
        )
    return vary or {}


def _axis(key: Any, values: Any) -> Axis:
    """Return an axis of the argument ``vary``; a tuple as key has keys that change together."""
    keys = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(one, str) for one in keys):
        raise ScenarioError(f"vary: {key!r} is not the name of a key")
    for one in keys:
        if one in ("seed", "scheme", "scheme.preset"):
            argument = "seeds" if one == "seed" else "schemes"
            raise ScenarioError(f"vary: `{one}` is not an axis; use the argument {argument}")
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ScenarioError(f'vary: `{key}`: expected a list of values such as ["4MB", "8MB"]')
    steps = [tuple(one) if isinstance(key, tuple) else (one,) for one in values]
    if not steps or any(len(step) != len(keys) for step in steps):
        raise ScenarioError(f"vary: `{key}`: expected at least one step, and a value for each key")
    try:
        written = [toml(step) for step in steps]
    except TypeError as error:
        raise ScenarioError(f"vary: `{key}`: {error} is not a value") from error
    if len(set(written)) < len(written):
        raise ScenarioError(f"vary: `{key}`: the same value twice; name each value once")
    return Axis(keys, tuple(steps), ((),) * len(keys))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not valid UTF-8 at byte {error.start}") from error


class _Reader:
    """Reads the parts of a sweep file and collects their errors."""

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
        """Raise the collected errors, if there are any."""
        if self.problems:
            raise ScenarioError("\n\n".join(self.problems))

    def _span(self, where: positions.Path) -> positions.Span:
        """Return the span of a place; for a table without its own line, that of its first key."""
        inside = [span for place, span in self.spans.items() if place[: len(where)] == where]
        if where and where not in self.spans and inside:
            return min(inside, key=lambda span: span.key)
        while where not in self.spans and where:
            where = where[:-1]
        return self.spans.get(where, positions.Span(0, 0, 1))

    def framed(self, where: positions.Path, message: str, hint: str, at_key: bool = False) -> str:
        """Return an error as text that shows the line of the file."""
        span = self._span(where)
        start = span.key if at_key else span.start
        end = span.start if at_key else span.end
        width = len(self.text[start:end].rstrip(" =\t"))
        place = positions.place_at(str(self.path), self.text, start, width)
        return positions.framed("error", message, place, hint)

    def complain(
        self, where: positions.Path, message: str, hint: str = "", at_key: bool = False
    ) -> None:
        """Record an error at a place of the file."""
        self.problems.append(self.framed(where, message, hint, at_key))

    def word(self, key: str) -> str | None:
        """Read an optional text."""
        value = self.root.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            self.complain((key,), f"`{key}`: expected a text", f'write {key} = "…"')
            return None
        return value

    def flag(self, key: str) -> bool:
        """Read an optional truth value."""
        value = self.root.get(key, False)
        if not isinstance(value, bool):
            self.complain((key,), f"`{key}`: expected true or false")
            return False
        return value

    def scenarios(self) -> list[Path]:
        """Read the scenarios: ``scenario`` names one, ``scenarios`` names several."""
        if "scenarios" in self.root:
            if "scenario" in self.root:
                self.complain(("scenario",), "`scenario` and `scenarios` exclude each other")
            found = []
            for where, name in self._elements("scenarios", 'scenarios = ["a.toml", "b.toml"]'):
                if isinstance(name, str):
                    found.append(self._scenario(name, where))
                else:
                    self.complain(where, "expected the path of a scenario")
            if len({path.stem for path in found}) < len(found):
                self.complain(("scenarios",), "two of them have the same file name", "rename one")
            return found
        name = self.word("scenario")
        if name is not None:
            return [self._scenario(name, ("scenario",))]
        if "scenario" not in self.root:
            self.problems.append(
                f"error: `scenario` is missing\n --> {self.path}\n"
                '  = name the scenario that is swept: scenario = "first.toml"'
            )
        return [self.path]

    def _scenario(self, name: str, where: positions.Path) -> Path:
        path = self.path.parent / name
        short = Path(os.path.normpath(path))
        if short.resolve() == path.resolve():  # They differ if `..` follows a symbolic link.
            path = short
        if not path.is_file():
            self.complain(
                where, f"{path} is not a file", "paths start from the folder of the sweep"
            )
        return path

    def schemes(self) -> list[str | None]:
        """Read the schemes; ``[None]``, the scheme of the scenario, if the file lists none."""
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
        """Read the seeds; ``[None]``, the seed of the scenario, if the file lists none."""
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
        """Read the values that are set for all runs."""
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
        """Read the axes. Each value of an axis is combined with each value of the others."""
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
            columns.append(self._axis_values(value, place, distinct=False))
            places.append(place)
        if not keys:
            self.complain(where, "[[zip]] without keys", "name the keys that change together")
            return None
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            counts = ", ".join(f"{k}: {n}" for k, n in zip(keys, lengths, strict=True))
            self.complain(
                where,
                f"keys that change together need equally many values ({counts})",
                "or make them axes of their own, under [axes]",
            )
            return None
        steps = tuple(zip(*columns, strict=True))
        if len({toml(step) for step in steps}) < len(steps):
            self.complain(where, "[[zip]]: the same values twice", "name each step once")
        return Axis(tuple(keys), steps, tuple(places))

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
        """Yield the dotted key, the value and the place of each value of a table.

        `a.b = [..]`, `[axes.a]` with `b = [..]`, and `"a.b" = [..]` all have the key `a.b`. With
        ``ranges``, a table that contains `from` is a value.
        """
        for key, value in table.items():
            place = (*where, key)
            if isinstance(value, dict) and not (ranges and "from" in value):
                for inner, leaf, spot in self._leaves(value, place, ranges=ranges):
                    yield f"{key}.{inner}", leaf, spot
            else:
                yield key, value, place

    def _axis_values(self, value: Any, where: positions.Path, distinct: bool = True) -> list[Any]:
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
            if distinct and toml(one) in seen:
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
        """Read a range such as `{ from = 1, to = 8, steps = 4 }`, and return its values."""
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


def plain(value: Any) -> Any:
    """Return a value as tables store it: numbers and texts unchanged, others as TOML text."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return toml(value)
