"""``backwater sweep``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from backwater.commands.common import FAILED, GOOD, STOPPED, Force, Out, Threads, say, shown
from backwater.commands.declare import App, Argument, BadParameter, Exit, Option
from backwater.commands.kinds import Kind, expecting
from backwater.commands.quantities import seconds, size_bytes
from backwater.errors import Interrupted

if TYPE_CHECKING:
    from backwater.results.dataset import Campaign
    from backwater.running.sweeping import Plan

_SHOWN = 20
"""Runs that are told one by one."""


def register(app: App) -> None:
    """Add `sweep`."""
    app.add(sweep, example="backwater sweep scenarios/sweeps/demo-seeds.toml --dry-run")


def sweep(
    sweep: Annotated[
        Path,
        Argument(metavar="SWEEP", help="Sweep, a TOML file.", check=expecting(Kind.SWEEP)),
    ],
    out: Out = None,
    jobs: Annotated[
        int | None,
        Option("--jobs", min=1, help="Runs at a time.", show_default="processors / threads"),
    ] = None,
    scheduler: Annotated[
        str | None,
        Option("--scheduler", metavar="ADDRESS", help="Use this Dask cluster."),
    ] = None,
    store: Annotated[
        Path | None,
        Option("--store", metavar="DIR", help="Where runs are kept.", show_default="DIR/store"),
    ] = None,
    timeout: Annotated[
        float | None,
        Option(
            "--timeout", metavar="TIME", parser=seconds, help="End a run after it, as in 10min."
        ),
    ] = None,
    memory: Annotated[
        int | None,
        Option(
            "--memory", metavar="SIZE", parser=size_bytes, help="End a run above it, as in 4GB."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="Try again what failed before.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print how it ended as JSON.")] = False,
    force: Force = False,
    threads: Threads = 1,
) -> None:
    """Make all runs of a sweep over keys, schemes and seeds, each once, and report."""
    from backwater.running import sweeping as api

    if jobs is not None and scheduler is not None:
        raise BadParameter("--jobs is for this machine, and --scheduler for a cluster")
    if dry_run:
        asked = api.plan(
            sweep,
            out=out,
            store=store,
            jobs=jobs,
            threads=threads,
            timeout_s=timeout,
            memory_bytes=memory,
            retry_failed=retry_failed,
        )
        _tell_plan(asked, as_json)
        return
    from backwater.results.dataset import Campaign
    from backwater.running.display import display

    stopped = False
    try:
        with display(sweep.stem) as tell:
            campaign = api.sweep(
                sweep,
                out=out,
                store=store,
                jobs=jobs,
                scheduler=scheduler,
                force=force,
                listener=tell,
                threads=threads,
                notify=lambda notice: say(f"warning: {notice}"),
                timeout_s=timeout,
                memory_bytes=memory,
                retry_failed=retry_failed,
            )
    except Interrupted as stop:
        assert isinstance(stop.result, Campaign)
        campaign, stopped = stop.result, True
    except KeyboardInterrupt:
        say("Interrupted before the first run.")
        raise Exit(STOPPED) from None
    _tell_end(campaign, as_json)
    if stopped:
        say("Interrupted. What was finished is kept; the same command goes on from there.")
        raise Exit(STOPPED)
    raise Exit(GOOD if campaign.ok else FAILED)


def _tell_plan(plan: Plan, as_json: bool) -> None:
    from backwater._base.units import duration_text

    if as_json:
        about = {
            "runs": plan.runs,
            "there": plan.there,
            "failed": plan.failed,
            "todo": plan.todo,
            "seconds": plan.seconds,
            "basis": plan.basis,
            "commands": plan.commands,
        }
        print(json.dumps(about, indent=2, ensure_ascii=False))
        return
    print(f"runs            {plan.runs:,}")
    print(f"  cached        {plan.there:,}")
    print(f"  failed before {plan.failed:,}" + (" (--retry-failed)" if plan.failed else ""))
    print(f"  to run        {plan.todo:,}")
    for command in plan.commands[:_SHOWN]:
        print(f"    {command}")
    if plan.todo > _SHOWN:
        print(f"    … and {plan.todo - _SHOWN:,} more (--json lists all)")
    if plan.seconds is not None:
        print(f"time            about {duration_text(plan.seconds)} ({plan.basis})")


def _tell_end(campaign: Campaign, as_json: bool) -> None:
    from backwater.results import REPORT

    violated, stalled = campaign.violated, campaign.stalled
    counts = {
        "runs": len({row.key for row in campaign.rows}),
        "finished": len(campaign.facts),
        "failed": len(campaign.failed),
        "violated": len({row.key for row in violated}),
        "stalled": len({row.key for row in stalled}),
    }
    if as_json:
        failures = {
            key: {"kind": f.kind, "message": f.message, "seed": f.seed, "command": f.command}
            for key, f in campaign.failed.items()
        }
        print(json.dumps({**counts, "failures": failures}, indent=2, ensure_ascii=False))
    else:
        print(", ".join(f"{n:,} {word}" for word, n in counts.items() if n or word == "finished"))
    for failure in list(campaign.failed.values())[:_SHOWN]:
        say(f"error: {failure.kind}: {failure.message}\n  {failure.command}")
    if len(campaign.failed) > _SHOWN:
        say(f"… and {len(campaign.failed) - _SHOWN:,} more failed")
    for row in violated[:_SHOWN]:
        say(f"error: violated a check: {campaign.store.path_of(row.key)}\n  {row.command}")
    if len(violated) > _SHOWN:
        say(f"… and {len(violated) - _SHOWN:,} more violated a check")
    report = campaign.path / REPORT
    say(f"report: {report}" if report.is_file() else f"results: {shown(campaign)}")
