"""Connection matrices of htsim: `.cm` files.

A header has the numbers of nodes, connections, triggers and failures. Each of them has a line::

    Nodes 4
    Connections 2
    Triggers 1
    0->1 id 1 start 0 size 2000000 send_done_trigger 1
    0->2 id 2 trigger 1 size 2000000
    trigger id 1 oneshot

Starts are in picoseconds, sizes in bytes. The module `topology` reads the network.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from backwater.importers.common.source import (
    LARGEST_BYTES,
    Findings,
    Words,
    known_are,
    lines_of,
    meant,
    shown,
)

MAX_NODES = 1 << 20

_HEADER = ("Nodes", "Connections", "Triggers", "Failures")


class Fires(StrEnum):
    """Kinds of triggers."""

    ONESHOT = "oneshot"
    """The first activation starts all connections of the trigger."""
    MULTISHOT = "multishot"
    """Each activation starts the next connection of the trigger."""
    BARRIER = "barrier"
    """The trigger starts all its connections after a number of activations."""


@dataclass(slots=True)
class Connection:
    """A message from one node to another."""

    src: int
    dst: int
    line: Words
    bytes: int = 0
    """Bytes of the message. 0: the connection sends until the end of the run."""
    id: int = 0
    """Number of the connection; 0 if the file gives none."""
    msg: int = 0
    """Number of the message on its connection; -1: it has none, 0: it is the only one."""
    start_ps: int | None = None
    trigger: int = 0
    """The trigger that starts the connection, if it has no start time; 0: none."""
    send_done: int = 0
    """The trigger that is activated when the last byte is acknowledged; 0: none."""
    recv_done: int = 0
    """The trigger that is activated when the last byte has arrived; 0: none."""
    prio: int | None = None


@dataclass(slots=True)
class Trigger:
    """Starts connections when other connections end."""

    id: int
    fires: Fires
    count: int
    """Number of activations that a barrier needs."""
    line: Words


@dataclass(frozen=True, slots=True)
class Failure:
    """A link that is down, by its number: the uplink of a switch, or a link of a core switch."""

    switch: str
    """`TOR`, `AGG` or `CORE`."""
    switch_id: int
    link_id: int
    line: Words


@dataclass(slots=True)
class Matrix:
    """The contents of a connection matrix file."""

    nodes: int
    connections: list[Connection] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def started(self) -> dict[int, list[Connection]]:
        """Return the connections that each trigger starts, in the order of the file."""
        found: dict[int, list[Connection]] = {}
        for connection in self.connections:
            if connection.trigger:
                found.setdefault(connection.trigger, []).append(connection)
        return found


def parse(name: str, lines: list[str], findings: Findings) -> Matrix:
    """Read the lines of a connection matrix."""
    return _Parser(name, findings).matrix(lines)


class _Parser:
    def __init__(self, name: str, findings: Findings) -> None:
        self.name = name
        self.findings = findings
        self.header: dict[str, tuple[int, Words]] = {}
        self.parsed = Matrix(0)

    def matrix(self, lines: list[str]) -> Matrix:
        line = Words(self.name, "", self.findings, 1)
        for line in lines_of(self.name, lines, self.findings):
            if line and not line.words[0].startswith("#"):
                self._line(line)
        if "Nodes" not in self.header:
            line.fail("the file has no `Nodes`", line.at)
        self._check_counts()
        self._check_connections()
        self._check_triggers()
        return self.parsed

    def _line(self, line: Words) -> None:
        word = line.next("a connection")
        if word in _HEADER:
            low, high = (1, MAX_NODES) if word == "Nodes" else (0, 2**31)
            if word in self.header:
                line.fail(f"`{word}` is given twice")
            self.header[word] = line.integer(f"the number of {word.lower()}", low, high), line
            line.end()
            if word == "Nodes":
                self.parsed.nodes = self.header[word][0]
        elif "->" in word:
            self.parsed.connections.append(self._connection(line, word))
        elif word == "trigger":
            trigger = self._trigger(line)
            if trigger.id in self.parsed.triggers:
                line.fail(f"trigger {trigger.id} is defined twice")
            self.parsed.triggers[trigger.id] = trigger
        elif word == "failure":
            self.parsed.failures.append(self._failure(line))
        else:
            known = [*_HEADER, "trigger", "failure"]
            expected = f"a connection such as 0->1, or one of {', '.join(known)}"
            line.fail(f"expected {expected}; found {shown(word)}", hint=meant(word, known))

    def _connection(self, line: Words, word: str) -> Connection:
        if not self.parsed.nodes:
            line.fail("`Nodes` has to come before the first connection")
        ends = [int(x) if x.isascii() and x.isdigit() else -1 for x in word.split("->")]
        if len(ends) != 2 or min(ends) < 0 or len(word) > 30:
            line.fail(f"expected two nodes such as 0->1, found {shown(word)}")
        for node in ends:
            if node >= self.parsed.nodes:
                line.fail(f"node {node} does not exist: `Nodes` is {self.parsed.nodes}")
        if ends[0] == ends[1]:
            line.fail(f"node {ends[0]} would send to itself", None, "remove the line")
        readers: dict[str, tuple[str, Callable[[], int]]] = {
            "id": ("id", lambda: line.integer("an id", 1)),
            "msg": ("msg", lambda: _message(line)),
            "start": ("start_ps", lambda: line.picoseconds("the start")),
            "size": ("bytes", lambda: line.integer("the size", 0, LARGEST_BYTES)),
            "trigger": ("trigger", lambda: line.integer("a trigger", 1)),
            "send_done_trigger": ("send_done", lambda: line.integer("a trigger", 1)),
            "recv_done_trigger": ("recv_done", lambda: line.integer("a trigger", 1)),
            "prio": ("prio", lambda: line.integer("the priority")),
        }
        found = _options(line, {word: read for word, (_, read) in readers.items()}, "a connection")
        given = {readers[word][0]: value for word, value in found.items()}
        made = Connection(ends[0], ends[1], line, **given)
        if made.bytes == 0 and (made.send_done or made.recv_done):
            line.fail("a connection without a size never ends, so it activates no trigger", 0)
        if made.start_ps is None and not made.trigger:
            line.fail("the connection has neither `start` nor `trigger`", 0)
        if made.start_ps is not None and made.trigger:
            line.fail("the connection has both `start` and `trigger`", 0, "leave one of them out")
        return made

    def _trigger(self, line: Words) -> Trigger:
        readers: dict[str, Callable[[], Any]] = {
            "id": lambda: line.integer("the id of a trigger", 1),
            "count": lambda: line.integer("the count", 1),
            **dict.fromkeys(Fires, lambda: True),
        }
        found = _options(line, readers, "a trigger")
        kinds = [kind for kind in Fires if kind in found]
        if "id" not in found:
            line.fail("the trigger has no `id`", 0)
        if len(kinds) != 1:
            line.fail("a trigger is one of `oneshot`, `multishot` and `barrier`", 0)
        if kinds[0] is Fires.BARRIER and "count" not in found:
            line.fail("a barrier needs a `count`", 0, "it says how many activations it waits for")
        if kinds[0] is not Fires.BARRIER and "count" in found:
            line.warning(
                f"the count of a {kinds[0]} trigger has no effect; htsim ignores it silently",
                line.words.index("count"),
                kind="counts of triggers that are no barriers",
            )
        return Trigger(found["id"], kinds[0], found.get("count", 1), line)

    def _failure(self, line: Words) -> Failure:
        readers: dict[str, Callable[[], Any]] = {
            "switch_type": lambda: line.expect("TOR", "AGG", "CORE"),
            "switch_id": lambda: line.integer("the switch"),
            "link_id": lambda: line.integer("the link"),
        }
        found = _options(line, readers, "a failure")
        if len(found) != len(readers):
            line.fail("a failure has a `switch_type`, a `switch_id` and a `link_id`", 0)
        return Failure(found["switch_type"], found["switch_id"], found["link_id"], line)

    def _check_counts(self) -> None:
        parsed = self.parsed
        counts = (len(parsed.connections), len(parsed.triggers), len(parsed.failures))
        for name, found in zip(_HEADER[1:], counts, strict=True):
            announced, line = self.header.get(name, (0, None))
            what = name.lower()
            if line is not None and announced != found:
                line.warning(
                    f"the header announces {announced} {what}, but there are {found}: newer htsim "
                    "stops here; all that are there are taken",
                    1,
                )
            elif line is None and found:
                self.findings.warning(
                    f"{self.name}: there are {found} {what}, but the header has no `{name}`: "
                    "newer htsim stops here; all that are there are taken"
                )

    def _check_connections(self) -> None:
        if not self.parsed.connections:
            self.findings.fail(f"{self.name}: there is no connection")
        first: dict[int, Connection] = {}
        for made in self.parsed.connections:
            other = first.setdefault(made.id, made) if made.id else made
            if other is made:
                continue
            if not (made.msg and other.msg):
                made.line.fail(
                    f"the id {made.id} is that of line {other.line.line} already",
                    made.line.words.index("id") + 1,
                    "several messages share a connection if each has a `msg`",
                )
            if (made.src, made.dst) != (other.src, other.dst):
                made.line.fail(
                    f"connection {made.id} goes from {other.src} to {other.dst} in line "
                    f"{other.line.line}, but from {made.src} to {made.dst} here",
                    0,
                )

    def _check_triggers(self) -> None:
        used: set[int] = set()
        fired: set[int] = set()
        for made in self.parsed.connections:
            for word, number, seen in (
                ("trigger", made.trigger, used),
                ("send_done_trigger", made.send_done, fired),
                ("recv_done_trigger", made.recv_done, fired),
            ):
                if number and number not in self.parsed.triggers:
                    made.line.warning(
                        f"trigger {number} is not defined, where newer htsim stops: it is taken "
                        "for a oneshot",
                        made.line.words.index(word) + 1,
                        kind="triggers that are not defined",
                    )
                    self.parsed.triggers[number] = Trigger(number, Fires.ONESHOT, 1, made.line)
                seen.add(number)
        for trigger in self.parsed.triggers.values():
            if trigger.id not in used:
                trigger.line.warning(
                    f"trigger {trigger.id} starts nothing", 0, kind="triggers that start nothing"
                )
            elif trigger.id not in fired:
                trigger.line.fail(
                    f"nothing activates trigger {trigger.id}, so what it starts never starts", 0
                )
        self._check_starts()

    def _check_starts(self) -> None:
        """Raise an error if a connection can never start."""
        waiting = {number: deque(found) for number, found in self.parsed.started().items()}
        activated: Counter[int] = Counter()
        ended = [c for c in self.parsed.connections if not c.trigger]
        while ended:
            made = ended.pop()
            for number in (made.send_done, made.recv_done):
                trigger = self.parsed.triggers.get(number)
                if trigger is None:
                    continue
                activated[number] += 1
                left = waiting.get(number)
                if not left:
                    continue
                if trigger.fires is Fires.MULTISHOT:
                    ended.append(left.popleft())
                elif trigger.fires is Fires.ONESHOT or activated[number] >= trigger.count:
                    ended += waiting.pop(number)
        for number, left in waiting.items():
            if left:
                trigger = self.parsed.triggers[number]
                needs = f" of {trigger.count}" if trigger.fires is Fires.BARRIER else ""
                left[0].line.fail(
                    f"this connection never starts: trigger {number} ({trigger.fires}) is "
                    f"activated {activated[number]}{needs} times",
                    0,
                )


def _message(line: Words) -> int:
    """Take the number of a message; return -1 if the line does not continue with a number."""
    if line and not line.peek().lstrip("-").isdigit():
        return -1
    return line.integer("the number of a message", 1)


def _options(line: Words, readers: Mapping[str, Callable[[], Any]], what: str) -> dict[str, Any]:
    """Read the rest of a line: names with their values, in any order; return the values by name."""
    found: dict[str, Any] = {}
    while line:
        word = line.next("a name")
        if word not in readers:
            line.fail(f"{what} has no {shown(word)}", hint=known_are(word, readers))
        if word in found:
            line.fail(f"`{word}` is given twice")
        found[word] = readers[word]()
    return found
