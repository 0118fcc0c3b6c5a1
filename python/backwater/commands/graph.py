"""``backwater inspect --graph``: which egress ports can pause which others."""

from __future__ import annotations

from typing import Annotated, Any

from backwater._base.units import some_text
from backwater.commands.common import Json, Profiled, print_json
from backwater.commands.declare import App, Option

_LISTED = 20
"""Maximum number of ports or pairs that are listed."""


def register(app: App) -> None:
    """Add `graph`, an alias of `inspect --graph` for one version."""
    app.add(graph, hidden=True)


def graph(
    given: Profiled,
    dot: Annotated[
        bool, Option("--dot", help="Print the whole graph in the language of Graphviz.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the backpressure graph of egress ports and its cycles (deadlock risk)."""
    found = given.load().backpressure(edges=dot or as_json)
    if as_json:
        print_json(found)
    elif dot:
        print(graph_dot(found))
    else:
        print("\n".join(graph_lines(found)))


def graph_lines(found: dict[str, Any]) -> list[str]:
    """Describe the backpressure graph and its cycles."""
    lines = [f"{found['nodes']} egress ports of switches, {found['edges']} edges"]
    circles, removed = found["circles"], found["removed"]
    if not circles:
        return [*lines, "no cycle: backpressure cannot deadlock"]
    lines.append(f"{len(circles)} set(s) of ports that can wait for each other in a cycle:")
    lines += [f"  {some_text(circle, _LISTED)}" for circle in circles]
    lines.append(f"{len(removed)} pair(s) whose backpressure is to be left out:")
    lines += [f"  {_pair(edge)}" for edge in removed[:_LISTED]]
    if len(removed) > _LISTED:
        lines.append(f"  and {len(removed) - _LISTED} more")
    lines.append(
        "BFC leaves them out (bfc.elide)"
        if found["elided"]
        else "this scheme does not leave them out: it can deadlock"
    )
    return lines


def _pair(edge: dict[str, str]) -> str:
    return f"at {edge['switch']}: {edge['holder']} would hold {edge['held']}"


def graph_dot(found: dict[str, Any]) -> str:
    """Write the graph for Graphviz: cycles in red, removed edges dashed."""
    removed = {(edge["holder"], edge["held"]) for edge in found["removed"]}
    inside = {name: number for number, ports in enumerate(found["circles"]) for name in ports}
    lines = ["digraph backpressure {", "  node [shape=box];"]
    lines += [f'  "{name}" [color=red];' for name in inside]
    for edge in found["edge_list"]:
        pair = (edge["holder"], edge["held"])
        marks = []
        if pair[0] in inside and inside[pair[0]] == inside.get(pair[1]):
            marks.append("color=red")
        if pair in removed:
            marks.append("style=dashed")
        lines.append(
            f'  "{pair[0]}" -> "{pair[1]}"' + (f" [{', '.join(marks)}]" if marks else "") + ";"
        )
    return "\n".join([*lines, "}"])
