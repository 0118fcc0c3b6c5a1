"""The command that writes a run as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from backwater._base.units import time_text
from backwater.commands.common import Json, Run, one_run, print_json, say
from backwater.commands.declare import App, Option
from backwater.commands.quantities import in_units


def register(app: App) -> None:
    """Add `timeline`."""
    app.add(timeline, example="backwater timeline out/first -o first.trace.json.gz")


def _time(text: str) -> int:
    return round(in_units("time", "", "2.5ms", least=-1)(text))


def timeline(
    path: Run,
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The trace; .gz at its end compresses it.",
            show_default="NAME-SCHEME.trace.json.gz",
        ),
    ] = None,
    start: Annotated[
        int | None,
        Option(
            "--from",
            metavar="TIME",
            help="Leave out what begins before.",
            parser=_time,
        ),
    ] = None,
    end: Annotated[
        int | None,
        Option(
            "--to",
            metavar="TIME",
            help="Leave out what begins later.",
            parser=_time,
        ),
    ] = None,
    limit: Annotated[int, Option("--limit", min=1, metavar="N", help="Most events.")] = 500_000,
    as_json: Json = False,
) -> None:
    """Write flows, pauses, buffers and ranks over time as a trace that ui.perfetto.dev opens."""
    from backwater.report import timeline as traces

    run = one_run(path)
    if out is None:
        out = Path(f"{run.name}-{run.scheme}.trace.json.gz")
    written = traces.write(run, out, (start, end), limit)
    if written.cut_ps is not None:
        say(
            f"note: the trace ends at {time_text(written.cut_ps)}, before the end of the run at "
            f"{time_text(run.summary['end_ps'])}, because more than {limit:,} events are slow to "
            "look at; --from and --to choose another part, --limit allows more"
        )
    say(
        f"{written.events:,} events; open the file in https://ui.perfetto.dev, which keeps it local"
    )
    if as_json:
        return print_json({"trace": str(out), "events": written.events, "cut_ps": written.cut_ps})
    print(out)
