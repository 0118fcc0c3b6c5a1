"""Operations of an algorithm in MSCCL's XML."""

from __future__ import annotations

from typing import Any

from backwater.importers.common.graphs import CycleError, in_order
from backwater.importers.common.source import Findings
from backwater.importers.msccl.algorithm import REDUCES, Algorithm, ThreadBlock
from backwater.workloads import Workload

_KINDS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
}
"""Names of collectives in results, by their name in the XML."""


def convert(
    name: str,
    algorithm: Algorithm,
    size_bytes: int,
    reduction_ps_per_byte: float,
    findings: Findings,
) -> Workload:
    """Return the operations of an algorithm for data of ``size_bytes``.

    A step consists of a receive, a reduction and a send, or some of these. A thread block executes
    one step after the other. A send ends with its last ACK. If results have the kind of collective,
    the operations together form one collective.
    """
    chunk = -(-size_bytes // algorithm.chunks)
    if size_bytes % algorithm.chunks:
        findings.warning(
            f"{name}: {size_bytes} bytes are no multiple of {algorithm.chunks} chunks: a chunk has "
            f"{chunk} bytes, so {chunk * algorithm.chunks} bytes are moved in all"
        )
    workload = Workload(
        len(algorithm.gpus),
        options={
            "matching": "tag-and-source",
            "send_end": "acknowledged",
            "queue_pairs": "per-message",
        },
        source={"format": "msccl", "algorithm": algorithm.name, "collective": algorithm.collective},
    )
    kind = _KINDS.get(algorithm.kind)
    has_steps = any(block.steps for blocks in algorithm.gpus for block in blocks)
    whole = workload.composed(kind, size_bytes) if kind and size_bytes and has_steps else None
    for rank, blocks in enumerate(algorithm.gpus):
        _rank(rank, blocks, chunk, reduction_ps_per_byte, workload, whole)
    return workload


def _rank(
    rank: int,
    blocks: tuple[ThreadBlock, ...],
    chunk: int,
    reduction_ps_per_byte: float,
    workload: Workload,
    whole: int | None,
) -> None:
    steps = [(block, step) for block in blocks for step in block.steps]
    number = {(block.id, step.number): at for at, (block, step) in enumerate(steps)}
    before: list[list[int]] = []
    for block, step in steps:
        waits = [number[block.id, step.number - 1]] if step.number else []
        if step.waits_for is not None:
            waits.append(number[step.waits_for])
        before.append(waits)
    edges = [(later, earlier) for later, waits in enumerate(before) for earlier in waits]
    try:
        order = in_order(len(steps), edges)
    except CycleError as error:
        block, step = steps[error.members[0]]
        step.element.fail(
            f"gpu {rank} can never finish: step {step.number} of thread block {block.id} waits, "
            "over others, for itself"
        )
    last: dict[int, int] = {}
    for at in order:
        block, step = steps[at]
        after = [last[earlier] for earlier in before[at]]
        size = step.count * chunk
        label = f"gpu {rank} tb {block.id} step {step.number}"
        common: dict[str, Any] = {"part_of": whole, "name": label}
        if step.receives:
            after = [workload.recv(rank, block.recv, size, block.channel, after=after, **common)]
        if step.type in REDUCES:
            time = round(max(step.count, 1) * chunk * reduction_ps_per_byte)
            after = [workload.calc(rank, time, after=after, **common)]
        if step.sends:
            after = [
                workload.send(
                    rank,
                    block.send,
                    size,
                    block.channel,
                    after=after,
                    channel=block.channel,
                    **common,
                )
            ]
        if step.type in ("cpy", "nop"):
            after = [workload.calc(rank, 0, after=after, **common)]
        last[at] = after[0]
