"""Thresholds of a fabric from published rules: PFC headroom, PFC alpha, and ECN."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from backwater._base.toml import rate, time
from backwater.errors import ScenarioError

Facts = dict[str, Any]
"""Result of :meth:`Scenario.thresholds`, or a part of it."""

ALLOWED_RESPONSE_PS = 394 * 512 * 10
"""Response time that IEEE 802.3 allows a port of 100 Gbps: 394 quanta of 512 bits, 2.02 us."""

PS_PER_METRE = 5000
"""Propagation delay of a cable."""

ALPHAS = tuple(2.0**k for k in range(-7, 4))
"""Factors of dynamic thresholds that switch chips offer: 1/128 to 8."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Values for the keys of a scenario, in bytes and ps."""

    response_ps: int
    alpha: float
    kmin_bytes: int
    kmax_bytes: int
    rate_bps: int
    """Rate of the links for which the ECN thresholds are given."""

    def overrides(self) -> list[str]:
        """Return the values as arguments of ``--set``."""
        return [
            f"scheme.pfc.response={time(self.response_ps)}",
            f"scheme.pfc.xoff={self.alpha}",
            f"scheme.ecn.kmin={self.kmin_bytes}B",
            f"scheme.ecn.kmax={self.kmax_bytes}B",
            f"scheme.ecn.rate={rate(self.rate_bps)}",
        ]


@dataclass(frozen=True, slots=True)
class Reason:
    """A value with the rule that gives it and the source of the rule."""

    name: str
    value: float
    unit: str
    rule: str
    source: str
    bound: float | None = None

    @property
    def margin(self) -> float | None:
        """Ratio of the bound to the value: the rule holds above 1."""
        return None if self.bound is None or self.value == 0 else self.bound / self.value

    @property
    def is_violated(self) -> bool:
        """True if the value is not below its bound."""
        return self.margin is not None and self.margin <= 1


def headroom_bytes(
    rate_bps: int, delay_ps: int, response_ps: int, frame_bytes: int, pause_bytes: int = 64
) -> int:
    """Return the headroom of an ingress port in bytes, by IEEE 802.1Qbb (SW-11, SW-54).

    The headroom is the number of bytes that can arrive after the PAUSE is due. It covers one frame
    that the switch sends before the PAUSE, the PAUSE itself (or one for each class), and both
    directions of the cable. It also covers the response time of the neighbour, and one frame that
    the neighbour has begun.
    """
    in_flight = rate_bps * (2 * delay_ps + response_ps) // (8 * 10**12)
    return in_flight + 1 + 2 * frame_bytes + pause_bytes


def ecn_bound_bytes(shared_bytes: float, alpha: float, ports: float, classes: int) -> float:
    """Return the largest ECN threshold, in bytes, that acts before PFC (DCQCN paper, section 4).

    In the worst case one ingress feeds the queues of all ``ports``, and each stays just below the
    threshold K: n K < alpha (S - classes n K). S is the shared pool. Thresholds grow with the rate
    of a port. Therefore n counts each port by the ratio of its rate to the rate that K is for.
    """
    return alpha * shared_bytes / (ports * (1 + classes * alpha))


def least_alpha(shared_bytes: float, kmin_bytes: float, ports: float, classes: int) -> float | None:
    """Return the smallest of :data:`ALPHAS` whose ECN bound exceeds ``kmin_bytes``, or None."""
    fitting = (a for a in ALPHAS if ecn_bound_bytes(shared_bytes, a, ports, classes) > kmin_bytes)
    return next(fitting, None)


def recommend(facts: Facts, response_ps: int | None = None) -> tuple[Thresholds, list[Reason]]:
    """Return thresholds for a fabric and the rules behind them.

    ``facts`` is the result of :meth:`Scenario.thresholds` for the unchanged scenario. Raises
    ``ScenarioError`` if the scheme has no PFC with dynamic thresholds or no ECN, or if the headroom
    does not fit into the buffer.
    """
    admission = facts["admission"]
    ports = [port for switch in facts["switches"] for port in switch["ports"]]
    if admission["kind"] != "pfc" or not any(port["ecn"] for port in ports):
        raise ScenarioError(
            "recommend needs a scheme with PFC and ECN\n"
            "  = choose one such as --scheme dcqcn (`backwater list schemes`)"
        )
    if response_ps is None:
        response_ps = int(admission["response_ps"]) or ALLOWED_RESPONSE_PS
    switch, shared, count, classes = _tightest(facts, response_ps)
    if shared <= 0:
        raise ScenarioError(
            f"{switch['name']}: the headroom of its ports does not fit into the buffer of "
            f"{switch['buffer_bytes']} B\n"
            "  = raise switch.buffer, or give a shorter --response"
        )
    host_bps, frame = facts["host_bps"], facts["frame_bytes"]
    kmin = max(math.ceil(host_bps * facts["base_rtt_ps"] / 8e12), 2 * frame)
    least = least_alpha(shared, kmin, count, classes)
    alpha = ALPHAS[-1] if least is None else max(least, 1 / 8)
    kmax = int(min(4 * kmin, 0.9 * alpha * shared / (1 + alpha)))
    found = Thresholds(response_ps, alpha, min(kmin, kmax // 4), kmax, host_bps)
    rule = (
        "no alpha lets ECN always act before PFC in this buffer: the largest one"
        if least is None
        else "smallest alpha of switch chips, at least 1/8, with which ECN acts before PFC"
    )
    source = "DCQCN paper, section 4; dynamic thresholds of Choudhury and Hahne"
    return found, [
        *_headroom_reasons(facts, response_ps),
        Reason("alpha", alpha, "", rule, source),
        Reason(
            "kmin", found.kmin_bytes, "B", "one BDP, host rate x base RTT", "DCTCP and DCQCN papers"
        ),
        *_other_rates(ports, found),
        *ecn_reasons(facts, found),
    ]


def ecn_reasons(facts: Facts, found: Thresholds) -> list[Reason]:
    """Return the ECN thresholds with the bounds below which they act before PFC."""
    _, shared, count, classes = _tightest(facts, found.response_ps)
    return [
        Reason(
            "kmin below PFC, all ports",
            found.kmin_bytes,
            "B",
            f"at most alpha S / (n (1 + {classes} alpha)), where S = {shared:.0f} B is shared, "
            f"n = {count:g} ports of {found.rate_bps / 1e9:g} Gbps (faster ones count more), and "
            f"{classes} lossless class(es) can be paused",
            "DCQCN paper, section 4",
            ecn_bound_bytes(shared, found.alpha, count, classes),
        ),
        Reason(
            "kmax below PFC, one ingress",
            found.kmax_bytes,
            "B",
            "4 kmin, at most 90 % of alpha S / (1 + alpha)",
            "ratio of the DCQCN setting in the HPCC and BFC papers",
            found.alpha * shared / (1 + found.alpha),
        ),
    ]


def _tightest(facts: Facts, response_ps: int) -> tuple[Facts, float, float, int]:
    """Return the switch with the smallest shared pool, and the numbers that limit its thresholds.

    These are the pool in bytes, the number of ports, and the number of lossless classes. A port
    counts by the ratio of its rate to the rate of the hosts.
    """
    classes, frame = max(1, facts["pausable_classes"]), facts["frame_bytes"]
    pools = [(_shared(one, response_ps, frame, classes), one) for one in facts["switches"]]
    shared, switch = min(pools, key=lambda pool: pool[0])
    count = sum(port["count"] * port["rate_bps"] / facts["host_bps"] for port in switch["ports"])
    return switch, shared, count, classes


def _other_rates(ports: list[Facts], found: Thresholds) -> list[Reason]:
    """Return the ECN thresholds at ports of other rates than that of ``found``."""
    return [
        Reason(
            f"{name} at {bps / 1e9:g} Gbps",
            value * bps / found.rate_bps,
            "B",
            "in proportion to the rate: the same queueing delay",
            "scheme.ecn.rate",
        )
        for bps in sorted({port["rate_bps"] for port in ports} - {found.rate_bps})
        for name, value in (("kmin", found.kmin_bytes), ("kmax", found.kmax_bytes))
    ]


def _shared(switch: Facts, response_ps: int, frame: int, classes: int) -> float:
    """Return the shared pool of a switch in bytes, if it has the recommended headroom."""
    headroom = sum(
        port["count"] * headroom_bytes(port["rate_bps"], port["delay_ps"], response_ps, frame)
        for port in switch["ports"]
    )
    return float(switch["buffer_bytes"] - switch["reserved_bytes"] - classes * headroom)


def _headroom_reasons(facts: Facts, response_ps: int) -> list[Reason]:
    """Return the headroom of each kind of port."""
    frame = facts["frame_bytes"]
    kinds = {(p["rate_bps"], p["delay_ps"]) for s in facts["switches"] for p in s["ports"]}
    return [
        Reason(
            f"headroom at {bps / 1e9:g} Gbps",
            headroom_bytes(bps, delay, response_ps, frame),
            "B",
            f"C (2 d + response) / 8 + 2 frames of {frame} B + PAUSE; cable of "
            f"{delay / PS_PER_METRE:.0f} m, response {response_ps / 1e6:.2f} us",
            "IEEE 802.1Qbb",
        )
        for bps, delay in sorted(kinds)
    ]
