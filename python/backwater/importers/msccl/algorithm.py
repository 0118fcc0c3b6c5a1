"""Algorithms of collectives in the XML format of MSCCL, for ASTRA-sim's custom collectives.

An `algo` has a `gpu` for each rank. A `gpu` has thread blocks (`tb`), which have steps. A thread
block executes one step at a time. A step may also wait for a step of another thread block of its
rank.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from backwater.importers.common.source import known_are, meant, shown
from backwater.importers.common.xml_tree import Element

MAX_RANKS = 1 << 16

RECEIVES = ("r", "rrc", "rcs", "rrs", "rrcs")
SENDS = ("s", "rcs", "rrs", "rrcs")
REDUCES = ("rrc", "rrs", "rrcs", "re")
TYPES = ("s", *RECEIVES, "cpy", "re", "nop")

READS = ("s", "rrc", "rrs", "rrcs", "cpy", "re")
"""Steps that read chunks from a buffer of their own rank."""
WRITES = ("r", "rrc", "rcs", "rrcs", "cpy", "re")
"""Steps that write chunks to a buffer of their own rank."""

BUFFERS = {"i": "input", "o": "output", "s": "scratch"}

_CHILDREN = {"algo": "gpu", "gpu": "tb", "tb": "step"}
_ATTRIBUTES = {
    "algo": (
        *("name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll", "inplace"),
        *("outofplace", "minBytes", "maxBytes", "redop", "nthreadblocks", "maxcount"),
    ),
    "gpu": ("id", "i_chunks", "o_chunks", "s_chunks"),
    "tb": ("id", "send", "recv", "chan"),
    "step": (
        *("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"),
    ),
}
_COLLECTIVES = (
    *("allreduce", "allgather", "reduce_scatter", "reducescatter", "alltoall", "alltonext"),
    *("broadcast", "reduce", "scatter", "gather", "custom"),
)
_PROTOCOLS = ("Simple", "LL", "LL128")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a thread block."""

    number: int
    type: str
    count: int
    """Number of chunks."""
    waits_for: tuple[int, int] | None
    """Thread block and step of the same rank that must end first."""
    element: Element
    source: tuple[str, int] | None = None
    """Buffer and first chunk that the step reads, if given."""
    target: tuple[str, int] | None = None
    """Buffer and first chunk that the step writes, if given."""

    @property
    def receives(self) -> bool:
        """True if the step receives chunks."""
        return self.type in RECEIVES

    @property
    def sends(self) -> bool:
        """True if the step sends chunks."""
        return self.type in SENDS


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """A sequence of steps with at most one peer to send to and one to receive from."""

    id: int
    send: int
    """Peer to send to; -1: none."""
    recv: int
    channel: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm of a collective, which is the contents of one file."""

    name: str
    collective: str
    channels: int
    chunks: int
    """Number of chunks of the data."""
    gpus: tuple[tuple[ThreadBlock, ...], ...]
    elements: tuple[Element, ...]
    """The XML element of each gpu."""
    in_place: bool | None
    """True if input and output are one buffer; ``None`` if unknown."""

    @property
    def kind(self) -> str:
        """The collective as one word in lower case."""
        return self.collective.lower().replace("_", "")


def from_tree(top: Element) -> Algorithm:
    """Convert the element ``<algo>`` to an algorithm, and check it."""
    if top.name != "algo":
        top.fail(f"expected <algo>, found <{top.name}>")
    _check_children(top)
    _check_word(top, "coll", _COLLECTIVES)
    _check_word(top, "proto", _PROTOCOLS)
    ranks = top.integer("ngpus", 1, MAX_RANKS)
    found: dict[int, tuple[ThreadBlock, ...]] = {}
    elements: dict[int, Element] = {}
    for gpu in top.children:
        number = gpu.integer("id", 0, ranks - 1)
        if number in found:
            gpu.fail(f"gpu {number} comes twice")
        elements[number] = gpu
        found[number] = _blocks(gpu, number, ranks)
    if len(found) != ranks:
        missing = next(r for r in range(ranks) if r not in found)
        top.fail(f"ngpus is {ranks}, but there is no <gpu> {missing}")
    algorithm = Algorithm(
        top.attributes.get("name", ""),
        top.attributes.get("coll", ""),
        top.integer("nchannels", 1, 1 << 16, 1),
        top.integer("nchunksperloop", 1, 1 << 24),
        tuple(found[rank] for rank in range(ranks)),
        tuple(elements[rank] for rank in range(ranks)),
        {"0": False, "1": True}.get(top.attributes.get("inplace", "")),
    )
    _check_channels(top, algorithm)
    _check_pairs(algorithm)
    return algorithm


def _check_word(top: Element, key: str, known: tuple[str, ...]) -> None:
    """Warn if the attribute ``key`` of ``<algo>`` has an unknown value. It is ignored."""
    word = top.attributes.get(key)
    if word is None or word.lower() in [name.lower() for name in known]:
        return
    top.warning(f"{key} of <algo> is {shown(word)}, which is unknown", known_are(word, known))


def _check_channels(top: Element, algorithm: Algorithm) -> None:
    """Warn of channels outside the range that the file announces."""
    if "nchannels" not in top.attributes:
        return
    for gpu in top.children:
        for tb in gpu.children:
            if tb.integer("chan", 0, 1 << 16, 0) >= algorithm.channels:
                many = "1 channel" if algorithm.channels == 1 else f"{algorithm.channels} channels"
                tb.warning(
                    f"chan of <tb> is {tb.attributes['chan']}, but <algo> announces {many}, from 0",
                    "the channel is taken as it is; correct nchannels",
                    "channels that are not announced",
                )


def _check_children(element: Element) -> None:
    for key in element.attributes:
        known = _ATTRIBUTES.get(element.name, ())
        if key not in known:
            element.warning(
                f"{shown(key)} of <{element.name}> is unknown and has no effect",
                meant(key, known),
                f"unknown attributes {key}",
            )
    expected = _CHILDREN.get(element.name)
    for child in element.children:
        if child.name != expected:
            inside = f"expected <{expected}>" if expected else "expected nothing"
            child.fail(f"<{child.name}> does not belong into <{element.name}>", inside)
        _check_children(child)


def _blocks(gpu: Element, rank: int, ranks: int) -> tuple[ThreadBlock, ...]:
    blocks: dict[int, ThreadBlock] = {}
    sizes = {key: gpu.integer(f"{key}_chunks", 0, 1 << 24, -1) for key in BUFFERS}
    for tb in gpu.children:
        number = tb.integer("id", 0, 1 << 20)
        if number in blocks:
            tb.fail(f"thread block {number} of gpu {rank} comes twice")
        send, recv = (tb.integer(key, -1, ranks - 1, -1) for key in ("send", "recv"))
        if rank in (send, recv):
            tb.fail(f"gpu {rank} would send to itself")
        steps = _steps(tb, send, recv)
        for step in steps:
            if step.type in READS:
                _check_place(gpu, sizes, step, "src", step.source)
            if step.type in WRITES:
                _check_place(gpu, sizes, step, "dst", step.target)
        blocks[number] = ThreadBlock(number, send, recv, tb.integer("chan", 0, 1 << 16, 0), steps)
    for block in blocks.values():
        for step in block.steps:
            if step.waits_for is None:
                continue
            other, number = step.waits_for
            if other not in blocks or number >= len(blocks[other].steps):
                step.element.fail(
                    f"the step waits for step {number} of thread block {other}, which gpu {rank} "
                    "does not have"
                )
    return tuple(blocks.values())


def _steps(tb: Element, send: int, recv: int) -> tuple[Step, ...]:
    steps = []
    for index, element in enumerate(tb.children):
        if element.integer("s", 0, 1 << 24) != index:
            element.fail(
                f"this is step {index} of its thread block, but s is {element.attributes['s']}"
            )
        kind = element.choice("type", TYPES)
        for needs, peer, what in (
            (kind in SENDS, send, "send"),
            (kind in RECEIVES, recv, "recv"),
        ):
            if needs and peer < 0:
                element.fail(f"a step of type {kind} in a thread block whose {what} is -1")
        moves = kind in SENDS or kind in RECEIVES
        count = element.integer("cnt", *((1, 1 << 24) if moves else (-1, 1 << 24, 0)))
        block = element.integer("depid", -1, 1 << 20, -1)
        step = element.integer("deps", -1, 1 << 24, -1)
        if (block < 0) != (step < 0):
            element.fail("depid and deps are both -1, or none of them")
        places = (_place(element, side) for side in ("src", "dst"))
        waits_for = None if block < 0 else (block, step)
        steps.append(Step(index, kind, count, waits_for, element, *places))
    return tuple(steps)


def _place(element: Element, side: str) -> tuple[str, int] | None:
    """Read the buffer and the first chunk of one side of a step, if the step has both."""
    if f"{side}buf" not in element.attributes:
        return None
    buffer = element.choice(f"{side}buf", tuple(BUFFERS))
    offset = element.integer(f"{side}off", -1, 1 << 24, -1)
    return None if offset < 0 else (buffer, offset)


def _check_place(
    gpu: Element, sizes: dict[str, int], step: Step, side: str, place: tuple[str, int] | None
) -> None:
    """Check that a step stays inside its buffer, if the size of the buffer is known."""
    if place is None:
        return
    buffer, offset = place
    # An in-place algorithm uses one of the two buffers. The other one may have no size.
    stated = max("io", key=sizes.__getitem__) if buffer != "s" and not sizes[buffer] else buffer
    size = sizes[stated]
    if size >= 0 and offset + step.count > size:
        step.element.fail(
            f"{side}off {offset} and cnt {step.count} go beyond the {BUFFERS[buffer]} buffer of "
            f"gpu {gpu.attributes['id']}, which has {size} chunk{'s' * (size != 1)}",
            f"it is stated in line {gpu.place.line}, by {stated}_chunks",
        )


def _check_pairs(algorithm: Algorithm) -> None:
    """Check that each send on a channel has a receive with the same number of chunks."""
    sent: dict[tuple[int, int, int], list[Step]] = defaultdict(list)
    received: dict[tuple[int, int, int], list[Step]] = defaultdict(list)
    for rank, blocks in enumerate(algorithm.gpus):
        for block in blocks:
            for step in block.steps:
                if step.sends:
                    sent[rank, block.send, block.channel].append(step)
                if step.receives:
                    received[block.recv, rank, block.channel].append(step)
    for key in sorted({*sent, *received}):
        src, dst, channel = key
        ours, theirs = sent[key], received[key]
        where = f"from gpu {src} to gpu {dst} on channel {channel}"
        for out, into in zip(ours, theirs, strict=False):
            if out.count != into.count:
                into.element.fail(
                    f"{into.count} chunks are received here {where}, but {out.count} are sent in "
                    f"line {out.element.place.line}"
                )
        if len(ours) > len(theirs):
            ours[len(theirs)].element.fail(f"what is sent here {where} is never received")
        if len(theirs) > len(ours):
            theirs[len(ours)].element.fail(f"what is received here {where} is never sent")
