"""Models of the circuits of BFC, cycle by cycle, independent of how the circuits are built."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from floodgate_models import mixed


@dataclass(frozen=True)
class Widths:
    """Sizes of an ingress pipeline that its behaviour depends on."""

    ports: int
    queues: int
    per_port: int
    upstream: int
    table_size: int
    table_queue: int
    time: int
    counter: int
    start: int = 0
    sampled_map: bool = True
    paused_eligible: bool = False
    first_exempt: bool = True
    stochastic: bool = False


@dataclass(frozen=True)
class Header:
    """A packet that arrives at a pipeline, or its header that is recirculated."""

    arrives: bool
    egress: int
    hash: int
    ingress: int
    upstream: int
    size: int
    random: int = 0
    row: int = 0
    allowed: bool = True
    sampled: bool = True
    was_over: bool = False


@dataclass(frozen=True)
class Status:
    """State of all egress queues: bytes, and which are paused."""

    lengths: list[list[int]]
    paused: list[list[bool]]

    def active(self, port: int) -> int:
        """Return the queues of a port that hold packets and are not paused."""
        queues = zip(self.lengths[port], self.paused[port], strict=True)
        return sum(length > 0 and not paused for length, paused in queues)


@dataclass
class Entry:
    """An entry of the flow table."""

    queue: int | None = None
    packets: int = 0
    last: int = 0


@dataclass
class Outputs:
    """Outputs of a pipeline in one cycle."""

    queue: int | None = None
    stale: bool = False
    shared: bool = False
    counted: bool = False
    over: bool = False
    pause: bool = False
    resume: bool = False
    key: tuple[int, int] = (0, 0)


class Pipeline:
    """An ingress pipeline: flow table, map of empty queues, choice, threshold, pause counters."""

    def __init__(self, widths: Widths, sticky: int, thresholds: list[list[int]]) -> None:
        """Begin with empty tables.

        `thresholds` has a row for each port speed, with the bytes for 1, 2, ... active queues.
        """
        self.widths = widths
        self.sticky = sticky
        self.thresholds = thresholds
        self.table: dict[tuple[int, int], Entry] = {}
        self.counters: dict[tuple[int, int], int] = {}
        self.start = [widths.start] * widths.ports
        self.empty = [[True] * widths.queues for _ in range(widths.ports)]
        self.second: tuple[Header, int] | None = None
        self.third: tuple[Header, bool] | None = None

    def entry(self, header: Header) -> Entry:
        """Return the entry of the flow table for the flow of a packet."""
        slot = header.hash * self.widths.per_port >> 32
        return self.table.setdefault((header.egress, slot), Entry())

    def step(self, header: Header | None, now: int, status: Status, refresh: bool) -> Outputs:
        """Take a header, and return the outputs of this cycle, which belong to earlier headers."""
        outputs = Outputs()
        third = self.third
        self.third = None
        if third is not None:
            self.count(*third, outputs)
        taken = self.place(*self.second, status, outputs) if self.second else None
        if refresh:
            self.empty = [[length == 0 for length in port] for port in status.lengths]
        if taken is not None:
            self.empty[taken[0]][taken[1]] = False
        self.second = None if header is None else (header, now)
        return outputs

    def count(self, header: Header, up: bool, outputs: Outputs) -> None:
        """Count a packet up or down, and report a pause or a resume."""
        outputs.key = (header.ingress, header.upstream)
        counter = self.counters.get(outputs.key, 0)
        if up:
            outputs.over = counter < (1 << self.widths.counter) - 1
            outputs.pause = counter == 0
            counter += outputs.over
        else:
            outputs.resume = counter == 1
            counter -= 1
        self.counters[outputs.key] = counter

    def place(
        self, header: Header, now: int, status: Status, outputs: Outputs
    ) -> tuple[int, int] | None:
        """Assign a queue to an arriving packet, or remove a packet from the flow table.

        Returns port and queue if an empty queue was assigned.
        """
        widths, entry = self.widths, self.entry(header)
        if not header.arrives:
            entry.packets -= 1
            entry.last = now
            if header.was_over:
                self.third = (header, False)
            return None
        taken = None
        age = (now - entry.last) % (1 << widths.time)
        alone = entry.packets == 0
        if entry.queue is None or not (entry.packets > 0 or age <= self.sticky):
            entry.queue, outputs.shared = self.choose(header, status)
            if not widths.stochastic:
                length = status.lengths[header.egress][entry.queue]
                outputs.stale = not outputs.shared and length > 0
                taken = (header.egress, entry.queue)
                self.start[header.egress] = (self.start[header.egress] + 1) % widths.queues
        # BFC-47: flows of one entry can have several queues.
        queue = self.by_hash(header) if widths.stochastic else entry.queue
        outputs.queue = queue
        entry.last = now
        outputs.counted = header.sampled and entry.packets < (1 << widths.table_size) - 1
        entry.packets += outputs.counted
        length = status.lengths[header.egress][queue]
        joins = length == 0 and not status.paused[header.egress][queue]
        active = max(status.active(header.egress) + joins, 1)
        over = length > self.thresholds[header.row][active - 1] and header.allowed
        if over and outputs.counted and not (alone and widths.first_exempt):
            self.third = (header, True)
        return taken

    def by_hash(self, header: Header) -> int:
        """Return the queue that the hash of a flow selects."""
        return mixed(header.hash ^ 0x5EED) * self.widths.queues >> 32

    def choose(self, header: Header, status: Status) -> tuple[int, bool]:
        """Return an empty queue, or else a random one; and true if it is random."""
        port, widths = header.egress, self.widths
        if widths.stochastic:
            return self.by_hash(header), False
        for nth in range(widths.queues):
            queue = (self.start[port] + nth) % widths.queues
            empty = status.lengths[port][queue] == 0
            if self.widths.sampled_map:
                empty = self.empty[port][queue]
            if empty and (widths.paused_eligible or not status.paused[port][queue]):
                return queue, False
        return header.random * widths.queues >> 16, True


class EgressPort:
    """An egress port: packets in its queues, paused queues, deficit round robin."""

    def __init__(self, queues: int, quantum: int) -> None:
        """Begin with empty queues."""
        self.quantum = quantum
        self.packets: list[deque[int]] = [deque() for _ in range(queues)]
        self.paused = [False] * queues
        self.round: deque[int] = deque()
        self.deficits = [0] * queues
        self.served = False

    def is_open(self, queue: int) -> bool:
        """Return true if a queue may send."""
        return bool(self.packets[queue]) and not self.paused[queue]

    def active(self) -> int:
        """Return the number of queues that may send."""
        return sum(map(self.is_open, range(len(self.packets))))

    def step(
        self,
        joins: list[tuple[int, int]],
        frame: tuple[bool, int] | None,
        bitmap: list[bool] | None,
        take: bool,
    ) -> int | None:
        """Advance one cycle; return the queue that sends its first packet, or None."""
        opened = [q for q in range(len(self.packets)) if self.is_open(q) and q not in self.round]
        sent = self.look(bool(opened)) if take and self.active() and self.round else None
        if opened:
            self.round.append(opened[0])
        for queue, size in joins:
            self.packets[queue].append(size)
        if bitmap is not None:
            self.paused = list(bitmap)
        elif frame is not None and frame[1] < len(self.paused):
            self.paused[frame[1]] = frame[0]
        return sent

    def look(self, is_joining: bool) -> int | None:
        """Serve the queue whose turn it is; return it if it sends its first packet, else None."""
        queue = self.round[0]
        if not self.is_open(queue):
            self.leave()
            return None
        if not self.served:
            self.deficits[queue] += self.quantum
            self.served = True
        size = self.packets[queue][0]
        if self.deficits[queue] < size:
            if not is_joining:
                self.round.rotate(-1)
                self.served = False
            return None
        self.deficits[queue] -= size
        self.packets[queue].popleft()
        if not self.packets[queue]:
            self.leave()
        return queue

    def leave(self) -> None:
        """Remove the queue whose turn it is from the round."""
        self.deficits[self.round.popleft()] = 0
        self.served = False


@dataclass
class PauseFrames:
    """Frames of a pipeline to its neighbours."""

    ports: int
    upstream: int
    depth: int
    paused: set[tuple[int, int]] = field(default_factory=set)
    pending: set[int] = field(default_factory=set)
    changes: deque[tuple[bool, int, int]] = field(default_factory=deque)
    sent: int = 0

    def first(self) -> tuple[int, bool, int] | tuple[int, int] | None:
        """Return the frame that leaves next: (port, on, queue), or (port, bitmap)."""
        if self.changes:
            on, port, queue = self.changes[0]
            return port, on, queue
        if self.pending:
            port = min(self.pending)
            return port, sum(1 << queue for at, queue in self.paused if at == port)
        return None

    def step(self, change: tuple[bool, int, int] | None, tick: bool, ready: bool) -> None:
        """Advance one cycle. `change` is (on, port, queue). With `ready` the first frame leaves.

        With `tick` a bitmap becomes due at each port.
        """
        is_full = len(self.changes) == self.depth
        frame = self.first()
        if ready and frame is not None:
            if len(frame) == 3:
                self.changes.popleft()
                self.sent = (self.sent + 1) % self.depth
            else:
                self.pending.discard(frame[0])
        if change is not None:
            on, port, queue = change
            if on:
                self.paused.add((port, queue))
            else:
                self.paused.discard((port, queue))
            if is_full:
                self.pending.add(port)
            else:
                self.changes.append(change)
        if tick:
            self.pending.update(range(self.ports))
