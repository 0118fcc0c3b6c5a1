"""Reads the data, measures and formulas of a figure file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backwater.analysis.blame import GROUPS
from backwater.analysis.breakdown import CLASSES, ROLES
from backwater_papers import formulas
from backwater_papers.checked_table import Table, nearest
from backwater_papers.figure import (
    GROUP,
    IN_TIME,
    Group,
    Measure,
    Panel,
    Selection,
    Source,
    Statistic,
)
from backwater_papers.formulas import Formula
from backwater_papers.quantities import Dimension


@dataclass(frozen=True, slots=True)
class Declarations:
    """Declarations of a figure file to which its later parts refer."""

    groups: tuple[Group, ...]
    sources: dict[str, Source]
    formulas: dict[str, Formula]
    measures: dict[str, Measure]

    def group_of(self, select: Selection) -> Group:
        """Return the runs to which a selection refers."""
        names = select.get(GROUP)
        return next(group for group in self.groups if names is None or group.name in names)

    def group(self, panel: Panel) -> Group | None:
        """Return the runs that a panel shows; ``None`` if it has no published curves."""
        return self.group_of(panel.select) if panel.published else None

    def measure(self, table: Table, key: str, name: object) -> Measure:
        """Return the measure with a name; raise ``FigureError`` if it is not declared."""
        if not isinstance(name, str) or name not in self.measures:
            known = ", ".join(self.measures) or "none"
            near = nearest(str(name), self.measures)
            raise table.fail(key, f"no measure `{name}` is declared; there are: {known}.{near}")
        return self.measures[name]


FLOW_KEYS = {"sizes", "traffic", "classes", "window"}
_PORT_KEYS = {"ports", "tiers", "roles"}
SOURCES: dict[str, tuple[Dimension, set[str]]] = {
    "slowdown": (Dimension.NUMBER, FLOW_KEYS),
    "slowdown-acked": (Dimension.NUMBER, FLOW_KEYS),
    "fct": (Dimension.TIME, FLOW_KEYS | {"unfinished"}),
    "fct-acked": (Dimension.TIME, FLOW_KEYS | {"unfinished"}),
    "delay": (Dimension.TIME, FLOW_KEYS),
    "goodput": (Dimension.RATE, FLOW_KEYS),
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
    "port-buffer": (Dimension.SIZE, _PORT_KEYS),
    "port-queue": (Dimension.SIZE, _PORT_KEYS),
    "queuing-time": (Dimension.TIME, _PORT_KEYS | {"incast"}),
    "sent": (Dimension.SHARE, _PORT_KEYS | {"frames"}),
    "buffer-course": (Dimension.SIZE, {"tiers", "nodes", "window"}),
    "blame": (Dimension.TIME, FLOW_KEYS | {"part", "slowest"}),
    "collective": (Dimension.TIME, {"traffic"}),
    "bus-bandwidth": (Dimension.RATE, {"traffic"}),
}
"""Each kind of data: its dimension and the keys that select from it."""

FRAMES = ("data", "replies", "credits")
"""Kinds of frames that ports count separately."""

SERIES = {
    *("queue", "ingress", "ingress-threshold", "throughput"),
    *("in-progress", "pause-rate", "buffer-course"),
}
"""Kinds of data that are time series."""

_SELECTING = sorted(set[str]().union(*(keys for _, keys in SOURCES.values())))

_SIMPLE = ("mean", "std", "min", "max", "sum", "count")
STATISTICS = (*_SIMPLE, "share", *IN_TIME)


def read_source(parent: Table, key: str) -> Source:
    """Read the kind of data that `[data.KEY]` declares."""
    table = parent.table(key)
    of = table.one_of("of", SOURCES)
    source = _source_fields(table, of)
    table.close()
    return source


def _source_fields(table: Table, of: str) -> Source:
    dimension, selecting = SOURCES[of]
    for key in _SELECTING:
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


def used_source(table: Table, sources: dict[str, Source]) -> Source:
    """Read the data of a measure or panel, given by name or described inline."""
    if "data" in table:
        name = table.text("data")
        if name not in sources:
            raise table.fail("data", f"no [data.{name}] is declared.{nearest(name, sources)}")
        return sources[name]
    if "of" not in table:
        raise table.fail(None, "one of `data` (a name) and `of` is needed")
    return _source_fields(table, table.one_of("of", SOURCES))


def read_formula(parent: Table, name: str) -> Formula:
    """Read the formula that `[formulas.NAME]` declares."""
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


def _calculated(table: Table, name: str, declarations: Declarations) -> Measure:
    """Read a measure that is the value of a formula instead of a measurement."""
    written = table.text("formula")
    if written not in declarations.formulas:
        hint = nearest(written, declarations.formulas)
        raise table.fail("formula", f"no [formulas.{written}] is declared.{hint}")
    formula = declarations.formulas[written]
    at = table.quantity("at", formula.x)
    table.close()
    nothing = Source("formula", formula.y)
    return Measure(name, nothing, Statistic("formula"), formula.y, formula, at)


def read_measure(table: Table, name: str, declarations: Declarations) -> Measure:
    """Read the measure that `[measures.NAME]` declares."""
    if "formula" in table:
        return _calculated(table, name, declarations)
    source = used_source(table, declarations.sources)
    statistic = read_statistic(table, source)
    dimension, over = _dimension(source, statistic), None
    if "over" in table:
        over = declarations.measure(table, "over", table.text("over"))
        if over.formula or over.over or over.dimension is not dimension:
            raise table.fail("over", f"`{over.name}` is no plain measure of {dimension.value}")
        dimension = Dimension.NUMBER
    table.close()
    return Measure(name, source, statistic, dimension, over=over)


def read_statistic(table: Table, source: Source) -> Statistic:
    """Read the `statistic` of a measure or panel, with its arguments."""
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
    """Read the time from which a statistic counts: an instant, or the end of a flow."""
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
