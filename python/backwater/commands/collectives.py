"""The command that shows the collectives of a run, and what made the slowest one late."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from backwater.commands.common import BAD_INPUT, say
from backwater.commands.declare import App, Argument, Exit, Option


def register(app: App) -> None:
    """Add `collectives`."""
    app.add(collectives)


def collectives(
    path: Annotated[Path, Argument(metavar="RUN", help="Directory of a run.")],
    limit: Annotated[
        int,
        Option("--limit", min=1, metavar="N", help="Most collectives and sends that are shown."),
    ] = 10,
) -> None:
    """Show the collectives of workloads, and the sends that made the slowest one late."""
    from backwater import critical
    from backwater.results import Run, load

    run = load(path)
    if not isinstance(run, Run):
        say(f"error: {path} holds several runs; name one of them, such as {path}/SCHEME")
        raise Exit(BAD_INPUT)
    table = run.collectives
    rows = table.head(limit).to_dicts()
    for row in rows:
        print(_line(row))
    if table.height > limit:
        print(f"and {table.height - limit:,} more; --limit shows them")
    longest = critical.slowest(run)
    if longest is None:
        print("no collective has ended")
        return
    print()
    print("\n".join(_path_lines(run, longest, limit)))


def _line(row: dict[str, Any]) -> str:
    from backwater.units import bytes_text, time_text

    took = time_text(row["end_ps"] - row["start_ps"])
    group = "all ranks" if row["group"] is None else f"group {row['group']}"
    words = (
        f"{row['workload']}: {row['kind']} {row['instance']} of {group} ({row['ranks']}), "
        f"{bytes_text(row['bytes'])}: {took}, rank {row['last_rank']} last"
    )
    bus = row["bus_bps"]
    return words if bus is None else f"{words}; bus bandwidth {bus / 1e9:,.1f} Gbps"


def _path_lines(run: Any, collective: dict[str, Any], limit: int) -> list[str]:
    from backwater import critical
    from backwater.units import bytes_text, time_text

    sends = critical.critical_path(run, collective)
    took, ideal, before = (
        sum(sends[name].to_list()) for name in ("took_ps", "ideal_ps", "before_ps")
    )
    lines = [
        "The slowest: " + _line(collective),
        f"Its critical path has {sends.height:,} sends, under way for {time_text(took)}; alone in "
        f"the network they would take {time_text(ideal)}. Ranks had what they waited for "
        f"{time_text(before)} before they sent.",
    ]
    names = {row["rank"]: row for row in run.ranks.to_dicts()}
    hosts = {row["host"]: rank for rank, row in names.items()}
    late = sends.with_columns(late_ps=sends["took_ps"] - sends["ideal_ps"])
    lines += [
        f"  flow {row['flow']}, host {row['src']} to {row['dst']} "
        f"(rank {hosts.get(row['src'], '?')} to {hosts.get(row['dst'], '?')}), "
        f"{bytes_text(row['bytes'])}: {time_text(row['took_ps'])}, "
        f"{time_text(row['late_ps'])} more than alone"
        for row in late.sort("late_ps", descending=True).head(limit).to_dicts()
    ]
    return lines
