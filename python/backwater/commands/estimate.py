"""The command that estimates a workload without packets."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, Overrides, print_json, say
from backwater.commands.declare import App, Argument, BadParameter, Option
from backwater.commands.kinds import Kind, expecting

if TYPE_CHECKING:
    from backwater.scenario import Scenario
    from backwater.workloads.estimates import Estimate

_LISTED = 12
"""Maximum number of collectives that are listed."""


def register(app: App) -> None:
    """Add `estimate`."""
    app.add(
        estimate,
        example="backwater estimate step.parquet --network loggops:latency=1us,rate=400Gbps\n"
        "backwater estimate step.toml --set workload.step.size=64MB",
    )


def estimate(
    workload: Annotated[
        Path,
        Argument(
            help="Workload, a Parquet file; or a scenario with one, whose topology is the network.",
            check=expecting(Kind.WORKLOAD, Kind.SCENARIO),
        ),
    ],
    networks: Annotated[
        list[str] | None,
        Option(
            "--network",
            metavar="NETWORK",
            help="loggops:latency=1us,rate=400Gbps (also gap, overhead, nics), or one per "
            "dimension: ring:size=8,rate=400Gbps,latency=500ns (also switch, fully-connected).",
            show_default="that of the scenario",
        ),
    ] = None,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        Option("-o", "--out", metavar="FILE", help="Write all operations: CSV, or *.parquet."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate how long a workload takes in a network of whole messages, without packets."""
    from backwater.workloads import estimates

    given = _given(workload, overrides)
    networks, assumed = _networks(given, networks or [])
    with _stoppable():
        found = estimates.estimate(given, networks, record=out is not None)
    if out is not None:
        estimates.write_operations(found, out)
    for warning in [*assumed, *found.summary["warnings"]]:
        say(f"warning: {warning}")
    if as_json:
        print_json(found.summary)
    else:
        print("\n".join(_lines(found)))
    if out is not None:
        say(f"operations: {out}")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process at once: the core does not check for signals."""
    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _given(workload: Path, overrides: list[str] | None) -> Path | Scenario:
    """Return the workload file, or the scenario with its changes."""
    from backwater.scenario import Scenario

    if workload.suffix == ".toml":
        return Scenario(workload, overrides or [])
    if overrides:
        raise BadParameter(f"{workload} is a workload file; --set changes a scenario")
    return workload


def _networks(given: Path | Scenario, networks: list[str]) -> tuple[list[str], list[str]]:
    """Return the descriptions of the network, and a warning if an assumed network is used."""
    from backwater.workloads import estimates

    why, how = "no network is given", ", or name the scenario"
    if not isinstance(given, Path):
        networks = networks or estimates.of_scenario(given).networks
        why, how = "an estimate has no network of messages for this topology", ""
    if networks:
        return networks, []
    return [estimates.ASSUMED], [
        f"{why}: one NIC of 400 Gbps for each rank, and 1 µs between any two, are assumed; "
        f"set the network by --network{how}"
    ]


def _lines(found: Estimate) -> list[str]:
    summary = found.summary
    ends, computing = summary["rank_end_ps"], summary["rank_computing_ps"]
    exposed = [end - busy for end, busy in zip(ends, computing, strict=True)]
    last = max(range(len(ends)), key=ends.__getitem__)
    lines = [
        f"{summary['ranks']} ranks, {summary['operations']} operations, "
        f"{summary['messages']} message{'s' * (summary['messages'] != 1)} of "
        f"{bytes_text(summary['bytes'])} in all",
        f"network: {' + '.join(summary['network'])}",
        f"the last rank ends at {time_text(found.end_ps)} (rank {last}), "
        f"the first at {time_text(min(ends))}",
        f"not computing: {time_text(min(exposed))} to {time_text(max(exposed))} of each rank",
    ]
    collectives = summary["collectives"]
    for one in collectives[:_LISTED]:
        took = time_text(one["end_ps"] - one["start_ps"])
        bus = one["bus_bytes_per_second"]
        speed = "" if bus is None else f", bus bandwidth {bus * 8 / 1e9:,.1f} Gbps"
        lines.append(
            f'  {one["kind"]} {one["instance"]} of group "{one["group"]}" ({one["members"]} ranks, '
            f"{bytes_text(one['bytes'])}): {took}{speed}"
        )
    if len(collectives) > _LISTED:
        lines.append(f"  and {len(collectives) - _LISTED} more collectives (--json has all)")
    return lines
