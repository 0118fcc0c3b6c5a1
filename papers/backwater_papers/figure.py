"""Immutable objects of a figure: runs, data, measures, panels and claims.

:mod:`backwater_papers.files` reads and checks a figure file and creates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path

from backwater_papers.formulas import Formula
from backwater_papers.quantities import Dimension, Quantity

GROUP = "runs"
"""Key of a selection for the name of its ``[[runs]]``."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of an axis: its label, and the scheme or overrides that produce it."""

    label: str
    scheme: str | None = None
    overrides: tuple[str, ...] = ()
    number: float | None = None
    """Position on a numeric axis, in the unit of the axis' dimension; ``None`` on other axes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A property in which the runs of a group differ, such as the scheme or a key."""

    name: str
    points: tuple[Point, ...]
    dimension: Dimension | None = None
    """Dimension of the points' numbers; ``None`` if the axis is not numeric."""

    def labels(self) -> tuple[str, ...]:
        """Return the labels of the points, in order."""
        return tuple(point.label for point in self.points)


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of points. Its runs differ only in their seed."""

    tags: tuple[tuple[str, str], ...]
    scheme: str | None
    overrides: tuple[str, ...]

    def label(self) -> str:
        """Return the labels of the points as text."""
        return ", ".join(label for _, label in self.tags)


class Size(StrEnum):
    """Size at which a figure is run."""

    USUAL = "usual"
    """The default size of the figure file."""

    QUICK = "quick"
    """A reduced size, to see that the figure works."""

    FULL = "full"
    """All seeds that the claims need, and the paper's run length where that is feasible."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Changes of a group for a size other than the usual one."""

    overrides: tuple[str, ...]
    seeds: tuple[int | None, ...]
    words: str = ""
    """Description of this size; empty: the figure's description applies."""


@dataclass(frozen=True, slots=True)
class Change:
    """Overrides that apply only to some combinations of points."""

    at: Mapping[str, tuple[str, ...]]
    """Labels by axis. An axis without an entry does not restrict the change."""

    overrides: tuple[str, ...]
    full: tuple[str, ...]
    """Additional overrides at the size `full`."""

    full_seeds: int | None = None
    """Number of seeds at the size `full`, starting with the first; ``None``: all."""

    def concerns(self, tags: Mapping[str, str]) -> bool:
        """Return true if the change applies to a combination."""
        return all(tags[axis] in labels for axis, labels in self.at.items())


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of one scenario: all combinations of the points of its axes."""

    name: str
    scenario: Path
    axes: tuple[Axis, ...]
    overrides: tuple[str, ...]
    seeds: tuple[int | None, ...]
    profile: str | None
    quick: Scale
    full: Scale
    chance: bool = True
    """False if all seeds have the same result."""

    changes: tuple[Change, ...] = ()

    def axis(self, name: str) -> Axis | None:
        """Return the axis named ``name``, or ``None`` if the group has no such axis."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def scale(self, size: Size) -> Scale:
        """Return the overrides and the seeds for a size."""
        usual = Scale((), self.seeds)
        return {Size.USUAL: usual, Size.QUICK: self.quick, Size.FULL: self.full}[size]

    def seeds_of(self, tags: Mapping[str, str], size: Size) -> tuple[int | None, ...]:
        """Return the seeds at a size for a combination of points (``tags``: label by axis)."""
        changes = self.changes if size is Size.FULL else ()
        fewer = [change.full_seeds for change in changes if change.concerns(tags)]
        return self.scale(size).seeds[: min(filter(None, fewer), default=None)]

    def cases(self, size: Size = Size.USUAL) -> Iterator[Case]:
        """Yield all combinations of points. The last axis changes fastest."""
        scaled = self.scale(size).overrides
        for points in product(*(axis.points for axis in self.axes)):
            schemes = [point.scheme for point in points if point.scheme is not None]
            tags = {a.name: p.label for a, p in zip(self.axes, points, strict=True)}
            changes = [change for change in self.changes if change.concerns(tags)]
            yield Case(
                tuple(tags.items()),
                schemes[-1] if schemes else None,
                (
                    *self.overrides,
                    *(override for point in points for override in point.overrides),
                    *(override for change in changes for override in change.overrides),
                    *scaled,
                    *(o for change in changes if size is Size.FULL for o in change.full),
                ),
            )


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of data of a run (`of`), with filters that select numbers from it."""

    of: str
    dimension: Dimension
    sizes: tuple[float, float] | None = None
    window: tuple[float, float] | None = None
    traffic: tuple[str, ...] = ()
    flows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    """Labels of `flows`, in the same order."""

    ports: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    bin_ps: float | None = None
    interval_ps: float = 0.0
    total: bool = False
    key: str = ""
    classes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    incast: bool | None = None
    """True: only incast flows. False: only other flows. ``None``: both."""

    frames: str = ""
    part: str = ""
    """A group of parts of a delay breakdown (`analysis.blame.GROUPS`); empty: all parts."""

    threshold: bool = False
    """True: the threshold that limits the bytes is an additional line."""

    lasting_ps: float = 0.0
    slowest: float | None = None
    """Select only this share of the flows, those with the largest slowdown; ``None``: all flows."""

    unfinished: bool = False
    """True: unfinished flows count with their time until the end of the run, a lower bound."""


IN_TIME = ("time-to", "time-of-max", "swings", "jain")
"""Statistics of a time series."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A function from many numbers to one, with its parameters."""

    name: str
    quantile: float | None = None
    above: float | None = None
    below: float | None = None
    after_ps: float = 0.0
    after_flow: int | None = None
    """If set, time counts from the end of the flow with this number, not from `after_ps`."""

    hold_ps: float = 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every case has: a statistic of its data, or the value of a formula."""

    name: str
    source: Source
    statistic: Statistic
    dimension: Dimension
    formula: Formula | None = None
    """If set, the measure is the value of this formula, the same in all runs."""

    at: float = 0.0
    """Argument at which the formula is evaluated."""

    over: Measure | None = None
    """If set, the value is divided by the value of this measure."""


Selection = Mapping[str, tuple[str, ...]]
"""Selected labels by axis. An axis without an entry is not restricted."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A measure of selected cases."""

    measure: Measure
    select: Selection


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a value: a quantity, or another measure."""

    than: Quantity | Pick
    low: bool
    """True: the value must be above the bound. False: below."""

    strict: bool
    over: Pick | None = None
    """If set, the bound is `than` divided by this measure, because the claim is about a ratio."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper that a program can check."""

    text: str
    place: str
    paper: str
    value: Pick
    over: Quantity | Pick | None
    bounds: tuple[Bound, ...]
    expected: str
    """The bounds as text."""

    cause: str
    """The reason why the claim does not hold."""

    source: str = "paper"
    """``"paper"``, or ``"ours"`` if the paper does not state it."""

    alike: bool = False
    """True if the paper states that there is no difference."""

    was: str = ""
    """The earlier bound, if it was changed after a result was known."""

    curve: CurvePoint | None = None
    """The point of a published curve that the claim is about; ``None`` for other claims."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a published curve: the panel's title, the line's label, and x as text."""

    panel: str
    line: str
    x: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A value of the paper, drawn as a faint line, or as a point if x and y are known."""

    text: str
    x: Quantity | None
    y: Quantity | None


@dataclass(frozen=True, slots=True)
class Published:
    """A curve of the paper, drawn faintly."""

    point: str | None
    """The point of the axis `by` whose colour the curve has; ``None``: it belongs to no point."""

    text: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of the picture."""

    kind: str
    title: str
    select: Selection
    by: str | None
    x: str | None
    source: Source | None
    measures: tuple[Measure, ...]
    statistic: Statistic | None
    bins: int
    x_label: str | None
    y_label: str | None
    x_scale: str
    y_scale: str
    x_limits: tuple[float, float] | None
    y_limits: tuple[float, float] | None
    marks: tuple[Mark, ...]
    edges: tuple[float, ...] = ()
    """Upper edges of the size bins; empty: bins with equally many flows."""

    formulas: tuple[Formula, ...] = ()
    published: tuple[Published, ...] = ()
    published_from: str = ""
    unjudged: str = ""
    """Reason why the published curves are only drawn; empty: each of their points is a claim."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper."""

    name: str
    path: Path
    title: str
    place: str
    about: str
    size: str
    groups: tuple[Group, ...]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    columns: int
    minutes: float = 0.0
    """Minutes of the last run at the usual size on one core."""

    interpretations: tuple[str, ...] = ()
    """Other interpretations of the paper that were tried, each with its result."""

    def group(self, select: Selection) -> Group:
        """Return the group that a selection refers to."""
        names = select.get(GROUP)
        return next(g for g in self.groups if names is None or g.name in names)
