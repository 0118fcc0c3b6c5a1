"""The command that shows the collectives of a run, and the sends and links that delayed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, Run, one_run, print_json, with_account
from backwater.commands.declare import App, Option
from backwater.errors import InputError

if TYPE_CHECKING:
    from backwater.results.files import RunFiles


def register(app: App) -> None:
    """Add `collectives`."""
    app.add(collectives, example="backwater collectives out/all-reduce --top 5")


def collectives(
    path: Run,
    limit: Annotated[
        int,
        Option("--top", "--limit", min=1, metavar="N", help="Rows of each list."),
    ] = 10,
    workload: Annotated[
        str | None, Option("--workload", metavar="NAME", help="Only this workload.")
    ] = None,
    instance: Annotated[
        int | None,
        Option("--instance", min=0, metavar="N", help="Only those with this number."),
    ] = None,
    group: Annotated[
        str | None,
        Option(
            "--group",
            metavar="NAME",
            help="Only collectives of this group: its name, its number, or all (for all ranks).",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        Option("--kind", metavar="KIND", help="Only collectives of this kind, such as all-reduce."),
    ] = None,
    repeat: Annotated[
        int | None,
        Option("--repeat", min=0, metavar="N", help="Only this repeat or pass of workloads."),
    ] = None,
    record: Annotated[
        bool,
        Option("--record", help="Run it again with the account of links, where there is none."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the collectives of workloads, and the sends and links that made them late."""
    from backwater.analysis import critical

    run = one_run(path)
    table = critical.chosen(run, workload, instance, group, kind)
    all_names = run.table("ranks")["workload"].cast(str).unique(maintain_order=True).to_list()
    repeats = _repeats(run, [workload] if workload else all_names, repeat)
    if repeat is not None:
        table = critical.of_repeat(run, table, repeat)
    if as_json:
        by_workload = {n: t.to_dicts() for n, t in repeats.items() if t is not None}
        return print_json({"collectives": table.to_dicts(), "repeats": by_workload})
    run = with_account(run, record)
    for row in table.head(limit).to_dicts():
        print(_line(row))
    if table.height > limit:
        print(f"and {table.height - limit:,} more; --top shows them")
    chosen = critical.longest(table)
    if chosen is None:
        print("no collective has ended")
    else:
        of_several = table.height > 1
        print("\n".join(["", *_path_lines(run, chosen, of_several, limit)]))
        if of_several and instance is not None:
            print(
                f"There are {table.height:,} collectives with the number {instance}; --group, "
                "--kind and --workload choose among them."
            )
    if repeat is None and (instance, group, kind) != (None, None, None):
        return  # The remaining output is about whole workloads.
    for name, times in repeats.items():
        if times is not None:
            print("\n".join(["", *_repeat_lines(name, times, limit)]))
        if run.table("operations").filter(workload=name).height:
            print("\n".join(["", *_step_lines(run, name, repeat, limit)]))


def _repeats(run: RunFiles, names: list[str], repeat: int | None) -> dict[str, pl.DataFrame | None]:
    """Return the times of the repeats of workloads, or of one repeat if its number is given."""
    from backwater.analysis import critical

    found = {name: critical.repeats(run, name) for name in names}
    if repeat is None:
        return found
    several = {name: times for name, times in found.items() if times is not None}
    if not several:
        raise InputError(f"{run.path}: no workload of it has repeats or passes to choose from")
    chosen = {name: times.filter(repeat=repeat) for name, times in several.items()}
    if not any(times.height for times in chosen.values()):
        there = ", ".join(
            f"{name} has 0 to {times['repeat'].to_list()[-1]}" for name, times in several.items()
        )
        raise InputError(f"{run.path}: nothing of a repeat {repeat} has ended; {there}")
    return {name: times for name, times in chosen.items() if times.height}


def _line(row: dict[str, Any]) -> str:
    from backwater.analysis.critical import group_words

    took = time_text(row["end_ps"] - row["start_ps"])
    words = (
        f"{row['workload']}: {row['kind']} {row['instance']} of {group_words(row)} "
        f"({row['ranks']}), "
        f"{bytes_text(row['bytes'])}: {took}, rank {row['last_rank']} last"
    )
    entered = row["last_start_ps"] - row["start_ps"]
    if entered > 0.01 * (row["end_ps"] - row["start_ps"]):
        words += f"; its last rank began {time_text(entered)} after the first"
    if (bus := row["bus_bps"]) is None:
        return words
    bound = row.get("bound_bps")
    of = "" if bound is None else f" of at most {bound / 1e9:,.1f}"
    return f"{words}; bus bandwidth {bus / 1e9:,.1f} Gbps{of}"


def _path_lines(run: RunFiles, collective: dict[str, Any], slowest: bool, limit: int) -> list[str]:
    from backwater.analysis import blame, critical

    sends = critical.critical_path(run, collective)
    took, ideal, before = (
        sum(sends[name].to_list()) for name in ("took_ps", "ideal_ps", "before_ps")
    )
    lines = [
        ("The slowest: " if slowest else "") + _line(collective),
        f"Its critical path has {sends.height:,} sends, under way for {time_text(took)}; alone in "
        f"the network they would take {time_text(ideal)}. In all {time_text(before)} passed "
        "between the last message that a rank waited for and its own send.",
    ]
    ranks = critical.ranks_of(run, collective["workload"])
    worst = critical.latest(sends, limit)
    recorded = blame.is_recorded(run)
    met = {row["flow"]: row for row in critical.shared(run, worst).to_dicts()} if recorded else {}
    own = critical.behind_own(run, worst) if recorded else {}
    for row in worst.to_dicts():
        line = (
            f"  flow {row['flow']}, host {row['src']} to {row['dst']} "
            f"(rank {ranks.get(row['src'], '?')} to {ranks.get(row['dst'], '?')}), "
            f"{bytes_text(row['bytes'])}: {time_text(row['took_ps'])}, "
            f"{time_text(row['late_ps'])} more than alone"
        )
        if waited_ps := own.get(row["flow"]):
            line += f"; {time_text(waited_ps)} of it behind earlier messages of its queue pair"
        if there := met.get(row["flow"]):
            line += (
                f"; {there['port']} was shared with {there['others']:,} other flows of "
                f"{bytes_text(there['bytes'])}"
            )
        lines.append(line)
    return lines + (
        _link_lines(critical.links(run, sends), limit) if recorded else _unrecorded(run)
    )


def _link_lines(links: pl.DataFrame, limit: int) -> list[str]:
    from backwater.analysis.blame import words

    if not links.height:
        return ["None of these sends lost time at a link."]
    lines = ["Where these sends lost time, and to what:"]
    for row in links.head(limit).to_dicts():
        sends = "1 send" if row["sends"] == 1 else f"{row['sends']:,} sends"
        lines.append(
            f"  {row['port']}: {time_text(row['late_ps'])} in {sends}, {words(row['part'])}"
        )
    if links.height > limit:
        lines.append(f"  and {links.height - limit:,} more; --top shows them")
    return lines


def _unrecorded(run: RunFiles) -> list[str]:
    return [
        "On which links they lost time is not recorded; this runs it again with the account:",
        f"  backwater collectives {run.path} --record",
    ]


def _repeat_lines(workload: str, times: pl.DataFrame, limit: int) -> list[str]:
    lines = [f"Repeats of workload {workload}, each from the end of the one before:"]
    for row in times.head(limit).to_dicts():
        over = "" if row["whole"] else f"; not over, {row['operations']:,} operations have ended"
        lines.append(
            f"  repeat {row['repeat']}: {time_text(row['took_ps'])}, "
            f"from {time_text(row['start_ps'])} to {time_text(row['end_ps'])}{over}"
        )
    if times.height > limit:
        lines.append(f"  and {times.height - limit:,} more; --top shows them")
    return lines


def _step_lines(run: RunFiles, workload: str, repeat: int | None, limit: int) -> list[str]:
    from backwater.analysis import critical

    steps = critical.steps(run, workload, repeat)
    spent: dict[str, int] = {}
    for kind, time in steps.select("kind", "spent_ps").iter_rows():
        spent[kind] = spent.get(kind, 0) + time
    total = max(sum(spent.values()), 1)
    of = "" if repeat is None else f"repeat {repeat} of "
    shares = ", ".join(
        f"{kind} {time_text(time)} ({time / total:.0%})"
        for kind, time in sorted(spent.items(), key=lambda item: -item[1])
    )
    lines = [
        f"The critical path of {of}workload {workload} has {steps.height:,} operations and takes "
        f"{time_text(total)}: {shares}. The longest of them:"
    ]
    longest = steps.sort(["spent_ps", "end_ps"], descending=[True, False]).head(limit)
    for row in longest.to_dicts():
        size = f" of {bytes_text(row['bytes'])}" if row["bytes"] else ""
        peer = "" if row["peer"] is None else f" from rank {row['peer']}"
        lines.append(
            f"  rank {row['rank']}, operation {row['index']}: {row['kind']}{size}"
            f"{peer if row['kind'] == 'recv' else ''}, {time_text(row['spent_ps'])}"
        )
    return lines
