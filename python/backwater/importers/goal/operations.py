"""Operations of a GOAL schedule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from backwater.importers.common.graphs import CycleError, in_order
from backwater.importers.common.source import LARGEST_BYTES, LONGEST_PS, Findings, problem
from backwater.importers.goal.schedule import ANY, Kind, Operation, Rank, Schedule
from backwater.workloads import Workload


@dataclass(frozen=True, slots=True)
class Host:
    """Cost of a message in the LogGOPS model.

    In a packet simulation the network replaces L, g and G.
    """

    overhead_ns: int
    """o: time of the processor for each message that it sends or receives."""
    eager_bytes: int
    """S: the transfer of a longer message starts when the receiver has posted a receive."""
    latency_ns: int
    """L: latency of the network."""
    gap_ns: int
    """g: time of the NIC for each message."""
    byte_ps: int
    """G: time of the NIC for each byte."""

    @property
    def estimate(self) -> str:
        """Text that describes the network of the model to `backwater estimate --network`."""
        rate = round(8 * 10**12 / self.byte_ps)
        return f"loggops:latency={self.latency_ns}ns,gap={self.gap_ns}ns,rate={rate}bps"


HOSTS = {
    "loggopsim": Host(1500, 65_535, 2500, 1000, 6000),
    "atlahs-ai": Host(200, 0, 3700, 5, 40),
    "atlahs-hpc": Host(8000, 256_000, 3000, 0, 180),
}
"""Parameters by their source; `loggopsim` are the defaults of that program."""


def convert(schedule: Schedule, host: Host, findings: Findings) -> Workload:
    """Convert a schedule to the operations of a workload.

    ``host`` has the cost of a message at a host. Raises ``ScenarioError`` for operations that can
    never start, or that are too large.
    """
    workload = Workload(
        len(schedule.ranks),
        options={
            "matching": "tag-and-source",
            "send_end": "eager",
            "queue_pairs": "per-message",
            "rendezvous_above_bytes": host.eager_bytes,
            "overhead_ps": host.overhead_ns * 1000,
        },
        source={"format": "goal"},
    )
    _check_matches(schedule, findings)
    for number in range(len(schedule.ranks)):
        _check_operations(number, schedule, findings)
    findings.stop_if_wrong()
    for number in range(len(schedule.ranks)):
        _rank(number, schedule, workload, findings)
    return workload


def nics(schedule: Schedule) -> int:
    """Return the number of NICs per rank: the highest NIC number of a message plus 1."""
    messages = (o for rank in schedule.ranks for o in rank.operations if o.kind is not Kind.CALC)
    return 1 + max((operation.nic for operation in messages), default=0)


def _rank(number: int, schedule: Schedule, workload: Workload, findings: Findings) -> None:
    rank = schedule.ranks[number]
    try:
        order = in_order(len(rank.operations), [*rank.after_end, *rank.after_start])
    except CycleError as error:
        found = " requires ".join(_called(rank, i) for i in [*error.members, error.members[0]])
        place = schedule.place(number, error.members[0])
        findings.fail(f"rank {number} can never finish: {found}", place)
    position = {index: at for at, index in enumerate(order)}
    ended: dict[int, list[int]] = {}
    started: dict[int, list[int]] = {}
    for edges, before in ((rank.after_end, ended), (rank.after_start, started)):
        for later, earlier in edges:
            before.setdefault(later, []).append(position[earlier])
    moved = any(at != index for at, index in enumerate(order))
    for index in order:
        operation = rank.operations[index]
        columns: dict[str, Any] = {
            "after": ended.get(index, ()),
            "after_start": started.get(index, ()),
            "resource": operation.cpu,
            "priority": index if moved else None,
            "name": rank.names.get(index),
        }
        if operation.kind is Kind.CALC:
            workload.calc(number, operation.amount * 1000, **columns)
            continue
        # Only receives may have any source and any tag.
        peer: Any = None if operation.peer == ANY else operation.peer
        tag: Any = None if operation.tag == ANY else operation.tag
        add = workload.send if operation.kind is Kind.SEND else workload.recv
        add(number, peer, operation.amount, tag, nic=operation.nic, **columns)


def _check_operations(number: int, schedule: Schedule, findings: Findings) -> None:
    rank = schedule.ranks[number]

    def wrong(index: int, kind: str, message: str, hint: str | None = None) -> None:
        findings.error(message, hint, kind, lambda: schedule.place(number, index))

    for index, operation in enumerate(rank.operations):
        computes = operation.kind is Kind.CALC
        if not computes and operation.peer == number:
            does = "sends to" if operation.kind is Kind.SEND else "receives from"
            message = f"rank {number} {does} itself ({_called(rank, index)})"
            wrong(index, "messages of a rank to itself", message, "what stays on a rank is a calc")
        most = LONGEST_PS // 1000 if computes else LARGEST_BYTES
        if operation.amount > most:
            what = f"{operation.amount} {'ns' if computes else 'bytes'}"
            called = _called(rank, index)
            message = f"rank {number}: {called} has {what}; up to {most} are possible"
            wrong(index, f"operations of more than {most}", message)


def _called(rank: Rank, index: int) -> str:
    return rank.names.get(index) or f"operation {index}"


_Key = tuple[int, int, int]
"""Sender, receiver and tag of messages."""


def _check_matches(schedule: Schedule, findings: Findings) -> None:
    """Warn of messages without receives, of receives without messages, and of unequal sizes."""
    left: Counter[tuple[_Key, int]] = Counter()
    """Number of sends minus number of receives, by message key and bytes."""
    takes_any = set()
    for number, rank in enumerate(schedule.ranks):
        for operation in rank.operations:
            if operation.kind is Kind.CALC:
                continue
            sends = operation.kind is Kind.SEND
            if not sends and ANY in (operation.peer, operation.tag):
                takes_any.add(number)
            about = _key(number, operation), operation.amount
            left[about] += 1 if sends else -1
            if left[about] == 0:
                del left[about]
    rest: Counter[_Key] = Counter()
    for (key, _), count in left.items():
        rest[key] += count
    for key in sorted(rest):
        src, dst, tag = key
        if dst in takes_any:
            continue
        kind = "sends and receives that do not match"
        if rest[key] == 0:
            kind = "messages and receives of different sizes"
        if findings.is_shown("warning", kind):
            happens, at, index = _mismatch(schedule, key)
            message = f"from rank {src} to {dst} with tag {tag} {happens}"
            findings.problems.append(problem("warning", message, schedule.place(at, index)))


def _mismatch(schedule: Schedule, key: _Key) -> tuple[str, int, int]:
    """Return a description of a mismatch, with the rank and the operation that show it."""
    src, dst, _ = key
    sent = _those(schedule.ranks[src], src, key, Kind.SEND)
    received = _those(schedule.ranks[dst], dst, key, Kind.RECV)
    out, into = len(sent), len(received)
    counts = f"there are {out} sends and {into} receives"
    if out > into:
        return f"{counts}: {out - into} are never received", src, sent[into]
    if into > out:
        return f"{counts}: {into - out} receives wait for ever", dst, received[out]
    mine, theirs = (schedule.ranks[rank].operations for rank in (src, dst))
    pairs = zip(sent, received, strict=True)
    send, recv = next((a, b) for a, b in pairs if mine[a].amount != theirs[b].amount)
    happens = (
        f"this receive is of {theirs[recv].amount} bytes, but the message that it takes has "
        f"{mine[send].amount} ({'byte' if schedule.text is None else 'line'} "
        f"{schedule.ranks[src].places[send]})"
    )
    return happens, dst, recv


def _key(rank: int, operation: Operation) -> _Key:
    if operation.kind is Kind.SEND:
        return rank, operation.peer, operation.tag
    return operation.peer, rank, operation.tag


def _those(rank: Rank, number: int, key: _Key, kind: Kind) -> list[int]:
    """Return the sends or receives of a rank with this message key."""
    return [
        index
        for index, operation in enumerate(rank.operations)
        if operation.kind is kind and _key(number, operation) == key
    ]
