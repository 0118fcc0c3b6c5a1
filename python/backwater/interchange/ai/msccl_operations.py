"""Operations of an algorithm in MSCCL's XML."""

from __future__ import annotations

from backwater.interchange.ai.graphs import CircleError, in_order
from backwater.interchange.ai.msccl import REDUCES, Algorithm, ThreadBlock
from backwater.interchange.source import Findings
from backwater.workloads import Workload

_BUS = {"allreduce": 2, "allgather": 1, "reducescatter": 1, "alltoall": 1}
"""How often all but one n-th of the data go over the link of a rank at least, by collective."""


def bus_note(algorithm: Algorithm, size_bytes: int) -> str | None:
    """Say how the time of a workload becomes a bus bandwidth, where the collective is known."""
    times, ranks = _BUS.get(algorithm.kind), len(algorithm.gpus)
    if times is None or ranks < 2:
        return None
    return (
        f"results have the messages of this {algorithm.collective} and no collective: its bus "
        f"bandwidth is {times * (ranks - 1)}/{ranks} of {size_bytes} bytes by the time of the "
        "workload"
    )


def convert(
    name: str,
    algorithm: Algorithm,
    size_bytes: int,
    reduction_ps_per_byte: float,
    findings: Findings,
) -> Workload:
    """Make operations of an algorithm for data of ``size_bytes``.

    A step is a receive, a reduction and a send, or what of these it has. A thread block takes one
    step after the other; the end of a send is its last ACK.
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
    for rank, blocks in enumerate(algorithm.gpus):
        _rank(name, rank, blocks, chunk, reduction_ps_per_byte, workload, findings)
    return workload


def _rank(
    name: str,
    rank: int,
    blocks: tuple[ThreadBlock, ...],
    chunk: int,
    reduction_ps_per_byte: float,
    workload: Workload,
    findings: Findings,
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
    except CircleError as error:
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
        if step.receives:
            after = [workload.recv(rank, block.recv, size, block.channel, after=after, name=label)]
        if step.type in REDUCES:
            time = round(max(step.count, 1) * chunk * reduction_ps_per_byte)
            after = [workload.calc(rank, time, after=after, name=label)]
        if step.sends:
            after = [
                workload.send(
                    rank,
                    block.send,
                    size,
                    block.channel,
                    after=after,
                    channel=block.channel,
                    name=label,
                )
            ]
        if step.type in ("cpy", "nop"):
            after = [workload.calc(rank, 0, after=after, name=label)]
        last[at] = after[0]
