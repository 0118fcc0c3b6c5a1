"""Workloads of SimAI, which AICB writes: layers with their computations and collectives.

The first line has the policy and the sizes of the parallel groups, the second the number of layers.
Then each layer has a line of 12 columns. The first two are name and dependency. Nine columns follow
for the forward pass, the gradient of the inputs and the gradient of the weights. Each of these has
a time in ns, a collective and its bytes. The last column is the time of the update in ns. With
HYBRID_CUSTOMIZED a 13th column has the policy of the layer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from backwater.importers.common.source import (
    LARGEST_BYTES,
    LONGEST_PS,
    Findings,
    Words,
    known_are,
    lines_of,
    shown,
)

MAX_LAYERS = 1 << 20

POLICIES = (
    "MICRO",
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_CUSTOMIZED",
    "DISTRIBUTED_INFERENCE",
)
RECOMPUTING = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"

_NUMBERS = {
    "model_parallel_NPU_group": "tp",
    "ep": "ep",
    "pp": "pp",
    "vpp": "vpp",
    "ga": "ga",
    "all_gpus": "all_gpus",
    "pp_comm": "pp_comm",
    "DLRM_LAST_BOTTOM_LAYER": "last_bottom_layer",
}
_LISTS = {"checkpoints": "checkpoints", "checkpoint_initiates": "initiates"}


class Collective(StrEnum):
    """Kinds of collectives."""

    ALL_REDUCE = "ALLREDUCE"
    ALL_GATHER = "ALLGATHER"
    REDUCE_SCATTER = "REDUCESCATTER"
    ALL_TO_ALL = "ALLTOALL"


_BOTH = "ALLREDUCEALLTOALL"
_COLLECTIVE = re.compile(rf"({_BOTH}|{'|'.join(Collective)})(?:_(EP|DP_EP))?")
"""A collective, and its group if this is not the default."""


class Group(StrEnum):
    """Kinds of groups that run a collective."""

    TP = "TP"
    DP = "DP"
    EP = "EP"
    DP_EP = "DP_EP"


@dataclass(frozen=True, slots=True)
class Part:
    """A computation and the collective after it."""

    compute_ns: int
    collective: Collective | None = None
    group: Group = Group.TP
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a model."""

    index: int
    name: str
    forward: Part
    input_gradient: Part
    weight_gradient: Part
    update_ns: int
    policy: str | None
    """Policy of the layer with HYBRID_CUSTOMIZED."""
    line: Words


@dataclass(slots=True)
class Workload:
    """The contents of a workload file. Values that the header lacks are ``None``."""

    policy: str
    header: Words
    tp: int | None = None
    ep: int | None = None
    pp: int | None = None
    vpp: int | None = None
    ga: int | None = None
    all_gpus: int | None = None
    pp_comm: int | None = None
    last_bottom_layer: int | None = None
    checkpoints: list[int] = field(default_factory=list)
    initiates: list[int] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)


def parse(name: str, texts: list[str], findings: Findings) -> Workload:
    """Parse the lines of a workload."""
    lines = [line for line in lines_of(name, texts, findings) if line]
    if len(lines) < 2:
        end = lines[-1] if lines else Words(name, "", findings, 1)
        end.fail("the file ends where its header should come", len(end.words))
    workload = _header(lines[0])
    count = lines[1].integer("the number of layers", 1, MAX_LAYERS)
    lines[1].end()
    body = lines[2:]
    if len(body) < count:
        lines[1].fail(
            f"the header announces {count} layers, but {len(body)} follow",
            0,
            "the file may be cut off; if it is whole, correct the number",
        )
    if len(body) > count:
        body[count].warning(
            f"the header announces {count} layers: SimAI ignores silently what comes after them, "
            "and so does this import",
            0,
        )
    for index, line in enumerate(body[:count]):
        workload.layers.append(_layer(index, line, workload.policy))
    _check_layers(workload)
    return workload


def _header(line: Words) -> Workload:
    policy = line.next("a policy")
    if policy not in POLICIES:
        line.fail(f"expected a policy, found {shown(policy)}", hint=known_are(policy, POLICIES))
    workload = Workload(policy, line)
    seen: set[str] = set()
    while line:
        word = line.next("a key")
        key = word.removesuffix(":")
        if key in seen:
            line.fail(f"{key} is given twice")
        # AICB divides pp_comm, which then has a decimal.
        line.cut()
        if key in _NUMBERS:
            low = 0 if key in ("pp_comm", "DLRM_LAST_BOTTOM_LAYER") else 1
            setattr(workload, _NUMBERS[key], line.integer(key, low, 2**40))
        elif key in _LISTS:
            numbers = getattr(workload, _LISTS[key])
            for _ in range(line.integer(f"how many {key} there are", 0, MAX_LAYERS)):
                numbers.append(line.integer(f"a layer of {key}"))
        else:
            at = line.at - 1
            if word.endswith(":") and line.peek().isdigit():
                word = f"{word} {line.next('its value')}"
            marks = "AICB marks inference so; SimAI runs its gradients as well"
            message = f"SimAI skips {shown(word)} silently, and so does this import"
            line.warning(message, at, marks if key == "mode" else None)
            continue
        seen.add(key)
    return workload


def _layer(index: int, line: Words, policy: str) -> Layer:
    columns = 13 if policy == "HYBRID_CUSTOMIZED" else 12
    if len(line.words) != columns:
        line.fail(
            f"a layer has {columns} columns under {policy}, but here are {len(line.words)}",
            min(columns, len(line.words)),
        )
    name = line.next("a name")
    line.integer("the dependency", -(2**31), 2**31)
    forward = _part(line, "forward pass", Group.TP)
    inputs = _part(line, "gradient of the inputs", Group.TP)
    weights = _part(line, "gradient of the weights", Group.DP)
    update = line.integer("the time of the update in ns", 0, LONGEST_PS // 1000)
    own = line.expect(*POLICIES) if columns == 13 else None
    return Layer(index, name, forward, inputs, weights, update, own, line)


def _part(line: Words, what: str, default: Group) -> Part:
    compute = line.integer(f"the time of the {what} in ns", 0, LONGEST_PS // 1000)
    word = line.next("a collective")
    at = line.at - 1
    size = line.integer(f"the bytes of the {what}", 0, LARGEST_BYTES)
    if word == "NONE":
        return Part(compute)
    found = _COLLECTIVE.fullmatch(word)
    if found is None:
        line.warning(
            f"SimAI has no collective {shown(word)} and skips it silently; so does this import",
            at,
            kind=f"collectives {word}",
        )
        return Part(compute)
    kind = Collective.ALL_REDUCE if found[1] == _BOTH else Collective(found[1])
    if found[1] == _BOTH:
        line.warning(
            "SimAI reads this as an all-reduce, as the word begins; so does this import",
            at,
            kind=_BOTH,
        )
    if size == 0:
        line.warning(
            f"a collective of 0 bytes is skipped: {word}", at, kind="collectives of 0 bytes"
        )
        return Part(compute)
    return Part(compute, kind, Group(found[2]) if found[2] else default, size)


def _check_layers(workload: Workload) -> None:
    line, count = workload.header, len(workload.layers)
    for key, name in _LISTS.items():
        for layer in getattr(workload, name):
            if layer >= count:
                line.fail(f"{key} names layer {layer}, but there are {count}", 0)
    first = min(workload.checkpoints, default=count)
    for start in workload.initiates:
        if start < first:
            line.fail(
                f"layer {start} repeats the forward pass since its checkpoint, but no layer "
                "before it is a checkpoint",
                0,
            )
    if workload.checkpoints and workload.policy != RECOMPUTING:
        line.warning(f"checkpoints have a meaning under {RECOMPUTING} only", 0)
    last = workload.last_bottom_layer
    if last is not None and last >= count:
        line.fail(f"DLRM_LAST_BOTTOM_LAYER is {last}, but there are {count} layers", 0)
