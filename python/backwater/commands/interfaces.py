"""Options for interfaces and addresses that the commands `switch` and `host` share."""

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
    """Split the value of --ports into interfaces; raise ``BadParameter`` if one occurs twice."""
    names = listed(text, "--ports")
    if len(set(names)) != len(names):
        raise BadParameter("an interface is named twice", param_hint="--ports")
    return names


def address_of(text: str) -> bytes | None:
    """Return the octets of an Ethernet address; None if the text is not one."""
    try:
        octets = bytes(int(part, 16) for part in text.split(":"))
    except ValueError:
        return None
    return octets if len(octets) == 6 else None


def leading(interfaces: Sequence[str], peers: Sequence[str]) -> str:
    """Return as text which interface leads to which node of the scenario."""
    return ", ".join(
        f"{interface} (to {peer})" for interface, peer in zip(interfaces, peers, strict=True)
    )


def need_linux(what: str) -> None:
    """Raise ``RunError`` on systems other than Linux."""
    if sys.platform != "linux":
        raise RunError(f"{what} between interfaces needs Linux: its raw sockets")


def counter_text(counters: Iterable[Sequence[object]]) -> str:
    """Return the counters that are not 0 as text."""
    return ", ".join(f"{name} {value:,}" for name, value in counters if value) or "nothing"
