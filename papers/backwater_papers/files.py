"""Reads figure files: TOML in, checked and immutable objects out.

All references of a file are resolved here, before the first run: axes, their points, measures,
data and scenarios. An error gives file, line, key and the expected value.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backwater.analysis.blame import GROUPS
from backwater.analysis.breakdown import CLASSES, ROLES
from backwater_papers import formulas
from backwater_papers.checked_table import FigureError, File, Table, nearest
from backwater_papers.figure import (
    GROUP,
    IN_TIME,
    Axis,
    Bound,
    Change,
    Claim,
    CurvePoint,
    Figure,
    Group,
    Mark,
    Measure,
    Panel,
    Pick,
    Point,
    Published,
    Scale,
    Selection,
    Source,
    Statistic,
)
from backwater_papers.formulas import Formula
from backwater_papers.quantities import Dimension, Quantity, parse

FIGURES = Path(__file__).parent / "figures"

# --- Finding files ---------------------------------------------------------------------------


def available(folder: Path = FIGURES) -> list[str]:
    """Names of all figures, such as ``hpcc/fig13``."""
    found = (path.relative_to(folder).with_suffix("") for path in folder.glob("*/*.toml"))
    return sorted((path.as_posix() for path in found), key=_in_numbers)


def wanted(names: Sequence[str], folder: Path = FIGURES) -> list[str]:
    """Find figures: ``hpcc/fig13``, ``hpcc/fig9a`` (a part), a paper, ``all``, or a file."""
    known = available(folder)
    chosen: list[str] = []
    for name in names:
        if name == "all":
            chosen += known
        elif name in known or name.endswith(".toml"):
            chosen.append(name)
        elif members := [figure for figure in known if figure.startswith(f"{name}/")]:
            chosen += members
        elif parts := [figure for figure in known if _is_part(name, figure)]:
            chosen += parts
        else:
            papers = sorted({figure.partition("/")[0] for figure in known})
            near = difflib.get_close_matches(name, [*known, *papers, "all"], 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise FigureError(
                f"there is no figure `{name}`.{hint} `backwater paper list` lists them."
            )
    return list(dict.fromkeys(chosen))


def load(name: str, folder: Path = FIGURES) -> Figure:
    """Read a figure by name, or a file of one's own."""
    if name.endswith(".toml"):
        path = Path(name)
        return read(path, f"{path.absolute().parent.name}/{path.stem}")
    return read(folder / f"{name}.toml", name)


def read(path: Path, name: str | None = None) -> Figure:
    """Read a figure file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FigureError(f"error: {path}: cannot be read: {error}") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FigureError(f"error: {path}: {error}") from error
    return _figure(Table(raw, File(path, text)), name or path.stem)


def _is_part(name: str, figure: str) -> bool:
    """Return true if `name` (``hpcc/fig9a``) is a part of `figure` (``hpcc/fig09ab``)."""
    wanted, known = (_NUMBERED.fullmatch(text) for text in (name, figure))
    if wanted is None or known is None or wanted[1] != known[1]:
        return False
    same = int(wanted[2]) == int(known[2])
    return same and (not known[3] or set(wanted[3]) <= set(known[3]))


_NUMBERED = re.compile(r"(.*?)([0-9]+)([a-z]*)")


def _in_numbers(name: str) -> list[tuple[int, str]]:
    """Sort key by which fig9 comes before fig10."""
    return [(int(p), "") if p.isdigit() else (0, p) for p in re.split(r"([0-9]+)", name)]


# --- The file from top to bottom -------------------------------------------------------------


def _figure(top: Table, name: str) -> Figure:
    title, place = top.text("title"), top.text("place")
    about, size = top.text("about", ""), top.text("size", "")
    columns = top.whole("columns", 2, 1)
    groups = _groups(top)
    sources = {key: _source(top.table("data"), key) for key in top.table("data").raw}
    curves = {key: _formula(top.table("formulas"), key) for key in top.table("formulas").raw}
    if not groups and not curves:
        raise top.fail(None, "a figure needs at least one [[runs]], or [formulas]")
    book = _Book(groups, sources, curves, {})
    declared = top.table("measures")
    for key in declared.raw:
        book.measures[key] = _measure(declared.table(key), key, book)
    panels = tuple(_panel(table, book) for table in top.tables("panels"))
    claims = tuple(_claim(table, book) for table in top.tables("claims"))
    claims += tuple(claim for panel in panels for claim in curve_claims(panel, book.group(panel)))
    if not panels:
        raise top.fail(None, "a figure needs at least one [[panels]]")
    minutes = top.quantity("minutes", Dimension.NUMBER) if "minutes" in top else 0.0
    interpretations = top.texts("interpretations")
    top.close()
    return Figure(
        name=name,
        path=top.file.path,
        title=title,
        place=place,
        about=about,
        size=size,
        groups=groups,
        panels=panels,
        claims=claims,
        columns=columns,
        minutes=minutes,
        interpretations=interpretations,
    )


@dataclass(frozen=True, slots=True)
class _Book:
    """Declarations of a file that its later parts refer to."""

    groups: tuple[Group, ...]
    sources: dict[str, Source]
    formulas: dict[str, Formula]
    measures: dict[str, Measure]

    def group(self, panel: Panel) -> Group | None:
        """Return the runs that a panel shows, if it shows any."""
        return _group_of(self, panel.select) if panel.published else None

    def measure(self, table: Table, key: str, name: object) -> Measure:
        if not isinstance(name, str) or name not in self.measures:
            known = ", ".join(self.measures) or "none"
            near = nearest(str(name), self.measures)
            raise table.fail(key, f"no measure `{name}` is declared; there are: {known}.{near}")
        return self.measures[name]


def _groups(top: Table) -> tuple[Group, ...]:
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
    labels = {name: _labels(at, name) for name in at.raw}
    for name, points in labels.items():
        _check_points(at, name, points, axes)
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


# --- Data and measures -----------------------------------------------------------------------

_FLOWS = {"sizes", "traffic", "classes", "window"}
_PORTS = {"ports", "tiers", "roles"}
SOURCES: dict[str, tuple[Dimension, set[str]]] = {
    "slowdown": (Dimension.NUMBER, _FLOWS),
    "slowdown-acked": (Dimension.NUMBER, _FLOWS),
    "fct": (Dimension.TIME, _FLOWS | {"unfinished"}),
    "fct-acked": (Dimension.TIME, _FLOWS | {"unfinished"}),
    "delay": (Dimension.TIME, _FLOWS),
    "goodput": (Dimension.RATE, _FLOWS),
    "rtt": (Dimension.TIME, set()),
    "queue": (Dimension.SIZE, {"ports", "window"}),
    "queue-samples": (Dimension.SIZE, {"ports"}),
    "ingress": (Dimension.SIZE, {"ports", "window", "threshold"}),
    "ingress-threshold": (Dimension.SIZE, {"ports", "window"}),
    "queueing": (Dimension.TIME, {"ports"}),
    "control-share": (Dimension.SHARE, {"ports"}),
    "buffer": (Dimension.SIZE, {"tiers", "window"}),
    "throughput": (
        Dimension.RATE,
        {"flows", "names", "traffic", "classes", "bin", "total", "window"},
    ),
    "active-flows": (Dimension.NUMBER, {"ports", "tiers"}),
    "in-progress": (Dimension.NUMBER, {"traffic", "sizes", "bin", "window"}),
    "fair-share-change": (Dimension.SHARE, {"traffic", "bin", "interval", "window"}),
    "utilisation": (Dimension.SHARE, {"ports", "tiers"}),
    "idle": (Dimension.SHARE, {"ports", "tiers"}),
    "pauses": (Dimension.TIME, {"ports", "tiers", "window"}),
    "paused": (Dimension.SHARE, {"ports", "tiers", "window"}),
    "pause-rate": (Dimension.NUMBER, {"ports", "tiers", "bin", "window"}),
    "pause-frames": (Dimension.NUMBER, {"ports", "tiers"}),
    "pause-level": (Dimension.SIZE, {"ports", "window"}),
    "wire": (Dimension.NUMBER, set()),
    "summary": (Dimension.NUMBER, {"key"}),
    "deadlocks": (Dimension.TIME, set()),
    "paused-cycles": (Dimension.TIME, {"lasting"}),
    "port-buffer": (Dimension.SIZE, _PORTS),
    "port-queue": (Dimension.SIZE, _PORTS),
    "queuing-time": (Dimension.TIME, _PORTS | {"incast"}),
    "sent": (Dimension.SHARE, _PORTS | {"frames"}),
    "buffer-course": (Dimension.SIZE, {"tiers", "nodes", "window"}),
    "blame": (Dimension.TIME, _FLOWS | {"part", "slowest"}),
    "collective": (Dimension.TIME, {"traffic"}),
    "bus-bandwidth": (Dimension.RATE, {"traffic"}),
}
"""Each kind of data: its dimension and the keys that select from it."""

FRAMES = ("data", "replies", "credits")
"""Frames that ports count apart."""

SERIES = {
    *("queue", "ingress", "ingress-threshold", "throughput"),
    *("in-progress", "pause-rate", "buffer-course"),
}
"""The kinds that are time series."""

_NARROWING = (
    *("sizes", "window", "traffic", "flows", "ports", "tiers"),
    *("bin", "interval", "total", "key", "classes", "roles", "nodes", "incast", "frames"),
    *("part", "slowest", "names", "threshold", "lasting", "unfinished"),
)

_SIMPLE = ("mean", "std", "min", "max", "sum", "count")
STATISTICS = (*_SIMPLE, "share", *IN_TIME)


def _source(parent: Table, key: str) -> Source:
    table = parent.table(key)
    of = table.one_of("of", SOURCES)
    source = _source_fields(table, of)
    table.close()
    return source


def _source_fields(table: Table, of: str) -> Source:
    dimension, selecting = SOURCES[of]
    for key in _NARROWING:
        if key in table.raw and key not in selecting:
            raise table.fail(key, f"`{of}` cannot be selected by `{key}`")
    flows = table.items("flows")
    for flow in flows:
        if isinstance(flow, bool) or not isinstance(flow, int):
            raise table.fail("flows", f"expected numbers of flows, found {flow!r}")
    if of == "summary" and table.text("key").endswith("_bytes"):
        dimension = Dimension.SIZE
    names = table.texts("names")
    if names and len(names) != len(flows):
        raise table.fail("names", f"expected as many as `flows` has, {len(flows)}")
    return Source(
        of=of,
        dimension=dimension,
        sizes=table.range("sizes", Dimension.SIZE),
        window=table.range("window", Dimension.TIME),
        traffic=table.texts("traffic"),
        flows=tuple(flows),
        names=names,
        ports=table.texts("ports"),
        tiers=table.texts("tiers"),
        bin_ps=table.quantity("bin", Dimension.TIME) if "bin" in table else None,
        interval_ps=table.quantity("interval", Dimension.TIME)
        if of == "fair-share-change"
        else 0.0,
        total=table.flag("total"),
        key=table.text("key") if of == "summary" else "",
        classes=_words(table, "classes", CLASSES),
        roles=_words(table, "roles", ROLES),
        nodes=table.texts("nodes"),
        incast=table.flag("incast") if "incast" in table else None,
        frames=table.one_of("frames", FRAMES) if of == "sent" else "",
        part=table.one_of("part", GROUPS) if "part" in table else "",
        threshold=table.flag("threshold"),
        lasting_ps=table.quantity("lasting", Dimension.TIME) if of == "paused-cycles" else 0.0,
        slowest=table.quantity("slowest", Dimension.SHARE) if "slowest" in table else None,
        unfinished=table.flag("unfinished"),
    )


def _words(table: Table, key: str, known: Sequence[str]) -> tuple[str, ...]:
    """Read a list of texts; each must be one of `known`."""
    words = table.texts(key)
    for word in words:
        if word not in known:
            raise table.fail(key, f"`{word}` is none of {', '.join(known)}.{nearest(word, known)}")
    return words


def _used_source(table: Table, sources: dict[str, Source]) -> Source:
    """Read the data of a measure or panel, given by name or described inline."""
    if "data" in table:
        name = table.text("data")
        if name not in sources:
            raise table.fail("data", f"no [data.{name}] is declared.{nearest(name, sources)}")
        return sources[name]
    if "of" not in table:
        raise table.fail(None, "one of `data` (a name) and `of` is needed")
    return _source_fields(table, table.one_of("of", SOURCES))


def _formula(parent: Table, name: str) -> Formula:
    table = parent.table(name)
    word = table.one_of("formula", formulas.KINDS)
    kind = formulas.KINDS[word]
    given: list[tuple[str, str | float]] = [(key, table.text(key)) for key in kind.texts]
    given += [(key, table.quantity(key, Dimension.NUMBER)) for key in kind.numbers]
    for key, value in given:
        if key == "workload" and formulas.workload_points(str(value)) is None:
            raise table.fail(key, f"there is no workload `{value}`")
    formula = Formula(name, word, tuple(given), table.text("label", name))
    table.close()
    return formula


def _calculated(table: Table, name: str, book: _Book) -> Measure:
    """Read a measure that is the value of a formula instead of a measurement."""
    written = table.text("formula")
    if written not in book.formulas:
        hint = nearest(written, book.formulas)
        raise table.fail("formula", f"no [formulas.{written}] is declared.{hint}")
    formula = book.formulas[written]
    at = table.quantity("at", formula.x)
    table.close()
    nothing = Source("formula", formula.y)
    return Measure(name, nothing, Statistic("formula"), formula.y, formula, at)


def _measure(table: Table, name: str, book: _Book) -> Measure:
    if "formula" in table:
        return _calculated(table, name, book)
    source = _used_source(table, book.sources)
    statistic = _statistic(table, source)
    dimension, over = _dimension(source, statistic), None
    if "over" in table:
        over = book.measure(table, "over", table.text("over"))
        if over.formula or over.over or over.dimension is not dimension:
            raise table.fail("over", f"`{over.name}` is no plain measure of {dimension.value}")
        dimension = Dimension.NUMBER
    table.close()
    return Measure(name, source, statistic, dimension, over=over)


def _statistic(table: Table, source: Source) -> Statistic:
    word = table.text("statistic")
    if match := re.fullmatch(r"p([0-9]{1,2}(?:\.[0-9]+)?)", word):
        return Statistic(word, quantile=float(match[1]) / 100)
    if word not in STATISTICS:
        words = f"p50, p99 and the like, {', '.join(STATISTICS)}"
        raise table.fail("statistic", f"`{word}` is none of {words}.{nearest(word, STATISTICS)}")
    if word in IN_TIME and source.of not in SERIES:
        known = " and ".join(sorted(SERIES))
        raise table.fail("statistic", f"`{word}` needs a time series: {known}")
    if word in ("time-to", "share"):
        return _threshold(table, source, word)
    if word == "time-of-max":
        return Statistic(word, **_since(table))
    if word == "swings":
        return Statistic(word, above=table.quantity("larger_than", source.dimension))
    return Statistic(word)


def _threshold(table: Table, source: Source, word: str) -> Statistic:
    sides = [side for side in ("above", "below") if side in table]
    if len(sides) != 1:
        raise table.fail("statistic", f"`{word}` needs one of `above` and `below`")
    limit = {sides[0]: table.quantity(sides[0], source.dimension)}
    if word == "share":
        return Statistic(word, above=limit.get("above"), below=limit.get("below"))
    hold = table.quantity("for", Dimension.TIME) if "for" in table else 0.0
    return Statistic(
        word,
        above=limit.get("above"),
        below=limit.get("below"),
        hold_ps=hold,
        **_since(table),
    )


def _since(table: Table) -> dict[str, Any]:
    """From when time counts: `after` an instant, or `after_flow` a flow has ended."""
    if "after_flow" in table:
        return {"after_flow": table.whole("after_flow", 0)}
    return {"after_ps": table.quantity("after", Dimension.TIME) if "after" in table else 0.0}


def _dimension(source: Source, statistic: Statistic) -> Dimension:
    match statistic.name:
        case "count" | "swings" | "jain":
            return Dimension.NUMBER
        case "share":
            return Dimension.SHARE
        case "time-to" | "time-of-max":
            return Dimension.TIME
        case _:
            return source.dimension


# --- Panels ----------------------------------------------------------------------------------

PANELS = {
    "cdf": "the distribution of data, a line per point of `by`",
    "by-size": "a statistic of data over bins of flow size, a line per point of `by`",
    "series": "data over time, a line per point of `by` or per flow",
    "bars": "measures as bars, grouped by the points of `x`, coloured by those of `by`",
    "lines": "a measure over the numeric axis `x`, a line per point of `by`",
    "curves": "formulas, over `x_limits`",
    "parts": "what the time of flows went to, on average, a bar per point of `x`",
}


def _panel(table: Table, book: _Book) -> Panel:
    kind = table.one_of("kind", PANELS)
    drawn = _drawn_formulas(table, book, kind)
    select = _select(table.table("select"), book) if kind != "curves" else {}
    x, by = table.optional("x"), table.optional("by")
    source: Source | None = None
    measures: tuple[Measure, ...] = ()
    statistic: Statistic | None = None
    if kind in ("bars", "lines"):
        names = table.texts("measure")
        if not names:
            raise table.fail(None, "the key `measure` is missing: the name of one, or a list")
        measures = tuple(book.measure(table, "measure", name) for name in names)
        if any(measure.formula for measure in measures):
            raise table.fail("measure", "a formula is drawn by `formulas`")
        if len({measure.dimension for measure in measures}) > 1:
            raise table.fail("measure", "measures of one panel need the same dimension")
    elif kind != "curves":
        source = _used_source(table, book.sources)
        if kind == "parts" and (source.of != "blame" or source.part):
            raise table.fail("kind", "`parts` needs `blame` of flows, all of its parts")
        if kind == "parts" and x is None:
            raise table.fail(None, "`parts` needs `x`: the axis whose points are bars")
        if kind == "series" and source.of not in SERIES:
            raise table.fail("kind", f"`{source.of}` is not a time series")
        if kind == "by-size":
            if SOURCES[source.of][1] is not _FLOWS:
                raise table.fail("kind", "`by-size` needs the slowdown or fct of flows")
            statistic = _statistic(table, source)
    if kind != "curves":
        _check_open(table, book, select, [name for name in (x, by) if name])
    across = _group_of(book, select).axis(x) if kind == "lines" and x else None
    if kind == "lines" and (across is None or across.dimension is None):
        raise table.fail("x", "`lines` needs an axis whose values are all numbers")
    edges = _edges(table, kind)
    published = _published(table, book, select, by, x, edges)
    panel = Panel(
        kind=kind,
        title=table.text("title", ""),
        select=select,
        by=by,
        x=x,
        source=source,
        measures=measures,
        statistic=statistic,
        bins=table.whole("bins", 20, 1),
        x_label=table.optional("x_label"),
        y_label=table.optional("y_label"),
        x_scale=table.one_of("x_scale", ("linear", "log"), "linear"),
        y_scale=table.one_of("y_scale", ("linear", "log"), "linear"),
        x_limits=table.range("x_limits", None),
        y_limits=table.range("y_limits", None),
        marks=tuple(_mark(mark) for mark in table.tables("marks")),
        edges=edges,
        formulas=drawn,
        published=published,
        published_from=table.text("published_from") if published else "",
        unjudged=_unjudged(table, kind) if published else "",
    )
    table.close()
    return panel


def _unjudged(table: Table, kind: str) -> str:
    """Return the reason why published curves are only drawn; empty: each point is a claim."""
    why = table.text("unjudged", "")
    if kind == "series" and not why:
        raise table.fail(None, "curves over time are not judged: `unjudged` must give the reason")
    return why


def _drawn_formulas(table: Table, book: _Book, kind: str) -> tuple[Formula, ...]:
    names = table.texts("formulas")
    for name in names:
        if name not in book.formulas:
            hint = nearest(name, book.formulas)
            raise table.fail("formulas", f"no [formulas.{name}] is declared.{hint}")
    if names and kind not in ("curves", "lines"):
        raise table.fail("formulas", "formulas are drawn in panels of kind `curves` and `lines`")
    drawn = tuple(book.formulas[name] for name in names)
    if kind == "curves":
        if not drawn or len({(f.x, f.y) for f in drawn}) > 1:
            raise table.fail("formulas", "`curves` needs `formulas` of the same dimensions")
        table.range("x_limits", drawn[0].x)
        if "x_limits" not in table:
            raise table.fail(None, "`curves` needs `x_limits`")
    return drawn


def _edges(table: Table, kind: str) -> tuple[float, ...]:
    if "edges" not in table:
        return ()
    if kind != "by-size":
        raise table.fail("edges", "`edges` are for panels of kind `by-size`")
    written = table.items("edges")
    edges = tuple(table.quantity_of("edges", edge, Dimension.SIZE).value for edge in written)
    if not edges or list(edges) != sorted(set(edges)):
        raise table.fail("edges", "expected sizes that rise")
    return edges


def _published(
    table: Table,
    book: _Book,
    select: Selection,
    by: str | None,
    x: str | None,
    edges: tuple[float, ...],
) -> tuple[Published, ...]:
    """Curves of the paper, at the edges or the axis' points where `x` is left out."""
    tables = table.tables("published")
    if not tables:
        return ()
    group = _group_of(book, select)
    axis = group.axis(by) if by else None
    across = group.axis(x) if x else None
    usual = edges
    if not edges and across:
        usual = tuple(point.number for point in across.points if point.number is not None)
    return tuple(_curve(each, axis, usual) for each in tables)


def _curve(table: Table, axis: Axis | None, usual: tuple[float, ...]) -> Published:
    point = table.optional("point")
    if point is not None and (axis is None or point not in axis.labels()):
        words = ", ".join(axis.labels()) if axis else "none"
        raise table.fail("point", f"`{point}` is no point of `by`; there are: {words}")
    x = tuple(table.quantity_of("x", value, None).value for value in table.items("x")) or usual
    y = tuple(table.quantity_of("y", value, None).value for value in table.items("y"))
    if not y or len(x) < len(y) or ("x" in table and len(x) != len(y)):
        raise table.fail("y", f"there are {len(y)} values for {len(x)} places")
    curve = Published(point, table.text("text", ""), x[: len(y)], y)
    table.close()
    return curve


def _mark(table: Table) -> Mark:
    ends = {k: table.quantity_of(k, table.get(k), None) for k in ("x", "y") if k in table}
    if not ends:
        raise table.fail(None, "a mark needs `x` or `y`")
    mark = Mark(table.text("text", ""), ends.get("x"), ends.get("y"))
    table.close()
    return mark


def _select(table: Table, book: _Book) -> dict[str, tuple[str, ...]]:
    """Labels by axis; each may be one or several."""
    select: dict[str, tuple[str, ...]] = {}
    if not book.groups:
        raise table.fail(None, "there are no [[runs]]")
    for name in table.raw:
        select[name] = _labels(table, name)
    chosen = select.get(GROUP, ())
    known = [group.name for group in book.groups]
    for name in chosen:
        if name not in known:
            raise table.fail(GROUP, f"no [[runs]] is called `{name}`.{nearest(name, known)}")
    if len(chosen) > 1 or (not chosen and len(known) > 1):
        raise table.fail(None, f"several groups of runs; add {GROUP} = one of {', '.join(known)}")
    group = _group_of(book, select)
    for name, points in select.items():
        if name != GROUP:
            _check_points(table, name, points, group.axes)
    return select


def _labels(table: Table, axis: str) -> tuple[str, ...]:
    """Labels of one or several points of an axis."""
    written = table.get(axis)
    return tuple(map(str, written if isinstance(written, list) else [written]))


def _check_points(table: Table, name: str, points: Sequence[str], axes: Sequence[Axis]) -> None:
    """Refuse an axis, or points of it, that are not there."""
    axis = next((axis for axis in axes if axis.name == name), None)
    if axis is None:
        names = tuple(axis.name for axis in axes)
        raise table.fail(name, f"no axis `{name}` in these runs.{nearest(name, names)}")
    for label in points:
        if label not in axis.labels():
            words = ", ".join(axis.labels())
            raise table.fail(name, f"`{label}` is no point of the axis; there are: {words}")


def _group_of(book: _Book, select: Selection) -> Group:
    names = select.get(GROUP)
    return next(group for group in book.groups if names is None or group.name in names)


def _check_open(table: Table, book: _Book, select: Selection, drawn: list[str]) -> None:
    """Every axis is drawn, or selected down to one point."""
    group = _group_of(book, select)
    for name in drawn:
        if group.axis(name) is None:
            known = ", ".join(axis.name for axis in group.axes) or "none"
            raise table.fail(None, f"no axis `{name}` in these runs; there are: {known}")
    for axis in group.axes:
        points = select.get(axis.name, axis.labels())
        if len(points) > 1 and axis.name not in drawn:
            labels = ", ".join(points)
            raise table.fail(None, f"`select` must choose one point of `{axis.name}`: {labels}")


# --- Claims ----------------------------------------------------------------------------------

TOLERANCE = 0.15
"""How far a value may be from a number of the paper, as a share of this number."""

_BOUNDS = {
    "at_least": (True, False, "≥"),
    "at_most": (False, False, "≤"),
    "above": (True, True, ">"),
    "below": (False, True, "<"),
}


def _claim(table: Table, book: _Book) -> Claim:
    text, place, paper = table.text("text"), table.text("place"), table.text("paper")
    value = _pick(table, "measure", book, {})
    dimension = value.measure.dimension
    over: Quantity | Pick | None = None
    if "over" in table:
        over = _than(table, "over", table.get("over"), book, value, dimension)
        dimension = Dimension.NUMBER
    bounds, expected = _bounds(table, book, value, dimension, isinstance(over, Pick))
    alike = table.flag("alike")
    claim = Claim(
        text=text,
        place=place,
        paper=paper,
        value=value,
        over=over,
        bounds=bounds,
        expected=expected,
        cause=table.text("cause", ""),
        source=table.one_of("source", ("paper", "ours"), "paper"),
        alike=alike,
        was=table.text("was", ""),
    )
    table.close()
    return claim


def curve_claims(panel: Panel, group: Group | None) -> list[Claim]:
    """Return the claims of a panel: each point of each published curve."""
    if panel.unjudged or group is None:
        return []
    claims: list[Claim] = []
    for curve in panel.published:
        if panel.by is not None and curve.point is None:
            continue  # of something that is not run here
        select = dict(panel.select)
        for axis in group.axes:
            select.setdefault(axis.name, axis.labels())
        if panel.by is not None and curve.point is not None:
            select[panel.by] = (curve.point,)
        claims += _points_of(panel, curve, group, select)
    return claims


def _points_of(panel: Panel, curve: Published, group: Group, select: Selection) -> list[Claim]:
    line = curve.point or curve.text
    across = group.axis(panel.x) if panel.x else None
    claims = []
    for x, y in zip(curve.x, curve.y, strict=True):
        at = dict(select)
        if panel.kind == "by-size":
            if x not in panel.edges:
                continue
            assert panel.source is not None and panel.statistic is not None
            i = panel.edges.index(x)
            low = panel.edges[i - 1] + 1 if i else 0.0
            source = replace(panel.source, sizes=(low, x + 1))
            measure = Measure("", source, panel.statistic, source.dimension)
            place, paper = f"up to {Quantity(x, Dimension.SIZE)}", y
        elif panel.kind == "cdf":
            assert panel.source is not None
            word = "max" if y >= 1 else f"p{y * 100:g}"
            statistic = Statistic(word, quantile=None if y >= 1 else y)
            measure = Measure("", panel.source, statistic, panel.source.dimension)
            place, paper = word, x
        else:
            assert across is not None
            measure, paper = panel.measures[0], y
            place = next(p.label for p in across.points if p.number == x)
            at[across.name] = (place,)
        claims.append(_point_claim(panel, line, place, paper, Pick(measure, at)))
    return claims


def _point_claim(panel: Panel, line: str, place: str, paper: float, value: Pick) -> Claim:
    dimension = value.measure.dimension
    value_text = str(Quantity(paper, dimension))
    ends = [Quantity(paper * (1 + by), dimension) for by in (-TOLERANCE, TOLERANCE)]
    return Claim(
        text=f"{panel.title}: {line}, {place}",
        place=panel.published_from,
        paper=value_text,
        value=value,
        over=None,
        bounds=(Bound(ends[0], True, False), Bound(ends[1], False, False)),
        expected=f"{value_text} ± {TOLERANCE * 100:g} %",
        cause="",
        curve=CurvePoint(panel.title, line, place),
    )


def _pick(table: Table, key: str, book: _Book, given: Selection) -> Pick:
    """Read a measure of a claim: its name, or a table with its name and labels of axes."""
    written = table.need(key, "the name of a measure, or { name = .., AXIS = .. }")
    if isinstance(written, str):
        written = {"name": written}
    if not isinstance(written, dict):
        raise table.fail(key, f"expected a name or a table, found {written!r}")
    inner = Table(written, table.file, (*table.path, key))
    measure = book.measure(table, key, inner.text("name"))
    own = {axis: labels for axis, labels in written.items() if axis != "name"}
    if measure.formula:
        inner.close()  # it is the same in all runs
        return Pick(measure, {})
    # Axes that are not given are taken from the other side of the comparison.
    if GROUP not in own and GROUP in given:
        own[GROUP] = list(given[GROUP])
    select = _select(Table(own, table.file, inner.path), book)
    group = _group_of(book, select)
    for axis in group.axes:
        if axis.name in select:
            continue
        if axis.name in given and set(given[axis.name]) <= set(axis.labels()):
            select[axis.name] = given[axis.name]
        elif len(axis.points) == 1:
            select[axis.name] = axis.labels()
        else:
            words = ", ".join(axis.labels())
            raise table.fail(key, f"has no `{axis.name}`; give one of {words}")
    return Pick(measure, select)


def _than(
    table: Table,
    key: str,
    written: object,
    book: _Book,
    value: Pick,
    dimension: Dimension,
) -> Quantity | Pick:
    number = parse(written)
    if number is not None:
        return table.quantity_of(key, written, dimension)
    pick = _pick(table, key, book, value.select)
    if pick.measure.dimension is not dimension:
        raise table.fail(key, f"`{pick.measure.name}` is not {dimension.value}")
    for axis, labels in pick.select.items():
        if len(labels) > 1 and labels != value.select.get(axis):
            raise table.fail(key, f"several points of `{axis}`: choose one, or name none")
    return pick


def _bounds(
    table: Table, book: _Book, value: Pick, dimension: Dimension, divided: bool
) -> tuple[tuple[Bound, ...], str]:
    bounds: list[Bound] = []
    words: list[str] = []
    for key, (low, strict, sign) in _BOUNDS.items():
        if key in table:
            written, over = table.get(key), None
            if divided and parse(written) is None:  # a ratio against the same ratio elsewhere
                than = _than(table, key, written, book, value, value.measure.dimension)
                over = _pick(table, "over", book, than.select if isinstance(than, Pick) else {})
            else:
                than = _than(table, key, written, book, value, dimension)
            bounds.append(Bound(than, low, strict, over))
            words.append(f"{sign} {than if isinstance(than, Quantity) else _named(than, value)}")
    if ends := table.range("within", dimension):
        least, most = (Quantity(end, dimension) for end in ends)
        bounds += [Bound(least, True, False), Bound(most, False, False)]
        words.append(f"{least} to {most}")
    if "near" in table:
        near = table.table("near")
        middle = near.quantity("value", dimension)
        by = near.quantity("tolerance", Dimension.SHARE) if "tolerance" in near else TOLERANCE
        if by > TOLERANCE:
            raise near.fail("tolerance", f"at most {TOLERANCE * 100:g} % is allowed")
        near.close()
        bounds.append(Bound(Quantity(middle * (1 - by), dimension), True, False))
        bounds.append(Bound(Quantity(middle * (1 + by), dimension), False, False))
        words.append(f"{Quantity(middle, dimension)} ± {by * 100:g} %")
    if not bounds:
        known = ", ".join([*_BOUNDS, "within", "near"])
        raise table.fail(None, f"a claim needs something to compare with: {known}")
    return tuple(bounds), " and ".join(words)


def _named(pick: Pick, value: Pick) -> str:
    """Return a short name of a measure: only what differs from the value compared with it."""
    other = [
        ", ".join(labels)
        for axis, labels in pick.select.items()
        if labels != value.select.get(axis)
    ]
    name = [] if pick.measure is value.measure else [pick.measure.name]
    return " ".join([*name, *([f"({', '.join(other)})"] if other else [])])
