"""Reference models of the circuits in plain Python, for tests with random stimuli.

Each class has the state of one module. `step` takes the inputs of one cycle and returns its
outputs. The rules are those of `specs/spfc.md`, `specs/switch.md` and `specs/pfc-quanta.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class PortState:
    """The state of one port of SPFC (Fig. 10): timeout clock, rate counter, state holder."""

    pulses: int
    counting_number: int
    victim_at_count: bool = False
    resume_at_once: bool = False
    waits_for_resume: bool = False

    def __post_init__(self) -> None:
        """Start with an empty interval."""
        self.left = self.pulses
        self.count = 0
        self.was_reached = False
        self.victim = False
        self.paused: set[int] = set()
        self.waits = self.waits_for_resume

    def step(self, pulse: bool, amount: int, pause: set[int], resume: set[int]) -> bool:
        """Advance one cycle; return true for a victim port. `amount` 0 means no departure."""
        if pulse:
            self.left -= 1
            if self.left == 0:  # SPFC-10, SPFC-11
                self.left = self.pulses
                self.was_reached = self.count >= self.counting_number
                self.count = 0
                self.victim = self.was_reached and not self.paused and not self.waits
        self.count += amount
        reached = self.count >= self.counting_number
        if self.victim_at_count and not self.paused and not self.waits:
            self.victim = self.victim or reached
        victim = self.victim
        if resume:
            self.paused -= resume
            self.waits = False  # SPFC-16
            if self.resume_at_once and not self.paused:  # SPFC-20
                self.victim = self.was_reached or reached
        if pause:  # SPFC-12, SPFC-17
            self.paused |= pause
            self.victim = False
        return victim


@dataclass(frozen=True)
class Buffer:
    """Division of a buffer and its thresholds, in bytes. `alpha` is in 1/65536."""

    reserve: int
    headroom_limit: int
    xon_offset: int
    buffer_bytes: int
    pool_bytes: int
    room_bytes: int
    last_frames: int
    is_dynamic: bool
    alpha: int
    fixed_threshold: int

    def threshold(self, used: int) -> int:
        """Return the normal threshold for a level of the pool."""
        if not self.is_dynamic:
            return self.fixed_threshold
        return max(self.pool_bytes - used, 0) * self.alpha >> 16

    def beyond(self, held: int) -> int:
        """Return the bytes of an ingress that are in the pool."""
        return max(held - self.reserve, 0)


@dataclass(frozen=True)
class Decision:
    """Outputs of one ingress in one cycle."""

    accept: bool = False
    drop: bool = False
    xon: bool = False
    xoff: bool = False
    spared: bool = False
    pool_used: int = 0
    """Level of the pool after the cycle."""


@dataclass
class Ingress:
    """Bytes and PFC state of one ingress and class."""

    buffer: Buffer
    held: int = 0
    headroom: int = 0
    paused: bool = False

    def step(self, entering: int, leaving: int, used: int, victim: bool) -> Decision:
        """Advance one cycle. Size 0 means no packet. `used` is the pool level before the cycle."""
        b = self.buffer
        xon = False
        if leaving:  # SW-14
            from_headroom = min(self.headroom, leaving)
            before = b.beyond(self.held)
            self.headroom -= from_headroom
            self.held -= leaving - from_headroom
            inside = b.beyond(self.held)
            used -= before - inside
            if self.paused and self.headroom == 0:
                below = inside + b.xon_offset <= b.threshold(used)
                xon = inside == 0 or (below and used + b.last_frames <= b.pool_bytes)
                self.paused = not xon
        if not entering:
            return Decision(xon=xon, pool_used=used)
        more = b.beyond(self.held + entering) - b.beyond(self.held)
        if used + more <= b.room_bytes and (not self.paused or more == 0):  # SW-12
            self.held += entering
            used += more
        elif self.headroom + entering <= b.headroom_limit:
            self.headroom += entering
        else:
            return Decision(drop=True, xon=xon, pool_used=used)
        if self.paused:
            return Decision(accept=True, xon=xon, pool_used=used)
        inside = b.beyond(self.held)
        last = inside > 0 and used + b.last_frames > b.pool_bytes  # SW-18
        over = last or inside > b.threshold(used)  # SW-13
        room = inside <= b.buffer_bytes and used + b.last_frames <= b.room_bytes
        keeps = victim and room  # SPFC-01, SPFC-02
        self.paused = self.headroom > 0 or (over and not keeps)
        spared = self.headroom == 0 and over and keeps
        return Decision(True, False, xon, self.paused, spared, used)


@dataclass
class PauseTimers:
    """Pauses that a port has received, in cycles that are left."""

    cycles: int
    left: list[int] = field(default_factory=lambda: [0] * 8)

    def step(self, frame: dict[int, int]) -> tuple[int, int]:
        """Advance one cycle; `frame` has the quanta by priority. Return masks: paused, expired.

        The pauses are those of this cycle, the expiries those that the next cycle shows.
        """
        paused = sum(1 << p for p in range(8) if self.left[p])
        expired = 0
        for priority in range(8):
            if priority in frame:  # QNT-02, QNT-03, QNT-04
                self.left[priority] = frame[priority] * self.cycles  # QNT-01
            elif self.left[priority]:
                self.left[priority] -= 1
                expired |= (self.left[priority] == 0) << priority
        return paused, expired


@dataclass
class Generator:
    """Frames that a port sends to pause and resume its upstream."""

    quanta: int
    period: int
    """Cycles after which a pause is repeated; 0: never."""
    waits_xoff: set[int] = field(default_factory=set)
    waits_xon: set[int] = field(default_factory=set)
    left: dict[int, int] = field(default_factory=dict)

    def step(
        self, xon: set[int], xoff: set[int], ready: bool
    ) -> tuple[dict[int, int] | None, set[int]]:
        """Advance one cycle. Return the frame that leaves (quanta by priority), and repetitions."""
        frame = None
        if ready and (self.waits_xoff or self.waits_xon):
            frame = dict.fromkeys(self.waits_xon, 0) | dict.fromkeys(self.waits_xoff, self.quanta)
            self.waits_xon -= frame.keys() - self.waits_xoff
            self.waits_xoff.clear()
        repeats = set()
        for priority in range(8):
            if priority in xon:  # QNT-06
                self.waits_xon.add(priority)
                self.left.pop(priority, None)
            elif priority in self.left:  # QNT-05
                self.left[priority] -= 1
                if self.left[priority] == 0:
                    repeats.add(priority)
            if priority in xoff:
                if priority not in self.waits_xon:
                    self.waits_xoff.add(priority)
                else:  # SW-44: repeat the pause frame, unless it still waits.
                    self.waits_xon.remove(priority)
                    if self.period and priority not in self.waits_xoff:
                        repeats.add(priority)
            self.waits_xoff |= repeats & {priority}
            if self.period and (priority in xoff or priority in repeats):
                self.left[priority] = self.period
        return frame, repeats
