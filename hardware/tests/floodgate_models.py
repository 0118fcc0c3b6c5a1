"""Models of the circuits of Floodgate, independent of how the circuits are built."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

MASK = (1 << 32) - 1


def mixed(word: int) -> int:
    """Return the hash of a word (the finaliser of MurmurHash3)."""
    word = (word ^ word >> 16) * 0x85EB_CA6B & MASK
    word = (word ^ word >> 13) * 0xC2B2_AE35 & MASK
    return word ^ word >> 16


@dataclass(frozen=True)
class Packet:
    """A data packet."""

    dst: int
    below: bool
    size: int
    last_hop: bool = False


@dataclass(frozen=True)
class Credit:
    """A credit: units that are returned to the window of a destination."""

    dst: int
    units: int
    below: bool = False


@dataclass
class Result:
    """Outputs of the pipeline in one cycle."""

    passes: bool = False
    joins: bool = False
    hashed: bool = False
    releases: bool = False
    resumes: bool = False
    idle: bool = True
    voq: int | None = None
    changed: tuple[int, int] | None = None


@dataclass
class Pipeline:
    """Windows, VOQs and the scheduler of a switch, cycle by cycle."""

    voqs: int
    split: int
    initial_below: int
    initial_above: int
    in_bytes: bool = False
    with_vup: bool = False
    hashed: int = 0
    both_ways: bool = True
    in_flight: dict[int, int] = field(default_factory=dict)
    voq_of: dict[int, int] = field(default_factory=dict)
    queues: dict[int, deque[Packet]] = field(default_factory=dict)
    drained: deque[int] = field(default_factory=deque)
    due_vups: int = 0
    ready: set[int] = field(default_factory=set)
    last_tried: int = 0
    last_served: int = 0
    second: tuple[str, Packet | Credit | int | None, int] | None = None

    def held(self, dst: int) -> list[Packet]:
        """Return the packets of a destination in its VOQ."""
        if dst not in self.voq_of:
            return []
        return [packet for packet in self.queue(self.voq_of[dst]) if packet.dst == dst]

    def queue(self, voq: int) -> deque[Packet]:
        """Return the packets of a VOQ."""
        return self.queues.setdefault(voq, deque())

    def turn(self) -> int | None:
        """Return the VOQ that the scheduler tries next."""
        after = [(self.last_tried + 1 + nth) % self.voqs for nth in range(self.voqs)]
        return next((voq for voq in after if voq in self.ready), None)

    def step(self, external: Packet | Credit | None, vup_tick: bool) -> Result:
        """Advance one cycle: second half of the last operation, and first half of the next one."""
        was_ready, served_before = bool(self.ready), self.last_served
        turn = self.turn()
        drained_before = len(self.drained)
        was_try = self.second is not None and self.second[0] == "try"
        was_credit = self.second is not None and isinstance(self.second[1], Credit)
        next_second: tuple[str, Packet | Credit | int | None, int] | None = None
        vup = False
        if external is not None:
            next_second = ("external", external, 0)
        elif self.due_vups:
            next_second, vup = ("vup", self.drained[0], 0), True
        elif turn is not None and not was_try and not was_credit:
            queue = self.queue(turn)
            next_second = ("try", queue[0] if queue else None, turn)
        is_busy = (turn is not None and not was_try) or self.due_vups > 0
        is_busy |= self.second is not None and self.second[0] != "external"
        result = self.finish()
        result.idle = not is_busy and not result.resumes
        if vup:
            self.drained.popleft()
            self.due_vups -= 1
        if vup_tick:
            self.due_vups = drained_before - vup
        if not was_ready:
            self.last_tried = served_before
        if next_second is not None and next_second[0] == "try":
            self.last_tried = next_second[2]
        self.second = next_second
        return result

    def finish(self) -> Result:
        """Do the second half of an operation."""
        result = Result()
        if self.second is None:
            return result
        kind, what, voq = self.second
        if isinstance(what, Credit):
            key = self.key(what)
            self.in_flight[key] = max(self.in_flight.get(key, 0) - what.units, 0)
            if self.hashed:
                self.ready |= set(self.voq_of.values())
                result.resumes = True
            elif what.dst in self.voq_of:
                self.ready.add(self.voq_of[what.dst])
                result.resumes = True
        elif kind == "vup":
            assert isinstance(what, int)
            if what in self.voq_of and not self.held(what):
                del self.voq_of[what]
        elif kind == "try":
            assert what is None or isinstance(what, Packet)
            self.release(what, voq, result)
        elif isinstance(what, Packet):
            self.arrive(what, result)
        return result

    def key(self, what: Packet | Credit) -> int:
        """Return the entry of the window of a packet or credit."""
        if not self.hashed:
            return what.dst
        number = mixed(what.dst) * self.hashed >> 32
        return 2 * number + what.below if self.both_ways else number

    def has_room(self, packet: Packet) -> bool:
        """Return true if the window has room for a packet."""
        initial = self.initial_below if packet.below else self.initial_above
        return self.in_flight.get(self.key(packet), 0) + self.units(packet) <= initial

    def units(self, packet: Packet) -> int:
        """Return the units of a window that a packet occupies: its bytes, or 1."""
        return packet.size if self.in_bytes else 1

    def charge(self, packet: Packet) -> None:
        """Charge a packet to its window."""
        key = self.key(packet)
        self.in_flight[key] = self.in_flight.get(key, 0) + self.units(packet)

    def arrive(self, packet: Packet, result: Result) -> None:
        """Let a packet pass, or put it into a VOQ."""
        if packet.last_hop or (packet.dst not in self.voq_of and self.has_room(packet)):
            result.passes = True
            if not packet.last_hop:
                self.charge(packet)
            return
        result.joins = True
        if packet.dst not in self.voq_of:
            self.voq_of[packet.dst], result.hashed = self.choose(packet)
        result.voq = self.voq_of[packet.dst]
        self.queue(result.voq).append(packet)
        self.note(packet.dst, result)
        if self.with_vup:
            self.ready.add(result.voq)
            result.resumes = True

    def choose(self, packet: Packet) -> tuple[int, bool]:
        """Return the lowest free VOQ of a group and false, or else a hashed one and true."""
        if not self.split:
            first, end = 0, self.voqs
        elif packet.below:
            first, end = 0, self.split
        else:
            first, end = self.split, self.voqs
        used = set(self.voq_of.values())
        free = [voq for voq in range(first, end) if voq not in used]
        if free:
            return free[0], False
        return first + (mixed(packet.dst) * (end - first) >> 32), True

    def release(self, packet: Packet | None, voq: int, result: Result) -> None:
        """Try to release the first packet of a VOQ."""
        if packet is None or not self.has_room(packet):
            self.ready.discard(voq)
            return
        result.releases, result.voq = True, voq
        self.charge(packet)
        self.queue(voq).popleft()
        self.last_served = voq
        self.note(packet.dst, result)
        if not self.held(packet.dst):
            if not self.with_vup:
                del self.voq_of[packet.dst]
            elif packet.dst not in self.drained:
                self.drained.append(packet.dst)

    def note(self, dst: int, result: Result) -> None:
        """Report the bytes that a destination has in its VOQ."""
        result.changed = dst, sum(packet.size for packet in self.held(dst))


@dataclass
class Emitter:
    """Credits that ports have to return: counts, and destinations in the order of their counts."""

    ports: int
    ticks: int
    counts: dict[tuple[int, int], int] = field(default_factory=dict)
    due: dict[int, deque[int]] = field(default_factory=dict)
    age: dict[int, int] = field(default_factory=dict)

    def line(self, port: int) -> deque[int]:
        """Return the destinations of a port that have credits."""
        return self.due.setdefault(port, deque())

    def earn(self, port: int, dst: int, units: int) -> None:
        """Add units that a port has to return as credits for a destination."""
        if not self.counts.get((port, dst)):
            self.line(port).append(dst)
        self.counts[port, dst] = self.counts.get((port, dst), 0) + units

    def tick(self) -> None:
        """Advance the age of each port by one tick, up to `ticks`."""
        for port in range(self.ports):
            self.age[port] = min(self.age.get(port, 0) + 1, self.ticks)

    def may_send(self, port: int) -> bool:
        """Return true if a port returns its credits at this tick."""
        return bool(self.line(port)) and self.age.get(port, 0) == self.ticks
