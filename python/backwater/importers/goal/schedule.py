"""GOAL, the schedules of LogGOPSim and ATLAHS, as text.

A file has one block of statements for each rank::

    num_ranks 2
    rank 0 {
    a: calc 1000
    b: send 4096b to 1 tag 7
    b requires a
    }
    rank 1 {
    recv 4096b from 0 tag 7
    }

Times are in nanoseconds. The module `binary` reads the same schedules in binary format.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from backwater._base.positions import Place, in_file, place_at
from backwater.importers.common.source import Findings, Words, shown

ANY = 0xFFFF_FFFF
"""Value for any source or any tag."""

MAX_RANKS = 1 << 20

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*|-?\d+|\S")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KINDS = ("send", "recv", "calc")
_PLAIN = re.compile(
    r"\s*(?:([A-Za-z]\w*)\s*:\s*)?(?:(send|recv)\s+(\d{1,18})\s*b\s+(to|from)\s+(\d{1,7})"
    r"(?:\s+tag\s+(\d{1,9}))?|calc\s+(\d{1,18}))"
    r"(?:\s+cpu\s+(\d{1,2}))?(?:\s+nic\s+(\d{1,2}))?\s*",
    re.ASCII,
)
"""A whole line that is one plain statement, as nearly all are.

Such a line is parsed by one match. Other lines are parsed word by word, which gives precise errors.
"""

_PLAIN_EDGE = re.compile(r"\s*([A-Za-z]\w*)\s+(i?requires)\s+([A-Za-z]\w*)\s*", re.ASCII)


class Kind(IntEnum):
    """Kinds of operations, with the numbers of the binary format."""

    SEND = 1
    RECV = 2
    CALC = 3


class Operation(NamedTuple):
    """A send, a receive or a computation of a rank."""

    kind: Kind
    amount: int
    """Bytes of a message, or nanoseconds of a computation."""
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0


@dataclass(slots=True)
class Rank:
    """The operations of one rank."""

    operations: list[Operation] = field(default_factory=list)
    after_end: list[tuple[int, int]] = field(default_factory=list)
    """Pairs (later, earlier): the first starts after the second has ended."""
    after_start: list[tuple[int, int]] = field(default_factory=list)
    """Pairs (later, earlier): the first starts after the second has started."""
    names: dict[int, str] = field(default_factory=dict, compare=False)
    """Labels by operation, if the file has any."""
    places: array[int] = field(default_factory=lambda: array("Q"), compare=False)
    """Place of each operation: its line, or the offset of its first byte in a binary file."""


@dataclass(slots=True)
class Schedule:
    """The contents of a GOAL file: the operations of all ranks."""

    ranks: list[Rank]
    name: str = field(default="", compare=False)
    """Name of the file."""
    text: str | None = field(default=None, compare=False, repr=False)
    """The text of the file; ``None`` if the file is binary."""

    def place(self, rank: int, index: int) -> Place:
        """Return the place of an operation in the file."""
        at = self.ranks[rank].places[index]
        if self.text is None:
            return in_file(self.name, f"byte {at}")
        line = self.text.splitlines()[at - 1]
        start = len(line) - len(line.lstrip())
        return Place(self.name, at, start + 1, line, len(line.strip()))


def parse(name: str, text: str, findings: Findings) -> Schedule:
    """Parse the text of a GOAL schedule; ``name`` is the file's name in errors and warnings."""
    return _Parser(name, findings).schedule(_without_comments(name, text, findings))


def _without_comments(name: str, text: str, findings: Findings) -> str:
    """Replace comments by blanks, so that all other text keeps its line and column."""
    if "/" not in text:
        return text
    bare = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    start = bare.find("/*")
    if start >= 0:
        findings.fail("this comment is never closed", place_at(name, bare, start, 2))
    return bare


class _Parser:
    """Parses statements line by line."""

    def __init__(self, name: str, findings: Findings) -> None:
        self.name = name
        self.findings = findings
        self.ranks: dict[int, Rank] = {}
        self.count: int | None = None
        self.rank: Rank | None = None
        self.labels: dict[str, int] = {}
        self.edges: list[tuple[str, bool, str, int, str, int]] = []
        """Statements of the open block whose labels may be defined later.

        The fields are the label, true if it waits for the start, the other label, the line's
        number, the line's text, and the position of the label.
        """

    def schedule(self, text: str) -> Schedule:
        line = Words(self.name, "", self.findings, 1)
        for number, content in enumerate(text.splitlines(), 1):
            if self.rank is not None and (
                self._plain(number, content) or self._plain_edge(number, content)
            ):
                continue
            line = Words(self.name, content, self.findings, number, _TOKEN)
            while line:
                self._statement(line)
        if self.rank is not None:
            line.fail("the file ends inside a rank", line.at, "close the block with `}`")
        if self.count is None:
            line.fail("the file has no `num_ranks`", line.at)
        return Schedule(self._all_ranks(self.count), self.name, text)

    def _plain(self, number: int, text: str) -> bool:
        """Parse a line that is one plain operation; return false if it is something else."""
        match = _PLAIN.fullmatch(text)
        if match is None:
            return False
        label, kind, size, way, peer, tag, time, cpu, nic = match.groups()
        assert self.rank is not None
        assert self.count is not None
        if label is not None and (label in self.labels or label in _KINDS):
            return False
        if kind is None:
            operation = Operation(Kind.CALC, int(time), 0, 0, int(cpu or 0), int(nic or 0))
        elif int(peer) >= self.count or (kind == "send") != (way == "to"):
            return False
        else:
            what = Kind.SEND if kind == "send" else Kind.RECV
            operation = Operation(
                what, int(size), int(peer), int(tag or 0), int(cpu or 0), int(nic or 0)
            )
        if label is not None:
            self.labels[label] = len(self.rank.operations)
            self.rank.names[len(self.rank.operations)] = label
        self.rank.operations.append(operation)
        self.rank.places.append(number)
        return True

    def _plain_edge(self, number: int, text: str) -> bool:
        """Parse a line such as `b requires a`; return false if it is something else."""
        match = _PLAIN_EDGE.fullmatch(text)
        if match is None or match[1] in _KINDS:
            return False
        self.edges.append((match[1], match[2] == "irequires", match[3], number, text, 0))
        return True

    def _all_ranks(self, count: int) -> list[Rank]:
        missing = [r for r in range(count) if r not in self.ranks]
        if missing:
            some = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
            self.findings.warning(
                f"{self.name}: num_ranks is {count}, but there is no block for rank {some}: "
                "these ranks do nothing"
            )
        return [self.ranks.get(r, Rank()) for r in range(count)]

    def _statement(self, line: Words) -> None:
        word = line.next("a statement")
        if self.rank is None:
            self._outside(line, word)
        elif word == "}":
            self._close()
        elif word in _KINDS:
            self._operation(line, word, None)
        elif _LABEL.fullmatch(word):
            self._labelled(line, word)
        else:
            line.fail(f"expected `send`, `recv`, `calc`, a label or `}}`, found {shown(word)}")

    def _outside(self, line: Words, word: str) -> None:
        if word == "num_ranks":
            if self.count is not None:
                line.fail("`num_ranks` is given twice")
            self.count = line.integer("the number of ranks", 1, MAX_RANKS)
        elif word == "rank":
            if self.count is None:
                line.fail("`num_ranks` has to come before the first rank")
            number = line.integer("the number of a rank", 0, self.count - 1)
            if number in self.ranks:
                line.fail(f"rank {number} has a second block", None, "join the two blocks")
            if number < len(self.ranks):
                line.warning(
                    "LogGOPSim's converter needs the ranks in order; here their order is free",
                    kind="ranks that are out of order",
                )
            line.expect("{")
            self.rank = self.ranks[number] = Rank()
            self.labels, self.edges = {}, []
        else:
            line.fail(f"expected `num_ranks` or `rank`, found {shown(word)}")

    def _labelled(self, line: Words, label: str) -> None:
        at = line.at - 1
        word = line.expect(":", "requires", "irequires")
        if word == ":":
            kind = line.expect(*_KINDS)
            self._operation(line, kind, (label, at))
            return
        other = line.next("a label")
        if not _LABEL.fullmatch(other):
            line.fail(f"expected a label, found {shown(other)}")
        self.edges.append((label, word == "irequires", other, line.line, line.text, at))
        self._end(line)

    def _operation(self, line: Words, word: str, label: tuple[str, int] | None) -> None:
        assert self.rank is not None
        if label is not None:
            name, at = label
            if name in self.labels:
                line.warning(
                    f"the label {name} is taken already: LogGOPSim's converter silently lets it "
                    "mean the first of them, and so does this import",
                    at,
                    kind="labels that are given twice",
                )
            self.labels.setdefault(name, len(self.rank.operations))
            self.rank.names[len(self.rank.operations)] = name
        if word == "calc":
            amount = line.integer("the time of a computation in ns", 0, 2**63 - 1)
            operation = Operation(Kind.CALC, amount, 0, 0, *self._options(line, tagged=False)[1:])
        else:
            amount = line.integer("a number of bytes", 0, 2**63 - 1)
            line.expect("b")
            sends = word == "send"
            line.expect("to" if sends else "from")
            peer = self._peer(line, sends)
            tag, cpu, nic = self._options(line, tagged=True, wildcard=not sends)
            operation = Operation(Kind.SEND if sends else Kind.RECV, amount, peer, tag, cpu, nic)
        self.rank.operations.append(operation)
        self.rank.places.append(line.line)
        self._end(line)

    def _peer(self, line: Words, sends: bool) -> int:
        assert self.count is not None
        if not sends and line.peek() == "-1":
            line.next("a rank")
            return ANY
        return line.integer("the rank of the other side", 0, self.count - 1)

    def _options(self, line: Words, tagged: bool, wildcard: bool = False) -> tuple[int, int, int]:
        given: dict[str, int] = {}
        names = ("tag", "cpu", "nic") if tagged else ("cpu", "nic")
        while line.peek() in names:
            name = line.next("an option")
            if name in given:
                line.fail(f"`{name}` is given twice")
            if name == "tag" and wildcard and line.peek() == "-1":
                line.next("a tag")
                given[name] = ANY
            else:
                given[name] = line.integer(f"the {name}", 0, ANY - 1 if name == "tag" else 255)
        return given.get("tag", 0), given.get("cpu", 0), given.get("nic", 0)

    def _end(self, line: Words) -> None:
        """Raise an error if the line or the block continues after the statement."""
        if line and line.peek() != "}":
            line.end()

    def _close(self) -> None:
        assert self.rank is not None
        for label, starts, other, number, text, at in self.edges:
            later, earlier = self.labels.get(label), self.labels.get(other)
            if later is None or earlier is None or later == earlier:
                line = Words(self.name, text, self.findings, number, _TOKEN)
                if later is None:
                    line.fail(f"no operation of this rank has the label {label}", at)
                if earlier is None:
                    line.fail(f"no operation of this rank has the label {other}", at + 2)
                line.fail(f"{label} would wait for itself", at)
            (self.rank.after_start if starts else self.rank.after_end).append((later, earlier))
        self.rank = None
