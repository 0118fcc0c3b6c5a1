"""Exports the results of a run as files for ns-3's analysis scripts.

Lines have the format of HPCC's simulator. `fct.txt` has flows in the order of their ends, and
`pfc.txt` has pauses in the order of their arrival. `qlen.txt` corresponds to the last histogram of
the simulator. `topology.txt` and `flow.txt` are equivalent inputs of the simulator.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from backwater._base import quantity
from backwater._base.files import whole
from backwater._base.lazy import pl
from backwater.errors import InputError
from backwater.importers.ns3.flows import DATA_GROUP, DEFAULT_PORT, INCAST_PORT, MAX_SIZE
from backwater.importers.ns3.topology import MAX_HOST
from backwater.results.files import RunFiles
from backwater.running.directories import claim_export

FIRST_SPORT = 10_000
MAX_GROUP = 7
"""Highest priority group of ns-3's devices."""
HEADER_BYTES = 48
"""Header bytes per packet in ns-3's ideal completion time: a header without INT."""

_FILES = ("topology.txt", "flow.txt", "fct.txt", "pfc.txt", "qlen.txt")
HISTOGRAM = "queue_histogram.parquet"
_NS = 1000
_WORD = 2**64


@dataclass(slots=True)
class Exported:
    """The written files, and notes about data that could not be written."""

    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def export_ns3(run: RunFiles, out: Path, force: bool = False) -> Exported:
    """Write the results of a run into a folder, in the formats of ns-3.

    `qlen.txt` is written only if the run has a histogram of queues.
    """
    network = Network(run)
    result = Exported()
    claim_export(out, _FILES, force)
    flows = _FctFile(run, network)
    _write(out / "topology.txt", network.topology_lines(), result)
    _write(out / "flow.txt", flows.inputs(), result)
    _write(out / "fct.txt", flows.lines(), result)
    _write(out / "pfc.txt", _pfc_lines(run, network), result)
    _qlen(run, network, out / "qlen.txt", result)
    result.notes += flows.notes
    if run.partial:
        result.notes.append("the run was interrupted: the files have its first part")
    return result


def _write(path: Path, lines: Iterator[str], result: Exported) -> None:
    with whole(path) as part, part.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)
    result.files.append(path)


class Network:
    """The network of a run, with the node numbers of ns-3."""

    def __init__(self, run: RunFiles) -> None:
        self.resolved: dict[str, Any] = _toml(run)
        self.epoch_ps = _quantity(self.resolved.get("run", {}).get("epoch", "0us"))
        self.mtu = _quantity(self.resolved["scheme"]["mtu"])
        names: dict[int, str] = {}
        self._ports: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
        hosts = set()
        host_tier = run.summary["tiers"][0]
        columns = ("node", "name", "tier", "port", "peer", "rate_bps", "delay_ps")
        for node, name, tier, port, peer, rate, delay in (
            run.table("ports").select(columns).iter_rows()
        ):
            names[node] = name
            self._ports[node].append((port, peer, rate, delay))
            if tier == host_tier:
                hosts.add(node)
        for ports in self._ports.values():
            ports.sort()
        self.hosts = hosts
        self.names = names
        self.numbers = _numbers(names)
        self._from: dict[int, dict[int, tuple[int, int, int]]] = {}

    @cached_property
    def switch_ports(self) -> list[tuple[int, int]]:
        """All ports of switches as (node, port), in the order of ns-3's node numbers."""
        switches = [n for n in self._ports if n not in self.hosts]
        ordered = sorted(switches, key=lambda n: self.numbers[n])
        return [(node, port) for node in ordered for port, _, _, _ in self._ports[node]]

    def topology_lines(self) -> Iterator[str]:
        """Yield the lines of `topology.txt`.

        Nodes without links count, so that numbers are unchanged.
        """
        links = list(self._links())
        switches = [n for n in self._ports if n not in self.hosts]
        yield f"{max(self.numbers.values()) + 1} {len(switches)} {len(links)}"
        yield " ".join(str(self.numbers[n]) for n in sorted(switches))
        for a, b, rate, delay, loss in links:
            yield f"{a} {b} {rate}bps {Decimal(delay) / _NS:f}ns {loss:f}"

    def _links(self) -> Iterator[tuple[int, int, int, int, Decimal]]:
        """Yield all links. Listed links keep their order, which determines the port numbers."""
        listed = self.resolved["topology"].get("links")
        if listed is None:
            for node, ports in self._ports.items():
                for _, peer, rate, delay in ports:
                    if node < peer:
                        yield self.numbers[node], self.numbers[peer], rate, delay, Decimal(0)
            return
        nodes = {name: node for node, name in self.names.items()}
        for link in listed:
            a, b = nodes[link["a"]], nodes[link["b"]]
            rate, delay = next((r, d) for _, peer, r, d in self._ports[a] if peer == b)
            loss = Decimal(str(link.get("loss", 0)).rstrip("%"))
            share = loss / 100 if str(link.get("loss", "")).endswith("%") else loss
            yield self.numbers[a], self.numbers[b], rate, delay, share

    def address(self, node: int) -> str:
        """Return the address of a host in ns-3's notation."""
        number = self.numbers[node]
        return f"{0x0B000001 + (number // 256 << 16) + (number % 256 << 8):08x}"

    def pair(self, src: int, dst: int) -> tuple[int, int]:
        """Return base RTT (ns) and slowest link (bit/s) between two hosts, as in ns-3."""
        if dst not in self._from:
            self._from[dst] = self._search(dst)
        delay_ns, serialisation_ns, rate = self._from[dst][src]
        return 2 * delay_ns + serialisation_ns, rate

    def standalone_ns(self, src: int, dst: int, size: int) -> int:
        """Return the completion time of a flow alone, by ns-3's formula including its overflows."""
        base, rate = self.pair(src, dst)
        packets = (size - 1) // self.mtu + 1
        wire = (size + packets * HEADER_BYTES) % 2**32
        return base + wire * 8 * 10**9 % _WORD // rate

    def _search(self, root: int) -> dict[int, tuple[int, int, int]]:
        """Return delay, serialisation of one packet and slowest rate from every node to a host."""
        found = {root: (0, 0, _WORD)}
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            delay, serialisation, slowest = found[node]
            for _, peer, rate, link_ps in self._ports[node]:
                if peer in found:
                    continue
                found[peer] = (
                    delay + link_ps // _NS,
                    serialisation + self.mtu * 8 * 10**9 // rate,
                    min(slowest, rate),
                )
                if peer not in self.hosts:
                    waiting.append(peer)
        return found


def _toml(run: RunFiles) -> dict[str, Any]:
    try:
        return tomllib.loads(run.resolved)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{run.path}/resolved.toml: cannot be read ({error})") from error


def _numbers(names: dict[int, str]) -> dict[int, int]:
    """Return the node numbers in ns-3: the names if they are numbers, otherwise the order."""
    read = {n: int(name) for n, name in names.items() if name.isascii() and name.isdigit()}
    plain = all(str(read[n]) == names[n] for n in read)
    if len(read) == len(names) and plain and len(set(read.values())) == len(read):
        return read
    return {node: node for node in names}


def _quantity(text: str) -> int:
    """Return a time in ps or a size in bytes."""
    value = quantity.number(text)
    if value is None:
        raise InputError(f"resolved.toml has a quantity that cannot be read: {text}")
    return int(value)


# --- fct.txt ---------------------------------------------------------------------------------


class _FctFile:
    """Lines for finished flows, in the order of the arrival of their last ACKs."""

    def __init__(self, run: RunFiles, network: Network) -> None:
        self.network = network
        self.notes: list[str] = []
        every = run.table("flows").sort("id")
        if "port" not in every.columns:
            every = every.with_columns(pl.lit(DEFAULT_PORT).alias("port"))
        conventional = (
            pl.when(pl.col("incast") & (pl.col("port") == DEFAULT_PORT))
            .then(INCAST_PORT)
            .otherwise(pl.col("port"))
        )
        before = pl.int_range(pl.len()).over("src", "dst")
        every = every.with_columns(
            conventional.alias("dport"), ((before + FIRST_SPORT) % 2**16).alias("sport")
        )
        self.flows = every.filter(pl.col("acked_ps").is_not_null() & pl.col("finished")).sort(
            "acked_ps", "id"
        )
        self.every = every
        self._look(every)

    def _look(self, every: pl.DataFrame) -> None:
        unfinished = every.height - self.flows.height
        if unfinished:
            self.notes.append(f"fct.txt leaves out {unfinished} flows that did not finish")
        large = int((self.flows["bytes"] > MAX_SIZE).sum())
        if large:
            self.notes.append(f"fct.txt has {large} flows of more than 32 bits, which ns-3 has not")
        if max((self.network.numbers[n] for n in self.network.hosts), default=0) > MAX_HOST:
            self.notes.append(f"hosts above {MAX_HOST} share addresses with others in fct.txt")
        highest = max(every["class"].unique().to_list(), default=0)
        if highest > MAX_GROUP - DATA_GROUP:
            raise InputError(
                f"traffic class {highest} would be priority group {DATA_GROUP + highest}, and ns-3 "
                f"has groups up to {MAX_GROUP}: use classes 0 to {MAX_GROUP - DATA_GROUP}"
            )
        if every["class"].n_unique() > 1:
            self.notes.append(
                f"classes are written as priority groups from {DATA_GROUP} on; ns-3 serves groups "
                "in turns, not one before the other"
            )

    def inputs(self) -> Iterator[str]:
        """Yield the lines of `flow.txt`."""
        numbers, epoch = self.network.numbers, self.network.epoch_ps
        yield str(self.every.height)
        columns = ("src", "dst", "class", "dport", "bytes", "start_ps")
        for src, dst, group, dport, size, start in self.every.select(columns).iter_rows():
            seconds = Decimal(start + epoch) / 10**12
            yield (
                f"{numbers[src]} {numbers[dst]} {DATA_GROUP + group} {dport} {size} {seconds:.12f}"
            )

    def lines(self) -> Iterator[str]:
        network, epoch = self.network, self.network.epoch_ps
        columns = ("src", "dst", "sport", "dport", "bytes", "start_ps", "acked_ps")
        for src, dst, sport, dport, size, start, acked in self.flows.select(columns).iter_rows():
            start_ns = (start + epoch) // _NS
            fct_ns = (acked - start) // _NS
            alone = network.standalone_ns(src, dst, size)
            yield (
                f"{network.address(src)} {network.address(dst)} {sport} {dport} {size} "
                f"{start_ns} {fct_ns} {alone}"
            )


# --- pfc.txt ---------------------------------------------------------------------------------


def _pfc_lines(run: RunFiles, network: Network) -> Iterator[str]:
    """Yield a line for each pause and resume that a node received, in the order of time."""
    end_ps = run.summary["end_ps"]
    events = []
    for row in run.table("pauses").iter_rows(named=True):
        number = network.numbers[row["node"]]
        kind = 0 if row["node"] in network.hosts else 1
        port = row["port"] + 1
        events.append((row["from_ps"], number, kind, port, 1))
        # In older results without the flag, an interval that reaches the end of the run counts as
        # open.
        if not row.get("open", row["to_ps"] >= end_ps):
            events.append((row["to_ps"], number, kind, port, 0))
    events.sort()
    for at, number, kind, port, pause in events:
        yield f"{(at + network.epoch_ps) // _NS} {number} {kind} {port} {pause}"


# --- qlen.txt --------------------------------------------------------------------------------


def _qlen(run: RunFiles, network: Network, path: Path, result: Exported) -> None:
    spec = network.resolved.get("record", {}).get("histogram")
    if spec is None or not (run.path / HISTOGRAM).exists():
        result.notes.append(
            "no qlen.txt: the run has no histogram of queues; request it in the scenario with "
            '[record] histogram = { every = "100ns", bin = "1KB", window = ["0us", "100ms"] }'
        )
        return
    bin_bytes = _quantity(spec["bin"])
    if 1000 % bin_bytes:
        result.notes.append(f"no qlen.txt: its bins are of 1 KB, and the run's of {spec['bin']}")
        return
    _write(path, _qlen_lines(run, network, spec), result)


def _qlen_lines(run: RunFiles, network: Network, spec: dict[str, Any]) -> Iterator[str]:
    window = spec.get("window", ["0ps", f"{run.summary['end_ps']}ps"])
    first, last = (_quantity(text) for text in window)
    every = _quantity(spec["every"])
    counts: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    bins = pl.read_parquet(run.path / HISTOGRAM)
    for node, port, edge, samples in bins.select(
        "node", "port", "bin_bytes", "samples"
    ).iter_rows():
        of_port = counts[node, port]
        of_port[edge // 1000] = of_port.get(edge // 1000, 0) + samples
    # After all data is delivered, all queues stay empty, but ns-3 continues to sample them.
    planned = max(0, -(-(last - first) // every))
    drained = run.summary["ending"] == "drained"
    yield f"time: {(network.epoch_ps + first + (planned - 1) * every) // _NS}"
    for node, port in network.switch_ports:
        of_port = counts[node, port]
        if drained:
            of_port[0] = of_port.get(0, 0) + max(0, planned - sum(of_port.values()))
        row = " ".join(str(of_port.get(kb, 0)) for kb in range(max(of_port, default=0) + 1))
        yield f"{network.numbers[node]} {port + 1} {row}"
