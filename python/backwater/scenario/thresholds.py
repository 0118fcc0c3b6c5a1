"""Explains the thresholds of a scenario in sentences with numbers and formulas."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from backwater._base import quantity
from backwater._base.units import bytes_text, time_text
from backwater.scenario.recommend import headroom_bytes

Facts = dict[str, Any]
"""Result of :meth:`Scenario.thresholds`, or a part of it."""

WIDTH = 100
"""Maximum number of characters of a line."""

_INDENT = 17


def lines(facts: Facts, costs: Facts, scheme: Facts) -> Iterator[str]:
    """Explain the thresholds of a scenario, line by line.

    ``facts`` is the result of :meth:`Scenario.thresholds`. ``costs`` is the result of
    :meth:`Scenario.resources`, which has the thresholds of BFC. ``scheme`` is the table of the
    resolved scenario.
    """
    yield from _fabric(facts)
    yield from _swift(facts, scheme)
    of_switch = {switch["name"]: switch for switch in costs["switches"]}
    for switch in facts["switches"]:
        yield ""
        yield from _switch(switch, facts)
        yield from _bolt(switch, facts, scheme)
        yield from _llr(switch)
        yield from _bfc(of_switch.get(switch["name"], {"thresholds": []}))


def _entry(subject: str, *sentences: str) -> Iterator[str]:
    """Yield lines with sentences in a column, and the subject to the left of the first one."""
    for place, sentence in enumerate(sentences):
        first = f"  {subject if place == 0 else '':<{_INDENT - 2}}"
        # A line break may not separate a quantity from its unit.
        kept = re.sub(r"(\d) (?=[A-Za-zµ·/])", "\\1\u00a0", sentence)
        rest = " " * (_INDENT + 2)
        for line in textwrap.wrap(kept, WIDTH, initial_indent=first, subsequent_indent=rest):
            yield line.replace("\u00a0", " ")


def _rate(bps: float) -> str:
    return f"{bps / 1e9:g} Gbps"


def _at(size: float, bps: float) -> str:
    """Return as text how long a link of this rate needs for a number of bytes."""
    return f"{time_text(size * 8e12 / bps)} of {_rate(bps)}"


def _bdp(facts: Facts) -> float:
    return float(facts["host_bps"] * facts["base_rtt_ps"] / 8e12)


def _fabric(facts: Facts) -> Iterator[str]:
    host, rtt, bdp = facts["host_bps"], facts["base_rtt_ps"], _bdp(facts)
    frame = facts["frame_bytes"]
    yield f"The fabric: {facts['hosts']} hosts, the slowest at {_rate(host)}"
    yield from _entry(
        "base RTT",
        f"{time_text(rtt)} between the two hosts farthest from each other: a frame there, "
        f"an ACK of {facts['ack_bytes']} B back, nothing waits",
    )
    yield from _entry(
        "BDP",
        f"{_rate(host)} · {time_text(rtt)} / 8 = {bytes_text(bdp)}, {bdp / frame:.0f} frames of "
        f"{frame} B: what a flow has in flight when it fills its link",
        "a flow shorter than this is sent before its first ACK can return: "
        "no control that acts on ACKs can slow it down",
    )
    given = facts["control_rtt_ps"]
    if given is not None and given != rtt:
        yield from _entry(
            "T",
            f"{time_text(given)}, as the scenario says, is what senders count with: "
            f"{given / rtt:.2g} times the base RTT",
        )
    timeout = facts["timeout_ps"]
    if timeout is not None and facts["switches"]:
        buffer = max(switch["buffer_bytes"] for switch in facts["switches"])
        drain = buffer * 8e12 / host
        yield from _entry(
            "timeout",
            f"{time_text(timeout)} of silence mean loss; the longest queue, a whole buffer of "
            f"{bytes_text(buffer)} before one link, drains in {time_text(drain)}",
        )
        if timeout < drain and facts["admission"]["kind"] == "pfc":
            yield from _entry("", "so a sender can time out although nothing is lost: raise it")


def _switch(switch: Facts, facts: Facts) -> Iterator[str]:
    count, ports = switch["count"], sum(port["count"] for port in switch["ports"])
    alike = f" and {count - 1} like it" if count > 1 else ""
    yield f"{switch['name']}{alike}: {ports} ports"
    for port in switch["ports"]:
        to = "hosts" if port["to_host"] else "switches"
        yield from _entry(
            f"{port['count']} to {to}", f"{_rate(port['rate_bps'])}, {time_text(port['delay_ps'])}"
        )
    yield from _buffer(switch, facts)
    kind = facts["admission"]["kind"]
    if kind == "pfc":
        yield from _headroom(switch, facts)
        yield from _pfc(switch, facts, ports)
    else:
        yield from _entry("when full", *_WITHOUT_PFC[kind](facts["admission"]))
    yield from _ecn(switch, facts, ports)


def _buffer(switch: Facts, facts: Facts) -> Iterator[str]:
    if facts["admission"]["kind"] == "unlimited":
        return
    shared, beside = switch["shared_bytes"], facts["admission"].get("beside", False)
    parts = [f"{bytes_text(switch['reserved_bytes'])} reserved for single ports"]
    if facts["admission"]["kind"] == "pfc" and not beside:
        parts.append(f"{bytes_text(switch['headroom_bytes'])} headroom")
    parts.append(f"{bytes_text(max(shared, 0))} shared")
    fastest = max(port["rate_bps"] for port in switch["ports"])
    yield from _entry(
        "buffer",
        f"{bytes_text(switch['buffer_bytes'])} = {' + '.join(parts)}",
        f"two links of {_rate(fastest)} into one fill the shared pool in "
        f"{time_text(shared * 8e12 / fastest)}",
    )


def _headroom(switch: Facts, facts: Facts) -> Iterator[str]:
    pfc, frame, classes = facts["admission"], facts["frame_bytes"], facts["pausable_classes"]
    pauses = f"a PAUSE of {pfc['frame_bytes']} B"
    if classes > 1:
        pauses = f"{classes} PAUSEs of {pfc['frame_bytes']} B, one for each class"
    links = {(port["rate_bps"], port["delay_ps"]): port for port in switch["ports"]}
    for port in links.values():
        wire = port["rate_bps"], port["delay_ps"], pfc["response_ps"]
        needed = headroom_bytes(*wire, frame, classes * pfc["frame_bytes"])
        flight = (2 * port["delay_ps"] + pfc["response_ps"]) * port["rate_bps"] / 8e12
        terms = (
            f"2 · {time_text(port['delay_ps'])} + {time_text(pfc['response_ps'])} of response time"
        )
        given = port["headroom_bytes"]
        link = f"an ingress of {_rate(port['rate_bps'])} and {time_text(port['delay_ps'])}"
        if pfc["by_formula"]:
            yield from _entry(
                "headroom",
                f"{bytes_text(given)} for {link}: {bytes_text(flight)} on their way in {terms}, "
                f"two frames of {frame} B, {pauses}",
            )
        else:
            verdict = (
                "enough: nothing is lost after a PAUSE"
                if given >= needed
                else "too little: packets can be lost after a PAUSE"
            )
            yield from _entry(
                "headroom",
                f"{bytes_text(given)} for {link}; the formula needs {bytes_text(needed)} "
                f"({bytes_text(flight)} on their way in {terms}, two frames of {frame} B, "
                f"{pauses}): {verdict}",
            )
    pool = pfc["headroom_pool_bytes"]
    if pool is not None:
        yield from _entry(
            "", f"all ports and classes of the switch share {bytes_text(pool)} of headroom (SW-56)"
        )
    yield from _entry("", *_headroom_leaves_out(switch, facts))


# Most pause quanta of 512 bits from the arrival of a PAUSE to the end of the last frame, by the
# rate of the port in Gbps (IEEE 802.3, 31B.3.7).
_RESPONSE_QUANTA = {10: 60, 40: 118, 100: 394}


def _headroom_leaves_out(switch: Facts, facts: Facts) -> Iterator[str]:
    """Yield sentences about what the headroom formula does not count (SW-11: headroom formula)."""
    response_ps = facts["admission"]["response_ps"]
    if not response_ps:
        rates = sorted({port["rate_bps"] for port in switch["ports"]})
        known = [
            f"{time_text(_RESPONSE_QUANTA[bps // 10**9] * 512e12 / bps)} at {_rate(bps)}"
            for bps in rates
            if bps // 10**9 in _RESPONSE_QUANTA
        ]
        allowed = f" (IEEE 802.3 allows {' and '.join(known)})" if known else ""
        yield (
            "warning: pfc.response = 0: the upstream stops at once; a device needs time after a "
            f"PAUSE{allowed}, so do not copy this headroom to a switch"
        )
    yield (
        f"counted: frames of {facts['frame_bytes']} B (mtu, header and INT) and "
        f"{time_text(response_ps)} of response; not counted: buffer cells that frames do not fill, "
        "preambles and gaps, response times that differ by rate; tables of vendors have 2 to 3 "
        "times the formula at 100 Gbps"
    )


def _pfc(switch: Facts, facts: Facts, ports: int) -> Iterator[str]:
    pfc = facts["admission"]
    alone, together = switch["xoff_alone_bytes"], switch["xoff_all_bytes"]
    fastest = max(port["rate_bps"] for port in switch["ports"])
    alpha = pfc["alpha"]
    if alpha is not None:
        shared = bytes_text(switch["shared_bytes"])
        yield from _entry(
            "PAUSE",
            f"an ingress is paused when it holds α = {alpha:.2g} times what is free of the pool:",
            f"one alone at α·S/(1 + α) = {bytes_text(alone)} (S = {shared}), {_at(alone, fastest)}",
            f"all {ports} at once at α·S/(1 + {ports}·α) = {bytes_text(together)} each",
        )
    else:
        why = "the buffer over the number of ports" if pfc["equal"] else "as the scenario says"
        yield from _entry(
            "PAUSE",
            f"an ingress is paused at {bytes_text(alone)} ({why}), {_at(alone, fastest)}",
        )
        if together < alone:
            yield from _entry(
                "", f"all {ports} at once already at {bytes_text(together)}: the pool is full then"
            )
    if pfc["victims"]:
        beside = switch["beside_bytes"]
        room = f"; beside the pool they have {bytes_text(beside)}" if beside else ""
        yield from _entry(
            "", f"ports with victims have the whole buffer as their threshold instead{room}"
        )
    yield from _entry("", f"and resumed {bytes_text(pfc['xon_offset_bytes'])} below")
    bdp = _bdp(facts)
    if alone < bdp:
        yield from _entry(
            "",
            f"this is below the BDP of {bytes_text(bdp)}: a single flow that meets another "
            "is paused before it can react",
        )


def _bfc(costs: Facts) -> Iterator[str]:
    for threshold in costs["thresholds"]:
        yield from _entry(
            "BFC",
            f"at {_rate(threshold['rate_bps'])}: a queue that is alone at its port is paused at "
            f"{bytes_text(threshold['bytes'])}, what the link carries in a 1-hop RTT of "
            f"{time_text(costs['hrtt_ps'])}; n active queues at an n-th of it each",
        )


def _swift(facts: Facts, scheme: Facts) -> Iterator[str]:
    """Explain the delay targets of Swift (SWIFT-13, SWIFT-14, SWIFT-15)."""
    swift = scheme.get("swift")
    if swift is None:
        return
    base, hop, hosts = (_ps(swift[key]) for key in ("base_target", "hop", "endpoint_target"))
    total = base + facts["hops"] * hop
    rtt = facts["base_rtt_ps"]
    yield from _entry(
        "Swift",
        f"the target of the delay in the network is {time_text(base)} and {time_text(hop)} for "
        f"each switch: {time_text(total)} on the longest path, with {facts['hops']} of them, "
        f"{total / rtt:.2g} times the base RTT",
    )
    if total <= rtt:
        yield from _entry("", "this is below the base RTT: a flow slows down even if it is alone")
    if swift["fs_range"] != "off":
        yield from _entry(
            "",
            f"flow scaling adds {time_text(_ps(swift['fs_range']))} up to a window of "
            f"{swift['fs_min_cwnd']:g} packets, and nothing from {swift['fs_max_cwnd']:g} on",
        )
    yield from _entry("", f"the target of the delay in both hosts is {time_text(hosts)}")


def _ps(time: str) -> float:
    """Return a time of a resolved scenario in ps."""
    return quantity.number(time) or 0.0


def _bolt(switch: Facts, facts: Facts, scheme: Facts) -> Iterator[str]:
    """Explain at which queues switches of Bolt send notices (BOLT-02)."""
    bolt = scheme.get("bolt-switch")
    if bolt is None:
        return
    threshold = _amount(bolt["threshold"], facts)
    for bps in sorted({port["rate_bps"] for port in switch["ports"]}):
        yield from _entry(
            "Bolt",
            f"at {_rate(bps)}: a packet that finds {bytes_text(threshold)} or more in its queue "
            f"({bolt['threshold']}, {_at(threshold, bps)}) causes a notice to its sender",
        )
    yield from _entry(
        "",
        f"a port has at most {bolt['ramp_up_tokens']} ramp-up tokens and spare capacity of "
        f"{bytes_text(_amount(bolt['supply'], facts))} ({bolt['supply']})",
    )


def _amount(text: str, facts: Facts) -> float:
    """Return an amount of data in bytes: a size, or a number of full packets."""
    size = quantity.number(text)
    return float(text.split()[0]) * facts["frame_bytes"] if size is None else size


def _llr(switch: Facts) -> Iterator[str]:
    """Explain the replay buffers of the links (LLR-11, LLR-12)."""
    for port in switch["ports"]:
        if port["replay"] is not None:
            yield from _entry(
                "LLR",
                f"at {_rate(port['rate_bps'])} and {time_text(port['delay_ps'])}: a port keeps up "
                f"to {bytes_text(port['replay']['bytes'])} until they are acknowledged, and "
                f"repeats them after {time_text(port['replay']['timer_ps'])} without progress",
            )


def _ecn(switch: Facts, facts: Facts, ports: int) -> Iterator[str]:
    marked = [port for port in switch["ports"] if port["ecn"] is not None]
    bdp, alone = _bdp(facts), switch["xoff_alone_bytes"]
    everywhere = sum(port["count"] * port["ecn"]["kmin_bytes"] for port in marked)
    for bps in sorted({port["rate_bps"] for port in marked}):
        red = next(port["ecn"] for port in marked if port["rate_bps"] == bps)
        kmin, kmax = red["kmin_bytes"], red["kmax_bytes"]
        rise = f"with probability {red['pmax']:g} at Kmax" if kmax > kmin else "a step"
        yield from _entry(
            "ECN",
            f"at {_rate(bps)}: no mark up to Kmin = {bytes_text(kmin)} ({_at(kmin, bps)}, "
            f"{kmin / bdp:.2g} BDP),",
            f"every packet marked above Kmax = {bytes_text(kmax)} ({_at(kmax, bps)}); {rise}",
        )
        if alone is not None:
            spread = everywhere - kmin
            yield from _entry("", *_ecn_against_pfc(kmin, kmax, alone, spread, ports - 1))


def _ecn_against_pfc(kmin: int, kmax: int, alone: int, spread: int, others: int) -> Iterator[str]:
    """Compare the ECN thresholds of an egress queue with the PFC threshold of an ingress.

    ``spread`` is the sum of Kmin of the ``others``, the queues that one ingress can feed.
    """
    if kmin >= alone:
        yield (
            f"PFC acts first: an ingress is paused at {bytes_text(alone)}, before a queue is "
            f"marked; lower Kmin or raise the threshold"
        )
        return
    if kmax < alone:
        yield f"ECN acts first for one ingress and one queue: Kmax is below {bytes_text(alone)}"
    else:
        yield (
            f"one ingress and one queue: marks begin below {bytes_text(alone)}, but only a part "
            f"of the packets is marked when PFC pauses"
        )
    if spread > alone:
        yield (
            f"an ingress whose packets wait at all {others} other ports can be paused before any "
            f"of these queues marks: their Kmin are {bytes_text(spread)} together"
        )


def _egress_dynamic(admission: Facts) -> list[str]:
    what = "queue" if admission["per_queue"] else "egress port"
    alpha = admission["alpha"]
    return [
        f"no PFC: a packet is dropped if its {what} holds more than {alpha:.2g} times what is "
        f"free of the pool (alone: {alpha / (1 + alpha):.0%} of it)"
    ]


_WITHOUT_PFC: dict[str, Callable[[Facts], list[str]]] = {
    "egress-dynamic": _egress_dynamic,
    "shared-pool": lambda _: ["no PFC: a packet is dropped only when the shared pool is full"],
    "per-port": lambda admission: [
        f"no PFC: a packet is dropped if its egress port holds {bytes_text(admission['bytes'])}"
    ],
    "unlimited": lambda _: ["nothing is dropped: buffers have no limit (an ideal)"],
}
