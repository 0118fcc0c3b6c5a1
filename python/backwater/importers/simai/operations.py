"""Operations of a SimAI workload. Every rank runs the same layers, in the order of the policy."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from backwater._base import quantity
from backwater.importers.common.source import Findings
from backwater.importers.simai.workload import RECOMPUTING, Collective, Group, Layer, Part, Workload
from backwater.workloads import Workload as Operations
from backwater.workloads import parallel_groups

MAX_OPERATIONS = 20_000_000
DEFAULT_SERVER = 8
"""Default number of GPUs of a server."""

MTU_BYTES = 9000
"""Payload of a packet in SimAI's configuration of its packet simulator."""

DEFAULT_SEND_LATENCY_NS = 6000
"""Latency before a message if SimAI's tables have none.

SimAI's runs use these numbers as microseconds, 1000 times too long. Here they are nanoseconds, as
their names imply.
"""

_KINDS = {one: one.name.lower().replace("_", "-") for one in Collective}
_SMALLEST_FORWARD = 4096
"""SimAI increases smaller forward collectives to this number of bytes."""

ALL = ""
"""The group of all ranks."""

_OVER_ALL = ("MICRO", "DATA", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
_MODEL_ONLY = ("MODEL", "DISTRIBUTED_INFERENCE")
_BY_SERVER = ("HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA")


class Latency(NamedTuple):
    """Time that each message waits at its sender, in ns."""

    inside_ns: int
    """Latency to a GPU of the same server."""
    across_ns: int


PROTOCOLS = {
    "ll": Latency(7200, 9300),
    "ll128": Latency(15900, 18000),
    "simple": Latency(11800, 22400),
}
"""Latencies in ns of SimAI for rings over NVLink and over the network, by the NCCL protocol."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters that the file does not contain."""

    ranks: int
    gpus_per_server: int
    latency: Latency
    passes: int = 1


class _Step(NamedTuple):
    """An operation that every rank executes: a computation, or a collective of its group."""

    name: str
    after: tuple[int, ...]
    duration_ns: int = 0
    part: Part | None = None
    group: str | None = None
    """Kind of the group that runs the collective; ``None`` for a computation."""


def default_ranks(workload: Workload) -> int:
    """Return the number of ranks for two groups of each kind, but at least one server."""
    unit = (workload.tp or 1) * (workload.ep or 1) * (workload.pp or 1)
    return max(DEFAULT_SERVER, 2 * unit)


def convert(name: str, workload: Workload, settings: Settings, findings: Findings) -> Operations:
    """Convert a workload of SimAI to operations of all ranks. ``name`` is the name of its file."""
    groups = _Groups(workload, settings)
    groups.check()
    program = _Program(workload, groups, findings)
    for number in range(settings.passes):
        program.one_pass(number)
    if len(program.steps) * settings.ranks > MAX_OPERATIONS:
        findings.fail(
            f"{name}: {len(program.steps)} operations of each of {settings.ranks} ranks are more "
            f"than {MAX_OPERATIONS} together",
            None,
            _smaller(groups, MAX_OPERATIONS // len(program.steps)),
        )
    _warn_of_the_rest(workload, findings)
    operations = Operations(
        settings.ranks,
        options={
            "matching": "tag-and-source",
            "send_end": "acknowledged",
            "queue_pairs": "per-message",
            **_across(settings),
        },
        groups=groups.members(program.used),
        source={"format": "simai", "policy": workload.policy, "passes": settings.passes},
    )
    algorithms = {
        (kind, collective): groups.algorithm(kind, collective)
        for kind in program.used
        for collective in Collective
    }
    for rank in range(settings.ranks):
        for step in program.steps:
            if step.part is None or step.group is None:
                duration = step.duration_ns * 1000
                operations.calc(rank, duration, after=step.after, resource=0, name=step.name)
                continue
            assert step.part.collective is not None
            operations.collective(
                rank,
                _KINDS[step.part.collective],
                step.part.bytes,
                groups.of(step.group, rank),
                algorithm=algorithms[step.group, step.part.collective],
                after=step.after,
                latency_ps=settings.latency.inside_ns * 1000,
                name=step.name,
            )
    return operations


def latency(word: str, findings: Findings) -> Latency:
    """Parse a latency: a time, a number of ns, or a protocol with its tables."""
    if word.lower() in PROTOCOLS:
        return PROTOCOLS[word.lower()]
    given = quantity.parse(f"{word}ns" if word.isdigit() else word)
    ns = None if given is None or given.kind != "time" else given.value / 1000
    if ns is None or ns.denominator != 1 or not 0 <= ns <= 10**9:
        findings.fail(
            f"--send-latency {word}: expected a time of whole nanoseconds up to 1s, such as 6us, "
            "or LL, LL128 or Simple"
        )
    return Latency(int(ns), int(ns))


def _across(settings: Settings) -> dict[str, int]:
    if settings.latency.inside_ns == settings.latency.across_ns:
        return {}
    return {
        "server_ranks": settings.gpus_per_server,
        "latency_across_ps": settings.latency.across_ns * 1000,
    }


def _smaller(groups: _Groups, most: int) -> str:
    """Return advice for a smaller import with at most ``most`` ranks."""
    unit = groups.tp * groups.ep * groups.pp
    if most < unit:
        return "import fewer layers, or fewer passes"
    return f"import fewer ranks, such as --ranks {most // unit * unit}, or fewer layers"


def _warn_of_the_rest(workload: Workload, findings: Findings) -> None:
    line = workload.header
    if (workload.pp or 1) > 1:
        line.warning(
            f"pp is {workload.pp}: the ranks of each pipeline stage run all layers of the file, "
            "which are those of one stage, and data groups stay inside a stage (SimAI makes them "
            f"{workload.pp} times larger); what stages send to each other (pp_comm) is left out, "
            "and no stage waits for another",
            0,
        )
    for key, value in (("vpp", workload.vpp), ("ga", workload.ga)):
        if (value or 1) > 1:
            line.warning(
                f"{key} is {value}: as in SimAI's packet simulator this number changes nothing: "
                "all layers of the file run once in each pass",
                line.words.index(next(w for w in line.words if w.removesuffix(":") == key)),
            )
    if workload.initiates:
        line.warning(
            "forward passes are repeated as checkpoint_initiates says; SimAI reads these numbers, "
            "but does not act on them",
            0,
        )


class _Groups:
    """The groups of ranks that run collectives together."""

    def __init__(self, workload: Workload, settings: Settings) -> None:
        self.workload = workload
        self.settings = settings
        self.pp = workload.pp or 1
        self.tp = workload.tp or max(1, settings.ranks // self.pp)
        self.ep = workload.ep or 1
        replicas, rest = divmod(settings.ranks, self.tp * self.pp)
        self.dp = 0 if rest else replicas
        """Tensor groups per pipeline stage; 0 if `tp * pp` does not divide the number of ranks."""
        self.names: dict[tuple[str, int], str] = {}

    def check(self) -> None:
        line, ranks = self.workload.header, self.settings.ranks
        policies = {self.workload.policy} | {x.policy for x in self.workload.layers if x.policy}
        if any(p.startswith("HYBRID_TRANSFORMER") for p in policies) or self.workload.tp:
            if not self.dp:
                stages = f" in each of {self.pp} pipeline stages" if self.pp > 1 else ""
                line.fail(
                    f"{ranks} ranks cannot be divided into tensor groups of {self.tp}{stages}", 0
                )
            if self.dp % self.ep:
                line.fail(
                    f"{self.dp} tensor groups"
                    + (" of a pipeline stage" if self.pp > 1 else "")
                    + f" cannot be divided into expert groups of {self.ep}",
                    0,
                )
        if policies & set(_BY_SERVER) and ranks % self.settings.gpus_per_server:
            line.fail(
                f"{ranks} ranks cannot be divided into servers of {self.settings.gpus_per_server}",
                0,
            )

    def kind(self, part: Part, layer: Layer, weights: bool) -> str | None:
        """Return the kind of group that runs a collective; ``None`` if each rank is alone."""
        policy = layer.policy or self.workload.policy
        if part.group in (Group.EP, Group.DP_EP):
            return self._if_several("expert" if part.group is Group.EP else "expert-data")
        if policy in _OVER_ALL:
            first_of_dlrm = policy.startswith("HYBRID_DLRM") and layer is self.workload.layers[0]
            return self._if_several(ALL) if weights or first_of_dlrm else None
        if policy in _MODEL_ONLY:
            return None if weights else self._if_several(ALL)
        if policy in _BY_SERVER:
            inside = weights == (policy == "HYBRID_MODEL_DATA")
            return self._if_several("server" if inside else "across")
        return self._if_several("data" if weights else "tensor")

    def _degrees(self, kind: str) -> tuple[dict[str, int], str]:
        """Return the sizes of the dimensions of parallelism, and the ones that a group spans.

        The first dimension changes fastest with the rank. Names of several dimensions are joined
        by ``+``.
        """
        ranks, server = self.settings.ranks, self.settings.gpus_per_server
        if kind in ("server", "across"):
            return {"server": server, "across": ranks // server}, kind
        dims = {
            "tensor": self.tp,
            "expert": self.ep,
            "expert-data": self.dp // self.ep,
            "pipeline": self.pp,
        }
        return dims, "expert+expert-data" if kind == "data" else kind

    def size(self, kind: str) -> int:
        """Return the number of ranks in a group of a kind."""
        if kind == ALL:
            return self.settings.ranks
        degrees, names = self._degrees(kind)
        return prod(degrees[name] for name in names.split("+"))

    def _if_several(self, kind: str) -> str | None:
        return kind if self.size(kind) > 1 else None

    def members(self, kinds: set[str]) -> dict[str, list[int]]:
        """Return the ranks of all groups of some kinds."""
        found: dict[str, list[int]] = {}
        for kind in sorted(kinds - {ALL}):
            degrees, names = self._degrees(kind)
            for number, ranks in enumerate(parallel_groups(degrees, [names]).values()):
                found[f"{kind}-{number}"] = ranks
                for rank in ranks:
                    self.names[kind, rank] = f"{kind}-{number}"
        return found

    def algorithm(self, kind: str, collective: Collective) -> str:
        """Return the algorithm of a collective.

        It is one ring per rank of a server, in parallel. Inside one server these rings would share
        the same links, so one ring replaces them. In an all-to-all each rank sends to all others at
        the same time.
        """
        if collective is Collective.ALL_TO_ALL:
            return "direct"
        server = self.settings.gpus_per_server
        first = self.of(kind, 0)
        places = [r for r in range(self.settings.ranks) if self.of(kind, r) == first]
        local = sum(rank // server == places[0] // server for rank in places)
        if local in (1, len(places)) or len(places) % local:
            return "ring"
        return f"ring:channels={local},server={local}"

    def of(self, kind: str, rank: int) -> str | None:
        """Return the name of the group of a rank; ``None`` for all ranks."""
        return None if kind == ALL else self.names[kind, rank]


@dataclass
class _Program:
    """The operations of every rank, in the order in which SimAI issues them."""

    workload: Workload
    groups: _Groups
    findings: Findings
    steps: list[_Step] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    at: tuple[int, ...] = ()
    """Operations that the next operation waits for."""
    gradients: dict[int, int] = field(default_factory=dict)
    """Last operation of each layer's weight gradient. The next pass of the layer waits for it."""
    label: str = ""

    def one_pass(self, number: int) -> None:
        """Add a pass over all layers."""
        self.label = f"pass {number} " if number else ""
        policy = self.workload.policy
        orders: dict[str, Callable[[], None]] = {
            "MICRO": self._micro,
            "DATA": self._data,
            "HYBRID_DLRM": self._dlrm,
            "HYBRID_DLRM_ENHANCED": self._dlrm,
            "DISTRIBUTED_INFERENCE": self._all_forward,
        }
        orders.get(policy, self._forward_and_back)()

    def _micro(self) -> None:
        """Start all collectives of the weight gradients at the same time, without computations."""
        before = self.at
        for layer in self.workload.layers:
            self._weights(layer)
            self.at = before

    def _all_forward(self) -> None:
        for layer in self.workload.layers:
            self._forward(layer)

    def _forward_and_back(self) -> None:
        policy, layers = self.workload.policy, self.workload.layers
        waits = policy.startswith("HYBRID_TRANSFORMER")
        checkpoints = sorted(self.workload.checkpoints)
        initiates = set(self.workload.initiates) if policy == RECOMPUTING else set()
        self._all_forward()
        for layer in reversed(layers):
            if layer.index in initiates:
                start = checkpoints[bisect_right(checkpoints, layer.index) - 1]
                for again in layers[start : layer.index]:
                    self._forward(again, " again")
            self._compute(layer.input_gradient, layer, "input gradient")
            behind = None
            if waits or layer.index:
                behind = self._collective(layer.input_gradient, layer, "input gradient")
            if waits and behind is not None:
                self.at = (behind,)
            self._compute(layer.weight_gradient, layer, "weight gradient")
            if policy != "MODEL":
                self._weights(layer)
            if not waits:
                self._wait_for(behind)

    def _data(self) -> None:
        for layer in self.workload.layers:
            self._wait_for_gradient(layer)
            self._compute(layer.forward, layer, "forward")
        for layer in reversed(self.workload.layers):
            self._compute(layer.weight_gradient, layer, "weight gradient")
            self._weights(layer)
            if layer.index:
                self._compute(layer.input_gradient, layer, "input gradient")

    def _dlrm(self) -> None:
        layers, last = self.workload.layers, self.workload.last_bottom_layer
        exchange: int | None = None
        for layer in layers:
            self._wait_for_gradient(layer)
            self._compute(layer.forward, layer, "forward")
            if layer.forward.collective is Collective.ALL_TO_ALL:
                issued = self._collective(layer.forward, layer, "forward")
                exchange = exchange if layer.index else issued
            elif layer.index == last:
                self._wait_for(exchange)
        back: int | None = None
        for layer in reversed(layers):
            self._compute(layer.weight_gradient, layer, "weight gradient")
            self._weights(layer)
            if layer.index:
                self._compute(layer.input_gradient, layer, "input gradient")
                if last is not None and layer.index == last + 1:
                    back = self._collective(layers[0].input_gradient, layers[0], "input gradient")
            elif self.workload.policy == "HYBRID_DLRM":
                self._wait_for(back)

    def _forward(self, layer: Layer, which: str = "") -> None:
        self._wait_for_gradient(layer)
        self._compute(layer.forward, layer, f"forward{which}")
        part = layer.forward
        if 0 < part.bytes < _SMALLEST_FORWARD:
            part = replace(part, bytes=_SMALLEST_FORWARD)
        behind = self._collective(part, layer, f"forward{which}")
        if behind is not None:
            self.at = (behind,)

    def _wait_for(self, step: int | None) -> None:
        """Make the next operation also wait for a step."""
        if step is not None:
            self.at = tuple(sorted({*self.at, step}))

    def _wait_for_gradient(self, layer: Layer) -> None:
        self._wait_for(self.gradients.pop(layer.index, None))

    def _weights(self, layer: Layer) -> None:
        """Add the collective of the weight gradient. Only the next pass waits for it."""
        behind = self._collective(layer.weight_gradient, layer, "weight gradient", weights=True)
        if behind is not None:
            if layer.update_ns:
                behind = self._add(_Step(self._name(layer, "update"), (behind,), layer.update_ns))
            self.gradients[layer.index] = behind

    def _compute(self, part: Part, layer: Layer, what: str) -> None:
        if part.compute_ns:
            self.at = (self._add(_Step(self._name(layer, what), self.at, part.compute_ns)),)

    def _collective(self, part: Part, layer: Layer, what: str, weights: bool = False) -> int | None:
        if part.collective is None:
            return None
        kind = self.groups.kind(part, layer, weights)
        if kind is None:
            self.findings.warning(
                f"{layer.line.name}:{layer.line.line}: the {what} of {layer.name} has a "
                "collective of a group with one rank, which takes no time",
                None,
                "collectives of groups with one rank",
            )
            return None
        self.used.add(kind)
        name = self._name(layer, f"{what} {part.collective.lower()}")
        return self._add(_Step(name, self.at, 0, part, kind))

    def _add(self, step: _Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _name(self, layer: Layer, what: str) -> str:
        return f"{self.label}layer {layer.index} {layer.name} {what}"
