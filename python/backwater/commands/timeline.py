"""The command that writes a run as a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from backwater._base.units import time_text
from backwater.commands.common import Json, one_run, say
from backwater.commands.declare import App, Argument, BadParameter, Option


def register(app: App) -> None:
    """Add `timeline`."""
    app.add(timeline, example="backwater timeline out/first -o first.trace.json.gz")


def _time(text: str) -> int:
    from backwater._base import quantity

    given = quantity.parse(text)
    if given is None or given.kind != "time" or given.value < 0:
        raise BadParameter(f"`{text}` is no time; write one such as 2.5ms")
    return round(given.value)


def timeline(
    path: Annotated[Path, Argument(metavar="RUN", help="Directory of a run.")],
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
        Option("--from", metavar="TIME", help="Leave out what begins before.", parser=_time),
    ] = None,
    end: Annotated[
        int | None,
        Option("--to", metavar="TIME", help="Leave out what begins later.", parser=_time),
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
    about = {"trace": str(out), "events": written.events, "cut_ps": written.cut_ps}
    print(json.dumps(about) if as_json else out)
