"""The command that runs a scenario on real frames."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import (
    Capture,
    Force,
    Given,
    Json,
    Out,
    listed,
    refuse_schemes,
    warn,
)
from backwater.commands.declare import App, BadParameter, Option
from backwater.commands.outcome import end, watch
from backwater.errors import Interrupted, RunError

if TYPE_CHECKING:
    from backwater.results.results import Results
    from backwater.running.progress import Listener
    from backwater.running.single import Lockstep
    from backwater.scenario import Scenario as Described


def register(app: App) -> None:
    """Add `live`."""
    app.add(live, example="backwater live scenarios/live-demo.toml --schemes bfc,dcqcn")


def live(
    given: Given,
    lockstep: Annotated[
        bool,
        Option("--lockstep", hidden=True, help="No effect: every run is in lockstep."),
    ] = False,
    schemes: Annotated[
        str | None,
        Option(
            "--schemes", metavar="A,B,…", help="Presets to run one after the other, with a report."
        ),
    ] = None,
    out: Out = None,
    check: Annotated[
        bool, Option("--check", help="Run the simulator, too, and compare the digests.")
    ] = False,
    as_json: Json = False,
    force: Force = False,
    capture: Capture = None,
) -> None:
    """Run a scenario on real frames: a network namespace for each node, no privileges.

    The nodes run the state machines of the simulator and share no data but the frames that they
    exchange through the kernel. docs/live.md describes what such a run can and cannot show.
    """
    if given.scheme is not None and schemes is not None:
        raise BadParameter("give --scheme or --schemes, not both", param_hint="--schemes")
    names = [] if schemes is None else listed(schemes, "--schemes")
    _enter()
    from backwater.running.single import Lockstep

    scenario = given.load(capture)
    refuse_schemes(scenario, names)
    warned = warn(scenario, [*names] or [given.scheme])
    how = Lockstep(compare=check)
    result, stopped = watch(
        given.scenario.stem, lambda listener: _run(scenario, names, out, force, how, listener)
    )
    statistics = _statistics(result)
    lines = [f"{name}: {_frames(one)}; {_verdict(one)}" for name, one in statistics.items()]
    same = all((one["simulator"] or one)["digest"] == one["digest"] for one in statistics.values())
    summary = statistics if as_json else None
    end(result, stopped, summary=summary, details=lines, good=same, printed=warned)


def _run(
    scenario: Described,
    schemes: list[str],
    out: Path | None,
    force: bool,
    how: Lockstep,
    listener: Listener,
) -> Results:
    """Run the scenario with each scheme, one after the other, in this process."""
    from backwater.results.results import Results
    from backwater.running.run import write_list_of_directories
    from backwater.running.single import default_out, run_one

    if not schemes:
        found = Results.of_run(
            run_one(scenario, out=out, force=force, listener=listener, lockstep=how)
        )
        if found.partial:
            raise Interrupted(found)
        return found
    path = out if out is not None else default_out(scenario, "live")
    runs = {}
    for name, fit in scenario.with_schemes(schemes).items():
        one = fit.scenario
        runs[str(name)] = run_one(
            one, out=path / str(name), force=force, listener=listener, lockstep=how
        )
        if runs[str(name)].partial:
            break
    results = write_list_of_directories(path, scenario, runs)
    results.report()
    if results.partial:
        raise Interrupted(results)
    return results


def _enter() -> None:
    """Move this process into a user namespace. No thread may have started before."""
    from backwater import _core

    if sys.platform != "linux":
        raise RunError("runs on real frames need Linux: its network namespaces and raw sockets")
    _core.enter_user_namespace()


def _statistics(result: Results) -> dict[str, dict[str, Any]]:
    """Return the frame statistics of each run, by scheme."""
    from backwater.running.single import Lockstep

    return {
        run.scheme: json.loads((run.path / Lockstep.KEPT).read_text(encoding="utf-8"))
        for run in result.labelled().values()
    }


def _frames(one: dict[str, Any]) -> str:
    rate = one["frames"] / one["seconds"] if one["seconds"] else 0.0
    return (
        f"{one['frames']:,} frames between {one['nodes']} network namespaces"
        f" in {one['seconds']:.1f} s ({rate:,.0f} frames/s)"
    )


def _verdict(one: dict[str, Any]) -> str:
    if one["simulator"] is None:
        return f"digest {one['digest']}"
    if one["simulator"]["digest"] == one["digest"]:
        return f"digest {one['digest']}, that of the simulator"
    verdict = f"digest {one['digest']}, the simulator has {one['simulator']['digest']}"
    difference = one["simulator"]["difference"]
    return f"{verdict}: {difference}" if difference else verdict
