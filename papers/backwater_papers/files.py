"""Reads figure files: TOML in, checked and immutable objects out.

All references of a file are resolved here, before the first run: axes, their points, measures,
data and scenarios. An error gives file, line, key and the expected value.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from backwater_papers.checked_table import FigureError, File, Table, nearest
from backwater_papers.figure import (
    GROUP,
    Axis,
    Bound,
    Claim,
    CurvePoint,
    Figure,
    Group,
    Mark,
    Measure,
    Panel,
    Pick,
    Published,
    Selection,
    Source,
    Statistic,
)
from backwater_papers.file_measures import (
    FLOW_KEYS,
    SERIES,
    SOURCES,
    Declarations,
    read_formula,
    read_measure,
    read_source,
    read_statistic,
    used_source,
)
from backwater_papers.file_runs import check_points, labels_of, read_groups
from backwater_papers.formulas import Formula
from backwater_papers.quantities import Dimension, Quantity, parse

FIGURES = Path(__file__).parent / "figures"

# --- Finding files ---------------------------------------------------------------------------


def available(folder: Path = FIGURES) -> list[str]:
    """Return the names of all figures, such as ``hpcc/fig13``."""
    found = (path.relative_to(folder).with_suffix("") for path in folder.glob("*/*.toml"))
    return sorted((path.as_posix() for path in found), key=_in_numbers)


def wanted(names: Sequence[str], folder: Path = FIGURES) -> list[str]:
    """Return the names of all figures that ``names`` select.

    A name is a figure such as ``hpcc/fig13``, a part of one such as ``hpcc/fig9a``, a paper,
    ``all``, or a file that ends in ``.toml``. Raises ``FigureError`` for an unknown name.
    """
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
    """Read a figure by its name, or from any file whose name ends in ``.toml``."""
    if name.endswith(".toml"):
        path = Path(name)
        return read(path, f"{path.absolute().parent.name}/{path.stem}")
    return read(folder / f"{name}.toml", name)


def read(path: Path, name: str | None = None) -> Figure:
    """Read a figure file; raise ``FigureError`` if it is invalid."""
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
    """Return a sort key by which fig9 comes before fig10."""
    return [(int(p), "") if p.isdigit() else (0, p) for p in re.split(r"([0-9]+)", name)]


# --- The file from top to bottom -------------------------------------------------------------


def _figure(top: Table, name: str) -> Figure:
    title, place = top.text("title"), top.text("place")
    about, size = top.text("about", ""), top.text("size", "")
    columns = top.whole("columns", 2, 1)
    groups = read_groups(top)
    sources = {key: read_source(top.table("data"), key) for key in top.table("data").raw}
    curves = {key: read_formula(top.table("formulas"), key) for key in top.table("formulas").raw}
    if not groups and not curves:
        raise top.fail(None, "a figure needs at least one [[runs]], or [formulas]")
    declarations = Declarations(groups, sources, curves, {})
    declared = top.table("measures")
    for key in declared.raw:
        declarations.measures[key] = read_measure(declared.table(key), key, declarations)
    panels = tuple(_panel(table, declarations) for table in top.tables("panels"))
    claims = tuple(_claim(table, declarations) for table in top.tables("claims"))
    claims += tuple(
        claim for panel in panels for claim in curve_claims(panel, declarations.group(panel))
    )
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


def _panel(table: Table, declarations: Declarations) -> Panel:
    kind = table.one_of("kind", PANELS)
    drawn = _drawn_formulas(table, declarations, kind)
    select = _select(table.table("select"), declarations) if kind != "curves" else {}
    x, by = table.optional("x"), table.optional("by")
    source: Source | None = None
    measures: tuple[Measure, ...] = ()
    statistic: Statistic | None = None
    if kind in ("bars", "lines"):
        names = table.texts("measure")
        if not names:
            raise table.fail(None, "the key `measure` is missing: the name of one, or a list")
        measures = tuple(declarations.measure(table, "measure", name) for name in names)
        if any(measure.formula for measure in measures):
            raise table.fail("measure", "a formula is drawn by `formulas`")
        if len({measure.dimension for measure in measures}) > 1:
            raise table.fail("measure", "measures of one panel need the same dimension")
    elif kind != "curves":
        source = used_source(table, declarations.sources)
        if kind == "parts" and (source.of != "blame" or source.part):
            raise table.fail("kind", "`parts` needs `blame` of flows, all of its parts")
        if kind == "parts" and x is None:
            raise table.fail(None, "`parts` needs `x`: the axis whose points are bars")
        if kind == "series" and source.of not in SERIES:
            raise table.fail("kind", f"`{source.of}` is not a time series")
        if kind == "by-size":
            if SOURCES[source.of][1] is not FLOW_KEYS:
                raise table.fail("kind", "`by-size` needs the slowdown or fct of flows")
            statistic = read_statistic(table, source)
    if kind != "curves":
        _check_open(table, declarations, select, [name for name in (x, by) if name])
    across = declarations.group_of(select).axis(x) if kind == "lines" and x else None
    if kind == "lines" and (across is None or across.dimension is None):
        raise table.fail("x", "`lines` needs an axis whose values are all numbers")
    edges = _edges(table, kind)
    published = _published(table, declarations, select, by, x, edges)
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


def _drawn_formulas(table: Table, declarations: Declarations, kind: str) -> tuple[Formula, ...]:
    names = table.texts("formulas")
    for name in names:
        if name not in declarations.formulas:
            hint = nearest(name, declarations.formulas)
            raise table.fail("formulas", f"no [formulas.{name}] is declared.{hint}")
    if names and kind not in ("curves", "lines"):
        raise table.fail("formulas", "formulas are drawn in panels of kind `curves` and `lines`")
    drawn = tuple(declarations.formulas[name] for name in names)
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
    declarations: Declarations,
    select: Selection,
    by: str | None,
    x: str | None,
    edges: tuple[float, ...],
) -> tuple[Published, ...]:
    """Read the published curves of a panel.

    A curve without `x` has its values at the edges of the size bins, or at the points of the axis.
    """
    tables = table.tables("published")
    if not tables:
        return ()
    group = declarations.group_of(select)
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


def _select(table: Table, declarations: Declarations) -> dict[str, tuple[str, ...]]:
    """Read the selected labels of each axis, one or several, and check that they exist."""
    select: dict[str, tuple[str, ...]] = {}
    if not declarations.groups:
        raise table.fail(None, "there are no [[runs]]")
    for name in table.raw:
        select[name] = labels_of(table, name)
    chosen = select.get(GROUP, ())
    known = [group.name for group in declarations.groups]
    for name in chosen:
        if name not in known:
            raise table.fail(GROUP, f"no [[runs]] is called `{name}`.{nearest(name, known)}")
    if len(chosen) > 1 or (not chosen and len(known) > 1):
        raise table.fail(None, f"several groups of runs; add {GROUP} = one of {', '.join(known)}")
    group = declarations.group_of(select)
    for name, points in select.items():
        if name != GROUP:
            check_points(table, name, points, group.axes)
    return select


def _check_open(
    table: Table, declarations: Declarations, select: Selection, drawn: list[str]
) -> None:
    """Check that every axis is drawn, or that one of its points is selected."""
    group = declarations.group_of(select)
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
"""Maximum distance of a value from a number of the paper, as a share of this number."""

_BOUNDS = {
    "at_least": (True, False, "≥"),
    "at_most": (False, False, "≤"),
    "above": (True, True, ">"),
    "below": (False, True, "<"),
}


def _claim(table: Table, declarations: Declarations) -> Claim:
    text, place, paper = table.text("text"), table.text("place"), table.text("paper")
    value = _pick(table, "measure", declarations, {})
    dimension = value.measure.dimension
    over: Quantity | Pick | None = None
    if "over" in table:
        over = _than(table, "over", table.get("over"), declarations, value, dimension)
        dimension = Dimension.NUMBER
    bounds, expected = _bounds(table, declarations, value, dimension, isinstance(over, Pick))
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
            continue  # The curve shows a system that is not simulated here.
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


def _pick(table: Table, key: str, declarations: Declarations, given: Selection) -> Pick:
    """Read a measure of a claim: its name, or a table with its name and labels of axes."""
    written = table.need(key, "the name of a measure, or { name = .., AXIS = .. }")
    if isinstance(written, str):
        written = {"name": written}
    if not isinstance(written, dict):
        raise table.fail(key, f"expected a name or a table, found {written!r}")
    inner = Table(written, table.file, (*table.path, key))
    measure = declarations.measure(table, key, inner.text("name"))
    own = {axis: labels for axis, labels in written.items() if axis != "name"}
    if measure.formula:
        inner.close()  # a formula has the same value in all runs
        return Pick(measure, {})
    # Axes that are not given are taken from the other side of the comparison.
    if GROUP not in own and GROUP in given:
        own[GROUP] = list(given[GROUP])
    select = _select(Table(own, table.file, inner.path), declarations)
    group = declarations.group_of(select)
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
    declarations: Declarations,
    value: Pick,
    dimension: Dimension,
) -> Quantity | Pick:
    number = parse(written)
    if number is not None:
        return table.quantity_of(key, written, dimension)
    pick = _pick(table, key, declarations, value.select)
    if pick.measure.dimension is not dimension:
        raise table.fail(key, f"`{pick.measure.name}` is not {dimension.value}")
    for axis, labels in pick.select.items():
        if len(labels) > 1 and labels != value.select.get(axis):
            raise table.fail(key, f"several points of `{axis}`: choose one, or name none")
    return pick


def _bounds(
    table: Table, declarations: Declarations, value: Pick, dimension: Dimension, divided: bool
) -> tuple[tuple[Bound, ...], str]:
    bounds: list[Bound] = []
    words: list[str] = []
    for key, (low, strict, sign) in _BOUNDS.items():
        if key in table:
            written, over = table.get(key), None
            if divided and parse(written) is None:  # compare with another ratio
                than = _than(table, key, written, declarations, value, value.measure.dimension)
                over = _pick(
                    table, "over", declarations, than.select if isinstance(than, Pick) else {}
                )
            else:
                than = _than(table, key, written, declarations, value, dimension)
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
    """Return a short name of a measure: only the parts that differ from the value of the claim."""
    other = [
        ", ".join(labels)
        for axis, labels in pick.select.items()
        if labels != value.select.get(axis)
    ]
    name = [] if pick.measure is value.measure else [pick.measure.name]
    return " ".join([*name, *([f"({', '.join(other)})"] if other else [])])
