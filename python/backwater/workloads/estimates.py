"""Estimates of workloads with whole messages instead of packets, in a simplified network.

An estimate takes seconds if a packet simulation takes hours. It does not model queues, losses and
flow control. Its accuracy depends on the network that it is given. It is not a lower bound: whole
messages that wait for each other may take longer than packets that share a link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from backwater import _core, workloads
from backwater._base import quantity
from backwater._base.lazy import np, pl
from backwater._base.toml import rate, time
from backwater.errors import RunError, ScenarioError
from backwater.scenario import Scenario

ASSUMED = "loggops:latency=1us,rate=400Gbps"
"""The network if none is given."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The result of an estimate."""

    summary: dict[str, Any]
    """Totals, the end of each rank, and the collectives with their bandwidths."""

    operations: pl.DataFrame | None
    """A row for each operation in the order of their ends, if requested.

    The columns are ``rank``, ``index``, ``kind``, ``peer``, ``bytes``, and the times ``ready_ps``,
    ``start_ps`` and ``end_ps``.
    """

    @property
    def end_ps(self) -> int:
        """Time when the last operation ended, in ps."""
        return int(self.summary["end_ps"])


@dataclass(frozen=True, slots=True)
class Given:
    """The scenario of a workload, and its topology as a network of messages."""

    file: Path
    """The scenario."""

    networks: list[str]
    """Networks for :func:`estimate`. The list is empty if the topology has no equivalent."""


def of_scenario(given: str | Path | Scenario) -> Given:
    """Return the topology of a scenario with one workload as a network of messages.

    All ports of a host's NIC count as one, except with ``ports = "rail"``, where each counts.
    Messages compete only at these ports. GPUs of a server are linked to each other at the rate of
    the scale-up domain. Each GPU is also linked to the GPUs in the same position of other servers.
    A message between GPUs of different servers and positions uses both links, one after the other.
    Latencies are those of the shortest path over one switch.

    Raises ``ScenarioError`` if the scenario is wrong, or does not have exactly one workload.
    """
    scenario = Scenario(given)
    values = scenario.values
    found = values.get("workload", [])
    if len(found) != 1:
        names = ", ".join(one["name"] for one in found) or "none"
        raise ScenarioError(
            f"{scenario.source}: an estimate takes a scenario with one [[workload]], but this one "
            f"has {len(found)} ({names}); leave one of them in a copy of the scenario"
        )
    work = found[0]
    packed = work["placement"] == "packed"
    by_rail = work.get("ports") == "rail"
    if "file" in work:
        ranks = int(workloads.header(work["file"])["ranks"])
    else:
        ranks = int(work.get("ranks") or scenario.thresholds()["hosts"])
    networks = _networks(values["topology"], ranks, by_rail) if packed else []
    return Given(scenario.path, networks)


class _Link(NamedTuple):
    rate_bps: int
    delay_ps: int
    switch: str = ""


def _networks(topology: Mapping[str, Any], ranks: int, by_rail: bool) -> list[str]:
    """Return the network of ranks that are placed on the first hosts of a topology, in order."""
    if topology["kind"] == "links":
        hosts = _links_of_hosts(topology)[:ranks]
    else:
        ports = int(topology.get("nic_ports", 2 if topology["kind"] == "dual-homed" else 1))
        hosts = [[_link(topology["link"])] * ports for _ in range(ranks)]
        if "scale_up" in topology:
            inside = _link(topology["scale_up"])
            for rank, links in enumerate(hosts):
                server = rank // int(topology["gpus_per_server"])
                links.append(inside._replace(switch=f"server {server}"))
    size = _servers(hosts)
    if size is None:
        ports = min(len(links) for links in hosts)
        if by_rail and ports > 1:
            return [f"loggops:{_terms([links[:1] for links in hosts])},nics={ports}"]
        return [f"loggops:{_terms(hosts)},nics=1"]
    if ranks % size:
        return []
    fastest_first = [sorted(links, reverse=True) for links in hosts]
    dimensions = [
        (size, [links[:1] for links in fastest_first]),
        (ranks // size, [links[1:] for links in fastest_first]),
    ]
    return [
        f"fully-connected:size={count},{_terms(ports)}" for count, ports in dimensions if count > 1
    ]


def _terms(hosts: Sequence[Sequence[_Link]]) -> str:
    """Return the rate of the fastest host and the latency of the shortest path, as options.

    The path has one switch. The text is such as ``rate=400Gbps,latency=1us``.
    """
    rate_bps = max(sum(link.rate_bps for link in links) for links in hosts)
    delay_ps = min(link.delay_ps for links in hosts for link in links)
    return f"rate={rate(rate_bps)},latency={time(2 * delay_ps)}"


def _servers(hosts: Sequence[Sequence[_Link]]) -> int | None:
    """Return how many consecutive hosts share the switch of a server; None if they do not.

    Such a switch is at the end of a host's fastest link, if only one link has this rate.
    """
    switches: list[str] = []
    for links in hosts:
        fastest = sorted(links, reverse=True)
        if len(fastest) < 2 or fastest[0].rate_bps == fastest[1].rate_bps:
            return None
        switches.append(fastest[0].switch)
    size = switches.count(switches[0])
    same = [switches[at // size * size] == switch for at, switch in enumerate(switches)]
    return size if all(same) else None


def _links_of_hosts(topology: Mapping[str, Any]) -> list[list[_Link]]:
    """Return the links of each host of a list of links."""
    hosts = topology["hosts"]
    names = [f"h{number}" for number in range(hosts)] if isinstance(hosts, int) else hosts
    found: dict[str, list[_Link]] = {name: [] for name in names}
    for link in topology["links"]:
        for end, other in ((link["a"], link["b"]), (link["b"], link["a"])):
            if end in found:
                found[end].append(_link(link)._replace(switch=other))
    return list(found.values())


def _link(words: Mapping[str, Any]) -> _Link:
    rate, delay = quantity.parse(words["rate"]), quantity.parse(words["delay"])
    assert rate is not None
    assert delay is not None
    return _Link(int(rate.value), int(delay.value))


def estimate(
    given: str | Path | Scenario, networks: Sequence[str] = (), record: bool = False
) -> Estimate:
    """Estimate how long the workload in a file, or that of a scenario, takes.

    ``networks`` has one text such as ``loggops:latency=1us,rate=400Gbps``, or one for each
    dimension such as ``ring:size=8,rate=400Gbps,latency=500ns`` (also ``switch``,
    ``fully-connected``). The default is the network of the scenario (:func:`of_scenario`), or
    :data:`ASSUMED`. With ``record`` the operations are returned too.

    Raises ``ScenarioError`` if the file or the network is wrong, and ``RunError`` if operations
    wait for each other in a cycle.
    """
    if not isinstance(given, Scenario) and str(given).endswith(".toml"):
        given = Scenario(given)
    if isinstance(given, Scenario):
        networks = networks or of_scenario(given).networks
        work: _core.Scenario | str = given.loaded()
    else:
        work = str(given)
    summary, columns = _core.estimate(work, list(networks) or [ASSUMED], record)
    return Estimate(json.loads(summary), _frame(columns) if record else None)


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    kinds = pl.Series(columns["kinds"], dtype=pl.String)
    numbers = {
        name: np.frombuffer(columns[name], dtype="<u8" if name == "bytes" else "<u4")
        for name in ("rank", "index", "peer", "bytes")
    }
    times = {
        name: np.frombuffer(columns[name], dtype="<u8")
        for name in ("ready_ps", "start_ps", "end_ps")
    }
    codes = pl.Series(np.frombuffer(columns["kind"], dtype="u1"))
    frame = pl.DataFrame({**numbers, **times})
    peer = pl.when(pl.col("peer") != 2**32 - 1).then("peer").alias("peer")
    return frame.with_columns(peer, kinds.gather(codes).alias("kind")).select(
        "rank", "index", "kind", "peer", "bytes", "ready_ps", "start_ps", "end_ps"
    )


def write_operations(found: Estimate, path: Path) -> None:
    """Write the operations as CSV, or as Parquet if the name ends in ``.parquet``.

    Raises ``RunError`` if the file cannot be written.
    """
    assert found.operations is not None
    try:
        if path.suffix == ".parquet":
            found.operations.write_parquet(path)
        else:
            found.operations.write_csv(path)
    except OSError as error:
        raise RunError(f"{path}: cannot write: {error.strerror}", error.errno) from error
