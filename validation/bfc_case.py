"""Cases of the simulator of BFC's authors: a list of flows with their completion times.

A folder contains:

- the list of flows (`flows_fct.csv`),
- the buffers of the switches over time (a CSV with `buffer` in its name),
- `config.txt`,
- the network (`*topology*.csv`), which can also be in the folder above.

All files can be compressed. Only the list of flows is required. Without a network file the network
of the authors is used. Without a buffer file, buffers are not compared. Facts about that simulator:
`specs/bfc-code.md`.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from backwater.errors import InputError, RunError
from validation.lines import lines_of
from validation.observed import (
    INCAST_PORT,
    FlowKey,
    FlowTimes,
    Measured,
    Observed,
    complaints,
)

SIMULATOR = "the simulator of BFC's authors"

PACKET = 1000
"""Size of a full packet in bytes (BFCC-01)."""

_KB = 1000
_EDGES = {
    "W3": tuple(_KB * kb for kb in (1, 2, 4, 8, 16, 64, 256, 1024, 4096)),
    "W4": tuple(_KB * kb for kb in (3, 12, 48, 192, 768, 3072, 12288)),
}
"""Bins of the paper's figures, by the name of the workload in `config.txt`: Google and Facebook."""

_NAMES = {
    "src": ("src", "source"),
    "dst": ("dst", "destination"),
    "bytes": ("size_bytes", "bytes", "size"),
    "packets": ("npkts", "packets", "pkts"),
    "start": ("start_ns",),
    "fct": ("snd_fct_ns", "fct_ns"),
    "alone": ("base_ns",),
    "incast": ("incast", "is_incast"),
}
"""Accepted names of each column of a list of flows."""

_NEEDED = ("src", "dst", "bytes", "start", "fct")
_DEFAULT_QUEUES = 36
_NOT_FOR_DATA = 4
"""Number of the authors' queues (QCOUNT) that `queues` in a scenario does not count."""

_TABLE_PER_QUEUE = 200


class Listed(NamedTuple):
    """A flow of the list."""

    src: int
    dst: int
    bytes: int
    start_ns: int
    fct_ns: int | None
    """Time from its start to its last ACK; ``None`` if it did not finish."""

    alone_ns: float
    incast: bool

    def key(self, number: int) -> FlowKey:
        """Return the identity of the flow; it contains the position of the flow in the list."""
        return FlowKey(self.src, self.dst, number, INCAST_PORT if self.incast else 100, self.bytes)


@dataclass(frozen=True, slots=True)
class Network:
    """The links of a case; hosts are numbered from 0, switches follow."""

    hosts: int
    nodes: int
    links: tuple[tuple[int, int, float, float], ...]
    """Two nodes, Gbit/s, ns."""

    def alone_ns(self, src: int, dst: int, size: int) -> float:
        """Return the completion time in ns in an empty network by the authors' formula.

        It counts no headers. It is exact if all links have the same rate and delay, as in the
        authors' network.
        """
        hops = self._hops(src)[dst]
        _, _, gbps, delay_ns = next(link for link in self.links if src in link[:2])
        full, packet = divmod(size, PACKET) if size > PACKET else (0, size)
        count, unit = (full + (packet > 0), PACKET) if full else (1, size)
        return 2 * hops * delay_ns + unit * 8 / gbps * (count + hops - 1)

    def _hops(self, src: int) -> dict[int, int]:
        hops, edge = {src: 0}, [src]
        while edge:
            ends = [b if a == node else a for node in edge for a, b, *_ in self.links
                    if node in (a, b)]  # fmt: skip
            far = hops[edge[0]] + 1
            edge = list(dict.fromkeys(node for node in ends if node not in hops))
            hops |= dict.fromkeys(edge, far)
        return hops


@dataclass(frozen=True)
class BfcCase:
    """A list of flows that the simulator of BFC's authors ran, with its other output files."""

    flow_list: Path
    name: str
    simulator: str = SIMULATOR
    chance: bool = True
    """True: two runs of the authors differ, for example in the paths of flows."""

    def expected(self) -> Observed:
        """Read the completion times and buffers of the authors' run."""
        flows = {
            flow.key(number): FlowTimes(flow.start_ns, flow.fct_ns, flow.alone_ns)
            for number, flow in enumerate(self._flows)
            if flow.fct_ns is not None
        }
        if not flows:
            raise InputError(f"{self.flow_list}: no flow that finished")
        samples = self._samples
        buffer = None if samples is None else sorted(samples.values())
        return Observed(flows, None, buffer, self._edges)

    def measure(self, folder: Path, seed: int) -> Measured:
        """Run the case with Backwater and the profile of this simulator; return the same results.

        All files are written into `folder`.
        """
        from backwater.running.single import run_one
        from backwater.scenario import Scenario

        scenario = folder / "scenario.toml"
        (folder / "flows.csv").write_text(self._flow_csv(), encoding="utf-8")
        scenario.write_text(self._scenario(), encoding="utf-8")
        run = run_one(Scenario(scenario, seed=seed), out=folder / "run", force=True)
        flows = {}
        for number, row in enumerate(run.table("flows").sort("id").iter_rows(named=True)):
            flow = self._flows[number]
            if (row["src"], row["dst"], row["bytes"]) != (flow.src, flow.dst, flow.bytes):
                raise RunError(f"{run.path}: flow {number} is not that of {self.flow_list}")
            if row["finished"] and flow.fct_ns is not None:
                # The authors give FCTs in whole nanoseconds.
                fct_ns = round((row["acked_ps"] - row["start_ps"]) / 1000)
                flows[flow.key(number)] = FlowTimes(flow.start_ns, fct_ns, flow.alone_ns)
        found = Observed(flows, None, self._our_buffer(run), self._edges)
        return Measured(found, run.digest, complaints(run), list(self._warnings))

    # --- Contents of the files -----------------------------------------------------------------

    @property
    def _config_file(self) -> Path:
        return self.flow_list.parent / "config.txt"

    @cached_property
    def _config(self) -> dict[str, str]:
        if not self._config_file.is_file():
            return {}
        lines = (line.split() for _, line in lines_of(self._config_file))
        return {words[0]: " ".join(words[1:]) for words in lines if words}

    def _number(self, key: str) -> float | None:
        word = self._config.get(key)
        return None if word is None else _decimal(str(self._config_file), key, word)

    @cached_property
    def _edges(self) -> tuple[int, ...]:
        return _EDGES.get(self._config.get("WORKLOAD", ""), _EDGES["W4"])

    @cached_property
    def _epoch_ns(self) -> int:
        """Time of the authors' clock at our time 0; their buffer samples start there too."""
        start_s = self._number("APP_START_TIME")
        first = min(flow.start_ns for flow in self._flows)
        epoch = first // 1_000_000 * 1_000_000 if start_s is None else round(start_s * 1e9)
        if first < epoch:
            raise InputError(
                f"{self.flow_list}: a flow starts at {first} ns, before APP_START_TIME, {epoch} ns"
            )
        return epoch

    @cached_property
    def _warnings(self) -> tuple[str, ...]:
        """Warnings about the files of the case."""
        warnings = []
        if self._topology_file is None:
            warnings.append("no *topology*.csv: the network of the authors, 128 hosts, is taken")
        if self._samples is None:
            warnings.append("no CSV with `buffer` in its name: buffers are not compared")
        loops = self._read[1]
        if loops:
            warnings.append(f"{loops} flows of a host to itself are left out")
        unfinished = sum(flow.fct_ns is None for flow in self._flows)
        if unfinished:
            warnings.append(f"{unfinished} flows did not finish there; they run here, uncompared")
        return tuple(warnings)

    @property
    def _flows(self) -> list[Listed]:
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[list[Listed], int]:
        """Flows ordered by start, and the number of flows from a host to itself."""
        found, loops = [], 0
        incast_packets = self._number("FLOW_SIZE_IN_INCAST") if self._has_incast() else None
        for number, row in _rows(self.flow_list):
            flow = self._listed(number, row, incast_packets)
            if flow.src == flow.dst:
                loops += 1
                continue
            found.append(flow)
        if not found:
            raise InputError(f"{self.flow_list}: no flow in it")
        return sorted(found, key=lambda flow: flow.start_ns), loops

    def _has_incast(self) -> bool:
        return bool(self._number("CREATE_INCAST"))

    def _listed(self, number: int, row: dict[str, str], incast_packets: float | None) -> Listed:
        place = f"{self.flow_list}:{number}"
        src, dst, size, start = (
            _whole(place, name, row.get(name)) for name in ("src", "dst", "bytes", "start")
        )
        if size < 1:
            raise InputError(f"{place}: a flow of {size} bytes")
        for host in (src, dst):
            if not 0 <= host < self._network.hosts:
                raise InputError(
                    f"{place}: host {host} does not exist; the network has hosts 0 to "
                    f"{self._network.hosts - 1}"
                )
        # BFCC-01: a flow of more than one packet is sent as full packets.
        packets = -(-size // PACKET)
        if row.get("packets"):
            packets = _whole(place, "packets", row["packets"])
        if packets > 1:
            size = packets * PACKET
        mark = row.get("incast")
        incast = _is_true(mark) if mark is not None else packets == incast_packets
        fct = _whole(place, "fct", row["fct"]) if _has_value(row.get("fct")) else 0
        told = row.get("alone")
        alone = _decimal(place, "alone", told) if told else self._network.alone_ns(src, dst, size)
        if src != dst and alone <= 0:
            raise InputError(f"{place}: a flow that takes {alone} ns alone")
        return Listed(src, dst, size, start, fct if fct > 0 else None, alone, incast)

    # --- The network -------------------------------------------------------------------------

    @cached_property
    def _topology_file(self) -> Path | None:
        folder = self.flow_list.resolve().parent
        for place in (folder, folder.parent, folder.parent.parent):
            found = [p for p in _tables(place) if "topology" in p.name.lower()]
            if found:
                return found[0]
        return None

    @cached_property
    def _network(self) -> Network:
        return _AUTHORS if self._topology_file is None else _read_network(self._topology_file)

    # --- Buffers -----------------------------------------------------------------------------

    @cached_property
    def _samples(self) -> dict[tuple[int, int], int] | None:
        """Bytes by time (in ns since our time 0) and switch."""
        files = [p for p in _tables(self.flow_list.parent) if "buffer" in p.name.lower()]
        if not files:
            return None
        samples = {}
        for number, line in lines_of(files[0]):
            words = [word.strip() for word in line.split(",")]
            if number == 1 and not _is_decimal(words[0]):
                continue
            if len(words) != 3:
                raise InputError(f"{files[0]}:{number}: expected `ns,switch,bytes`, found `{line}`")
            at, switch, used = (_whole(f"{files[0]}:{number}", "a number", w) for w in words)
            samples[at, switch] = used
        if not samples:
            return None
        first = min(at for at, _ in samples)
        late = self._epoch_ns if first >= self._epoch_ns > 0 else 0
        return {(at - late, switch): used for (at, switch), used in samples.items()}

    @cached_property
    def _period_ns(self) -> int:
        times = sorted({at for at, _ in self._samples or ()})
        return min((b - a for a, b in pairwise(times)), default=10_000)

    def _our_buffer(self, run: Any) -> list[int] | None:
        """Return our buffers at the switches and times of the authors' samples; missing: 0."""
        if self._samples is None:
            return None
        table = run.measured_queues().select("at_ps", "name", "used_bytes")
        period_ps = self._period_ns * 1000
        ours = {(at // period_ps, str(name)): used for at, name, used in table.iter_rows()}
        steps = ((round(at / self._period_ns), str(switch)) for at, switch in self._samples)
        return sorted(ours.get(step, 0) for step in steps)

    # --- The scenario ------------------------------------------------------------------------

    def _flow_csv(self) -> str:
        lines = ["src,dst,bytes,start,port"]
        for number, f in enumerate(self._flows):
            start = f.start_ns - self._epoch_ns
            lines.append(f"{f.src},{f.dst},{f.bytes},{start}ns,{f.key(number).dport}")
        return "\n".join(lines) + "\n"

    def _scenario(self) -> str:
        network = self._network
        hosts = ", ".join(f'"{n}"' for n in range(network.hosts))
        switches = ", ".join(f'"{n}"' for n in range(network.hosts, network.nodes))
        lines = [
            f"# Made by `python -m validation` of {self.flow_list.name}.",
            f'name = "{_plain(self.name)}"',
            "[topology]",
            'kind = "links"',
            f"hosts = [{hosts}]",
            f"switches = [{switches}]",
            "links = [",
            *(
                f'    {{ a = "{a}", b = "{b}", rate = "{gbps:g}Gbps", delay = "{ns:g}ns" }},'
                for a, b, gbps, ns in network.links
            ),
            "]",
            "[[traffic]]",
            'name = "flows"',
            'pattern = "list"',
            'file = "flows.csv"',
            "[run]",
            f'epoch = "{self._epoch_ns}ns"',
            f'probe = "{self._period_ns}ns"',
            "[scheme]",
            'preset = "bfc"',
            'profile = "nsdi22-code"',
            *self._queues(),
        ]
        return "\n".join(lines) + "\n"

    def _queues(self) -> list[str]:
        """Override for a number of queues other than 36, the profile's value (BFCC-04, BFCC-11)."""
        count = int(self._number("QCOUNT") or _DEFAULT_QUEUES)
        if count == _DEFAULT_QUEUES:
            return []
        queues = count - _NOT_FOR_DATA
        if queues < 2:
            raise InputError(f"{self._config_file}: QCOUNT {count} is too few")
        return [
            f"queues = {queues}",
            f"dynamic.table = {round(count * _TABLE_PER_QUEUE / queues)}",
        ]


def find_bfc(root: Path) -> Iterator[BfcCase]:
    """Find the lists of flows of BFC's authors at and below a folder."""
    lists = [path for folder in _folders(root) for path in _tables(folder) if _is_flow_list(path)]
    for path in lists:
        inner = path.parent.relative_to(root).as_posix()
        name = root.resolve().name if inner == "." else inner
        if sum(other.parent == path.parent for other in lists) > 1:
            name = f"{name}/{path.name.partition('.')[0]}"
        yield BfcCase(path, name)


# --- Reading ---------------------------------------------------------------------------------


def _folders(root: Path) -> list[Path]:
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir())]


def _tables(folder: Path) -> list[Path]:
    """Return the CSV files of a folder, compressed or not."""
    files = (p for p in folder.iterdir() if p.name.endswith((".csv", ".csv.gz")) and p.is_file())
    return sorted(files)


def _is_flow_list(path: Path) -> bool:
    try:
        head = next(lines_of(path), (0, ""))[1]
    except InputError:
        # The contents do not identify an empty or unreadable file: use its name.
        return path.name.startswith("flows_fct.")
    return set(_NEEDED) <= set(_columns(head))


def _columns(head: str) -> list[str]:
    """Return the meaning of each column of a list of flows."""
    known = {name: what for what, names in _NAMES.items() for name in names}
    words = [word.strip().lstrip("#\ufeff").strip().lower() for word in head.split(",")]
    return [known.get(word, word) for word in words]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    lines = lines_of(path)
    columns = _columns(next(lines, (0, ""))[1])
    missing = [what for what in _NEEDED if what not in columns]
    if missing:
        names = ", ".join(_NAMES[what][0] for what in missing)
        raise InputError(f"{path}: columns are missing: {names}")
    for number, line in lines:
        words = next(csv.reader([line]))
        if len(words) != len(columns):
            raise InputError(f"{path}:{number}: {len(words)} fields, the head has {len(columns)}")
        yield number, dict(zip(columns, (word.strip() for word in words), strict=True))


def _read_network(path: Path) -> Network:
    links: list[tuple[int, int, float, float]] = []
    told: int | None = None
    for number, line in lines_of(path):
        if line.startswith("#"):
            match = re.search(r"(\d+) hosts\b", line)
            told = int(match.group(1)) if match else told
            continue
        words = [word.strip() for word in line.split(",")]
        if not links and not _is_decimal(words[0]):
            continue
        place = f"{path}:{number}"
        if len(words) != 4:
            raise InputError(f"{place}: expected `node,node,Gbit/s,ns`, found `{line}`")
        a, b = (_whole(place, "a node", word) for word in words[:2])
        gbps, delay_ns = (_decimal(place, "a number", word) for word in words[2:])
        if min(a, b) < 0 or a == b or gbps <= 0 or delay_ns < 0:
            raise InputError(f"{place}: no link: `{line}`")
        links.append((a, b, gbps, delay_ns))
    if not links:
        raise InputError(f"{path}: no link in it")
    nodes = {node for link in links for node in link[:2]}
    if nodes != set(range(len(nodes))):
        raise InputError(f"{path}: nodes should be numbered from 0 without gaps, hosts first")
    return Network(_hosts(links, told), len(nodes), tuple(links))


def _hosts(links: Sequence[tuple[int, int, float, float]], given: int | None) -> int:
    """Return the number of hosts: as given, else the number of first nodes with a single link."""
    if given is not None:
        return given
    ends = Counter(node for link in links for node in link[:2])
    host = 0
    while ends[host] == 1:
        host += 1
    return host


def _authors() -> Network:
    """Return the network that is hard-coded in the authors' simulator."""
    up = [(host, 128 + host // 16, 100.0, 1000.0) for host in range(128)]
    across = [(leaf, spine, 100.0, 1000.0) for leaf in range(128, 136) for spine in range(136, 144)]
    return Network(128, 144, tuple(up + across))


_AUTHORS = _authors()


def _whole(place: str, what: str, word: str | None) -> int:
    return round(_decimal(place, what, word))


def _decimal(place: str, what: str, word: str | None) -> float:
    if word is None or not _is_decimal(word):
        name = _NAMES.get(what, (what,))[0]
        raise InputError(f"{place}: {name} should be a number, found `{word}`")
    # Above 2^53 a float cannot represent every number of nanoseconds.
    return int(word) if word.lstrip("-").isdigit() else float(word)


def _is_decimal(word: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?", word) is not None


def _has_value(word: str | None) -> bool:
    return word is not None and word.lower() not in ("", "nan", "none", "null", "na", "-", "inf")


def _is_true(word: str) -> bool:
    return word.strip().lower() in ("1", "1.0", "true", "yes", "incast")


def _plain(name: str) -> str:
    """Return a valid name of a scenario."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "-" for c in name)
    return kept.strip("-._+") or "case"
