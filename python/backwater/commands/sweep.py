"""``backwater sweep``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.units import duration_text
from backwater.commands.common import FAILED, GOOD, STOPPED, Making, print_json, say, shown
from backwater.commands.declare import App, Argument, BadParameter, Exit, Option
from backwater.commands.kinds import Kind, expecting
from backwater.commands.quantities import seconds, size_bytes
from backwater.errors import Interrupted

if TYPE_CHECKING:
    from backwater.results.results import Results
    from backwater.running.run import Plan

_SHOWN = 20
"""Maximum number of runs that are listed one by one."""


def register(app: App) -> None:
    """Add `sweep`."""
    app.add(sweep, example="backwater sweep scenarios/sweeps/demo-seeds.toml --dry-run")


def sweep(
    sweep: Annotated[
        Path,
        Argument(metavar="SWEEP", help="Sweep, a TOML file.", check=expecting(Kind.SWEEP)),
    ],
    making: Making,
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
    dry_run: Annotated[bool, Option("--dry-run", help="Only print what would be run.")] = False,
) -> None:
    """Make all runs of a sweep over keys, schemes and seeds, each once, and report."""
    from backwater.running import run as running

    if making.jobs is not None and scheduler is not None:
        raise BadParameter("--jobs is for this machine, and --scheduler for a cluster")
    options: dict[str, Any] = {
        "out": making.out,
        "store": store,
        "jobs": making.jobs,
        "threads": making.threads,
        "timeout_s": timeout,
        "memory_bytes": memory,
        "retry_failed": retry_failed,
    }
    if dry_run:
        _print_plan(running.plan(sweep, **options), making.as_json)
        return
    from backwater.running.progress import display

    stopped = False
    try:
        with display(sweep.stem) as listener:
            results = running.sweep(
                sweep,
                force=making.force,
                listener=listener,
                scheduler=scheduler,
                notify=lambda notice: say(f"warning: {notice}"),
                **options,
            )
    except Interrupted as stop:
        results, stopped = stop.result, True
    except KeyboardInterrupt:
        say("Interrupted before the first run.")
        raise Exit(STOPPED) from None
    _print_end(results, making.as_json)
    if stopped:
        say("Interrupted. Finished runs are kept; the same command goes on from there.")
        raise Exit(STOPPED)
    raise Exit(GOOD if results.ok else FAILED)


def _print_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        print_json(asdict(plan) | {"todo": plan.todo})
        return
    print(f"runs             {plan.runs:,}")
    print(f"  cached         {plan.cached:,}")
    print(f"  failed earlier {plan.failed:,}" + (" (--retry-failed)" if plan.failed else ""))
    print(f"  to run         {plan.todo:,}")
    if plan.skipped:
        print(f"invalid, skipped {plan.skipped:,}")
    for command in plan.commands[:_SHOWN]:
        print(f"    {command}")
    if plan.todo > _SHOWN:
        print(f"    … and {plan.todo - _SHOWN:,} more (--json lists all)")
    if plan.seconds is not None:
        print(f"time             about {duration_text(plan.seconds)} ({plan.basis})")


def _print_end(results: Results, as_json: bool) -> None:
    from backwater.commands.terminal import print_results
    from backwater.results import REPORT

    violated, stalled = results.violated, results.stalled
    counts = {
        "runs": len({point.key for point in results.points}),
        "finished": results.counts["done"],
        "failed": len(results.failed),
        "violated": len({point.key for point in violated}),
        "stalled": len({point.key for point in stalled}),
        "skipped": len(results.about.get("skipped", ())),
    }
    if as_json:
        failures = {
            key: {"kind": f.kind, "message": f.message, "seed": f.seed, "command": f.command}
            for key, f in results.failed.items()
        }
        print_json({**counts, "failures": failures})
    else:
        print_results(results)
        print(", ".join(f"{n:,} {word}" for word, n in counts.items() if n or word == "finished"))
    for failure in list(results.failed.values())[:_SHOWN]:
        say(f"error: {failure.kind}: {failure.message}\n  {failure.command}")
    if len(results.failed) > _SHOWN:
        say(f"… and {len(results.failed) - _SHOWN:,} more failed")
    for point in violated[:_SHOWN]:
        say(f"error: violated a check: {results.path_of(point.key)}\n  {point.command}")
    if len(violated) > _SHOWN:
        say(f"… and {len(violated) - _SHOWN:,} more violated a check")
    report = results.path / REPORT
    say(f"report: {report}" if report.is_file() else f"results: {shown(results)}")
