"""What the commands of nodes on the wall clock have in common: interfaces and addresses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated

from backwater.commands.common import listed
from backwater.commands.declare import BadParameter, Option
from backwater.errors import RunError


class SocketKind(StrEnum):
    """The kinds of sockets by which frames come and go."""

    PACKET = "packet"
    XDP = "xdp"


Socket = Annotated[
    SocketKind,
    Option(
        "--socket",
        help="AF_PACKET; or AF_XDP, which takes all frames of the interfaces from the kernel, and "
        "needs more rights.",
    ),
]
"""The option that chooses one."""


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


def chosen(kind: SocketKind, interfaces: Sequence[str], sockets: Sequence[str]) -> str:
    """Return what the kernel has chosen of the sockets, in words; nothing without a choice."""
    if kind == SocketKind.PACKET:
        return ""
    each = (f"{interface} has {of}" for interface, of in zip(interfaces, sockets, strict=True))
    return f"; {'; '.join(each)}"


def need_linux(what: str) -> None:
    """Refuse other systems."""
    if sys.platform != "linux":
        raise RunError(f"{what} between interfaces needs Linux: its raw sockets")


def told(counters: Iterable[Sequence[object]]) -> str:
    """Return counters in words, without those that are 0."""
    return ", ".join(f"{name} {value:,}" for name, value in counters if value) or "nothing"
