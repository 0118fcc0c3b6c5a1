"""``backwater inspect``: what a scenario contains, before a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from backwater.commands.common import Overrides, Profile, Scenario, Scheme, Seed
from backwater.commands.declare import App, Option
from backwater.commands.graph import graph_dot, graph_lines
from backwater.commands.links import link_lines
from backwater.commands.resources import print_resources


def register(app: App) -> None:
    """Add `inspect`."""
    app.add(
        inspect,
        example="backwater inspect scenarios/demo.toml --scheme dcqcn --thresholds\n"
        "backwater inspect scenarios/demo.toml --graph --links",
    )


def inspect(
    scenario: Scenario,
    links: Annotated[
        bool,
        Option("--links", help="When links fail, which hosts that disconnects, deadlock risk."),
    ] = False,
    resources: Annotated[
        bool, Option("--resources", help="State in switches of BFC, Floodgate, SPFC and HPCC.")
    ] = False,
    graph: Annotated[
        bool, Option("--graph", help="Backpressure graph of egress ports and its cycles.")
    ] = False,
    dot: Annotated[
        bool, Option("--dot", help="Print only the backpressure graph, for Graphviz.")
    ] = False,
    thresholds: Annotated[
        bool, Option("--thresholds", help="Each threshold for this fabric, with its formula.")
    ] = False,
    resolved: Annotated[
        bool, Option("--resolved", help="Every value of the scenario, defaults included.")
    ] = False,
    scheme: Scheme = None,
    overrides: Overrides = None,
    seed: Seed = None,
    profile: Profile = None,
    as_json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show links, switch state, backpressure graph or thresholds of a scenario, without a run.

    Without an option it shows the thresholds.
    """
    from backwater.running import simulate

    def of(function: Any, **more: Any) -> Any:
        return function(
            scenario, scheme=scheme, overrides=overrides or [], seed=seed, profile=profile, **more
        )

    if dot:
        print(graph_dot(of(simulate.backpressure_graph, edges=True)))
        return
    thresholds = thresholds or not (links or resources or graph or resolved)
    found: dict[str, Any] = {}
    if thresholds:
        found["thresholds"] = of(simulate.thresholds)
    if links:
        found["links"] = of(simulate.link_epochs)
    if graph:
        found["graph"] = of(simulate.backpressure_graph, edges=as_json)
    if resources:
        found["resources"] = of(simulate.resources, packet_bytes=None, destinations=None)
    if resolved:
        found["resolved"] = of(simulate.resolve)
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for number, (name, part) in enumerate(found.items()):
        if len(found) > 1:
            print(("\n" if number else "") + f"# {name}")
        if name == "thresholds":
            print_thresholds(scenario, scheme, overrides, seed, profile)
        elif name == "resources":
            print_resources(part, has_packet_size=False)
        elif name == "resolved":
            print(part, end="")
        else:
            print("\n".join(link_lines(part) if name == "links" else graph_lines(part)))


def print_thresholds(
    scenario: Path,
    scheme: str | None,
    overrides: list[str] | None,
    seed: int | None,
    profile: str | None,
) -> None:
    """Print the thresholds of a scenario with their formulas."""
    from backwater.running import simulate
    from backwater.scenario import thresholds

    facts = simulate.thresholds(
        scenario, scheme=scheme, overrides=overrides or [], seed=seed, profile=profile
    )
    costs = simulate.resources(
        scenario,
        scheme=scheme,
        overrides=overrides or [],
        seed=seed,
        profile=profile,
        packet_bytes=facts["frame_bytes"],
    )
    print("\n".join(thresholds.lines(facts, costs)))
