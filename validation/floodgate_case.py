"""Cases of the simulator of Floodgate's authors: a configuration with its results.

A folder contains:

- the configuration (`cfg.ini`),
- the flows with their completion times (`flows_fct.csv`),
- optionally the buffers of the switches over time (a CSV with `buffer` in its name),
- optionally the PFC log (a text file with `pfc` in its name).

The configuration refers to a network file, which is in the same folder or up to two folders above.
All files can be compressed. Facts about that simulator: `specs/floodgate-code.md`.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from backwater.errors import InputError, RunError, ScenarioError
from backwater.importers.common.output import scenario_name
from backwater.importers.common.source import Findings
from backwater.importers.ns3 import config as ns3_config
from backwater.importers.ns3 import scenario as importing
from backwater.importers.ns3 import topology as ns3_topology
from backwater.importers.ns3.config import Config
from backwater.importers.ns3.flows import DATA_GROUP, DEFAULT_PORT, Flow
from backwater.importers.ns3.scenario import Inputs
from backwater.importers.ns3.topology import Topology
from validation.lines import lines_of
from validation.observed import (
    FlowKey,
    FlowTimes,
    Measured,
    Observed,
    Totals,
    complaints,
)

if TYPE_CHECKING:
    from backwater.results.files import RunFiles

SIMULATOR = "the simulator of Floodgate's authors"

CONFIGURATIONS = ("cfg.ini", "config.ini")
FIRST_PORT = 10_000
_COLUMNS = ("src", "dst", "size", "start_ns", "rcv_fct_us", "snd_fct_us")
_MARK = "is_incast"
_EPOCH_NS = 2_000_000_000
"""Time 0 in ns: the flows and the buffer samples of that simulator start at 2 s."""

_PRESETS = {1: "dcqcn", 3: "hpcc", 7: "timely"}
"""Congestion controls that the configurations combine with Floodgate, by `CC_MODE`."""

_IDEAL, _PRACTICAL = "1", "2"
"""`SWTICH_ACK_MODE`: one credit frame per packet, or aggregated credits per ingress."""


class Listed(NamedTuple):
    """A flow of the list."""

    src: int
    dst: int
    bytes: int
    start_ns: int
    received_ns: int | None
    """Time from its start to its last byte; ``None``, like the next two, if it did not finish."""

    acked_ns: int | None
    incast: bool
    sport: int

    @property
    def begins_ns(self) -> int:
        """Actual start: `start_ns`, truncated to nanoseconds a second time (FGC-31)."""
        return cut_to_ns(self.start_ns)

    def key(self) -> FlowKey:
        """Return the identity of the flow; source ports of a host are consecutive."""
        return FlowKey(self.src, self.dst, self.sport, DEFAULT_PORT, self.bytes)


def cut_to_ns(ns: int) -> int:
    """Truncate a time in ns as ns-3 does if it gets the time in seconds, as a float (NS3-01)."""
    seconds = ns / 1e9
    whole = int(seconds)
    return whole * 10**9 + (int((seconds - whole) * 2**64) * 10**9 >> 64)


@dataclass(frozen=True)
class FloodgateCase:
    """A configuration of that simulator with its results."""

    folder: Path
    name: str
    simulator: str = SIMULATOR
    chance: bool = False

    def expected(self) -> Observed:
        """Read completion times, buffers and pauses."""
        flows = self._times({flow.key(): flow for flow in self._flows})
        if not flows:
            raise InputError(f"{self._flow_list}: no flow that finished")
        incasts = frozenset(flow.key() for flow in self._flows if flow.incast)
        paused = None if self._pfc is None else self._paused_by_tier(self._pfc)
        return Observed(flows, None, totals=Totals(incasts, paused, self._samples))

    def measure(self, folder: Path, seed: int) -> Measured:
        """Run the case with Backwater and the profile of this simulator; return the same results.

        All files are written into `folder`.
        """
        from backwater.running.single import run_one
        from backwater.scenario import Scenario

        scenario = folder / "scenario.toml"
        findings = Findings()
        (folder / "flows.csv").write_text(self._flow_csv(), encoding="utf-8")
        scenario.write_text(self._scenario(findings), encoding="utf-8")
        run = run_one(Scenario(scenario, seed=seed), out=folder / "run", force=True)
        told = [w["message"] for w in findings.warnings()]
        return Measured(
            self._observed(run), run.digest, complaints(run), [*self._warnings(), *told]
        )

    # --- Contents of the files -----------------------------------------------------------------

    @cached_property
    def _config(self) -> Config:
        findings = Findings()
        config = ns3_config.read(_configuration(self.folder) or self.folder, findings)
        importing.check_control(config)
        findings.stop_if_wrong()
        return config

    def _value(self, key: str, default: str = "0") -> str:
        return self._config.foreign.get(key, default)

    @cached_property
    def _topology(self) -> Topology:
        self._config.need("TOPOLOGY_FILE")
        self._config.words.findings.stop_if_wrong()
        name = Path(self._config["TOPOLOGY_FILE"]).name
        here = self.folder.resolve()
        for place in (here, here.parent, here.parent.parent):
            if (place / name).is_file():
                findings = Findings()
                topology = ns3_topology.read(place / name, findings)
                findings.stop_if_wrong()
                return topology
        raise InputError(
            f"{self.folder}: the network {name}, which {self._config.words.name} names, is neither "
            "here nor up to two folders above"
        )

    @property
    def _flow_list(self) -> Path:
        return _flow_list(self.folder) or self.folder

    @cached_property
    def _flows(self) -> list[Listed]:
        """All flows in the order of the list, with their source ports (FGC-30)."""
        read = [self._listed(number, row) for number, row in _rows(self._flow_list)]
        if not read:
            raise InputError(f"{self._flow_list}: no flow in it")
        used: Counter[int] = Counter()
        ports = {}
        for flow in sorted(read, key=lambda flow: not flow.incast):
            ports[id(flow)] = FIRST_PORT + used[flow.src]
            used[flow.src] += 1
        return [flow._replace(sport=ports[id(flow)]) for flow in read]

    def _listed(self, number: int, row: Mapping[str, str]) -> Listed:
        place = f"{self._flow_list}:{number}"
        try:
            src, dst, size, start = (int(row[name]) for name in ("src", "dst", "size", "start_ns"))
            received, acked = (_ns(row[name]) for name in ("rcv_fct_us", "snd_fct_us"))
        except ValueError as error:
            raise InputError(f"{place}: {error}") from None
        hosts = len(self._topology.hosts)
        for host in (src, dst):
            if not 0 <= host < hosts:
                raise InputError(f"{place}: host {host} does not exist; there are {hosts}")
        if src == dst or size < 1 or start < _EPOCH_NS:
            raise InputError(
                f"{place}: expected two hosts, at least 1 byte, and a start from {_EPOCH_NS} ns on"
            )
        incast = row.get(_MARK, "0").strip() in ("1", "true")
        if received is None or acked is None:
            received = acked = None
        return Listed(src, dst, size, start, received, acked, incast, 0)

    @cached_property
    def _ordered(self) -> list[Listed]:
        """Flows ordered by actual start (FGC-31)."""
        place = {id(f): i for i, f in enumerate(sorted(self._flows, key=lambda f: not f.incast))}
        return sorted(self._flows, key=lambda f: (f.begins_ns, f.src, place[id(f)]))

    def _times(self, flows: Mapping[FlowKey, Listed]) -> dict[FlowKey, FlowTimes]:
        return {
            key: FlowTimes(flow.start_ns, flow.acked_ns, 0.0, flow.received_ns)
            for key, flow in flows.items()
            if flow.acked_ns is not None
        }

    @cached_property
    def _samples(self) -> dict[tuple[int, int], int] | None:
        """Bytes by time (in ns since the epoch) and index of the switch."""
        path = next((p for p in _files(self.folder, ".csv") if "buffer" in p.name.lower()), None)
        if path is None:
            return None
        samples = {}
        for number, line in lines_of(path):
            words = line.split(",")
            if number == 1 and not words[0].strip().isdigit():
                continue
            try:
                at, switch, used = map(int, words)
            except ValueError:
                raise InputError(
                    f"{path}:{number}: expected `ns,switch,bytes`, found `{line[:80]}`"
                ) from None
            samples[at, switch] = used
        return samples or None

    @cached_property
    def _pfc(self) -> Path | None:
        return next((p for p in _files(self.folder, ".txt") if "pfc" in p.name.lower()), None)

    def _paused_by_tier(self, path: Path) -> dict[int, float]:
        """Return the pause time of ports in us, by the tier of their node. Hosts are tier 0."""
        since: dict[tuple[int, int], int] = {}
        paused = dict.fromkeys(self._tiers.values(), 0.0)
        last = 0
        for number, line in lines_of(path):
            try:
                last, node, _, port, pause = map(int, line.split())
                tier = self._tiers[node]
            except (ValueError, KeyError):
                raise InputError(
                    f"{path}:{number}: expected `ns node type port 0|1`, found `{line[:80]}`"
                ) from None
            if pause:
                since.setdefault((node, port), last)
            elif (node, port) in since:
                paused[tier] += (last - since.pop((node, port))) / 1000
        for (node, _), start in since.items():
            paused[self._tiers[node]] += (last - start) / 1000
        return paused

    @cached_property
    def _tiers(self) -> dict[int, int]:
        """Distance of each node from the nearest host."""
        tiers = dict.fromkeys(self._topology.hosts, 0)
        edge = set(tiers)
        while edge:
            ends = ((x.a, x.b) for x in self._topology.links)
            near = {b if a in edge else a for a, b in ends if (a in edge) != (b in edge)}
            edge = near - set(tiers)
            tiers |= dict.fromkeys(edge, max(tiers.values()) + 1)
        return tiers

    def _warnings(self) -> list[str]:
        """Return warnings about results that cannot be compared."""
        warnings = []
        if self._samples is None:
            warnings.append("no CSV with `buffer` in its name: buffers are not compared")
        if self._pfc is None:
            warnings.append("no text with `pfc` in its name: the time of pauses is not compared")
        unfinished = sum(flow.acked_ns is None for flow in self._flows)
        if unfinished:
            warnings.append(f"{unfinished} flows did not finish there; they run here, uncompared")
        return warnings

    # --- The scenario ------------------------------------------------------------------------

    def _flow_csv(self) -> str:
        """Return the flows as CSV.

        Starts are truncated twice and then moved by half a nanosecond, so that a further truncation
        does not change them. The destination port is hashed; therefore all flows have the port that
        they have in the other simulator, and the port does not mark incasts.
        """
        lines = ["src,dst,bytes,start,port,sport"]
        for flow in self._ordered:
            start = flow.begins_ns - _EPOCH_NS
            lines.append(
                f"{flow.src},{flow.dst},{flow.bytes},{start}.5ns,{DEFAULT_PORT},{flow.sport}"
            )
        return "\n".join(lines) + "\n"

    def _scenario(self, findings: Findings) -> str:
        listed = [
            Flow(f.src, f.dst, DATA_GROUP, DEFAULT_PORT, f.bytes, f.begins_ns * 1000)
            for f in self._ordered
        ]
        inputs = Inputs(self._config, self._topology, listed, findings)
        parts = [
            [
                f"# Made by `python -m validation` of {self._flow_list.name}.",
                f'name = "{scenario_name(self.name)}"',
            ],
            importing.topology_lines(inputs),
            importing.switch_lines(inputs),
            ["[[traffic]]", 'name = "flows"', 'pattern = "list"', 'file = "flows.csv"'],
            ["[run]", f'epoch = "{_EPOCH_NS}ns"', f'probe = "{self._period_ns}ns"'],
            importing.scheme_lines(inputs, self._preset),
            ['profile = "conext21-code"'],
        ]
        findings.stop_if_wrong()
        return "\n".join(line for part in parts for line in part) + "\n"

    def _preset(self, plain: str) -> str:
        """Return the preset of the congestion control, with Floodgate if it is enabled."""
        if self._value("USE_FLOODGATE") == "0":
            return plain
        mode, ack_mode = self._config["CC_MODE"], self._value("SWTICH_ACK_MODE")
        variant = {_IDEAL: "+floodgate-ideal", _PRACTICAL: "+floodgate"}.get(ack_mode)
        if mode not in _PRESETS or variant is None:
            raise ScenarioError(
                f"error: {self._config.words.name}: CC_MODE {mode} with SWTICH_ACK_MODE {ack_mode} "
                "is not modelled; known are CC_MODE 1, 3 and 7, SWTICH_ACK_MODE 1 and 2"
            )
        return _PRESETS[mode] + variant

    @property
    def _period_ns(self) -> int:
        return int(self._value("BUFFER_INTERVAL", "10")) * 1000

    # --- What we find ------------------------------------------------------------------------

    def _observed(self, run: RunFiles) -> Observed:
        found = {}
        for row, flow in zip(
            run.table("flows").sort("id").iter_rows(named=True), self._ordered, strict=True
        ):
            if (row["src"], row["dst"], row["bytes"]) != (flow.src, flow.dst, flow.bytes):
                raise RunError(f"{run.path}: flow {row['id']} is not that of {self._flow_list}")
            if row["finished"]:
                found[flow.key()] = self._seen(flow, row)
        incasts = frozenset(flow.key() for flow in self._flows if flow.incast)
        return Observed(found, None, totals=Totals(incasts, self._paused(run), self._ours(run)))

    def _seen(self, flow: Listed, row: Mapping[str, Any]) -> FlowTimes:
        """Return completion times measured from the start in the list (FGC-31)."""
        received, acked = (
            row[end] // 1000 + _EPOCH_NS - flow.start_ns for end in ("received_ps", "acked_ps")
        )
        return FlowTimes(flow.start_ns, acked, 0.0, received)

    def _paused(self, run: RunFiles) -> dict[int, float]:
        paused = dict.fromkeys(self._tiers.values(), 0.0)
        columns = run.table("pauses").select("name", "from_ps", "to_ps")
        for name, start, end in columns.iter_rows():
            paused[self._tiers[int(name)]] += (end - start) / 1e6
        return paused

    # FGC-34
    def _ours(self, run: RunFiles) -> dict[tuple[int, int], int]:
        """Return bytes by time and switch as in `_samples`, without empty buffers."""
        first = min(self._topology.switches)
        table = run.measured_queues().select("at_ps", "name", "used_bytes")
        return {
            (at // 1000, int(name) - first): used
            for at, name, used in table.iter_rows()
            if used > 0 and at > 0
        }


def find_floodgate(root: Path) -> Iterator[FloodgateCase]:
    """Find the cases of Floodgate's authors at and below a folder."""
    folders = [root, *sorted(path for path in root.rglob("*") if path.is_dir())]
    for folder in folders:
        if _configuration(folder) is None or _flow_list(folder) is None:
            continue
        inner = folder.relative_to(root).as_posix()
        yield FloodgateCase(folder, root.resolve().name if inner == "." else inner)


# --- Reading ---------------------------------------------------------------------------------


def _configuration(folder: Path) -> Path | None:
    return next((folder / n for n in CONFIGURATIONS if (folder / n).is_file()), None)


def _flow_list(folder: Path) -> Path | None:
    """Return the list of flows of a folder: the CSV that has the columns of one."""
    for path in _files(folder, ".csv"):
        try:
            head = next(lines_of(path), (0, ""))[1]
        except InputError:
            # The contents do not identify an empty or unreadable file: use its name.
            if path.name.startswith("flows_fct."):
                return path
            continue
        if set(_COLUMNS) <= set(_names(head)):
            return path
    return None


def _files(folder: Path, ending: str) -> list[Path]:
    """Return the files of a folder with an extension, compressed or not."""
    endings = (ending, f"{ending}.gz")
    return sorted(p for p in folder.iterdir() if p.name.endswith(endings) and p.is_file())


def _names(head: str) -> list[str]:
    return [word.strip().lstrip("#\ufeff").strip().lower() for word in head.split(",")]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    lines = lines_of(path)
    columns = _names(next(lines, (0, ""))[1])
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise InputError(f"{path}: columns are missing: {', '.join(missing)}")
    for number, line in lines:
        words = next(csv.reader([line]))
        if len(words) != len(columns):
            raise InputError(f"{path}:{number}: {len(words)} fields, the head has {len(columns)}")
        yield number, dict(zip(columns, words, strict=True))


def _ns(us: str) -> int | None:
    """Convert a time in us with three decimals to ns; ``None`` if there is no time."""
    word = us.strip().lower()
    if word in ("", "nan", "none", "-"):
        return None
    ns = round(float(word) * 1000)
    return ns if ns > 0 else None
