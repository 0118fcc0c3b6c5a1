"""Checks that an algorithm in MSCCL's XML produces the result of its collective.

The check executes the steps and tracks the chunks that they move. A chunk is identified by its
number in the input and by the gpus that contributed to it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from backwater.importers.common.graphs import CycleError, in_order
from backwater.importers.common.xml_tree import Element
from backwater.importers.msccl.algorithm import READS, WRITES, Algorithm, Step

_MOST_CHUNKS = 1 << 18
"""Maximum number of moved chunks for which an algorithm is checked."""

_KNOWN = ("allreduce", "allgather", "reducescatter", "alltoall")


class _Chunk(NamedTuple):
    number: int
    """Position of the chunk in the input."""
    gpus: int
    """Bit mask of the gpus that contributed to the chunk."""


def check(algorithm: Algorithm) -> None:
    """Warn of an algorithm that cannot end, or that ends with a wrong chunk."""
    steps = [step for blocks in algorithm.gpus for block in blocks for step in block.steps]
    kind = algorithm.kind
    unknown = any(
        (step.type in READS and step.source is None)
        or (step.type in WRITES and step.target is None)
        for step in steps
    )
    if kind not in _KNOWN or unknown or sum(max(s.count, 0) for s in steps) > _MOST_CHUNKS:
        return
    if kind != "allreduce" and algorithm.chunks % len(algorithm.gpus):
        return
    modes = [mode for mode in (True, False) if algorithm.in_place in (None, mode)]
    found = [wrong for mode in modes if (wrong := _Run(algorithm, mode).wrong())]
    if len(found) == len(modes):
        element, message = found[0]
        element.warning(message, "its messages are run as they are")


class _Run:
    """Execution of an algorithm, step by step."""

    def __init__(self, algorithm: Algorithm, in_place: bool) -> None:
        self.algorithm = algorithm
        self.kind = algorithm.kind
        self.in_place = in_place
        self.ranks = len(algorithm.gpus)
        self.share = algorithm.chunks // self.ranks
        self.chunks: list[dict[tuple[str, int], _Chunk | None]] = [{} for _ in algorithm.gpus]
        inputs = self.share if self.kind == "allgather" else algorithm.chunks
        for rank, chunks in enumerate(self.chunks):
            for number in range(inputs):
                chunks[self._place(rank, "i", number)] = _Chunk(number, 1 << rank)
        self.steps = [
            (rank, block, step)
            for rank, blocks in enumerate(algorithm.gpus)
            for block in blocks
            for step in block.steps
        ]
        self.sender: dict[int, int] = {}
        """For each step that receives, the step that sends to it."""

    def _place(self, rank: int, buffer: str, at: int) -> tuple[str, int]:
        """Return the buffer and index of a chunk, also if input and output share a buffer."""
        if self.in_place and self.kind == "allreduce" and buffer == "o":
            return "i", at
        if self.in_place and self.kind == "allgather" and buffer == "i":
            return "o", rank * self.share + at
        if self.in_place and self.kind == "reducescatter" and buffer == "o":
            return "i", rank * self.share + at
        return buffer, at

    def wrong(self) -> tuple[Element, str] | None:
        """Return the first error of the algorithm with its element; ``None`` if it is correct."""
        try:
            order = in_order(len(self.steps), self._edges())
        except CycleError as error:
            # The first of these steps in the file waits for another thread block.
            rank, _, step = self.steps[min(error.members)]
            message = f"gpu {rank} never comes beyond this step: what it waits for waits too"
            return step.element, message
        sent: dict[int, list[_Chunk | None]] = {}
        for at in order:
            rank, _, step = self.steps[at]
            chunks = self._take(rank, step, sent.pop(self.sender[at]) if step.receives else [])
            if step.sends:
                sent[at] = chunks
        for rank, element in enumerate(self.algorithm.elements):
            for at, expected in self._output(rank):
                found = self.chunks[rank].get(self._place(rank, "o", at))
                if found != expected:
                    what = self._difference(found, expected)
                    return element, (
                        f"at the end of this {self.algorithm.collective} chunk {at} of the output "
                        f"of gpu {rank} {what}"
                    )
        return None

    def _output(self, rank: int) -> list[tuple[int, _Chunk]]:
        """Return the expected output chunks of a gpu."""
        everybody = (1 << self.ranks) - 1
        if self.kind == "allreduce":
            return [(at, _Chunk(at, everybody)) for at in range(self.algorithm.chunks)]
        own = range(rank * self.share, (rank + 1) * self.share)
        if self.kind == "reducescatter":
            return [(at, _Chunk(number, everybody)) for at, number in enumerate(own)]
        numbers = range(self.share) if self.kind == "allgather" else own
        return [
            (gpu * self.share + at, _Chunk(number, 1 << gpu))
            for gpu in range(self.ranks)
            for at, number in enumerate(numbers)
        ]

    def _difference(self, found: _Chunk | None, expected: _Chunk) -> str:
        if found is None or found.number != expected.number:
            return "is not the one that belongs there"
        missing = [gpu for gpu in range(self.ranks) if (expected.gpus & ~found.gpus) >> gpu & 1]
        listed = ", ".join(map(str, missing[:5])) + ", ..." * (len(missing) > 5)
        if missing:
            return f"lacks what gpu {listed} has" if len(missing) == 1 else f"lacks gpus {listed}"
        return "has the data of gpus that do not belong there"

    def _edges(self) -> list[tuple[int, int]]:
        """Return pairs (later, earlier): the first step waits for the end of the second."""
        number = {
            (rank, block.id, step.number): n for n, (rank, block, step) in enumerate(self.steps)
        }
        sends: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        receives: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        edges = []
        for at, (rank, block, step) in enumerate(self.steps):
            if step.number:
                edges.append((at, at - 1))
            if step.waits_for is not None:
                edges.append((at, number[rank, *step.waits_for]))
            if step.sends:
                sends[rank, block.send, block.channel].append(at)
            if step.receives:
                receives[block.recv, rank, block.channel].append(at)
        for channel, found in receives.items():
            self.sender |= zip(found, sends[channel], strict=True)
        return [*edges, *self.sender.items()]

    def _take(self, rank: int, step: Step, received: list[_Chunk | None]) -> list[_Chunk | None]:
        """Execute a step, and return the chunks that it sends, if any."""
        count = max(step.count, 0)
        read = self._read(rank, step.source, count) if step.type in READS else received
        if step.type in ("rrc", "rrs", "rrcs"):
            kept = self._read(rank, step.target or step.source, count)
            read = [_sum(a, b) or _sum(a, c) for a, b, c in zip(received, read, kept, strict=True)]
        elif step.type == "re":
            kept = self._read(rank, step.target, count)
            read = [_sum(a, b) for a, b in zip(read, kept, strict=True)]
        if step.type in WRITES and step.target is not None:
            buffer, first = step.target
            for at, chunk in enumerate(read):
                self.chunks[rank][self._place(rank, buffer, first + at)] = chunk
        return read

    def _read(self, rank: int, place: tuple[str, int] | None, count: int) -> list[_Chunk | None]:
        assert place is not None
        buffer, first = place
        own = self.chunks[rank]
        return [own.get(self._place(rank, buffer, first + at)) for at in range(count)]


def _sum(a: _Chunk | None, b: _Chunk | None) -> _Chunk | None:
    """Add two chunks; return ``None`` unless both are the same chunk from different gpus."""
    if a is None or b is None or a.number != b.number or a.gpus & b.gpus:
        return None
    return _Chunk(a.number, a.gpus | b.gpus)
