"""``backwater inspect``: describes a scenario without a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import Json, Profiled, print_json
from backwater.commands.declare import App, Option
from backwater.commands.graph import graph_dot, graph_lines
from backwater.commands.links import link_lines
from backwater.commands.resources import print_resources

if TYPE_CHECKING:
    from backwater.scenario import Scenario as Described


def register(app: App) -> None:
    """Add `inspect`."""
    app.add(
        inspect,
        example="backwater inspect scenarios/demo.toml --scheme dcqcn --thresholds\n"
        "backwater inspect scenarios/demo.toml --graph --links",
    )


def inspect(
    given: Profiled,
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
    as_json: Json = False,
) -> None:
    """Show links, switch state, backpressure graph or thresholds of a scenario, without a run.

    Without an option it shows the thresholds.
    """
    scenario = given.load()
    if dot:
        print(graph_dot(scenario.backpressure(edges=True)))
        return
    thresholds = thresholds or not (links or resources or graph or resolved)
    found: dict[str, Any] = {}
    if thresholds:
        found["thresholds"] = scenario.thresholds()
    if links:
        found["links"] = scenario.links()
    if graph:
        found["graph"] = scenario.backpressure(edges=as_json)
    if resources:
        found["resources"] = scenario.resources()
    if resolved:
        found["resolved"] = scenario.resolved
    if as_json:
        print_json(found)
        return
    for number, (name, part) in enumerate(found.items()):
        if len(found) > 1:
            print(("\n" if number else "") + f"# {name}")
        if name == "thresholds":
            print_thresholds(scenario)
        elif name == "resources":
            print_resources(part, has_packet_size=False)
        elif name == "resolved":
            print(part, end="")
        else:
            print("\n".join(link_lines(part) if name == "links" else graph_lines(part)))


def print_thresholds(scenario: Described) -> None:
    """Print the thresholds of a scenario with their formulas."""
    from backwater.scenario import thresholds

    facts = scenario.thresholds()
    costs = scenario.resources(packet_bytes=facts["frame_bytes"])
    print("\n".join(thresholds.lines(facts, costs, scenario.values["scheme"])))
