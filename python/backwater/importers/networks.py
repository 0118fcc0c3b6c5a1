"""The network of an imported scenario: from a file, or a network without bottlenecks."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from backwater._base.toml import number, rate, time, toml
from backwater.importers.astra.system import Dimension
from backwater.importers.common.source import Findings, Words, read_text, shown
from backwater.importers.common.source import rate_bps as read_rate
from backwater.importers.htsim import topology as htsim_topology
from backwater.importers.htsim.matrix import Failure
from backwater.importers.htsim.topology import FatTree
from backwater.importers.ns3 import topology as ns3_topology
from backwater.workloads import parallel_groups

DEFAULT_RATE_BPS = 400 * 10**9
DEFAULT_DELAY_PS = 10**6

DEFAULT_BUFFER_BYTES = 12 * 10**6
"""Default buffer of a switch in a scenario."""

_LARGEST_BUFFER_BYTES = 4 * 10**9
_FRAMES_BYTES = 4 * 9216
"""Bytes that may arrive after a pause in addition to the link's round trip: four large frames."""

_HTSIM_KEYS = {"nodes", "tiers", "podsize", "tier"}


@dataclass(slots=True)
class Network:
    """A topology as the lines of its table, with facts about it."""

    hosts: int
    lines: list[str]
    gpus_per_server: int = 0
    """GPUs per server; 0 if unknown."""
    fat_tree: FatTree | None = None
    note: str = ""
    """A note for the user."""
    failures: list[str] = field(default_factory=list)
    """Links that are down."""
    widest_bytes: int = 0
    """Buffer that the largest switch needs (see `port_bytes`)."""
    source: str = ""
    """The file with the topology, if there is one."""
    host_ports: int | None = None
    """Minimum number of ports of a host; ``None`` if only a check of the scenario shows it."""

    def fastest_bps(self) -> int:
        """Return the rate of the fastest link, in bit/s; 0 if no rate can be read."""
        rates = re.findall(r'\brate = "(.*?)"', "\n".join(self.lines))
        return max((read_rate(word.replace(" ", "")) or 0 for word in rates), default=0)

    def switch(self) -> list[str]:
        """Return the lines of the table ``[switch]``; no lines if the default buffer is sufficient.

        With the default buffer, large switches would refuse schemes that reserve headroom for each
        port.
        """
        if self.widest_bytes <= DEFAULT_BUFFER_BYTES:
            return []
        million = -(-min(self.widest_bytes, _LARGEST_BUFFER_BYTES) // 10**6)
        return [
            "# Twice the headroom of all ports of the widest switch.",
            "[switch]",
            f'buffer = "{million}MB"',
        ]


def port_bytes(rate_bps: int, delay_ps: int) -> int:
    """Return the buffer that a port needs, in bytes: twice the bytes that arrive after a pause."""
    return 2 * (2 * rate_bps * delay_ps // (8 * 10**12) + _FRAMES_BYTES)


def table(values: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table ``[topology]`` with one line per key."""
    return ["[topology]", *(f"{key} = {toml(value)}" for key, value in values.items())]


def linked(
    hosts: Iterable[object],
    switches: Iterable[object],
    edges: Iterable[tuple[object, object, Mapping[str, Any]]],
    comment: str = "",
) -> list[str]:
    """Return the lines of the table ``[topology]`` for a network whose links are listed.

    Each of ``edges`` is a link: two nodes, and the keys of the link such as rate and delay.
    """
    return [
        *table({"kind": "links", "hosts": [*map(str, hosts)], "switches": [*map(str, switches)]}),
        *([f"# {comment}"] if comment else []),
        "links = [",
        *(f"    {toml({'a': str(a), 'b': str(b), **kind})}," for a, b, kind in edges),
        "]",
    ]


def link(rate_bps: int, delay_ps: int, loss: Decimal = Decimal(0)) -> dict[str, Any]:
    """Return the keys of a link in a scenario: rate, delay and, if it is not 0, loss."""
    lost = {"loss": number(loss)} if loss > 0 else {}
    return {"rate": rate(rate_bps), "delay": time(delay_ps), **lost}


def non_blocking(hosts: int, nics: int = 1) -> Network:
    """Return the default network of an import.

    All hosts are on one switch. With several NICs per host there is one switch for each NIC.
    """
    switches = "one switch" if nics == 1 else f"{nics} switches, one for each NIC of a host,"
    note = (
        f"no network is given: {hosts} hosts on {switches} with links of "
        f"{rate(DEFAULT_RATE_BPS)} and {time(DEFAULT_DELAY_PS)} are assumed; set it by --topology, "
        "or by --set topology.link.rate=100Gbps and the like"
    )
    return replace(_default({}, hosts, nics), note=note)


def _default(given: dict[str, Any], hosts: int, nics: int) -> Network:
    """Return the default network with changed keys. Each NIC of a host has its own switch."""
    wide = hosts * port_bytes(DEFAULT_RATE_BPS, DEFAULT_DELAY_PS)
    inner = given.get("link", {})
    kind = link(DEFAULT_RATE_BPS, DEFAULT_DELAY_PS) | inner if isinstance(inner, dict) else inner
    values: dict[str, Any] = {"kind": "star", "hosts": hosts, **given, "link": kind}
    count = values["hosts"]
    plain = set(given) <= {"hosts", "link"} and isinstance(inner, dict) and type(count) is int
    if nics == 1 or not plain:
        return Network(hosts, table(values), widest_bytes=wide, host_ports=1)
    named, switches = [f"h{host}" for host in range(count)], [f"nic{nic}" for nic in range(nics)]
    edges = ((host, nic, kind) for host in named for nic in switches)
    lines = linked(
        named, switches, edges, "Each NIC of a host has a port of its own, in their order."
    )
    return Network(count, lines, widest_bytes=wide, host_ports=nics)


def of_sets(sets: list[str], hosts: int, findings: Findings, nics: int = 1) -> Network:
    """Return the network that the user describes by keys of a scenario.

    Without ``topology.kind`` the keys change the default network.
    """
    values: dict[str, Any] = {}
    for text in sets:
        key, _, value = text.partition("=")
        path = [part.strip() for part in key.split(".")]
        if path[0] != "topology" or not 2 <= len(path) <= 3 or not value.strip() or "" in path:
            findings.fail(
                f"--set {text}: expected a key of the topology and its value",
                None,
                "such as --set topology.link.rate=100Gbps; change other keys in the scenario, or "
                "by `backwater run --set`",
            )
        inner = values
        if len(path) == 3:
            inner = values.setdefault(path[1], {})
            if not isinstance(inner, dict):
                findings.fail(f"--set {text}: {path[1]} has a value already")
        inner[path[-1]] = _toml_value(value.strip())
    if "kind" not in values:
        return _default(values, hosts, nics)
    # The check of the scenario reports it if there are too few hosts.
    star = values["kind"] == "star"
    wide = hosts * port_bytes(DEFAULT_RATE_BPS, DEFAULT_DELAY_PS) if star else 0
    return Network(hosts, table(values), widest_bytes=wide)


def _toml_value(word: str) -> Any:
    """Return the value of a TOML text; other words are texts themselves."""
    try:
        return tomllib.loads(f"x = {word}", parse_float=Decimal)["x"] if "\n" not in word else word
    except tomllib.TOMLDecodeError:
        return word


def of_file(path: Path, findings: Findings) -> Network:
    """Read a topology of htsim, SimAI, or HPCC's simulator. The first word shows the format."""
    text = read_text(path, findings, "topology")
    first = next(
        (x.split()[0] for x in text.splitlines() if x.strip() and not x.lstrip().startswith("#")),
        "",
    )
    if first.lower() in _HTSIM_KEYS:
        tree = htsim_topology.parse(str(path), text.splitlines(), findings)
        return replace(of_fat_tree(tree, findings), source=str(path))
    if not first.isdigit():
        findings.fail(
            f"{path} is no topology that can be read: it begins with {shown(first)}",
            None,
            "expected a .topo file of htsim, or a topology of SimAI or HPCC's simulator",
        )
    words = Words(str(path), text, findings)
    topology = ns3_topology.parse(words)
    findings.stop_if_wrong()
    ns3_topology.check_paths(topology, words)
    return replace(of_links(topology), source=str(path))


# --- htsim ---------------------------------------------------------------------------------------


def of_fat_tree(tree: FatTree, findings: Findings) -> Network:
    """Return the network of a fat tree of htsim.

    In htsim a switch delays each packet by a fixed time. Here half of it is added to each link of
    the switch, which gives the same sum on every path.
    """
    levels = tree.tiers
    half = [0, *(tier.switch_ns * 500 for tier in levels)]
    kinds = [
        (tier.rate_bps, tier.link_ns * 1000 + below + own)
        for tier, below, own in zip(levels, half, half[1:], strict=False)
    ]
    each = [*(port_bytes(*kind) for kind in kinds), 0]
    widest = max(t.down * each[n] + t.up * each[n + 1] for n, t in enumerate(levels))
    if any(tier.queue_up or tier.queue_down for tier in levels):
        findings.warning(
            f"{tree.name}: Queue_Up and Queue_Down are not imported: ports share the buffer of "
            "their switch here (switch.buffer)"
        )
    if any(tier.bundle > 1 for tier in levels):
        lines = _bundled(tree, kinds)
        return Network(tree.nodes, lines, fat_tree=tree, widest_bytes=widest, host_ports=1)
    sizes = {"tors_per_pod": tree.tors_per_pod, "aggs_per_pod": tree.aggs_per_pod}
    values: dict[str, Any] = {"kind": "clos", "pods": tree.pods, **sizes, "cores": tree.cores}
    names = ["hosts_per_tor", "link", "agg_link", "core_link"]
    if not tree.cores:
        values = {"kind": "leaf-spine", "leaves": tree.tors_per_pod, "spines": tree.aggs_per_pod}
        names = ["hosts_per_leaf", "link", "uplink"]
    below = [levels[0].down, *(link(*kind) for kind in kinds)]
    lines = table(values | dict(zip(names, below, strict=True)))
    return Network(tree.nodes, lines, fat_tree=tree, widest_bytes=widest, host_ports=1)


def _bundled(tree: FatTree, kinds: list[tuple[int, int]]) -> list[str]:
    """Return the links of a fat tree one by one, for trees with parallel links between switches.

    Nodes have the names and the order of `leaf-spine` and `clos`. ``kinds`` are rate and delay of
    the links below each tier.
    """
    tors = tree.pods * tree.tors_per_pod
    aggs = tree.pods * tree.aggs_per_pod
    tor, agg = ("tor", "agg") if tree.cores else ("leaf", "spine")
    per_tor = tree.tiers[0].down
    edges = [(f"host{h}", f"{tor}{h // per_tor}", 0) for h in range(tree.nodes)]
    for t, a in product(range(tors), range(tree.aggs_per_pod)):
        above = t // tree.tors_per_pod * tree.aggs_per_pod + a
        edges += [(f"{tor}{t}", f"{agg}{above}", 1)] * tree.tiers[1].bundle
    share = tree.cores // tree.aggs_per_pod
    for a, c in product(range(aggs), range(share)):
        above = a % tree.aggs_per_pod * share + c
        edges += [(f"agg{a}", f"core{above}", 2)] * tree.tiers[2].bundle
    switches = [
        *(f"{tor}{t}" for t in range(tors)),
        *(f"{agg}{a}" for a in range(aggs)),
        *(f"core{c}" for c in range(tree.cores)),
    ]
    links = [link(*kind) for kind in kinds]
    hosts = (f"host{h}" for h in range(tree.nodes))
    return linked(hosts, switches, ((a, b, links[kind]) for a, b, kind in edges))


def fail_links(network: Network, failures: list[Failure], findings: Findings) -> None:
    """Add failed links to a network. htsim identifies them by a switch and the link's number."""
    if not failures:
        return
    tree = network.fat_tree
    if tree is None:
        failures[0].line.fail(
            "a failure names a switch of a fat tree, but the topology is not given",
            0,
            "give the .topo file with --topology",
        )
    if any(tier.bundle > 1 for tier in tree.tiers):
        failures[0].line.fail("links of bundles have no numbers of their own in htsim", 0)
    counts = Counter(_failed(tree, failure) for failure in failures)
    for name, count in counts.items():
        if count > 1:
            findings.warning(f"the link {name} fails {count} times, which is as once")
    network.failures = list(counts)


def _failed(tree: FatTree, failure: Failure) -> str:
    """Return the name of a failed link: an uplink of a switch, or a core's link to a pod."""
    three = bool(tree.cores)
    share = tree.cores // tree.aggs_per_pod if three else 0
    switch, at = failure.switch_id, failure.link_id
    tors, aggs = tree.pods * tree.tors_per_pod, tree.pods * tree.aggs_per_pod
    have = {"TOR": (tors, tree.aggs_per_pod), "AGG": (aggs, share), "CORE": (tree.cores, tree.pods)}
    switches, links = have[failure.switch]
    if switch >= switches:
        failure.line.fail(f"there are {switches} switches {failure.switch}, numbered from 0", 0)
    if at >= links:
        what = "links" if failure.switch == "CORE" else "links upwards"
        failure.line.fail(f"a switch {failure.switch} has {links} {what}, numbered from 0", 0)
    if failure.switch == "TOR" and not three:
        return f"leaf{switch}--spine{at}"
    if failure.switch == "TOR":
        return f"tor{switch}--agg{switch // tree.tors_per_pod * tree.aggs_per_pod + at}"
    if failure.switch == "AGG":
        return f"agg{switch}--core{switch % tree.aggs_per_pod * share + at}"
    # In htsim, core c is linked to aggregation switch c mod n of each pod. It is the uplink c div n
    # of that switch.
    position, place = switch % tree.aggs_per_pod, switch // tree.aggs_per_pod
    return f"agg{at * tree.aggs_per_pod + position}--core{position * share + place}"


# --- Links one by one ----------------------------------------------------------------------------


def of_links(topology: ns3_topology.Topology) -> Network:
    """Return the network of a file of SimAI, or of HPCC's simulator."""
    ends, hosts = topology.ends(), topology.linked_hosts
    switches = (n for n in topology.switches if n in ends)
    edges = ((e.a, e.b, link(e.rate_bps, e.delay_ps, e.loss)) for e in topology.links)
    wide = _widest((str(e.a), str(e.b), e.rate_bps, e.delay_ps) for e in topology.links)
    return Network(
        len(hosts),
        linked(hosts, switches, edges),
        topology.gpus_per_server,
        widest_bytes=wide,
        host_ports=min(ends[host] for host in hosts),
    )


def _widest(links: Iterable[tuple[str, str, int, int]]) -> int:
    """Return the largest buffer, in bytes, that a node at these links needs."""
    needs: Counter[str] = Counter()
    for a, b, rate_bps, delay_ps in links:
        each = port_bytes(rate_bps, delay_ps)
        needs[a] += each
        needs[b] += each
    return max(needs.values(), default=0)


# --- ASTRA-sim -----------------------------------------------------------------------------------


def of_dimensions(dimensions: list[Dimension]) -> Network:
    """Return the network of ASTRA-sim's analytical model.

    A single switch is a star. In all other networks ranks forward messages of others. Therefore
    each rank is a host with its own switch. The link between them has no delay, and the rate of all
    dimensions together.
    """
    ranks = prod(d.ranks for d in dimensions)
    if len(dimensions) == 1 and dimensions[0].block == "Switch":
        only = dimensions[0]
        values = {"kind": "star", "hosts": ranks, "link": link(only.rate_bps, only.latency_ps)}
        wide = ranks * port_bytes(only.rate_bps, only.latency_ps)
        return Network(ranks, table(values), widest_bytes=wide)
    total = sum(d.rate_bps for d in dimensions if d.ranks > 1) or DEFAULT_RATE_BPS
    edges = [(f"h{rank}", f"n{rank}", total, 0) for rank in range(ranks)]
    shared: list[str] = []
    degrees = {f"dim{d}": dimension.ranks for d, dimension in enumerate(dimensions)}
    for name, dimension in zip(degrees, dimensions, strict=True):
        kind = dimension.rate_bps, dimension.latency_ps
        for count, group in enumerate(parallel_groups(degrees, [name]).values()):
            if dimension.block == "Switch" and len(group) > 1:
                shared.append(f"{name}-switch{count}")
                edges += [(f"n{rank}", shared[-1], *kind) for rank in group]
            else:
                edges += [(f"n{a}", f"n{b}", *kind) for a, b in _pairs(dimension.block, group)]
    lines = linked(
        (f"h{rank}" for rank in range(ranks)),
        [*(f"n{rank}" for rank in range(ranks)), *shared],
        ((a, b, link(bps, delay_ps)) for a, b, bps, delay_ps in edges),
        "Each host has a switch of its own, because ranks forward what is for others.",
    )
    return Network(ranks, lines, widest_bytes=_widest(edges))


def _pairs(block: str, group: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of ranks of a group that are linked to each other."""
    if len(group) < 2:
        return []
    if block == "FullyConnected":
        return [(a, b) for a, b in product(group, group) if a < b]
    ring = list(zip(group, [*group[1:], group[0]], strict=True))
    return ring[:1] if len(group) == 2 else ring
