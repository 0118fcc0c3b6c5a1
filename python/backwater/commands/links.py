"""``backwater inspect --links``: shows the effects of failing links, without a run."""

from __future__ import annotations

from typing import Any

from backwater._base.units import some_text, time_text
from backwater.commands.common import Json, Profiled, print_json
from backwater.commands.declare import App

_LISTED = 20
"""Maximum number of hosts that are listed."""


def register(app: App) -> None:
    """Add `links`, an alias of `inspect --links` for one version."""
    app.add(links, hidden=True)


def links(given: Profiled, as_json: Json = False) -> None:
    """Show when links fail, which hosts that cuts off, and where ports can deadlock."""
    epochs = given.load().links()
    if as_json:
        print_json(epochs)
    else:
        print("\n".join(link_lines(epochs)))


def link_lines(epochs: list[dict[str, Any]]) -> list[str]:
    """Describe each change of links with its consequences."""
    return [line for epoch in epochs for line in _lines(epoch)]


def _lines(epoch: dict[str, Any]) -> list[str]:
    down, cut_off, circle = epoch["down"], epoch["cut_off"], epoch["circle"]
    since = f"from {time_text(epoch['at_ps'])} on" if epoch["at_ps"] else "from the start"
    later = epoch["routes_ps"] > epoch["at_ps"]
    routes = f"; routes follow at {time_text(epoch['routes_ps'])}" if later else ""
    state = f"{', '.join(down)} down" if down else "every link is up"
    lines = [f"{since}: {state}{routes}"]
    if cut_off:
        lines.append(f"  cut off: {some_text(cut_off, _LISTED)}")
    if circle:
        lines.append(f"  cyclic buffer dependency: {', '.join([*circle, circle[0]])}")
    else:
        lines.append("  no cyclic buffer dependency: no deadlock")
    return lines
