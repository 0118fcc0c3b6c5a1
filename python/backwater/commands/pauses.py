"""``backwater pauses``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, Run, columns, one_run, print_json
from backwater.commands.declare import App, Option

if TYPE_CHECKING:
    from backwater.results.files import RunFiles


def register(app: App) -> None:
    """Add `pauses`."""
    app.add(pauses, example="backwater pauses out/first")


def pauses(
    path: Run,
    top: Annotated[int, Option("--top", metavar="N", min=1, help="Rows of each table.")] = 10,
    as_json: Json = False,
) -> None:
    """Show PFC's pauses in a run: rates per port, trees of causes, and victim flows."""
    run = one_run(path)
    tables = _tables(run)
    if as_json:
        return print_json({name: t.to_dicts() for name, t in tables.items()})
    print("\n\n".join("\n".join(_SHOWN[name](table, top)) for name, table in tables.items()))
    if tables["ports"].height and (further := _unrecorded(run)):
        print("\n".join(["", *further]))


def _tables(run: RunFiles) -> dict[str, Any]:
    from backwater.analysis.pauses import has_trees, has_victims, rates, trees, victims

    tables = {"ports": rates(run)}
    if has_trees(run):
        tables["trees"] = trees(run)
    if has_victims(run):
        tables["victims"] = victims(run)
    return tables


def _unrecorded(run: RunFiles) -> list[str]:
    """Return a note about missing records of pauses, and how to record them."""
    from backwater.analysis.pauses import RECORD, has_trees, has_victims

    if has_trees(run) and has_victims(run):
        return []
    trees = "" if has_trees(run) else "which pause caused which (trees), and "
    again = run.path.with_name(f"{run.path.name}-pauses")
    return [
        f"Not recorded: {trees}which flows were paused although they go elsewhere (victims).",
        "The same run with it:",
        f"  backwater run {run.path / 'resolved.toml'} --set {RECORD} -o {again}",
    ]


def _some(found: int, top: int) -> str:
    return f", the first {top}" if found > top else ""


def _port_lines(table: pl.DataFrame, top: int) -> list[str]:
    if not table.height:
        return ["PFC paused no port."]
    total = int(table["pauses"].sum())
    with_frames = "pause_frames" in table.columns
    frames = f" ({table['pause_frames'].sum()} frames with XOFF)" if with_frames else ""
    counts = ["pauses", "resumes", *["frames"] * with_frames]
    rows = [
        (
            row["port"],
            str(row["pauses"]),
            str(row["resumes"]),
            *((str(row["pause_frames"]),) if with_frames else ()),
            f"{row['pauses_per_ms']:.3g}",
            time_text(row["held_ps"]),
            f"{row['held_share']:.1%}",
        )
        for row in table.sort(["pauses", "port"], descending=[True, False]).head(top).to_dicts()
    ]
    head = ("paused port", *counts, "per ms", "paused", "")
    first = f"{total} pauses{frames} at {table.height} ports{_some(table.height, top)}:"
    return [first, *columns([head, *rows], indent="  ")]


def _tree_lines(table: pl.DataFrame, top: int) -> list[str]:
    if not table.height:
        return ["No tree of pauses."]
    depths = table["depth"].value_counts(sort=False).sort("depth")
    by_depth = ", ".join(f"{count} of depth {depth}" for depth, count in depths.iter_rows())
    origins = table.group_by("congested_port").agg(pl.len(), pl.col("pauses").sum())
    origins = origins.sort(["pauses", "congested_port"], descending=[True, False])
    begin = [(port, str(n), str(count)) for port, n, count in origins.head(top).iter_rows()]
    more = [f"  and {origins.height - top} more ports (--top)"] if origins.height > top else []
    order = ["suppressed_peak", "pauses", "from_ps"]
    rows = [
        (
            row["congested_port"],
            time_text(row["from_ps"]),
            *(str(row[name]) for name in ("pauses", "depth", "ports")),
            *(f"{row[name]:.2%}" for name in ("suppressed_peak", "suppressed_mean")),
        )
        for row in table.sort(order, descending=[True, True, False]).head(top).to_dicts()
    ]
    head = ("congested port", "from", "PAUSEs", "depth", "ports", "suppressed: peak", "mean")
    return [
        f"{table.height} trees ({by_depth}). The ports at which they begin:",
        *columns([("congested port", "trees", "PAUSEs"), *begin], indent="  "),
        *more,
        "",
        f"The trees, by the largest rate that they suppressed{_some(table.height, top)}.",
        "Suppressed: rates of the paused ports, as a share of all ports that send to switches.",
        *columns([head, *rows], indent="  "),
    ]


def _victim_lines(table: pl.DataFrame, top: int) -> list[str]:
    if not table.height:
        return ["No victim flow."]
    head = ("flow", "from -> to", "size", "PAUSEs", "held", "held most for")
    rows = [
        (
            str(row["flow"]),
            f"{row['src']} -> {row['dst']}",
            bytes_text(row["bytes"]),
            str(row["pauses"]),
            time_text(row["held_ps"]),
            row["worst"],
        )
        for row in table.head(top).iter_rows(named=True)
    ]
    return [
        f"{table.height} victim flows{_some(table.height, top)}: "
        "paused, although their paths avoid the congested port",
        *columns([head, *rows], "><>>><", indent="  "),
    ]


_SHOWN = {"ports": _port_lines, "trees": _tree_lines, "victims": _victim_lines}
