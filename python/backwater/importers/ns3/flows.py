"""`flow.txt` of HPCC's simulator and its descendants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.importers.common.source import Findings, Words
from backwater.importers.ns3.topology import Topology

DATA_GROUP = 3
"""Priority group of all flows from traffic generators."""

DEFAULT_PORT = 100
"""Destination port of flows whose list has no ports."""

INCAST_PORT = 200
"""Destination port of flows that belong to an incast, by convention."""

MAX_SIZE = 2**32 - 1
_LARGEST = 2**48


@dataclass(frozen=True, slots=True)
class Form:
    """Format of a list of flows."""

    first: int
    """Number of words in the first line."""
    columns: tuple[str, ...]

    @property
    def width(self) -> int:
        """Number of words of a flow."""
        return len(self.columns)


HPCC = Form(1, ("src", "dst", "group", "port", "bytes", "start"))
CONWEAVE = Form(1, ("src", "dst", "group", "bytes", "start"))
FLOODGATE = Form(2, ("src", "dst", "bytes", "start"))
FLOODGATE_PAIRS = Form(2, ("src", "dst", "bytes", "start", "pair", "message"))
"""Floodgate's format with messages that share queue pairs.

Its first line has a second number, 1.
"""

_READERS: dict[str, Callable[[Words], Any]] = {
    "src": lambda words: words.integer("the source of a flow"),
    "dst": lambda words: words.integer("the destination of a flow"),
    "group": lambda words: words.integer("the priority group of a flow"),
    "port": lambda words: words.integer("the destination port of a flow", 0, 65_535),
    "bytes": lambda words: words.integer("the size of a flow", 0, 2**63),
    "start": lambda words: words.number("the start of a flow in seconds", "0", "1e6"),
    "pair": lambda words: words.integer("the number of a pair"),
    "message": lambda words: words.integer("the number of a message"),
}

_FORMS = (HPCC, CONWEAVE, FLOODGATE, FLOODGATE_PAIRS)


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow of a flow file. Hosts have their ns-3 numbers."""

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
    """Parse the words of a flow file."""
    form = _form(words.text)
    count = words.integer("the number of flows")
    if form.first == 2 and words.integer("whether messages share queue pairs", 0, 1):
        words.warning(
            "messages of one queue pair become flows of their own, which do not wait for each "
            "other",
            1,
        )
    if len(words) < form.width * count:
        words.findings.fail(
            f"the first line announces {count} flows, but {len(words) // form.width} follow "
            f"({' '.join(form.columns)} each)",
            words.place(0),
            "ns-3 would run the last one again and again; write how many there are",
        )
    hosts = set(topology.linked_hosts)
    flows = [_flow(words, form, hosts, topology) for _ in range(count)]
    if words:
        words.warning(
            f"the first line announces {count} flows: ns-3 ignores silently what comes after "
            "them, and so does this import",
            words.at,
        )
    if not flows:
        words.findings.fail("there is no flow", words.place(0))
    return _in_order(flows, words, form)


def _form(text: str) -> Form:
    """Return the format, from the words in the first two lines. ns-3 ignores line ends."""
    lines = (len(line.split()) for line in text.splitlines() if line.strip())
    first, second = next(lines, 1), next(lines, HPCC.width)
    return next((f for f in _FORMS if (f.first, f.width) == (first, second)), HPCC)


def _flow(words: Words, form: Form, hosts: set[int], topology: Topology) -> Flow:
    first = words.at
    values = {column: _READERS[column](words) for column in form.columns}
    src, dst, size = values["src"], values["dst"], values["bytes"]
    for at, host in ((first, src), (first + 1, dst)):
        if host not in hosts:
            what = "a switch" if host in topology.switches else "no host with a link"
            words.error(f"node {host} is {what}", at, "flows join two hosts", "flows of such nodes")
    if src == dst:
        words.error(
            f"host {src} would send to itself",
            first + 1,
            "in ns-3 such a flow never ends; remove it",
            "flows from a host to itself",
        )
    _check_size(words, size, first + form.columns.index("bytes"))
    exact = values["start"] * 10**12
    if exact != int(exact):
        words.warning(
            "the start is finer than a picosecond and is cut there",
            first + form.columns.index("start"),
            kind="starts that are finer than a picosecond",
        )
    group, port = values.get("group", DATA_GROUP), values.get("port", DEFAULT_PORT)
    return Flow(src, dst, group, port, size, int(exact))


def _check_size(words: Words, size: int, at: int) -> None:
    if size == 0:
        words.error("a flow of 0 bytes", at, "in ns-3 it never ends; remove it")
    elif size > _LARGEST:
        words.error(f"a flow of {size} bytes is more than 2^48", at, None, "flows above 2^48 B")
    elif size > MAX_SIZE:
        words.warning(
            f"a flow of {size} bytes: ns-3 holds sizes in 32 bits and would send something else; "
            "here it is sent whole",
            at,
            kind="flows of more than 32 bits",
        )


def _in_order(flows: list[Flow], words: Words, form: Form) -> list[Flow]:
    for index in range(1, len(flows)):
        if flows[index].start_ps < flows[index - 1].start_ps:
            words.warning(
                "this flow starts before the one in front of it, for which ns-3 has no event any "
                "more; here the flows are sorted by their start",
                form.first + form.width * index + form.columns.index("start"),
                kind="flows that are out of order",
            )
    return sorted(flows, key=lambda flow: flow.start_ps)
