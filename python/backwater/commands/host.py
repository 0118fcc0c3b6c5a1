"""The command that runs a host on real network interfaces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from backwater.commands.common import FAILED, GOOD, Force, Given, Json, Out, print_json, say
from backwater.commands.declare import App, BadParameter, Exit, Option
from backwater.commands.interfaces import (
    REMOVED,
    address_of,
    counter_text,
    leading,
    names_of,
    need_linux,
)
from backwater.commands.quantities import in_units


def register(app: App) -> None:
    """Add `host`."""
    app.add(host, removed=REMOVED, example="backwater host scenario.toml --node host0 --ports eth0")


def _peer(text: str) -> tuple[str, bytes]:
    """Split the value of --peer into the name of a host and the octets of its address."""
    name, equals, address = text.partition("=")
    octets = address_of(address)
    if octets is None or not equals or not name:
        raise BadParameter(
            "expected HOST=ADDRESS, like host1=02:00:00:00:00:01", param_hint="--peer"
        )
    return name, octets


def host(
    given: Given,
    node: Annotated[str, Option("--node", help="Which host of the scenario, such as host0.")],
    ports: Annotated[
        str,
        Option(
            "--ports",
            metavar="ETH1,…",
            help="Its interfaces, in the order of the host's ports in the scenario.",
        ),
    ],
    flows: Annotated[
        Path | None,
        Option(
            "--flows",
            metavar="FILE",
            help="Flows of all hosts as CSV (src,dst,bytes,start,class), in place of the "
            "scenario's traffic.",
        ),
    ] = None,
    listen: Annotated[
        bool, Option("--listen", help="Go on answering when its own flows have finished.")
    ] = False,
    limit_ps: Annotated[
        float | None,
        Option(
            "--for",
            metavar="TIME",
            help="Stop after this time at the latest, such as 30s.",
            parser=in_units("time", "s", "30s"),
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        Option(
            "--peer",
            metavar="HOST=MAC",
            help="Address of another host until it is heard of; repeatable.",
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Send flows of a scenario on real frames with the dataplane's NIC, answer others, and measure.

    It stops when the last of its flows is acknowledged. With --listen, or without flows of its
    own, it runs until Ctrl-C or --for. docs/host.md describes what such a run can and cannot
    show. The command needs the right to open raw sockets (CAP_NET_RAW) and gives up all other
    capabilities.
    """
    from backwater import _core

    need_linux("a host")
    interfaces = names_of(ports)
    peers = [_peer(text) for text in peer or []]
    changed = list(given.overrides or [])
    if flows is not None:
        file = json.dumps(str(flows.absolute()), ensure_ascii=False)
        changed.append(f'traffic=[{{name="flows", pattern="list", file={file}}}]')
    place = out if out is not None else Path("out") / f"{given.scenario.stem}-{node}"

    def ready(name: str, peers: list[str]) -> None:
        say(f"{name} is at {leading(interfaces, peers)}; Ctrl-C stops it")

    setup = {
        "node": node,
        "interfaces": interfaces,
        "peers": peers,
        "listen": listen,
        "seconds": None if limit_ps is None else limit_ps / 1e12,
        "out_dir": str(place),
        "force": force,
    }
    loaded = _core.Scenario(str(given.scenario), changed, given.seed, given.scheme)
    answer, broken = _core.run_host(loaded, setup, ready, _core.Interrupt())
    last = json.loads(answer)
    if as_json:
        print_json(last)
    else:
        _show(last)
        print(f"results: {place}")
    _print_errors(last, broken)
    good = broken is None and last["flows"]["finished"] == last["flows"]["started"]
    raise Exit(GOOD if good else FAILED)


def _time(picoseconds: int | None) -> str:
    """Return a time as text."""
    return "–" if picoseconds is None else f"{picoseconds / 1e9:,.3f} ms"


def _show(last: dict[str, Any]) -> None:
    """Print the measurements, and the counters that are not 0."""
    flows = last["flows"]
    print(f"{last['name']} ran for {last['seconds']:.1f} s")
    print(f"flows: {flows['finished']} of {flows['started']} finished")
    if flows["finished"]:
        mbps = 8e6 * flows["finished_bytes"] / max(flows["span_ps"], 1)
        print(
            f"FCT: median {_time(flows['fct_p50_ps'])}, longest {_time(flows['fct_max_ps'])}; "
            f"{mbps:,.1f} Mbps of payload"
        )
    for port in last["ports"]:
        print(f"lost at {port['interface']}: {counter_text(port['counters'])}")
    print(f"counters: {counter_text(last['counters'])}")


def _print_errors(last: dict[str, Any], broken: str | None) -> None:
    """Print errors with their probable causes."""
    if broken is not None:
        say(f"error: {broken}")
    for flow in last["unfinished"]:
        silent = "" if flow["heard"] else f"; nothing ever came from {flow['to']}"
        say(
            f"flow {flow['id']} to {flow['to']} is not finished: {flow['acked_bytes']:,} of "
            f"{flow['bytes']:,} B acknowledged, {flow['why']}{silent}"
        )
    counters = dict(last["counters"])
    for name, meaning in (
        ("misdirected", "packets came for another host: is --node right, here and there?"),
        (
            "impostors",
            "packets came from a host that the scenario has not, or that says it is this one",
        ),
        (
            "overruns",
            "times more was due than can be caught up: links were slower than the scenario says",
        ),
    ):
        if counters[name]:
            say(f"{counters[name]:,} {meaning}")
