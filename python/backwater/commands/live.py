"""The command that runs a scenario on real frames."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import (
    FAILED,
    GOOD,
    STOPPED,
    Capture,
    Force,
    Json,
    Out,
    Overrides,
    Scenario,
    Scheme,
    Seed,
    captured,
    say,
    shown,
    warn,
)
from backwater.commands.declare import App, BadParameter, Exit, Option

if TYPE_CHECKING:
    from backwater.results import Comparison, Run


def register(app: App) -> None:
    """Add `live`."""
    app.add(live)


def live(
    scenario: Scenario,
    lockstep: Annotated[
        bool,
        Option("--lockstep", help="Under the virtual clock: the simulator's twin. Always needed."),
    ] = False,
    scheme: Scheme = None,
    schemes: Annotated[
        str | None,
        Option(
            "--schemes", metavar="A,B,…", help="Presets to run one after the other, with a report."
        ),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    out: Out = None,
    check: Annotated[
        bool, Option("--check", help="Run the simulator, too, and compare the digests.")
    ] = False,
    as_json: Json = False,
    force: Force = False,
    capture: Capture = None,
) -> None:
    """Run a scenario on real frames: a network namespace for each node, no privileges.

    The same state machines as in the simulator send each other frames through the kernel and know
    nothing else of each other. docs/live.md has what that shows and what it does not.
    """
    if not lockstep:
        raise BadParameter(
            "a whole scenario runs under the virtual clock only: add --lockstep",
            param_hint="--lockstep",
        )
    if scheme is not None and schemes is not None:
        raise BadParameter("give --scheme or --schemes, not both", param_hint="--schemes")
    names = [name.strip() for name in schemes.split(",") if name.strip()] if schemes else []
    _enter()
    from backwater import simulate
    from backwater.errors import Interrupted
    from backwater.progress import display
    from backwater.results import Comparison, Run

    overrides = captured(capture, overrides)
    warn(scenario, overrides, seed, [*names] or [scheme])
    how = simulate.Lockstep(compare=check)
    stopped = False
    result: Run | Comparison
    try:
        with display(names or [scheme or scenario.stem]) as tell:
            if names:
                result = simulate.compare(
                    scenario,
                    names,
                    overrides=overrides or [],
                    seed=seed,
                    jobs=1,
                    out=out,
                    force=force,
                    listener=tell,
                    lockstep=how,
                )
            else:
                result = simulate.run(
                    scenario,
                    scheme=scheme,
                    overrides=overrides or [],
                    seed=seed,
                    out=out,
                    force=force,
                    listener=lambda _, progress: tell(scheme or scenario.stem, progress),
                    lockstep=how,
                )
    except Interrupted as stop:
        assert isinstance(stop.result, (Run, Comparison))
        result, stopped = stop.result, True
    good = _show(result, as_json)
    raise Exit(STOPPED if stopped else GOOD if good else FAILED)


def _enter() -> None:
    """Move this process into a user namespace, before anything starts a thread."""
    from backwater import _core
    from backwater.errors import RunError

    if sys.platform != "linux":
        raise RunError("runs on real frames need Linux: its network namespaces and raw sockets")
    _core.enter_user_namespace()


def _show(result: Run | Comparison, as_json: bool) -> bool:
    """Print what came of it; say whether all is well."""
    from backwater.results import Run
    from backwater.simulate import Lockstep
    from backwater.terminal import print_audit, print_table

    runs = {result.scheme: result} if isinstance(result, Run) else result.runs
    failed = {} if isinstance(result, Run) else result.failed
    how: dict[str, dict[str, Any]] = {
        name: json.loads((run.path / Lockstep.KEPT).read_text(encoding="utf-8"))
        for name, run in runs.items()
    }
    if as_json:
        print(json.dumps(how, indent=2, ensure_ascii=False))
    else:
        print_table(runs)
        for name, one in how.items():
            print(f"{name}: {_frames(one)}; {_verdict(one)}")
    print_audit(runs)
    for name, why in failed.items():
        say(f"error: {name} failed: {why}")
    say(f"results: {shown(result)}")
    same = all((one["simulator"] or one)["digest"] == one["digest"] for one in how.values())
    return same and not failed and all(run.ok for run in runs.values())


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
    told = f"digest {one['digest']}, the simulator has {one['simulator']['digest']}"
    difference = one["simulator"]["difference"]
    return f"{told}: {difference}" if difference else told
