"""Cases of the simulator of Floodgate's authors: a configuration, and what came out of it.

A folder has the configuration (`cfg.ini`), the flows with their completion times (`flows_fct.csv`),
and if known the switches' buffers over time (a CSV with `buffer` in its name) and the log of PFC (a
text with `pfc` in its name). The network that the configuration names lies beside it or up to two
folders above. All may be packed. Facts about that simulator: `specs/floodgate-code.md`.
"""

from __future__ import annotations

import csv
import gzip
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
"""Its flows are given from 2 s on, and its buffers are sampled from then on."""

_PRESETS = {1: "dcqcn", 3: "hpcc", 7: "timely"}
"""Controls that its configurations combine with Floodgate, by `CC_MODE`."""

_IDEAL, _PRACTICAL = "1", "2"
"""`SWTICH_ACK_MODE`: a credit for each packet, or credits of an ingress together."""


class Listed(NamedTuple):
    """A flow of the list."""

    src: int
    dst: int
    bytes: int
    start_ns: int
    received_ns: int | None
    """From its start to its last byte; ``None``: it did not finish, nor do the next two."""

    acked_ns: int | None
    incast: bool
    sport: int

    @property
    def begins_ns(self) -> int:
        """When it really begins: its start, cut to nanoseconds once more (FGC-31)."""
        return cut_to_ns(self.start_ns)

    def key(self) -> FlowKey:
        """Tell it from all others: a host counts its source ports up."""
        return FlowKey(self.src, self.dst, self.sport, DEFAULT_PORT, self.bytes)


def cut_to_ns(ns: int) -> int:
    """Cut a time that goes through seconds as a real number, as NS3-01 has it."""
    seconds = ns / 1e9
    whole = int(seconds)
    return whole * 10**9 + (int((seconds - whole) * 2**64) * 10**9 >> 64)


@dataclass(frozen=True)
class FloodgateCase:
    """A configuration of that simulator, and what it found."""

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
        """Write the scenario, run it with the profile of this simulator, and look at the same."""
        from backwater.running.single import run_one
        from backwater.scenario import Scenario

        scenario = folder / "scenario.toml"
        findings = Findings()
        (folder / "flows.csv").write_text(self._flow_csv(), encoding="utf-8")
        scenario.write_text(self._scenario(findings), encoding="utf-8")
        run = run_one(Scenario(scenario, seed=seed), out=folder / "run", force=True)
        told = [w["message"] for w in findings.warnings()]
        return Measured(self._observed(run), run.digest, complaints(run), [*self._doubts(), *told])

    # --- What the files say ------------------------------------------------------------------

    @cached_property
    def _config(self) -> Config:
        findings = Findings()
        config = ns3_config.read(_configuration(self.folder) or self.folder, findings)
        importing.check_control(config)
        findings.stop_if_wrong()
        return config

    def _said(self, key: str, default: str = "0") -> str:
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
        """Flows in the order in which they begin (FGC-31)."""
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
        """Bytes by time, in ns since the epoch, and number of the switch among the switches."""
        path = next((p for p in _files(self.folder, ".csv") if "buffer" in p.name.lower()), None)
        if path is None:
            return None
        samples = {}
        for number, line in _lines(path):
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
        """Time in us that ports had to wait, by the tier of their node; 0 is hosts."""
        since: dict[tuple[int, int], int] = {}
        paused = dict.fromkeys(self._tiers.values(), 0.0)
        last = 0
        for number, line in _lines(path):
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

    def _doubts(self) -> list[str]:
        """Tell what cannot be compared."""
        said = []
        if self._samples is None:
            said.append("no CSV with `buffer` in its name: buffers are not compared")
        if self._pfc is None:
            said.append("no text with `pfc` in its name: the time of pauses is not compared")
        unfinished = sum(flow.acked_ns is None for flow in self._flows)
        if unfinished:
            said.append(f"{unfinished} flows did not finish there; they run here, uncompared")
        return said

    # --- The scenario ------------------------------------------------------------------------

    def _flow_csv(self) -> str:
        """Write starts after both cuts, amid their nanosecond, so that none is cut again.

        The port is that of all flows there, since it is hashed; so it does not tell incasts here.
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
        """Turn the preset of the control alone into that with Floodgate."""
        if self._said("USE_FLOODGATE") == "0":
            return plain
        mode, said = self._config["CC_MODE"], self._said("SWTICH_ACK_MODE")
        variant = {_IDEAL: "+floodgate-ideal", _PRACTICAL: "+floodgate"}.get(said)
        if mode not in _PRESETS or variant is None:
            raise ScenarioError(
                f"error: {self._config.words.name}: CC_MODE {mode} with SWTICH_ACK_MODE {said} is "
                "not modelled; known are CC_MODE 1, 3 and 7, SWTICH_ACK_MODE 1 and 2"
            )
        return _PRESETS[mode] + variant

    @property
    def _period_ns(self) -> int:
        return int(self._said("BUFFER_INTERVAL", "10")) * 1000

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
        """Completion times from the start that the list tells (FGC-31)."""
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
        """Bytes by time and switch as in `_samples`; what is empty is left out, as there."""
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
            head = next(_lines(path), (0, ""))[1]
        except InputError:
            # Whose it is cannot be known; a list is told by its name.
            if path.name.startswith("flows_fct."):
                return path
            continue
        if set(_COLUMNS) <= set(_names(head)):
            return path
    return None


def _files(folder: Path, ending: str) -> list[Path]:
    """Files of a folder with an ending, packed or not."""
    endings = (ending, f"{ending}.gz")
    return sorted(p for p in folder.iterdir() if p.name.endswith(endings) and p.is_file())


def _names(head: str) -> list[str]:
    return [word.strip().lstrip("#\ufeff").strip().lower() for word in head.split(",")]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    lines = _lines(path)
    columns = _names(next(lines, (0, ""))[1])
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise InputError(f"{path}: columns are missing: {', '.join(missing)}")
    for number, line in lines:
        words = next(csv.reader([line]))
        if len(words) != len(columns):
            raise InputError(f"{path}:{number}: {len(words)} fields, the head has {len(columns)}")
        yield number, dict(zip(columns, words, strict=True))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.strip()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _ns(us: str) -> int | None:
    """Turn a time in us, told to the nanosecond, into ns; ``None`` where none is told."""
    word = us.strip().lower()
    if word in ("", "nan", "none", "-"):
        return None
    ns = round(float(word) * 1000)
    return ns if ns > 0 else None
