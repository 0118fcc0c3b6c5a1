"""`flow.txt` of HPCC's simulator and its descendants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from backwater.interchange.ns3_topology import Topology
from backwater.interchange.source import Findings, Words

FIELDS = 6
INCAST_PORT = 200
"""By convention the destination port of flows that belong to an incast."""

MAX_SIZE = 2**32 - 1
_LARGEST = 2**48
_MAX_START_PS = 10**18


@dataclass(frozen=True, slots=True)
class Flow:
    """A line of the file; hosts by their number in ns-3."""

    src: int
    dst: int
    group: int
    port: int
    bytes: int
    start_ps: int


def read(path: Path, topology: Topology, findings: Findings) -> list[Flow]:
    """Read a flow file, sorted by start."""
    return parse(Words.read(path, findings, "list of flows"), topology)


def parse(words: Words, topology: Topology) -> list[Flow]:
    """Read the words of a flow file."""
    count = words.integer("the number of flows")
    if words.left < FIELDS * count:
        words.findings.fail(
            f"the first line announces {count} flows, but {words.left // FIELDS} follow",
            words.place(0),
            "ns-3 would run the last one again and again; write how many there are",
        )
    hosts = set(topology.hosts) & topology.linked()
    flows = [_flow(words, hosts, topology) for _ in range(count)]
    if words.left:
        words.warning(
            words.at,
            f"the first line announces {count} flows: ns-3 ignores silently what comes after "
            "them, and so does this import",
        )
    if not flows:
        words.findings.fail("there is no flow", words.place(0))
    return _in_order(flows, words)


def _flow(words: Words, hosts: set[int], topology: Topology) -> Flow:
    first = words.at
    src = words.integer("the source of a flow")
    dst = words.integer("the destination of a flow")
    group = words.integer("the priority group of a flow")
    port = words.integer("the destination port of a flow", 0, 65_535)
    size = words.integer("the size of a flow", 0, 2**63)
    start = words.number("the start of a flow in seconds", "0", "1e6")
    for at, host in ((first, src), (first + 1, dst)):
        if host not in hosts:
            what = "a switch" if host in topology.switches else "no host with a link"
            words.error(at, f"node {host} is {what}", "flows join two hosts", "flows of such nodes")
    if src == dst:
        words.error(
            first + 1,
            f"host {src} would send to itself",
            "in ns-3 such a flow never ends; remove it",
            "flows from a host to itself",
        )
    _check_size(words, size, first + 4)
    exact = start * 10**12
    if exact != int(exact):
        words.warning(
            first + 5,
            "the start is finer than a picosecond and is cut there",
            kind="starts that are finer than a picosecond",
        )
    return Flow(src, dst, group, port, size, int(exact))


def _check_size(words: Words, size: int, at: int) -> None:
    if size == 0:
        words.error(at, "a flow of 0 bytes", "in ns-3 it never ends; remove it")
    elif size > _LARGEST:
        words.error(at, f"a flow of {size} bytes is more than 2^48", None, "flows above 2^48 B")
    elif size > MAX_SIZE:
        words.warning(
            at,
            f"a flow of {size} bytes: ns-3 holds sizes in 32 bits and would send something else; "
            "here it is sent whole",
            kind="flows of more than 32 bits",
        )


def _in_order(flows: list[Flow], words: Words) -> list[Flow]:
    for index in range(1, len(flows)):
        if flows[index].start_ps < flows[index - 1].start_ps:
            words.warning(
                1 + FIELDS * index + 5,
                "this flow starts before the one in front of it, for which ns-3 has no event any "
                "more; here the flows are sorted by their start",
                kind="flows that are out of order",
            )
    return sorted(flows, key=lambda flow: flow.start_ps)
