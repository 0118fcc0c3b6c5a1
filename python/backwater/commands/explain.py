"""The command that explains the completion times of flows."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from backwater._base.units import bytes_text, number_text, time_text
from backwater.commands.common import (
    BAD_INPUT,
    Json,
    columns,
    print_json,
    say,
    with_account,
    with_accounts,
)
from backwater.commands.declare import App, Argument, Exit, Option

if TYPE_CHECKING:
    from backwater.analysis.blame import Explanation, Slow
    from backwater.results.files import RunFiles


class SizeClass(StrEnum):
    """Classes of flows: by size, with incast flows in a class of their own."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"
    INCAST = "incast"


def register(app: App) -> None:
    """Add `explain`."""
    app.add(explain, example="backwater explain out/first --top 3")


def explain(
    path: Annotated[
        Path, Argument(metavar="RUN", help="Directory of a run, or of a comparison of some.")
    ],
    flow: Annotated[int | None, Option("--flow", metavar="N", min=0, help="This flow.")] = None,
    worst: Annotated[
        int | None,
        Option("--top", "--worst", metavar="N", min=1, help="The flows with the largest slowdown."),
    ] = None,
    size_class: Annotated[
        SizeClass | None,
        Option("--class", help="Only flows of up to 10 KB, up to 1 MB, above, or of incasts."),
    ] = None,
    percentile: Annotated[
        float | None,
        Option("--percentile", metavar="P", min=0, max=100, help="The flow at this percentile."),
    ] = None,
    lost: Annotated[
        bool,
        Option("--lost", help="Only flows that lost packets, or waited because a link was down."),
    ] = False,
    record: Annotated[
        bool,
        Option("--record", help="Run again with `record.blame` if the run has no delay breakdown."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Explain the completion times of flows: queues, pauses, and the ports where these begin."""
    from backwater.analysis import blame
    from backwater.results.results import load

    if sum(option is not None for option in (flow, worst, percentile)) > 1:
        say("error: --flow, --worst and --percentile each choose flows; give one of them")
        raise Exit(BAD_INPUT)
    if flow is not None and (size_class is not None or lost):
        say("error: --flow names a flow, which --class and --lost cannot choose; leave one out")
        raise Exit(BAD_INPUT)
    found = load(path)
    several = found.labelled()
    if len(several) > 1 and flow is None and worst is None and size_class is None and not lost:
        runs = with_accounts(several, record)
        blame.require_all(runs, path)
        return _compare(runs, 99 if percentile is None else percentile, as_json)
    run = with_account(found.only, record)
    chosen = size_class.value if size_class else None
    worst = 3 if flow is None and percentile is None and worst is None else worst
    numbers = blame.pick(run, flow, worst, chosen, percentile, lost)
    explained = blame.explain(run, numbers)
    if as_json:
        return print_json([one.data() for one in explained])
    print("\n\n".join("\n".join(_lines(one)) for one in explained))
    print("\n".join(["", *_further(run, explained)]))


def _lines(one: Explanation) -> list[str]:
    from backwater.analysis.blame import LEAST

    width = max(shutil.get_terminal_size((100, 0)).columns, 60)
    of = " of an incast" if one.incast else ""
    times = "" if one.slowdown < 1.005 else f"{number_text(one.slowdown)} times "
    lines = [
        f"flow {one.flow}{of} ({bytes_text(one.bytes)}, {one.src} → {one.dst}) took "
        f"{time_text(one.fct_ps)}, {times}as long as alone:"
    ]
    small = 0
    for reason in one.reasons:
        share = reason.spent_ps / one.fct_ps
        if share < LEAST:
            small += reason.spent_ps
            continue
        numbers = f"{time_text(reason.spent_ps):>12} {share:>5.0%}  "
        below = " " * len(numbers)
        lines += textwrap.wrap(
            reason.words(), width, initial_indent=numbers, subsequent_indent=below
        )
    if small:
        lines.append(f"{time_text(small):>12} {small / one.fct_ps:>5.1%}  the rest together")
    return lines


def _further(run: RunFiles, explained: list[Explanation]) -> list[str]:
    """Return commands that show more about the causes of delay."""
    from backwater.analysis.blame import LEAST

    parts = {r.part for one in explained for r in one.reasons if r.spent_ps > LEAST * one.fct_ps}
    lines = [*_counted([run]), "Look further:"]
    if parts & {"class_pause", "nic_class_pause"}:
        lines.append(f"  backwater pauses {run.path}       # who was paused how often")
    if any(part.startswith("behind") for part in parts):
        lines.append(f"  backwater breakdown {run.path}    # flows by class, ports by role")
    lines.append(f"  backwater timeline {run.path}     # the run over time, for Perfetto")
    return lines


def _counted(runs: Iterable[RunFiles]) -> list[str]:
    """Return a note if tables measure FCTs until the last ACK; delay breakdowns end earlier."""
    if all(run.fct_until == "received" for run in runs):
        return []
    return [
        "Accounts end with a flow's last byte at its receiver; tables and reports count until the",
        'last ACK is back here (run.fct = "acked"), so their slowdowns are other ones.',
        "",
    ]


def _compare(runs: Mapping[str, RunFiles], percentile: float, as_json: bool) -> None:
    """Print the delay breakdown of the slow flows of each class and scheme."""
    from backwater.analysis.blame import slow, slow_by_class

    if as_json:
        return print_json({name: slow(run, percentile).to_dicts() for name, run in runs.items()})
    print("\n".join(_slow_lines(slow_by_class(runs, percentile), percentile)))
    if counted := _counted(runs.values()):
        print("\n".join(["", *counted[:-1]]))


def _slow_lines(classes: Slow, percentile: float) -> list[str]:
    from backwater.analysis.blame import GROUPS, LEAST

    first = f"Where the time of slow flows went (slowdown from p{percentile:g} on), on average:"
    lines = [first]
    for size_class, found in classes.items():
        rows = found.values()
        times = {"  FCT": "fct_ps", **{f"    {group}": group for group in GROUPS}}
        cells = [
            (size_class, *found),
            ("  slowdown", *(number_text(row["slowdown"]) for row in rows)),
            *(
                (label, *(time_text(row[name]) for row in rows))
                for label, name in times.items()
                if any(row[name] >= LEAST * row["fct_ps"] for row in rows)
            ),
        ]
        lines += ["", *columns(cells)]
    return lines
