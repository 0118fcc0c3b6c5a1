"""The command that runs a scenario on real frames."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import (
    Capture,
    Force,
    Json,
    Out,
    Overrides,
    Scenario,
    Scheme,
    Seed,
    captured,
    listed,
    warn,
)
from backwater.commands.declare import App, BadParameter, Option
from backwater.commands.outcome import end, watch

if TYPE_CHECKING:
    from backwater.results import Comparison, Run
    from backwater.running.simulate import Listener


def register(app: App) -> None:
    """Add `live`."""
    app.add(live, example="backwater live scenarios/live-demo.toml --schemes bfc,dcqcn")


def live(
    scenario: Scenario,
    lockstep: Annotated[
        bool,
        Option("--lockstep", hidden=True, help="No effect: every run is in lockstep."),
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
    if scheme is not None and schemes is not None:
        raise BadParameter("give --scheme or --schemes, not both", param_hint="--schemes")
    names = [] if schemes is None else listed(schemes, "--schemes")
    _enter()
    from backwater.running import simulate

    overrides = captured(capture, overrides)
    warned = warn(scenario, overrides, seed, [*names] or [scheme])
    how = simulate.Lockstep(compare=check)

    def start(listener: Listener) -> Run | Comparison:
        if not names:
            return simulate.run(
                scenario,
                scheme=scheme,
                overrides=overrides or [],
                seed=seed,
                out=out,
                force=force,
                listener=listener,
                lockstep=how,
            )
        return simulate.compare(
            scenario,
            names,
            overrides=overrides or [],
            seed=seed,
            jobs=1,
            out=out,
            force=force,
            listener=listener,
            lockstep=how,
        )

    result, stopped = watch(names or [scheme or scenario.stem], start)
    told = _told(result)
    lines = [f"{name}: {_frames(one)}; {_verdict(one)}" for name, one in told.items()]
    same = all((one["simulator"] or one)["digest"] == one["digest"] for one in told.values())
    summary = told if as_json else None
    end(result, stopped, summary=summary, details=lines, good=same, told=warned)


def _enter() -> None:
    """Move this process into a user namespace, before anything starts a thread."""
    from backwater import _core
    from backwater.errors import RunError

    if sys.platform != "linux":
        raise RunError("runs on real frames need Linux: its network namespaces and raw sockets")
    _core.enter_user_namespace()


def _told(result: Run | Comparison) -> dict[str, dict[str, Any]]:
    """Return what each run said of its frames, by scheme."""
    from backwater.results import Run
    from backwater.running.simulate import Lockstep

    runs = {result.scheme: result} if isinstance(result, Run) else result.runs
    return {
        name: json.loads((run.path / Lockstep.KEPT).read_text(encoding="utf-8"))
        for name, run in runs.items()
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
    told = f"digest {one['digest']}, the simulator has {one['simulator']['digest']}"
    difference = one["simulator"]["difference"]
    return f"{told}: {difference}" if difference else told
