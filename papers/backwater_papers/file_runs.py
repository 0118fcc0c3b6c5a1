"""Reads the runs of a figure file: groups, axes, points and seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backwater_papers.checked_table import Table, nearest
from backwater_papers.figure import GROUP, Axis, Change, Group, Point, Scale
from backwater_papers.quantities import Dimension, Quantity, parse


def read_groups(top: Table) -> tuple[Group, ...]:
    """Read all `[[runs]]`."""
    tables = top.tables("runs")
    groups: list[Group] = []
    for table in tables:
        group = _group(table, alone=len(tables) == 1)
        if any(other.name == group.name for other in groups):
            raise table.fail("name", f"two [[runs]] are called `{group.name}`")
        groups.append(group)
    return tuple(groups)


def _group(table: Table, alone: bool) -> Group:
    written = table.text("scenario")
    scenario = table.file.path.parent / written
    if not scenario.is_file():
        raise table.fail("scenario", f"there is no file {scenario}")
    quick, full = table.table("quick"), table.table("full")
    seeds = _seeds(table)
    chance = table.flag("chance") if "chance" in table else True
    axes = tuple(_axis(axis) for axis in table.tables("axes"))
    group = Group(
        name=table.text("name", "runs" if alone else None),
        scenario=scenario,
        axes=axes,
        overrides=_overrides(table, "set"),
        seeds=seeds,
        profile=table.optional("profile"),
        quick=Scale(_overrides(quick, "set"), _seeds(quick) if "seeds" in quick else seeds[:1]),
        full=Scale(
            _overrides(full, "set"),
            _seeds(full) if "seeds" in full else _up_to(seeds, _SEEDS if chance else 1),
            full.text("size", ""),
        ),
        chance=chance,
        changes=tuple(_change(change, axes) for change in table.tables("where")),
    )
    names = [axis.name for axis in group.axes]
    for name in names:
        if names.count(name) > 1 or name in (GROUP, "name"):
            raise table.fail("axes", f"the name `{name}` of an axis is taken")
    quick.close()
    full.close()
    table.close()
    return group


def _change(table: Table, axes: Sequence[Axis]) -> Change:
    """Read a change for some combinations of points: the combinations and the overrides."""
    at = table.table("at")
    labels = {name: labels_of(at, name) for name in at.raw}
    for name, points in labels.items():
        check_points(at, name, points, axes)
    if not labels:
        raise table.fail("at", "missing; list the points: at = { AXIS = [..], .. }")
    seeds = table.whole("full_seeds", 1, 1) if "full_seeds" in table else None
    change = Change(labels, _overrides(table, "set"), _overrides(table, "full"), seeds)
    if not (change.overrides or change.full or seeds):
        raise table.fail(None, "has no effect; add `set`, `full` or `full_seeds`")
    at.close()
    table.close()
    return change


def _up_to(seeds: tuple[int | None, ...], asked: int) -> tuple[int | None, ...]:
    """Append consecutive numbers to the seeds until there are `asked` seeds."""
    given = [seed for seed in seeds if seed is not None]
    last = max(given, default=0)
    more = range(last + 1, last + 1 + max(asked - len(given), 0))
    return (*given, *more) if given or asked > 1 else seeds


_SEEDS = 10
"""Number of seeds that a claim about a random result needs."""

_MOST_SEEDS = 100_000


def _seeds(table: Table) -> tuple[int | None, ...]:
    if isinstance(table.get("seeds"), dict):
        bounds = table.table("seeds")
        first, last = bounds.whole("from", 1), bounds.whole("to", 0)
        bounds.close()
        if not first <= last < first + _MOST_SEEDS:
            raise table.fail("seeds", f"expected from 1 to {_MOST_SEEDS:,} seeds in {{ from, to }}")
        return tuple(range(first, last + 1))
    seeds = table.items("seeds")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise table.fail("seeds", f"expected whole numbers, found {seed!r}")
    if len(set(seeds)) < len(seeds):
        raise table.fail("seeds", "a seed stands here twice")
    return tuple(seeds) or (None,)


def _overrides(table: Table, key: str) -> tuple[str, ...]:
    overrides = table.texts(key)
    for override in overrides:
        if not re.match(r"[^=\s]+=.", override):
            raise table.fail(key, f"expected texts such as switch.buffer=24MB, not {override!r}")
    return overrides


def _axis(table: Table) -> Axis:
    """Read an axis: a key with its values, or schemes, or points with overrides."""
    kinds = [kind for kind in ("key", "schemes", "points") if kind in table]
    if len(kinds) != 1:
        raise table.fail(None, "an axis has one of `key` (with `values`), `schemes` and `points`")
    dimension = None
    if kinds == ["key"]:
        name, (points, dimension) = table.text("name"), _values(table)
    elif kinds == ["schemes"]:
        name = table.text("name", "scheme")
        points = [Point(scheme, scheme) for scheme in table.texts("schemes")]
    else:
        name = table.text("name")
        points = [_point(point) for point in table.tables("points")]
        dimension = _common([parse(point.get("at")) for point in table.tables("points")])
    labels = [point.label for point in points]
    if not labels:
        raise table.fail(kinds[0], "an axis needs at least one point")
    if len(set(labels)) < len(labels):
        raise table.fail(None, "two points of the axis have the same label")
    table.close()
    return Axis(name, tuple(points), dimension)


def _values(table: Table) -> tuple[list[Point], Dimension | None]:
    key, values = table.text("key"), table.items("values")
    labels = table.texts("labels") or tuple(str(value) for value in values)
    if len(labels) != len(values):
        raise table.fail("labels", f"there are {len(labels)} labels for {len(values)} values")
    numbers = [parse(value) for value in values]
    dimension = _common(numbers)
    points = [
        Point(
            label,
            overrides=(f"{key}={str(value).lower() if isinstance(value, bool) else value}",),
            number=number.value if dimension and number is not None else None,
        )
        for label, value, number in zip(labels, values, numbers, strict=True)
    ]
    return points, dimension


def _common(numbers: Sequence[Quantity | None]) -> Dimension | None:
    """Return the dimension of the numbers if all have the same one, else ``None``."""
    dimensions = {number.dimension if number else None for number in numbers}
    return dimensions.pop() if len(dimensions) == 1 else None


def _point(table: Table) -> Point:
    at = table.quantity_of("at", table.get("at"), None).value if "at" in table else None
    point = Point(table.text("label"), table.optional("scheme"), _overrides(table, "set"), at)
    table.close()
    return point


def labels_of(table: Table, axis: str) -> tuple[str, ...]:
    """Read one or several labels of an axis."""
    written = table.get(axis)
    return tuple(map(str, written if isinstance(written, list) else [written]))


def check_points(table: Table, name: str, points: Sequence[str], axes: Sequence[Axis]) -> None:
    """Raise an error if an axis, or one of these points, does not exist."""
    axis = next((axis for axis in axes if axis.name == name), None)
    if axis is None:
        names = tuple(axis.name for axis in axes)
        raise table.fail(name, f"no axis `{name}` in these runs.{nearest(name, names)}")
    for label in points:
        if label not in axis.labels():
            words = ", ".join(axis.labels())
            raise table.fail(name, f"`{label}` is no point of the axis; there are: {words}")
