"""``backwater pauses``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, one_run
from backwater.commands.declare import App, Argument, Option

if TYPE_CHECKING:
    from backwater.results.files import RunFiles


def register(app: App) -> None:
    """Add `pauses`."""
    app.add(pauses, example="backwater pauses out/first")


def pauses(
    path: Annotated[Path, Argument(metavar="RUN", help="Directory of a run.")],
    top: Annotated[int, Option("--top", metavar="N", min=1, help="Rows of each table.")] = 10,
    as_json: Json = False,
) -> None:
    """Show PFC's pauses in a run: rates per port, trees of causes, and victim flows."""
    run = one_run(path)
    tables = _tables(run)
    if as_json:
        print(json.dumps({name: t.to_dicts() for name, t in tables.items()}, indent=2))
        return
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
        f"Not recorded: {trees}which flows pauses held on their way elsewhere (victims).",
        "The same run with it:",
        f"  backwater run {run.path / 'resolved.toml'} --set {RECORD} -o {again}",
    ]


def _some(found: int, top: int) -> str:
    return f", the first {top}" if found > top else ""


def _port_lines(table: Any, top: int) -> list[str]:
    if not table.height:
        return ["PFC paused no port."]
    total = int(table["pauses"].sum())
    with_frames = "pause_frames" in table.columns
    frames = f" ({table['pause_frames'].sum()} frames with XOFF)" if with_frames else ""
    shown = table.sort(["pauses", "port"], descending=[True, False]).head(top)
    lines = [f"{total} pauses{frames} at {table.height} ports{_some(table.height, top)}:"]
    count = f"{'frames':>9}" if with_frames else ""
    lines.append(
        f"  {'paused port':<24}{'pauses':>8}{'resumes':>9}{count}{'per ms':>9}{'paused':>12}{'':>9}"
    )
    return lines + [
        f"  {row['port']:<24}{row['pauses']:>8}{row['resumes']:>9}"
        + (f"{row['pause_frames']:>9}" if with_frames else "")
        + f"{row['pauses_per_ms']:>9.3g}{time_text(row['held_ps']):>12}{row['held_share']:>9.1%}"
        for row in shown.iter_rows(named=True)
    ]


def _tree_lines(table: Any, top: int) -> list[str]:
    if not table.height:
        return ["No tree of pauses."]
    depths = table["depth"].value_counts(sort=False).sort("depth")
    by_depth = ", ".join(f"{count} of depth {depth}" for depth, count in depths.iter_rows())
    order = ["suppressed_peak", "pauses", "from_ps"]
    shown = table.sort(order, descending=[True, True, False]).head(top)
    lines = [f"{table.height} trees ({by_depth}). The ports at which they begin:"]
    origins = table.group_by("congested_port").agg(pl.len(), pl.col("pauses").sum())
    origins = origins.sort(["pauses", "congested_port"], descending=[True, False])
    lines.append(f"  {'congested port':<24}{'trees':>8}{'PAUSEs':>8}")
    lines += [f"  {port:<24}{n:>8}{count:>8}" for port, n, count in origins.head(top).iter_rows()]
    if origins.height > top:
        lines.append(f"  and {origins.height - top} more ports (--top)")
    lines += [
        "",
        f"The trees, by the largest rate that they suppressed{_some(table.height, top)}.",
        "Suppressed: rates of the paused ports, as a share of all ports that send to switches.",
    ]
    lines.append(
        f"  {'congested port':<24}{'from':>10}{'PAUSEs':>8}{'depth':>7}{'ports':>7}"
        f"{'suppressed: peak':>18}{'mean':>8}"
    )
    return lines + [
        f"  {row['congested_port']:<24}{time_text(row['from_ps']):>10}{row['pauses']:>8}"
        f"{row['depth']:>7}{row['ports']:>7}{row['suppressed_peak']:>18.2%}"
        f"{row['suppressed_mean']:>8.2%}"
        for row in shown.iter_rows(named=True)
    ]


def _victim_lines(table: Any, top: int) -> list[str]:
    if not table.height:
        return ["No victim flow."]
    lines = [
        f"{table.height} victim flows{_some(table.height, top)}: "
        "paused, although their paths avoid the congested port"
    ]
    lines.append(
        f"  {'flow':>8}  {'from -> to':<14}{'size':>10}{'PAUSEs':>8}{'held':>12}  held most for"
    )
    return lines + [
        f"  {row['flow']:>8}  {str(row['src']) + ' -> ' + str(row['dst']):<14}"
        f"{bytes_text(row['bytes']):>10}{row['pauses']:>8}{time_text(row['held_ps']):>12}"
        f"  {row['worst']}"
        for row in table.head(top).iter_rows(named=True)
    ]


_SHOWN = {"ports": _port_lines, "trees": _tree_lines, "victims": _victim_lines}
