"""GOAL schedules in the binary format of LogGOPSim's converter.

Numbers are little endian and packed. The file begins with a magic number of 8 bytes, and all
offsets count from its end. Then come the number of ranks, the highest cpu and nic, and the begin
and end of each rank's block.

A block has the number of its operations, and the number of those that wait for no other one. It has
a list of the latter and a record for each operation. An appendix lists the operations that wait for
each operation.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, NoReturn

from backwater._base.positions import in_file
from backwater.importers.common.source import Findings
from backwater.importers.goal.schedule import ANY, MAX_RANKS, Kind, Operation, Rank, Schedule

MAGIC = 4223
_CONSUMED = 2342
"""LogGOPSim replaces the magic number by this one when it has run the file."""

_HEAD = struct.Struct("<IBB")
_SPAN = struct.Struct("<QQ")
_COUNTS = struct.Struct("<II")
_RECORD = struct.Struct("<IBIQIBBIIII")
_START = 8
_MAX_AMOUNT = 2**63 - 1


def is_binary(data: bytes) -> bool:
    """Return true if a file begins like a binary schedule, even if it was already run."""
    return len(data) >= _START and int.from_bytes(data[:_START], "little") in (MAGIC, _CONSUMED)


def parse(name: str, data: bytes, findings: Findings) -> Schedule:
    """Parse the bytes of a binary schedule. Every offset and number is checked."""
    return _Reader(name, data, findings).schedule()


class _Record(NamedTuple):
    """Record of one operation in the file. The fields have the order of the file."""

    waits_for: int
    """Number of operations that this operation waits for."""
    kind: int
    peer: int
    amount: int
    tag: int
    cpu: int
    nic: int
    ends: int
    """Number of operations that wait for the end of this operation."""
    first_end: int
    """Index in the appendix of the first operation that waits for the end."""
    starts: int
    """Number of operations that wait for the start of this operation."""
    first_start: int
    """Index in the appendix of the first operation that waits for the start."""


class _Reader:
    def __init__(self, name: str, data: bytes, findings: Findings) -> None:
        self.name = name
        self.data = data
        self.findings = findings

    def fail(self, at: int, message: str, hint: str | None = None) -> NoReturn:
        self.findings.fail(message, in_file(self.name, f"byte {at}"), hint)

    def schedule(self) -> Schedule:
        if not is_binary(self.data):
            self.fail(0, f"this is no binary GOAL schedule: it does not begin with {MAGIC}")
        if int.from_bytes(self.data[:_START], "little") == _CONSUMED:
            self.fail(
                0,
                "LogGOPSim has run this schedule and changed it",
                "convert the text once more with txt2bin, or import the text",
            )
        ranks, _, _ = self._take(_HEAD, _START, "the header")
        if not 1 <= ranks <= MAX_RANKS:
            self.fail(_START, f"{ranks} ranks; expected 1 to {MAX_RANKS}")
        spans = _START + _HEAD.size
        end = spans + ranks * _SPAN.size
        if end > len(self.data):
            self.fail(spans, f"the file ends inside the table of {ranks} ranks")
        found = [self._rank(r, spans + r * _SPAN.size, end, ranks) for r in range(ranks)]
        return Schedule(found, self.name)

    def _take(self, what: struct.Struct, at: int, name: str) -> tuple[int, ...]:
        if at + what.size > len(self.data):
            self.fail(at, f"the file ends inside {name}")
        return what.unpack_from(self.data, at)

    def _rank(self, number: int, entry: int, lowest: int, ranks: int) -> Rank:
        begin, end = self._take(_SPAN, entry, f"the table entry of rank {number}")
        begin, end = begin + _START, end + _START
        if not lowest <= begin <= end <= len(self.data):
            self.fail(
                entry,
                f"rank {number} goes from byte {begin} to {end}, which is not in the file: it has "
                f"{len(self.data)} bytes, the first {lowest} of them header",
            )
        name = f"the block of rank {number}"
        if end - begin < _COUNTS.size:
            self.fail(begin, f"{name} has {end - begin} bytes, too few for its header")
        count, roots = self._take(_COUNTS, begin, name)
        records = begin + _COUNTS.size + 4 * roots
        appendix = records + count * _RECORD.size
        if roots > count or appendix > end:
            self.fail(
                begin,
                f"{name} announces {count} operations and {roots} first ones, but it is "
                f"{end - begin} bytes long",
            )
        if (end - appendix) % 4:
            self.fail(appendix, f"the appendix of rank {number} is no whole number of entries")
        after = struct.unpack_from(f"<{(end - appendix) // 4}I", self.data, appendix)
        rank = Rank()
        waits = [0] * count
        announced = []
        for index in range(count):
            at = records + index * _RECORD.size
            record = _Record(*_RECORD.unpack_from(self.data, at))
            where = f"operation {index} of rank {number}"
            rank.operations.append(self._operation(at, where, record, ranks))
            rank.places.append(at)
            announced.append(record.waits_for)
            for edges, many, start in (
                (rank.after_end, record.ends, record.first_end),
                (rank.after_start, record.starts, record.first_start),
            ):
                if many and start + many > len(after):
                    self.fail(
                        at,
                        f"{where} names entries {start} to {start + many - 1} of an appendix "
                        f"with {len(after)}",
                    )
                for later in after[start : start + many]:
                    if later >= count or later == index:
                        self.fail(at, f"{where} is awaited by operation {later} of {count}")
                    waits[later] += 1
                    edges.append((later, index))
        self._check_waits(records, number, waits, announced)
        self._check_roots(begin + _COUNTS.size, number, roots, waits)
        return rank

    def _operation(self, at: int, where: str, record: _Record, ranks: int) -> Operation:
        _, kind, peer, amount, tag, cpu, nic, *_ = record
        if kind not in (Kind.SEND, Kind.RECV, Kind.CALC):
            self.fail(at, f"{where} has the type {kind}; expected 1 send, 2 recv or 3 calc")
        if amount > _MAX_AMOUNT:
            what = "ns" if kind == Kind.CALC else "bytes"
            self.fail(at, f"{where} has {amount} {what}; expected up to {_MAX_AMOUNT}")
        if kind == Kind.CALC:
            return Operation(Kind.CALC, amount, 0, 0, cpu, nic)
        if peer >= ranks and not (kind == Kind.RECV and peer == ANY):
            self.fail(at, f"{where} has the peer {peer}, but there are {ranks} ranks")
        if kind == Kind.SEND and tag == ANY:
            self.fail(at, f"{where} is a send with any tag")
        return Operation(Kind(kind), amount, peer, tag, cpu, nic)

    def _check_waits(self, at: int, number: int, waits: list[int], announced: list[int]) -> None:
        for index, (found, read) in enumerate(zip(waits, announced, strict=True)):
            if found != read:
                self.fail(
                    at + index * _RECORD.size,
                    f"operation {index} of rank {number} says that it waits for {read} others, but "
                    f"{found} name it",
                )

    def _check_roots(self, at: int, number: int, count: int, waits: list[int]) -> None:
        read = sorted(struct.unpack_from(f"<{count}I", self.data, at))
        free = [index for index, waiting in enumerate(waits) if waiting == 0]
        if read != free:
            self.fail(
                at,
                f"rank {number} announces {len(read)} operations that wait for nothing, which are "
                f"not the {len(free)} that do",
            )
