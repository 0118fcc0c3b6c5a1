"""Fat trees of htsim: `.topo` files.

::

    Nodes 16
    Tiers 2
    Podsize 16
    Tier 0
    Downlink_speed_Gbps 400
    Radix_Down 4
    Radix_Up 4
    Queue_Up 1000000
    Queue_Down 1000000
    Downlink_Latency_ns 1000
    Tier 1
    ...

Tier 0 are the ToRs. Upper and lower case are equal in names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backwater.importers.common.source import Findings, Words, lines_of, meant, shown

_HEADER = {"nodes": "Nodes", "tiers": "Tiers", "podsize": "Podsize"}
_VALUES = {
    "downlink_speed_gbps": ("rate_gbps", 1, 10**6),
    "radix_down": ("down", 1, 4096),
    "radix_up": ("up", 1, 4096),
    "queue_up": ("queue_up", 1, 2**40),
    "queue_down": ("queue_down", 1, 2**40),
    "oversubscribed": ("oversubscribed", 1, 4096),
    "bundle": ("bundle", 1, 4096),
    "switch_latency_ns": ("switch_ns", 0, 10**9),
    "downlink_latency_ns": ("link_ns", 1, 10**9),
}
"""Keys of a tier, each with its field of `Tier`, its lowest and its highest value."""
_UPWARD = ("radix_up", "queue_up")
_NEEDED = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")


@dataclass(slots=True)
class Tier:
    """Switches of one level, and the links below them."""

    line: Words
    lines: dict[str, Words] = field(default_factory=dict)
    """The lines of the keys that the file has."""
    rate_gbps: int = 0
    link_ns: int = 0
    """Delay of the links, in ns."""
    switch_ns: int = 0
    """Additional latency of a packet in each switch."""
    down: int = 0
    """Number of links downwards of each switch."""
    up: int = 0
    """Number of links upwards of each switch; 0 at the top."""
    bundle: int = 1
    """Number of parallel links to each switch or host below."""
    oversubscribed: int = 1
    queue_up: int = 0
    queue_down: int = 0

    @property
    def rate_bps(self) -> int:
        """Rate of the links, in bit/s."""
        return self.rate_gbps * 10**9


@dataclass(frozen=True, slots=True)
class FatTree:
    """The contents of a topology file, with the numbers of switches that follow from them."""

    name: str
    nodes: int
    pods: int
    tors_per_pod: int
    aggs_per_pod: int
    cores: int
    """Number of core switches; 0 with two tiers."""
    tiers: tuple[Tier, ...]


def parse(name: str, lines: list[str], findings: Findings) -> FatTree:
    """Read the lines of a topology."""
    header: dict[str, int] = {}
    tiers: dict[int, Tier] = {}
    tier: Tier | None = None
    line = Words(name, "", findings, 1)
    for line in lines_of(name, lines, findings):
        if not line or line.words[0].startswith("#"):
            continue
        word = line.next("a name")
        key = word.lower()
        if key == "tier":
            which = line.integer("the tier", 0, header.get("tiers", 3) - 1)
            if which in tiers:
                line.fail(f"tier {which} comes twice")
            tier = tiers[which] = Tier(line)
        elif key in _HEADER and tier is None:
            if key in header:
                line.fail(f"`{_HEADER[key]}` is given twice")
            low, high = (2, 3) if key == "tiers" else (1, 1 << 20)
            header[key] = line.integer(f"`{_HEADER[key]}`", low, high)
        elif key in _VALUES and tier is not None:
            _value(line, key, tier)
        else:
            known = list(_VALUES) if tier else [*_HEADER, "tier"]
            line.fail(
                f"{shown(word)} does not belong here",
                None,
                meant(key, known) or f"expected one of {', '.join(known)}",
            )
        line.end()
    for key, shown_as in _HEADER.items():
        if key not in header:
            line.fail(f"the file has no `{shown_as}`", line.at)
    return _tree(name, header, tiers, line)


def _value(line: Words, key: str, tier: Tier) -> None:
    if key in tier.lines:
        line.fail(f"{line.words[0]} is given twice for this tier", 0)
    name, low, high = _VALUES[key]
    setattr(tier, name, line.integer(line.words[0], low, high))
    tier.lines[key] = line


def _tree(name: str, header: dict[str, int], tiers: dict[int, Tier], end: Words) -> FatTree:
    count, nodes, podsize = header["tiers"], header["nodes"], header["podsize"]
    for number in range(count):
        if number not in tiers:
            end.fail(f"the file has no `Tier {number}`", end.at)
        tier, top = tiers[number], number == count - 1
        needed = _NEEDED if top else (*_NEEDED, "radix_up")
        for key in needed:
            if key not in tier.lines:
                tier.line.fail(f"tier {number} has no {key}", 0)
        for key in _UPWARD if top else ():
            if key in tier.lines:
                tier.lines[key].fail("the top tier has no links upwards", 0)
    levels = tuple(tiers[number] for number in range(count))
    tor, agg = levels[0], levels[1]
    if tor.bundle != 1:
        tor.lines["bundle"].fail("hosts have one link each: the bundle of tier 0 is 1", 1)
    if nodes % podsize or podsize % tor.down:
        end.fail(
            f"{nodes} nodes do not fill pods of {podsize} with ToRs of {tor.down} hosts each",
            end.at,
        )
    pods = nodes // podsize
    if count == 2 and pods != 1:
        end.fail(f"in two tiers all nodes are one pod: `Podsize` should be {nodes}", end.at)
    tors = podsize // tor.down
    _split(tor, 0, agg, tors)
    aggs = tor.up // agg.bundle
    cores = 0
    if count == 3:
        core = levels[2]
        _split(agg, 1, core, pods)
        cores = agg.up // core.bundle * aggs
    for number, tier in enumerate(levels[:-1]):
        _check_oversubscription(tier, number, levels[number + 1])
    return FatTree(name, nodes, pods, tors, aggs, cores, levels)


def _split(lower: Tier, number: int, upper: Tier, members: int) -> None:
    """Check that the links upwards of a tier match the links downwards of the next tier."""
    if lower.up % upper.bundle:
        lower.lines["radix_up"].fail(
            f"tier {number} has {lower.up} links upwards, which bundles of {upper.bundle} do not "
            "share out",
            1,
        )
    if upper.down != members * upper.bundle:
        bundles = f" in bundles of {upper.bundle}" if upper.bundle > 1 else ""
        below = f"{members} {'ToRs of its pod' if number == 0 else 'pods'}"
        upper.lines["radix_down"].fail(
            f"tier {number + 1} has {upper.down} links downwards to {below}{bundles}: expected "
            f"{members * upper.bundle}",
            1,
        )


def _check_oversubscription(tier: Tier, number: int, upper: Tier) -> None:
    if tier.down * tier.rate_bps != tier.oversubscribed * tier.up * upper.rate_bps:
        ratio = tier.down * tier.rate_bps / (tier.up * upper.rate_bps)
        place = tier.lines.get("oversubscribed", tier.line)
        place.fail(
            f"tier {number} is oversubscribed {ratio:g}:1, but the file says "
            f"{tier.oversubscribed}:1",
            0,
            "htsim would stop here",
        )
