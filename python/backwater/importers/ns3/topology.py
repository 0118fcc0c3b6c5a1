"""`topology.txt` of HPCC's simulator, and its dialects of Floodgate, PowerTCP and SimAI."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

from backwater.importers.common.source import Findings, Words, decimal, whole

MAX_HOST = 65_535
"""Highest number of a host, because its address has two bytes for the number."""

MAX_NODES = 1 << 20

_RATES = (10**6, 10**15)
_MAX_DELAY_PS = 10**12


class Dialect(StrEnum):
    """Formats of topology files, by the simulator that uses them."""

    HPCC = "HPCC"
    FLOODGATE = "Floodgate"
    POWERTCP = "PowerTCP"
    SIMAI = "SimAI"

    @property
    def link_words(self) -> int:
        """Number of words in the line of a link."""
        return 4 if self is Dialect.FLOODGATE else 5


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex link between two nodes."""

    a: int
    b: int
    rate_bps: int
    delay_ps: int
    loss: Decimal
    """Share of frames that are lost."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes by number, and links in the order of the file, which determines the port numbers."""

    dialect: Dialect
    nodes: int
    switches: tuple[int, ...]
    links: tuple[Link, ...]
    gpus_per_server: int = 0
    """GPUs per server; 0 if the file does not give it."""
    first_link: int = 0
    """Index of the file's word at which the links begin."""

    @property
    def hosts(self) -> tuple[int, ...]:
        """Numbers of the nodes that are not switches, ascending."""
        switches = set(self.switches)
        return tuple(n for n in range(self.nodes) if n not in switches)

    def ends(self) -> Counter[int]:
        """Return the number of links of each node that has links."""
        return Counter(n for link in self.links for n in (link.a, link.b))

    @property
    def linked_hosts(self) -> list[int]:
        """Numbers of the hosts that have links, ascending."""
        ends = self.ends()
        return [n for n in self.hosts if n in ends]

    def switch_rates(self) -> list[int]:
        """Return the distinct rates of all switch ports in bit/s, ascending."""
        switches = set(self.switches)
        return sorted({x.rate_bps for x in self.links if x.a in switches or x.b in switches})


def read(path: Path, findings: Findings) -> Topology:
    """Read a topology file of a run of ns-3."""
    topology = parse(Words.read(path, findings, "topology"))
    ends = topology.ends()
    for host in topology.linked_hosts:
        if ends[host] > 1:
            findings.warning(
                f"host {host} has {ends[host]} links: `--profile ns3` was compared with ns-3 for "
                "hosts with one link only",
                kind="hosts with several links",
            )
    return topology


def parse(words: Words) -> Topology:
    """Parse the words of a topology file."""
    dialect = _dialect(words)
    nodes, switch_count, link_count, gpus_per_server = _header(words, dialect)
    switches = _switches(words, nodes, switch_count)
    width = dialect.link_words
    if len(words) < width * link_count:
        lines = "source, target, rate, delay" + (", loss" if width == 5 else "")
        words.findings.fail(
            f"the header announces {link_count} links, but after the switches there are only "
            f"{len(words)} words, and a link has {width} ({lines})",
            words.place(len(words.words)),
        )
    first_link = words.at
    links = tuple(_link(words, dialect, nodes) for _ in range(link_count))
    if words:
        words.warning(
            f"{len(words)} words after the {link_count} links that the header announces: ns-3 "
            "ignores them silently, and so does this import",
            words.at,
        )
    topology = Topology(dialect, nodes, switches, links, gpus_per_server, first_link)
    _check(topology, words)
    return topology


def _dialect(words: Words) -> Dialect:
    first = next((line.split() for line in words.text.splitlines() if line.strip()), [])
    numbers = all(whole(word) is not None for word in first)
    if len(first) == 6:
        return Dialect.FLOODGATE if numbers else Dialect.SIMAI
    return Dialect.POWERTCP if len(first) == 4 and numbers else Dialect.HPCC


def _header(words: Words, dialect: Dialect) -> tuple[int, int, int, int]:
    gpus = 0
    nodes = words.integer("the number of nodes", 2, MAX_NODES)
    if dialect is Dialect.FLOODGATE:
        switches = words.integer("the number of switches", 0, nodes)
        for what in ("hosts per rack", "ToRs", "cores"):
            words.integer(f"the number of {what}")
    elif dialect is Dialect.SIMAI:
        gpus = words.integer("the number of GPUs per server")
        switches = words.integer("the number of NVSwitches", 0, nodes)
        if switches:
            words.warning(
                "NVSwitches become plain switches: SimAI sends traffic inside a server over them "
                "in its own way",
                words.at - 1,
            )
        switches += words.integer("the number of switches", 0, nodes - switches)
    else:
        switches = words.integer("the number of switches", 0, nodes)
        if dialect is Dialect.POWERTCP:
            words.integer("the number of ToRs")
    links = words.integer("the number of links", 0, 4_000_000)
    if dialect is Dialect.SIMAI:
        words.next("the type of GPU")
    return nodes, switches, links, gpus


def _switches(words: Words, nodes: int, count: int) -> tuple[int, ...]:
    seen: dict[int, None] = {}
    for _ in range(count):
        number = words.integer("the number of a switch", 0)
        if number >= nodes:
            words.fail(
                f"the number of a switch is {number}; expected 0 to {nodes - 1}",
                hint="the first line has 3 numbers (HPCC: nodes, switches, links), 4 (PowerTCP: "
                "nodes, switches, ToRs, links), 6 (Floodgate), or 5 and the type of GPU (SimAI)",
            )
        if number in seen:
            words.fail(f"switch {number} is named twice")
        seen[number] = None
    return tuple(seen)


def _link(words: Words, dialect: Dialect, nodes: int) -> Link:
    a = words.integer("one end of a link", 0, nodes - 1)
    b = words.integer("the other end of a link", 0, nodes - 1)
    if a == b:
        words.fail(f"node {a} is linked to itself")
    bare = dialect is Dialect.FLOODGATE
    rate = _gigabits(words) if bare else words.rate("the rate of a link")
    if not _RATES[0] <= rate <= _RATES[1]:
        words.fail(f"a link of {rate} bit/s; expected 1Mbps to 1000Tbps")
    delay = Decimal(1000) * words.number("the delay of a link in ns") if bare else None
    exact = words.time("the delay of a link") if delay is None else delay
    if exact > _MAX_DELAY_PS:
        words.fail("the delay of a link is more than a second")
    delay_ps = _whole_ns(words, exact)
    loss = Decimal(0) if bare else words.number("the loss of a link", "0", "1")
    return Link(a, b, rate, delay_ps, loss)


def _gigabits(words: Words) -> int:
    """Read a rate as a bare number of Gbit/s, or as usual if it has a unit."""
    bare = decimal(words.peek())
    if bare is None:
        return words.rate("the rate of a link")
    words.next("the rate of a link")
    return int(bare * 10**9)


def _whole_ns(words: Words, delay_ps: Decimal) -> int:
    rounded = int(delay_ps) // 1000 * 1000
    if rounded != delay_ps:
        words.warning(
            f"ns-3 counts whole nanoseconds: this delay becomes {rounded // 1000} ns",
            words.at - 1,
            kind="delays that are no whole number of nanoseconds",
        )
    return rounded


def check_paths(topology: Topology, words: Words) -> None:
    """Check that hosts can reach each other. The error shows a link of an unreachable host.

    If links connect hosts directly, the check is skipped.
    """
    hosts, switches = topology.linked_hosts, set(topology.switches)
    if any(switches.isdisjoint((link.a, link.b)) for link in topology.links):
        return  # The check of the scenario reports unreachable pairs.
    around: dict[int, list[int]] = defaultdict(list)
    for link in topology.links:
        around[link.a].append(link.b)
        around[link.b].append(link.a)
    reached, edge = set(hosts[:1]), hosts[:1]
    while edge:
        further = {n for at in edge for n in around[at]} - reached
        reached |= further
        edge = [n for n in further if n in switches]
    apart = [n for n in hosts if n not in reached]
    if not apart:
        return
    first = next(at for at, link in enumerate(topology.links) if apart[0] in (link.a, link.b))
    some = ", ".join(map(str, apart[:5])) + (f" and {len(apart) - 5} more" * (len(apart) > 5))
    words.findings.fail(
        f"no path over switches leads from host {hosts[0]} to {some}; this is a link of host "
        f"{apart[0]}",
        words.place(topology.first_link + topology.dialect.link_words * first),
        "add links so that every host can reach every other over switches",
    )


def _check(topology: Topology, words: Words) -> None:
    findings = words.findings
    pairs = Counter(frozenset((link.a, link.b)) for link in topology.links)
    for pair, count in pairs.items():
        if count > 1:
            a, b = sorted(pair)
            findings.warning(
                f"{words.name}: nodes {a} and {b} have {count} links: ns-3 routes over the last of "
                "them only; here flows are spread over all of them",
                kind="pairs of nodes with several links",
            )
    if host := next((host for host in topology.hosts if host > MAX_HOST), None):
        findings.error(
            f"{words.name}: host {host} has no address of its own in ns-3",
            f"hosts are numbered up to {MAX_HOST}; give the higher numbers to switches",
        )
    for node in sorted(set(range(topology.nodes)) - set(topology.ends())):
        findings.warning(f"node {node} has no link and is left out", kind="nodes without a link")
    if not topology.links:
        findings.error(f"{words.name}: the topology has no link")
