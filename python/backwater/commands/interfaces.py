"""Interfaces and addresses: options that the commands `switch` and `host` share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from backwater.commands.common import listed
from backwater.commands.declare import BadParameter
from backwater.errors import RunError

REMOVED = {
    "--socket": "ports use raw sockets (AF_PACKET), and AF_XDP is no longer supported; "
    "omit the option"
}
"""Options of earlier versions, each with the reason why it is refused."""


def names_of(text: str) -> list[str]:
    """Return the interfaces of --ports."""
    names = listed(text, "--ports")
    if len(set(names)) != len(names):
        raise BadParameter("an interface is named twice", param_hint="--ports")
    return names


def address_of(text: str) -> bytes | None:
    """Return an address of Ethernet, if the text is one."""
    try:
        octets = bytes(int(part, 16) for part in text.split(":"))
    except ValueError:
        return None
    return octets if len(octets) == 6 else None


def leading(interfaces: Sequence[str], peers: Sequence[str]) -> str:
    """Return which interface leads to which node of the scenario, in words."""
    return ", ".join(
        f"{interface} (to {peer})" for interface, peer in zip(interfaces, peers, strict=True)
    )


def need_linux(what: str) -> None:
    """Refuse other systems."""
    if sys.platform != "linux":
        raise RunError(f"{what} between interfaces needs Linux: its raw sockets")


def told(counters: Iterable[Sequence[object]]) -> str:
    """Return counters in words, without those that are 0."""
    return ", ".join(f"{name} {value:,}" for name, value in counters if value) or "nothing"
