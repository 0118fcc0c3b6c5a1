"""Models of the circuits of HPCC in plain Python, by the rules of `specs/hpcc.md`."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache

WORD = (1 << 32) - 1
SPEEDS = {16: 12, 17: 7}
"""Speeds with a code, by the bits of a queue length."""
RATES_MBPS = (25_000, 50_000, 100_000, 200_000, 400_000, 800_000, 10_000, 40_000, 1_600_000, 1_000)
"""Rates by their code (HPCC-30)."""


@cache
def entries(epsilon_ppm: int) -> list[int]:
    """Return the integers that have an entry in the table of reciprocals."""
    keys, key, rest = [], 1, 1_000_000 - epsilon_ppm
    while key < 1 << 22:
        keys.append(key)
        key = max(-(-key * 1_000_000 // rest), key + 1)
    return keys


def reciprocal(number: int, epsilon_ppm: int) -> int:
    """Return 1/number of the table in units of 2^-32."""
    keys = entries(epsilon_ppm)
    key = keys[max(bisect_right(keys, number) - 1, 0)]
    return min((1 << 32) // key, WORD)


@dataclass(frozen=True)
class Constants:
    """The registers of a NIC, as `Constants` of the dataplane."""

    base_rtt_ns: int
    eta: int
    per_eta: int
    max_stage: int
    wai: int
    least: int
    most: int
    line: int
    queue_factors: tuple[int, ...]
    sent_factors: tuple[int, ...]
    epsilon_ppm: int = 10_000
    qlen_bits: int = 16

    @property
    def per_base_rtt(self) -> int:
        """Return 2^36 / T, where T is the base RTT in ns; at most the largest word."""
        return min((1 << 36) // self.base_rtt_ns, WORD)

    def inputs(self) -> dict[str, int]:
        """Return the inputs of the circuit."""
        names = ("base_rtt_ns", "per_base_rtt", "eta", "per_eta", "max_stage")
        values = {name: getattr(self, name) for name in (*names, "wai", "least", "most", "line")}
        for name in ("queue_factors", "sent_factors"):
            factors = getattr(self, name)
            values[name] = sum(factor << 32 * code for code, factor in enumerate(factors))
        return values


@dataclass(frozen=True)
class Ack:
    """An acknowledgement: telemetry to the bit, and sequence numbers."""

    flow: int
    path: int
    records: tuple[int, ...]
    seq: int
    snd_nxt: int


@dataclass
class Flow:
    """State of one flow."""

    constants: Constants
    path: tuple[int, int] = (0, 0)
    links: list[int] = field(default_factory=lambda: [0] * 8)
    utilisation: int = 1 << 20
    stage: int = 0
    last_update: int = 0
    reference: int = 0

    def __post_init__(self) -> None:
        """Start at line rate."""
        self.reference = self.constants.most

    def link(self, last: int, new: int) -> tuple[int, int] | None:
        """Return the utilisation u' of a link, and the time between the two records in ns.

        None is returned if the link is skipped (HPCC-20).
        """
        c = self.constants
        speed = new >> 44 + c.qlen_bits
        elapsed = (new >> 20 + c.qlen_bits) - (last >> 20 + c.qlen_bits) & 0xFFFFFF
        sent = (new >> c.qlen_bits) - (last >> c.qlen_bits) & 0xFFFFF
        ends = (1 << c.qlen_bits) - 1
        queued = min(new & ends, last & ends)
        if elapsed == 0 or speed >= SPEEDS[c.qlen_bits]:
            return None  # HPCC-20
        coarse = 2 if elapsed >> 22 else 0
        quotient = sent * reciprocal(elapsed >> coarse, c.epsilon_ppm)
        rate_share = min(quotient >> 8 + coarse, WORD) * c.sent_factors[speed] >> 20
        queue_share = queued * c.queue_factors[speed] >> 12
        return min(rate_share + queue_share, (1 << 30) - 1), elapsed

    def ack(self, ack: Ack) -> tuple[int, int] | None:
        """Return the window W and the rate R after an ACK, or None if they do not change."""
        c = self.constants
        path = (len(ack.records), ack.path)
        if self.path != path:  # HPCC-09, HPCC-10
            if self.path[0] == 0:
                self.last_update = ack.snd_nxt
            self.path = path
            self.links[: len(ack.records)] = ack.records
            return None
        fullest = None
        for nth, record in enumerate(ack.records):
            found = self.link(self.links[nth], record)
            if found is not None:
                self.links[nth] = record  # HPCC-19
                if fullest is None or found[0] > fullest[0]:
                    fullest = found  # HPCC-13
        if fullest is None:
            return None
        in_flight, elapsed = fullest
        weight = 1 << 20
        if elapsed < c.base_rtt_ns:
            weight = elapsed * c.per_base_rtt >> 16
        self.utilisation += weight * (in_flight - self.utilisation) >> 20  # HPCC-15
        multiply = self.utilisation >= c.eta or self.stage >= c.max_stage
        share = self.reference
        if multiply:  # HPCC-16
            over = self.utilisation * c.per_eta + (1 << 27) >> 28
            over = min(max(over, 1), (1 << 22) - 1)
            share = share * reciprocal(over, c.epsilon_ppm) >> 20
        window = min(max(share + c.wai, c.least), c.most)  # HPCC-21
        if 0 < (ack.seq - self.last_update) % (1 << 32) < 1 << 31:  # HPCC-18
            self.stage = 0 if multiply else self.stage + 1
            self.reference = window
            self.last_update = ack.snd_nxt
        return window, min(window * c.per_base_rtt >> 22, c.line)


@dataclass
class Egress:
    """The telemetry of one egress port (HPCC-30)."""

    switch_id: int
    speed: int
    hops: int = 5
    qlen_bits: int = 16
    unit_shift: int = 0
    sent_bytes: int = 0

    def packet(self, now_ns: int, size: int, qlen_bytes: int, field_: int | None) -> int | None:
        """Count a packet and return its field with the record; None: no room, or no field."""
        unit = 1 << self.unit_shift
        sent = self.sent_bytes // (128 * unit) % (1 << 20)
        self.sent_bytes += size
        hops = 0 if field_ is None else field_ >> 64 * self.hops + 12
        if field_ is None or hops >= self.hops:
            return None
        queue = min(qlen_bytes // (80 * unit), (1 << self.qlen_bits) - 1)
        record = (self.speed << 24 | now_ns) << 20 | sent
        record = record << self.qlen_bits | queue
        slot = 64 * (self.hops - 1 - hops)
        field_ = field_ & ~(((1 << 64) - 1) << slot) | record << slot
        return (field_ ^ self.switch_id << 64 * self.hops) + (1 << 64 * self.hops + 12)


@dataclass
class Turn:
    """State of a flow in the scheduler."""

    window: int = 0
    rate: int = 0
    limit: int = 0
    acked: int = 0
    sent: int = 0
    credit: int = 0
    started: bool = False
    fresh: bool = False
    goes_back: bool = False


@dataclass
class Scheduler:
    """The flow scheduler (HPCC paper 4.2): a turn in each cycle, credit by rate, and windows."""

    flows: int
    cycle_ns: int
    mtu: int
    overhead: int
    turn: int = 0

    def __post_init__(self) -> None:
        """Start without flows."""
        self.turns = [Turn() for _ in range(self.flows)]

    def step(
        self,
        start: tuple[int, int] | None,
        update: tuple[int, int, int] | None,
        ack: tuple[int, int, bool] | None,
        tx_ready: bool,
    ) -> tuple[int, int, int] | None:
        """Advance one cycle; return flow, sequence number and bytes of a packet, or None."""
        number, flow = self.turn, self.turns[self.turn]
        self.turn = (self.turn + 1) % self.flows
        if flow.goes_back or flow.fresh or (flow.acked - flow.sent) % (1 << 32) < 1 << 31:
            flow.sent = flow.acked
        full = self.mtu + self.overhead << 20
        if flow.fresh:
            flow.credit = full
        if flow.credit < full:
            flow.credit += flow.rate * self.flows * self.cycle_ns
        flow.fresh = flow.goes_back = False
        left = (flow.limit - flow.sent) % (1 << 32)
        payload = min(left, self.mtu)
        cost = payload + self.overhead << 20
        in_flight = (flow.sent - flow.acked) % (1 << 32)
        packet = None
        may = flow.started and left and in_flight < flow.window >> 6 and flow.credit >= cost
        if tx_ready and may:
            packet = (number, flow.sent, payload)
            flow.sent = (flow.sent + payload) % (1 << 32)
            flow.credit -= cost
        if update is not None:
            of = self.turns[update[0]]
            _, of.window, of.rate = update
        if start is not None and ack is None:
            of = self.turns[start[0]]
            of.limit, of.acked, of.started, of.fresh = start[1], 0, True, True
        if ack is not None:
            of = self.turns[ack[0]]
            of.acked, of.goes_back = ack[1], of.goes_back or ack[2]
        return packet
