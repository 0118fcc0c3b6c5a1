"""Imports workloads of other programs as a scenario and a file of operations."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from backwater import __version__
from backwater._base.files import write_whole
from backwater._base.toml import one_line, time, toml
from backwater.errors import RunError, ScenarioError
from backwater.importers import networks
from backwater.importers.astra import operations as chakra_operations
from backwater.importers.astra import system as astra
from backwater.importers.astra import traces as chakra
from backwater.importers.common import xml_tree
from backwater.importers.common.output import IMPORTED, refuse_foreign, scenario_name
from backwater.importers.common.source import (
    LONGEST_PS,
    Findings,
    decoded,
    problem,
    read_bytes,
    read_text,
    time_ps,
)
from backwater.importers.goal import binary as goal_binary
from backwater.importers.goal import operations as goal_operations
from backwater.importers.goal import schedule as goal
from backwater.importers.htsim import matrix as htsim
from backwater.importers.htsim import operations as htsim_operations
from backwater.importers.msccl import algorithm as msccl
from backwater.importers.msccl import chunks as msccl_chunks
from backwater.importers.msccl import operations as msccl_operations
from backwater.importers.networks import Network
from backwater.importers.simai import operations as simai_operations
from backwater.importers.simai import workload as simai
from backwater.scenario import Scenario
from backwater.workloads import Workload, estimates

DEFAULT_BYTES = 1 << 20
"""Default size of the data of a collective: 1 MiB."""


ESTIMATED = {"chakra": "ASTRA-sim has for this", "goal": "LogGOPS describes, with these defaults"}
"""Description of the network of an estimate, by format."""


@dataclass(slots=True)
class Wishes:
    """Options of the user for the network."""

    topology: Path | None = None
    sets: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Imported:
    """The result of an import."""

    source: Path
    format: str
    network: Network
    findings: Findings
    operations: Workload | None = None
    flows: str | None = None
    """A list of flows in CSV, if it is sufficient. Otherwise there are ``operations``."""
    notes: list[str] = field(default_factory=list)
    end_ps: int | None = None
    """End of the run, if the input or the user gives it."""
    estimate: list[str] = field(default_factory=list)
    """Networks for `backwater estimate`: the dimensions of the other program's network."""
    nics: int = 1
    """Number of NICs of a rank that the messages use."""
    mtu_bytes: int | None = None
    """Payload of a full packet, if the other program defines one."""

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Warnings about the files."""
        return self.findings.warnings()

    def scenario(self, name: str, file: str) -> str:
        """Return the scenario, which refers to the file of operations or flows."""
        source = one_line(self.source.name)
        parts = [
            [
                f"{IMPORTED}{self.format} by backwater {__version__}: {source}.",
                f"name = {toml(name)}",
            ],
            self.network.lines,
        ]
        if switch := self.network.switch():
            parts.append(switch)
        if self.network.failures:
            parts.append(["[[topology.failures]]", f"links = {toml(self.network.failures)}"])
        if self.operations is not None:
            work = ["[[workload]]", f"name = {toml(name)}", f"file = {toml(file)}"]
            if self.nics > 1:
                work += ["# Each message takes the port of its NIC.", 'ports = "rail"']
            parts.append(work)
        else:
            traffic = ["[[traffic]]", 'name = "flows"', 'pattern = "list"']
            parts.append([*traffic, f"file = {toml(file)}"])
        if self.mtu_bytes is not None:
            parts.append(["[scheme]", f"mtu = {toml(f'{self.mtu_bytes}B')}"])
        if self.end_ps is not None:
            parts.append(["[run]", f"until = {toml(time(self.end_ps))}"])
        return "\n".join("\n".join(lines) + "\n" for lines in parts)


def _network(
    path: Path,
    wishes: Wishes,
    ranks: int,
    findings: Findings,
    default: Callable[[], Network] | None = None,
    nics: int = 1,
    known: Network | None = None,
) -> Network:
    """Return the network, and check that it has a host for each rank.

    ``known`` is the network of the user's topology file, if it was read already. Warns if hosts may
    have fewer ports than the messages use NICs.
    """
    if wishes.topology is not None and wishes.sets:
        findings.fail(
            "--topology and --set topology... say the same twice", None, "use one of them"
        )
    if wishes.topology is not None:
        network = known or networks.of_file(wishes.topology, findings)
    elif wishes.sets:
        network = networks.of_sets(wishes.sets, ranks, findings, nics)
    elif default is not None:
        network = default()
    else:
        network = networks.non_blocking(max(ranks, 2), nics)
    if nics > (network.host_ports or 1):
        ports = network.host_ports
        have = f"have {ports} port{'s' * (ports != 1)}" if ports else "may have fewer ports"
        findings.warning(
            f"{path}: messages name {nics} NICs of a rank, but hosts of the network {have}: "
            f"NIC k uses port k modulo the ports that are equally near",
            "with neither --topology nor --set topology.kind each NIC gets a port of its own",
        )
    if network.hosts < ranks:
        findings.fail(
            f"{network.source}: the network has {network.hosts} host{'s' * (network.hosts != 1)}, "
            f"but {path} has {ranks} ranks, each of which needs one"
        )
    return network


def import_goal(path: Path, wishes: Wishes, host: str = "loggopsim") -> Imported:
    """Import a GOAL schedule, text or binary. ``host`` is a key of ``HOSTS`` with message costs."""
    findings = Findings()
    if host not in goal_operations.HOSTS:
        findings.fail(f"--host {host}: known are {', '.join(goal_operations.HOSTS)}")
    data = read_bytes(path, findings, "GOAL schedule")
    if goal_binary.is_binary(data):
        schedule = goal_binary.parse(str(path), data, findings)
    else:
        text = decoded(path, data, findings, "GOAL schedule")
        schedule = goal.parse(str(path), text, findings)
    operations = goal_operations.convert(schedule, goal_operations.HOSTS[host], findings)
    nics = goal_operations.nics(schedule)
    network = _network(path, wishes, operations.ranks, findings, nics=nics)
    estimate = [goal_operations.HOSTS[host].estimate]
    return Imported(path, "goal", network, findings, operations, estimate=estimate, nics=nics)


def import_htsim(path: Path, wishes: Wishes, end: str | None = None) -> Imported:
    """Import a connection matrix of htsim. ``end`` is the end of the run, such as ``1ms``."""
    findings = Findings()
    text = read_text(path, findings, "connection matrix")
    matrix = htsim.parse(str(path), text.splitlines(), findings)
    end_ps = None if end is None else _end(end, findings)
    network = _network(path, wishes, matrix.nodes, findings)
    end_ps = htsim_operations.find_end(matrix, end_ps, network.fastest_bps(), findings)
    networks.fail_links(network, matrix.failures, findings)
    htsim_operations.warn_of_priorities(matrix, findings)
    imported = Imported(path, "htsim", network, findings, end_ps=end_ps)
    if htsim_operations.is_flow_list(matrix):
        imported.flows = htsim_operations.flow_list(matrix)
    else:
        imported.operations = htsim_operations.convert(matrix, findings)
    return imported


def _end(word: str, findings: Findings) -> int:
    """Parse the time at which a run ends."""
    value = None if word.isdigit() else time_ps(word)
    if value is None or not 1 <= value <= LONGEST_PS:
        findings.fail(f"--end {word}: expected a time such as 1ms")
    return int(value)


def import_msccl(
    path: Path, wishes: Wishes, size_bytes: int | None = None, reduction_ps_per_byte: float = 0
) -> Imported:
    """Import an algorithm in MSCCL's XML, for ``size_bytes`` of data per rank (default: 1 MiB)."""
    findings = Findings()
    text = read_text(path, findings, "algorithm of a collective")
    algorithm = msccl.from_tree(xml_tree.parse(str(path), text, findings))
    msccl_chunks.check(algorithm)
    size = DEFAULT_BYTES if size_bytes is None else size_bytes
    operations = msccl_operations.convert(
        str(path), algorithm, size, reduction_ps_per_byte, findings
    )
    network = _network(path, wishes, operations.ranks, findings)
    imported = Imported(path, "msccl", network, findings, operations)
    if size_bytes is None:
        imported.notes.append("an algorithm has no size: 1 MiB is taken; give it by --size")
    return imported


def import_simai(
    path: Path,
    wishes: Wishes,
    ranks: int | None = None,
    send_latency: str | None = None,
    passes: int = 1,
) -> Imported:
    """Import a workload of SimAI or AICB.

    ``send_latency`` is a time such as ``6us``, a number of ns, or the name of a protocol.
    ``passes`` is the number of passes over the layers.
    """
    findings = Findings()
    word = str(simai_operations.DEFAULT_SEND_LATENCY_NS) if send_latency is None else send_latency
    latency = simai_operations.latency(word, findings)
    text = read_text(path, findings, "workload")
    workload = simai.parse(str(path), text.splitlines(), findings)
    known = networks.of_file(wishes.topology, findings) if wishes.topology else None
    notes = []
    count = ranks or workload.all_gpus or (known.hosts if known else None)
    if count is None:
        count = simai_operations.default_ranks(workload)
        notes.append(f"the number of GPUs is not given: {count} are assumed; see --ranks")
    elif ranks and workload.all_gpus and ranks != workload.all_gpus:
        notes.append(f"{ranks} ranks are taken in the place of all_gpus: {workload.all_gpus}")
    if send_latency is None:
        notes.append(
            f"each message waits {word} ns at its sender (what AS_SEND_LAT would say, in ns); see "
            "--send-latency"
        )
    servers = known.gpus_per_server if known else 0
    settings = simai_operations.Settings(
        count, servers or simai_operations.DEFAULT_SERVER, latency, passes
    )
    operations = simai_operations.convert(str(path), workload, settings, findings)
    network = _network(path, wishes, count, findings, known=known)
    return Imported(
        path,
        "simai",
        network,
        findings,
        operations,
        notes=notes,
        mtu_bytes=simai_operations.MTU_BYTES,
    )


def import_chakra(
    path: Path,
    wishes: Wishes,
    system: Path | None = None,
    network: Path | None = None,
    comm_group: Path | None = None,
    ctrl_deps: bool = False,
) -> Imported:
    """Import the Chakra traces of all ranks, with the related files of ASTRA-sim.

    ``path`` is a folder, a prefix, or one of the traces. With ``ctrl_deps`` nodes also wait for
    control dependencies.
    """
    findings = Findings()
    traces = [chakra.read(file, findings) for file in chakra.find(path, findings)]
    layer, dims = astra.System(str(path)), [len(traces)]
    dimensions: list[astra.Dimension] = []
    if system:
        text = read_text(system, findings, "system layer")
        layer = astra.system_of(str(system), text, findings)
    if network:
        text = read_text(network, findings, "network")
        dims, dimensions = astra.network_of(str(network), text, findings)
    groups: dict[str, tuple[int, ...]] = {}
    if comm_group:
        text = read_text(comm_group, findings, "communicator groups")
        groups = chakra.groups_of_text(str(comm_group), text, len(traces), findings)
    settings = chakra_operations.Settings(
        layer,
        dims,
        str(network or ""),
        groups,
        ctrl_deps,
        chakra_operations.read_custom(layer, findings),
    )
    operations = chakra_operations.convert(traces, settings, findings)

    def default() -> Network:
        return replace(networks.of_dimensions(dimensions), source=str(network))

    found = _network(path, wishes, len(traces), findings, default if dimensions else None)
    estimate = [dimension.estimate for dimension in dimensions]
    return Imported(path, "chakra", found, findings, operations, estimate=estimate)


def write(imported: Imported, out: Path, force: bool = False) -> list[str]:
    """Write the scenario ``out`` and its file of operations or flows; return notes for the user.

    Both files are written only if the scenario is valid. If the import fails, existing files remain
    unchanged.
    """
    imported.findings.stop_if_wrong()
    if not force:
        refuse_foreign(out)
    kind = "operations.parquet" if imported.operations is not None else "flows.csv"
    beside = out.with_name(f"{out.stem}.{kind}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=out.parent) as folder:
            scenario, file = Path(folder) / out.name, Path(folder) / beside.name
            if imported.operations is not None:
                imported.operations.write(file)
            else:
                write_whole(file, imported.flows or "")
            write_whole(scenario, imported.scenario(scenario_name(out.stem), file.name))
            problems = Scenario(scenario).check()
            wrong = [p for p in problems if p["severity"] == "error"]
            if wrong:
                read = " and ".join(filter(None, [str(imported.source), imported.network.source]))
                # The places are left out, because the user will not see this scenario.
                errors = (problem("error", p["message"], hint=p["hint"])["text"] for p in wrong)
                lines = [f"{read}: no scenario can be made of this:", *errors]
                raise ScenarioError("\n\n".join(lines).replace(f"{scenario.parent}/", ""), wrong)
            file.replace(beside)
            scenario.replace(out)
    except OSError as error:
        raise RunError(f"{out}: cannot write: {error.strerror}", error.errno) from error
    notes = [*imported.notes]
    if imported.network.note:
        notes.append(imported.network.note)
    if imported.estimate:
        words = [word for network in imported.estimate for word in ("--network", network)]
        command = shlex.join(["backwater", "estimate", str(beside), *words])
        notes.append(
            f"without packets, on the network that {ESTIMATED[imported.format]}: {command}"
        )
    elif imported.operations is not None and estimates.of_scenario(out).networks:
        command = shlex.join(["backwater", "estimate", str(out)])
        notes.append(f"without packets, on a network of messages with these links: {command}")
    return notes
