"""The command that runs a switch on real network interfaces."""

from __future__ import annotations

import json
from typing import Annotated, Any

from backwater.commands.common import Given, Json, print_json, say
from backwater.commands.declare import App, BadParameter, Option
from backwater.commands.interfaces import (
    REMOVED,
    address_of,
    counter_text,
    leading,
    names_of,
    need_linux,
)

PRIORITIES = 8


def register(app: App) -> None:
    """Add `switch`."""
    app.add(switch, removed=REMOVED, example="backwater switch scenario.toml --ports eth0,eth1")


def _numbers(text: str | None, option: str) -> list[int] | None:
    """Split the value of an option into priorities or classes, 0 to 7; None if it is not given."""
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadParameter(
            "expected numbers with commas between them, like 3,4", param_hint=option
        ) from None
    if not all(0 <= number < PRIORITIES for number in numbers):
        raise BadParameter("expected numbers from 0 to 7", param_hint=option)
    return numbers


def _station(text: str) -> tuple[bytes, str]:
    """Split the value of --station into the octets of an address and the name of an interface."""
    address, equals, interface = text.partition("=")
    octets = address_of(address)
    if octets is None or not equals or not interface:
        raise BadParameter(
            "expected ADDRESS=INTERFACE, like 02:00:00:00:00:01=eth1", param_hint="--station"
        )
    return octets, interface


def switch(
    given: Given,
    ports: Annotated[
        str,
        Option(
            "--ports",
            metavar="ETH1,ETH2,…",
            help="The interfaces, in the order of the switch's ports: those to hosts first.",
        ),
    ],
    node: Annotated[
        str | None, Option("--node", help="Which switch of the scenario; not needed for one.")
    ] = None,
    lossless: Annotated[
        str | None,
        Option(
            "--lossless",
            metavar="3,4",
            help="Priorities that PFC pauses. Default: the traffic classes of the scenario.",
        ),
    ] = None,
    classes: Annotated[
        str | None,
        Option(
            "--classes",
            metavar="7,6,5,…",
            help="Traffic classes, 0 to 7, of the priorities 0 to 7; lower ones go first.",
        ),
    ] = None,
    station: Annotated[
        list[str] | None,
        Option("--station", metavar="MAC=ETH", help="A station that is not learned; repeatable."),
    ] = None,
    mtu: Annotated[
        int, Option("--mtu", min=576, max=9216, help="Largest datagram of IP on the ports.")
    ] = 1500,
    metrics: Annotated[
        str | None,
        Option(
            "--metrics",
            metavar="ADDRESS",
            help="Serve counters and a page there: a port of 127.0.0.1, or ADDRESS:PORT.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Forward real frames between interfaces with the dataplane's switch, until Ctrl-C.

    The scenario describes the switch: its scheme, its buffer, and the rate to which each port is
    shaped. docs/switch.md describes what such a run can and cannot show. The command needs the
    right to open raw sockets (CAP_NET_RAW) and gives up all other capabilities.
    """
    from backwater import _core

    need_linux("a switch")
    interfaces = names_of(ports)
    stations = [_station(text) for text in station or []]
    for _, interface in stations:
        if interface not in interfaces:
            raise BadParameter(f"{interface} is not among --ports", param_hint="--station")
    of_priorities = _numbers(classes, "--classes")
    paused = _numbers(lossless, "--lossless")
    if metrics is not None and metrics.isdigit():
        metrics = f"127.0.0.1:{metrics}"

    def ready(name: str, peers: list[str], address: str | None) -> None:
        page = "" if address is None else f"; http://{address}/ shows it"
        say(f"{name} forwards between {leading(interfaces, peers)}{page}; Ctrl-C stops it")

    setup = {
        "node": node,
        "interfaces": interfaces,
        "classes": of_priorities,
        "lossless": paused,
        "stations": [(address, interfaces.index(interface)) for address, interface in stations],
        "mtu": mtu,
        "metrics": metrics,
    }
    loaded = _core.Scenario(str(given.scenario), given.overrides or [], given.seed, given.scheme)
    last = json.loads(_core.run_switch(loaded, setup, ready, _core.Interrupt()))
    if as_json:
        print_json(last)
    else:
        _show(last)


def _show(last: dict[str, Any]) -> None:
    """Print the counters that are not 0."""
    print(f"{last['name']} ran for {last['seconds']:.1f} s")
    for port in last["ports"]:
        print(f"{port['interface']}: {counter_text(port['counters'])}")
    print(f"together: {counter_text(last['counters'])}")
