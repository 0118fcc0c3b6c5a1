"""Operations of Chakra's execution traces, with the semantics of ASTRA-sim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from backwater.importers.astra import traces as chakra
from backwater.importers.astra.system import System
from backwater.importers.astra.traces import CollectiveType, Node, NodeType, Trace
from backwater.importers.common.graphs import CycleError, in_order
from backwater.importers.common.source import LARGEST_BYTES, LONGEST_PS, Findings, shown
from backwater.workloads import Workload, parallel_groups

_MAX_TAG = 2**32 - 1

CPU, COMPUTE, COMMUNICATION = 0, 1, 2
"""Numbers of the resources of a rank.

From ``COMMUNICATION`` on, each dimension has one resource for each of its active chunks.
"""

_KINDS = {
    CollectiveType.ALL_REDUCE: "all-reduce",
    CollectiveType.ALL_GATHER: "all-gather",
    CollectiveType.REDUCE_SCATTER: "reduce-scatter",
    CollectiveType.ALL_TO_ALL: "all-to-all",
    CollectiveType.BARRIER: "barrier",
}
_ALGORITHMS = {
    "ring": "ring",
    "oneRing": "ring",
    "direct": "direct",
    "oneDirect": "direct",
    "doubleBinaryTree": "double-binary-tree",
    "halvingDoubling": "halving-doubling",
    "oneHalvingDoubling": "halving-doubling",
}
_RINGS = ("ring", "oneRing")
_CHUNKED_BY_RINGS = ("all-reduce", "all-gather", "reduce-scatter")
_NOTHING = (NodeType.INVALID, NodeType.METADATA)
_REPLAYED = (
    NodeType.COMP,
    NodeType.MEM_LOAD,
    NodeType.MEM_STORE,
    NodeType.STORAGE,
    NodeType.BATCH,
    NodeType.CHECKPOINT,
)


@dataclass(slots=True)
class Settings:
    """Parameters that the traces do not contain."""

    system: System
    dims: list[int]
    """Ranks of each dimension of the network. The first dimension changes fastest with the rank."""
    network: str = ""
    """The file with the dimensions, if there is one."""
    groups: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Ranks of each communicator group, by the name of the group."""
    ctrl_deps: bool = False
    """True if nodes also wait for control dependencies."""
    custom: dict[str, list[Trace]] = field(default_factory=dict)
    """For each collective, the traces of all ranks that form its algorithm."""


def _is_described(node: Node) -> bool:
    """Return true if a communication node has the attribute that specifies the communication."""
    key = "comm_type" if node.type is NodeType.COMM_COLL else "comm_size"
    return key in node.attributes


class _Phase(NamedTuple):
    """Part of a collective that runs in one dimension of the network, or in a whole group."""

    kind: str
    dimension: int
    group: str | None
    bytes: int


def read_custom(system: System, findings: Findings) -> dict[str, list[Trace]]:
    """Read the traces that are the algorithm of a collective, for each one in the system layer."""
    found = {}
    for collective, prefix in system.custom.items():
        folder = Path(system.name).parent
        places = [base / prefix for base in (folder, *folder.resolve().parents)]
        place = next((p for p in places if p.parent.is_dir() and _has_files(p)), None)
        if place is None:
            findings.fail(
                f"{system.name}: {collective}-implementation-custom: there is no {prefix}.0.et in "
                "the folder of this file, nor above it"
            )
        found[collective] = [chakra.read(p, findings) for p in chakra.find(place, findings)]
    return found


def _has_files(prefix: Path) -> bool:
    return any(True for _ in prefix.parent.glob(f"{prefix.name}.0.et*"))


def convert(traces: list[Trace], settings: Settings, findings: Findings) -> Workload:
    """Convert the traces of all ranks to the operations of a workload."""
    return _Converter(traces, settings, findings).workload()


class _Converter:
    def __init__(self, traces: list[Trace], settings: Settings, findings: Findings) -> None:
        self.traces = traces
        self.settings = settings
        self.findings = findings
        self.system = settings.system
        self.ranks = len(traces)
        if prod(settings.dims) != self.ranks:
            shape = " x ".join(map(str, settings.dims))
            many = "is 1 trace" if self.ranks == 1 else f"are {self.ranks} traces"
            findings.fail(
                f"{settings.network}: the network has {shape} ranks, but there {many}: "
                + " to ".join(dict.fromkeys([traces[0].path, traces[-1].path]))
            )
        self._check_lists()
        self.out = Workload(
            self.ranks,
            options={
                "matching": "bytes",
                "send_end": "acknowledged",
                "queue_pairs": "per-message",
                "send_holds_to_end": True,
                "instances": "start",
                **self.system.times(),
            },
            source={"format": "chakra", "schema": traces[0].version},
        )
        self.groups = dict(settings.groups)
        self.members: dict[str, frozenset[int]] = {}
        """The ranks of each group, after all groups are known."""
        self.defined: set[str] = set()
        """Groups that the workload has."""
        self.of_all: set[str] = set()
        """Groups that contain all ranks in their order."""
        self._define_dimensions()
        self.sent: Counter[tuple[int, int, int]] = Counter()
        self.first_message: dict[tuple[int, int, int, bool], Node] = {}
        """The first node for each sender, receiver, tag, and direction (true: send)."""
        self.custom_calls: Counter[int] = Counter()
        """For each rank, the number of calls of custom algorithms."""
        self.composed: dict[int, int] = {}
        """Number of the collective for each call of a custom algorithm."""
        self.signatures: dict[tuple[str, int], tuple[str, int, int]] = {}
        self.calls: dict[tuple[str, str], dict[int, list[Node]]] = {}
        """For each group, kind with size (if these are compared) and rank, the collectives."""

    def _check_lists(self) -> None:
        """Warn of algorithms for dimensions that the network does not have."""
        count = len(self.settings.dims)
        for kind, listed in self.system.implementations.items():
            key = f"{kind}-implementation"
            if len(listed) > count:
                self.findings.warning(
                    f"{key} has {len(listed)} algorithms, but the network has {count} "
                    f"dimension{'s' * (count != 1)}: only the first {count} count",
                    "ASTRA-sim stops there; is the network's file given with --network?",
                    place=self.system.place(key),
                )

    def _define_dimensions(self) -> None:
        degrees = {f"dim{d}": size for d, size in enumerate(self.settings.dims)}
        self.of_dimension: list[dict[int, str]] = [{} for _ in degrees]
        if len(degrees) == 1:
            return
        for dimension, names in zip(degrees, self.of_dimension, strict=True):
            for name, members in parallel_groups(degrees, [dimension]).items():
                if len(members) > 1:
                    self.out.group(name, members)
                names.update(dict.fromkeys(members, name))

    def workload(self) -> Workload:
        for trace in self.traces:
            for node in trace.nodes:
                if node.type is NodeType.METADATA and chakra.PROCESS_GROUPS in node.name:
                    self.groups |= chakra.groups_of_node(node, self.ranks)
        everyone = tuple(range(self.ranks))
        self.members = {name: frozenset(ranks) for name, ranks in self.groups.items()}
        self.of_all = {name for name, ranks in self.groups.items() if ranks == everyone}
        for traces in (self.traces, *self.settings.custom.values()):
            for rank, trace in enumerate(traces):
                trace.rank = rank
        for trace in self.traces:
            self._rank(trace)
        self._check_collectives()
        self._check_matches()
        self.findings.stop_if_wrong()
        return self.out

    def _rank(self, trace: Trace) -> None:
        if not trace.nodes:
            self.findings.warning(
                f"{trace.path}: the trace has no nodes: rank {trace.rank} does nothing"
            )
        last: dict[int, int] = {}
        for node, waits in self._nodes(trace):
            after = [last[other] for other in waits]
            last[node.id] = self._node(node, after)

    def _nodes(self, trace: Trace) -> Iterator[tuple[Node, tuple[int, ...]]]:
        """Yield each node after the nodes that it waits for, together with these."""
        nodes = sorted(trace.nodes, key=lambda node: node.id)
        place = {node.id: at for at, node in enumerate(nodes)}
        before = [(*n.data_deps, *self._ctrl_deps(n, place)) for n in nodes]
        edges = {(at, place[other]) for at, waits in enumerate(before) for other in waits}
        try:
            order = in_order(len(nodes), edges)
        except CycleError as error:
            names = [f"{nodes[at].id} {shown(nodes[at].name)}" for at in error.members]
            nodes[error.members[0]].fail(
                f"it can never start, because these nodes wait for each other: {', '.join(names)}",
            )
        for at in order:
            yield nodes[at], before[at]

    def _ctrl_deps(self, node: Node, known: Container[int]) -> list[int]:
        """Return the control dependencies of a node; none if the settings ignore them."""
        if not self.settings.ctrl_deps:
            return []
        for other in node.ctrl_deps:
            if other not in known:
                node.warning(
                    f"its control dependency, node {other}, does not exist and is not waited for",
                    "converters drop nodes that do no work",
                    f"control dependencies that do not exist, in {node.trace.path}",
                )
        return [other for other in node.ctrl_deps if other in known]

    def _node(self, node: Node, after: list[int]) -> int:
        if node.type in _NOTHING:
            return self.out.calc(node.rank, 0, after=after, name=node.name)
        if node.type in _REPLAYED:
            return self._compute(node, after)
        if self.system.replay_only:
            message = "communication under replay-only"
            return self._lasting(node, after, message, message)
        if node.attributes.get("is_cpu_op") and not _is_described(node):
            message = "the CPU starts a communication here and does not say which one"
            kind = f"communication that the CPU starts, in {node.trace.path}"
            return self._lasting(node, after, message, kind)
        if node.type is NodeType.COMM_SEND:
            return self._message(node, after, self._resource(node, COMMUNICATION))
        if node.type is NodeType.COMM_RECV:
            return self._message(node, after)
        return self._collective(node, after)

    def _lasting(self, node: Node, after: list[int], message: str, kind: str) -> int:
        """Add a communication that lasts as long as in the trace and sends nothing."""
        node.warning(
            f"{message}: it lasts as long as the trace says, and sends nothing", None, kind
        )
        free = node.type is NodeType.COMM_RECV and not node.attributes.get("is_cpu_op")
        resource = None if free else self._resource(node, COMMUNICATION)
        return self._calc(node, self._measured_ps(node) or 1000, after, resource)

    def _resource(self, node: Node, otherwise: int) -> int:
        return CPU if node.attributes.get("is_cpu_op") else otherwise

    def _compute(self, node: Node, after: list[int]) -> int:
        if node.type is not NodeType.COMP:
            node.warning(
                f"nodes {node.type.name} last as long as the trace says: memory and storage have "
                "no model here",
                None,
                f"nodes {node.type.name}",
            )
        time, resource = self._duration_ps(node), self._resource(node, COMPUTE)
        return self._calc(node, time, after, resource)

    def _calc(self, node: Node, time: int, after: list[int], resource: int | None) -> int:
        more: dict[str, Any] = {"resource": resource, "priority": node.id, "name": node.name}
        return self.out.calc(node.rank, time, after=after, **more)

    def _duration_ps(self, node: Node) -> int:
        """Return the duration in the trace, or compute it from operations and bytes; in ps."""
        roofline = self.system.roofline
        replayed = self.system.replay_only or node.type is not NodeType.COMP
        if roofline is None or replayed or node.attributes.get("is_cpu_op"):
            return self._measured_ps(node) or 1000
        peak, memory = roofline
        work = node.whole("num_ops", 2**63, 0)
        size = node.whole("tensor_size", 2**63, 0)
        if size == 0:
            # ASTRA-sim treats such a node as an empty computation.
            return 0
        if work == 0:
            return 1000
        rate = min(peak, memory * work / size)
        time = max(1000, round(work / rate * 10**12))
        if time > LONGEST_PS:
            node.fail(f"it would take {time / 10**12:.0f} s, more than 20 hours")
        return time

    def _measured_ps(self, node: Node) -> int:
        time = node.duration_us * 10**6
        if time > LONGEST_PS:
            node.fail(f"it lasts {node.duration_us} us, more than 20 hours")
        return time

    def _message(
        self,
        node: Node,
        after: list[int],
        resource: int | None = None,
        call: int = 0,
        part_of: int | None = None,
    ) -> int:
        """Add a send or a receive. ``call`` is the number of the call of a custom collective."""
        rank, sends = node.rank, node.type is NodeType.COMM_SEND
        other, own = ("comm_dst", "comm_src") if sends else ("comm_src", "comm_dst")
        peer = node.whole(other, self.ranks - 1)
        if node.whole(own, 2**32, rank) != rank:
            node.fail(f"{own} is {node.attributes[own]}, but this is the trace of {rank}")
        if peer == rank:
            node.fail(f"{other} is {peer}, the rank itself")
        size = node.whole("comm_size", LARGEST_BYTES)
        tag = call * (_MAX_TAG + 1) + node.whole("comm_tag", _MAX_TAG, 0)
        key = (rank, peer, tag) if sends else (peer, rank, tag)
        self.sent[key] += size if sends else -size
        self.first_message.setdefault((*key, sends), node)
        add = self.out.send if sends else self.out.recv
        more: dict[str, Any] = {"resource": resource, "part_of": part_of}
        more |= {"priority": node.id, "name": node.name}
        return add(rank, peer, size, tag, after=after, **more)

    # --- Collectives ---------------------------------------------------------------------------

    def _collective(self, node: Node, after: list[int]) -> int:
        number = node.whole("comm_type", 2**32)
        try:
            kind = CollectiveType(number)
        except ValueError:
            node.fail(f"comm_type {number} is unknown")
        if kind is CollectiveType.BROADCAST:
            message = "a BROADCAST is not run, as in ASTRA-sim"
            return self._lasting(node, after, message, "BROADCAST nodes")
        if kind not in _KINDS:
            node.fail(
                f"a {kind.name} cannot be run, as in ASTRA-sim",
                f"those that can be run are {', '.join(k.name for k in _KINDS)}, BROADCAST",
            )
        word = _KINDS[kind]
        size = 0 if word == "barrier" else node.whole("comm_size", LARGEST_BYTES)
        if word == "all-gather":
            # comm_size is the contribution of each rank. Here the size is the total that each rank
            # receives.
            size *= self._members(node)
            if size > LARGEST_BYTES:
                node.fail(f"all ranks would end with {size} bytes")
        if word in self.settings.custom and self._members(node) == self.ranks:
            return self._custom(node, (word, size), after)
        phases = self._phases(node, word, size)
        if not phases:
            return self.out.calc(node.rank, 0, after=after, name=node.name)
        splits = 1 if word == "barrier" else min(self.system.splits, max(size, 1))
        if len(phases) == 1 and self._chunked_by_itself(phases[0]):
            splits = 1
        ends = [self._chunk(node, phases, after, split, splits) for split in range(splits)]
        return ends[0] if splits == 1 else self.out.calc(node.rank, 0, after=ends, name=node.name)

    def _chunk(
        self,
        node: Node,
        phases: list[_Phase],
        after: list[int],
        split: int,
        splits: int,
    ) -> int:
        """Add the operations of one chunk of a collective, one for each phase."""
        active = self.system.active_chunks
        for phase in phases:
            name = phase.group or ""
            size = phase.bytes * (split + 1) // splits - phase.bytes * split // splits
            instance = None
            if name and name == self.of_dimension[phase.dimension].get(node.rank):
                # Several parts of a collective are active in a dimension. Their instance number
                # matches them.
                instance = self._count(node, name)
                self._check_order(node, name, instance, (phase.kind, size))
            else:
                self._count(node, name, f" {phase.kind} of {size} bytes")
            lane = COMMUNICATION + phase.dimension * active + split % active
            after = [
                self.out.collective(
                    node.rank,
                    phase.kind,
                    size,
                    phase.group,
                    instance=instance,
                    algorithm=self._algorithm(node, phase, splits),
                    after=after,
                    resource=self._resource(node, lane),
                    priority=node.id,
                    name=node.name,
                )
            ]
        return after[0]

    def _word(self, phase: _Phase) -> str | None:
        """Return ASTRA-sim's name of the algorithm of a phase; ``None`` if no algorithm is set."""
        listed = self.system.implementations.get(phase.kind)
        if not listed:
            return None
        if phase.dimension >= len(listed):
            key, count = f"{phase.kind}-implementation", len(self.settings.dims)
            self.findings.fail(
                f"{key} has {len(listed)} algorithm{'s' * (len(listed) != 1)}, but the "
                f"network has {count} dimensions",
                self.system.place(key),
                "give one for each; ASTRA-sim leaves the others out without a word",
            )
        return listed[phase.dimension]

    def _chunked_by_itself(self, phase: _Phase) -> bool:
        """Return true if the algorithm itself divides the data into chunks."""
        word = self._word(phase)
        return word in _RINGS and phase.kind in _CHUNKED_BY_RINGS

    def _algorithm(self, node: Node, phase: _Phase, splits: int) -> str | None:
        word = self._word(phase)
        if word is None:
            return None
        name = word.rstrip("0123456789")
        ours, window = _ALGORITHMS[name], word.removeprefix(name)
        if ours == "double-binary-tree" and phase.kind != "all-reduce":
            node.fail(f"{word} can do an all-reduce only, but this is a {phase.kind}")
        if window:
            return f"{ours}:window={window}"
        if splits == 1 and self._chunked_by_itself(phase) and self.system.splits > 1:
            active = min(self.system.active_chunks, self.system.splits)
            return f"{ours}:chunks={self.system.splits},active={active}"
        return ours

    def _group(self, node: Node) -> str | None:
        """Return the communicator group of a collective; ``None`` for all ranks."""
        name = str(node.attributes.get("pg_name") or "0")
        if name in self.groups:
            return None if name in self.of_all else name
        if name == "0":
            return None
        known = ", ".join(sorted(self.groups)) or "none"
        node.fail(
            f"there is no communicator group {shown(name)}; known are {known}",
            "give the file of the groups with --comm-group",
        )

    def _members(self, node: Node) -> int:
        name = self._group(node)
        if name is not None:
            return len(self.groups[name])
        return prod(self.settings.dims[d] for d in self._dimensions(node))

    def _dimensions(self, node: Node) -> list[int]:
        """Return the dimensions in which a collective of all ranks runs."""
        involved = node.attributes.get("involved_dim")
        everywhere = list(range(len(self.settings.dims)))
        if involved is None:
            return everywhere
        if not isinstance(involved, list):
            node.fail("involved_dim should be a list of booleans")
        return [d for d in everywhere if d >= len(involved) or involved[d]]

    def _phases(self, node: Node, word: str, size: int) -> list[_Phase]:
        name = self._group(node)
        if name is not None:
            if node.rank not in self.members[name]:
                node.fail(f"rank {node.rank} is not a member of its group {shown(name)}")
            if len(self.members[name]) == 1:
                return []
            if name not in self.defined:
                self.defined.add(name)
                self.out.group(name, self.groups[name])
            return [_Phase(word, 0, name, size)]
        dims = [d for d in self._dimensions(node) if self.settings.dims[d] > 1]
        if one := self._over_all(word):
            if len(self._dimensions(node)) < len(self.settings.dims):
                node.fail(
                    f"involved_dim leaves a dimension out, but {word}-implementation is {one}, "
                    "which goes over all ranks",
                )
            return [_Phase(word, 0, None, size)]
        if len(self.settings.dims) == 1 or word == "barrier":
            return [_Phase(word, 0, None, size)] if dims else []
        return [
            _Phase(kind, d, self.of_dimension[d][node.rank], amount)
            for kind, d, amount in self._by_dimension(word, dims, size)
        ]

    def _over_all(self, word: str) -> str | None:
        """Return the algorithm if it treats all dimensions of the network as one; else ``None``."""
        first = self.system.implementations.get(word, [""])[0]
        return first if first.startswith("one") and len(self.settings.dims) > 1 else None

    def _by_dimension(
        self, word: str, dims: list[int], size: int
    ) -> Iterator[tuple[str, int, int]]:
        """Divide a collective into parts in one dimension; yield kind, dimension and bytes."""
        count = self.settings.dims
        if word == "all-reduce" and self.system.local_bw_aware and len(dims) > 1:
            parts, left = [], size
            for d in dims[:-1]:
                parts.append((d, left))
                left = -(-left // count[d])
            yield from (("reduce-scatter", d, amount) for d, amount in parts)
            yield "all-reduce", dims[-1], left
            yield from (("all-gather", d, amount) for d, amount in reversed(parts))
        elif word == "reduce-scatter":
            for d in dims:
                yield word, d, size
                size = -(-size // count[d])
        elif word == "all-gather":
            for done in range(1, len(dims) + 1):
                yield word, dims[done - 1], -(-size // prod(count[d] for d in dims[done:]))
        else:
            yield from ((word, d, size) for d in dims)

    def _custom(self, node: Node, what: tuple[str, int], after: list[int]) -> int:
        """Add the operations of a custom algorithm for a collective, given by kind and bytes."""
        word, size = what
        traces = self.settings.custom[word]
        if len(traces) != self.ranks:
            self.findings.fail(
                f"{traces[0].path}: the algorithm is for {len(traces)} ranks, but there are "
                f"{self.ranks}"
            )
        self.custom_calls[node.rank] += 1
        call = self.custom_calls[node.rank]
        self._check_order(node, "", call - 1, what)
        whole = None
        if size or word == "barrier":
            if call not in self.composed:
                self.composed[call] = self.out.composed(word, size)
            whole = self.composed[call]
        own = traces[node.rank]
        last: dict[int, int] = {}
        waited: set[int] = set()
        for inner, waits in self._nodes(own):
            before = [last[other] for other in waits] or after
            waited.update(waits)
            if inner.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
                last[inner.id] = self._message(inner, before, None, call, whole)
            elif inner.type is NodeType.COMM_COLL:
                inner.fail("an algorithm is made of sends and receives")
            else:
                time = self._duration_ps(inner) if inner.type is NodeType.COMP else 0
                last[inner.id] = self.out.calc(
                    node.rank, time, after=before, part_of=whole, name=inner.name
                )
        ends = [end for inner_id, end in last.items() if inner_id not in waited]
        return self.out.calc(node.rank, 0, after=ends or after, part_of=whole, name=node.name)

    # --- Consistency of the ranks ---------------------------------------------------------------

    def _check_order(self, node: Node, group: str, instance: int, what: tuple[str, int]) -> None:
        """Raise an error if another member of the group has another collective at this place.

        ``instance`` is the place in the order of the group, and ``what`` is kind and bytes.
        """
        kind, size = what
        found = self.signatures.setdefault((group, instance), (kind, size, node.rank))
        if found[:2] != what:
            node.fail(
                f"collective {instance} of {f'group {shown(group)}' if group else 'all ranks'} is "
                f"{kind} of {size} bytes here, but {found[0]} of {found[1]} bytes for rank "
                f"{found[2]}",
                "over several dimensions, or with algorithms of traces, the ranks of a group do "
                "the same collectives, in the order of their ids",
            )

    def _count(self, node: Node, group: str, kind: str = "") -> int:
        """Count a collective of a group; return how many of its kind the rank had before."""
        found = self.calls.setdefault((group, kind), {}).setdefault(node.rank, [])
        found.append(node)
        return len(found) - 1

    def _check_collectives(self) -> None:
        """Add an error if members of a group run different numbers of collectives.

        The rank in the error is one that differs from the majority.
        """
        for (group, kind), of_ranks in sorted(self.calls.items()):
            nodes = {r: of_ranks.get(r, []) for r in self.out.groups.get(group, range(self.ranks))}
            times = Counter(map(len, nodes.values()))
            usual = max(times, key=lambda count: (times[count], count))
            odd = next((rank for rank, found in nodes.items() if len(found) != usual), None)
            if odd is None:
                continue
            other = next(rank for rank, found in nodes.items() if len(found) == usual)
            named = [
                f"{nodes[rank][0].place.text} of {self.traces[rank].path}"
                for rank in (odd, other)
                if nodes[rank]
            ]
            what = f"collectives{kind} of {f'group {shown(group)}' if group else 'all ranks'}"
            self.findings.error(
                f"{self.traces[odd].path}: rank {odd} takes part in {len(nodes[odd])} {what}, but "
                f"rank {other} in {usual}; the first: {', '.join(named)}",
                "the ranks of a group do the same collectives",
                what,
            )

    def _check_matches(self) -> None:
        for (src, dst, tag), rest in sorted(self.sent.items()):
            if rest == 0:
                continue
            more, less = ("sent", "received") if rest > 0 else ("received", "sent")
            node = self.first_message[src, dst, tag, rest > 0]
            node.warning(
                f"from rank {src} to {dst} with tag {tag & _MAX_TAG} {abs(rest)} bytes more are "
                f"{more} than {less}" + (f": rank {dst} waits for ever" if rest < 0 else ""),
                None,
                "sends and receives that do not match",
            )
